// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_gradients.hpp  Gradients of leaves belong to the caller: they leave the account once they are there.
#include <ATen/core/Tensor.h>
#include <c10/util/flat_hash_map.h>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>

namespace cairn::libtorch::detail {

/// The leaves that the operators of a call have read.
class leaf_gradients {
 public:
  void note(at::Tensor const& t) {
    auto* const impl = t.unsafeGetTensorImpl();
    if (!impl->requires_grad() || !t.is_leaf() || !known_.insert(impl).second) return;
    waiting_.emplace_back(t.getIntrusivePtr());
  }
  /// Hands those gradients over that backward has made since the last time, and settles the account.
  /// \param all  looks at all leaves, and not only at some that were read last, whose gradients come first
  /// \pre this thread is not accumulating a gradient
  void hand_over(byte_account& account, bool all) {
    std::int64_t bytes = 0;
    int misses = 0;
    found_.clear();
    for (std::size_t k = waiting_.size(); k-- > 0 && (all || misses < 8);)
      if (is_done(waiting_[k], account, bytes)) waiting_.erase(waiting_.begin() + std::ptrdiff_t(k));
      else ++misses;
    std::vector<node_blocks::block> wrong;
    if (auto* const node = byte_account::blocks_of_thread()) wrong = node->end(found_, account.gradients());
    for (auto const& one : wrong) bytes -= one.bytes;  // they may have been there with the most
    account.settle(bytes);
    for (auto const& one : wrong) host_memory::counted().count(one.address, account);
  }

 private:
  using weak_leaf = c10::weak_intrusive_ptr<at::TensorImpl, c10::UndefinedTensorImpl>;

  /// The lock of a node, under which LibTorch writes the gradient.
  struct node_lock : torch::autograd::Node {
    [[nodiscard]] static std::mutex& of(torch::autograd::Node& node) { return node.*(&node_lock::mutex_); }
  };
  [[nodiscard]] bool is_done(weak_leaf const& leaf, byte_account& account, std::int64_t& bytes) {
    auto strong = leaf.lock();
    if (!strong || strong.get() == c10::UndefinedTensorImpl::singleton()) return true;
    at::Tensor const t{std::move(strong)};
    auto const node = torch::autograd::impl::try_get_grad_accumulator(t);
    if (node == nullptr) return false;
    std::lock_guard const lock{node_lock::of(*node)};
    auto const& gradient = t.grad();
    if (!gradient.defined() || !gradient.has_storage()) return false;
    auto const* const address = gradient.storage().data_ptr().get();
    bytes += host_memory::counted().hand_over(address, account);
    found_.push_back(address);
    return true;
  }

  ska::flat_hash_set<void const*> known_;
  std::vector<weak_leaf> waiting_;
  std::vector<void const*> found_;  ///< addresses of gradients
};

}  // namespace cairn::libtorch::detail
