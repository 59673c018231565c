// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_report.hpp  What recorded calls did: counts of the records of one checkpointed module, which outlive
/// them, and what there is to say about them.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>

namespace cairn::libtorch {

/// Counts of all calls of a checkpointed module, and the bytes of the last step.
struct RecordReport {
  std::uint64_t calls = 0;       ///< calls that were recorded
  std::int64_t operators = 0;    ///< that were recorded: those that make or change memory
  std::int64_t saved = 0;        ///< tensors that autograd saved
  std::int64_t dropped = 0;      ///< contents that were dropped to stay within the limit
  std::int64_t again = 0;        ///< operators that ran again in backward
  std::int64_t images = 0;       ///< copies of memory that the program changed after it was read
  std::int64_t image_bytes = 0;  ///< bytes of these copies, all together
  std::int64_t limit = 0;        ///< of the last call
  std::int64_t peak = 0;         ///< most bytes at once in the last step, from its first call on
  /// The least limit that the last step could have kept, as far as is known: 0 if it kept its limit.
  std::int64_t least = 0;
  std::vector<std::string> kept;  ///< what is not made again but held, and why, each reason once
};

}  // namespace cairn::libtorch

namespace cairn::libtorch::detail {

/// Who says it, and throws.
inline constexpr char const* checkpoint_module_name = "cairn::libtorch::checkpoint_module";

class record_totals {
 public:

  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::int64_t> operators = 0, saved = 0, dropped = 0, again = 0, images = 0, image_bytes = 0;
  std::function<void(std::string const&)> notice;  ///< if empty, std::clog
  std::atomic<char const*> who = checkpoint_module_name;  ///< the verb of the last call

  /// Something is held because it cannot be made again.
  void keep(std::string const& name, char const* why) {
    auto reason = name + " " + why;
    std::lock_guard const lock{access_};
    if (std::find(kept_.begin(), kept_.end(), reason) == kept_.end()) kept_.push_back(std::move(reason));
  }
  /// Says what is held and was not said before.
  void tell_kept() {
    std::vector<std::string> news;
    {
      std::lock_guard const lock{access_};
      for (; told_ < kept_.size(); ++told_) news.push_back(kept_[told_]);
    }
    for (auto const& one : news) tell("what it makes is held until backward, since it cannot be made again: " + one);
  }
  /// Says that a limit was passed; once for each limit.
  void tell_passed(std::int64_t limit, std::int64_t least) {
    {
      std::lock_guard const lock{access_};
      if (std::exchange(passed_, limit) == limit) return;
    }
    tell("the program itself holds more than the limit of " + std::to_string(limit) +
         " bytes; the least limit for it is about " + std::to_string(least));
  }
  /// Counts of all calls, and the bytes of the last step.
  [[nodiscard]] RecordReport report(byte_account const& account) const {
    RecordReport all;
    all.calls = calls;
    all.operators = operators, all.saved = saved;
    all.dropped = dropped, all.again = again;
    all.images = images, all.image_bytes = image_bytes;
    all.limit = account.limit(), all.peak = account.peak(), all.least = account.passed();
    std::lock_guard const lock{access_};
    all.kept = kept_;
    return all;
  }

 private:
  void tell(std::string const& what) const {
    if (notice) notice(what);
    else std::clog << who << ": " << what << '\n';
  }

  mutable std::mutex access_;
  std::vector<std::string> kept_;
  std::size_t told_ = 0;
  std::int64_t passed_ = -1;
};

}  // namespace cairn::libtorch::detail
