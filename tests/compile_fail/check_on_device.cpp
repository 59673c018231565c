// error: check_adjoint varies the numbers of states on the host
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
void step(field const&, field&, cairn::step_index);
void adjoint(field const&, field&, cairn::step_index);
bool passes(field const& x0) { return cairn::check_adjoint(step, adjoint, x0, 9).passed(); }
