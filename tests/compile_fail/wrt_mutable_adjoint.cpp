// error: with parameters the adjoint is
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double const p = 0.9;
double dp = 0;
auto const step = [](double& x, double q) { x *= q; };
#ifdef CAIRN_FIXED
auto adjoint = [calls = 0](auto const& x, auto& bar, auto const& q, auto& dq, auto i) mutable {
  dq += x * bar * double(i % 7), bar *= q, ++calls;
};
#else
auto adjoint = [calls = 0](auto const& x, auto& bar, auto i, auto const& q, auto& dq) mutable {
  dq += x * bar * double(i % 7), bar *= q, ++calls;
};
#endif
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
