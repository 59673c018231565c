// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file svg_path.hpp  The data of SVG paths, in whole hundredths of a pixel: the same bytes from every compiler.
#include <cstdint>
#include <string>

namespace picture {

/// A length in hundredths of a pixel.
using hundredths = std::int64_t;

[[nodiscard]] inline std::string pixels(hundredths length) {
  hundredths const size = length < 0 ? -length : length;
  std::string text = (length < 0 ? "-" : "") + std::to_string(size / 100);
  if (hundredths const rest = size % 100; rest != 0) {
    text += rest < 10 ? ".0" : ".";
    text += std::to_string(rest % 10 == 0 ? rest / 10 : rest);
  }
  return text;
}

/// The `d` attribute of a path. Each mark begins with one `M`. Lines go to absolute positions; dots, rings and caps are
/// relative to the current one.
class svg_path {
 public:
  svg_path& move(hundredths x, hundredths y) { return put('M', x).put(' ', y); }
  svg_path& across(hundredths x) { return put('H', x); }
  svg_path& down(hundredths y) { return put('V', y); }
  svg_path& line(hundredths x, hundredths y) { return put('L', x).put(' ', y); }
  /// A dot: a line of length 0, which round line ends make visible.
  svg_path& dot() { return add("h0"); }
  svg_path& ring(hundredths radius) {
    std::string const r = pixels(radius), turn = "a" + r + " " + r + " 0 1 0 ";
    return add("m-" + r + " 0" + turn + pixels(2 * radius) + " 0" + turn + pixels(-2 * radius) + " 0");
  }
  /// A horizontal bar that extends by `half` to both sides.
  svg_path& cap(hundredths half) { return add("m-" + pixels(half) + " 0h" + pixels(2 * half)); }
  svg_path& close() { return add("Z"); }
  [[nodiscard]] std::string const& data() const noexcept { return data_; }
  [[nodiscard]] bool empty() const noexcept { return data_.empty(); }

 private:
  svg_path& put(char command, hundredths at) {
    data_ += command;
    return add(pixels(at));
  }
  svg_path& add(std::string const& more) {
    data_ += more;
    return *this;
  }
  std::string data_;
};

}  // namespace picture
