// error: a captured graph would keep the values that p has now
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

struct machine : cairn::detail::virtual_device {
  using graph = int;
  void zero(void*, std::size_t, stream);
  void begin_capture(stream);
  graph end_capture(stream);
  void abandon_capture(stream) noexcept;
  void launch(graph, stream);
  using virtual_device::destroy;
  void destroy(graph) noexcept;
};
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = machine::stream;
void start(field&, stream);
void seed(field const&, field&, stream);
#ifdef CAIRN_FIXED
void step(field const&, field&, cairn::step_index, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
#else
void step(field const&, field&, double, cairn::step_index, stream);
void adjoint(field const&, field&, double, field&, cairn::step_index, stream);
#endif
void capture(cairn::device_sweep<machine, field>& sweep, field& bar, [[maybe_unused]] double const& p,
             [[maybe_unused]] field& dp) {
#ifdef CAIRN_FIXED
  static_cast<void>(sweep.capture(step, start, cairn::revolve{9, 3}, seed, adjoint, bar));
#else
  static_cast<void>(sweep.capture(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, cairn::wrt{p, dp}));
#endif
}
