// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <stack>

#ifdef CAIRN_FIXED
using field = std::stack<double>;
#else
using field = std::stack<double*>;
#endif
auto const step = [](field& x) { x.pop(); };
auto const adjoint = [](field const&, double& bar) { bar *= 2; };
int main() { (void)cairn::gradient(step, field{}, 10, 1.0, adjoint); }
