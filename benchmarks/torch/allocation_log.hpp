// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file allocation_log.hpp  Every block of memory that tensors take and give back, in order: a peak can then be
/// counted without tensors that belong to the caller, such as gradients of parameters, whenever they were made.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace benchmark {

/// What happened, in order.
class allocation_events {
 public:
  /// \param bytes  of a block that begins; 0 or less for one that ends
  void add(void const* block, std::int64_t bytes) {
    std::lock_guard const lock{access_};
    events_.push_back({block, bytes});
  }
  void clear() {
    std::lock_guard const lock{access_};
    events_.clear();
  }
  /// Bytes that the blocks of now have.
  [[nodiscard]] std::int64_t held() const { return walked({}).second; }
  /// The most bytes at once.
  /// \param beside  starts of blocks of now that count for nothing
  [[nodiscard]] std::int64_t peak(std::vector<void const*> const& beside = {}) const { return walked(beside).first; }

 private:
  struct event {
    void const* block;
    std::int64_t bytes;
  };
  /// The peak, and what is held at the end.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> walked(std::vector<void const*> const& beside) const {
    std::lock_guard const lock{access_};
    std::unordered_map<void const*, std::size_t> begun;  // the last that begins at an address is the one of now
    for (std::size_t k = 0; k < events_.size(); ++k)
      if (events_[k].bytes > 0) begun[events_[k].block] = k;
    std::unordered_set<std::size_t> left_out;
    for (void const* const block : beside)
      if (auto const found = begun.find(block); found != begun.end()) left_out.insert(found->second);
    std::unordered_map<void const*, std::int64_t> live;
    std::int64_t now = 0, most = 0;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      auto const [block, bytes] = events_[k];
      if (auto const before = live.find(block); before != live.end()) {  // it ends, or its end went unseen
        now -= before->second;
        live.erase(before);
      }
      if (bytes <= 0 || left_out.count(k) > 0) continue;
      live.emplace(block, bytes);
      now += bytes;
      most = (std::max)(most, now);
    }
    return {most, now};
  }

  mutable std::mutex access_;
  std::vector<event> events_;
};

/// The events of the thread that makes it, and of those that LibTorch gives its work to, while it lives.
class allocation_log {
  template <class Report>
  struct report;
  /// LibTorch 1 and 2 differ in the type of the two totals.
  template <class Total>
  struct report<void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Total, Total, c10::Device)> {
    using total = Total;
  };
  struct recorder final : c10::MemoryReportingInfoBase {
    using total = report<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::total;
    void reportMemoryUsage(void* block, std::int64_t bytes, total, total, c10::Device) override {
      events.add(block, bytes);
    }
    void reportOutOfMemory(std::int64_t, total, total, c10::Device) override {}
    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
    allocation_events events;
  };

 public:
  [[nodiscard]] allocation_events const& events() const noexcept { return recorder_->events; }

 private:
  std::shared_ptr<recorder> recorder_ = std::make_shared<recorder>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, recorder_};
};

}  // namespace benchmark
