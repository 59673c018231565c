// SPDX-License-Identifier: Apache-2.0
// The executor over blocks drives an engine: in the planned order, to the bits of storing everything, in the predicted
// bytes.
#include <cairn/plan/block/detail/block_cuts.hpp>
#include <cairn/run/block_executor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"

using cairn::action;
namespace block_actions = cairn::block_actions;
using cairn::block_executor;
using cairn::block_plan;
using cairn::chain;
using cairn::execution_callbacks;
using cairn::step_index;
using kind = cairn::action_kind;

namespace {

struct trace {
  std::vector<action> seen;
  [[nodiscard]] execution_callbacks callbacks() {
    return {.run_forward = [this](step_index first,
                                  step_index last) { seen.push_back(block_actions::advance(first, last)); },
            .run_backward = [this](step_index first,
                                   step_index last) { seen.push_back(block_actions::reverse(first, last)); }};
  }
  [[nodiscard]] execution_callbacks with_recorded() {
    auto all = callbacks();
    all.run_recorded = [this](step_index first, step_index last) {
      seen.push_back(block_actions::record(first, last));
    };
    return all;
  }
};
std::vector<action> actions_of_walk(block_plan const& plan) {
  std::vector<action> all;
  auto cursor = plan.walk();
  for (auto a = cursor.next(); a.kind != kind::done; a = cursor.next()) all.push_back(a);
  return all;
}
std::string said_by(auto call) {
  try {
    call();
  } catch (cairn::error const& e) {
    return e.what();
  }
  return "";
}
using Catch::Matchers::ContainsSubstring;

using numbers = std::vector<double>;

[[gnu::noinline]] double weight(std::size_t i, std::size_t to, std::size_t from) {
  return 0.7 * std::sin(1.0 + double(3 * i + 5 * to + 7 * from));
}
/// z = W x of layer i.
[[gnu::noinline]] numbers product(std::size_t i, numbers const& x, std::size_t width) {
  numbers z(width);
  for (std::size_t to = 0; to < width; ++to)
    for (std::size_t from = 0; from < x.size(); ++from) z[to] += weight(i, to, from) * x[from];
  return z;
}
[[gnu::noinline]] numbers activated(numbers const& z) {
  numbers y(z.size());
  for (std::size_t k = 0; k < z.size(); ++k) y[k] = std::tanh(z[k]);
  return y;
}
[[gnu::noinline]] numbers pulled_back(std::size_t i, numbers const& x, numbers const& z, numbers const& bar) {
  numbers x_bar(x.size());
  for (std::size_t to = 0; to < z.size(); ++to) {
    double const y = std::tanh(z[to]), z_bar = (1 - y * y) * bar[to];
    for (std::size_t from = 0; from < x.size(); ++from) x_bar[from] += weight(i, to, from) * z_bar;
  }
  return x_bar;
}

/// A network of layers of different widths, run by ranges of layers. It counts the bytes that it keeps.
class network {
 public:
  explicit network(std::vector<std::size_t> widths) : widths_{std::move(widths)} {
    numbers input(widths_[0]);
    for (std::size_t k = 0; k < input.size(); ++k) input[k] = std::cos(double(k));
    states_[0] = input;
  }
  [[nodiscard]] step_index layers() const { return step_index(widths_.size()) - 1; }
  /// A tape is z and the output; the adjoint of a layer makes its own beside the old one; that of the input is the
  /// caller's.
  [[nodiscard]] chain as_chain() const {
    chain c;
    for (std::size_t i = 0; i < widths_.size(); ++i) c.x.push_back(std::int64_t(8 * widths_[i]));
    for (std::size_t i = 0; i + 1 < widths_.size(); ++i) {
      c.s.push_back(2 * c.x[i + 1]);
      c.u.push_back(std::int64_t(widths_[i] * widths_[i + 1]));
      c.b.push_back(i > 0 ? c.x[i] : 0);
      c.v.push_back(2 * c.u[i]);
    }
    c.b.push_back(c.x.size() > 1 ? c.x.back() : 0);
    c.v.push_back(1);
    return c;
  }

  void forward(step_index first, step_index last) {
    call();
    for (step_index i = first; i < last; ++i) {
      numbers next = activated(product(std::size_t(i), states_.at(i), widths_[std::size_t(i) + 1]));
      keep(next);
      states_[i + 1] = std::move(next);
      ++runs;
      if (i > first) forget_state(i);
    }
  }
  void record(step_index first, step_index last) {
    call();
    for (step_index i = first; i < last; ++i) {
      tape made{
          product(std::size_t(i), i == first ? states_.at(i) : tapes_.at(i - 1).output, widths_[std::size_t(i) + 1]),
          {}};
      made.output = activated(made.z);
      keep(made.z), keep(made.output);
      tapes_[i] = std::move(made);
      ++runs;
    }
    if (last < layers()) return;
    bar = tapes_.at(last - 1).output;  // the objective is half the sum of squares
    keep(bar);
  }
  void backward(step_index first, step_index last) {
    call();
    for (step_index i = last; i-- > first;) {
      tape& of = tapes_.at(i);
      numbers next = pulled_back(std::size_t(i), i == first ? states_.at(i) : tapes_.at(i - 1).output, of.z, bar);
      if (i > 0) keep(next);
      release(bar), release(of.z), release(of.output);
      tapes_.erase(i);
      bar = std::move(next);
    }
    if (first > 0) forget_state(first);
  }
  /// What knows only forward and backward records a block at the end, or once the backward pass has begun.
  void forward_or_record(step_index first, step_index last) {
    if (last == layers() || on_the_way_back_) record(first, last);
    else forward(first, last);
  }
  [[nodiscard]] execution_callbacks three() {
    return {.run_forward = [this](step_index first, step_index last) { forward(first, last); },
            .run_backward = [this](step_index first, step_index last) { backward(first, last); },
            .run_recorded = [this](step_index first, step_index last) { record(first, last); }};
  }
  [[nodiscard]] execution_callbacks two() {
    return {
        .run_forward = [this](step_index first, step_index last) { forward_or_record(first, last); },
        .run_backward = [this](step_index first, step_index last) { on_the_way_back_ = true, backward(first, last); }};
  }
  /// Ready for another sweep, also after one that failed.
  void begin() {
    numbers input = states_.at(0);
    states_.clear(), tapes_.clear(), bar.clear();
    states_[0] = std::move(input);
    live = 0, calls = 0, on_the_way_back_ = false;
  }
  [[nodiscard]] bool holds_nothing() const { return states_.size() == 1 && tapes_.empty() && live == 0; }

  numbers bar;
  std::int64_t live = 0, peak = 0, runs = 0, calls = 0, fail_at = -1;

 private:
  struct tape { numbers z, output; };

  void call() {
    if (calls++ == fail_at) throw std::domain_error{"the engine's own"};
  }
  void keep(numbers const& x) { peak = std::max(peak, live += std::int64_t(8 * x.size())); }
  void release(numbers const& x) { live -= std::int64_t(8 * x.size()); }
  void forget_state(step_index i) {
    release(states_.at(i));
    states_.erase(i);
  }

  std::vector<std::size_t> widths_;
  std::map<step_index, numbers> states_;
  std::map<step_index, tape> tapes_;
  bool on_the_way_back_ = false;
};

std::vector<std::size_t> widths(std::size_t layers) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i <= layers; ++i) all.push_back(1 + (i * i + 3 * i) % 7);
  return all;
}
numbers store_all(network& engine) {
  engine.begin();
  engine.record(0, engine.layers());
  engine.backward(0, engine.layers());
  return engine.bar;
}

}  // namespace

TEST_CASE("an engine of two callbacks sees each block forward, and in reverse all but the last again",
          "[plan][block]") {
  trace events;
  block_executor executor;
  executor.configure(10, {.block_size = 4});
  executor.backward(events.callbacks());
  auto const f = block_actions::advance, b = block_actions::reverse;
  CHECK(events.seen == std::vector<action>{f(0, 4), f(4, 8), f(8, 10), b(8, 10), f(4, 8), b(4, 8), f(0, 4), b(0, 4)});
  CHECK(executor.plan().meta().num_blocks == 3);
  CHECK(executor.notice() == std::string{});
  CHECK_FALSE(executor.failure().failed);
}

TEST_CASE("an engine of three callbacks learns which runs keep tapes", "[plan][block]") {
  for (step_index n : {0, 1, 2, 5, 12, 13, 97})
    for (int levels : {0, 1, 2, 3, 7}) {
      CAPTURE(n, levels);
      trace events, plain;
      block_executor executor;
      executor.configure(n, {.levels = levels});
      executor.backward(events.with_recorded());
      auto expected = actions_of_walk(executor.plan());
      CHECK(events.seen == expected);
      executor.backward(plain.callbacks());
      for (auto& a : expected)
        if (a.kind == kind::record) a = block_actions::advance(a.from, a.to);
      CHECK(plain.seen == expected);
      CHECK(executor.plans_made() == 1);
    }
}

TEST_CASE("the gradient through blocks has the bits of storing everything, in the predicted bytes and runs",
          "[plan][block]") {
  for (std::size_t const layers : std::vector<std::size_t>{1, 2, 3, 5, 12, 13, 31}) {
    network engine{widths(layers)};
    auto const expected = store_all(engine);
    auto const c = engine.as_chain();
    CHECK(engine.peak == cairn::detail::chain_model(c, "test").store_all_peak());
    auto const check = [&](cairn::block_options const& options, execution_callbacks const& callbacks) {
      engine.begin();
      engine.peak = engine.runs = 0;
      block_executor executor;
      executor.configure(c, options);
      executor.backward(callbacks);
      CHECK(engine.bar == expected);
      CHECK(engine.holds_nothing());
      CHECK(engine.peak == executor.plan().meta().peak_bytes);
      CHECK(cairn::wide(engine.runs) == executor.plan().meta().extra_runs + layers);
    };
    for (int levels = 0; levels <= 5; ++levels) {
      CAPTURE(layers, levels);
      check({.levels = levels}, engine.three());
      if (levels <= 1) check({.levels = levels}, engine.two());
    }
    for (step_index size = 1; size <= step_index(layers); ++size) {
      CAPTURE(layers, size);
      check({.block_size = size}, engine.two());
      check({.block_size = size, .balanced = true}, engine.three());
      check({.block_size = size, .levels = 2}, engine.three());
    }
    cairn::detail::chain_model const model{c, "test"};
    for (auto budget = cairn::detail::block_cuts{model}.least_budget(); budget <= model.store_all_peak();
         budget += 16) {
      CAPTURE(layers, budget);
      check({.budget = budget}, engine.two());
      CHECK(engine.peak <= budget);
    }
  }
}

TEST_CASE("an exception of a callback passes through, says where, and leaves the executor usable", "[plan][block]") {
  network engine{widths(13)};
  auto const expected = store_all(engine);
  for (int levels : {0, 1, 3}) {
    block_executor executor;
    executor.configure(engine.as_chain(), {.levels = levels});
    auto const actions = actions_of_walk(executor.plan());
    for (std::size_t k = 0; k < actions.size(); ++k) {
      CAPTURE(levels, k);
      engine.begin();
      engine.fail_at = std::int64_t(k);
      try {
        executor.backward(engine.three());
        FAIL("nothing was thrown");
      } catch (std::domain_error const& mine) {
        CHECK(mine.what() == std::string{"the engine's own"});
      }
      CHECK(executor.failure().failed);
      CHECK(executor.failure().what == actions[k]);
      CHECK(executor.failure().returned == k);
      engine.begin();
      engine.fail_at = -1;
      executor.backward(engine.three());
      CHECK(engine.bar == expected);
      CHECK_FALSE(executor.failure().failed);
    }
    CHECK(executor.plans_made() == 1);
  }
}

TEST_CASE("a plan is kept for an equal workload, and made anew for another one or on request", "[plan][block]") {
  auto const a = chains::make(chains::kind::tiny, 9, 1);
  auto b = a;
  b.u[3] += 1;
  int asked = 0;
  trace events;
  auto const callbacks = events.callbacks();
  block_executor executor{
      cairn::block_options{.planner = [&](chain const& work) { return ++asked, block_plan::equal(work.stages(), 2); }}};
  CHECK(executor.plans_made() == 0);
  executor.backward(a, callbacks);
  executor.backward(a, callbacks);
  executor.backward(chain{a}, callbacks);
  executor.backward(callbacks);
  CHECK(executor.plans_made() == 1);
  executor.backward(b, callbacks);
  CHECK(executor.plans_made() == 2);
  executor.backward(b, callbacks);
  executor.backward(callbacks);
  CHECK(&executor.plan_for(b) == &executor.plan());
  CHECK(executor.plans_made() == 2);
  executor.reset();
  CHECK_THROWS_AS(executor.plan(), cairn::invalid_call);
  executor.backward(callbacks);  // the workload is still known
  CHECK(executor.plans_made() == 3);
  executor.configure(b);
  CHECK(executor.plans_made() == 4);
  CHECK(executor.plan().meta().by == cairn::block_method::square_root);  // by new options
  CHECK(asked == 3);

  executor.backward(12, callbacks);
  executor.backward(12, callbacks);
  CHECK(executor.plans_made() == 5);
  executor.backward(13, callbacks);
  CHECK(executor.plans_made() == 6);
  CHECK(executor.plan().stages() == 13);
  executor.reset();
  executor.backward(callbacks);
  CHECK(executor.plans_made() == 7);
  CHECK(executor.plan().stages() == 13);
  executor.backward(b, callbacks);
  CHECK(executor.plans_made() == 8);
  executor.reset();
  executor.backward(b, callbacks);
  CHECK(executor.plans_made() == 9);
  executor.reset();
  CHECK(executor.plan_for(b).stages() == 9);
  CHECK(executor.plans_made() == 10);
}

TEST_CASE("where no plan can be made everything is run once, and a notice says why", "[plan][block]") {
  network engine{widths(9)};
  auto const expected = store_all(engine);
  auto const c = engine.as_chain();
  std::vector<std::string> notices;
  auto const tell = [&](char const* text) { notices.emplace_back(text); };
  block_executor executor;
  auto const runs_plain = [&](cairn::block_options options, char const* why) {
    notices.clear();
    options.notice = tell;
    executor.configure(c, options);
    CHECK(executor.plan().meta().by == cairn::block_method::plain);
    CHECK(executor.plan().meta().num_blocks == 1);
    CHECK(executor.plan().meta().peak_bytes == cairn::detail::chain_model(c, "test").store_all_peak());
    CHECK_THAT(executor.notice(), ContainsSubstring("no plan could be made, so everything is stored: ") &&
               ContainsSubstring(why));
    CHECK(notices == std::vector<std::string>{executor.notice()});
    engine.begin();
    engine.runs = 0;
    executor.backward(engine.two());
    executor.plan_for(c);
    CHECK(notices.size() == 1);  // once a plan, not once a sweep
    CHECK(engine.bar == expected);
    CHECK(engine.runs == 9);
    auto strict = options;
    strict.plain_fallback = false;
    auto const before = executor.plans_made();
    CHECK_THROWS_AS(executor.configure(c, strict), cairn::error);
    CHECK(executor.plans_made() == before);
  };
  cairn::detail::chain_model const model{c, "test"};
  runs_plain({.budget = 10}, "no schedule of any kind fits the budget (budget = 10");
  runs_plain({.budget = cairn::detail::block_cuts{model}.least_budget() - 1}, "fit");
  runs_plain({.block_size = 3, .budget = *plan_blocks(c, {.block_size = 3}).meta().peak_bytes - 1},
             "blocks of this shape do not fit");
  runs_plain({.planner = [](chain const&) -> block_plan {
               throw cairn::infeasible_budget{"mine", "nothing fits", {}, ""};
             }},
             "mine: nothing fits");
  runs_plain({.planner = [](chain const&) -> block_plan {
               throw cairn::overflow_error{"mine", "too large", {}, ""};
             }},
             "mine: too large");

  executor.configure(c);
  CHECK(executor.notice() == std::string{});
}

TEST_CASE("what is wrong rather than impossible throws, and the plan before stays", "[plan][block]") {
  auto const c = chains::make(chains::kind::tiny, 9, 1);
  block_executor executor;
  executor.configure(c, {.block_size = 2});
  auto const blocks = executor.plan().meta().sizes;
  auto const throws = [&](auto call) {
    CHECK_THROWS_AS(call(), cairn::invalid_plan);
    CHECK(executor.plan().meta().sizes == blocks);
    CHECK(executor.plans_made() == 1);
    CHECK(executor.notice() == std::string{});
  };
  throws([&] { executor.configure(c, {.block_size = -2}); });
  throws([&] { executor.configure(c, {.planner = [](chain const&) { return block_plan::equal(5, 2); }}); });
  throws([&] { executor.configure(10, {.budget = 5}); });
  throws([&] { executor.configure(-1); });
  auto broken = c;
  broken.x[2] = -1;
  throws([&] { executor.configure(broken); });
  throws([&] { executor.plan_for(broken); });
  CHECK_THROWS_AS(
      executor.configure(c, {.planner = [](chain const&) -> block_plan { throw std::domain_error{"mine"}; }}),
      std::domain_error);
  CHECK(&executor.plan_for(c) == &executor.plan());
  CHECK(executor.plans_made() == 1);
}

TEST_CASE("calls that cannot be served are refused before a callback is called", "[plan][block]") {
  trace events;
  block_executor executor;
  CHECK_THAT(said_by([&] { executor.backward(events.callbacks()); }),
             ContainsSubstring("nothing is planned; call configure"));
  CHECK_THAT(said_by([&] { (void)executor.plan(); }), ContainsSubstring("nothing is planned"));
  executor.configure(10);
  auto half = events.callbacks();
  half.run_backward = {};
  CHECK_THAT(said_by([&] { executor.backward(half); }), ContainsSubstring("run_forward or run_backward is missing"));
  half = events.callbacks();
  half.run_forward = {};
  CHECK_THAT(said_by([&] { executor.backward(half); }), ContainsSubstring("run_forward or run_backward is missing"));
  CHECK(events.seen.empty());
}

TEST_CASE("a callback cannot change the sweep that it is called from", "[plan][block]") {
  block_executor executor;
  executor.configure(10);
  std::vector<std::string> said;
  trace events;
  auto callbacks = events.callbacks();
  callbacks.run_backward = [&](step_index first, step_index last) {
    if (first == 0) return;
    said.push_back(said_by([&] { executor.backward(events.callbacks()); }));
    said.push_back(said_by([&] { executor.configure(5); }));
    said.push_back(said_by([&] { executor.reset(); }));
    said.push_back(said_by([&] { executor.backward(7, events.callbacks()); }));
    CHECK(executor.plan_for(10).size() == executor.plan().size());
    (void)last;
  };
  executor.backward(callbacks);
  REQUIRE(said.size() == 8);
  for (auto const& text : said) CHECK_THAT(text, ContainsSubstring("this executor is in the middle of a sweep"));
  CHECK(executor.plans_made() == 1);
  block_executor outer;
  outer.configure(3, {.block_size = 1});
  int inner_runs = 0;
  callbacks.run_forward = [](step_index, step_index) {};
  callbacks.run_backward = [&](step_index, step_index) {
    executor.backward(10, {.run_forward = [&](step_index, step_index) { ++inner_runs; },
                           .run_backward = [](step_index, step_index) {}});
  };
  outer.backward(callbacks);
  CHECK(inner_runs == 3 * 5);
}

TEST_CASE("a loop of 2^62 stages begins at once", "[plan][block]") {
  block_executor executor;
  executor.configure(step_index{1} << 62, {.levels = 2});
  struct enough {};
  int runs = 0;
  auto const stop = [&](step_index first, step_index last) {
    CHECK(last > first);
    if (++runs == 1000) throw enough{};
  };
  CHECK_THROWS_AS(executor.backward({.run_forward = stop, .run_backward = stop}), enough);
  CHECK(executor.failure().returned == 999);
}
