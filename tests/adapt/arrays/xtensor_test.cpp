// SPDX-License-Identifier: Apache-2.0
#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xtensor.hpp>

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
  check_array_type<array>([] { return array(array::shape_type{20, 50}); }, at, 1'000);
  check_array_type<matrix>([] { return matrix(matrix::shape_type{20, 50}); }, at, 1'000);
  check_array_type<fixed>([] { return fixed(); }, at, 100);
}
