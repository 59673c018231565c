// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slot_kernel.hpp  The inner loop of tables in slots: the least sum of two rows, in AVX2 if the processor has
/// it.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cairn::detail {

/// Functions that lower `row` to the cost of one choice, for `count` slots. All versions give the same bits; `row`
/// overlaps neither part.
struct slot_kernel {
  /// row[k] = min(row[k], time + left[k] + right[k])
  void (*both)(std::int32_t* row, std::int32_t const* left, std::int32_t const* right, std::int32_t time,
               std::size_t count);
  /// row[k] = min(row[k], time + part[k])
  void (*one)(std::int32_t* row, std::int32_t const* part, std::int32_t time, std::size_t count);
};

/// The kernel for any processor.
inline constexpr slot_kernel plain_kernel{
    [](std::int32_t* row, std::int32_t const* left, std::int32_t const* right, std::int32_t time, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) {
        std::int32_t const sum = time + left[k] + right[k];
        row[k] = sum < row[k] ? sum : row[k];
      }
    },
    [](std::int32_t* row, std::int32_t const* part, std::int32_t time, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) {
        std::int32_t const sum = time + part[k];
        row[k] = sum < row[k] ? sum : row[k];
      }
    }};

// Not on Windows, whose stack is aligned to 16 bytes: g++ puts these vectors there as if it were aligned to 32.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
using eight_slots __attribute__((vector_size(32))) = std::int32_t;

__attribute__((target("avx2"))) inline void lower_eight(std::int32_t* row, std::int32_t const* left,
                                                        std::int32_t const* right, std::int32_t time) {
  eight_slots a, b, before;
  std::memcpy(&a, left, sizeof a), std::memcpy(&b, right, sizeof b), std::memcpy(&before, row, sizeof before);
  a = a + b + time;
  before = a < before ? a : before;
  std::memcpy(row, &before, sizeof before);
}
__attribute__((target("avx2"))) inline void lower_eight(std::int32_t* row, std::int32_t const* part,
                                                        std::int32_t time) {
  eight_slots a, before;
  std::memcpy(&a, part, sizeof a), std::memcpy(&before, row, sizeof before);
  a = a + time;
  before = a < before ? a : before;
  std::memcpy(row, &before, sizeof before);
}
// The last eight slots overlap those before: lowering a slot twice gives the same result.
__attribute__((target("avx2"))) inline void lower_by_both_avx2(std::int32_t* row, std::int32_t const* left,
                                                               std::int32_t const* right, std::int32_t time,
                                                               std::size_t count) {
  if (count < 8) return plain_kernel.both(row, left, right, time, count);
  std::size_t k = 0;
  for (; k + 16 <= count; k += 16)
    lower_eight(row + k, left + k, right + k, time), lower_eight(row + k + 8, left + k + 8, right + k + 8, time);
  if (k + 8 <= count) lower_eight(row + k, left + k, right + k, time);
  lower_eight(row + count - 8, left + count - 8, right + count - 8, time);
}
__attribute__((target("avx2"))) inline void lower_by_one_avx2(std::int32_t* row, std::int32_t const* part,
                                                              std::int32_t time, std::size_t count) {
  if (count < 8) return plain_kernel.one(row, part, time, count);
  std::size_t k = 0;
  for (; k + 16 <= count; k += 16) lower_eight(row + k, part + k, time), lower_eight(row + k + 8, part + k + 8, time);
  if (k + 8 <= count) lower_eight(row + k, part + k, time);
  lower_eight(row + count - 8, part + count - 8, time);
}

/// The kernel for this processor: that for AVX2 if the processor has it. Only compilers for x86-64 know the builtin.
[[nodiscard]] inline slot_kernel const& usual_kernel() noexcept {
  static constexpr slot_kernel avx2{lower_by_both_avx2, lower_by_one_avx2};
  return __builtin_cpu_supports("avx2") ? avx2 : plain_kernel;
}
#else
/// The kernel for this processor.
[[nodiscard]] inline slot_kernel const& usual_kernel() noexcept { return plain_kernel; }
#endif

}  // namespace cairn::detail
