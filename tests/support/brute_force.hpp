// SPDX-License-Identifier: Apache-2.0
#pragma once
// Optima found without any code of cairn: by dynamic programming and by search over all that a machine could do.
#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace brute {

/// Unrecorded runs, then saves: compared in this order.
struct effort {
  std::int64_t advances = 0;
  std::int64_t saves = 0;
  friend bool operator<(effort a, effort b) {
    return a.advances != b.advances ? a.advances < b.advances : a.saves < b.saves;
  }
  friend bool operator==(effort a, effort b) { return a.advances == b.advances && a.saves == b.saves; }
  friend effort operator+(effort a, effort b) { return {a.advances + b.advances, a.saves + b.saves}; }
};

/// best[n][s]: the least effort to reverse n steps whose first state is kept and takes one of s slots; its own save is
/// not counted.
inline std::vector<std::vector<effort>> nested_optima(int steps, int slots) {
  std::vector<std::vector<effort>> best(std::size_t(steps) + 1, std::vector<effort>(std::size_t(slots) + 1));
  for (int n = 2; n <= steps; ++n)
    for (int s = 1; s <= slots; ++s) {
      effort least{std::int64_t(n) * (n - 1) / 2, 0};  // run everything again for every step
      for (int y = 1; y < n && s > 1; ++y) {
        effort const right = best[std::size_t(n - y)][std::size_t(s - 1)] + effort{y, n - y > 1 ? 1 : 0};
        least = std::min(least, right + best[std::size_t(y)][std::size_t(s)]);
      }
      best[std::size_t(n)][std::size_t(s)] = least;
    }
  return best;
}

/// The least effort over everything that a machine with `slots` slots can do: run live one step, save, load, forget,
/// reverse. n <= 12. \param initial_is_free  state 0 can be loaded without a slot
inline effort searched_optimum(int steps, int slots, bool initial_is_free = false) {
  struct place {
    int live, open;
    std::uint32_t kept;
    bool operator<(place const& o) const {
      return live != o.live ? live < o.live : open != o.open ? open < o.open : kept < o.kept;
    }
  };
  using entry = std::pair<effort, place>;
  auto const later = [](entry const& a, entry const& b) { return b.first < a.first; };
  std::priority_queue<entry, std::vector<entry>, decltype(later)> next{later};
  std::set<place> seen;
  next.push({{}, {0, steps, 0}});
  for (;;) {
    auto const [spent, at] = next.top();
    next.pop();
    if (at.open == 0) return spent;
    if (!seen.insert(at).second) continue;
    int kept = 0;
    for (int i = 0; i < steps; ++i) kept += int(at.kept >> i & 1u);
    for (int i = 0; i < at.open; ++i) {
      if (at.kept >> i & 1u) {
        next.push({spent, {i, at.open, at.kept}});
        next.push({spent, {at.live, at.open, at.kept & ~(1u << i)}});
      }
    }
    if (initial_is_free) next.push({spent, {0, at.open, at.kept}});
    if (at.live < 0) continue;
    if (at.live == at.open - 1) next.push({spent, {-1, at.open - 1, at.kept}});
    if (at.live < at.open - 1) next.push({spent + effort{1, 0}, {at.live + 1, at.open, at.kept}});
    if (kept < slots && !(at.kept >> at.live & 1u))
      next.push({spent + effort{0, 1}, {at.live, at.open, at.kept | 1u << at.live}});
  }
}

/// What it takes to reverse blocks of these lengths, each run again into kept states, found by doing it.
struct block_walk {
  std::int64_t advances = 0;
  std::int64_t peak = 0;
};
inline block_walk walked_blocks(std::vector<int> const& lengths) {
  block_walk sum;
  std::set<int> kept;
  auto const keep = [&](int state) {
    kept.insert(state);
    sum.peak = std::max(sum.peak, std::int64_t(kept.size()));
  };
  int const steps = [&] { int n = 0; for (int const length : lengths) n += length; return n; }();
  std::vector<int> starts;
  for (int start = 0; int const length : lengths) { starts.push_back(start); start += length; }
  sum.advances = steps - 1;
  for (std::size_t j = 0; j + 1 < lengths.size(); ++j) keep(starts[j]);
  for (std::size_t j = lengths.size(); j-- > 0;) {
    int const end = starts[j] + lengths[j];
    for (int i = starts[j]; i < end - 1; ++i) keep(i);                    // state end - 1 is live when it is needed
    if (j + 1 < lengths.size()) sum.advances += lengths[j] - 1;
    for (int i = starts[j]; i < end; ++i) kept.erase(i);
  }
  return sum;
}

/// Every way to cut n steps into blocks of one step or more.
inline std::vector<std::vector<int>> compositions(int steps) {
  std::vector<std::vector<int>> all;
  for (std::uint32_t cuts = 0; cuts < 1u << (steps - 1); ++cuts) {
    std::vector<int> lengths{1};
    for (int i = 1; i < steps; ++i) {
      if (cuts >> (i - 1) & 1u) lengths.push_back(1);
      else ++lengths.back();
    }
    all.push_back(lengths);
  }
  return all;
}

/// Runs without any checkpoint of its own: each open step is run to from the nearest state that is there.
inline std::int64_t plain_advances(int open, std::vector<int> const& kept) {
  std::int64_t sum = 0;
  for (int i = 0; i < open; ++i) {
    int nearest = 0;
    for (int const state : kept) if (state <= i) nearest = std::max(nearest, state);
    sum += i - nearest;
  }
  return sum;
}

}  // namespace brute
