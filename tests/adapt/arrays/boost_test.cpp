// SPDX-License-Identifier: Apache-2.0
#include <boost/array.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/container/vector.hpp>
#include <boost/multi_array.hpp>

#include "array_type.hpp"

namespace {
constexpr std::size_t many = 1'000;
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
auto const by_data = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
using small = boost::container::small_vector<double, 8>;
using fixed = boost::container::static_vector<double, 1'024>;
using cube = boost::multi_array<double, 3>;
}  // namespace
template <>
struct cairn::state_traits<small> : cairn::flat<small> {};
template <>
struct cairn::state_traits<fixed> : cairn::flat<fixed> {};
template <>
struct cairn::state_traits<cube> : cairn::flat<cube> {
  static void copy(cube const& from, cube& into) {  // its = takes no other shape
    auto const shape = [&](std::size_t k) { return std::ptrdiff_t(from.shape()[k]); };
    into.resize(boost::extents[shape(0)][shape(1)][shape(2)]);
    into = from;
  }
};

TEST_CASE("array types of Boost", "[arrays]") {
  check_array_type<boost::array<double, many>>([] { return boost::array<double, many>{}; }, by_index, many);
  using vector = boost::container::vector<double>;
  check_array_type<vector>([] { return vector(many); }, by_index, many);
  check_array_type<small>([] { return small(many); }, by_index, many);
  check_array_type<fixed>([] { return fixed(many); }, by_index, many);
  check_array_type<cube>([] { return cube{boost::extents[10][10][10]}; }, by_data, many);
}
TEST_CASE("views of Boost's arrays are no states", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<boost::multi_array_ref<double, 2>>);
  CHECK_FALSE(cairn::copied_state<boost::const_multi_array_ref<double, 2>>);
  CHECK_FALSE(cairn::copied_state<boost::multi_array<double, 2>>);  // until its traits say how to copy
  CHECK(cairn::copied_state<cube>);
}
