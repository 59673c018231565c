// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file node_blocks.hpp  Which of the blocks that a node of backward begins are gradients of leaves. Nobody says so
/// when they begin; but a node begins the same blocks in each step, so that it is known from the second one on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::libtorch::detail {

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

}  // namespace cairn::libtorch::detail
