// SPDX-License-Identifier: Apache-2.0
// The store in memory for plans that name other tiers, so that sweeps do what they say of them without a disk.
#pragma once
#include <cairn/store/memory.hpp>

namespace toys {

struct every_tier : cairn::memory_store {};

}  // namespace toys
