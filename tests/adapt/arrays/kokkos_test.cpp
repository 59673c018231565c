// SPDX-License-Identifier: Apache-2.0
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <cairn/adapt/kokkos.hpp>

#include "array_type.hpp"

TEST_CASE("Kokkos' views", "[arrays]") {
  Kokkos::ScopeGuard const guard;
  using line = Kokkos::View<double*, Kokkos::HostSpace>;
  using plane = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using fixed = Kokkos::View<double[10][10], Kokkos::LayoutRight, Kokkos::HostSpace>;
  auto const at = [](auto& x, std::size_t k) -> double& { return x.data()[k]; };
  check_array_type<line>([] { return line("x", 1'000); }, at, 1'000);
  check_array_type<plane>([] { return plane("x", 20, 50); }, at, 1'000);
  check_array_type<fixed>([] { return fixed("x"); }, at, 100);
}
TEST_CASE("two views in one are no state", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<Kokkos::DualView<double*>>);
  CHECK_FALSE(cairn::copied_state<Kokkos::View<double*, Kokkos::MemoryTraits<Kokkos::Unmanaged>>>);
}
