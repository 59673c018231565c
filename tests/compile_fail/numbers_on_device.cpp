// error: numbers of this type lie in device memory
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/numbers.hpp>
#include <cstddef>
#include <vector>

#ifdef CAIRN_FIXED
using field = std::vector<double>;
#else
struct field {
  using value_type = double;
  cairn::device_pointer<double> data();
  cairn::device_pointer<double const> data() const;
  std::size_t size() const;
};
#endif
struct state {
  field u;
  double time;
};
double sum(state const& x) {
  double all = 0;
  cairn::visit_numbers(x, [&](double const* run, std::size_t) { all += *run; });
  return all;
}
