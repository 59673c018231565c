// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file killed_program.hpp  A program whose runs are on disk, killed and started again until it ends.
/// Its `process(call, operation, half)` is one process of it, as `killed::run` starts them; `calls` are those of an
/// undisturbed one.
#include <random>
#include <string>
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace killed {

/// Processes one after another until one ends; returns how many were killed, or -1 if the last one was wrong.
/// \param start_process  start_process(k) is process k
template <class Start>
long until_one_ends(support::temporary const& folder, Start const& start_process) {
  folder.remove_runs();
  for (long k = 0;; ++k)
    if (int const status = start_process(k); status >= 0) return status == 0 ? k : -1;
}
/// At calls, also with the records, or these and the final state, lost then, and at operations, whole and half done,
/// every `stride` of them.
/// \param fewest  there are more operations than this
template <class Program>
void everywhere(Program const& of, long stride, long fewest) {
  for (long call = 1; call <= of.calls; call += stride) {
    for (int const lost : {0, 1, 2}) {
      CAPTURE(call, lost);
      CHECK(until_one_ends(of.folder, [&](long k) {
              if (k == 1 && lost > 0) of.folder.remove_files("record");
              if (k == 1 && lost > 1) of.folder.remove_files("final");
              return of.process(k == 0 ? call : -1);
            }) == 1);
    }
  }
  for (long const most : {of.calls / 3, of.calls / 2}) {  // four times in a row
    CAPTURE(most);
    CHECK(until_one_ends(of.folder, [&](long k) { return of.process(k < 4 ? most : -1); }) >= 1);
  }
  for (bool const half : {false, true}) {
    long ended = 1;
    for (long operation = 1; ended == 1; operation += stride) {
      CAPTURE(operation, half);
      ended = until_one_ends(of.folder, [&](long k) { return of.process(-1, k == 0 ? operation : -1, half); });
      CHECK(ended >= 0);
      CHECK((ended == 1 || operation > fewest));
    }
  }
}
/// At random: how often, at calls or at operations, whole or half done, and how often records are written, every
/// `most_every` reversals at most or never; operations up to `last`.
template <class Program>
void at_random(Program& of, std::mt19937_64& draw, long most_every, long last) {
  auto const below = [&draw](long most) { return long(draw() % std::uint64_t(most)); };
  of.commit_every = below(3) == 0 ? 1'000 : 1 + below(most_every);
  long const kills = 1 + below(4);
  std::string what;
  long const ended = until_one_ends(of.folder, [&](long k) {
    if (k >= kills) return of.process(-1);
    bool const by_call = below(2) == 0, half = below(2) == 0;
    long const at = 1 + below(by_call ? of.calls : last);
    what += (by_call ? " call " : half ? " half of operation " : " operation ") + std::to_string(at);
    return by_call ? of.process(at) : of.process(-1, at, half);
  });
  CAPTURE(of.commit_every, what);
  CHECK(ended >= 0);
}

}  // namespace killed
