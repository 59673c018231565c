// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file group_state.hpp  A group of backward passes, for which what was made again stays until its end.
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Tells regions when the group ends.
class group_state {
 public:
  /// \throws invalid_call   if the group has ended
  void check_open(char const* who) {
    std::lock_guard const lock{access_};
    if (ended_)
      throw invalid_call{who, "the group has ended", {},
                         "keep the CheckpointGroup until the last of its backward passes"};
  }
  /// Calls a function when the group ends.   \pre the group is open
  void at_end(std::function<void()> what) {
    std::lock_guard const lock{access_};
    at_end_.push_back(std::move(what));
  }
  void end() noexcept {
    std::vector<std::function<void()>> ends;
    {
      std::lock_guard const lock{access_};
      ended_ = true;
      ends.swap(at_end_);
    }
    for (auto const& one : ends) one();  // without the lock: a tensor's destructor may run any code
  }

  /// The group whose guard is active in this thread.
  [[nodiscard]] static std::shared_ptr<group_state>& of_thread() {
    static thread_local std::shared_ptr<group_state> in_force;
    return in_force;
  }

 private:
  std::mutex access_;
  std::vector<std::function<void()>> at_end_;
  bool ended_ = false;
};

}  // namespace cairn::libtorch::detail
