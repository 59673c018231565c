// SPDX-License-Identifier: Apache-2.0
// Vector clocks: which of the things that streams and the host do happens before which other.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

/// One thing done by one thread: the host is thread 0, stream i is thread i + 1. Times begin at 1.
struct stamp {
  std::size_t thread = 0;
  std::uint64_t time = 0;
};

/// What a thread knows to have been done: of each thread everything up to a time.
class clock {
 public:
  [[nodiscard]] std::uint64_t at(std::size_t thread) const { return thread < known_.size() ? known_[thread] : 0; }
  [[nodiscard]] bool knows(stamp const& done) const { return at(done.thread) >= done.time; }
  void learn(clock const& other) {
    if (known_.size() < other.known_.size()) known_.resize(other.known_.size(), 0);
    for (std::size_t k = 0; k < other.known_.size(); ++k) known_[k] = std::max(known_[k], other.known_[k]);
  }
  /// The thread of this clock does something.
  stamp tick(std::size_t thread) {
    if (known_.size() <= thread) known_.resize(thread + 1, 0);
    return {thread, ++known_[thread]};
  }

 private:
  std::vector<std::uint64_t> known_;
};

}  // namespace sim
