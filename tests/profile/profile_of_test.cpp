// SPDX-License-Identifier: Apache-2.0
// Profiles of graphs and chains: when activations are used, what is there at each node, and the tables that say so.
#include <cairn/profile/profile_csv.hpp>
#include <cairn/profile/profile_of.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/graph/liveness.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/graph_kinds.hpp"
#include "support/residual_block.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

operation_graph with_adjoint_bytes(operation_graph graph) {
  for (auto& of : graph.operations)
    if (of.adjoint_bytes < 0) of.adjoint_bytes = of.bytes;
  return graph;
}
chain with_all_lists(chain c) {
  if (c.g.empty()) c.g = c.x;
  if (c.f.empty()) c.f.assign(c.s.size(), 0);
  if (c.b.empty()) c.b.assign(c.x.size(), 0);
  if (c.v.empty()) c.v.assign(c.x.size(), 0);
  return c;
}
/// Calls f(graph, seed) for graphs of all kinds and several sizes, some with tapes and some whose adjoints read only
/// some of their inputs.
template <class F>
void for_graphs(F f) {
  for (auto const kind : graphs::all_kinds)
    for (int size : {0, 1, 2, 7, 24})
      for (unsigned seed = 0; seed < 6; ++seed) {
        CAPTURE(graphs::name_of(kind), size, seed);
        auto graph = graphs::make(kind, size, seed, seed % 2 == 1);
        if (seed >= 4) graph = graphs::with_flags(std::move(graph), seed);
        for (std::size_t v = 0; v < graph.operations.size(); v += 3)
          graph.operations[v].tape_bytes = std::int64_t(v + seed) % 5;
        f(graph, seed);
      }
}
/// Bytes of one type while the node of a rank runs, or before it, by the words of `operation_graph` alone.
struct judge {
  operation_graph const& graph;
  std::size_t n = graph.operations.size();

  [[nodiscard]] bool reads(std::size_t w, std::size_t v) const {  // w = n is the loss
    auto const in = [&](std::vector<step_index> const& list) {
      return std::find(list.begin(), list.end(), step_index(v)) != list.end();
    };
    if (w < n) return in(graph.operations[w].inputs);
    if (!graph.outputs.empty()) return in(graph.outputs);
    for (std::size_t other = 0; other < n; ++other)
      if (in(graph.operations[other].inputs)) return false;
    return true;
  }
  [[nodiscard]] bool adjoint_reads(std::size_t w, std::size_t v) const {
    if (w == n) return reads(n, v);
    auto const& of = graph.operations[w];
    for (std::size_t place = 0; place < of.inputs.size(); ++place)
      if (of.inputs[place] == step_index(v) && of.adjoint_needs_inputs[place]) return true;
    return of.adjoint_needs_output && w == v;
  }
  [[nodiscard]] std::size_t last_use(std::size_t v) const {
    std::size_t last = v;
    for (std::size_t w = 0; w <= n; ++w) {
      if (reads(w, v)) last = std::max(last, w);
      if (adjoint_reads(w, v)) last = std::max(last, 2 * n - w);
    }
    return last;
  }
  [[nodiscard]] std::int64_t adjoint_bytes(std::size_t v) const {
    auto const& of = graph.operations[v];
    return of.adjoint_bytes < 0 ? of.bytes : of.adjoint_bytes;
  }
  /// \param during  whether what the node makes is there
  [[nodiscard]] std::int64_t values(std::size_t rank, bool during) const {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < n; ++v) {
      if ((during ? v <= rank : v < rank) && rank <= last_use(v)) sum += graph.operations[v].bytes;
      if ((during ? v <= rank : v < rank) && rank <= 2 * n - v) sum += graph.operations[v].tape_bytes;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t adjoints(std::size_t rank, bool during) const {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t first = v;
      for (std::size_t w = 0; w <= n; ++w)
        if (reads(w, v)) first = w;
      std::size_t const made = 2 * n - first;
      if ((during ? made <= rank : made < rank) && rank <= 2 * n - v) sum += adjoint_bytes(v);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t work(std::size_t rank) const {
    return rank < n    ? graph.operations[rank].work
           : rank == n ? graph.loss_work
                       : graph.operations[2 * n - rank].adjoint_work;
  }
};
std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream from{text};
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}
std::string said_by(std::string const& nodes, std::string const& activations) {
  try {
    (void)graph_of(read_profile_csv(nodes, activations));
  } catch (error const& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("the profile of a residual block is what one counts by hand", "[profile]") {
  auto const stats = profile_of(residual_block());
  REQUIRE(stats.nodes.size() == 4 + 1 + 4 + 1);
  std::vector<std::string> names;
  for (auto const& node : stats.nodes) names.push_back(node.node_name);
  CHECK(names == std::vector<std::string>{"conv()", "relu(conv)", "norm(relu)", "add(conv, norm)", "loss()",
                                          "add.backward()", "norm.backward(inputs, output)", "relu.backward(tape)",
                                          "conv.backward(inputs, output)", "output"});
  CHECK(stats.nodes[1] ==
        node_stats{1, "relu(conv)", node_type::act, graph_type::forward, 2e-6, 10 + 20 + 3 + 6, 10, "cpu"});
  CHECK(stats.nodes[3].type == node_type::other);  // no adjoint reads the sum
  CHECK(stats.nodes[4] ==
        node_stats{4, "loss()", node_type::other, graph_type::other, 1e-4, 63 + 40 + 40, 63 + 40, "cpu"});
  CHECK(stats.nodes[5].median_active_mem_bytes == 63 + 40);  // the sum is gone, its adjoint is there
  CHECK(stats.nodes[6] == node_stats{6, "norm.backward(inputs, output)", node_type::grad, graph_type::backward, 4e-5,
                                     63 + 10 + 30 + 20 + 7, 63 + 10 + 30, "cpu"});
  CHECK(stats.nodes[7].median_active_mem_bytes == 10 + 3 + 10 + 20);
  CHECK(stats.nodes[9].median_peak_mem_bytes == 0);
  REQUIRE(stats.activations.size() == 4);
  CHECK(stats.activations[0] == activation_stats{"conv", 0, 3, 8, 8, 10, 2.4e-4, 1e-6, 10});
  CHECK(stats.activations[1] == activation_stats{"relu", 1, 2, 6, 6, 20, (8 + 100 + 80) / 1e6, 2e-6, 26});
  CHECK(stats.activations[2] == activation_stats{"relu.tape", 1, 1, 7, 7, 3, (4 + 8 + 100 + 80 + 40) / 1e6, 2e-6, 29});
  CHECK(stats.activations[3].activation_name == "norm");

  std::vector<step_index> const evicted{0};  // relu is made again from it
  auto const again = profile_of(residual_block(), evicted);
  CHECK(again.nodes == stats.nodes);
  CHECK(again.activations[1] == activation_stats{"relu", 1, 2, 6, 6, 20, (8 + 100 + 80) / 1e6, 3e-6, 10 + 20 + 6});
  CHECK(again.activations[2].recomp_time_s == 3e-6);
  CHECK(again.activations[2].recomp_memory_bytes == 10 + 20 + 3 + 6);
}

TEST_CASE("what is active, the peaks and their parts are those that the words of a graph say", "[profile]") {
  for_graphs([](operation_graph const& graph, unsigned) {
    judge const by{graph};
    auto const stats = profile_of({.graph = graph});
    std::size_t const n = graph.operations.size();
    REQUIRE(stats.nodes.size() == 2 * n + 2);
    std::int64_t peak = 0;
    for (std::size_t rank = 0; rank <= 2 * n; ++rank) {
      auto const& node = stats.nodes[rank];
      CAPTURE(node.node_name);
      CHECK(node.median_active_mem_bytes == by.values(rank, false) + by.adjoints(rank, false));
      CHECK(node.median_peak_mem_bytes == by.values(rank, true) + by.adjoints(rank, true) + by.work(rank));
      peak = std::max(peak, node.median_peak_mem_bytes);
    }
    auto const parts = breakdown_of(stats);
    CHECK(parts.peak == peak);
    CHECK(parts[node_type::param] + parts[node_type::act] + parts[node_type::grad] + parts[node_type::opt_state] +
              parts[node_type::other] ==
          peak);
    std::size_t const summit = std::size_t(parts.rank);
    CHECK(parts[node_type::grad] == by.adjoints(summit, true));
    CHECK(parts[node_type::param] == 0);
    std::int64_t activations = 0;
    for (std::size_t v = 0; v < n; ++v) {
      if (v <= summit && summit <= by.last_use(v) && by.last_use(v) > n) activations += graph.operations[v].bytes;
      if (v <= summit && summit <= 2 * n - v) activations += graph.operations[v].tape_bytes;
    }
    CHECK(parts[node_type::act] == activations);
    CHECK(parts[node_type::other] == by.values(summit, true) - activations + by.work(summit));
    for (auto const& row : stats.activations) {
      CHECK(row.creation_rank <= row.last_fw_use_rank);
      CHECK(row.last_fw_use_rank < row.first_bw_use_rank);
      CHECK(row.first_bw_use_rank <= row.last_bw_use_rank);
    }
  });
}

TEST_CASE("a graph that is read back from its tables is the same", "[profile]") {
  for_graphs([](operation_graph const& graph, unsigned seed) {
    profiled_graph all{.graph = graph};
    if (seed % 3 == 2) {  // with leaves, which several operations read
      all.leaves = {{"w", node_type::param, 100}, {"x", node_type::other, 50}, {"state", node_type::opt_state, 200}};
      all.reads.resize(graph.operations.size());
      for (std::size_t v = 0; v < all.reads.size(); ++v)
        all.reads[v] = v % 2 == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{1, 0};
      all.updates = {{"step", 5'000, 30}};
    }
    auto const stats = profile_of(all);
    auto const read = read_profile_csv(node_stats_csv(stats), activation_stats_csv(stats));
    CHECK(read == stats);
    CHECK(graph_of(read) == with_adjoint_bytes(graph));
  });
}

TEST_CASE("a chain that is read back from its tables is the same", "[profile]") {
  for (auto const kind : chains::all_kinds)
    for (int stages : {0, 1, 2, 9, 30})
      for (unsigned seed = 0; seed < 4; ++seed) {
        CAPTURE(chains::name_of(kind), stages, seed);
        auto c = with_all_lists(chains::make(kind, stages, seed));
        c.self_contained_tape = stages > 0 && seed % 2 == 1;
        auto const stats = profile_of(c);
        auto const read = read_profile_csv(node_stats_csv(stats), activation_stats_csv(stats));
        CHECK(read == stats);
        CHECK(chain_of(read) == c);
        std::vector<action> plan;
        for (step_index i = 0; i < stages; ++i) plan.push_back(chain_actions::record(i));
        plan.push_back(chain_actions::turn(stages));
        for (step_index i = stages; i-- > 0;) plan.push_back(chain_actions::reverse(i));
        auto const parts = breakdown_of(stats);
        CHECK(parts.peak == std::max(replay(c, plan).peak, c.g[0]) + c.x[0]);
        for (auto const& row : stats.activations) {  // the ranks of two sequences in one line of time
          auto const i = row.creation_rank;
          bool const is_tape = row.activation_name.ends_with(".tape");
          CHECK(row.last_fw_use_rank == (is_tape ? i : i + 1));
          bool const is_read_first = !is_tape && !c.self_contained_tape && i + 1 < stages;
          CHECK(row.first_bw_use_rank == 2 * stages - i - (is_read_first ? 1 : 0));
          CHECK(row.last_bw_use_rank == 2 * stages - i);
        }
      }
}

TEST_CASE("parameters, their gradients and the optimiser are counted beside the graph", "[profile]") {
  profiled_graph all{
      .graph = {.operations = {{.bytes = 8, .adjoint_bytes = 8}, {.inputs = {0}, .bytes = 4, .adjoint_bytes = 4}}}};
  all.leaves = {{"w", node_type::param, 100}, {"x", node_type::other, 50}, {"moments", node_type::opt_state, 200}};
  all.reads = {{1, 0}, {0}};
  all.updates = {{"adam", 7'000, 1'000}};
  all.device = "cuda:0";
  auto const stats = profile_of(all);
  REQUIRE(stats.nodes.size() == 3 + 5 + 1 + 1);
  CHECK(stats.nodes[3].node_name == "op_0(x, w)");
  CHECK(stats.nodes[3].median_active_mem_bytes == 350);
  CHECK(stats.nodes[6].node_name == "op_1.backward(inputs, output)");
  CHECK(stats.nodes[6].median_peak_mem_bytes - stats.nodes[6].median_active_mem_bytes ==
        8 + 100);  // the gradient of w is begun
  CHECK(stats.nodes[7].median_peak_mem_bytes - stats.nodes[7].median_active_mem_bytes == 0);
  CHECK(stats.nodes[8] ==
        node_stats{8, "adam", node_type::opt_state, graph_type::other, 7e-6, 450 + 1'000, 450, "cuda:0"});
  auto const parts = breakdown_of(stats);
  CHECK(parts == peak_breakdown{8, 1'450, {100, 0, 100, 200, 50 + 1'000}});
}

TEST_CASE("the tables have exactly their columns, numbers in each cell, and quotes where names need them",
          "[profile]") {
  auto all = residual_block();
  all.names[0] = "the \"first\"; conv";
  all.leaves = {{"w \"2\"", node_type::param, 8}};
  all.graph.operations[0].time = 1'234'567'891'011;
  auto const stats = profile_of(all);
  auto const nodes = node_stats_csv(stats), activations = activation_stats_csv(stats);
  CHECK(lines_of(nodes)[0] ==
        "rank,node_name,node_type,gtype,median_run_time_s,median_peak_mem_bytes,median_active_mem_bytes,device");
  CHECK(lines_of(activations)[0] ==
        "activation_name,creation_rank,last_fw_use_rank,first_bw_use_rank,last_bw_use_rank,median_mem_size_bytes,"
        "inactive_time_s,recomp_time_s,recomp_memory_bytes");
  CHECK(lines_of(nodes).size() == 1 + stats.nodes.size());
  CHECK(lines_of(activations).size() == 1 + stats.activations.size());
  CHECK(lines_of(nodes)[1] == "0,\"w \"\"2\"\"\",PARAM,other,0,8,0,cpu");
  CHECK(lines_of(nodes)[5] == "4,\"add(the \"\"first\"\"; conv, norm)\",OTHER,forward,8e-06,111,71,cpu");
  for (auto const& text : {nodes, activations}) {
    CHECK_FALSE(text.find("nan") != text.npos);
    CHECK_FALSE(text.find("inf,") != text.npos);
    CHECK_FALSE(text.find(",,") != text.npos);
  }
  CHECK(read_profile_csv(nodes, activations) == stats);
  std::string marked = "\xEF\xBB\xBF";  // as a spreadsheet writes it
  for (char const c : nodes) marked += c == '\n' ? std::string{"\r\n"} : std::string{c};
  CHECK(read_profile_csv(marked, activations) == stats);
  CHECK(graph_of(read_profile_csv(nodes, activations)) == all.graph);
}

TEST_CASE("a table that is not one of a profile is refused with its line", "[profile]") {
  auto const stats = profile_of(residual_block());
  auto const nodes = node_stats_csv(stats), activations = activation_stats_csv(stats);
  CHECK(said_by(nodes, activations) == "");
  auto const with = [&](std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    REQUIRE(at != text.npos);
    return text.replace(at, from.size(), to);
  };
  CHECK_THAT(said_by(activations, nodes), ContainsSubstring("a table of a profile has the wrong columns (line = 1)"));
  CHECK_THAT(said_by(with(nodes, ",cpu", ""), activations), ContainsSubstring("too few or too many cells (line = 2)"));
  CHECK_THAT(said_by(with(nodes, "1e-06", "nan"), activations), ContainsSubstring("is not a time (line = 2)"));
  CHECK_THAT(said_by(with(nodes, "1e-06", "-1"), activations), ContainsSubstring("is not a time (line = 2)"));
  CHECK_THAT(said_by(with(nodes, "\n1,", "\n1.5,"), activations),
             ContainsSubstring("is not a whole number (line = 3)"));
  CHECK_THAT(said_by(with(nodes, "\n1,", "\n7,"), activations), ContainsSubstring("the ranks of a profile are not"));
  CHECK_THAT(said_by(with(nodes, "ACT", "PARAMS"), activations),
             ContainsSubstring("has a word that its column does not allow (line = 2)"));
  CHECK_THAT(said_by(with(nodes, "\"conv.backward(inputs, output)\"", "\"conv.backward(inputs, output)"), activations),
             ContainsSubstring("a quote of a profile has no end"));
  CHECK_THAT(said_by(with(nodes, "relu(conv)", "relu(other)"), activations),
             ContainsSubstring("reads what no node before it makes (rank = 1)"));
  CHECK_THAT(said_by(with(nodes, "relu.backward(tape)", "relu.backward(mask)"), activations),
             ContainsSubstring("reads what its run does not leave (rank = 7)"));
  CHECK_THAT(said_by(with(nodes, "relu.backward(tape)", "norm.backward(tape)"), activations),
             ContainsSubstring("is not that of the run in its place"));
  CHECK_THAT(said_by(with(nodes, "\"add(conv, norm)\"", "\"norm(conv, norm)\""), activations),
             ContainsSubstring("two runs have the same name"));
  CHECK_THAT(said_by(with(nodes, "relu(conv)", "relu"), activations),
             ContainsSubstring("a run does not say what it reads"));
  CHECK_THAT(said_by(with(nodes, "loss()", "lost()"), activations),
             ContainsSubstring("is not that of a sweep over a graph"));
  CHECK_THAT(said_by(nodes, with(activations, "conv,0,3,8,8,10", "conv,0,3,8,8,11")),
             ContainsSubstring("do not match the nodes"));
  CHECK_THAT(said_by(with(nodes, ",10,cpu", ",9999,cpu"), activations),
             ContainsSubstring("the bytes of the nodes do not follow from one another") ||
             ContainsSubstring("do not match the nodes"));
  CHECK_THAT(said_by(with(nodes, ",10,cpu", ",9000000000000000000,cpu"), activations),
             ContainsSubstring("the sums of this profile exceed 2^60"));
  CHECK_THAT(said_by(with(nodes, "1e-06", "1e+300"), activations),
             ContainsSubstring("the sums of this profile exceed 2^60"));
  CHECK_THROWS_AS(chain_of(stats), parse_error);
  CHECK_THROWS_AS(graph_of({}), parse_error);
  auto wrong = residual_block();
  wrong.names[1] = "conv";
  CHECK_THROWS_AS(profile_of(wrong), invalid_call);
  wrong.names[1] = "a(b)";
  CHECK_THROWS_AS(profile_of(wrong), invalid_call);
  wrong.names.pop_back();
  CHECK_THROWS_AS(profile_of(wrong), invalid_call);
}
