// SPDX-License-Identifier: Apache-2.0
// Calls of a simulated runtime that fail on purpose, and how.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/adapt/cuda/detail/device_failure.hpp>

namespace sim {

/// The calls that can fail: all but frees and destroys.
enum class call {
  device_alloc,
  pinned_alloc,
  make_stream,
  make_event,
  record,
  wait,
  sync,
  done,
  copy,
  free_bytes,
  launch,
  begin_capture,
  end_capture,
  launch_graph,
  zero
};
inline constexpr std::size_t call_kinds = 15;

/// How a call fails.
enum class failure {
  usual,  ///< allocations have no memory, launches, waits of the host and queries find the context lost, others find a
          ///< foreign handle
  no_memory,
  foreign_handle,
  context_lost,  ///< what has not run never runs, and every later call fails as well
  untold         ///< of launches: the kernel does not run, and only a check reports it
};

/// Throws what a runtime throws for a call that a capture does not allow.
[[noreturn]] inline void refuse_captured(char const* operation, int device, int code) {
  using cairn::detail::device_failure;
  switch (code) {
    case 901:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureInvalidated"},
                                 device_failure::capture_spoiled);
    case 902:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureMerge"}, device_failure::captured);
    case 903:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureUnmatched"},
                                 device_failure::captured);
    case 904:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureUnjoined"},
                                 device_failure::capture_unjoined);
    case 905:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureIsolation"},
                                 device_failure::capture_from_outside);
    case 906:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureImplicit"},
                                 device_failure::capture_of_legacy);
    case 907: cairn::detail::refuse_call({operation, device, code, "cudaErrorCapturedEvent"}, device_failure::captured);
    default:
      cairn::detail::refuse_call({operation, device, code, "cudaErrorStreamCaptureUnsupported"},
                                 device_failure::captured);
  }
}

class failures {
 public:
  /// The `nth` call of that kind from now on fails; 1 is the next.
  void at(call which, std::uint64_t nth, failure how) {
    planned_[std::size_t(which)] = {nth == 0 ? 0 : made(which) + nth, how};
  }
  /// The `nth` call of any kind from now on fails.
  void at_any(std::uint64_t nth, failure how) { any_ = {nth == 0 ? 0 : all_ + nth, how}; }

  [[nodiscard]] std::uint64_t made(call which) const { return made_[std::size_t(which)]; }
  [[nodiscard]] std::uint64_t made() const { return all_; }
  [[nodiscard]] bool lost() const { return lost_; }

  /// Whether a launch was refused without a report; reports it.
  [[nodiscard]] bool take_untold() { return std::exchange(untold_, false); }

  /// A call is made, and answers whether it does anything. Throws what a runtime throws where it is to fail.
  bool count(call which, char const* operation, int device, std::size_t asked, std::size_t free) {
    ++all_;
    auto const mine = ++made_[std::size_t(which)];
    planned const& own = planned_[std::size_t(which)];
    if (lost_) refuse(which, failure::context_lost, operation, device, asked, free);
    if (own.number == mine && own.how == failure::untold) return !(untold_ = true);
    if (own.number == mine) refuse(which, own.how, operation, device, asked, free);
    if (any_.number == all_) refuse(which, any_.how, operation, device, asked, free);
    return true;
  }
  [[noreturn]] void refuse(call which, failure how, char const* operation, int device, std::size_t asked,
                           std::size_t free) {
    using cairn::detail::device_failure;
    bool const allocates = which == call::device_alloc || which == call::pinned_alloc;
    bool const sees_late_ones =
        which == call::sync || which == call::done || which == call::launch || which == call::launch_graph;
    if (how == failure::usual)
      how = allocates ? failure::no_memory : sees_late_ones ? failure::context_lost : failure::foreign_handle;
    if (how == failure::context_lost) {
      lost_ = true;
      cairn::detail::refuse_call({operation, device, 700, "cudaErrorIllegalAddress"}, device_failure::context_lost);
    }
    cairn::detail::failed_call const no_memory{operation, device, 2, "cudaErrorMemoryAllocation"};
    if (how == failure::no_memory && which == call::device_alloc)
      cairn::detail::refuse_device_memory(no_memory, asked, free);
    if (how == failure::no_memory && which == call::pinned_alloc) cairn::detail::refuse_pinned_memory(no_memory, asked);
    if (how == failure::no_memory) cairn::detail::refuse_call(no_memory, device_failure::no_memory);
    cairn::detail::refuse_call({operation, device, 400, "cudaErrorInvalidResourceHandle"},
                               device_failure::foreign_handle);
  }

 private:
  struct planned {
    std::uint64_t number = 0;  ///< 0: never
    failure how = failure::usual;
  };
  std::array<planned, call_kinds> planned_{};
  std::array<std::uint64_t, call_kinds> made_{};
  planned any_;
  std::uint64_t all_ = 0;
  bool lost_ = false, untold_ = false;
};

}  // namespace sim
