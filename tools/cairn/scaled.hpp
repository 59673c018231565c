#pragma once
/// \file scaled.hpp  The same request with half, twice or the least of what may be kept.
#include <cstdint>
#include <string>
#include "planning.hpp"

namespace tool {

enum class scale : std::uint8_t { half, twice, least };

/// \pre found.kind is not action_list
[[nodiscard]] request scaled(planned const& found, scale how);

/// The loop under store_all.
[[nodiscard]] request storing_all(planned const& found);

/// What may be kept, as in "10 slots".
[[nodiscard]] std::string amount(request const& asked);
/// The least that the asked kind can do with.
[[nodiscard]] std::string least_amount(request const& asked);

}  // namespace tool
