// SPDX-License-Identifier: Apache-2.0
#include <Kokkos_Bitset.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <Kokkos_UnorderedMap.hpp>
#include <cairn/adapt/kokkos.hpp>

#include "array_type.hpp"

TEST_CASE("Kokkos' views", "[arrays]") {
  Kokkos::ScopeGuard const guard;
  using line = Kokkos::View<double*, Kokkos::HostSpace>;
  using plane = Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using fixed = Kokkos::View<double[10][10], Kokkos::LayoutRight, Kokkos::HostSpace>;
  using pairs = Kokkos::View<Kokkos::complex<double>*, Kokkos::HostSpace>;
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
  check_array_type<line>([] { return line("x", 1'000); }, at, 1'000);
  check_array_type<plane>([] { return plane("x", 20, 50); }, at, 1'000);
  check_array_type<fixed>([] { return fixed("x"); }, at, 100);
  check_array_type<pairs>([] { return pairs("x", 20); },
                          [](auto& x, std::size_t k) -> auto& { return reinterpret_cast<double*>(x.data())[k]; }, 40);
}
TEST_CASE("what refers to another one's views is no state", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<Kokkos::DualView<double*>>);
  CHECK_FALSE(cairn::copied_state<Kokkos::View<double*, Kokkos::MemoryTraits<Kokkos::Unmanaged>>>);
  CHECK_FALSE(cairn::copied_state<Kokkos::View<double const*>>);
  CHECK_FALSE(cairn::copied_state<Kokkos::UnorderedMap<int, double>>);
  CHECK_FALSE(cairn::copied_state<Kokkos::Bitset<>>);
}
