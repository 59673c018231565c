// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_notes.hpp  What planners note in a block plan.
#include <cairn/plan/block/block_plan.hpp>

namespace cairn::detail {

/// Lets planners write the properties that they know into a plan.
struct block_notes {
  [[nodiscard]] static block_meta& of(block_plan& plan) noexcept { return plan.meta_; }
};

}  // namespace cairn::detail
