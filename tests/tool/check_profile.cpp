// SPDX-License-Identifier: Apache-2.0
// `cairn profile --check FOLDER`, for builds without the command.
#include <iostream>
#include <string>
#include <cairn/core/error.hpp>
#include "profile_check.hpp"
#include "wrong_request.hpp"

int main(int count, char** words) try {
  std::cout << tool::checked_profiles(count > 1 ? words[1] : ".", [](cairn::error const& e) { return std::string{e.what()}; });
} catch (tool::wrong_request const& problem) {
  std::cerr << problem.what() << '\n';
  return 2;
}
