// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file text_chart.hpp  Common parts of the pictures for a terminal: a grid of cells, its axes, and text wrapped to
/// the width.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ticks.hpp"

namespace picture {

/// The characters of pictures for terminals.
enum class glyphs : std::uint8_t {
  utf8,  ///< lines and blocks of Unicode, in UTF-8
  ascii  ///< for terminals without Unicode
};

/// The character of a cell in both sets; each takes one column.
struct glyph {
  char const* utf8 = " ";
  char const* ascii = " ";
};

/// The parts in order, in lines of at most `columns` characters. \pre no part is longer
[[nodiscard]] inline std::string flowed(std::vector<std::string> const& parts, std::string_view between,
                                        std::size_t columns) {
  std::string lines;
  std::size_t used = 0;
  for (auto const& part : parts) {
    auto const length = std::size_t(std::count_if(part.begin(), part.end(), [](char c) { return (c & 0xc0) != 0x80; }));
    if (used > 0 && used + between.size() + length > columns) lines += '\n', used = 0;
    if (used > 0) lines += between, used += between.size();
    lines += part;
    used += length;
  }
  return lines + '\n';
}

/// The same for a text, which is broken between words.
[[nodiscard]] inline std::string wrapped(std::string const& text, std::size_t columns) {
  std::vector<std::string> words(1);
  for (char const c : text) {
    if (c == ' ') words.emplace_back();
    else words.back() += c;
  }
  return flowed(words, " ", columns);
}

/// A grid of cells that hold ranks: 0 is empty, and a cell shows the highest rank that was put there.
class text_chart {
 public:
  /// \param ranks  the characters of the ranks, from rank 0
  text_chart(std::size_t columns, std::size_t rows, std::size_t gutter, glyphs set, std::initializer_list<glyph> ranks)
      : gutter_{gutter},
        width_{columns - gutter - 1},
        rows_{rows},
        set_{set},
        ranks_{ranks},
        cells_(width_ * rows),
        labels_(rows) {}

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  void put(std::size_t row, std::size_t column, unsigned char rank) {
    unsigned char& cell = cells_[row * width_ + column];
    cell = (std::max)(cell, rank);
  }
  /// \pre label is no wider than the gutter
  void label(std::size_t row, std::string words) { labels_[row] = std::move(words); }
  [[nodiscard]] std::string mark(glyph const& one) const { return set_ == glyphs::utf8 ? one.utf8 : one.ascii; }
  [[nodiscard]] std::string mark(unsigned char rank) const { return mark(ranks_[rank]); }

  /// The grid above an axis with `ticks`, each in the column that `column_of` returns.
  template <class ColumnOf>
  [[nodiscard]] std::string drawn(std::vector<tick> const& ticks, ColumnOf column_of, std::string const& x_name) const {
    std::string lines;
    for (std::size_t row = 0; row < rows_; ++row) {
      bool const named = !labels_[row].empty();
      std::string line = std::string(gutter_ - labels_[row].size(), ' ') + labels_[row] +
                         mark(named ? glyph{"┤", "+"} : glyph{"│", "|"});
      std::size_t end = width_;
      while (end > 0 && cells_[row * width_ + end - 1] == 0) --end;
      for (std::size_t column = 0; column < end; ++column) line += mark(cells_[row * width_ + column]);
      lines += line + '\n';
    }
    return lines + ruler(ticks, column_of, x_name);
  }

 private:
  /// Labels below their ticks. The last label is always kept, and the first one unless it would touch the last. Of two
  /// others that would touch, the earlier one is kept.
  template <class ColumnOf>
  [[nodiscard]] std::string ruler(std::vector<tick> const& ticks, ColumnOf column_of, std::string const& x_name) const {
    std::size_t const columns = gutter_ + 1 + width_;
    std::vector<bool> marked(width_);
    std::string below(columns, ' ');
    auto const name = [&](tick const& at) {
      std::size_t const here = gutter_ + 1 + column_of(at), length = at.label.size();
      std::size_t const from = (std::min)(here - (std::min)(here, length / 2), columns - length);
      std::size_t const before = from == 0 ? 0 : from - 1, after = (std::min)(columns, from + length + 1);
      if (below.find_first_not_of(' ', before) < after) return;
      below.replace(from, length, at.label);
      marked[column_of(at)] = true;
    };
    name(ticks.back());
    name(ticks.front());
    for (auto const& at : ticks) name(at);
    std::string line = std::string(gutter_, ' ') + mark(glyph{"└", "+"});
    for (bool const here : marked) line += mark(here ? glyph{"┬", "+"} : glyph{"─", "-"});
    below.erase(below.find_last_not_of(' ') + 1);
    return line + '\n' + below + '\n' +
           std::string(gutter_ + 1 + (width_ - (std::min)(width_, x_name.size())) / 2, ' ') + x_name + '\n';
  }

  std::size_t gutter_, width_, rows_;
  glyphs set_;
  std::vector<glyph> ranks_;
  std::vector<unsigned char> cells_;
  std::vector<std::string> labels_;
};

}  // namespace picture
