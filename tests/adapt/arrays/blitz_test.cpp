// SPDX-License-Identifier: Apache-2.0
#include <blitz/array.h>

#include "array_type.hpp"

namespace {
using line = blitz::Array<double, 1>;
using plane = blitz::Array<double, 2>;
}  // namespace
template <>
struct cairn::state_traits<plane> : cairn::flat<plane> {
  static void copy(plane const& from, plane& into) {  // its copy constructor shares
    into.resize(from.shape());
    into = from;
  }
};

TEST_CASE("arrays of Blitz++ with a copy of their own", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
  check_array_type<plane, all & ~shape>([] { return plane(20, 50); }, at, 1'000);
}
TEST_CASE("arrays of Blitz++ share their data, and are no states", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<line>);
  CHECK_FALSE(cairn::copied_state<std::vector<line>>);
}
