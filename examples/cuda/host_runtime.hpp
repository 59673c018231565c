// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file host_runtime.hpp  A device that is the host itself, so that programs for a GPU run where there is none.

#include <cstddef>
#include <cstring>
#include <new>

#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/error.hpp>

namespace support {

/// The `cairn::device_runtime` of memory of the host, where everything that is put into a stream has run when the call
/// returns.
///
/// It shows that a program computes the right numbers, not that its streams wait for each other: nothing here runs at
/// the same time. Its two memories, that of the device and the pinned one, hold so many bytes each, so that a budget
/// means something.
class host_runtime {
 public:
  using stream = int;  ///< a number; they all are the same
  using event = int;   ///< a number; it has always run

  /// \param bytes  how much either memory holds; what is not asked for is not taken from the machine
  explicit host_runtime(std::size_t bytes = std::size_t{1} << 30) : device_left_{bytes}, pinned_left_{bytes} {}
  host_runtime(host_runtime const&) = delete;
  host_runtime& operator=(host_runtime const&) = delete;

  /// \throws cairn::out_of_memory
  [[nodiscard]] void* device_alloc(std::size_t bytes) {
    void* const at = take(bytes, device_left_);
    if (at == nullptr && bytes > 0) refuse("host_runtime::device_alloc", bytes, device_left_);
    return at;
  }
  void device_free(void* at) noexcept { give_back(at, device_left_); }
  /// \throws cairn::out_of_memory
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) {
    void* const at = take(bytes, pinned_left_);
    if (at == nullptr && bytes > 0) refuse("host_runtime::pinned_alloc", bytes, pinned_left_);
    return at;
  }
  void pinned_free(void* at) noexcept { give_back(at, pinned_left_); }

  [[nodiscard]] stream make_stream() const noexcept { return 0; }
  [[nodiscard]] event make_event() const noexcept { return 0; }
  void destroy(int) const noexcept {}
  void record(event, stream) const noexcept {}
  void wait(stream, event) const noexcept {}
  void sync(int) const noexcept {}
  [[nodiscard]] bool done(event) const noexcept { return true; }
  void copy(void* to, void const* from, std::size_t bytes, cairn::copy_kind, stream) const noexcept {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes, stream) const noexcept {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return device_left_; }
  [[nodiscard]] int device() const noexcept { return 0; }

 private:
  static constexpr std::size_t alignment =
      256;  // of the bytes, and the room before them, where their number is written

  [[noreturn]] static void refuse(char const* who, std::size_t bytes, std::size_t left) {
    throw cairn::out_of_memory{who,
                               "the memory has less free than was asked for",
                               {{"bytes asked", bytes}, {"bytes free", left}},
                               "give a smaller budget, or fewer frames and slots"};
  }
  [[nodiscard]] static void* take(std::size_t bytes, std::size_t& left) noexcept {
    if (bytes == 0 || bytes > left || bytes > ~std::size_t{0} - alignment) return nullptr;
    auto* const block =
        static_cast<std::byte*>(::operator new (bytes + alignment, std::align_val_t{alignment}, std::nothrow));
    if (block == nullptr) return nullptr;
    std::memcpy(block, &bytes, sizeof bytes);
    left -= bytes;
    return block + alignment;
  }
  static void give_back(void* at, std::size_t& left) noexcept {
    if (at == nullptr) return;
    auto* const block = static_cast<std::byte*>(at) - alignment;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    left += bytes;
    ::operator delete(block, std::align_val_t{alignment});
  }

  std::size_t device_left_, pinned_left_;
};
static_assert(cairn::zeroing_runtime<host_runtime>);

}  // namespace support
