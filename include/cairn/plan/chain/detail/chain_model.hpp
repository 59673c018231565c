// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_model.hpp  A checked chain with the sums that planners read repeatedly, and what planners of chains
/// write: tables, runs, the plan that runs some segments again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>
#include <cairn/core/wide.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Resizes `table` to `count` equal entries, piece by piece. Memory takes time when it is first used, about half a sum
/// per byte, which is seconds for gigabytes.   \param meter  counts that work; null for no limit
/// \throws too_much_work
template <class T>
void lay_out(value_list<T>& table, std::size_t count, work_meter* meter, T const& value = {}) {
  constexpr std::size_t piece = (std::size_t{1} << 20) / sizeof(T);
  table.clear();
  table.reserve(count);
  while (table.size() < count) {
    std::size_t const more = (std::min)(piece, count - table.size());
    table.resize(table.size() + more, value);
    count_work(meter, wide(more) * sizeof(T) / 2);
  }
}

/// Larger than any sum of a chain; four times this value does not overflow.
inline constexpr std::int64_t endless = (std::numeric_limits<std::int64_t>::max)() / 4;

/// A chain with its defaults filled in. Stage L is the loss, with u = s = f = 0. State L+1 and its adjoint have no
/// bytes.
struct chain_model {
  std::int64_t stages;  ///< L
  value_list<std::int64_t> x, g, s, f, b, u, v;  ///< x and g of 0..L+1, the others of 0..L
  value_list<std::int64_t> sum_u;  ///< sum_u[i]: times of all stages before i, 0..L+1
  bool self_contained_tape;

  /// \throws invalid_plan, overflow_error   as `check_chain` does
  chain_model(chain const& from, char const* who)
      : stages{(check_chain(from, who), from.stages())}, self_contained_tape{from.self_contained_tape} {
    auto const filled = [](std::vector<std::int64_t> const& given, std::size_t size) {
      value_list<std::int64_t> list{given.data(), given.size()};
      list.resize(size, 0);
      return list;
    };
    std::size_t const count = std::size_t(stages) + 1;
    x = filled(from.x, count + 1);
    g = filled(from.g.empty() ? from.x : from.g, count + 1);
    s = filled(from.s, count);
    f = filled(from.f, count);
    b = filled(from.b, count);
    u = filled(from.u, count);
    v = filled(from.v, count);
    sum_u.assign(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i) sum_u[i + 1] = sum_u[i] + u[i];
  }
  /// Time of stages [from, to), each run once.
  [[nodiscard]] std::int64_t run(std::int64_t from, std::int64_t to) const noexcept {
    return sum_u[std::size_t(to)] - sum_u[std::size_t(from)];
  }
  /// Time of a sweep that stores everything: each stage and each adjoint once.
  [[nodiscard]] std::int64_t store_all_time() const noexcept {
    std::int64_t sum = sum_u.back();
    for (auto const one : v) sum += one;
    return sum;
  }
  /// Peak bytes of a sweep that keeps every tape; larger budgets give no faster plan.
  [[nodiscard]] std::int64_t store_all_peak() const noexcept {
    std::int64_t peak = b[std::size_t(stages)];
    for (std::size_t i = std::size_t(stages); i-- > 0;)
      peak = (std::max)({s[i] + f[i], g[i + 1] + s[i] + b[i], s[i] + peak});
    return peak;
  }
};

/// Appends the runs from state `from`, which stays, to state `to`; the states between are dropped.
inline void append_run(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = from; i < to; ++i) {
    plan.push_back(chain_actions::advance(i));
    if (i > from) plan.push_back(chain_actions::drop(i));
  }
}

/// Appends the recorded runs of stages [from, to).
inline void append_records(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = from; i < to; ++i) plan.push_back(chain_actions::record(i));
}

/// Appends the adjoints of stages [from, to), whose tapes exist.
inline void append_adjoints(std::vector<action>& plan, std::int64_t from, std::int64_t to) {
  for (std::int64_t i = to; i-- > from;) plan.push_back(chain_actions::reverse(i));
}

/// Stages [first, last) of which the forward run keeps only the first state.
struct chain_segment {
  std::int64_t first, last;
};

/// The plan that keeps all tapes except those of some segments, each of which is run again once.
/// \param again  the segments: none empty, in order, without overlap, within 0..L
[[nodiscard, gnu::cold]] inline std::vector<action> segments_plan(chain_model const& c,
                                                                  value_list<chain_segment> const& again) {
  std::vector<action> plan;
  std::int64_t at = 0;
  for (auto const& [first, last] : again) {
    append_records(plan, at, first);
    append_run(plan, first, last);
    at = last;
  }
  append_records(plan, at, c.stages);
  plan.push_back(chain_actions::turn(c.stages));
  at = c.stages;
  for (std::size_t k = again.size(); k-- > 0;) {
    auto const [first, last] = again[k];
    append_adjoints(plan, last, at);
    // State `last` has been kept by itself since the forward run. The loss drops state L itself.
    if (last < c.stages) plan.push_back(chain_actions::drop(last));
    append_records(plan, first, last);
    at = last;
    append_adjoints(plan, first, at);
    at = first;
  }
  append_adjoints(plan, 0, at);
  return plan;
}

/// A number for each stage 0..L, the same for equal stages: equal in tape, working bytes, time, in the state and
/// adjoint that they make, and in whether they are the loss. The cost of a persistent plan of stages from..to depends
/// on nothing else.
/// \param times  of stages 0..L, as the table counts them   \param with_inputs  stages also differ if the states they
///   read do, and state 0 differs from all others; for tables whose states may be released
/// Cost: O(L log L).
[[nodiscard]] inline value_list<std::int32_t> stage_types(chain_model const& c, std::span<std::int32_t const> times,
                                                           bool with_inputs) {
  std::size_t const count = std::size_t(c.stages) + 1;
  auto const features = [&](std::size_t i) {
    return std::array<std::int64_t, 8>{c.s[i],     c.f[i],     c.b[i],         times[i],
                                       c.x[i + 1], c.g[i + 1], i + 1 == count, !with_inputs ? 0 : i == 0 ? -1 : c.x[i]};
  };
  value_list<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  sort_values(order, [&](std::size_t a, std::size_t b) { return features(a) < features(b); });
  value_list<std::int32_t> types(count, 0);
  for (std::size_t k = 1; k < count; ++k)
    types[order[k]] = types[order[k - 1]] + (features(order[k]) != features(order[k - 1]));
  return types;
}

/// Which intervals of stages are equal. Classes are numbered by length, and for one length by their first interval, so
/// the parts of a class always have lower numbers than the class.
/// Cost: O(n^2) time; 4 bytes per interval if some are equal, else O(n).
class interval_classes {
 public:
  /// Makes each of the n (n + 1) / 2 intervals a class of its own.
  explicit interval_classes(std::size_t stages) : stages_{stages}, first_of_length_(stages + 1) {
    for (std::size_t d = 0; d <= stages; ++d) first_of_length_[d] = start(d);
  }
  /// \param types  one per stage   \param meter  counts the work; null for no limit   \throws too_much_work
  explicit interval_classes(std::span<std::int32_t const> types, work_meter* meter = nullptr)
      : interval_classes{types.size()} {
    // For each start: the longest run that also occurs earlier, and where.
    value_list<std::size_t> alike(stages_ + 1, 0), longest(stages_, 0), at(stages_, 0);
    for (std::size_t s = stages_; s-- > 0;) {
      for (std::size_t before = 0; before < s; ++before) {
        // alike[before + 1] still belongs to s + 1 and before + 1.
        alike[before] = types[before] == types[s] ? 1 + (s + 1 < stages_ ? alike[before + 1] : 0) : 0;
        if (alike[before] > longest[s]) longest[s] = alike[before], at[s] = before;
      }
      count_work(meter, 2 * wide(s + 1));
    }
    if (*std::max_element(longest.begin(), longest.end()) == 0) return;
    lay_out(numbers_, start(stages_), meter);
    for (std::size_t d = 0; d < stages_; ++d) {
      first_of_length_[d] = starts_.size();
      for (std::size_t s = 0; s + d < stages_; ++s)
        if (d < longest[s]) numbers_[start(d) + s] = numbers_[start(d) + at[s]];
        else numbers_[start(d) + s] = std::int32_t(starts_.size()), starts_.push_back(std::int32_t(s));
      count_work(meter, 4 * wide(stages_ - d));
    }
    first_of_length_[stages_] = starts_.size();
  }

  /// The class of stages from..to, both included.   \pre from <= to < stages
  [[nodiscard]] std::size_t of(std::size_t from, std::size_t to) const noexcept {
    std::size_t const number = start(to - from) + from;
    return numbers_.empty() ? number : std::size_t(numbers_[number]);
  }
  /// Number of classes.
  [[nodiscard]] std::size_t count() const noexcept { return first_of_length_[stages_]; }
  /// Whether some intervals share a class.
  [[nodiscard]] bool shared() const noexcept { return !numbers_.empty(); }
  /// Number of stages.
  [[nodiscard]] std::size_t stages() const noexcept { return stages_; }
  /// The first class of intervals of `more` + 1 stages; those before first(more + 1) have the same length.
  /// \pre more <= stages
  [[nodiscard]] std::size_t first(std::size_t more) const noexcept { return first_of_length_[more]; }
  /// Where a class of intervals of `more` + 1 stages first occurs.
  [[nodiscard]] std::size_t from(std::size_t number, std::size_t more) const noexcept {
    return starts_.empty() ? number - start(more) : std::size_t(starts_[number]);
  }

 private:
  /// Number of intervals of at most `length` stages.
  [[nodiscard]] std::size_t start(std::size_t length) const noexcept {
    return length * stages_ - length * (length - 1) / 2;
  }

  std::size_t stages_;
  value_list<std::size_t> first_of_length_;
  value_list<std::int32_t> numbers_, starts_;
};

}  // namespace cairn::detail
