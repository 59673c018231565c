// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file figure_text.hpp  Single figures in the form that all texts of cairn use.
#include <cstdint>
#include <string>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// A number with at most `digits` significant digits, but with all of those before the point up to 10^15: "0.0123",
/// "50000", "1.5e+18".
[[nodiscard]] CAIRN_DECL std::string number_text(double value, int digits = 4);

/// Seconds in the unit that suits them: "1.82 s", "310 us", "4.2 h".
[[nodiscard]] CAIRN_DECL std::string seconds_text(double seconds);

/// A share in per cent: "12 %" for 0.12, "0.4 %", "250 %".
[[nodiscard]] CAIRN_DECL std::string percent_text(double share);

/// The exact number of bytes, from 1024 on followed by a short form: "17 bytes", "2048 bytes (2.00 KiB)".
/// \param bytes  >= 0
[[nodiscard]] CAIRN_DECL std::string exact_bytes_text(std::int64_t bytes);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/figure_text.ipp>
#endif
