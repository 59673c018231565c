// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_account.hpp  The bytes of tensors that some work has made, under one limit.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/detail/node_blocks.hpp>

namespace cairn::libtorch::detail {

/// Something that can give bytes back to its account.
class byte_lender {
 public:
  /// Gives back this many bytes, or what it can. Called by any thread that needs memory; must not wait for another.
  /// \returns the bytes that it gave back
  virtual std::int64_t give_back(std::int64_t bytes) = 0;

 protected:
  ~byte_lender() = default;
};

/// Counts what the threads that take part allocate, from the first lender's beginning to the last one's end. Each
/// thread takes part in one account: that whose work it has done last. Threads may share it.
class byte_account : public std::enable_shared_from_this<byte_account> {
 public:
  /// The account in which the calling thread takes part; null if there is none, or the thread ends.
  [[nodiscard]] static byte_account* of_thread() noexcept { return is_gone() ? nullptr : place().account.get(); }
  /// The calling thread takes part in this account from now on.
  static void take_part(std::shared_ptr<byte_account> account) noexcept {
    if (!is_gone()) place().account = std::move(account);
  }
  /// What the calling thread has begun since its node of backward began; null if the thread ends.
  [[nodiscard]] static node_blocks* blocks_of_thread() noexcept { return is_gone() ? nullptr : &place().blocks; }
  /// Of the nodes whose blocks count here.
  [[nodiscard]] node_gradients& gradients() noexcept { return gradients_; }
  void set_limit(std::int64_t bytes) noexcept { limit_ = bytes; }
  /// Whether it is an error to pass the limit.
  void set_strict(bool strict) noexcept { strict_ = strict; }
  [[nodiscard]] bool is_strict() const noexcept { return strict_; }
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::int64_t live() const noexcept { return live_; }
  [[nodiscard]] std::int64_t peak() const noexcept {
    return peak_;
  }  ///< the most at once, since the first lender began
  /// The most at once, if that is above the limit; otherwise 0.
  [[nodiscard]] std::int64_t passed() const noexcept { return passed_; }

  /// Whether it is worth looking for bytes that count no more.
  [[nodiscard]] bool is_nearly_full() const noexcept {
    return live_ / 8 >= (std::min)(limit_.load(), peak_.load()) / 9;
  }

  void join(byte_lender& one) {
    std::lock_guard const lock{access_};
    if (lenders_.empty()) {  // what was made before counts no more
      ++epoch_;
      live_ = peak_ = passed_ = window_ = 0;
      begun_ = window_at_ = 0;
    }
    lenders_.push_back(&one);
    is_open_ = true;
  }
  /// \returns whether it was the last lender
  bool leave(byte_lender& one) {
    std::lock_guard const lock{access_};
    std::erase(lenders_, &one);
    if (window_ <= limit_) settle();  // otherwise it may have been a gradient that is still on its way
    return !(is_open_ = !lenders_.empty());
  }

  /// Takes note of the most at once since the last time.
  /// \param handed_over  bytes of it that turned out to be the caller's, less those that turned out not to be
  void settle(std::int64_t handed_over = 0) noexcept {
    window_at_ = begun_.load();
    auto const most = (std::max)(window_.exchange(live_) - handed_over, live_.load());
    raise(peak_, most);
    if (most > limit_) raise(passed_, most);
  }

  // ---- for the allocator
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// A block of this size begins soon: lenders give back what is above the limit, the first ones first, because their
  /// bytes are needed last.
  void make_room(std::int64_t bytes) {
    // Where the limit was passed anyway, less than that is no use, and costs time.
    auto const over = [&] { return live_ + bytes - (std::max)(limit_.load(), passed_.load()); };
    static thread_local bool is_asking = false;  // a memory hook of the program's may allocate meanwhile
    if (over() <= 0 || is_asking) return;
    is_asking = true;
    if (std::unique_lock const lock{access_, std::try_to_lock}; lock)
      for (auto* const one : lenders_) {
        if (over() <= 0) break;
        one->give_back(over());
      }
    is_asking = false;
  }
  /// \returns its number
  std::uint64_t begin(std::int64_t bytes) noexcept {
    auto const number = ++begun_;
    if (raise(window_, live_ += bytes)) window_at_ = number;
    return number;
  }
  /// Whether the block was there when the most was counted since `settle`.
  [[nodiscard]] bool is_in_most(std::uint64_t block) const noexcept { return block <= window_at_; }
  void end(std::int64_t bytes, std::uint64_t epoch) noexcept {
    if (epoch == epoch_) live_ -= bytes;
  }

 private:
  struct thread_place {
    std::shared_ptr<byte_account> account;
    node_blocks blocks;
    ~thread_place() { is_gone() = true; }
  };
  [[nodiscard]] static thread_place& place() noexcept {
    static thread_local thread_place one;
    return one;
  }
  /// Whether the place exists no more: tensors may be made later, in destructors of static objects.
  [[nodiscard]] static bool& is_gone() noexcept {
    static thread_local bool gone = false;
    return gone;
  }
  static bool raise(std::atomic<std::int64_t>& most, std::int64_t to) noexcept {
    for (auto now = most.load(); now < to;)
      if (most.compare_exchange_weak(now, to)) return true;
    return false;
  }

  std::mutex access_;
  std::vector<byte_lender*> lenders_;
  std::atomic<bool> is_open_ = false, strict_ = false;
  std::atomic<std::uint64_t> epoch_ = 0, begun_ = 0, window_at_ = 0;
  std::atomic<std::int64_t> limit_ = (std::numeric_limits<std::int64_t>::max)(), live_ = 0, peak_ = 0, passed_ = 0,
                            window_ = 0;
  node_gradients gradients_;
};

}  // namespace cairn::libtorch::detail
