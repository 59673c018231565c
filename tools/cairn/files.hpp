// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file files.hpp  Reads and writes whole files, and reads standard input, as text.
#include <cstddef>
#include <fstream>
#include <iostream>
#include <istream>
#include <string>
#include "wrong_request.hpp"

namespace tool {

/// \throws wrong_request
inline void write_file(std::string const& name, std::string const& text) {
  std::ofstream file{name, std::ios::binary};
  file << text;
  file.close();
  if (!file)
    throw wrong_request{"\"" + name +
                        "\" cannot be written; give a file in a folder that is there and may be written to"};
}

/// The most bytes of a profile or a trace that is read as a whole.
inline constexpr std::size_t longest_text = std::size_t{64} << 20;

/// \param name  a file, or "-" for standard input   \param give  what the error of one that cannot be read asks for
/// \throws wrong_request   if the file cannot be read or has more than `most` bytes
[[nodiscard]] inline std::string read_file(std::string const& name, std::size_t most,
                                           char const* give = "the name of a file, or - for standard input") {
  std::ifstream file;
  if (name != "-") file.open(name, std::ios::binary);
  std::istream& from = name == "-" ? std::cin : file;
  std::string text;
  char part[65'536];
  while (text.size() <= most && (from.read(part, sizeof part), from.gcount() > 0))
    text.append(part, std::size_t(from.gcount()));
  if (text.empty() && !from.eof())
    throw wrong_request{"\"" + name + "\" cannot be read; give " + give};
  if (text.size() > most)
    throw wrong_request{"\"" + name + "\" has more than " + std::to_string(most) + " bytes; give a smaller one"};
  return text;
}

}  // namespace tool
