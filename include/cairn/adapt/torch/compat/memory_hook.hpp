#pragma once
/// \file memory_hook.hpp  A function of yours that hears of every block of host memory that a tensor takes or gives
/// back.
#include <memory>
#include <utility>
#include <cairn/adapt/torch/compat/detail/host_memory.hpp>

namespace cairn::libtorch {

/// Called with a device, and the bytes of a block that was allocated there and 0, or 0 and the bytes of one that was
/// freed.
using memory_hook = std::function<void(c10::Device, std::int64_t allocated, std::int64_t freed)>;

/// Keeps a memory hook registered as long as it lives; moved, not copied. Handles may end in any order, also inside the
/// hook. Once one has ended, its hook runs no more: the end waits for a call in another thread.
class memory_hook_handle {
 public:
  memory_hook_handle() = default;
  /// Takes it over.
  memory_hook_handle(memory_hook_handle&&) noexcept = default;
  /// Ends what it had.
  memory_hook_handle& operator=(memory_hook_handle other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~memory_hook_handle() { remove(); }

  /// Ends it before its time; a second call does nothing.
  void remove() noexcept {
    if (auto const entry = std::exchange(entry_, nullptr)) detail::host_memory::counted().remove(entry);
  }
  explicit operator bool() const noexcept { return entry_ != nullptr; }  ///< whether its hook is registered

 private:
  friend memory_hook_handle register_memory_hook(memory_hook hook);
  std::shared_ptr<detail::hook_entry> entry_;
};

/// From now on calls `hook(device, allocated, freed)` whenever a tensor of the CPU, in any thread, takes a block of
/// memory or gives one back. It hears of the end of those blocks only that began after its registration, and not of
/// what hooks allocate themselves; a hook runs in one thread at a time. What it throws at an allocation fails that
/// allocation, the block is freed, and all hooks hear of that; at the end of a block it is dropped. A hook should be
/// short, and wait for nothing.
/// \throws invalid_call  without a hook, or as memory_stats does   Cost: that of memory_stats, and the hook's.
[[nodiscard]] inline memory_hook_handle register_memory_hook(memory_hook hook) {
  if (!hook)
    throw invalid_call{"cairn::libtorch::register_memory_hook",
                       "there is no function to call",
                       {},
                       "give one that takes (device, allocated, freed)"};
  memory_hook_handle handle;
  handle.entry_ = std::make_shared<detail::hook_entry>(std::move(hook));
  detail::host_memory::counted().add(handle.entry_);
  return handle;
}

}  // namespace cairn::libtorch
