// error: the keep of cairn::reversible is `kept = keep\(x, p, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>

double gradient() {
  auto const step = [](double& x) { x += 0.5; };
  auto const back = [](double& x, double before) { x = before; };
  auto const adjoint = [](double, double&) {};
#ifdef CAIRN_FIXED
  auto const keep = [](double const& x, cairn::step_index) { return x; };
#else
  auto const keep = [](double const& x, double i) { return x + i; };
#endif
  cairn::model m{cairn::reversible{step, keep, back}, adjoint};
  return cairn::gradient(m.step, 1.0, cairn::segments{10}, 1.0, m.adjoint);
}
