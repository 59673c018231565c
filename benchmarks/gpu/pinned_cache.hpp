// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runtime that keeps pinned memory that was given back, so that many sweeps in a row pin their slots once.
#include <algorithm>
#include <cstddef>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>

namespace gpu {

/// As `R`, but `pinned_alloc` gives a large block again to who wants one of its size.
template <cairn::device_runtime R>
class pinned_cache : public R {
 public:
  using R::R;
  pinned_cache(pinned_cache const&) = delete;
  pinned_cache& operator=(pinned_cache const&) = delete;
  ~pinned_cache() {
    for (block const& b : blocks_) R::pinned_free(b.at);
  }

  [[nodiscard]] void* pinned_alloc(std::size_t bytes) {
    if (bytes < worth_keeping) return R::pinned_alloc(bytes);
    for (block& b : blocks_)
      if (b.bytes == bytes && !b.used) return b.used = true, b.at;
    drop_unused();  // another size of state has come: what the last one had pinned is in its way
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back({R::pinned_alloc(bytes), bytes, true});
    return blocks_.back().at;
  }
  void pinned_free(void* at) noexcept {
    for (block& b : blocks_)
      if (b.at == at) {
        b.used = false;
        return;
      }
    R::pinned_free(at);
  }
  /// Bytes that are not in use and still pinned.
  [[nodiscard]] std::size_t kept_bytes() const noexcept {
    std::size_t sum = 0;
    for (block const& b : blocks_) sum += b.used ? 0 : b.bytes;
    return sum;
  }
  /// Gives back what is not in use.
  void drop_unused() noexcept {
    for (block const& b : blocks_)
      if (!b.used) R::pinned_free(b.at);
    std::erase_if(blocks_, [](block const& b) { return !b.used; });
  }

 private:
  static constexpr std::size_t worth_keeping = std::size_t{1} << 16;

  struct block {
    void* at;
    std::size_t bytes;
    bool used;
  };
  std::vector<block> blocks_;
};

}  // namespace gpu
