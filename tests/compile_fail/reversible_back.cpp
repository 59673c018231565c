// error: the back of cairn::reversible is `back\(x, kept, p, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>

double gradient() {
  auto const step = [](double& x) { x += 0.5; };
  auto const adjoint = [](double, double&) {};
#ifdef CAIRN_FIXED
  auto const back = [](double& x) { x -= 0.5; };
#else
  auto const back = [](double x) { x -= 0.5; };
#endif
  cairn::model m{cairn::reversible{step, back}, adjoint};
  return cairn::gradient(m.step, 1.0, cairn::segments{10}, 1.0, m.adjoint);
}
