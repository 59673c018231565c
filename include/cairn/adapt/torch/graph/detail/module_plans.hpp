// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file module_plans.hpp  The plans of a module's calls. Each kind of call is captured, measured and planned once.
#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/graph/detail/call_trial.hpp>
#include <cairn/adapt/torch/graph/detail/capture_cache.hpp>
#include <cairn/adapt/torch/graph/detail/graph_measures.hpp>
#include <cairn/adapt/torch/graph/detail/graph_sweep.hpp>
#include <cairn/adapt/torch/graph/module_report.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/graph/replay.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn::libtorch::detail {

/// One kind of call and its plan.
struct planned_call {
  std::shared_ptr<captured_call const> captured;
  std::any like;                                  ///< what the call returns, with undefined tensors
  std::int64_t limit = 0;
  std::shared_ptr<graph_program const> program;   ///< null if the call cannot be captured
  ModuleReport report;                            ///< without the counts of captures and plans
};

/// A plan for a call, and a function to be called before each run and adjoint after the loss; it may be empty.
struct call_plan {
  graph_plan plan;
  std::function<void(action const&)> told = {};
  std::int64_t peak = plan.cost.peak;  ///< bytes, as the plan has them or as a whole call was counted
  bool as_it_is = false;               ///< whether autograd runs the call without the plan
};
/// Counts the bytes of a whole call by a plan, or as it is; the largest number if it takes more than `most`. Empty if
/// bytes cannot be counted now.
using call_counter = std::function<std::int64_t(graph_plan const& plan, bool as_it_is, std::int64_t most)>;
/// Makes the plan of a call from the measured bytes and times of its operations.
using call_planner = std::function<call_plan(operation_graph const& measured, call_counter const& count)>;

/// Bytes that the plain call keeps between its forward run and its backward pass.
[[nodiscard]] inline std::int64_t kept_bytes(operation_graph const& graph) {
  std::vector<bool> kept(graph.operations.size());
  std::int64_t bytes = 0;
  for (auto const v : graph.outputs) kept[std::size_t(v)] = true;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    auto const& one = graph.operations[v];
    bytes += one.tape_bytes;
    if (one.adjoint_needs_output) kept[v] = true;
    for (std::size_t k = 0; k < one.inputs.size(); ++k)
      if (one.adjoint_needs_inputs[k]) kept[std::size_t(one.inputs[k])] = true;
  }
  for (std::size_t v = 0; v < kept.size(); ++v) if (kept[v]) bytes += graph.operations[v].bytes;
  return bytes;
}

/// The fastest plan for a call within a limit in bytes. The bytes of whole calls are counted only where they may
/// decide: where operations would run again although the plain call may fit, and where the limit would be refused.
/// \throws infeasible_budget   with the least feasible limit
[[nodiscard]] inline call_plan plan_call(operation_graph const& measured, std::int64_t limit, char const* who,
                                         call_counter const& count) {
  graph_planner planner{measured};
  std::optional<graph_plan> found;
  try {
    found = planner.plan(limit);
  } catch (infeasible_budget const&) {  // the limit is below the least that was found with these times
  }
  if (found && found->cost.runs == measured.size()) return {std::move(*found)};
  std::int64_t least = limit;
  if (!found) {
    auto alike = measured;  // times differ from one measurement to the next; the least limit must not
    for (auto& one : alike.operations) one.time = one.adjoint_time = 1;
    graph_planner even{alike};
    least = even.least_budget();
    auto const use = [&](graph_plan plan) {
      found = std::move(plan);
      found->cost = replay(measured, found->actions);
      found->lower_bound_time = found->cost.makespan - found->cost.extra_forward;
      found->is_exact = false;
    };
    use(even.plan((std::max)(limit, least)));
    if (limit < least && count) least = (std::min)(least, count(*found, false, least));
    // Work is the most of runs with and without a tape: one without may have taken the tape's memory as work. A graph
    // that leaves this out shows what such an operation hides, and its plan is counted.
    bool one_decides = false;
    for (auto& one : alike.operations) {
      one_decides = one_decides || (one.tape_bytes > 0 && one.bytes + one.work + one.tape_bytes > least / 4 * 3);
      one.work -= (std::min)(one.work, one.tape_bytes);
    }
    if (limit < least && count && one_decides) {
      graph_planner lean{alike};
      auto plan = lean.plan(lean.least_budget());
      if (auto const bytes = count(plan, false, least - 1); bytes < least) {
        least = bytes;
        use(std::move(plan));
      }
    }
  }
  if (count && kept_bytes(measured) <= (std::max)(limit, least)) {
    auto const live = live_bytes(measured);
    call_plan plain{planner.plan(live.empty() ? 0 : *std::max_element(live.begin(), live.end()))};
    for (bool const as_it_is : {false, true}) {
      plain.peak = count(plain.plan, as_it_is, (std::max)(limit, least));
      plain.as_it_is = as_it_is;
      if (plain.peak <= limit) return plain;
      least = (std::min)(least, plain.peak);
    }
  }
  if (limit < least)
    throw infeasible_budget{who,
                            "the call does not fit the memory limit",
                            {{"limit", limit}, {"least", least}, {"operations", measured.size()}},
                            "give the least, or more; parameters, inputs and their gradients are not counted"};
  call_plan lean{std::move(*found)};
  if (lean.peak > limit) lean.peak = least;
  return lean;
}

/// The plans of one module or function. Threads may share it; only one plans at a time.
class module_plans {
 public:
  /// \param who  the name of the caller, for errors
  module_plans(Rng rng, char const* who) : rng_{rng}, who_{who} {}

  /// Returns the plan of a call. Captures, measures and plans the call if there is none yet.
  /// \param constants  the arguments of the call that are not tensors, as numbers
  /// \param like  filled while `call` runs   \param module  may be null
  /// \param limit  in bytes; each limit has a plan of its own
  [[nodiscard]] std::shared_ptr<planned_call const> of(tensor_call const& call, tensor_list const& inputs,
                                                       std::vector<std::int64_t> const& constants, std::any const& like,
                                                       torch::nn::Module const* module, std::int64_t limit,
                                                       call_planner const& plan) {
    std::lock_guard const lock{access_};
    std::optional<byte_meter> meter;
    if (byte_meter::possible()) meter.emplace();
    if (captures_.size() > most) captures_.clear();
    auto captured = captures_[constants].of(call, inputs, module);
    if (captured->graph != nullptr && !like.has_value() && !knows(*captured)) {  // its plans and `like` were dropped
      captures_.clear();
      captured = captures_[constants].of(call, inputs, module);
    }
    for (auto at = plans_.begin(); at != plans_.end(); ++at) {
      if ((*at)->captured != captured || (*at)->limit != limit) continue;
      plans_.splice(plans_.begin(), plans_, at);
      return last_ = plans_.front();
    }
    auto const made = std::make_shared<planned_call>();
    made->captured = captured;
    made->limit = limit;
    made->like = like;
    if (captured->graph == nullptr) {
      made->report.notice = captured->refused;
    } else {
      for (auto const& other : plans_)  // one with another limit was measured already
        if (other->captured == captured) made->like = other->like, made->report.graph = other->report.graph;
      auto& measured = made->report.graph;
      if (measured.operations.empty()) measured = measured_graph(*captured->graph, inputs);
      std::optional<call_trial> trial;
      call_counter count;
      if (byte_meter::possible())
        count = [&](graph_plan const& by, bool as_it_is, std::int64_t allowed) {
          if (!trial) trial.emplace(*captured->graph, inputs);
          graph_program one{*captured->graph, measured, by.actions, Rng::Ignore, who_};  // its numbers are not used
          one.as_it_is = as_it_is;
          std::int64_t result_bytes = 0;
          for (auto const v : measured.outputs) result_bytes += measured.operations[std::size_t(v)].bytes;
          return trial->peak(std::move(one), allowed, result_bytes);
        };
      auto planned = plan(measured, count);
      made->report.plan = std::move(planned.plan);
      auto const live = live_bytes(measured);
      made->report.plain_peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
      made->report.predicted_peak = planned.peak;
      graph_program program{*captured->graph, measured, made->report.plan.actions, rng_, who_, std::move(planned.told)};
      program.as_it_is = planned.as_it_is;
      made->program = std::make_shared<graph_program const>(std::move(program));
      ++plans_made_;
    }
    if (meter) made->report.planning_peak = meter->peak();
    plans_.push_front(made);
    if (plans_.size() > most) plans_.pop_back();
    return last_ = made;
  }
  /// The report of the last call, with the counts of all calls.
  [[nodiscard]] ModuleReport report() const {
    std::lock_guard const lock{access_};
    ModuleReport all = last_ ? last_->report : ModuleReport{};
    for (auto const& one : plans_) if (all.notice.empty()) all.notice = one->report.notice;
    for (auto const& [constants, cache] : captures_) all.captures += cache.captures();
    all.plans_made = plans_made_;
    return all;
  }
  /// Forgets everything: the next call is captured again.
  void clear() {
    std::lock_guard const lock{access_};
    captures_.clear();
    plans_.clear();
    last_.reset();
  }

 private:
  static constexpr std::size_t most = 8;  ///< plans kept at the same time

  [[nodiscard]] bool knows(captured_call const& captured) const {
    return std::any_of(plans_.begin(), plans_.end(), [&](auto const& one) { return one->captured.get() == &captured; });
  }

  Rng rng_;
  char const* who_;
  mutable std::mutex access_;
  std::map<std::vector<std::int64_t>, capture_cache> captures_;
  std::list<std::shared_ptr<planned_call const>> plans_;
  std::shared_ptr<planned_call const> last_;
  std::uint64_t plans_made_ = 0;
};

}  // namespace cairn::libtorch::detail
