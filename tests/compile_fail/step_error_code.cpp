// error: one that changes x must return nothing \(an error code is ignored; throw instead\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const adjoint = [](vec const& x, vec& bar) { bar[0] *= 2 * x[0]; };
#ifdef CAIRN_FIXED
auto const step = [](vec& x) { x[0] *= x[0]; };
#else
auto const step = [](vec& x) { x[0] *= x[0]; return 0; };
#endif
int main() { return cairn::gradient(step, vec{2.0}, 10, vec{1.0}, adjoint)[0] > 0 ? 0 : 1; }
