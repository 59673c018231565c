// SPDX-License-Identifier: Apache-2.0
#pragma once
// Online checkpointing without any code of schedule/ or plan/: optima, the rule word for word, the reversal by dynamic
// programming and by search, and what no rule can do better.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>
#include "support/int128.hpp"

namespace online_search {

using big = int128::whole;
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

/// Fewest advances T(n, s) over splits, by trying all of them.
inline std::vector<std::vector<std::int64_t>> optima_by_splits(int steps, int slots) {
  std::vector<std::vector<std::int64_t>> best(std::size_t(slots) + 1,
                                              std::vector<std::int64_t>(std::size_t(steps) + 1, 0));
  for (int s = 1; s <= slots; ++s)
    for (int n = 2; n <= steps; ++n) {
      auto least = std::int64_t(n) * (n - 1) / 2;
      for (int y = 1; y < n && s > 1; ++y)
        least =
            std::min(least, y + best[std::size_t(s - 1)][std::size_t(n - y)] + best[std::size_t(s)][std::size_t(y)]);
      best[std::size_t(s)][std::size_t(n)] = least;
    }
  return best;
}

/// T(n, s) for n <= steps and s <= slots: one step more costs the least t with C(s + t, s) >= n, by Pascal's triangle.
class optima {
 public:
  optima(std::int64_t steps, std::int64_t slots) : slots_{slots}, table_(std::size_t(slots) + 1) {
    std::vector<std::int64_t> reach{1};  // C(s + t, s) for t = 0, 1, ...
    for (std::int64_t t = 1; t <= steps; ++t) reach.push_back(1);
    for (std::int64_t s = 1; s <= slots; ++s) {
      for (std::size_t t = 1; t < reach.size(); ++t) reach[t] = std::min(reach[t] + reach[t - 1], never);
      auto& row = table_[std::size_t(s)];
      row.assign(std::size_t(steps) + 1, 0);
      std::size_t t = 0;
      for (std::int64_t n = 2; n <= steps; ++n) {
        while (reach[t] < n) ++t;
        row[std::size_t(n)] = row[std::size_t(n - 1)] + std::int64_t(t);
      }
    }
  }
  [[nodiscard]] std::int64_t operator()(std::int64_t n, std::int64_t s) const {
    return table_[std::size_t(std::min(s, slots_))][std::size_t(n)];
  }

 private:
  std::int64_t slots_;
  std::vector<std::vector<std::int64_t>> table_;
};

/// C(n, k), or `cap` where it is larger.
inline big binomial(big n, big k, big cap) {
  big value = 1;
  for (big j = 1; j <= k; ++j) {
    value = value * (n - k + j) / j;
    if (value >= cap) return cap;
  }
  return value;
}
/// T(n, s) = t n - C(s + t, s + 1) with the least t for which C(s + t, s) >= n; of any length.
inline big exact_optimum(big n, big s) {
  if (n <= 1) return 0;
  auto const beta = [&](big t) { return binomial(s + t, std::min(s, t), n); };
  big below = 0;
  big enough = 1;
  while (beta(enough) < n) below = std::exchange(enough, 2 * enough);
  while (enough - below > 1) {
    big const middle = (below + enough) / 2;
    (beta(middle) < n ? below : enough) = middle;
  }
  return enough * n - binomial(s + enough, std::min(s + 1, enough - 1), big{1} << 126);
}

/// D_j of the rule for all j >= 1: what forgetting p[j] costs a loop whose newest state is g steps after the last kept
/// one.
template <class Optimum>
std::vector<big> losses(std::vector<std::int64_t> const& p, std::int64_t g, Optimum const& best) {
  auto const s = std::int64_t(p.size());
  auto const gap = [&](std::int64_t i) { return i + 1 < s ? p[std::size_t(i + 1)] - p[std::size_t(i)] : g; };
  std::vector<big> lost;
  for (std::int64_t j = 1; j < s; ++j) {
    big sum = big(best(gap(j - 1) + gap(j), s - j + 1)) - best(gap(j - 1), s - j + 1) - best(gap(j), s - j);
    for (std::int64_t i = j + 1; i < s; ++i) sum += big(best(gap(i), s - i + 1)) - best(gap(i), s - i);
    lost.push_back(sum);
  }
  return lost;
}
/// Which of p the rule forgets for a state g steps after the last one; 0 for none.
template <class Optimum>
std::size_t victim(std::vector<std::int64_t> const& p, std::int64_t g, bool eager, Optimum const& best) {
  auto const lost = losses(p, g, best);
  auto const least = std::min_element(lost.begin(), lost.end());  // the first of equals
  if (least == lost.end() || (eager ? 2 * *least > g - 1 : *least > g)) return 0;
  return std::size_t(least - lost.begin()) + 1;
}
/// The states kept once state x has been decided on, for x = 0, 1, ..., states - 1.
inline std::vector<std::vector<std::int64_t>> kept_by_the_rule(std::int64_t slots, bool eager, std::int64_t states,
                                                               optima const& best) {
  std::vector<std::vector<std::int64_t>> all;
  std::vector<std::int64_t> p;
  for (std::int64_t x = 0; x < states; ++x) {
    if (std::int64_t(p.size()) < slots) {
      p.push_back(x);
    } else if (std::size_t const v = victim(p, x - p.back(), eager, best); v > 0) {
      p.erase(p.begin() + std::ptrdiff_t(v));
      p.push_back(x);
    }
    all.push_back(p);
  }
  return all;
}

/// Fewest advances that reverse steps [0, e) for every e after the last kept state, up to `most`, from the states p in
/// slots; dropping or moving them is allowed. F(j, i, e), p_j being the i-th that is used: min over p_j <= y < e of (y
/// - p_j) + T(e - y, s - i + 1) + min over q < j of F(q, i - 1, y).
inline std::vector<std::int64_t> ways_back(std::vector<std::int64_t> const& p, std::int64_t slots, std::int64_t most,
                                           optima const& best) {
  std::size_t const k = p.size();
  auto const width = std::size_t(most) + 1;
  using row = std::vector<std::int64_t>;
  std::vector<row> before;  // min over q < j of F(q, i - 1, y), for each j
  row least(width, never);
  for (std::size_t i = 1; i <= k; ++i) {
    auto const own = slots - std::int64_t(i) + 1;
    std::vector<row> now(k + 1, row(width, never));
    for (std::size_t j = i - 1; j < k; ++j) {
      row found(width, never);
      for (std::int64_t e = p[j] + 1; e <= most; ++e) {
        if (i == 1) {
          if (j == 0) found[std::size_t(e)] = best(e, slots);
          continue;
        }
        for (std::int64_t y = p[j]; y < e; ++y)
          if (auto const earlier = before[j][std::size_t(y)]; earlier < never)
            found[std::size_t(e)] = std::min(found[std::size_t(e)], y - p[j] + best(e - y, own) + earlier);
      }
      for (std::size_t e = 0; e < width; ++e) {
        now[j + 1][e] = std::min(now[j][e], found[e]);
        least[e] = std::min(least[e], found[e]);
      }
    }
    before = std::move(now);
  }
  if (most >= 0) least[0] = 0;
  return least;
}

/// The same for one e <= 10, by search over everything that a machine can do: load, run live one step, save it, forget
/// a state, reverse.
inline std::int64_t searched_way_back(std::vector<std::int64_t> const& p, int slots, int e) {
  using place = std::tuple<int, int, int>;  // open steps, live state or -1, kept states as a set of bits
  int kept = 0;
  for (auto const state : p) kept |= 1 << state;
  std::map<place, std::int64_t> seen;
  std::priority_queue<std::pair<std::int64_t, place>, std::vector<std::pair<std::int64_t, place>>, std::greater<>>
      queue;
  auto const reach = [&](std::int64_t cost, place const& to) {
    auto const [found, fresh] = seen.try_emplace(to, cost);
    if (!fresh && found->second <= cost) return;
    found->second = cost;
    queue.emplace(cost, to);
  };
  reach(0, {e, -1, kept});
  while (!queue.empty()) {
    auto const [cost, at] = queue.top();
    queue.pop();
    if (seen[at] < cost) continue;
    auto const [open, live, held] = at;
    if (open == 0) return cost;
    if (live >= 0 && live == open - 1) reach(cost, {open - 1, -1, held});
    if (live >= 0 && live < open - 1) reach(cost + 1, {open, live + 1, held});
    if (live >= 0 && (held >> live & 1) == 0 && __builtin_popcount(unsigned(held)) < slots)
      reach(cost, {open, live, held | 1 << live});
    for (int state = 0; state <= e; ++state)
      if ((held >> state & 1) != 0) {
        reach(cost, {open, state, held});
        reach(cost, {open, live, held & ~(1 << state)});
      }
  }
  return never;
}

inline std::vector<std::int64_t> and_state_0(std::int64_t p) {
  return p > 0 ? std::vector<std::int64_t>{0, p} : std::vector<std::int64_t>{0};
}

/// The least worst ratio of advances to the optimum that any lagged rule with two slots can have over loops of 2 ..
/// steps steps. Goes forward over what a rule may hold: state 0 and one other, or none (0 here).
inline double least_worst_ratio_of_two(std::int64_t steps) {
  optima const best{steps, 3};
  double const far = 1e9;
  std::vector<double> worst(std::size_t(steps) + 1,
                            far);  // by the state held: the worst ratio so far, on the best way to hold it
  worst[0] = 1;
  std::vector<std::vector<std::int64_t>> back;
  for (std::int64_t p = 0; p < steps; ++p) back.push_back(ways_back(and_state_0(p), 2, steps, best));
  for (std::int64_t n = 2; n <= steps; ++n) {
    for (std::size_t p = 0; p + 2 <= std::size_t(n); ++p)
      worst[p] = std::max(worst[p], double(n - 1 + back[p][std::size_t(n - 1)]) / double(best(n, 2)));
    // state n - 1 may be held from here on, as the loop goes beyond state n
    worst[std::size_t(n - 1)] = *std::min_element(worst.begin(), worst.begin() + std::ptrdiff_t(n - 1));
  }
  return *std::min_element(worst.begin(), worst.begin() + std::ptrdiff_t(steps - 1));
}

/// The same with three slots: state 0 and up to two others, p < q (0 for none).
inline double least_worst_ratio_of_three(std::int64_t steps) {
  optima const best{steps, 4};
  auto const width = std::size_t(steps) + 1;
  // two[p][y]: steps [0, y) from 0 and p, or from 0 alone
  std::vector<std::vector<std::int64_t>> two;
  for (std::int64_t p = 0; p < steps; ++p) two.push_back(ways_back(and_state_0(p), 3, steps, best));
  auto const back = [&](std::size_t p, std::size_t q, std::size_t e) {
    if (p == 0) return two[q][e];
    auto least = std::min(two[p][e], two[q][e]);  // one of the two forgotten
    for (std::size_t y = q; y < e; ++y)
      least = std::min(least, std::int64_t(y - q) + best(std::int64_t(e - y), 1) + two[p][y]);
    return least;
  };
  double const far = 1e9;
  std::vector<std::vector<double>> worst(
      width, std::vector<double>(width, far));  // [p][q], p <= q; p = 0 for one state, q = 0 for none
  worst[0][0] = 1;
  for (std::size_t n = 2; n <= std::size_t(steps); ++n) {
    double const optimum = double(best(std::int64_t(n), 3));
    for (std::size_t q = 0; q + 2 <= n; ++q)
      for (std::size_t p = 0; p < std::max<std::size_t>(q, 1); ++p)
        if (worst[p][q] < far)
          worst[p][q] = std::max(worst[p][q], double(std::int64_t(n) - 1 + back(p, q, n - 1)) / optimum);
    std::size_t const x = n - 1;
    for (std::size_t q = 0; q < x; ++q)
      for (std::size_t p = 0; p < std::max<std::size_t>(q, 1); ++p)
        for (std::size_t const left : {p, q}) worst[left][x] = std::min(worst[left][x], worst[p][q]);
    worst[0][x] = std::min(worst[0][x], worst[0][0]);
  }
  double least = far;
  for (std::size_t q = 0; q + 2 <= std::size_t(steps); ++q)
    for (std::size_t p = 0; p < std::max<std::size_t>(q, 1); ++p) least = std::min(least, worst[p][q]);
  return least;
}

}  // namespace online_search
