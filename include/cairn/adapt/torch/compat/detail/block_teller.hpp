// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_teller.hpp  Reports to the caller of a backward pass which blocks run again and are reversed.
#include <functional>
#include <memory>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/run/block_executor.hpp>

namespace cairn::libtorch::detail {

/// Holds the callbacks of the current backward pass, and makes functions that take an action and call these callbacks.
/// The functions may outlive the teller; between passes they do nothing.
class block_teller {
 public:
  /// Removes the callbacks when it is destroyed.
  class pass {
   public:
    explicit pass(execution_callbacks& to) : to_{to} {}
    pass(pass const&) = delete;
    pass& operator=(pass const&) = delete;
    ~pass() { to_ = {}; }

   private:
    execution_callbacks& to_;
  };

  /// Callbacks are called while the result lives.
  [[nodiscard]] pass during(execution_callbacks const& callbacks) {
    now_->callbacks = callbacks;
    now_->told = -1;
    return pass{now_->callbacks};
  }
  /// For the plan of a chain: a block runs again from its first node on.
  [[nodiscard]] std::function<void(action const&)> of_chain(std::shared_ptr<block_plan const> blocks) const {
    return [now = now_, blocks = std::move(blocks)](action const& a) {
      bool const again = a.kind == action_kind::record;
      if (!again && a.kind != action_kind::reverse) return;
      for (step_index j = 0; j < blocks->size(); ++j) {
        auto const [first, last] = (*blocks)[j];
        if (again && a.from == first && now->callbacks.run_forward) now->callbacks.run_forward(first, last);
        if (!again && a.from == last - 1 && now->callbacks.run_backward) now->callbacks.run_backward(first, last);
      }
    };
  }
  /// For the plan of a graph: a block runs again from any of its operations on.
  [[nodiscard]] std::function<void(action const&)> of_graph(std::shared_ptr<block_plan const> blocks) const {
    return [now = now_, blocks = std::move(blocks)](action const& a) {
      for (step_index j = 0; j < blocks->size(); ++j) {
        auto const [first, last] = (*blocks)[j];
        if (a.from < first || a.from >= last) continue;
        if (a.kind == action_kind::reverse) {
          if (a.from == last - 1 && now->callbacks.run_backward) now->callbacks.run_backward(first, last);
        } else if (std::exchange(now->told, j) != j && now->callbacks.run_forward) {
          now->callbacks.run_forward(first, last);
        }
      }
    };
  }

 private:
  struct state {
    execution_callbacks callbacks;
    step_index told = -1;  ///< the last block that was reported as running again
  };
  std::shared_ptr<state> now_ = std::make_shared<state>();
};

}  // namespace cairn::libtorch::detail
