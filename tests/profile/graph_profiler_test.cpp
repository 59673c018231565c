// SPDX-License-Identifier: Apache-2.0
// Profiles of real runs: what is reported of each node is what a sweep counts, and what a profile finds is what is
// planned.
#include <cairn/profile/graph_profiler.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/graph.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>

#include "support/catch.hpp"
#include "support/heap.hpp"

using namespace cairn;
namespace reads = cairn::adjoint_reads;

namespace {

using field = std::vector<double>;

/// A clock that goes on by a microsecond each time that it is read.
struct ticking {
  using duration = std::chrono::duration<std::int64_t, std::micro>;
  using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
  static inline std::int64_t reads = 0;
  static time_point now() { return time_point{duration{++reads}}; }
};

field scaled(double by, field const& v) {
  field y = v;
  for (double& one : y) one *= by;
  return y;
}
/// y = x + mask(w x), some times, and half the sum of squares.
struct network {
  graph_builder net;
  graph_value<field> x0 = net.input<field>();
  graph_value<double> w = net.input<double>();
  graph_value<double> loss = build();
  field const given = field(200, 0.5);
  double const weight = 0.3, end = 1.0;
  std::vector<graph_binding> inputs{x0.is(given), w.is(weight)};
  std::vector<graph_seed> seeds{loss.seed(end)};

  graph_value<double> build() {
    auto x = x0;
    for (int k = 0; k < 4; ++k) {
      auto const product = net.add(
          reads::inputs, [](double a, field const& v) { return scaled(a, v); },
          [](double a, field const& v, field const& bar, double& abar, graph_adjoint<field>& vbar) {
            field& sum = vbar.or_make(v.size(), 0.0);
            for (std::size_t i = 0; i < v.size(); ++i) abar += bar[i] * v[i], sum[i] += bar[i] * a;
          },
          w, x);
      auto const kept = net.add(
          reads::tape<std::vector<char>>,
          [](field const& v, std::vector<char>* positive) {
            if (positive != nullptr) positive->assign(v.size(), 1);
            return v;
          },
          [](std::vector<char> const& positive, field const& bar, graph_adjoint<field>& vbar) {
            field& sum = vbar.or_make(bar.size(), 0.0);
            for (std::size_t i = 0; i < bar.size(); ++i) sum[i] += positive[i] != 0 ? bar[i] : 0;
          },
          product);
      x = net.add(
          reads::nothing,
          [](field const& a, field const& b) {
            field y = a;
            for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i];
            return y;
          },
          [](field const& bar, graph_adjoint<field>& abar, graph_adjoint<field>& bbar) { abar += bar, bbar += bar; }, x,
          kept);
    }
    return net.add(
        reads::inputs,
        [](field const& v) {
          double sum = 0;
          for (double const one : v) sum += one * one / 2;
          return sum;
        },
        [](field const& v, double bar, graph_adjoint<field>& vbar) { vbar += scaled(bar, v); }, x);
  }
};
/// The sweep that keeps each value as long as it is read, from the uses that a profile reports.
std::vector<action> store_all_of(operation_graph const& graph) {
  auto const values = liveness_of(graph);
  step_index const n = graph.size();
  std::vector<action> plan;
  auto const drops = [&](step_index rank) {
    for (step_index v = 0; v < n; ++v) {
      auto const& of = values[std::size_t(v)];
      step_index const last = of.last_backward_use.value_or(of.last_forward_use);
      if (last == rank && rank != 2 * n - v) plan.push_back(graph_actions::drop(v));
    }
  };
  for (step_index v = 0; v < n; ++v) {
    plan.push_back(graph.operations[std::size_t(v)].tape_bytes > 0 ? graph_actions::record(v)
                                                                   : graph_actions::advance(v));
    drops(v);
  }
  plan.push_back(graph_actions::turn(n));
  drops(n);
  for (step_index v = n; v-- > 0;) {
    plan.push_back(graph_actions::reverse(v));
    drops(2 * n - v);
  }
  return plan;
}
memory_source of_heap() {
  return {[] { return std::int64_t(heap::held); }, [] { return std::int64_t(heap::peak); },
          [] { heap::peak = heap::held; }};
}
std::filesystem::path fresh_folder(char const* name) {
  auto const folder = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(folder);
  return folder;
}

}  // namespace

TEST_CASE("measure, plan and run a graph in three lines", "[profile]") {
  network of;
  auto const measured = graph_profiler{}.run(of.net, of.inputs, of.seeds);
  auto const plan = graph_planner{measured}.plan("20KB");
  auto bars = graph_gradient(of.net, of.inputs, plan, of.seeds);
  CHECK(bars.peak_bytes() == plan.cost.peak);
  CHECK(plan.cost.peak <= 20'000);
  CHECK(bars.of(of.w) == graph_gradient(of.net, of.inputs, store_all_of(measured), of.seeds).of(of.w));
}

TEST_CASE("each node of a graph has the bytes that a sweep counts there, and the parts add up to the counted peak",
          "[profile]") {
  network of;
  graph_profiler profiler;
  auto const measured = profiler.run(of.net, of.inputs, of.seeds);
  auto const& stats = profiler.stats();
  std::size_t rank = 0;
  auto const compare = [&](event const& e) {
    auto const kind = e.what().kind;
    if (e.moment() != moment::before || kind == action_kind::drop || kind == action_kind::done) return;
    CHECK(std::int64_t(e.bytes_held()) == stats.nodes[rank++].median_active_mem_bytes);
  };
  std::int64_t const counted =
      graph_gradient(of.net, of.inputs, store_all_of(measured), of.seeds, compare).peak_bytes();
  CHECK(rank + 1 == stats.nodes.size());
  auto const parts = breakdown_of(stats);
  CHECK(parts.peak == counted);
  CHECK(parts.bytes[0] + parts.bytes[1] + parts.bytes[2] + parts.bytes[3] + parts.bytes[4] == counted);
  CHECK(parts[node_type::act] > 3 * 200 * 8);
  CHECK(graph_of(stats) == measured);
}

TEST_CASE("what an allocator counts becomes the work of operations and adjoints", "[profile]") {
  network of;
  graph_profiler plain, seeing{{.memory = of_heap()}};
  auto const told = plain.run(of.net, of.inputs, of.seeds), seen = seeing.run(of.net, of.inputs, of.seeds);
  std::int64_t const one = 200 * 8 + std::int64_t(sizeof(field));
  REQUIRE(told.size() == seen.size());
  for (std::size_t v = 0; v < seen.operations.size(); ++v) {
    CHECK(seen.operations[v].bytes == told.operations[v].bytes);
    CHECK(seen.operations[v].work >= 0);
    CHECK(seen.operations[v].work < 1'000);       // nodes of containers
    CHECK(seen.operations[v].adjoint_work <
          2 * one + 1'000);  // a product, and the adjoint of an input, which is not counted elsewhere
  }
  CHECK(seen.operations[2].adjoint_work >= 200 * 8);  // the first that adds to the adjoint of x0
  CHECK(told.operations[2].adjoint_work == 0);
  CHECK(graph_of(seeing.stats()) == seen);
}

TEST_CASE("resident pages that an operation touches become its work", "[profile]") {
  auto const source = resident_memory_source();
  source.reset_peak();
  if (source.peak() > source.held() + (4 << 20)) CAIRN_SKIP("the kernel does not forget the peak");
  graph_builder net;
  auto const x = net.input<double>();
  auto const y = net.add(
      reads::inputs,
      [](double a) {
        field scratch(std::size_t{4} << 20, a);  // 32 MiB, given back at the end
        return scratch.front() + scratch.back();
      },
      [](double, double bar, double& abar) { abar += 2 * bar; }, x);
  double const x0 = 3;
  graph_profiler<> profiler{{.memory = source}};
  auto const seen = profiler.run(net, {x.is(x0)}, {y.seed(1.0)});
  CHECK(seen.operations[0].work > 30 << 20);
  CHECK(seen.operations[0].work < 40 << 20);
  CHECK(seen.operations[0].adjoint_work < 4 << 20);
}

TEST_CASE("names of operations are those that are given, and evicted values make others dearer", "[profile]") {
  network of;
  std::vector<std::string> names;
  for (step_index v = 0; v < of.net.size(); ++v) names.push_back("part " + std::to_string(v));
  graph_profiler<> profiler{{.runs = 4, .names = names}};
  (void)profiler.run(of.net, of.inputs, of.seeds);
  CHECK(profiler.stats().nodes[2].node_name == "part 2(part 1)");
  auto const before = profiler.stats();
  std::vector<step_index> const evicted{2, 5};
  auto const& after = profiler.aggregate_stats(evicted);
  CHECK(after.nodes == before.nodes);
  double sum = 0, more = 0;
  for (auto const& row : before.activations) sum += row.recomp_time_s;
  for (auto const& row : after.activations) more += row.recomp_time_s;
  CHECK(more > sum);
  CHECK(profiler.aggregate_stats() == before);
}

TEST_CASE("measure, plan and run a chain in three lines, and its nodes have the bytes that a sweep counts",
          "[profile]") {
  auto const layer = [](double w) {
    return stage{[w](field const& x) {
                   field y(x.size() + 10);
                   for (std::size_t k = 0; k < y.size(); ++k) y[k] = w * x[k % x.size()];
                   return y;
                 },
                 [w](field const& x, field const& bar) {
                   field made(x.size());
                   for (std::size_t k = 0; k < bar.size(); ++k) made[k % x.size()] += w * bar[k];
                   return made;
                 }};
  };
  std::vector<decltype(layer(1))> stages(6, layer(0.9));
  field const x0(100, 1.0);
  auto const seed = [](field const& x) { return x; };
  graph_profiler profiler;
  auto const measured = profiler.run(stages, x0, seed);
  auto const plan = chain_planner{measured}.plan("9KB");
  auto const bar = chain_gradient(stages, x0, plan, seed);

  CHECK(chain_of(profiler.stats()) == measured);
  std::vector<action> all;
  for (step_index i = 0; i < 6; ++i) all.push_back(chain_actions::record(i));
  all.push_back(chain_actions::turn(6));
  for (step_index i = 6; i-- > 0;) all.push_back(chain_actions::reverse(i));
  std::size_t rank = 0;
  CHECK(chain_gradient(stages, x0, all, seed, [&](event const& e) {
          if (e.moment() == moment::before && e.what().kind != action_kind::done)
            CHECK(std::int64_t(e.bytes_held() + bytes_of(x0)) ==
                  profiler.stats().nodes[rank++].median_active_mem_bytes);
        }) == bar);
  CHECK(rank == 13);
  graph_profiler<> seeing{{.memory = of_heap()}};
  auto const seen = seeing.run(stages, x0, seed);
  for (std::size_t i = 0; i <= 6; ++i) {
    CHECK(seen.x[i] == measured.x[i]);
    CHECK(seen.b[i] >= measured.b[i]);
    CHECK(seen.b[i] < measured.b[i] + 1'000);
  }
}

TEST_CASE("the checkpoints of a loop live from their save to their last load", "[profile]") {
  auto const step = [](field& x, step_index) { for (double& one : x) one *= 1.01; };
  auto const adjoint = [](field const&, field& bar, step_index) { for (double& one : bar) one *= 1.01; };
  field const x0(1'000, 1.0), seed(1'000, 1.0);
  graph_profiler<ticking> profiler;
  auto const work = profiler.run(step, x0, revolve{8, 3}, seed, adjoint);
  CHECK(work.steps == 8);
  CHECK(work.state_bytes == bytes_of(x0));
  auto const& stats = profiler.stats();
  step_index turns = 0, adjoints = 0, steps = 0;
  bool turned = false;
  for (auto const& node : stats.nodes) {
    CHECK(node.rank == steps++);
    CHECK(node.median_run_time_s == 1e-6);
    CHECK(node.median_peak_mem_bytes >= node.median_active_mem_bytes);
    CHECK(node.gtype == (node.node_name.ends_with("turn") ? graph_type::other
                         : turned                         ? graph_type::backward
                                                          : graph_type::forward));
    if (node.node_name.ends_with("turn")) ++turns, turned = true;
    adjoints += node.type == node_type::grad;
  }
  CHECK(turns == 1);
  CHECK(adjoints == 8);
  REQUIRE_FALSE(stats.activations.empty());
  CHECK(stats.activations[0].activation_name == "state_0");
  CHECK(stats.activations[0].recomp_time_s == 0);  // it cannot be made again
  for (auto const& row : stats.activations) {
    CHECK(stats.nodes[std::size_t(row.creation_rank)].node_name == "save_" + row.activation_name.substr(6));
    CHECK(stats.nodes[std::size_t(row.last_bw_use_rank)].node_name == "load_" + row.activation_name.substr(6));
    CHECK(row.creation_rank <= row.last_fw_use_rank);
    CHECK(row.last_fw_use_rank < row.first_bw_use_rank);
    CHECK(row.first_bw_use_rank <= row.last_bw_use_rank);
    CHECK(row.inactive_time_s == Approx(1e-6 * double(row.first_bw_use_rank - row.last_fw_use_rank - 1)).margin(1e-12));
    CHECK(row.median_mem_size_bytes == std::int64_t(bytes_of(x0)));
  }
  auto const read = read_profile_csv(node_stats_csv(stats), activation_stats_csv(stats));
  CHECK(read == stats);
  CHECK_THROWS_AS(graph_of(stats), parse_error);
  CHECK(profiler.aggregate_stats() == read);
  CHECK(plan_within("100KB", work).schedule.steps() == 8);
}

TEST_CASE("a run that does not count comes first, and fewer than three that count are refused", "[profile]") {
  int calls = 0;
  auto const step = [&](double& x) { x += 1, ++calls; };
  auto const adjoint = [](double, double&) {};
  graph_profiler<ticking> once{{.runs = 3}}, twice{{.runs = 6}};
  (void)once.run(step, 0.0, store_all(5), 1.0, adjoint);
  int const three = std::exchange(calls, 0);
  (void)twice.run(step, 0.0, store_all(5), 1.0, adjoint);
  CHECK(calls - three == 3 * 5);
  CHECK_THROWS_AS(graph_profiler<>({.runs = 2}), invalid_plan);
}

TEST_CASE("the files of a profile are read back as they were", "[profile]") {
  auto const folder = fresh_folder("cairn_profile_files");
  network of;
  graph_profiler<> profiler;
  CHECK_THROWS_AS(profiler.aggregate_stats(), invalid_call);
  CHECK_THROWS_AS(profiler.save_stats_to_csv(folder), invalid_call);
  auto const measured = profiler.run(of.net, of.inputs, of.seeds);
  (void)profiler.aggregate_stats();
  profiler.save_stats_to_csv(folder);
  auto const read = read_stats_csv(folder);
  CHECK(read == profiler.stats());
  CHECK(graph_of(read) == measured);
  for (char const* name :
       {"profiler_stats_node_stats.csv", "profiler_stats_activation_stats.csv"})
    CHECK(std::filesystem::file_size(folder / name) > 100);
  CHECK_THROWS_AS(read_stats_csv(folder / "none"), invalid_call);
  CHECK_THROWS_AS(profiler.save_stats_to_csv(folder / "profiler_stats_node_stats.csv"), invalid_call);
  std::filesystem::remove_all(folder);
}
