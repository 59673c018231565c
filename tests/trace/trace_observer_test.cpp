// SPDX-License-Identifier: Apache-2.0
// Sweeps as a trace shows them: actions, phases, bytes by tier, and arrows.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/graph.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/in_memory.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>
#include "support/catch.hpp"
#include "support/every_tier.hpp"
#include "support/plans.hpp"
#include "support/trace.hpp"

using cairn::action;
using cairn::action_kind;
using cairn::any_schedule;
using cairn::content;
using cairn::moment;
using cairn::phase;
using cairn::step_index;
using cairn::tier;
using cairn::trace_observer;
using cairn::trace_writer;

namespace {

using numbers = std::vector<double>;

/// States grow by a number a step, so that each checkpoint has bytes of its own.
numbers grown(numbers const& x, step_index) {
  numbers y(x.size() + 1, 0.5);
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = 1.01 * x[k];
  return y;
}
void shrink(numbers const&, double& bar, step_index i) { bar += double(i); }
numbers const x0(3, 1.0);

char const* const tier_names[] = {"memory", "device", "host", "disk"};

/// A store that copies numbers out, and notes the bytes that it holds after each change.
struct byte_store {
  std::map<std::pair<tier, cairn::slot_index>, std::pair<step_index, numbers>> kept;
  std::array<std::int64_t, cairn::tier_count> bytes{};
  std::vector<std::array<std::int64_t, cairn::tier_count>> history;

  void begin(cairn::slot_index) { kept.clear(); }
  void save(auto& frames, cairn::place where, step_index i, cairn::frame_id frame) {
    auto& one = kept[{where.where, where.slot}] = {i, frames.state(frame)};
    bytes[std::size_t(where.where)] += std::int64_t(one.second.size() * sizeof(double));
    history.push_back(bytes);
  }
  cairn::frame_id load(auto& frames, cairn::place where, step_index) {
    auto const frame = frames.take();
    frames.emplace(frame, kept.at({where.where, where.slot}).second);
    return frame;
  }
  void drop(auto&, cairn::place where) {
    auto const one = kept.extract({where.where, where.slot});
    bytes[std::size_t(where.where)] -= std::int64_t(one.mapped().second.size() * sizeof(double));
    history.push_back(bytes);
  }
};

struct told {
  std::string name, category;
  action what;
};
/// Writes down what an observer hears, and passes it on.
struct both {
  trace_observer& tracing;
  std::vector<told>& heard;
  void operator()(cairn::event const& e) {
    static char const* const kinds[] = {"advance", "save", "load", "drop", "record", "turn", "reverse", "done"};
    static char const* const phases[] = {"forward", "recompute", "reverse"};
    if (e.moment() == moment::after && e.what().kind != action_kind::done)
      heard.push_back({kinds[std::size_t(e.what().kind)], phases[std::size_t(e.phase())], e.what()});
    tracing(e);
  }
};

std::vector<any_schedule> plans() {
  constexpr step_index n = 19;
  return {cairn::revolve{n, 1},
          cairn::revolve{n, 4},
          cairn::revolve{n, 3, {.free_initial = true}},
          cairn::uniform{n},
          cairn::store_all(n),
          cairn::hrevolve{n, {{2}, {3, 2, 1, tier::host}}},
          cairn::hrevolve{n, {{2, 0, 0, tier::device}, {3, 0.5, 0.25, tier::disk}}},
          cairn::revolve{0, 1}};
}

}  // namespace

TEST_CASE("a trace of a sweep has one slice an action, in order, with its phase") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.steps(), plan.slots());
    traces::scratch_file const file;
    std::vector<told> heard;
    {
      trace_writer log{file.name()};
      trace_observer tracing{log};
      toys::every_tier store;
      CHECK(cairn::gradient(grown, x0, plan, 0.0, shrink, store, both{tracing, heard}) ==
            cairn::gradient(grown, x0, cairn::in_memory{plan}, 0.0, shrink));
    }
    auto const all = file.events();
    traces::check(all);
    auto const slices = traces::slices(all);
    REQUIRE(slices.size() == heard.size());
    for (std::size_t k = 0; k < heard.size(); ++k) {
      CAPTURE(k);
      json const& args = slices[k].at("args");
      CHECK(slices[k].text("name") == heard[k].name);
      CHECK(slices[k].text("cat") == heard[k].category);
      CHECK(args.integer("from") == heard[k].what.from);
      CHECK(args.integer("grad_enabled") == 0);
      bool const steps = args.text("type") == "function";
      CHECK(steps == (args.members.count("to") == 1));
      if (steps) CHECK(args.integer("to") == heard[k].what.to);
      else CHECK(args.text("tier") == tier_names[std::size_t(heard[k].what.where)]);
      if (!steps) CHECK(args.integer("slot") == heard[k].what.slot);
      CHECK(args.text("target") == (heard[k].name == "reverse" ? "adjoint" : steps ? "step" : "store"));
    }
  }
}

TEST_CASE("counters are the bytes that the store holds, tier by tier") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.steps(), plan.slots());
    traces::scratch_file const file;
    byte_store store;
    {
      trace_writer log{file.name()};
      (void)cairn::gradient(grown, x0, plan, 0.0, shrink, store, trace_observer{log});
    }
    auto const counts = traces::with(traces::with(file.events(), "ph", "C"), "name", "checkpoints");
    REQUIRE(counts.size() == store.history.size());
    for (std::size_t k = 0; k < counts.size(); ++k)
      for (std::size_t t = 0; t < cairn::tier_count; ++t) {
        auto const& values = counts[k].at("args").members;
        auto const found = values.find(tier_names[t]);
        CHECK((found == values.end() ? 0 : std::int64_t(found->second.number)) == store.history[k][t]);
      }
  }
}

TEST_CASE("arrows lead from each save to each load of it") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.steps(), plan.slots());
    traces::scratch_file const file;
    {
      trace_writer log{file.name()};
      toys::every_tier store;
      (void)cairn::gradient(grown, x0, plan, 0.0, shrink, store, trace_observer{log});
    }
    auto const all = file.events();
    traces::check(all);
    // The arrows as they must be, from just the slices.
    std::vector<std::pair<std::int64_t, std::int64_t>> expected, found;
    std::map<std::pair<std::string, long long>, std::int64_t> saved;
    for (auto const& e : traces::slices(all)) {
      json const& args = e.at("args");
      if (args.text("target") != "store") continue;
      std::pair const where{args.text("tier"), args.integer("slot")};
      if (e.text("name") == "save") saved[where] = traces::nanoseconds(e, "ts");
      if (e.text("name") == "load" && where.second >= 0)
        expected.emplace_back(saved.at(where), traces::nanoseconds(e, "ts"));
    }
    std::map<long long, std::int64_t> begun;
    for (auto const& e : all) {
      if (e.text("ph") == "s") CHECK(begun.emplace(e.integer("id"), traces::nanoseconds(e, "ts")).second);
      if (e.text("ph") == "f") found.emplace_back(begun.at(e.integer("id")), traces::nanoseconds(e, "ts"));
    }
    CHECK(found == expected);
    CHECK(begun.size() == found.size());
    if (plan.steps() > 0 && plan.slots() > 1) CHECK(!found.empty());
  }
}

TEST_CASE("tapes are counted, and have arrows to what starts from them") {
  traces::scratch_file const file;
  constexpr step_index n = 5;
  auto const recording = cairn::recorded{[](double& x, step_index) { return std::exchange(x, 2 * x); },
                                         [](double const&, double& bar) { bar *= 2; }};
  {
    trace_writer log{file.name()};
    auto const step = [](double& x) { x *= 2; };
    CHECK(cairn::gradient(step, 1.0, all_tapes(n), 1.0, recording, trace_observer{log}) == 32);
  }
  auto const all = file.events();
  traces::check(all);
  auto const counts = traces::with(all, "name", "tapes");
  REQUIRE(counts.size() >= 2 * n - 1);
  CHECK(counts.back().at("args").integer("held") == 0);
  CHECK(traces::with(all, "ph", "s").size() >= std::size_t(n - 1));
  for (auto const& e : traces::with(all, "name", "record")) CHECK(e.at("args").integer("grad_enabled") == 1);
}

TEST_CASE("a filter leaves out phases, counters and arrows, and arrows without both ends") {
  auto const traced = [](char const* categories) {
    traces::scratch_file const file;
    {
      trace_writer log{file.name(), {.categories = categories}};
      (void)cairn::gradient(cairn::traced(log, "step", grown), x0, cairn::revolve{19, 4}, 0.0, shrink,
                            trace_observer{log});
    }
    auto all = file.events();
    traces::check(all);
    return all;
  };
  auto const kinds = [&](char const* categories) {
    std::map<std::string, int> found;
    for (auto const& e : traced(categories))
      if (e.text("cat") != "cairn") ++found[e.text("cat") + " " + e.text("ph")];
    return found;
  };
  auto const whole = kinds("");
  CHECK(whole.size() == 7);
  CHECK(whole.at("checkpoint s") == whole.at("checkpoint f"));
  auto const reverse = kinds("reverse,bytes");
  CHECK(reverse == std::map<std::string, int>{{"bytes C", whole.at("bytes C")}, {"reverse X", 19}});
  auto const later = kinds("recompute,checkpoint");
  CHECK(later.at("recompute X") == whole.at("recompute X"));
  CHECK(later.at("checkpoint s") < whole.at("checkpoint s"));  // saves of the forward run are not there
  CHECK(kinds("forward,checkpoint").size() == 1);
  CHECK(kinds("nobody").empty());
}

TEST_CASE("an action that an exception leaves open is shown as failed, and the next sweep is beside it") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name()};
    auto const fails = [](numbers& x, step_index i) {
      if (i == 7) throw std::runtime_error{"on purpose"};
      x.push_back(1);
    };
    cairn::trace_region const whole{log, "whole"};
    CHECK_THROWS_AS(cairn::gradient(fails, x0, cairn::revolve{19, 4}, 0.0, shrink, trace_observer{log}),
                    std::runtime_error);
    trace_observer twice{log};
    CHECK_THROWS_AS(cairn::gradient(fails, x0, cairn::revolve{19, 4}, 0.0, shrink, twice), std::runtime_error);
    (void)cairn::gradient(grown, x0, cairn::revolve{3, 4}, 0.0, shrink, twice);
  }
  auto const all = file.events();
  traces::check(all);
  int failed = 0;
  for (auto const& e : traces::slices(all)) {
    failed += int(e.at("args").members.count("failed"));
    if (e.text("cat") != "region") CHECK(e.at("args").integer("level") == 2);
  }
  CHECK(failed == 2);
}

TEST_CASE("runs and loops of unknown length are traced, too") {
  traces::scratch_file const file;
  trace_writer log{file.name()};
  auto run = cairn::checkpointed_loop(grown, x0, cairn::revolve{19, 4}, trace_observer{log});
  CHECK(run.reverse(0.0, shrink) == run.reverse(0.0, shrink));
  auto open = cairn::checkpointed_while(
      grown, x0, [](numbers const& x, step_index) { return x.size() < 20; }, cairn::online{3}, trace_observer{log});
  (void)open.reverse(0.0, shrink);
  log.finalize();
  auto const all = file.events();
  traces::check(all);
  CHECK(traces::with(all, "name", "turn").size() == 2);
  CHECK(traces::with(all, "name", "reverse").size() == 2 * 19 + 17);
}

namespace {

/// A stage of a chain that gives `out` numbers.
struct layer {
  std::size_t out;
  [[nodiscard]] numbers forward(numbers const& x) const {
    numbers y(out);
    for (std::size_t k = 0; k < out; ++k) y[k] = 0.5 * x[k % x.size()];
    return y;
  }
  [[nodiscard]] numbers backward(numbers const& x, numbers const& bar) const {
    numbers before(x.size());
    for (std::size_t k = 0; k < out; ++k) before[k % x.size()] += 0.5 * bar[k];
    return before;
  }
};

}  // namespace

TEST_CASE("chains and graphs are traced, with all bytes that they hold") {
  traces::scratch_file const file;
  trace_writer log{file.name()};
  std::vector<layer> const stages{{4}, {8}, {2}};
  using namespace cairn::chain_actions;
  std::vector<action> const actions{record(0), record(1), record(2), turn(3), reverse(2), reverse(1), reverse(0)};
  std::int64_t most = 0;
  (void)cairn::chain_gradient(stages, x0, actions, [](numbers const& y) { return y; },
                              trace_observer{log, {.bytes_held = true}});
  (void)cairn::chain_gradient(stages, x0, actions, [](numbers const& y) { return y; }, [&](cairn::event const& e) {
    if (e.moment() == moment::after) most = std::max(most, std::int64_t(e.bytes_held()));
  });

  cairn::graph_builder net;
  auto const x = net.input<double>();
  auto const y = net.add(
      cairn::adjoint_reads::inputs, [](double a, double b) { return a * b; },
      [](double a, double b, double bar, double& abar, double& bbar) { abar += bar * b, bbar += bar * a; }, x, x);
  double const at = 3;
  namespace g = cairn::graph_actions;
  auto bars = cairn::graph_gradient(net, {x.is(at)}, std::vector<action>{g::advance(0), g::turn(1), g::reverse(0)},
                                    {y.seed(1)}, trace_observer{log});
  CHECK(bars.of(x) == 6);
  log.finalize();
  auto const all = file.events();
  traces::check(all);
  CHECK(traces::with(all, "name", "record").size() == 3);
  CHECK(traces::with(all, "name", "reverse").size() == 4);
  std::int64_t seen = 0;
  for (auto const& e : traces::with(all, "name", "bytes held"))
    seen = std::max(seen, std::int64_t(e.at("args").integer("all")));
  CHECK(seen == most);
  CHECK(most > 0);
}
