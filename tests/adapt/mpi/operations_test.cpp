// SPDX-License-Identifier: Apache-2.0
// Chains and graphs that ranks run together: the bits of the verbs without ranks, one plan on all, and one error on
// all.
#include <cairn/adapt/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/graph.hpp>
#include "adapt/mpi/ranks.hpp"

namespace {

using namespace ranks;
using cairn::collective;
using cairn::collective_cause;

constexpr step_index stages = 12;

struct heat : ring_of_24 {
  [[nodiscard]] auto chain() const {
    return cairn::indexed_stages{stages, cairn::stage{[this](state const& x, step_index i) {
                                                        state y = x;
                                                        step(y, i);
                                                        return y;
                                                      },
                                                      [this](state const& x, state& bar, step_index i) {
                                                        adjoint(x, bar, i);
                                                      }}};
  }
};

/// Plans within so many bytes for stages or operations of one byte each.
auto chain_plan(std::int64_t budget) {
  std::vector<std::int64_t> const ones(std::size_t(stages), 1), more(std::size_t(stages) + 1, 1);
  cairn::chain const sizes{.x = more, .s = ones, .f = {}, .b = {}, .u = ones, .v = more};
  return cairn::chain_planner{sizes}.plan(budget);
}

/// The chain as a graph of operations.
struct heat_graph {
  explicit heat_graph(heat const& h) {
    last = x;
    for (step_index i = 0; i < stages; ++i)
      last = net.add(
          cairn::adjoint_reads::inputs,
          [&h, i](state const& v) {
            state y = v;
            h.step(y, i);
            return y;
          },
          [&h, i](state const& v, state const& bar, cairn::graph_adjoint<state>& vbar) {
            state own = bar;
            h.adjoint(v, own, i);
            vbar += std::move(own);
          },
          last);
  }
  cairn::graph_builder net;
  cairn::graph_value<state> x = net.input<state>(), last = x;

  /// So many bytes above the least.
  [[nodiscard]] auto plan(std::int64_t more) const {
    cairn::operation_graph sizes = net.graph();
    for (auto& one : sizes.operations) one.bytes = 8, one.time = one.adjoint_time = 1;
    cairn::graph_planner planner{sizes};
    return planner.plan(planner.least_budget() + more);
  }
};

void a_chain_has_the_bits_of_the_chain_alone() {
  heat const h;
  auto const plan = chain_plan(6);
  claim(plan.actions.size() > std::size_t(2 * stages + 1), "some stages run again");
  auto const net = h.chain();
  collective const with{MPI_COMM_WORLD};
  auto const all = cairn::chain_gradient(net, h.x0, plan, h.seed);
  claim(cairn::chain_gradient(net, h.x0, plan, h.seed, with) == all);
  claim(with.compared() == cairn::plan_comparison::fingerprint);
  claim(cairn::chain_gradient(net, h.x0, plan.actions, h.seed, with.every(1)) == all, "a bare list of actions");
  int seen = 0, watched = 0;
  cairn::sweep_failure failure;
  cairn::sweep_options const checked{.verify = cairn::replay_check::checkpoints};
  claim(cairn::chain_gradient(net, h.x0, plan, h.seed, with, checked, [&](cairn::event const&) { ++seen; }) == all);
  claim(cairn::chain_gradient(net, h.x0, plan, h.seed, with.every(2), failure,
                              [&](cairn::event const&) { ++watched; }, checked) == all);
  claim(seen > 0 && seen == watched);
  cairn::sweep_report report;  // in any order
  claim(cairn::chain_gradient(net, h.x0, plan, h.seed, checked, report, with) == all);
  claim(report.steps == stages && report.state_bytes > 0);
  claim(cairn::chain_gradient(net, h.x0, plan, h.seed, with.every(2), cairn::no_observer{}) == all);
}

void a_graph_has_the_bits_of_the_graph_alone() {
  heat const h;
  heat_graph const g{h};
  collective const with{MPI_COMM_WORLD};
  auto const plan = g.plan(16);
  claim(plan.cost.runs > stages, "some operations run again");
  auto const of = [&](cairn::graph_adjoints bars) { return bars.of(g.x); };
  auto const all = of(cairn::graph_gradient(g.net, {g.x.is(h.x0)}, plan, {g.last.seed(h.seed)}));
  claim(of(cairn::graph_gradient(g.net, {g.x.is(h.x0)}, plan, {g.last.seed(h.seed)}, with)) == all);
  int seen = 0;
  claim(of(cairn::graph_gradient(g.net, {g.x.is(h.x0)}, plan, {g.last.seed(h.seed)}, with.every(3),
                                 [&](cairn::event const&) { ++seen; })) == all);
  claim(seen > 0);
  cairn::sweep_report report;
  claim(of(cairn::graph_gradient(g.net, {g.x.is(h.x0)}, plan, {g.last.seed(h.seed)}, report, with)) == all);
  claim(report.step_calls == cairn::wide(plan.cost.runs) && report.state_bytes > 0);
}

void plans_that_differ_run_nothing() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  if (h.size == 1) return;
  int calls = 0;
  auto const counted = cairn::indexed_stages{stages, cairn::stage{[&](state const& x, step_index) {
                                                                    ++calls;
                                                                    return x;
                                                                  },
                                                                  [](state const&, state&, step_index) {}}};
  auto const other = thrown_by([&] {
    (void)cairn::chain_gradient(counted, h.x0, chain_plan(h.rank == 1 ? 5 : 6), h.seed, with);
  });
  claim(other.any && other.cause == collective_cause::other_plan && other.rank == 1 && calls == 0, other.text);
  claim(alike(other.text) && other.text.find("cairn::chain_gradient") != std::string::npos, other.text);
  heat_graph const g{h};
  auto const too = thrown_by([&] {
    (void)cairn::graph_gradient(g.net, {g.x.is(h.x0)}, g.plan(h.rank == 1 ? 24 : 16), {g.last.seed(h.seed)}, with);
  });
  claim(too.any && too.cause == collective_cause::other_plan && too.rank == 1, too.text);
}

void what_one_rank_throws_is_thrown_on_all() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  int const thrower = h.size - 1;
  for (step_index at = 0; at < stages; ++at) {
    auto const failing = cairn::indexed_stages{
        stages, cairn::stage{[&](state const& x, step_index i) {
                               if (h.rank == thrower && i == at) throw std::runtime_error{"stage " + std::to_string(i)};
                               return x;
                             },
                             [](state const&, state&, step_index) {}}};
    for (bool const between : {false, true}) {
      auto const seen = thrown_by([&] {
        if (between) (void)cairn::chain_gradient(failing, h.x0, chain_plan(6), h.seed, with.every(1));
        else (void)cairn::chain_gradient(failing, h.x0, chain_plan(6), h.seed, with);
      });
      claim(seen.any && seen.rank == thrower && seen.cause == collective_cause::exception, seen.text);
      claim(alike(seen.text) && seen.text.find("stage " + std::to_string(at)) != std::string::npos, seen.text);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ranks::run(argc, argv, a_chain_has_the_bits_of_the_chain_alone, a_graph_has_the_bits_of_the_graph_alone,
                    plans_that_differ_run_nothing, what_one_rank_throws_is_thrown_on_all);
}
