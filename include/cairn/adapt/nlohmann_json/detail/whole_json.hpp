// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file whole_json.hpp  Whole numbers from a JSON tree.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <nlohmann/json.hpp>
#include <cairn/plan/text/detail/words.hpp>

namespace cairn::detail {

/// The number, if it is whole and from 0 to 2^63-1.
[[nodiscard]] inline std::optional<std::int64_t> whole_json(nlohmann::json const& is) {
  constexpr auto most = std::uint64_t((std::numeric_limits<std::int64_t>::max)());
  if (is.is_number_unsigned() && is.get<std::uint64_t>() > most) return {};
  if (!is.is_number_integer() || is.get<std::int64_t>() < 0) return {};
  return is.get<std::int64_t>();
}
/// The same, also from a string of digits.
[[nodiscard]] inline std::optional<std::int64_t> whole_json_or_digits(nlohmann::json const& is) {
  return is.is_string() ? whole_number(is.get_ref<std::string const&>()) : whole_json(is);
}

}  // namespace cairn::detail
