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
#include <cairn/adapt/torch/graph/detail/capture_cache.hpp>
#include <cairn/adapt/torch/graph/detail/graph_measures.hpp>
#include <cairn/adapt/torch/graph/detail/graph_sweep.hpp>
#include <cairn/adapt/torch/graph/module_report.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/plan/graph/replay.hpp>

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
};
/// Makes the plan of a call from the measured bytes and times of its operations.
using call_planner = std::function<call_plan(operation_graph const& measured)>;

/// The fastest plan for a call within a limit in bytes.
/// \throws infeasible_budget   with the least feasible limit
[[nodiscard]] inline graph_plan plan_call(operation_graph const& measured, std::int64_t limit, char const* who) {
  try {
    return graph_planner{measured}.plan(limit);
  } catch (infeasible_budget const&) {  // the limit is below the least that was found with these times
  }
  auto alike = measured;  // times differ from one measurement to the next; the least limit must not
  for (auto& one : alike.operations) one.time = one.adjoint_time = 1;
  graph_planner planner{alike};
  if (auto const least = planner.least_budget(); limit < least)
    throw infeasible_budget{who,
                            "the call does not fit the memory limit",
                            {{"limit", limit}, {"least", least}, {"operations", measured.size()}},
                            "give the least, or more; parameters, inputs and their gradients are not counted"};
  auto plan = planner.plan(limit);
  plan.cost = replay(measured, plan.actions);
  plan.lower_bound_time = plan.cost.makespan - plan.cost.extra_forward;
  plan.is_exact = false;
  return plan;
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
      auto planned = plan(measured);
      made->report.plan = std::move(planned.plan);
      auto const live = live_bytes(measured);
      made->report.plain_peak = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
      made->report.predicted_peak = made->report.plan.cost.peak;
      made->program =
          std::make_shared<graph_program const>(*captured->graph, measured, made->report.plan.actions, rng_, who_,
                                                std::move(planned.told));
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
