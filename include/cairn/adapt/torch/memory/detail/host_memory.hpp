// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file host_memory.hpp  Counts the process's tensors in host memory, by an allocator in front of LibTorch's own.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <cairn/core/error.hpp>

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
  /// The most at once, since the first lender began.
  [[nodiscard]] std::int64_t peak() const noexcept { return peak_; }
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
