// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file live_records.hpp  What a record has to do with the rest of the process: other records, gradients of leaves.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>

namespace cairn::libtorch::detail {

/// A record that may have read what somebody else is about to write to. Versions do not show all writes, such as those
/// by `data()`.
class memory_reader {
 public:
  virtual void is_changed_soon(at::Tensor const& t) = 0;
  /// Whether this record's own operators have made the memory of the tensor.
  [[nodiscard]] virtual bool has_made(at::Tensor const& t) = 0;

 protected:
  ~memory_reader() = default;

 private:
  friend class live_records;
  std::uint64_t began_ = 0;  ///< number of calls that were over by then
};

class live_records {
 public:
  static void add(memory_reader& one) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    of.all.push_back(&one);
    one.began_ = of.over;
    ++of.open;
  }
  /// The call of a record is over: it reads nothing more.
  static void end() {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    --of.open;
    ++of.over;
  }
  static void remove(memory_reader& one) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    std::erase(of.all, &one);
  }
  /// Tells all but one of them. `each_written(visit)` visits the tensors that are written to.
  template <class Each>
  static void tell_others(memory_reader& writer, Each const& each_written) {
    auto& of = of_process();
    std::lock_guard const lock{of.access};
    if (of.all.size() < 2) return;
    bool const is_alone = of.open == 1 && of.over == writer.began_;  // nobody else has run since it began
    each_written([&](at::Tensor const& t) {
      if (is_alone && writer.has_made(t)) return;
      for (auto* const other : of.all)
        if (other != &writer) other->is_changed_soon(t);
    });
  }

 private:
  struct records {
    std::mutex access;
    std::vector<memory_reader*> all;
    int open = 0;            ///< calls that are not over
    std::uint64_t over = 0;  ///< number of those that are
  };
  [[nodiscard]] static records& of_process() {
    static auto* const one = new records;
    return *one;
  }
};

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
