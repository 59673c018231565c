// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scaled.hpp  The same request with half, twice or the least amount of slots, units or memory.
#include <cstdint>
#include <string>
#include "planning.hpp"

namespace tool {

enum class scale : std::uint8_t { half, twice, least };

/// \pre found.kind is not a list
[[nodiscard]] request scaled(planned const& found, scale how);

/// The same loop with schedule store_all.
[[nodiscard]] request storing_all(planned const& found);

/// The least amount that the requested kind needs.
[[nodiscard]] std::string least_amount(request const& asked);

/// Half or twice a number, or the least that it may be; for the rows of kinds.
[[nodiscard]] cairn::slot_index change(cairn::slot_index own, cairn::slot_index least, scale how);
void change_slots(request& asked, planned const& found, scale how);  ///< `asked.slots`, 1 at least
void change_ram_slots(request& asked, planned const& found, scale how);
[[nodiscard]] std::string slots_amount(request const& asked);
[[nodiscard]] std::string ram_slots_amount(request const& asked);

}  // namespace tool
