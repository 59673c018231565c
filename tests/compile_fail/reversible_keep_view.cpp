// error: what keep returns is held until its step runs backwards, so it is a value that owns its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>

double gradient() {
  auto const step = [](double& x) { x += 0.5; };
  auto const adjoint = [](double, double&) {};
#ifdef CAIRN_FIXED
  auto const keep = [](double const& x) { return x; };
  auto const back = [](double& x, double before) { x = before; };
#else
  auto const keep = [](double const& x) { return &x; };
  auto const back = [](double& x, double const* before) { x = *before; };
#endif
  cairn::model m{cairn::reversible{step, keep, back}, adjoint};
  return cairn::gradient(m.step, 1.0, cairn::segments{10}, 1.0, m.adjoint);
}
