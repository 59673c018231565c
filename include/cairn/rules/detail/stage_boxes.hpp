// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_boxes.hpp  Memory for small objects of any type; when an object is destroyed, its memory is kept for the
/// next one.
#include <cstddef>
#include <new>

namespace cairn::detail {

/// Boxes of a few sizes, taken and returned in any order. A free box serves the next object of its size; there are
/// never more boxes of a size than were in use at one time. Objects of more than `largest` bytes, here a value with its
/// holder, get no box, because no plan counts the memory of a box that waits for the next object.
class stage_boxes {
 public:
  static constexpr std::size_t largest = 320, largest_alignment = 64;

  stage_boxes() = default;
  stage_boxes(stage_boxes const&) = delete;
  stage_boxes& operator=(stage_boxes const&) = delete;
  /// \pre every box has been returned
  ~stage_boxes() {
    for (std::size_t k = 0; k < plain_sizes; ++k) end<false>(plain_[k]);
    for (std::size_t k = 0; k < aligned_sizes; ++k) end<true>(aligned_[k]);
  }

  template <class T>
  static constexpr bool fits = sizeof(T) <= largest && alignof(T) <= largest_alignment;

  /// Raw memory for a T.
  template <class T>
  [[nodiscard]] void* take() {
    constexpr bool aligned = is_aligned<T>;
    static_assert(fits<T> && round_up<aligned>(sizeof(T)) >= sizeof(box));
    box*& free = list<T>();
    if (free == nullptr) {
      constexpr std::size_t size = round_up<aligned>(sizeof(T));
      void* made;
      if constexpr (aligned) made = ::operator new(size, std::align_val_t{largest_alignment});
      else made = ::operator new(size);
      bytes_ += size;
      return made;
    }
    box* const taken = free;
    free = taken->next;
    return taken;
  }
  /// Takes back the memory of a T that was destroyed.
  template <class T>
  void give_back(void* memory) noexcept {
    box*& free = list<T>();
    free = ::new (memory) box{free};
  }
  /// Bytes of all boxes, free or in use.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct box {
    box* next;
  };
  static constexpr std::size_t unit = 16, plain_sizes = largest / unit, aligned_sizes = largest / largest_alignment;
  template <class T> static constexpr bool is_aligned = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  template <bool Aligned>
  [[nodiscard]] static constexpr std::size_t round_up(std::size_t size) noexcept {
    constexpr std::size_t to = Aligned ? largest_alignment : unit;
    return (size + to - 1) / to * to;
  }
  template <class T>
  [[nodiscard]] box*& list() noexcept {
    if constexpr (is_aligned<T>) return aligned_[round_up<true>(sizeof(T)) / largest_alignment - 1];
    else return plain_[round_up<false>(sizeof(T)) / unit - 1];
  }
  template <bool Aligned>
  static void end(box* first) noexcept {
    while (first != nullptr) {
      box* const next = first->next;
      if constexpr (Aligned) ::operator delete(first, std::align_val_t{largest_alignment});
      else ::operator delete(first);
      first = next;
    }
  }

  box* plain_[plain_sizes] = {};
  box* aligned_[aligned_sizes] = {};
  std::size_t bytes_ = 0;
};

}  // namespace cairn::detail
