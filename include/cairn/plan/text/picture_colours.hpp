// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file picture_colours.hpp  How many lines or parts a picture can tell apart.
#include <cstddef>

namespace cairn {

/// The most curves, series, or parts of a whole that one picture shows: each has a colour of its own, for light and
/// for dark screens.
inline constexpr std::size_t most_picture_colours = 8;

}  // namespace cairn
