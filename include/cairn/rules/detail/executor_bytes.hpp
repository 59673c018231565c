// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file executor_bytes.hpp  The bytes of what executors keep besides states.
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// Sizes of what executors keep besides states; each is asserted where it is defined.
inline constexpr wide bytes_a_frame = 24, bytes_a_slot = 8, bytes_a_remembered_slot = 64;
inline constexpr wide bytes_of_tape_slots = 2 * sizeof(void*);

}  // namespace cairn::detail
