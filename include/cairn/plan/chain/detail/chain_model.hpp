// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_model.hpp  A checked chain with the sums that planners read repeatedly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
