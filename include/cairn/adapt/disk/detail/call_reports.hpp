// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_reports.hpp  What the calls that use one `disk` say about themselves, each to the thread that made it.
#include <cstddef>
#include <mutex>
#include <pthread.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/disk_options.hpp>

namespace cairn::detail {

/// The report of the last call of each thread.
class call_reports {
 public:
  /// The calling thread's is this one now.
  void tell(disk_report report) {
    std::lock_guard const alone{guard_};
    std::erase_if(all_, [](told const& one) { return ::pthread_equal(one.by, ::pthread_self()) != 0; });
    if (all_.size() == most) all_.erase(all_.begin());
    all_.push_back({::pthread_self(), std::move(report)});
  }
  /// Of the last call of the calling thread; of a thread that made none, of the last call of all.
  [[nodiscard]] disk_report last() const {
    std::lock_guard const alone{guard_};
    for (auto const& one : all_)
      if (::pthread_equal(one.by, ::pthread_self()) != 0) return one.report;
    return all_.empty() ? disk_report{} : all_.back().report;
  }

 private:
  static constexpr std::size_t most = 1'000;  // threads that have ended cannot be seen
  struct told {
    pthread_t by;
    disk_report report;
  };
  mutable std::mutex guard_;
  std::vector<told> all_;  // the last one was told last
};
/// Tells a report when a call ends, also by an exception.
class told_at_end {
 public:
  told_at_end(call_reports& to, disk_report& what) noexcept : to_{to}, what_{what} {}
  told_at_end(told_at_end const&) = delete;
  ~told_at_end() { tell(); }
  [[nodiscard]] disk_report& report() const noexcept { return what_; }
  /// What is known so far, for observers.
  void tell() const noexcept {
    try {
      to_.tell(what_);
    } catch (...) {  // no memory
    }
  }

 private:
  call_reports& to_;
  disk_report& what_;
};

}  // namespace cairn::detail
