// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_store.hpp  The most recently used plans, each under its key.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Plans by key, a base of public classes. Threads may share it.   \tparam Stored  a `plan_key` with its plan
template <class Stored>
class plan_store {
 public:
  /// \param who  for errors   \param most  most plans to keep, >= 1   \throws invalid_call   for less
  plan_store(char const* who, std::int64_t most) : most_{most} {
    if (most < 1)
      throw invalid_call{who, "it must be able to keep a plan", {{"most", most}}, "give one or more"};
  }
  plan_store(plan_store const&) = delete;
  plan_store& operator=(plan_store const&) = delete;

  [[nodiscard]] std::int64_t made() const {
    std::lock_guard const lock{access_};
    return made_;
  }
  [[nodiscard]] std::int64_t size() const {
    std::lock_guard const lock{access_};
    return std::int64_t(plans_.size());
  }
  void clear() {
    std::lock_guard const lock{access_};
    plans_.clear();
  }
  /// The plan for this key, if there is one.
  [[nodiscard]] std::optional<Stored> find(std::vector<std::int64_t> const& key) {
    std::lock_guard const lock{access_};
    plans_.remove_if([](Stored const& one) { return one.expired(); });
    auto const found = std::find_if(plans_.begin(), plans_.end(), [&](Stored const& one) { return one.key == key; });
    if (found == plans_.end()) return {};
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  void keep(Stored plan) {
    std::lock_guard const lock{access_};
    plans_.remove_if([&](Stored const& one) { return one.key == plan.key; });  // made by another thread
    plans_.push_front(std::move(plan));
    if (plans_.size() > std::size_t(most_)) plans_.pop_back();
    ++made_;
  }

 private:
  std::int64_t most_;
  mutable std::mutex access_;
  std::list<Stored> plans_;  ///< most recently used first
  std::int64_t made_ = 0;
};

}  // namespace cairn::libtorch::detail
