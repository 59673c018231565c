// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file weighed_leaf.hpp  What a tool's recording of a leaf takes, for planners.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/active_leaf.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>

namespace cairn::detail {

/// Leaves of which one takes the most of all in a loop: each other one has no more steps, and no more terms of any
/// function, than one of them. The first is as long as any; the terms of the final state come as a leaf of their own.
/// \param steps  of the loop; 0: of the first leaf
template <class Objective>
[[nodiscard]] std::vector<leaf_steps> heaviest_leaves(Objective const& objective, step_index length, step_index steps) {
  if (steps == 0) return {{0, length}};
  std::vector<leaf_steps> all;
  std::vector<std::vector<std::size_t>> held;  // of each: steps, and terms of each function
  auto const add = [&](step_index first) {
    leaf_steps const leaf{first, (std::min)(first + length, steps)};
    std::vector<std::size_t> mine{std::size_t(leaf.last - first)};
    for (step_index i = first > 0 ? first + 1 : 0; i <= leaf.last; ++i) {
      std::size_t k = 0;
      objective.each_count(i, [&](std::size_t count) {
        if (++k == mine.size()) mine.push_back(0);
        mine[k] += count;
      });
    }
    auto const covers = [](auto const& a, auto const& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), std::greater_equal<>{});
    };
    for (auto const& other : held)
      if (covers(other, mine)) return leaf.last;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!covers(mine, held[k])) all[kept] = all[k], held[kept++] = held[k];
    all.resize(kept), held.resize(kept);
    bool const longest = mine[0] == std::size_t((std::min)(length, steps));
    all.insert(longest ? all.begin() : all.end(), leaf);
    held.insert(longest ? held.begin() : held.end(), std::move(mine));
    return leaf.last;
  };
  for (step_index i = add(0); (i = objective.next_after(i)) <= steps;) i = add((i - 1) / length * length);
  if (Objective::has_end) all.push_back({steps, steps, true});
  return all;
}

/// The leaf that was weighed last.
class weighed_leaf {
 public:
  /// Its bytes, if it had so many steps; otherwise `unknown_bytes`.
  [[nodiscard]] wide known(step_index steps) const noexcept { return steps == steps_ ? bytes_ : unknown_bytes; }
  /// Weighs one of so many steps: the heaviest of `leaves`. Each is recorded three times, starting with an empty tape:
  /// the tool's buffers have their final size then.
  /// \param forget  sets the bytes that `most` returns to 0   \param run  run(k) records leaf k and reverses it
  template <class Tool, class Forget, class Run, class Most>
  wide weigh(Tool& tool, step_index steps, std::size_t leaves, Forget const& forget, Run const& run, Most const& most) {
    for (int tried = 0; tried < 3; ++tried) {
      if (tried == 2) forget();
      for (std::size_t k = 0; k < leaves; ++k) {
        run(k);
        if constexpr (requires { tool.fit(); })
          if (tried == 0) tool.fit();
      }
    }
    steps_ = steps;
    return bytes_ = most();
  }

 private:
  step_index steps_ = 0;
  wide bytes_ = 0;
};

}  // namespace cairn::detail
