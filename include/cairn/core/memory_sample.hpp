// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_sample.hpp  Memory at one time of a run, as observers record it and pictures show it.
#include <cstdint>
#include <cairn/language.hpp>

namespace cairn {

/// The memory during one action of a run, or during any other part of it.
struct memory_sample {
  std::int64_t begin = 0;  ///< nanoseconds since the start of the run
  std::int64_t end = 0;    ///< not before `begin`
  std::int64_t bytes = 0;  ///< most bytes held at once in between
  friend constexpr bool operator==(memory_sample const&, memory_sample const&) = default;
};

}  // namespace cairn
