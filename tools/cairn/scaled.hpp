// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scaled.hpp  The same request with half, twice or the least amount of slots, units or memory.
#include <cstdint>
#include <string>
#include "planning.hpp"

namespace tool {

enum class scale : std::uint8_t { half, twice, least };

/// \pre found.kind is not action_list
[[nodiscard]] request scaled(planned const& found, scale how);

/// The same loop with schedule store_all.
[[nodiscard]] request storing_all(planned const& found);

/// The requested amount, for example "10 slots".
[[nodiscard]] std::string amount(request const& asked);
/// The least amount that the requested kind needs.
[[nodiscard]] std::string least_amount(request const& asked);

}  // namespace tool
