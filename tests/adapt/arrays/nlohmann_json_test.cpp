// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "array_type.hpp"

TEST_CASE("a range of itself is copied, and nothing more is known of it", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& {
    using number = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(x)>>, double const, double>;
    return *x.at(k).template get_ptr<number*>();
  };
  auto const make = [] { return nlohmann::json(std::vector<double>(40)); };
  check_array_type<nlohmann::json, 0>(make, at, 40);
  check_array_type<std::map<std::string, nlohmann::json>, 0>(
      [&] { return std::map<std::string, nlohmann::json>{{"a", make()}}; },
      [at](auto& x, std::size_t k) -> auto& { return at(x.find("a")->second, k); }, 40);
}
