// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_meter.hpp  How many bytes of tensors a part of a program holds, now and at most.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {
namespace detail {

template <class Report>
struct report_of_memory;
/// LibTorch 1 and 2 differ in the type of the two totals.
template <class Total>
struct report_of_memory<void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Total, Total, c10::Device)> {
  using total = Total;
};

/// Sums the reports of one device, and passes all reports on to the previous receiver.
class byte_reporter final : public c10::MemoryReportingInfoBase, public byte_total {
  using total = report_of_memory<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::total;

 public:
  /// \param before  the debug information of this thread, kept because it owns `next`
  byte_reporter(c10::Device device, std::shared_ptr<c10::ThreadLocalDebugInfo> before,
                c10::MemoryReportingInfoBase* next)
      : device_{device}, before_{std::move(before)}, next_{next} {}

  void reportMemoryUsage(void* block, std::int64_t bytes, total allocated, total reserved,
                         c10::Device device) override {
    if (device.type() == device_.type() && (!device_.has_index() || device.index() == device_.index()))
      count(block, bytes);
    if (next_ != nullptr && next_->memoryProfilingEnabled())
      next_->reportMemoryUsage(block, bytes, allocated, reserved, device);
  }
  void reportOutOfMemory(std::int64_t bytes, total allocated, total reserved, c10::Device device) override {
    if (next_ != nullptr && next_->memoryProfilingEnabled())
      next_->reportOutOfMemory(bytes, allocated, reserved, device);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  /// Counts a block that began before this reporter, and its end.
  void begin_with(void* block, std::int64_t bytes) { count(block, bytes); }
  /// Remembers how the bytes change from now on, for `changes`.
  void remember() {
    std::lock_guard const lock{access_};
    changes_.emplace();
  }
  /// All changes since `remember`, in order: the start of a block, and its bytes, negative at its end.
  [[nodiscard]] std::vector<std::pair<void const*, std::int64_t>> changes() const {
    std::lock_guard const lock{access_};
    return changes_ ? *changes_ : std::vector<std::pair<void const*, std::int64_t>>{};
  }
  /// How many there are.
  [[nodiscard]] std::size_t count_of_changes() const {
    std::lock_guard const lock{access_};
    return changes_ ? changes_->size() : 0;
  }
  /// The bytes of existing blocks, by address.
  [[nodiscard]] std::unordered_map<void*, std::int64_t> blocks() const {
    std::lock_guard const lock{access_};
    return blocks_;
  }

 private:
  /// Blocks are identified by their address: LibTorch also reports the end of blocks that began elsewhere, and does not
  /// report an end in a thread without a meter.
  void count(void* block, std::int64_t bytes) {
    std::lock_guard const lock{access_};
    if (bytes > 0) {
      note(block, -std::exchange(blocks_[block], bytes));
      note(block, bytes);
    } else if (auto const found = blocks_.find(block); found != blocks_.end()) {
      note(block, -found->second);
      blocks_.erase(found);
    }
  }
  void note(void const* block, std::int64_t change) {
    change_by(change);
    if (changes_) changes_->emplace_back(block, change);
  }

  c10::Device device_;
  std::shared_ptr<c10::ThreadLocalDebugInfo> before_;
  c10::MemoryReportingInfoBase* next_;
  std::unordered_map<void*, std::int64_t> blocks_;
  std::optional<std::vector<std::pair<void const*, std::int64_t>>> changes_;
};

/// Whether a profiler of LibTorch receives the reports of this thread: its callbacks would mistake our object for
/// theirs.
[[nodiscard]] inline bool profiler_is_on() {
  return dynamic_cast<torch::profiler::impl::ProfilerStateBase*>(
             c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE)) != nullptr;
}
/// A reporter in front of the present ones of this thread.   \pre no profiler is on
[[nodiscard]] inline std::shared_ptr<byte_reporter> reporter_for(c10::Device device) {
  auto* const next = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  return std::make_shared<byte_reporter>(device, c10::ThreadLocalDebugInfo::current(),
                                         dynamic_cast<c10::MemoryReportingInfoBase*>(next));
}

}  // namespace detail

/// Counts the bytes of tensors made during its lifetime, in this thread and in those to which LibTorch passes its work:
/// the autograd engine's, and at::launch's. Earlier tensors are not counted, not even when they are freed. Meters nest,
/// and each counts separately; they must end in the thread that made them, in reverse order. A tensor freed in a thread
/// of your own counts as held until its address is reused. Bytes are those requested from the allocator. Cost: a lock
/// and a table look-up for each allocation.
class byte_meter {
 public:
  /// \param device  the device of the tensors; without an index all devices of its type
  /// \throws invalid_call  if a profiler of LibTorch is on in this thread: it receives the reports that a meter needs
  explicit byte_meter(c10::Device device = c10::Device(c10::kCPU))
      : reporter_{checked_reporter(device)}, guard_{c10::DebugInfoKind::PROFILER_STATE, reporter_} {}
  byte_meter(byte_meter const&) = delete;
  byte_meter& operator=(byte_meter const&) = delete;

  /// Whether this thread can have a meter now: it has no profiler of LibTorch.
  [[nodiscard]] static bool possible() { return !detail::profiler_is_on(); }

  [[nodiscard]] std::int64_t allocated() const { return reporter_->allocated(); }  ///< bytes held now, >= 0
  /// The most bytes held at once, since the meter began or since `reset_peak`.
  [[nodiscard]] std::int64_t peak() const { return reporter_->peak(); }
  void reset_peak() { reporter_->reset_peak(); }  ///< resets the peak to what is held now

 private:
  [[nodiscard]] static std::shared_ptr<detail::byte_reporter> checked_reporter(c10::Device device) {
    if (!possible())
      throw invalid_call{"cairn::libtorch::byte_meter",
                         "a profiler of LibTorch is on in this thread",
                         {},
                         "end it first, or read the memory from it"};
    return detail::reporter_for(device);
  }

  std::shared_ptr<detail::byte_reporter> reporter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace cairn::libtorch
