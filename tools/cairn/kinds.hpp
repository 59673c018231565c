// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kinds.hpp  The kinds of schedules. What the command knows of one is a row beside the function that makes its
/// plans, in make_*.cpp, and stands nowhere else.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <cairn/core/action.hpp>

namespace tool {

struct planned;
struct request;
enum class scale : std::uint8_t;

/// One kind of schedule. Kinds are told apart by their address.
struct schedule_kind {
  char const* name;
  std::span<std::string_view const> keys;  ///< beside those that apply to every schedule
  char const* needs;  ///< the keys it needs, as a message writes them (see `worded`); nullptr if it needs none
  bool (*complete)(request const& asked);  ///< whether these are given; nullptr if it needs none
  /// Takes a request that holds the keys the kind needs and no key of other kinds.
  planned (*plan)(request const& asked);
  std::string (*words)(planned const& found);  ///< what it keeps, and when, for two steps or more
  /// Changes `asked`, which is that of `found`, to half, twice or the least of its slots; nullptr for a list.
  void (*scaled)(request& asked, planned const& found, scale how);
  std::string (*amount)(request const& asked);  ///< what `scaled` changes, for example "10 slots"
  cairn::slot_index (*least)(request const& asked) = nullptr;  ///< the fewest slots, where they are not 1
  char const* own_slots = nullptr;  ///< the key for the slots that are chosen, if it has several kinds of slots
  bool keeps_tapes = false;         ///< its adjoints record
};

/// The rows of each file, in the order in which the command names them.
[[nodiscard]] std::span<schedule_kind const> kinds_of_states() noexcept;
[[nodiscard]] std::span<schedule_kind const> kinds_of_tiers() noexcept;
[[nodiscard]] std::span<schedule_kind const> kinds_of_tapes() noexcept;
[[nodiscard]] std::span<schedule_kind const> kinds_of_lists() noexcept;
[[nodiscard]] inline std::array<std::span<schedule_kind const>, 4> schedule_kinds() noexcept {
  return {kinds_of_states(), kinds_of_tiers(), kinds_of_tapes(), kinds_of_lists()};
}
/// \return nullptr for a name of none
[[nodiscard]] schedule_kind const* kind_named(std::string_view name) noexcept;
/// Those that the command takes by itself.
[[nodiscard]] schedule_kind const& revolve_kind() noexcept;
[[nodiscard]] schedule_kind const& store_all_kind() noexcept;
[[nodiscard]] schedule_kind const& list_kind() noexcept;

/// The names of the kinds that a key applies to, with ", " between them and `last` before the last one; of all kinds for
/// no key.
[[nodiscard]] std::string kind_names(std::string_view key, char const* last);

/// Whether the key applies to every schedule.
[[nodiscard]] bool goes_with_all(std::string_view key) noexcept;

}  // namespace tool
