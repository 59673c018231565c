// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file versions_allocator.hpp  An allocator base for all LibTorch versions: 1.13 declares `allocate` const; 2.x does
/// not, and requires `copy_data`.
#include <cstddef>
#include <type_traits>
#include <c10/core/Allocator.h>

namespace cairn::libtorch::detail {

/// What every version requires; the derived class implements `take(bytes)`.
struct allocator_root : c10::Allocator {
  [[nodiscard]] virtual c10::DataPtr take(std::size_t bytes) const = 0;
};

template <class Root>
struct allocates_const : Root {
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) const override { return this->take(bytes); }
};
template <class Root>
struct allocates : Root {
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) override { return this->take(bytes); }
};
template <class Base>
struct copies_data : Base {
  void copy_data(void* into, void const* from, std::size_t bytes) const override {
    this->default_copy_data(into, from, bytes);
  }
};

template <class Root>
inline constexpr bool wants_const =
    std::is_same_v<decltype(&Root::allocate), c10::DataPtr (c10::Allocator::*)(std::size_t) const>;
template <class Root>
inline constexpr bool wants_copy_data = requires { &Root::copy_data; };

template <class Root>
using with_allocate = std::conditional_t<wants_const<Root>, allocates_const<Root>, allocates<Root>>;
/// The base class to derive from; the derived class implements `take` and `raw_deleter`.
template <class Root>
using allocator_base = std::conditional_t<wants_copy_data<Root>, copies_data<with_allocate<Root>>, with_allocate<Root>>;

}  // namespace cairn::libtorch::detail
