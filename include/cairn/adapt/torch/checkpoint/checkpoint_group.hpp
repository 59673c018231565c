// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_group.hpp  Backward passes that share what is made again.
#include <memory>
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Backward passes through different parts of one graph, such as those of a pipeline that computes the gradients of
/// activations first and those of weights later. All passes of a group together make a region again once; without a
/// group each would make it. What no pass has used is kept until the group ends. Corresponds to PyTorch's
/// `torch.utils.checkpoint.GraphExecGroup`. Segments of a Sequential are regions.
///
/// The group of a pass is that of the `checkpoint_group_guard` around it. Without a guard it is, for each region, the
/// group in whose guard the region was created; use this form for passes on a device, whose nodes run in other threads.
///
/// Passes may run in any threads, but one after another.
class CheckpointGroup {
 public:
  CheckpointGroup() = default;
  CheckpointGroup(CheckpointGroup const&) = delete;
  CheckpointGroup& operator=(CheckpointGroup const&) = delete;
  ~CheckpointGroup() { end(); }

  /// Frees what no pass has used. A later pass that reaches a region of this group throws an invalid_call. A second
  /// call does nothing.
  void end() noexcept { state_->end(); }

 private:
  friend class checkpoint_group_guard;
  std::shared_ptr<detail::group_state> state_ = std::make_shared<detail::group_state>();
};

/// During its lifetime, backward passes of this thread, and the regions that it creates, belong to the group.
class checkpoint_group_guard {
 public:
  /// \throws invalid_call   if the group has ended, or a guard of another group is active in this thread
  explicit checkpoint_group_guard(CheckpointGroup const& group) : before_{detail::group_state::of_thread()} {
    constexpr char const* who = "cairn::libtorch::checkpoint_group_guard";
    group.state_->check_open(who);
    if (before_ && before_ != group.state_)
      throw invalid_call{who, "another group is in force in this thread", {},
                         "end its guard first: groups do not nest"};
    detail::group_state::of_thread() = group.state_;
  }
  checkpoint_group_guard(checkpoint_group_guard const&) = delete;
  checkpoint_group_guard& operator=(checkpoint_group_guard const&) = delete;
  ~checkpoint_group_guard() { detail::group_state::of_thread() = std::move(before_); }

 private:
  std::shared_ptr<detail::group_state> before_;
};

}  // namespace cairn::libtorch
