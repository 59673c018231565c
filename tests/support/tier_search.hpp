// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least cost of reversing a loop with slots on several tiers, found by search over all that a machine could do. No
// code of cairn.
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tiers {

/// Slots and costs of a tier.
struct store {
  int slots = 0;
  std::int64_t write = 0, read = 0;
};

/// Dijkstra's search over (live state, open steps, states kept on each tier). A machine may advance live by one step,
/// keep it on any tier, in an empty slot or in the place of any other state, load any kept state, and reverse the last
/// open step. Turns are not counted. \pre steps <= 12, at most 4 tiers
inline std::int64_t least_cost(int steps, std::vector<store> const& on, std::int64_t advance) {
  using place = std::uint64_t;  // live in bits 0-3 (15: none), open in bits 4-7, then 12 bits for each tier
  using entry = std::pair<std::int64_t, place>;
  auto const pack = [&](unsigned live, unsigned open, std::vector<unsigned> const& kept) {
    place key = live | open << 4;
    for (std::size_t k = 0; k < kept.size(); ++k)
      key |= place(kept[k] & ((1u << open) - 1)) << (8 + 12 * k);  // the rest is of no use any more
    return key;
  };
  std::priority_queue<entry, std::vector<entry>, std::greater<>> next;
  std::unordered_map<place, std::int64_t> best;
  auto const reach = [&](std::int64_t cost, place key) {
    auto const [found, fresh] = best.try_emplace(key, cost);
    if (!fresh && found->second <= cost) return;
    found->second = cost;
    next.push({cost, key});
  };
  reach(0, pack(0, unsigned(steps), std::vector<unsigned>(on.size())));
  for (;;) {
    std::int64_t const cost = next.top().first;
    place const key = next.top().second;
    next.pop();
    if (best.at(key) < cost) continue;
    unsigned const live = key & 15u, open = key >> 4 & 15u;
    if (open == 0) return cost;
    std::vector<unsigned> kept(on.size());
    for (std::size_t k = 0; k < on.size(); ++k) kept[k] = unsigned(key >> (8 + 12 * k)) & 0xfffu;
    for (std::size_t k = 0; k < on.size(); ++k)
      for (unsigned i = 0; i < open; ++i)
        if (kept[k] >> i & 1u) reach(cost + on[k].read, pack(i, open, kept));
    if (live == 15) continue;
    if (live + 1 == open) reach(cost, pack(15, open - 1, kept));
    if (live + 1 < open) reach(cost + advance, pack(live + 1, open, kept));
    for (std::size_t k = 0; k < on.size(); ++k) {
      if (kept[k] >> live & 1u) continue;
      auto const saved = [&](unsigned there) {
        auto after = kept;
        after[k] = there | 1u << live;
        reach(cost + on[k].write, pack(live, open, after));
      };
      int used = 0;
      for (unsigned i = 0; i < open; ++i) used += int(kept[k] >> i & 1u);
      if (used < on[k].slots) saved(kept[k]);
      else
        for (unsigned i = 0; i < open; ++i)
          if (kept[k] >> i & 1u) saved(kept[k] & ~(1u << i));
    }
  }
}

/// The least of that recurrence which keeps the states of one tier in front of those of the next, by comparing all
/// sums: no row is skipped. O(k, x, m), P(k, x, m) as Herrmann & Pallez (2020) have them.
inline double nested_cost(int steps, std::vector<int> const& slots, std::vector<double> const& write,
                          std::vector<double> const& read, double advance) {
  auto const lengths = std::size_t(steps) + 1;
  std::vector<double> low(lengths, 1e300);
  low[0] = 0;
  if (steps > 0) low[1] = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    std::vector<double> before = low;
    for (int m = 1; m <= slots[k]; ++m) {
      std::vector<double> own(lengths, 0.0), now(lengths, 0.0);
      for (std::size_t x = 2; x < lengths; ++x) {
        own[x] = low[x];
        for (std::size_t y = 1; y < x; ++y) {
          double const sum = (double(y) * advance + read[k] + own[y]) + before[x - y];
          if (sum < own[x]) own[x] = sum;
        }
        now[x] = write[k] + own[x] < low[x] ? write[k] + own[x] : low[x];
      }
      before = now;
    }
    low = before;
  }
  return low[std::size_t(steps)];
}

}  // namespace tiers
