// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_plan.hpp  A chain or loop cut into consecutive blocks, and the order in which they are run and reversed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/detail/blocks.hpp>

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

/// The actions of block plans, over stages [first, last). The engine keeps the states. Tapes of one block exist at a
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

namespace detail {

/// The least m >= 1 with m^power >= x.   \pre x >= 0, power >= 1
[[nodiscard]] constexpr step_index ceil_root(step_index x, int power) noexcept {
  auto const reaches = [x, power](step_index m) {
    wide product = 1;
    for (int k = 0; k < power && product < wide(x); ++k) product *= wide(m);
    return product >= wide(x);
  };
  step_index low = 1, high = x < 1 ? 1 : x;
  while (low < high) {
    step_index const middle = low + (high - low) / 2;
    if (reaches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

}  // namespace detail

class block_cursor;
namespace detail { struct block_notes; }

/// Contiguous half-open blocks over stages 0..n-1. The forward sweep keeps the first state of each block. On the way
/// back each block but the last is run again, now with its tapes, and reversed (Chen, Xu, Zhang, Guestrin 2016). With
/// `levels` > 1, blocks form groups of about count^(1/levels), these form larger groups, and so on: the first states
/// inside a group are kept only while that group is reversed. Equal blocks take no memory, whatever their number.
class block_plan {
 public:
  /// An empty plan: no blocks and no stages.
  block_plan() = default;
  /// Any blocks, with one level; whether they are consecutive is checked before they are used.   Cost: O(blocks)
  explicit block_plan(std::vector<stage_range> const& blocks) {
    step_index end = 0;
    bool follow = true;
    for (auto const& one : blocks) {
      bool const has_stages = one.first >= 0 && one.last > one.first;
      add({one.first, 1, has_stages ? one.last - one.first : 0});
      follow = follow && has_stages && one.first == end;
      end = one.last;
    }
    finish(1, follow);
  }
  /// Blocks of `size` stages; the last block has the remaining stages.
  /// \param levels  0 to 62; 0 means one block that is never run again
  /// \throws invalid_plan
  [[nodiscard]] static block_plan equal(step_index stages, step_index size, int levels = 1) {
    constexpr char const* who = "cairn::block_plan::equal";
    check_stages(stages, who);
    if (size < 1)
      throw invalid_plan{who,
                         "a block has at least 1 stage",
                         {{"block_size", size}},
                         "leave it out for blocks of about sqrt(n) stages"};
    if (levels < 0 || levels > 62)
      throw invalid_plan{who,
                         "blocks have 0 to 62 levels",
                         {{"levels", levels}},
                         "1 keeps the first states of all blocks, more keep fewer"};
    if (levels == 0 && size < stages)
      throw invalid_plan{who,
                         "no level, but more than one block",
                         {{"stages", stages}, {"block_size", size}},
                         "give 1 level or more, or no block size"};
    return of(detail::equal_blocks(stages, size), levels);
  }
  /// `count` blocks whose sizes differ by at most one stage, the shorter ones first.
  /// \throws invalid_plan
  [[nodiscard]] static block_plan balanced(step_index stages, step_index count) {
    constexpr char const* who = "cairn::block_plan::balanced";
    check_stages(stages, who);
    if (stages > 0 && (count < 1 || count > stages))
      throw invalid_plan{who,
                         "there is no such number of blocks",
                         {{"stages", stages}, {"blocks", count}},
                         "give 1 to as many as there are stages"};
    return of(detail::balanced_blocks(stages, stages > 0 ? count : 1), 1);
  }

  [[nodiscard]] block_meta const& meta() const noexcept { return meta_; }  ///< sizes, peak and cost of the blocks
  /// For custom planners: promises that the peak is at most `bytes`. The promise is checked before anything runs.
  void promise_peak(std::int64_t bytes) noexcept { meta_.peak_bytes = bytes; }
  [[nodiscard]] step_index stages() const noexcept { return meta_.sizes.empty() ? 0 : start(size()); }  ///< in total
  [[nodiscard]] step_index size() const noexcept { return meta_.num_blocks; }  ///< number of blocks
  /// Block j.   \pre 0 <= j < size()   Cost: O(log of the number of different sizes)
  [[nodiscard]] stage_range operator[](step_index j) const noexcept { return {start(j), start(j + 1)}; }
  /// The first state of block j; the number of stages if j is size().   \pre 0 <= j <= size(), and there is a block
  [[nodiscard]] step_index start(step_index j) const noexcept {
    std::size_t const k =
        (std::min)(meta_.sizes.size() - 1,
                   std::size_t(std::upper_bound(before_.begin() + 1, before_.end(), j) - before_.begin() - 1));
    return meta_.sizes[k].first + (j - before_[k]) * meta_.sizes[k].size;
  }
  /// Number of children of a group: blocks or smaller groups. A plan of one level is one group.
  [[nodiscard]] step_index fan_out() const noexcept { return fan_out_; }
  /// A cursor at the beginning. The plan must outlive it.
  [[nodiscard]] block_cursor walk() const& noexcept;
  void walk() const&& = delete;  ///< a temporary plan would not outlive its cursor

 private:
  friend struct detail::block_notes;

  static void check_stages(step_index stages, char const* who) {
    if (stages < 0) throw invalid_plan{who, "the number of stages is negative", {{"stages", stages}}, "give 0 or more"};
  }
  [[nodiscard]] static block_plan of(detail::block_layout const& layout, int levels) {
    block_plan plan;
    if (layout.steps > 0) {
      plan.add({0, layout.front, layout.front_length});
      if (layout.count > layout.front)
        plan.add({layout.start(layout.front), layout.count - layout.front, layout.back_length});
    }
    plan.finish(levels);
    return plan;
  }
  void add(block_run run) {
    if (!meta_.sizes.empty()) {
      block_run& end = meta_.sizes.back();
      if (end.size == run.size && run.size > 0 && run.first - end.first == end.count * end.size) {
        end.count += run.count;
        before_.back() += run.count;
        return;
      }
    }
    meta_.sizes.push_back(run);
    before_.push_back(before_.back() + run.count);
  }
  void finish(int levels, bool follow = true) {
    meta_.levels = levels;
    meta_.num_blocks = before_.back();
    fan_out_ = detail::ceil_root(size(), (std::max)(levels, 1));
    for (auto const& run : meta_.sizes) meta_.largest = (std::max)(meta_.largest, run.size);
    if (!follow) return;
    meta_.peak_checkpoints = peak_checkpoints();
    meta_.extra_runs = extra_runs();
  }
  /// A group of one level has `group` blocks; the result is the size of a group of the next level: `fan_out_` times
  /// that, or all blocks.
  [[nodiscard]] step_index next_group(step_index group) const noexcept {
    return group > size() / fan_out_ ? size() : group * fan_out_;
  }
  /// At each level, a stage is run once without its tape unless its group is the last child of the group around it.
  [[nodiscard]] wide extra_runs() const noexcept {
    wide sum = 0;
    bool const last_alone_differs = meta_.sizes.size() == 1 || (meta_.sizes.size() == 2 && meta_.sizes[1].count == 1);
    for (step_index group = 1; group < size();) {
      step_index const around = next_group(group);
      step_index from = 0;
      if (last_alone_differs) {
        step_index const whole = size() / around;
        sum += wide(whole) * wide(around - last_child(around, group)) * wide(meta_.sizes[0].size);
        from = whole * around;
      }
      for (; from < size(); from += (std::min)(around, size() - from)) {
        step_index const blocks = (std::min)(around, size() - from);
        sum += wide(start(from + blocks - last_child(blocks, group)) - start(from));
      }
      group = around;
    }
    return sum;
  }
  /// Blocks in the last of the groups into which `blocks` blocks are divided.
  [[nodiscard]] static step_index last_child(step_index blocks, step_index group) noexcept {
    return (blocks - 1) % group + 1;
  }
  /// The most first states kept at once: the maximum over the path of groups to the last block and, at each level, over
  /// the group just before that path, whose own groups are all full.
  [[nodiscard]] step_index peak_checkpoints() const noexcept {
    std::vector<step_index> groups;
    for (step_index group = 1; group < size(); group = next_group(group)) groups.push_back(group);
    step_index most = 0, on_the_way = 0, left = size();
    for (std::size_t level = groups.size(); level-- > 0;) {
      step_index const before_last = (left - 1) / groups[level];
      if (before_last > 0) most = (std::max)(most, on_the_way + before_last - 1 + step_index(level) * (fan_out_ - 1));
      on_the_way += before_last;
      left -= before_last * groups[level];
    }
    return (std::max)(most, on_the_way);
  }

  block_meta meta_;
  std::vector<step_index> before_{0};  ///< blocks before each run, and at the end all blocks
  step_index fan_out_ = 1;
};

namespace detail {

/// Lets planners write the properties that they know into a plan.
struct block_notes {
  [[nodiscard]] static block_meta& of(block_plan& plan) noexcept { return plan.meta_; }
};

}  // namespace detail

/// Walks over a block plan, one action at a time. Copy it to look ahead.   Cost: O(levels) per action
class block_cursor {
 public:
  /// The next action; after the last one always `done`.
  [[nodiscard]] action next() noexcept {
    if (plan_ == nullptr) return {};
    if (at_ == open_) {
      auto const [first, last] = (*plan_)[open_];
      recorded_ = !recorded_;
      if (recorded_) return block_actions::record(first, last);
      close();
      return block_actions::reverse(first, last);
    }
    step_index group = 1;
    while (group <= (open_ - at_) / fan_out() && at_ % (group * fan_out()) == 0) group *= fan_out();
    step_index const from = at_;
    at_ += group;
    return block_actions::advance(plan_->start(from), plan_->start(at_));
  }

 private:
  friend class block_plan;
  explicit block_cursor(block_plan const& plan) noexcept
      : plan_{plan.size() > 0 ? &plan : nullptr}, open_{plan.size() - 1} {}
  [[nodiscard]] step_index fan_out() const noexcept { return plan_->fan_out(); }
  /// Moves to the block before, starting at the largest group that ends there: of that group only the first state is
  /// kept.
  void close() noexcept {
    if (open_ == 0) {
      plan_ = nullptr;
      return;
    }
    step_index group = 1;
    while (group <= open_ / fan_out() && open_ % (group * fan_out()) == 0) group *= fan_out();
    at_ = open_ - group;
    --open_;
  }

  block_plan const* plan_;
  step_index at_ = 0;  ///< the block whose first state is available
  step_index open_;    ///< the block to be reversed next
  bool recorded_ = false;
};
static_assert(cursor<block_cursor>);

inline block_cursor block_plan::walk() const& noexcept { return block_cursor{*this}; }

}  // namespace cairn
