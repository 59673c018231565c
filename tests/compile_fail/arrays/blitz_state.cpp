// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <blitz/array.h>
#include <cairn/cairn.hpp>
#include <vector>

#ifdef CAIRN_FIXED
using field = std::vector<double>;
#else
using field = blitz::Array<double, 1>;  // copies of it share its elements
#endif
int main() {
  auto const step = [](field&) {};
  auto const adjoint = [](field const&, field&) {};
  (void)cairn::gradient(step, field(4), 20, [](field const& x) { return x; }, adjoint);
}
