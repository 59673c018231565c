// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_teller.hpp  Reports to the caller of a backward pass which blocks run again and are reversed.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/detail/record_blocks.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch::detail {

/// Holds the callbacks of the current backward pass, and makes functions that call them. These functions may outlive
/// the teller; between passes they do nothing.
class block_teller {
  struct state {
    execution_callbacks callbacks;
    bool is_in_pass = false;
    std::vector<std::weak_ptr<record_blocks>> calls;  ///< those of the pass
  };

 public:
  /// Removes the callbacks when it is destroyed.
  class pass {
   public:
    explicit pass(std::shared_ptr<state> of) : of_{std::move(of)} {}
    pass(pass const&) = delete;
    pass& operator=(pass const&) = delete;
    ~pass() { *of_ = {}; }
    /// Reports the blocks in which nothing was asked for, and behind which nothing came.
    void finish() {
      auto const calls = of_->calls;  // a copy: callbacks may begin a pass of their own
      for (auto const& one : calls)
        if (auto const call = one.lock()) call->finish();
    }

   private:
    std::shared_ptr<state> of_;
  };

  /// Callbacks are called while the result lives.
  [[nodiscard]] pass during(execution_callbacks const& callbacks) {
    *now_ = {callbacks, true, {}};
    return pass{now_};
  }
  /// For a recorded call.
  [[nodiscard]] std::function<void(int block, bool again)> of_record(std::shared_ptr<block_plan const> blocks,
                                                                     std::weak_ptr<record_blocks> call) const {
    return [now = now_, blocks = std::move(blocks), call = std::move(call)](int block, bool again) {
      if (!now->is_in_pass) return;
      auto const is_it = [&](auto const& one) { return !one.owner_before(call) && !call.owner_before(one); };
      if (std::none_of(now->calls.begin(), now->calls.end(), is_it)) now->calls.push_back(call);
      auto const [first, last] = (*blocks)[block];
      auto const tell = again ? now->callbacks.run_forward : now->callbacks.run_backward;
      if (tell) tell(first, last);
    };
  }

 private:
  std::shared_ptr<state> now_ = std::make_shared<state>();
};

}  // namespace cairn::libtorch::detail
