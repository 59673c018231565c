// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file large_allocation.hpp  Memory for as many entries as a plan has slots.
#include <cstddef>
#include <new>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// What fails from this size on is the fault of a plan, and is said in its terms; below it is std::bad_alloc.
inline constexpr std::size_t large_bytes = SIZE_MAX > 0xffff'ffffu ? std::size_t{0xffff'ffffu} : SIZE_MAX / 2;

/// \throws out_of_memory
template <class Allocate>
[[gnu::cold, gnu::noinline]] auto allocated_large(std::size_t entries, std::size_t size, Allocate allocate) {
  try {
    return allocate();
  } catch (std::bad_alloc const&) {
    throw out_of_memory{"cairn: a plan",
                        "there is no memory for so many slots",
                        {{"entries", entries}, {"bytes", wide(entries) * size}},
                        "give fewer slots, or a budget to cairn::plan_within"};
  }
}
/// Returns allocate(), which makes that many entries of `size` bytes.
/// \throws out_of_memory   if it fails for `large_bytes` or more
template <class Allocate>
[[nodiscard]] constexpr auto allocated(std::size_t entries, std::size_t size, Allocate allocate) {
  return entries < large_bytes / size ? allocate() : allocated_large(entries, size, allocate);
}

}  // namespace cairn::detail
