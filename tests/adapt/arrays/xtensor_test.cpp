// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "array_type.hpp"

namespace {
using array = xt::xarray<double>;
using matrix = xt::xtensor<double, 2>;
using fixed = xt::xtensor_fixed<double, xt::xshape<10, 10>>;
}  // namespace
template <>
struct cairn::state_traits<array> : cairn::flat<array> {};
template <>
struct cairn::state_traits<matrix> : cairn::flat<matrix> {};
template <>
struct cairn::state_traits<fixed> : cairn::flat<fixed> {};

TEST_CASE("array types of xtensor", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
  check_array_type<array, all & ~shape>([] { return array(array::shape_type{20, 50}); }, at, 1'000);
  check_array_type<matrix, all & ~shape>([] { return matrix(matrix::shape_type{20, 50}); }, at, 1'000);
  check_array_type<fixed>([] { return fixed(); }, at, 100);
  check_array_type<xt::uvector<double>>([] { return xt::uvector<double>(40); }, at, 40);
  check_array_type<xt::xtensor<float, 1>, 0>([] { return xt::xtensor<float, 1>(std::array<std::size_t, 1>{40}); }, at, 40);
}
TEST_CASE("views, adaptors and expressions of xtensor are no states", "[arrays]") {
  array a;
  std::vector<double> held(4);
  CHECK_FALSE(cairn::copied_state<decltype(xt::view(a, 0))>);
  CHECK_FALSE(cairn::copied_state<decltype(xt::adapt(held))>);
  CHECK_FALSE(cairn::copied_state<decltype(a + a)>);
}
