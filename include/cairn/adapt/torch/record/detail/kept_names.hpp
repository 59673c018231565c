// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_names.hpp  Which named parts of a region are held.
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/adapt/torch/state/detail/name_matches.hpp>

namespace cairn::libtorch::detail {

/// Names of parts that are held; `*` matches any characters. Without a value all parts are held.
using kept_names = std::optional<std::vector<std::string>>;
[[nodiscard]] inline bool is_among(kept_names const& names, std::string_view name) {
  if (!names) return true;
  for (auto const& pattern : *names)
    if (name_matches(pattern, name)) return true;
  return false;
}

}  // namespace cairn::libtorch::detail
