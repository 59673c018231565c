// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers of 128 bits for what tests compute by themselves: the compiler's own, and where it has none cairn's, which
// tests/core/wide_test.cpp holds against the compiler's.
#include <cairn/core/wide.hpp>

namespace int128 {

using natural = cairn::wide;
using whole = cairn::detail::wide_difference;

}  // namespace int128
