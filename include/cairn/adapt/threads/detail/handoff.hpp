// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file handoff.hpp  A count that one thread raises and another one waits for, and the bounded ring of frames between
/// the helper of a sweep and its caller. A frame in the ring is busy until the count of finished reversals has passed it.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// A core that waits leaves its other thread more room.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One thread raises it, one other waits for it: spins for a while, then sleeps. Costs the first an exchange and a load.
class alignas(64) tally {
 public:
  void reset(std::int64_t spin_ns) noexcept {
    count_.store(0, std::memory_order_relaxed), asleep_.store(0, std::memory_order_relaxed);
    spin_ns_ = spin_ns, slept_ns_.store(0, std::memory_order_relaxed);
  }
  void raise(std::int64_t count) noexcept {
    count_.store(count, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) != 0) wake();
  }
  void wake() noexcept { asleep_.store(0, std::memory_order_seq_cst), asleep_.notify_one(); }
  [[nodiscard]] std::int64_t now() const noexcept { return count_.load(std::memory_order_acquire); }
  /// Waits until the count is above `seen`, or stop() is true.
  template <class Stop>
  std::int64_t above(std::int64_t seen, Stop stop) noexcept {
    constexpr int a_round = 32;
    std::int64_t const begin = now_ns();
    do
      for (int k = 0; k < a_round; ++k) {
        if (std::int64_t const count = now(); count > seen || stop()) return count;
        relax();
      }
    while (now_ns() - begin < spin_ns_);
    for (;;) {
      asleep_.store(1, std::memory_order_seq_cst);
      std::int64_t const count = count_.load(std::memory_order_seq_cst);
      if (count > seen || stop()) {
        asleep_.store(0, std::memory_order_relaxed);
        slept_ns_.store(slept_ns_.load(std::memory_order_relaxed) + now_ns() - begin, std::memory_order_relaxed);
        return count;
      }
      asleep_.wait(1);
    }
  }
  /// How long the waiting thread has been in waits that were long enough to sleep.
  [[nodiscard]] std::int64_t slept_ns() const noexcept { return slept_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> count_{0};
  std::atomic<int> asleep_{0};
  std::atomic<std::int64_t> slept_ns_{0};
  std::int64_t spin_ns_ = 0;
};

/// The state before a reversal, in a frame that the ring owns; or, without a frame, how the helper's walk ended.
struct handed_state {
  frame_id frame = no_frame;
  step_index from = 0, to = 0;  ///< the steps that are reversed from it
  std::int64_t ran = 0;         ///< steps that the helper has run up to here
  std::int64_t moved_ns = 0;    ///< what its saves and loads have taken, over a store that keeps no frames
  end_hash end = {};            ///< of the state behind these steps, if a replay check knows it
};
/// Thrown on the helper's thread, to leave its walk.
struct walk_is_stopped {};

class handoff {
 public:
  /// \param most  frames that are handed over and not yet given back
  void begin(slot_index most, std::int64_t spin_ns) {
    std::size_t size = 2;
    while (size < std::size_t(most) + 2) size *= 2;
    if (size != entries_.size()) entries_ = std::vector<handed_state>(size);
    most_ = most, handed_ = released_ = 0;
    published.reset(spin_ns), done.reset(spin_ns);
    stop_.store(false), recalled.store(false);
    thrown = nullptr;
  }
  [[nodiscard]] handed_state const& operator[](std::int64_t k) const noexcept {
    return entries_[std::size_t(k) & (entries_.size() - 1)];
  }

  // of the helper:
  /// Hands a frame over; waits while too many are not given back. `release(frame)` is called for those that are.
  /// \throws walk_is_stopped
  template <class Release>
  void put(handed_state const& next, Release release) {
    release_to(done.now(), release);
    while (handed_ - released_ >= most_) release_to(wait_for(released_), release);
    put_at_once(next);
  }
  void put_at_once(handed_state const& next) noexcept {
    entries_[std::size_t(handed_) & (entries_.size() - 1)] = next;
    published.raise(++handed_);
  }
  /// Waits until a frame is given back, better a quarter of them. Returns false if none is to come.
  /// \throws walk_is_stopped
  template <class Release>
  bool wait_for_some(Release release) {
    if (released_ + holds_back >= handed_) return false;
    release_to(wait_for(released_ + (handed_ - released_ - holds_back - 1) / 4), release);
    return true;
  }
  /// Gives back the first frames, `count` in all.
  template <class Release>
  void release_to(std::int64_t count, Release release) {
    for (count = count < handed_ ? count : handed_; released_ < count; ++released_) release((*this)[released_].frame);
  }
  [[nodiscard]] std::int64_t handed() const noexcept { return handed_; }

  // of the caller:
  void stop() noexcept {
    stop_.store(true, std::memory_order_seq_cst);
    done.wake();
  }

  tally published, done;         ///< frames handed over; frames given back
  std::exception_ptr thrown;     ///< what ended the helper's walk
  std::atomic<bool> recalled{false};
  std::int64_t holds_back = 0;   ///< frames that the caller keeps as the state behind its next reversal

 private:
  [[nodiscard]] std::int64_t wait_for(std::int64_t seen) {
    std::int64_t const count = done.above(seen, [this] { return stop_.load(std::memory_order_seq_cst); });
    if (stop_.load(std::memory_order_seq_cst)) throw walk_is_stopped{};
    return count;
  }

  std::vector<handed_state> entries_;
  std::int64_t most_ = 0, handed_ = 0, released_ = 0;  // of the helper
  alignas(64) std::atomic<bool> stop_{false};
};

}  // namespace cairn::detail
