// error: the parameters are in the place of the initial state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>
using field = std::vector<double>;
auto const step = [](field& x, double p) { x[0] *= p; };
auto const adjoint = [](field const& x, field& bar, double p, double& dp) { dp += bar[0] * x[0], bar[0] *= p; };
auto const at_end = cairn::at_end([](field const& x) { return x[0]; }, [](field const&, field& bar) { bar[0] += 1; });
cairn::model const growth{step, adjoint};
cairn::revolve const plan{10, 3};
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(growth, field{1}, 0.9, plan, at_end);
#else
auto const g = cairn::differentiate(growth, 0.9, field{1}, plan, at_end);
#endif
