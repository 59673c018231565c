// SPDX-License-Identifier: Apache-2.0
#pragma once
// A `parallel` for tests: it always starts its helper, and recalls it when the test says so.
#include <cairn/adapt/threads.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>

namespace ahead {

using cairn::step_index;

/// What the rules of `eager` answer.
inline bool recalls = false, pays = true;
inline int cores = 2, looks = 0;
inline double transfers = 0;  // the sum of what the looks have seen
struct rules : cairn::detail::helper_rules {
  static constexpr std::int64_t spin_ns = 3'000, window_ns = 0, look_after = 1;
  static int cores() { return ahead::cores; }
  static bool pays(double, step_index) { return ahead::pays; }
  static bool recalls(cairn::detail::walk_measures const& m) { return ++looks, transfers += m.moved, ahead::recalls; }
};
struct eager {
  int threads = 2;
  cairn::slot_index ahead = 0;
  double adjoint_over_step = 1;
  using walks_ahead = rules;
  template <class State, class Given>
  auto given(Given&& others) const {
    return cairn::detail::with_helper<State>(*this, std::move(others));
  }
};

/// Each drop that precedes a reverse comes after it, and the state is read once more before: a slot then shares a frame
/// that the caller reads, or changes if its adjoint records.
template <class Plan>
struct late_drop {
  Plan plan;
  step_index steps() const { return plan.steps(); }
  cairn::slot_index slots() const { return plan.slots(); }
  step_index leaf() const { return plan.leaf(); }
  struct cursor {
    explicit cursor(cairn::cursor_of<Plan> from) : inner{std::move(from)} {}
    cairn::cursor_of<Plan> inner;
    cairn::action later[3], live;  // what follows; the load that makes live what it is
    int count = 0;
    cairn::action next() {
      if (count > 0) return later[--count];
      auto const a = seen();
      if (a.kind != cairn::action_kind::drop) return a;
      auto const before = live;
      auto const b = seen();
      if (b.kind != cairn::action_kind::reverse) return later[count++] = b, a;
      later[count++] = a;
      if (before.slot == a.slot && before.from == b.from) {
        later[count++] = {.kind = cairn::action_kind::advance, .from = b.from, .to = b.from + 1};
        later[count++] = before;
      }
      return b;
    }

    cairn::action seen() {
      auto const a = inner.next();
      if (a.kind == cairn::action_kind::load) live = a;
      else if (a.kind == cairn::action_kind::save) live = a, live.kind = cairn::action_kind::load;
      else if (a.kind == cairn::action_kind::advance) live = {};
      return a;
    }
  };
  cursor walk() const { return cursor{plan.walk()}; }
};
template <class Plan> late_drop(Plan) -> late_drop<Plan>;

template <class Values>
bool same(Values const& a, Values const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

/// A loop on five numbers that depend on each other and on the step.
using field = std::vector<double>;
inline field begin() { return {.3, .4, .5, .6, .7}; }
inline double moved(double x, double y, step_index i) { return x + 0.01 * (x * y - 0.3 * double(i % 5) * x); }
inline void move(field const& x, field& x1, step_index i) {
  for (std::size_t k = 0; k < 5; ++k) x1[k] = moved(x[k], x[(k + 1) % 5], i);
}
inline field pulled(field const& x, field const& bar, step_index i) {
  field out(bar);
  for (std::size_t k = 0; k < 5; ++k)
    out[k] = bar[k] * (1 + 0.01 * (x[(k + 1) % 5] - 0.3 * double(i % 5))) + 0.01 * bar[(k + 4) % 5] * x[(k + 4) % 5];
  return out;
}
/// The gradient by a loop that stores everything.
inline field gradient_by_hand(step_index n) {
  std::vector<field> all{begin()};
  for (step_index i = 0; i < n; ++i) {
    all.emplace_back(5);
    move(all[std::size_t(i)], all.back(), i);
  }
  field bar = all.back();
  for (step_index i = n; i-- > 0;) bar = pulled(all[std::size_t(i)], bar, i);
  return bar;
}

}  // namespace ahead
