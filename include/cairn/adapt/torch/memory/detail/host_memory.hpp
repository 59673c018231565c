// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file host_memory.hpp  Counts the process's tensors in host memory, by an allocator in front of LibTorch's own.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <cairn/adapt/torch/memory/detail/byte_account.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The derived class implements `take(bytes)` and `raw_deleter`. In LibTorch 1 `allocate` is const, and there is no
/// `copy_data`: what overrides nothing there is never called.
// NOLINTBEGIN(modernize-use-override)
struct allocator_base : c10::Allocator {
  [[nodiscard]] virtual c10::DataPtr take(std::size_t bytes) const = 0;
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) const { return take(bytes); }
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) { return take(bytes); }
  void copy_data(void* into, void const* from, std::size_t bytes) const { std::memcpy(into, from, bytes); }
};
// NOLINTEND(modernize-use-override)

/// Same as `memory_hook`.
using memory_hook_function = std::function<void(c10::Device, std::int64_t allocated, std::int64_t freed)>;

/// A hook that runs in one thread at a time, and never again after it is closed. It may close itself.
class hook_entry {
 public:
  explicit hook_entry(memory_hook_function hook) : hook_{std::move(hook)} {}
  std::uint64_t since = 0;  ///< number of its registration
  void call(std::int64_t allocated, std::int64_t freed) {
    std::lock_guard const lock{access_};
    if (open_) hook_(c10::Device(c10::kCPU), allocated, freed);
  }
  void close() {
    std::lock_guard const lock{access_};
    open_ = false;
  }

 private:
  std::recursive_mutex access_;
  memory_hook_function hook_;
  bool open_ = true;
};

/// A hook that is registered, until this is destroyed or removes it. Moved, not copied.
class hook_handle {
 public:
  hook_handle() = default;
  /// \param hook  its deleter ends the registration
  explicit hook_handle(std::shared_ptr<void const> hook) : hook_{std::move(hook)} {}
  hook_handle(hook_handle&&) noexcept = default;
  hook_handle& operator=(hook_handle&&) noexcept = default;
  void remove() noexcept { hook_.reset(); }  ///< removes the hook early; a second call does nothing
  explicit operator bool() const noexcept { return hook_ != nullptr; }  ///< whether its hook is registered

 private:
  std::shared_ptr<void const> hook_;
};

/// The blocks of host memory that tensors hold. There is one object per process. It is never destroyed, because tensors
/// may outlive everything else.
class host_memory : public byte_total {
 public:
  /// From the first call on, the blocks of CPU tensors are counted.
  /// \throws invalid_call  if the program has set an allocator of its own that needs more than an address to free a
  ///   block
  [[nodiscard]] static host_memory& counted() {
    static host_memory& one = begin();
    return one;
  }

  /// The block belongs to the caller now, and counts no more in this account.
  /// \returns its bytes, if they are part of the most that the account has counted since it settled
  std::int64_t hand_over(void const* address, byte_account& account) {
    std::lock_guard const lock{access_};
    auto* const found = block_of(address, account);
    if (found == nullptr) return 0;
    found->account.reset();
    if (!std::exchange(found->counts, false)) return 0;
    account.end(found->bytes, found->epoch);
    return account.is_in_most(found->number) ? found->bytes : 0;
  }
  /// The block was taken for a gradient, which it is not: from now on it counts.
  void count(void const* address, byte_account& account) {
    std::lock_guard const lock{access_};
    auto* const found = block_of(address, account);
    if (found == nullptr || found->counts || found->epoch != account.epoch()) return;
    found->counts = true;
    found->number = account.begin(found->bytes);
  }

  void add(std::shared_ptr<hook_entry> hook) {
    std::lock_guard const lock{access_};
    hook->since = ++registrations_;
    hooks_.push_back(std::move(hook));
  }
  void remove(std::shared_ptr<hook_entry> const& hook) noexcept {
    hook->close();
    std::lock_guard const lock{access_};
    std::erase(hooks_, hook);
  }

 private:
  using hook_list = std::vector<std::shared_ptr<hook_entry>>;
  struct block {
    std::int64_t bytes = 0;
    std::uint64_t told = 0;  ///< registrations when the block began: its end is not reported to later hooks
    std::shared_ptr<byte_account> account = nullptr;  ///< of the thread that began it
    std::uint64_t epoch = 0, number = 0;
    bool counts = false;  ///< in the account
    void end() const noexcept {
      if (account && counts) account->end(bytes, epoch);
    }
  };
  [[nodiscard]] block* block_of(void const* address, byte_account const& account) {
    auto const found = blocks_.find(const_cast<void*>(address));
    return found == blocks_.end() || found->second.account.get() != &account ? nullptr : &found->second;
  }

  /// In front of the previous allocator. Blocks remain plain addresses with one deleter, as oneDNN's tensors need.
  class allocator final : public allocator_base {
   public:
    explicit allocator(host_memory& memory) : memory_{memory} {}
    [[nodiscard]] c10::DataPtr take(std::size_t bytes) const override {
      if (auto* const account = byte_account::of_thread(); account != nullptr && account->is_open())
        if (auto* const node = byte_account::blocks_of_thread(); !node->expects_gradient(std::int64_t(bytes)))
          account->make_room(std::int64_t(bytes));
      auto data = memory_.behind_->allocate(bytes);
      if (data.get() == nullptr || !data.compare_exchange_deleter(memory_.behind_->raw_deleter(), &free_counted))
        return data;
      memory_.begin_block(data.get(), std::int64_t(bytes));
      return data;
    }
    [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }

   private:
    host_memory& memory_;
  };

  explicit host_memory(c10::Allocator* behind) : behind_{behind} {}

  [[nodiscard]] static host_memory*& only() {
    static host_memory* one = nullptr;
    return one;
  }
  [[nodiscard]] static host_memory& begin() {
    auto* const behind = c10::GetCPUAllocator();
    if (behind->raw_deleter() == nullptr)
      throw invalid_call{"cairn::libtorch::memory_stats",
                         "the CPU allocator that this program set cannot be counted",
                         {},
                         "give it a raw_deleter()"};
    only() = new host_memory{behind};
    c10::SetCPUAllocator(new allocator{*only()}, 255);
    return *only();
  }
  static void free_counted(void* address) {
    auto& memory = *only();
    auto const ended = memory.end_block(address);  // before the address can be reused
    memory.behind_->raw_deleter()(address);
    try {
      tell(memory.hooks(), ended.told, 0, ended.bytes);
    } catch (...) {  // clean-up never throws
    }
  }

  void begin_block(void* address, std::int64_t bytes) {
    block begun{bytes};
    hook_list hooks;
    {
      std::lock_guard const lock{access_};
      if (!telling()) begun.told = registrations_;
      hooks = hooks_;
      if (auto* const account = byte_account::of_thread(); account != nullptr && account->is_open()) {
        begun.account = account->shared_from_this();
        begun.epoch = account->epoch();
        auto& node = *byte_account::blocks_of_thread();
        if (begun.counts = !node.expects_gradient(bytes); begun.counts) begun.number = account->begin(bytes);
        node.add(address, bytes);
      }
      auto& known = blocks_[address];  // present if other code freed the last block here without its deleter
      known.end();
      change_by(bytes - std::exchange(known, begun).bytes);
    }
    tell(hooks, begun.told, bytes, 0);
  }
  [[nodiscard]] block end_block(void* address) {
    std::lock_guard const lock{access_};
    auto const found = blocks_.find(address);
    if (found == blocks_.end()) return {};  // allocated before counting began
    auto const ended = std::move(found->second);
    ended.end();
    change_by(-ended.bytes);
    blocks_.erase(found);
    return ended;
  }

  [[nodiscard]] hook_list hooks() const {
    std::lock_guard const lock{access_};
    return hooks_;
  }
  /// Calls all hooks up to a registration, then rethrows the first exception of a hook, so that the hooks' totals stay
  /// balanced.
  static void tell(hook_list const& hooks, std::uint64_t up_to, std::int64_t allocated, std::int64_t freed) {
    bool const before = std::exchange(telling(), true);
    std::exception_ptr first;
    for (auto const& hook : hooks) {
      if (hook->since > up_to) continue;
      try {
        hook->call(allocated, freed);
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    }
    telling() = before;
    if (first != nullptr) std::rethrow_exception(first);
  }
  /// Whether this thread is inside a hook: what hooks allocate is counted, but hooks are not called for it.
  [[nodiscard]] static bool& telling() {
    thread_local bool inside = false;
    return inside;
  }

  c10::Allocator* behind_;
  std::unordered_map<void*, block> blocks_;
  std::uint64_t registrations_ = 0;
  hook_list hooks_;
};

}  // namespace cairn::libtorch::detail
