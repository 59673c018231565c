// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file number_counts.hpp  How many numbers a value has, and where two values differ.
#include <cstddef>
#include <cstdint>
#include <cairn/detail/linkage.hpp>
#include <cairn/run/check/detail/number_runs.hpp>

namespace cairn::detail {

/// How many numbers there are.
[[nodiscard]] CAIRN_DECL std::size_t count_of(numbers_view x);
/// The index of the first number in which two states differ in bits; -1 if there is none. If one state has more numbers
/// and the shared ones are equal, the number of shared ones.
[[nodiscard]] CAIRN_DECL std::int64_t first_other_number(numbers_view a, numbers_view b);

}  // namespace cairn::detail

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/detail/impl/number_counts.ipp>
#endif
