// SPDX-License-Identifier: Apache-2.0
#pragma once
// How large the measurements are: those of a device, and those of a dry run.
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>

namespace gpu {

/// Sweeps over states of one size.
struct table_settings {
  std::size_t bytes;                         ///< of a state, a multiple of 2 KiB
  int steps_for_times;                       ///< in a row, for the times of one step and one adjoint
  /// Of loops: one whose states may all fit the device, that of most rows, and the longest.
  cairn::step_index short_steps, steps, headline_steps;
  std::vector<cairn::slot_index> slots;      ///< on the device
  cairn::slot_index host_slots, headline_slots, headline_host_slots;
};

struct settings {
  std::vector<table_settings> tables;     ///< first that of the headline
  std::vector<std::size_t> small_states;  ///< bytes, for graphs
  cairn::step_index small_steps;
  std::size_t copied, copied_pageable;    ///< bytes
  std::size_t pinned;                     ///< bytes
  std::size_t reserve;                    ///< bytes of the device that are not used
  double host_share;                      ///< of the host's memory that may be pinned
  int calls;                              ///< in a row, to time one
};

inline constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

[[nodiscard]] inline settings device_settings() {
  return {.tables = {{GiB, 60, 30, 2000, 10'000, {8, 16, 32, 60}, 64, 127, 96},
                     {64 * MiB, 200, 200, 2000, 10'000, {8, 16, 32, 60}, 64, 127, 96}},
          .small_states = {2 * KiB, 32 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB},
          .small_steps = 1000,
          .copied = GiB,
          .copied_pageable = 256 * MiB,
          .pinned = 8 * GiB,
          .reserve = GiB,
          .host_share = 0.8,
          .calls = 1000};
}
[[nodiscard]] inline settings dry_settings() {
  return {.tables = {{64 * KiB, 10, 10, 120, 600, {4, 8, 16}, 8, 16, 12},
                     {4 * KiB, 10, 20, 120, 400, {4, 8, 16}, 8, 16, 12}},
          .small_states = {2 * KiB, 8 * KiB},
          .small_steps = 100,
          .copied = 8 * KiB,
          .copied_pageable = 8 * KiB,
          .pinned = 64 * KiB,
          .reserve = 4 * KiB,
          .host_share = 0.8,
          .calls = 20};
}

}  // namespace gpu
