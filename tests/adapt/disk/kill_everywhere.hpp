// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kill_everywhere.hpp  Loops on disk whose process is killed at any call and at any operation on a file.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include "adapt/disk/killed_program.hpp"
#include "support/catch.hpp"
#include "support/killed.hpp"
#include "support/killed_writes.hpp"
#include "support/temporary.hpp"

using cairn::step_index;
using cairn::wrt;

namespace {

using numbers = std::vector<double>;

/// Numbers and a text that grows.
struct noted {
  numbers v{0.3, -0.2, 0.7, 0.1, 0.5};
  std::string text;
};
/// An object that cannot be copied.
struct solver {
  numbers v{0.3, -0.2, 0.7, 0.1, 0.5};
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] numbers save() const { return v; }
  void restore(numbers const& s) { v = s; }
  void write_state(auto& sink) const { cairn::write_state(v, sink); }
  void read_state(auto& source) { cairn::read_state(v, source); }
};
template <class State> auto& values(State& x) {
  if constexpr (requires { x.v; }) return x.v;
  else return x;
}
template <class State> State start() {
  if constexpr (std::is_same_v<State, numbers>) return noted{}.v;
  else return State{};
}

template <class State>
struct step {
  static constexpr bool concurrent = true;
  void operator()(State& x, numbers const& p, step_index i) const {
    killed::tick();
    for (double& v : values(x)) v = std::sin(p[0] * v + p[1]) + 0.001 * double(i % 7);
    if constexpr (requires { x.text; }) x.text += char('a' + i % 26);
  }
};
template <class State>
struct adjoint {
  void operator()(State const& x, numbers& bar, numbers const& p, numbers& dp, step_index) const {
    killed::tick();
    auto const& v = values(x);
    for (std::size_t k = 0; k < v.size(); ++k) {
      double const c = bar[k] * std::cos(p[0] * v[k] + p[1]);
      dp[0] += c * v[k];
      dp[1] += c;
      bar[k] = c * p[0];
    }
  }
};
[[maybe_unused]] double misfit(numbers const& x, numbers const& p, step_index i) { return x[0] * x[1] * p[0] + 0.1 * double(i); }
[[maybe_unused]] void misfit_back(numbers const& x, numbers& bar, numbers const& p, numbers& dp, step_index) {
  bar[0] += x[1] * p[0];
  bar[1] += x[0] * p[0];
  dp[0] += x[0] * x[1];
}

numbers const p{1.1, 0.2};
cairn::behind_options behind{0, 0};  // of the processes that are killed

struct answer {
  numbers bar, dp;
  double value = 0;
  bool operator==(answer const&) const = default;
};
template <class State>
struct by_gradient {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    auto x = start<State>();
    found.bar = cairn::gradient(step<State>{}, x, plan, numbers(5, 1.0), adjoint<State>{}, wrt{p, found.dp}, last...);
    return found;
  }
};
template <>
struct by_gradient<solver> {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    solver x;
    found.bar = cairn::gradient(step<solver>{}, x, plan, numbers(5, 1.0), adjoint<solver>{}, wrt{p, found.dp}, last...);
    return found;
  }
};
template <class Verb, class Plan>
struct program {
  Plan plan;
  std::int64_t commit_every;
  answer right;
  long calls = 0;
  support::temporary folder{};

  program(Plan of, std::int64_t every) : plan{std::move(of)}, commit_every{every} {
    killed::calls = 0;
    if constexpr (cairn::open_schedule<Plan>) right = Verb::of(plan);
    else right = Verb::of(cairn::in_memory{plan});
    calls = killed::calls;
  }
  /// One process; it is right unless it is killed.
  int process(long call, long operation = -1, bool half = false) const {
    return killed::run(
        [&] { return Verb::of(plan, cairn::disk{folder.run(), {.commit_every = commit_every, .behind = behind}}) == right; },
        call, operation, half);
  }
};

template <class Verb, class Plan>
void kill_everywhere(Plan plan, long stride = 9, std::int64_t commit_every = 3) {
  killed::everywhere(program<Verb, Plan>{std::move(plan), commit_every}, stride, 10);
}
template <class Verb, class Plan>
void kill_at_random(Plan plan, std::mt19937_64& draw, long runs) {
  program<Verb, Plan> of{std::move(plan), 1};
  for (long run = 0; run < runs; ++run) {
    CAPTURE(run);
    killed::at_random(of, draw, 8, 60);
  }
}
auto const two_tiers = {cairn::storage_tier{.slots = 2}, cairn::storage_tier{.slots = 4, .write = 5, .read = 5}};

}  // namespace
