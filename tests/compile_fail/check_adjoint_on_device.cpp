// error: check_adjoint reads the numbers of adjoints on the host
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/check/check_adjoint.hpp>
#include <cstddef>
#include <vector>

#ifdef CAIRN_FIXED
using field = std::vector<double>;
#else
struct field {
  using value_type = double;
  field(field const&);
  field& operator=(field const&);
  cairn::device_pointer<double> data();
  cairn::device_pointer<double const> data() const;
  std::size_t size() const;
};
#endif
void step(std::vector<double> const&, std::vector<double>&, cairn::step_index);
void adjoint(std::vector<double> const&, field&, cairn::step_index);
bool passes(std::vector<double> const& x0, field const& bar) {
  return cairn::check_adjoint(step, adjoint, x0, 9, bar).passed();
}
