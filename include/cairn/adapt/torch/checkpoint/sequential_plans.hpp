#pragma once
/// \file sequential_plans.hpp  Keeps the plans of Sequentials, so that children are measured once and not in each call.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/checkpoint/detail/sequential_plan.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {
namespace detail {

/// A plan without its stages, so that it keeps no module and no tensor alive.
struct stored_plan {
  std::vector<std::int64_t> key;
  std::vector<std::weak_ptr<torch::nn::Module>> modules;  ///< the modules whose addresses are in the key
  std::vector<bool> joins;
  std::vector<action> actions;

  [[nodiscard]] bool expired() const {
    return std::any_of(modules.begin(), modules.end(), [](auto const& one) { return one.expired(); });
  }
};

}  // namespace detail

/// Plans of `checkpoint_sequential`, each for the children, parameters, training mode, automatic casts, options and
/// input (sizes, strides, type, device) for which it was made. Refers to modules weakly; the plan of a destroyed module
/// is dropped. If there are too many plans, the least recently used is dropped. Can be used by several threads.
class SequentialPlans {
 public:
  /// \param most  most plans to keep, >= 1   \throws invalid_call   for less
  explicit SequentialPlans(std::int64_t most = 16) : most_{checked(most)} {}
  SequentialPlans(SequentialPlans const&) = delete;
  SequentialPlans& operator=(SequentialPlans const&) = delete;

  /// How often children were measured and a plan was made, including plans that were dropped.
  [[nodiscard]] std::int64_t made() const {
    std::lock_guard const lock{access_};
    return made_;
  }
  /// Number of plans it holds.
  [[nodiscard]] std::int64_t size() const {
    std::lock_guard const lock{access_};
    return std::int64_t(plans_.size());
  }
  /// Drops all plans: the next call measures again.
  void clear() {
    std::lock_guard const lock{access_};
    plans_.clear();
  }

  /// Private to cairn: the plan for this key, if there is one.
  [[nodiscard]] std::optional<detail::stored_plan> find(std::vector<std::int64_t> const& key) {
    std::lock_guard const lock{access_};
    plans_.remove_if([](detail::stored_plan const& one) { return one.expired(); });
    auto const found =
        std::find_if(plans_.begin(), plans_.end(), [&](detail::stored_plan const& one) { return one.key == key; });
    if (found == plans_.end()) return {};
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  /// Private to cairn: stores a new plan.
  void keep(detail::stored_plan plan) {
    std::lock_guard const lock{access_};
    plans_.remove_if([&](detail::stored_plan const& one) { return one.key == plan.key; });  // made by another thread
    plans_.push_front(std::move(plan));
    if (plans_.size() > std::size_t(most_)) plans_.pop_back();
    ++made_;
  }

 private:
  [[nodiscard]] static std::int64_t checked(std::int64_t most) {
    if (most < 1)
      throw invalid_call{
          "cairn::libtorch::SequentialPlans", "it must be able to keep a plan", {{"most", most}}, "give one or more"};
    return most;
  }

  std::int64_t most_;
  mutable std::mutex access_;
  std::list<detail::stored_plan> plans_;  ///< most recently used first
  std::int64_t made_ = 0;
};

namespace detail {

/// The default place for plans of a thread's calls.
[[nodiscard]] inline SequentialPlans& plans_of_this_thread() {
  static thread_local SequentialPlans plans;
  return plans;
}

}  // namespace detail
}  // namespace cairn::libtorch
