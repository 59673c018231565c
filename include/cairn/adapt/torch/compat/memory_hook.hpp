// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_hook.hpp  A user function that is called for every block of host memory that a tensor allocates or
/// frees.
#include <memory>
#include <utility>
#include <cairn/adapt/torch/memory/detail/host_memory.hpp>

namespace cairn::libtorch {

/// Called with a device and either (bytes, 0) for a block allocated there or (0, bytes) for a block freed.
using memory_hook = std::function<void(c10::Device, std::int64_t allocated, std::int64_t freed)>;

/// Keeps a memory hook registered during its lifetime; moved, not copied. Handles may be destroyed in any order, also
/// inside the hook. After that the hook is not called any more; the destructor waits for a running call in another
/// thread.
class memory_hook_handle {
 public:
  memory_hook_handle() = default;
  /// Takes over the registration.
  memory_hook_handle(memory_hook_handle&&) noexcept = default;
  /// Takes over the registration, and ends its own.
  memory_hook_handle& operator=(memory_hook_handle other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~memory_hook_handle() { remove(); }

  /// Ends the registration early; a second call does nothing.
  void remove() noexcept {
    if (auto const entry = std::exchange(entry_, nullptr)) detail::host_memory::counted().remove(entry);
  }
  explicit operator bool() const noexcept { return entry_ != nullptr; }  ///< whether its hook is registered

 private:
  friend memory_hook_handle register_memory_hook(memory_hook hook);
  std::shared_ptr<detail::hook_entry> entry_;
};

/// From now on calls `hook(device, allocated, freed)` whenever a CPU tensor, in any thread, allocates or frees a block
/// of memory. The end of a block is reported only if the block began after the hook's registration, and what hooks
/// allocate themselves is never reported; the hook runs in one thread at a time. If it throws at an allocation, the
/// allocation fails, the block is freed, and that is reported to all hooks; an exception at the end of a block is
/// ignored. A hook should be short, and not wait for anything.
/// \throws invalid_call  without a hook, or as memory_stats   Cost: that of memory_stats, plus the hook's
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
