// SPDX-License-Identifier: Apache-2.0
// What a chain holds on the heap at its peak is what the judge of plans says, to the byte: for every plan, and every
// way to write stages.
#include <cairn/run/chain.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/persistent.hpp>
#include <cairn/plan/chain/replay.hpp>

#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/heap.hpp"

using namespace chain_stages;
using cairn::step_index;

namespace {

// Stages that take no memory beside what they give.
struct lean_output : layer {
  [[nodiscard]] vec backward(vec const& x, vec const& y, vec&& bar) {
    return pull(x, bar, y.size() == out ? w : 1e300, w_bar);
  }
};
struct lean_taped : layer {
  [[nodiscard]] tape record(vec const& x) const { return {run(x, out, w), vec(out / 2, w)}; }
  [[nodiscard]] static vec const& output(tape const& kept) { return kept.output; }
  [[nodiscard]] vec backward(vec const& x, tape const&, vec bar) { return pull(x, bar, w, w_bar); }
};
/// For states of one length.
struct lean_in_place : layer {
  void backward(vec const& x, vec& bar) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= w + x[k];
  }
};

std::int64_t bytes(std::size_t length) { return std::int64_t(sizeof(vec) + sizeof(double) * length); }

/// What stages of this form weigh, by hand.
template <class Stage>
cairn::chain weights(std::vector<std::size_t> const& lengths) {
  cairn::chain c;
  for (auto const length : lengths) c.x.push_back(bytes(length));
  c.b = c.g = c.x;
  for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
    std::size_t const in = lengths[i], out = lengths[i + 1];
    c.s.push_back(std::is_same_v<Stage, lean_taped>       ? bytes(out) + bytes(out / 2)
                  : std::is_same_v<Stage, self_contained> ? bytes(in) + bytes(out)
                                                          : bytes(out));
    if (std::is_same_v<Stage, lean_in_place>) c.b[i] = 0;
  }
  c.f.resize(c.s.size()), c.u.resize(c.s.size(), 1), c.v.resize(c.x.size(), 1);
  c.self_contained_tape = std::is_same_v<Stage, self_contained> && !c.s.empty();
  return c;
}
/// The times of a measured chain are what they are.
cairn::chain without_times(cairn::chain c) {
  c.u.assign(c.u.size(), 1), c.v.assign(c.v.size(), 1);
  return c;
}

/// The rise of the heap during one sweep.
template <class Stages, class X0, class Seed>
std::int64_t counted(Stages& stages, X0 const& x0, std::vector<action> const& plan, Seed const& last) {
  heap::mark const mark;
  (void)cairn::chain_gradient(stages, x0, plan, last);
  auto const rise = std::int64_t(mark.rise());
  CHECK(heap::held == mark.before);
  return rise;
}
/// Whether a sweep holds after every action what the judge says; at the end the adjoint of state 0 is there, which is
/// the caller's.
template <class Stages, class X0, class Seed>
bool holds_as_played(Stages& stages, X0 const& x0, cairn::chain const& c, std::vector<action> const& plan,
                     Seed const& last) {
  cairn::detail::chain_model const model{c, "test"};
  cairn::detail::chain_interpreter player{model, {}, "test"};
  std::size_t played = 0;
  bool same = true, whole = c.stages() == 0;
  (void)cairn::chain_gradient(stages, x0, plan, last, [&](cairn::event const& e) {
    if (e.moment() == cairn::moment::before) return;
    if (e.what().kind != cairn::action_kind::done) player.obey(plan[played++]);
    whole = whole || (e.what().kind == cairn::action_kind::reverse && e.what().from == 0);
    bool const turned = e.what().kind == cairn::action_kind::turn || e.what().kind == cairn::action_kind::done;
    bool const done = whole && (c.stages() > 0 || turned);
    same = same && std::int64_t(e.bytes_held()) == player.live() + (done ? model.g[0] : 0);
  });
  return same && played == plan.size();
}
/// Of the tables of a vector of stages.
std::int64_t pointers(std::int64_t stages) { return 8 * (2 * stages + 1); }

template <class F>
void each_plan(cairn::chain const& c, std::uint64_t from, F f) {
  step_index const stages = c.stages();
  f(store_all(stages));
  for (std::uint64_t k = 0; k < 8; ++k) {
    f(split_plan{stages, from + k, c.self_contained_tape}.actions);
    f(wild_plan(stages, from + k, int(10 * stages), c.self_contained_tape));
  }
  cairn::detail::chain_model const model{c, "test"};
  cairn::detail::persistent_optimum best{model};
  for (std::int64_t const part : {0, 1, 3, 10})
    f(best.actions(best.least_budget() + (model.store_all_peak() - best.least_budget()) * part / 10));
}

}  // namespace

TEMPLATE_TEST_CASE("a vector of stages holds what the judge says and its pointers, to the byte", "[run][chain][peak]",
                   by_value, lean_output, lean_taped, self_contained, lean_in_place) {
  std::mt19937_64 numbers{17};
  int plans = 0;
  for (int const stages : {0, 1, 2, 5, 12})
    for (int repeat = 0; repeat < 4; ++repeat) {
      auto lengths = random_lengths(stages, 40, numbers);
      if (std::is_same_v<TestType, lean_in_place>) lengths.assign(lengths.size(), 1 + numbers() % 30);
      auto const c = weights<TestType>(lengths);
      vec const x0 = start(lengths[0]);
      auto all = net<TestType>(lengths);
      CHECK(without_times(cairn::chain_probe<std::chrono::steady_clock>(all, x0, seed, 1)) == c);
      std::vector<cairn::any_stage> any;
      for (auto const& stage : all) any.emplace_back(stage);
      auto const erased = cairn::chain_probe<std::chrono::steady_clock>(any, x0, seed, 1);
      each_plan(c, numbers(), [&](auto const& plan) {
        CAPTURE(stages, repeat, plans);
        CHECK(counted(all, x0, plan, seed) == cairn::replay(c, plan).peak + pointers(stages));
        CHECK(counted(any, x0, plan, seed) == cairn::replay(erased, plan).peak + pointers(stages));
        CHECK(holds_as_played(all, x0, c, plan, seed));
        CHECK(holds_as_played(any, x0, erased, plan, seed));
        ++plans;
      });
    }
  CHECK(plans > 400);
}

TEST_CASE("stages by index hold what the judge says and their pointers, 2000 of them", "[run][chain][peak]") {
  constexpr step_index stages = 2000;
  std::vector<std::size_t> lengths;
  for (step_index i = 0; i <= stages; ++i) lengths.push_back(1 + std::size_t(i) / 20);
  double by_w = 0;
  auto const grown = cairn::indexed_stages{
      stages,
      cairn::stage{
          [&](vec const& x, step_index i) { return run(x, lengths[std::size_t(i) + 1], weight(std::size_t(i))); },
          [&](vec const& x, vec const& bar, step_index i) { return pull(x, bar, weight(std::size_t(i)), by_w); }}};
  auto const c = weights<by_value>(lengths);
  for (std::uint64_t k = 0; k < 3; ++k) {
    auto const plan = split_plan{stages, k, false}.actions;
    CHECK(counted(grown, start(1), plan, seed) == cairn::replay(c, plan).peak + pointers(stages));
  }
}

namespace {

// States of several types, with bytes inside and on the heap, a tape of its own, and an adjoint of another type.
struct grid {
  std::array<float, 100> cells{};
  vec more;
};
struct summary {
  double sum = 0;
  explicit summary(double value) : sum{value} {}
  summary(summary const&) = delete;  // neither copied nor moved
};
struct to_grid {
  [[nodiscard]] grid forward(vec const& x) const { return {{}, vec(x.size() / 2)}; }
  [[nodiscard]] vec backward(vec const& x, vec const& bar) const { return vec(x.size(), bar.empty() ? 0.0 : bar[0]); }
};
struct on_grid {
  struct tape {
    vec work;
    grid after;
  };
  [[nodiscard]] grid forward(grid const& x) const { return {x.cells, vec(x.more.size() + 70)}; }
  [[nodiscard]] tape record(grid const& x) const { return {vec(200), forward(x)}; }
  [[nodiscard]] grid const& output(tape const& kept) const { return kept.after; }
  [[nodiscard]] vec backward(grid const& x, tape const&, vec const&) const { return vec(x.more.size() + 1); }
};
struct to_summary {
  [[nodiscard]] summary forward(grid const& x) const { return summary{double(x.more.size())}; }
  [[nodiscard]] vec backward(grid const& x, double bar) const { return vec(x.more.size() + 1, bar); }
};
struct on_summary {
  [[nodiscard]] summary forward(summary const& x) const { return summary{2 * x.sum}; }
  void backward(summary const&, double& bar) const { bar *= 2; }
};

}  // namespace

TEST_CASE("a tuple of stages holds what the judge says and nothing else, to the byte", "[run][chain][peak]") {
  for (std::size_t const length : {std::size_t{0}, std::size_t{10}, std::size_t{500}}) {
    vec const x0 = start(length);
    std::tuple all{to_grid{}, on_grid{}, on_grid{}, to_summary{}, on_summary{}};
    auto const last = [](summary const& x) { return x.sum; };
    auto const grid_bytes = [](std::size_t more) { return std::int64_t(sizeof(grid) + sizeof(double) * more); };
    std::size_t const half = length / 2;
    cairn::chain const c{
        .x = {bytes(length), grid_bytes(half), grid_bytes(half + 70), grid_bytes(half + 140), sizeof(double),
              sizeof(double)},
        .g = {bytes(length), bytes(half + 1), bytes(half + 71), bytes(half + 141), sizeof(double), sizeof(double)},
        .s = {grid_bytes(half), bytes(200) + grid_bytes(half + 70), bytes(200) + grid_bytes(half + 140), sizeof(double),
              sizeof(double)},
        .f = {0, 0, 0, 0, 0},
        .b = {bytes(length), bytes(half + 1), bytes(half + 71), bytes(half + 141), 0, sizeof(double)},
        .u = {1, 1, 1, 1, 1},
        .v = {1, 1, 1, 1, 1, 1}};
    CHECK(without_times(cairn::chain_probe<std::chrono::steady_clock>(all, x0, last, 1)) == c);
    std::vector<cairn::any_stage> any;
    any.emplace_back(to_grid{}), any.emplace_back(on_grid{}), any.emplace_back(on_grid{}),
        any.emplace_back(to_summary{}), any.emplace_back(on_summary{});
    any[0] = cairn::any_stage::taking<vec, vec>(to_grid{});
    auto const erased = cairn::chain_probe<std::chrono::steady_clock>(any, x0, last, 1);
    each_plan(c, 100 * length, [&](auto const& plan) {
      CHECK(counted(all, x0, plan, last) == cairn::replay(c, plan).peak);
      CHECK(counted(any, x0, plan, last) == cairn::replay(erased, plan).peak + pointers(5));
      CHECK(holds_as_played(all, x0, c, plan, last));
      CHECK(holds_as_played(any, x0, erased, plan, last));
    });
  }
}

namespace {

/// Whatever is measured takes a second, but for its own readings: long enough to be measured once.
struct generous_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<generous_clock, duration>;
  static time_point now() { return time_point{duration{at += ++readings > 64 ? 1000 : 1}}; }
  inline static long long at = 0, readings = 0;
};

}  // namespace

TEST_CASE("a probe of short calls holds as many runs side by side as fit into 8 MiB", "[run][chain][peak]") {
  struct standing_clock {
    using duration = std::chrono::nanoseconds;
    static duration now() { return {}; }
  };
  auto const zeros = cairn::stage{[](vec const& x) { return vec(x.size()); },
                                  [](vec const& x, vec const&) { return vec(x.size()); }};
  for (std::size_t const stages : {1u, 9u}) {
    std::vector const all(stages, zeros);
    vec const x0(10'000);
    heap::mark const mark;
    (void)cairn::chain_probe<standing_clock>(all, x0, [](vec const& x) { return x; }, 1);
    CHECK(mark.rise() > std::size_t{2 << 20});
    CHECK(mark.rise() <= std::size_t{8 << 20} + 65'536);
  }
}

TEST_CASE("a probe holds about the square root of its chain", "[run][chain][peak]") {
  constexpr step_index stages = 400;
  std::vector<std::size_t> const lengths(std::size_t(stages) + 1, 1000);
  auto all = net<by_value>(lengths);
  vec const x0 = start(1000);
  heap::mark const mark;
  (void)cairn::chain_probe<generous_clock>(all, x0, seed, 1);
  // 20 states, 20 tapes, adjoints, and tables for measurements: 1.5 KiB a stage.
  CHECK(std::int64_t(mark.rise()) < 45 * bytes(1000) + stages * 2000);
}

TEST_CASE("the plan of a probe holds the starts of open segments, and the tapes of one", "[run][chain][peak]") {
  // Segments of 4 stages, the last of 2: states 0 and 4, the tapes of stages 4 to 7.
  std::vector<std::int64_t> const ones(10, 1), all(11, 1), none(10), nothing(11);
  cairn::chain const c{.x = all, .g = nothing, .s = ones, .f = none, .b = nothing, .u = none, .v = nothing};
  CHECK(cairn::replay(c, cairn::detail::probing_plan(10)).peak == 5);
}
