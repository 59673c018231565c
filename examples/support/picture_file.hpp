// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file picture_file.hpp  A program's picture, for those who ask for it: `program FILE.svg`.

#include <fstream>
#include <stdexcept>
#include <string>

namespace support {

/// Whether the program was given the name of a file for its picture.
[[nodiscard]] inline bool wants_picture(int count) { return count > 1; }

/// \throws std::runtime_error   if the file cannot be written
inline void write_picture(char const* name, std::string const& picture) {
  std::ofstream file{name, std::ios::binary};
  if (!(file << picture << std::flush)) throw std::runtime_error{std::string{name} + " cannot be written"};
}

}  // namespace support
