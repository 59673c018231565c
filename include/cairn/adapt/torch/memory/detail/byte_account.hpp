// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file byte_account.hpp  The bytes of tensors that some work has made: a sum and its peak, and an account under one
/// limit.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::libtorch::detail {

/// The bytes of the blocks that a derived class knows, and their peak. The lock also protects the derived class's table
/// of blocks, so that total and table change together.
class byte_total {
 public:
  [[nodiscard]] std::int64_t allocated() const {
    std::lock_guard const lock{access_};
    return allocated_;
  }
  [[nodiscard]] std::int64_t peak() const {
    std::lock_guard const lock{access_};
    return peak_;
  }
  void reset_peak() {
    std::lock_guard const lock{access_};
    peak_ = allocated_;
  }

 protected:
  byte_total() = default;
  ~byte_total() = default;

  /// \pre the caller holds `access_`
  void change_by(std::int64_t bytes) noexcept {
    allocated_ += bytes;
    peak_ = (std::max)(peak_, allocated_);
  }

  mutable std::mutex access_;

 private:
  std::int64_t allocated_ = 0;
  std::int64_t peak_ = 0;
};

/// A block of a node, by its number there.
struct node_block {
  std::size_t number;
  std::int64_t bytes;
  [[nodiscard]] bool operator==(node_block const&) const = default;
};

/// The gradients among the blocks of nodes, as they were found last. Threads may share it.
class node_gradients {
 public:
  [[nodiscard]] std::vector<node_block> of(std::uint64_t node) {
    std::lock_guard const lock{access_};
    auto const found = all_.find(node);
    return found == all_.end() ? std::vector<node_block>{} : found->second;
  }
  void found(std::uint64_t node, std::vector<node_block> gradients) {
    std::lock_guard const lock{access_};
    if (all_.size() >= most) all_.clear();  // calls that differ each time teach nothing
    all_.insert_or_assign(node, std::move(gradients));
  }

 private:
  static constexpr std::size_t most = 1 << 16;
  std::mutex access_;
  std::unordered_map<std::uint64_t, std::vector<node_block>> all_;
};

/// The blocks that one thread has begun since its node began.
class node_blocks {
 public:
  struct block {
    void* address;
    std::int64_t bytes;
  };
  /// \param gradients  what is known of the node
  void begin(std::uint64_t node, std::vector<node_block> gradients) {
    node_ = node;
    expected_ = std::move(gradients);
    begun_.clear();
    is_open_ = true;
  }
  /// Whether a block that begins now is a gradient of a leaf, as far as is known.
  [[nodiscard]] bool expects_gradient(std::int64_t bytes) const {
    node_block const next{begun_.size(), bytes};
    return is_open_ && std::find(expected_.begin(), expected_.end(), next) != expected_.end();
  }
  void add(void* address, std::int64_t bytes) {
    if (is_open_ && begun_.size() < most) begun_.push_back({address, bytes});
  }
  void close() noexcept { is_open_ = false; }
  /// The node has ended.
  /// \param are_gradients  addresses   \param all  keeps what was found
  /// \returns blocks that were expected to be gradients and are none
  [[nodiscard]] std::vector<block> end(std::vector<void const*> const& are_gradients, node_gradients& all) {
    std::vector<block> wrong;
    if (!std::exchange(is_open_, false) || begun_.empty()) return wrong;
    std::vector<node_block> found;
    for (auto const* const gradient : are_gradients)
      for (std::size_t k = begun_.size(); k-- > 0;)
        if (begun_[k].address == gradient) {  // an earlier one there has ended
          found.push_back({k, begun_[k].bytes});
          break;
        }
    for (auto const& one : expected_)
      if (one.number < begun_.size() && std::find(found.begin(), found.end(), one) == found.end())
        wrong.push_back(begun_[one.number]);
    if (found != expected_) all.found(node_, std::move(found));
    return wrong;
  }

 private:
  static constexpr std::size_t most = 256;  ///< a node of the user's own may begin any number
  bool is_open_ = false;
  std::uint64_t node_ = 0;
  std::vector<node_block> expected_;
  std::vector<block> begun_;
};

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
