#pragma once
/// \file checkpoint_group.hpp  Backward passes that share the second runs of regions.
#include <memory>
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Backward passes through different parts of one graph, such as those of a pipeline that computes the gradients of
/// activations first and those of weights later: all of them together run a region again once, where each would run
/// it by itself otherwise. What the second run made and no pass has taken stays until the group ends. PyTorch's
/// `torch.utils.checkpoint.GraphExecGroup` is the same. A Sequential under checkpoints, and an `HCModule`, run each
/// child again once for a group, too; what a group holds stands beside a memory limit.
///
/// The group of a pass is that of the `checkpoint_group_guard` around it. Without one it is, for each region, that of
/// the guard under which the region was made; passes on a device need this form, as their nodes run in other threads.
///
/// Each saved tensor is given to one pass: passes of one group must not run the same node twice, also with
/// retain_graph. They may run in any thread, one after another.
class CheckpointGroup {
 public:
  CheckpointGroup() = default;
  CheckpointGroup(CheckpointGroup const&) = delete;
  CheckpointGroup& operator=(CheckpointGroup const&) = delete;
  ~CheckpointGroup() { end(); }

  /// Lets go of what no pass has taken. A pass that comes later throws an invalid_call where it meets a region that
  /// is of this group. A second call does nothing.
  void end() noexcept { state_->end(); }

 private:
  friend class checkpoint_group_guard;
  std::shared_ptr<detail::group_state> state_ = std::make_shared<detail::group_state>();
};

/// While it lives, backward passes of this thread, and the regions that it makes, are of the group.
class checkpoint_group_guard {
 public:
  /// \throws invalid_call   where the group has ended, and where a guard of another group is in force in this thread
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
