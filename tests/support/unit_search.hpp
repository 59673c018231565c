// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least effort of a machine whose states and tapes share a budget, by search over all that it could do; no code of
// cairn.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace brute {

/// What the machine can do. A state takes 1 unit, a tape `tape_units`.
struct unit_machine {
  int steps = 0;
  int units = 0;
  int tape_units = 1;
  bool restarts = false;       // the state after a kept tape can be loaded
  bool free_initial = false;   // state 0 can be loaded and takes nothing
  bool keeps_states = true;
  bool keeps_tapes = true;
};

/// Runs of a step, recorded ones included, that it takes to reverse all steps; -1 where it cannot be done. steps <= 9.
/// Everything that costs nothing (load, drop, save, reverse from a tape) goes to the front of the queue, a run to its
/// end.
inline int fewest_runs(unit_machine const& what) {
  struct place {
    int live, open;  // live: -1 for none. steps [0, open) are not yet reversed
    std::uint32_t states, tapes;
  };
  struct entry { int runs; place at; };
  auto const number_of = [n = std::size_t(what.steps)](place const& at) {
    return ((std::size_t(at.live + 1) * (n + 1) + std::size_t(at.open)) << n | at.states) << n | at.tapes;
  };
  std::vector<bool> seen(number_of({what.steps + 1, 0, 0, 0}));
  std::deque<entry> next{{0, {0, what.steps, 0, 0}}};
  while (!next.empty()) {
    auto const [runs, at] = next.front();
    next.pop_front();
    if (at.open == 0) return runs;
    if (seen[number_of(at)]) continue;
    seen[number_of(at)] = true;
    auto const free_of_charge = [&, r = runs](place const& to) { if (!seen[number_of(to)]) next.push_front({r, to}); };
    auto const for_a_run = [&, r = runs](place const& to) { if (!seen[number_of(to)]) next.push_back({r + 1, to}); };
    int taken = 0;
    for (int i = 0; i < what.steps; ++i) taken += int(at.states >> i & 1u) + what.tape_units * int(at.tapes >> i & 1u);
    for (int i = 0; i < what.steps; ++i) {
      std::uint32_t const bit = 1u << i;
      if (at.states & bit) {
        free_of_charge({i, at.open, at.states, at.tapes});
        free_of_charge({at.live, at.open, at.states & ~bit, at.tapes});
      }
      if (at.tapes & bit) {
        if (what.restarts) free_of_charge({i + 1, at.open, at.states, at.tapes});
        free_of_charge({at.live, at.open, at.states, at.tapes & ~bit});
        if (i == at.open - 1) free_of_charge({at.live, i, at.states, at.tapes});
      }
    }
    if (what.free_initial) free_of_charge({0, at.open, at.states, at.tapes});
    if (at.live < 0 || at.live >= at.open) continue;
    std::uint32_t const bit = 1u << at.live;
    if (at.live == at.open - 1)
      for_a_run({-1, at.open - 1, at.states, at.tapes});  // recorded, reversed, and its tape forgotten
    for_a_run({at.live + 1, at.open, at.states, at.tapes});
    if (what.keeps_tapes && !(at.tapes & bit) && taken + what.tape_units <= what.units)
      for_a_run({at.live + 1, at.open, at.states, at.tapes | bit});
    if (what.keeps_states && !(at.states & bit) && taken + 1 <= what.units)
      free_of_charge({at.live, at.open, at.states | bit, at.tapes});
  }
  return -1;
}

/// The same by nested sums, every one of them compared. Three tables, as they are usually written down, where
/// `unit_rows` needs two: E(n, m) for tapes that do not restart; for those that do H(n, m), whose first state takes one
/// of the m units and may be given up, and G(n, m), whose first state is kept elsewhere. Keeping both, only.
class nested_units {
 public:
  static constexpr std::int64_t never = std::int64_t{1} << 40;

  nested_units(int steps, int units, int tape_units)
      : units_{units}, a_{tape_units}, e_(std::size_t((steps + 1) * (units + 1)), never), g_{e_}, h_{e_}, f_{e_} {
    for (int m = 0; m <= units; ++m)
      for (int n = 0; n <= steps; ++n) fill(n, m);
  }
  /// Runs where tapes do not restart; the initial state takes a unit, or is free.
  [[nodiscard]] std::int64_t once(int n, int m, bool free_initial) const { return (free_initial ? f_ : e_)[at(n, m)]; }
  /// Runs where tapes restart.
  [[nodiscard]] std::int64_t restarting(int n, int m, bool free_initial) const {
    return (free_initial ? g_ : h_)[at(n, m)];
  }

 private:
  using numbers = std::vector<std::int64_t>;
  [[nodiscard]] std::size_t at(int n, int m) const { return std::size_t(n * (units_ + 1) + m); }

  void fill(int n, int m) {
    auto& e = e_[at(n, m)];
    auto& f = f_[at(n, m)];
    auto& g = g_[at(n, m)];
    auto& h = h_[at(n, m)];
    if (n < 2) {
      e = f = g = h = n;
      return;
    }
    auto const lower = [](std::int64_t& least, std::int64_t value) { least = std::min(least, value); };
    if (m >= a_) {
      lower(e, 1 + e_[at(n - 1, m - a_)]);
      lower(f, 1 + e_[at(n - 1, m - a_)]);
      lower(h, 1 + g_[at(n - 1, m - a_)]);
      for (int y = 1; y < n; ++y) lower(g, y + g_[at(n - y, m - a_)] + g_[at(y - 1, m)]);
      for (int y = 2; y < n && m > a_; ++y) lower(h, y + g_[at(n - y, m - 1 - a_)] + h_[at(y - 1, m)]);
    }
    for (int y = 1; y < n && m > 0; ++y) {
      lower(e, y + e_[at(n - y, m - 1)] + e_[at(y, m)]);
      lower(h, y + h_[at(n - y, m - 1)] + h_[at(y, m)]);
    }
    if (m > 0) lower(h, n + h_[at(n - 1, m)]);
    lower(g, n + g_[at(n - 1, m)]);
    for (int y = 1; y < n; ++y) {
      lower(g, y + h_[at(n - y, m)] + g_[at(y, m)]);
      lower(f, y + e_[at(n - y, m)] + f_[at(y, m)]);
    }
  }

  int units_, a_;
  numbers e_, g_, h_, f_;
};

}  // namespace brute
