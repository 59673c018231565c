// SPDX-License-Identifier: Apache-2.0
#include "kinds.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tool {
namespace {

constexpr std::string_view for_all[] = {"steps", "schedule", "state", "adjoint", "tape", "out_of_place", "time_limit"};

}  // namespace

schedule_kind const* kind_named(std::string_view name) noexcept {
  for (auto const kinds : schedule_kinds())
    for (auto const& kind : kinds)
      if (name == kind.name) return &kind;
  return nullptr;
}
schedule_kind const& revolve_kind() noexcept {
  static auto const& kind = *kind_named("revolve");
  return kind;
}
schedule_kind const& store_all_kind() noexcept {
  static auto const& kind = *kind_named("store_all");
  return kind;
}
schedule_kind const& list_kind() noexcept { return kinds_of_lists().front(); }

std::string kind_names(std::string_view key, char const* last) {
  std::vector<char const*> names;
  for (auto const kinds : schedule_kinds())
    for (auto const& kind : kinds)
      if (key.empty() || std::ranges::find(kind.keys, key) != kind.keys.end()) names.push_back(kind.name);
  std::string text;
  for (auto const& name : names)
    text.append(text.empty() ? "" : &name == &names.back() ? last : ", ").append(name);
  return text;
}

bool goes_with_all(std::string_view key) noexcept {
  return std::find(std::begin(for_all), std::end(for_all), key) != std::end(for_all);
}

}  // namespace tool
