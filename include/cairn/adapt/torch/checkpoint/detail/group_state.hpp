// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file group_state.hpp  Recomputed tensors of regions, kept for other backward passes of a group.
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Tensors of a recomputation, until they are used.
using saved_tensors = std::vector<saved_tensor>;

/// Owns recomputed tensors until the group ends; regions refer to theirs.
class group_state {
 public:
  /// A place for the tensors of one region.   \throws invalid_call   if the group has ended
  [[nodiscard]] std::shared_ptr<saved_tensors> new_place(char const* who) {
    std::lock_guard const lock{access_};
    check(who);
    return places_.emplace_back(std::make_shared<saved_tensors>());
  }
  /// \throws invalid_call   if the group has ended
  void check_open(char const* who) {
    std::lock_guard const lock{access_};
    check(who);
  }
  void end() noexcept {
    std::vector<std::shared_ptr<saved_tensors>> over;  // freed without the lock: a tensor's destructor may run any code
    std::lock_guard const lock{access_};
    ended_ = true;
    over.swap(places_);
  }

  /// The group whose guard is active in this thread.
  [[nodiscard]] static std::shared_ptr<group_state>& of_thread() {
    static thread_local std::shared_ptr<group_state> in_force;
    return in_force;
  }

 private:
  void check(char const* who) const {
    if (ended_)
      throw invalid_call{who, "the group has ended", {},
                         "keep the CheckpointGroup until the last of its backward passes"};
  }

  std::mutex access_;
  std::vector<std::shared_ptr<saved_tensors>> places_;
  bool ended_ = false;
};

/// The places of a region's tensors in all groups that it has met.
class group_places {
 public:
  /// The place in this group; made if there is none.   \throws invalid_call   if the group has ended
  [[nodiscard]] std::shared_ptr<saved_tensors> in(std::shared_ptr<group_state> const& group, char const* who) {
    group->check_open(who);
    for (auto const& [of, place] : all_)
      if (auto const found = place.lock(); found && of.lock() == group) return found;
    std::erase_if(all_, [](auto const& one) { return one.second.expired(); });
    auto const made = group->new_place(who);
    all_.emplace_back(group, made);
    return made;
  }
  /// The place in the group of this thread's backward pass, or else in `own`; null without a group.
  /// \throws invalid_call   if the group has ended
  [[nodiscard]] std::shared_ptr<saved_tensors> of_pass(std::shared_ptr<group_state> const& own, char const* who) {
    auto const& of_thread = group_state::of_thread();
    auto const& group = of_thread ? of_thread : own;
    return group ? in(group, who) : nullptr;
  }
  /// Frees a tensor that is no longer needed.
  void release(std::size_t number) {
    for (auto const& [of, place] : all_)
      if (auto const found = place.lock(); found && number < found->size()) (*found)[number] = {};
  }
  void clear() {
    for (auto const& [of, place] : all_)
      if (auto const found = place.lock()) found->clear();
  }

 private:
  std::vector<std::pair<std::weak_ptr<group_state>, std::weak_ptr<saved_tensors>>> all_;
};

}  // namespace cairn::libtorch::detail
