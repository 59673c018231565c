// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_classes.hpp  Finds runs of equal stages, for which tables need only one row.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/laid_out.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

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
