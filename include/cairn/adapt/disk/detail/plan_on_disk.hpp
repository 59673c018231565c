// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_on_disk.hpp  The plan of a budget of memory and of files, by counts alone.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>

namespace cairn::detail {

/// Memory for hashes of states, for each slot; twice in a run that is kept.
inline constexpr wide bytes_of_hashes = 3 * bytes_a_noted_state;
/// Memory for a slot of a run on disk, besides its state: 32 of its store, 32 of the sweep, and for hashes.
inline constexpr wide bytes_a_slot_on_disk = 64 + bytes_of_hashes;
/// A checkpoint's file: its head, the state, and the sum of an objective's terms so far with their number.
[[nodiscard]] constexpr std::uint64_t bytes_of_file(std::uint64_t state) noexcept {
  return sizeof(file_head) + state + 2 * sizeof(std::int64_t);
}

/// Chooses between `revolve` in memory and `two_level` with its periods in files, whichever runs fewer steps. Both are
/// in closed form: whatever the length of the loop, the plan takes no table and no time to make.
/// \tparam BytesOf  bytes(plan, slots): bytes in memory with so many of its slots there
template <class BytesOf>
class disk_planner {
 public:
  /// \param leaf  steps that one adjoint call reverses: only states between leaves are kept
  disk_planner(step_index steps, step_index leaf, std::optional<byte_size> on_disk, std::uint64_t file,
               adjoint_form form, BytesOf const& bytes)
      : all_steps_{steps}, leaf_{leaf}, steps_{parts_of(steps, leaf)}, on_disk_{on_disk},
        file_{file}, form_{form}, bytes_{bytes} {}

  /// \throws infeasible_budget, invalid_plan
  [[nodiscard]] any_schedule plan(byte_size memory) const {
    auto found = within(memory.count());
    if (!found) refuse(memory.count());
    return *std::move(found);
  }

 private:
  /// How many parts of a length there are in so many steps; the last one may be shorter.
  [[nodiscard]] static constexpr step_index parts_of(step_index steps, step_index length) noexcept {
    return steps / length + (steps % length != 0 ? 1 : 0);
  }
  [[nodiscard]] std::optional<any_schedule> within(wide memory) const {
    auto alone = widest(memory, 1, (std::max)(steps_, step_index{1}),
                        [&](slot_index slots) { return revolve{steps_, slots}; });
    // What is noted of files takes memory, too: a sixteenth at most, whatever their number, so that more room on disk
    // never takes a state's place in memory.
    wide const apart = (std::min)(wide(std::uint64_t(steps_)) * bytes_a_slot_on_disk, memory / 16);
    wide files = apart / bytes_a_slot_on_disk;
    if (on_disk_ && on_disk_->count() / file_ < files) files = on_disk_->count() / file_;
    if (files == 0) return alone;
    auto const most = step_index(files);
    step_index const shortest = parts_of(steps_, most);
    auto filed = widest(memory - apart, 0, steps_ - 1, [&](slot_index inside) {
      // With one state more than slots inside, each step of a period runs twice: the last state needs no slot.
      step_index const without_last = inside < steps_ - 2 ? inside + 2 : steps_;
      return two_level{steps_, on_disk_ ? shortest : (std::max)(shortest, without_last), inside};
    });
    if (!alone || (filed && calls(*filed) < calls(*alone))) return filed;
    return alone;
  }
  /// The plan with the most slots in memory that fit.   \pre steps_ >= 0
  template <class Make>
  [[nodiscard]] std::optional<any_schedule> widest(wide memory, slot_index least, slot_index most,
                                                   Make const& make) const {
    slot_fit const found =
        most_within(memory, least, most, [&](slot_index slots) { return bytes_(over_leaves(make(slots)), slots); });
    if (!found.fits) return {};
    return over_leaves(make(found.slots));
  }
  template <class Plan>
  [[nodiscard]] any_schedule over_leaves(Plan plan) const {
    if (leaf_ > 1) return leaves{all_steps_, leaf_, std::move(plan)};
    return plan;
  }
  [[nodiscard]] wide calls(any_schedule const& plan) const { return step_calls(plan.counts(), form_); }

  [[noreturn]] void refuse(wide budget) const {
    wide low = budget, high = bytes_(over_leaves(revolve{steps_, 1}), 1);  // which fits
    while (high - low > 1) {
      wide const middle = low + (high - low) / 2;
      (within(middle) ? high : low) = middle;
    }
    char const* const who = "cairn::budget_of";
    char const* const problem = "no plan keeps the sweep within the budget of memory";
    char const* const advice =
        "give at least that many bytes: besides states the run on disk itself takes 68 KiB, with compression 0.8 MB";
    if (!on_disk_)
      throw infeasible_budget{
          who, problem, {{"budget", budget}, {"least", high}, {"steps", all_steps_}}, advice};
    throw infeasible_budget{who, problem,
                            {{"budget", budget}, {"least", high},
                             {"on disk", on_disk_->count()}, {"bytes of a file", file_},
                             {"steps", all_steps_}},
                            advice};
  }

  step_index all_steps_, leaf_, steps_;  // the last: leaves
  std::optional<byte_size> on_disk_;
  std::uint64_t file_;
  adjoint_form form_;
  BytesOf const& bytes_;
};

}  // namespace cairn::detail
