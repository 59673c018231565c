// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_blocks.hpp  Divides the operators of a recorded call into blocks: what is inside of one is dropped at
/// its end, and made again as a whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cairn::libtorch::detail {

/// Where the blocks of one kind of call end.
struct block_ends {
  std::vector<std::uint64_t> signature;  ///< for each operator, a hash of it and of all before it
  std::vector<int> ends;                 ///< for each block, one past its last operator
};

/// The blocks of one call. While the program runs they are those of the known kind of call that has begun alike.
class record_blocks {
 public:
  using kinds = std::vector<std::shared_ptr<block_ends const>>;
  explicit record_blocks(kinds known) : known_{std::move(known)} {}

  // ---- forward
  /// \param number  of the operator that begins   \returns whether a block ends in front of it; it begins at `first()`
  [[nodiscard]] bool ends_at(int number) const {
    if (!kind_) return false;
    auto const next = std::upper_bound(kind_->ends.begin(), kind_->ends.end(), first_);
    return next != kind_->ends.end() && *next <= number;
  }
  [[nodiscard]] int first() const noexcept { return first_; }  ///< the first operator of the block that runs
  void begin_at(int number) noexcept { first_ = number; }
  /// An operator has run.
  void ran(std::uint64_t hash) {
    auto const number = signature_.size();
    signature_.push_back(hash + 0x9e3779b97f4a7c15 * (number == 0 ? 1 : signature_.back() ^ (signature_.back() >> 29)));
    auto const is_alike = [&](auto const& one) {
      return one && number < one->signature.size() && one->signature[number] == signature_.back();
    };
    if (is_alike(kind_)) return;
    auto const found = std::find_if(known_.begin(), known_.end(), is_alike);
    kind_ = found == known_.end() ? nullptr : *found;
  }
  [[nodiscard]] std::vector<std::uint64_t> const& signature() const noexcept { return signature_; }
  /// The kind of the whole call; null if it is not known.
  [[nodiscard]] std::shared_ptr<block_ends const> kind() const {
    auto const is_it = [&](auto const& one) { return one->signature == signature_; };
    auto const found = std::find_if(known_.begin(), known_.end(), is_it);
    return found == known_.end() ? nullptr : *found;
  }

  // ---- backward
  /// \param told  called with a block before it is made again (true), and before its adjoints run (false)
  void settle(std::vector<int> ends, std::function<void(int block, bool again)> told) {
    ends_ = std::move(ends);
    told_ = std::move(told);
    open_ = size();
    is_made_.assign(ends_.size(), 0);
  }
  [[nodiscard]] int size() const noexcept { return int(ends_.size()); }  ///< number of blocks; 0 before `settle`
  [[nodiscard]] std::pair<int, int> operators_of(int block) const {
    return {block == 0 ? 0 : ends_[std::size_t(block - 1)], ends_[std::size_t(block)]};
  }
  /// The block of an operator, or the last one.
  [[nodiscard]] int of(int number) const {
    auto const place = std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin();
    return (std::min)(int(place), size() - 1);
  }
  /// Backward reaches an operator: all blocks behind its own are done. It reaches them from the last one on, so that a
  /// later one means another pass.
  /// \param make(block)  makes it again   \param lacks(block)  whether it must be made again
  template <class Lacks, class Make>
  void reach(int number, Lacks const& lacks, Make const& make) {
    int const block = of(number);
    if (block > open_) open_ = size();
    while (open_ > block) {
      --open_;
      if (bool const lacking = open_ == block && lacks(block); lacking || is_made_[std::size_t(open_)]) {
        told_(open_, true);
        if (lacking) make(open_);
        is_made_[std::size_t(open_)] = 0;
      }
      told_(open_, false);
    }
  }
  /// An operator has run again, maybe since a later block needs it.
  void is_made(int number) { is_made_[std::size_t(of(number))] = 1; }
  /// The pass is over: nothing was asked for in the blocks that are left.
  void finish() {
    while (open_ > 0) told_(--open_, false);
  }

 private:
  kinds known_;
  std::shared_ptr<block_ends const> kind_;  ///< the one that is followed
  int first_ = 0;
  std::vector<std::uint64_t> signature_;
  std::vector<int> ends_;
  std::function<void(int, bool)> told_;
  int open_ = 0;
  std::vector<char> is_made_;  ///< for each block, whether it has run again and that was not told
};

}  // namespace cairn::libtorch::detail
