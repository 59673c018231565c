// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file draw_command.hpp  Answers `cairn draw`: the tables of programs as pictures.
#include <string>

namespace tool {

/// A table and how it is drawn, as written on the command line.
struct asked_drawing {
  std::string file;        ///< a table of comma-separated values; "-" for standard input
  std::string svg;         ///< the file for the picture; standard output if there is none
  std::string title;       ///< by default the picture says what is shown
  std::string unit;        ///< of parts: bytes, nanoseconds or count
  std::string across;      ///< of curves without times: what a sample is
  std::string limit;       ///< of batches: bytes that a line marks
  bool predicted = false;  ///< of curves: the first one is a prediction
};

/// Draws curves of memory, figures of batches or parts of wholes, whichever the table's columns are of.
/// \returns the picture if no file was named for it, otherwise nothing
/// \throws wrong_request, cairn::error   for a table that is none of these
[[nodiscard]] std::string drawing_of(asked_drawing const& asked);

}  // namespace tool
