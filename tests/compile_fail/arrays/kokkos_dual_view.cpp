// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <cairn/adapt/kokkos.hpp>
#include <cairn/cairn.hpp>

#ifdef CAIRN_FIXED
using field = Kokkos::View<double*, Kokkos::HostSpace>;
#else
using field = Kokkos::DualView<double*>;
#endif
int main() {
  auto const step = [](field&) {};
  auto const adjoint = [](field const&, field&) {};
  (void)cairn::gradient(step, field("x", 4), 20, [](field const& x) { return x; }, adjoint);
}
