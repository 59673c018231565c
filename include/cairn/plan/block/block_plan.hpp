// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_plan.hpp  A chain or loop cut into consecutive blocks, and the order in which they are run and reversed.
#include <cstdint>
#include <optional>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// Stages [first, last).
struct stage_range {
  step_index first = 0;  ///< the first stage
  step_index last = 0;   ///< one past the last stage
  friend constexpr bool operator==(stage_range, stage_range) = default;
};

/// Consecutive blocks of equal size.
struct block_run {
  step_index first = 0;  ///< the first stage of the first block
  step_index count = 0;  ///< number of blocks
  step_index size = 0;   ///< stages of each block; 0 for an empty block made by a planner
  friend constexpr bool operator==(block_run, block_run) = default;
};

/// How a chain was cut into blocks.
enum class block_method : std::uint8_t {
  square_root,   ///< blocks of ceil(n^(1/(levels+1))) stages, the default
  block_size,    ///< blocks of a given size
  bytes,         ///< the cuts with the fewest extra runs within a budget
  user_planner,  ///< a user's planner
  plain          ///< one block, because no other plan could be made
};

/// Its name.
[[nodiscard]] constexpr char const* name_of(block_method by) noexcept {
  switch (by) {
    case block_method::square_root: return "square_root";
    case block_method::block_size: return "block_size";
    case block_method::bytes: return "bytes";
    case block_method::user_planner: return "user_planner";
    case block_method::plain: break;
  }
  return "plain";
}

/// Properties of a block plan that are known before it runs.
struct block_meta {
  block_method by = block_method::user_planner;  ///< how the blocks were made
  int levels = 1;              ///< the most times that a stage is run again without its tape
  step_index num_blocks = 0;   ///< number of blocks
  std::vector<block_run> sizes;  ///< the blocks; consecutive ones of equal size are one entry
  step_index largest = 0;      ///< stages of the largest block, which is the most tapes at once
  step_index peak_checkpoints = 0;  ///< most first states of blocks kept at once, without state 0
  wide extra_runs = 0;         ///< number of stages run again
  std::optional<std::int64_t>
      peak_bytes;  ///< as predicted by `replay`, without state 0; empty if sizes are unknown
  std::optional<std::int64_t> extra_forward;  ///< time of the stages run again; empty if times are unknown
};

/// The actions of block plans, over stages [first, last). The engine keeps the states. Only one block has tapes at a
/// time, in tape slot 0. There is no turn: the engine makes the adjoint of the last state before the first `reverse`.
namespace block_actions {

/// Runs the stages without keeping tapes; the first state is kept.
[[nodiscard]] constexpr action advance(step_index first, step_index last) noexcept {
  return {action_kind::advance, tier::memory, content::state, no_slot, first, last};
}
/// Runs the stages and keeps their tapes; the first state is kept.
[[nodiscard]] constexpr action record(step_index first, step_index last) noexcept {
  return {action_kind::record, tier::memory, content::tape, 0, first, last};
}
/// Runs the adjoints of the stages, the last stage first; their tapes and the first state are not needed afterwards.
[[nodiscard]] constexpr action reverse(step_index first, step_index last) noexcept {
  return {action_kind::reverse, tier::memory, content::tape, 0, first, last};
}

}  // namespace block_actions

class block_cursor;
namespace detail {
struct block_layout;
struct block_notes;
}  // namespace detail

/// Contiguous half-open blocks over stages 0..n-1. The forward sweep keeps the first state of each block. In the
/// reverse sweep each block but the last is run again, now with its tapes, and reversed (Chen, Xu, Zhang, Guestrin
/// 2016). With `levels` > 1, blocks form groups of about count^(1/levels), these form larger groups, and so on: the
/// first states inside a group are kept only while that group is reversed. Equal blocks take no memory, whatever their
/// number.
class block_plan {
 public:
  /// An empty plan: no blocks and no stages.
  block_plan() = default;
  /// Any blocks, with one level; whether they are consecutive is checked before they are used.   Cost: O(blocks)
  CAIRN_DECL explicit block_plan(std::vector<stage_range> const& blocks);
  /// Blocks of `size` stages; the last block has the remaining stages.
  /// \param levels  0 to 62; 0 means one block that is never run again
  /// \throws invalid_plan
  [[nodiscard]] CAIRN_DECL static block_plan equal(step_index stages, step_index size, int levels = 1);
  /// `count` blocks whose sizes differ by at most one stage, the shorter ones first.
  /// \throws invalid_plan
  [[nodiscard]] CAIRN_DECL static block_plan balanced(step_index stages, step_index count);

  [[nodiscard]] block_meta const& meta() const noexcept { return meta_; }  ///< sizes, peak and cost of the blocks
  /// For custom planners: promises that the peak is at most `bytes`. The promise is checked before anything runs.
  void promise_peak(std::int64_t bytes) noexcept { meta_.peak_bytes = bytes; }
  [[nodiscard]] step_index stages() const noexcept { return meta_.sizes.empty() ? 0 : start(size()); }  ///< in total
  [[nodiscard]] step_index size() const noexcept { return meta_.num_blocks; }  ///< number of blocks
  /// Block j.   \pre 0 <= j < size()   Cost: O(log of the number of different sizes)
  [[nodiscard]] stage_range operator[](step_index j) const noexcept { return {start(j), start(j + 1)}; }
  /// The first state of block j; the number of stages if j is size().   \pre 0 <= j <= size(), and there is a block
  [[nodiscard]] CAIRN_DECL step_index start(step_index j) const noexcept;
  /// Number of children of a group: blocks or smaller groups. A plan of one level is one group.
  [[nodiscard]] step_index fan_out() const noexcept { return fan_out_; }
  /// A cursor at the beginning. The plan must outlive it.
  [[nodiscard]] block_cursor walk() const& noexcept;
  void walk() const&& = delete;  ///< a temporary plan would not outlive its cursor

 private:
  friend struct detail::block_notes;

  CAIRN_DECL static void check_stages(step_index stages, char const* who);
  [[nodiscard]] CAIRN_DECL static block_plan of(detail::block_layout const& layout, int levels);
  CAIRN_DECL void add(block_run run);
  CAIRN_DECL void finish(int levels, bool follow = true);
  /// A group of one level has `group` blocks; the result is the size of a group of the next level: `fan_out_` times
  /// that, or all blocks.
  [[nodiscard]] CAIRN_DECL step_index next_group(step_index group) const noexcept;
  /// At each level, a stage is run once without its tape unless its group is the last child of the group around it.
  [[nodiscard]] CAIRN_DECL wide extra_runs() const noexcept;
  /// The most first states kept at once: the maximum over the path of groups to the last block and, at each level, over
  /// the group just before that path, whose own groups are all full.
  [[nodiscard]] CAIRN_DECL step_index peak_checkpoints() const noexcept;

  block_meta meta_;
  std::vector<step_index> before_{0};  ///< blocks before each run, and at the end all blocks
  step_index fan_out_ = 1;
};

/// Walks over a block plan, one action at a time. Copy it to look ahead.   Cost: O(levels) per action
class block_cursor {
 public:
  /// The next action; after the last one always `done`.
  [[nodiscard]] CAIRN_DECL action next() noexcept;

 private:
  friend class block_plan;
  explicit block_cursor(block_plan const& plan) noexcept
      : plan_{plan.size() > 0 ? &plan : nullptr}, open_{plan.size() - 1} {}
  [[nodiscard]] step_index fan_out() const noexcept { return plan_->fan_out(); }
  /// Moves to the block before, starting at the largest group that ends there: of that group only the first state is
  /// kept.
  CAIRN_DECL void close() noexcept;

  block_plan const* plan_;
  step_index at_ = 0;  ///< the block whose first state is available
  step_index open_;    ///< the block to be reversed next
  bool recorded_ = false;
};
static_assert(cursor<block_cursor>);

inline block_cursor block_plan::walk() const& noexcept { return block_cursor{*this}; }

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/block/impl/block_plan.ipp>
#endif
