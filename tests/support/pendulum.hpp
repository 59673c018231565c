// SPDX-License-Identifier: Apache-2.0
// A driven pendulum of two numbers whose state counts its living copies, in every form that a step or an adjoint may
// take.
#pragma once
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>
#include <cairn/core/numbers.hpp>
#include <cairn/door/forms.hpp>

namespace pendulum {

using cairn::step_index;
using numbers = std::vector<double>;

/// Owns its numbers on the heap; `alive` and `peak` count objects.
struct state {
  static inline std::atomic<int> alive = 0, peak = 0;  // stores may copy on a thread of their own
  numbers v;
  state(numbers x) : v(std::move(x)) { up(); }
  state(state const& other) : v(other.v) { up(); }
  state(state&& other) noexcept : v(std::move(other.v)) { up(); }
  state& operator=(state const&) = default;
  state& operator=(state&&) = default;
  ~state() { --alive; }
  [[nodiscard]] std::size_t bytes() const { return sizeof *this + v.size() * sizeof(double); }
  template <class F>
  void visit_buffers(F& f) const { cairn::visit_buffers(v, f); }
  template <class F>
  void visit_buffers(F& f) { cairn::visit_buffers(v, f); }
  template <class F>
  void visit_numbers(F& f) const { cairn::visit_numbers(v, f); }
  template <class F>
  void visit_numbers(F& f) { cairn::visit_numbers(v, f); }

 private:
  static void up() {
    if (int const now = ++alive; now > peak) peak = now;
  }
};

inline void swing(numbers const& x, numbers& x1, step_index i) {
  double const force = std::sin(0.1 * double(i)), angle = x[0], speed = x[1];
  x1[0] = angle + 0.01 * (speed + force);
  x1[1] = speed + 0.01 * std::sin(angle);
}
inline void swing_back(numbers const& x, numbers& bar) {
  double const angle = bar[0] + 0.01 * std::cos(x[0]) * bar[1], speed = bar[1] + 0.01 * bar[0];
  bar[0] = angle;
  bar[1] = speed;
}

/// Calls of a step, `record` included.
inline long step_calls = 0;

struct in_place {
  void operator()(state& x, step_index i) const { ++step_calls, swing(x.v, x.v, i); }
};
struct by_value {
  state operator()(state const& x, step_index i) const {
    ++step_calls;
    state x1{numbers(2)};
    swing(x.v, x1.v, i);
    return x1;
  }
};
struct out_of_place {
  void operator()(state const& x, state& x1, step_index i) const { ++step_calls, swing(x.v, x1.v, i); }
};

struct one_step {
  void operator()(state const& x, numbers& bar, step_index) const { swing_back(x.v, bar); }
};
struct one_step_by_value {
  numbers operator()(state const& x, numbers const& bar, step_index) const {
    numbers out = bar;
    swing_back(x.v, out);
    return out;
  }
};
/// Refuses, by giving no number at all, an x1 that is not the next state.
struct with_next {
  void operator()(state const& x, state const& x1, numbers& bar, step_index i) const {
    numbers expected(2);
    swing(x.v, expected, i);
    if (expected != x1.v) bar[0] = std::nan("");
    swing_back(x.v, bar);
  }
};
struct leaf {
  void operator()(state const& x, numbers& bar, step_index first, step_index last) const {
    std::vector<numbers> all{x.v};
    for (auto i = first; i + 1 < last; ++i) {
      all.push_back(all.back());
      swing(all.back(), all.back(), i);
    }
    for (auto i = last; i-- > first;) swing_back(all[std::size_t(i - first)], bar);
  }
};
struct record {
  numbers operator()(state& x, step_index i) const {
    ++step_calls;
    numbers tape = x.v;
    swing(x.v, x.v, i);
    return tape;
  }
};
struct replay {
  void operator()(numbers const& tape, numbers& bar) const { swing_back(tape, bar); }
};
inline auto recorded() { return cairn::recorded{record{}, replay{}}; }

inline auto const seed = [](state const& x) { return x.v; };
inline state start() { return state{{1.0, 0.5}}; }

/// States 0..n and the gradient by storing everything.
struct stored {
  std::vector<numbers> states;
  numbers gradient;
  explicit stored(step_index n) : states{start().v} {
    for (step_index i = 0; i < n; ++i) {
      states.push_back(states.back());
      swing(states.back(), states.back(), i);
    }
    gradient = states.back();
    for (auto i = n; i-- > 0;) swing_back(states[std::size_t(i)], gradient);
  }
};

}  // namespace pendulum
