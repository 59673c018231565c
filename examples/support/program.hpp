// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file program.hpp  The main function of a program that checks itself.

#include <cstdio>
#include <exception>

#include "command_line.hpp"

namespace support {

/// Reads the words and runs. Answers 0 where every check was passed, 2 for a wrong command line, 1 for everything else.
/// \param parse `parse(count, words)` gives options with `help` \param run `run(options)` returns whether every check
/// was passed
template <class Parse, class Run>
int run_program(char const* name, char const* usage, int count, char const* const* words, Parse parse, Run run) {
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // every line appears when it is known, in a pipe too
    auto const chosen = parse(count, words);
    if (chosen.help) {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(chosen) ? 0 : 1;
  } catch (wrong_usage const& problem) {
    std::fprintf(stderr, "%s: %s\n", name, problem.what());
    return 2;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", name, problem.what());
    return 1;
  }
}

}  // namespace support
