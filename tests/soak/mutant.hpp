// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file mutant.hpp  Chooses the change of the sources that is on; see mutants.py.
#include <cstdio>
#include <cstdlib>
#ifndef MUTANT_WHERE_COMPILED
#define MUTANT_WHERE_COMPILED 0
#endif
/// MUTANT in the environment is the number of the change. Below 0 none is on, and byte `number` of the file MUTANT_LOG
/// says that the change was executed.
inline bool cairn_mutant(int number) noexcept {
  static int const wanted = std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : 0;
  if (wanted >= 0) return wanted == number;
  static bool told[65536];
  if (std::FILE* const log = told[number] ? nullptr : std::fopen(std::getenv("MUTANT_LOG"), "r+b")) {
    told[number] = true;
    std::fseek(log, number, SEEK_SET);
    std::fputc(1, log);
    std::fclose(log);
  }
  return false;
}
/// What the compiler evaluates has its change where the program is compiled for it.
constexpr bool MUTANT(int number) noexcept {
  return __builtin_is_constant_evaluated() ? number == MUTANT_WHERE_COMPILED : cairn_mutant(number);
}
