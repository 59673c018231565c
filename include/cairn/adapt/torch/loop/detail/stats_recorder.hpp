// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stats_recorder.hpp  Measures a loop over tensors for its statistics: bytes of tensors, resident memory, time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/profile/detail/process_bytes.hpp>

namespace cairn::libtorch::detail {

/// What is known about a loop between its forward and its last backward. At most one half runs at a time.
class stats_recorder {
 public:
  enum class half : bool { forward, backward };

  /// \param state  tensors are counted on its device
  stats_recorder(std::shared_ptr<StepStats> stats, at::TensorList state)
      : stats_{std::move(stats)}, device_{device_of(state)} {}
  /// Null if there are no stats.
  [[nodiscard]] static std::shared_ptr<stats_recorder> over(std::shared_ptr<StepStats> const& stats,
                                                            at::TensorList state) {
    return stats ? std::make_shared<stats_recorder>(stats, state) : nullptr;
  }

  /// Notes which tensors of forward belong to the caller: they count in backward as long as they live.
  void hands_out(at::TensorList parts) {
    for (auto const& part : parts)
      if (part.defined() && part.has_storage()) handed_.push_back(part.storage().getWeakStorageImpl());
  }
  /// Samples the resident memory: at the first call in a half, and then so rarely that it takes at most 1 % of the
  /// time.
  void sample() {
    auto const now = clock::now();
    if (now < next_sample_) return;
    resident_ = (std::max)(resident_, cairn::detail::process_bytes_now().resident);
    auto const after = clock::now();
    next_sample_ = after + 99 * (after - now);
  }

  /// Measures during its lifetime.
  class scope {
   public:
    /// \param recorder  null: nothing is measured   \param held  tensors that the loop already holds: in forward all of
    ///   them count, in backward those that forward made
    scope(std::shared_ptr<stats_recorder> recorder, half which, at::TensorList held = {})
        : recorder_{std::move(recorder)}, which_{which} {
      if (recorder_ == nullptr) return;
      if (profiler_is_on()) ++recorder_->stats_->uncounted;
      else reporter_ = reporter_for(recorder_->device_);
      if (reporter_) recorder_->count_standing(*this, held);
      before_ = cairn::detail::process_bytes_now();
      recorder_->resident_ = before_.resident;
      recorder_->next_sample_ = {};
      if (reporter_) metered_.emplace(c10::DebugInfoKind::PROFILER_STATE, reporter_);
      start_ = clock::now();
    }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;
    ~scope() {
      if (recorder_ == nullptr) return;
      auto const took = std::chrono::duration<double>(clock::now() - start_).count();
      metered_.reset();
      try {
        recorder_->end(*this, took);
      } catch (...) {  // out of memory: only the measurement is lost
      }
    }

   private:
    friend class stats_recorder;
    using clock = std::chrono::steady_clock;

    std::shared_ptr<stats_recorder> recorder_;
    half which_;
    std::shared_ptr<byte_reporter> reporter_;
    cairn::detail::process_bytes before_;
    std::optional<c10::DebugInfoGuard> metered_;
    clock::time_point start_;
  };

 private:
  using clock = std::chrono::steady_clock;
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  void count_standing(scope const& in, at::TensorList held) const {
    auto const count = [&](c10::StorageImpl const& storage) {
      if (storage.device_type() != device_.type()) return;
      auto* const address = storage.data_ptr().get();
      if (in.which_ == half::forward) in.reporter_->begin_with(address, std::int64_t(storage.nbytes()));
      else if (auto const block = made_.find(address); block != made_.end())
        in.reporter_->begin_with(address, block->second);
    };
    for (auto const& t : held) if (t.defined() && t.has_storage()) count(*t.storage().unsafeGetStorageImpl());
    for (auto const& handed : handed_) if (auto const storage = handed.lock()) count(*storage);
  }
  void end(scope const& of, double took) {
    auto const after = cairn::detail::process_bytes_now();
    resident_ = (std::max)({resident_, after.resident, after.peak > of.before_.peak ? after.peak : 0});
    auto const left = of.which_ == half::forward ? 0 : left_;
    stats_->resident_bytes = (std::max)(stats_->resident_bytes, left + resident_ - of.before_.resident);
    (of.which_ == half::forward ? stats_->forward_seconds : stats_->backward_seconds) += took;
    if (of.reporter_) stats_->tensor_bytes = (std::max)(stats_->tensor_bytes, of.reporter_->peak());
    if (of.which_ == half::backward) return;
    left_ = after.resident - (std::min)(after.resident, of.before_.resident);
    if (of.reporter_) made_ = of.reporter_->blocks();
  }

  std::shared_ptr<StepStats> stats_;
  c10::Device device_;
  std::vector<weak_storage> handed_;
  std::unordered_map<void*, std::int64_t> made_;  ///< tensors at the end of forward, by address
  std::int64_t left_ = 0;  ///< how far forward raised the resident memory, from its start to its end
  std::int64_t resident_ = 0;  ///< the most in this half
  clock::time_point next_sample_;
};

}  // namespace cairn::libtorch::detail
