// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/detail/ceil_root.hpp>
#include <cairn/schedule/detail/blocks.hpp>

namespace cairn {
namespace detail {

/// Blocks in the last of the groups into which `blocks` blocks are divided.
[[nodiscard]] inline step_index last_child_of(step_index blocks, step_index group) noexcept {
  return (blocks - 1) % group + 1;
}

}  // namespace detail

CAIRN_DECL block_plan::block_plan(std::vector<stage_range> const& blocks) {
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

CAIRN_DECL block_plan block_plan::equal(step_index stages, step_index size, int levels) {
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

CAIRN_DECL block_plan block_plan::balanced(step_index stages, step_index count) {
  constexpr char const* who = "cairn::block_plan::balanced";
  check_stages(stages, who);
  if (stages > 0 && (count < 1 || count > stages))
    throw invalid_plan{who,
                       "there is no such number of blocks",
                       {{"stages", stages}, {"blocks", count}},
                       "give 1 to as many as there are stages"};
  return of(detail::balanced_blocks(stages, stages > 0 ? count : 1), 1);
}

CAIRN_DECL step_index block_plan::start(step_index j) const noexcept {
  std::size_t const k =
      (std::min)(meta_.sizes.size() - 1,
                 std::size_t(std::upper_bound(before_.begin() + 1, before_.end(), j) - before_.begin() - 1));
  return meta_.sizes[k].first + (j - before_[k]) * meta_.sizes[k].size;
}

CAIRN_DECL void block_plan::check_stages(step_index stages, char const* who) {
  if (stages < 0) throw invalid_plan{who, "the number of stages is negative", {{"stages", stages}}, "give 0 or more"};
}

CAIRN_DECL block_plan block_plan::of(detail::block_layout const& layout, int levels) {
  block_plan plan;
  if (layout.steps > 0) {
    plan.add({0, layout.front, layout.front_length});
    if (layout.count > layout.front)
      plan.add({layout.start(layout.front), layout.count - layout.front, layout.back_length});
  }
  plan.finish(levels);
  return plan;
}

CAIRN_DECL void block_plan::add(block_run run) {
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

CAIRN_DECL void block_plan::finish(int levels, bool follow) {
  meta_.levels = levels;
  meta_.num_blocks = before_.back();
  fan_out_ = detail::ceil_root(size(), (std::max)(levels, 1));
  for (auto const& run : meta_.sizes) meta_.largest = (std::max)(meta_.largest, run.size);
  if (!follow) return;
  meta_.peak_checkpoints = peak_checkpoints();
  meta_.extra_runs = extra_runs();
}

CAIRN_DECL step_index block_plan::next_group(step_index group) const noexcept {
  return group > size() / fan_out_ ? size() : group * fan_out_;
}

CAIRN_DECL wide block_plan::extra_runs() const noexcept {
  wide sum = 0;
  bool const last_alone_differs = meta_.sizes.size() == 1 || (meta_.sizes.size() == 2 && meta_.sizes[1].count == 1);
  for (step_index group = 1; group < size();) {
    step_index const around = next_group(group);
    step_index from = 0;
    if (last_alone_differs) {
      step_index const whole = size() / around;
      sum += wide(whole) * wide(around - detail::last_child_of(around, group)) * wide(meta_.sizes[0].size);
      from = whole * around;
    }
    for (; from < size(); from += (std::min)(around, size() - from)) {
      step_index const blocks = (std::min)(around, size() - from);
      sum += wide(start(from + blocks - detail::last_child_of(blocks, group)) - start(from));
    }
    group = around;
  }
  return sum;
}

CAIRN_DECL step_index block_plan::peak_checkpoints() const noexcept {
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

CAIRN_DECL action block_cursor::next() noexcept {
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

CAIRN_DECL void block_cursor::close() noexcept {
  if (open_ == 0) {
    plan_ = nullptr;
    return;
  }
  step_index group = 1;
  while (group <= open_ / fan_out() && open_ % (group * fan_out()) == 0) group *= fan_out();
  at_ = open_ - group;
  --open_;
}

}  // namespace cairn
