// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file wide.hpp  Totals beyond 64 bits: a Revolve sweep of 10^18 steps with 2 slots runs 9.4e26 steps.
#include <cairn/version.hpp>
#if CAIRN_HAS_INT128
namespace cairn::detail {
__extension__ using wide_count = unsigned __int128;
__extension__ using wide_difference = __int128;
}  // namespace cairn::detail
#else
#include <cairn/core/detail/two_words.hpp>
namespace cairn::detail {
using wide_count = two_words<false>;
using wide_difference = two_words<true>;
}  // namespace cairn::detail
#endif

namespace cairn {

/// An unsigned 128-bit count. Sums and products of counts in a schedule of up to 2^63-1 steps are exact.
using wide = detail::wide_count;

}  // namespace cairn
