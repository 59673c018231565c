// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_executor.hpp  Drives a user's engine block by block, forward and backward.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// The work of an engine over stages [first, last). Each forward run begins at a state that the engine has: the last
/// state of the previous run, or the first state of an earlier run. The engine keeps the first state of each run until
/// `run_backward` has reversed that stage. Each recorded run is followed immediately by `run_backward` of the same
/// stages; before the first `run_backward` the engine makes the adjoint of the last state.
struct execution_callbacks {
  std::function<void(step_index first, step_index last)> run_forward;   ///< runs the stages
  std::function<void(step_index first, step_index last)> run_backward;  ///< runs the adjoints of the stages, the last
                                                                        ///< stage first
  /// Runs the stages and keeps their tapes; if empty, `run_forward` is called instead.
  std::function<void(step_index first, step_index last)> run_recorded = {};
};

/// Where the last sweep over blocks failed.
struct block_failure {
  bool failed = false;  ///< whether a callback threw
  action what;          ///< the action under way
  std::uint64_t returned = 0;  ///< callbacks that had returned before
};

/// Runs a chain or a loop forward and backward by callbacks into the user's own engine, in the order of a block plan.
/// It makes and keeps the plan, and makes a new one if the chain changes. If no plan can be made, it runs everything
/// forward once and backward once, as one block, and a notice says why. Exceptions of the callbacks pass through;
/// `failure()` says where, and the executor can be used again. States, adjoints and the turn belong to the engine.
class block_executor {
 public:
  block_executor() = default;
  /// \param options  used by `backward(work, callbacks)`   \param who  is named in errors; must outlive the executor
  explicit block_executor(block_options options, char const* who = default_name)
      : who_{who}, options_{std::move(options)} {}
  block_executor(block_executor const&) = delete;
  block_executor& operator=(block_executor const&) = delete;

  /// Makes a new plan for a loop of which only the number of stages is known, even if that number is unchanged.
  /// \throws as `plan_blocks`; the executor is then unchanged
  block_plan const& configure(step_index stages, block_options options = {}) {
    return replan(stages, std::move(options));
  }
  /// Makes a new plan for a chain, even if the chain is unchanged.
  /// \throws as `plan_blocks`; the executor is then unchanged. If no plan can be made, throws only without
  ///   `plain_fallback`
  block_plan const& configure(chain work, block_options options = {}) {
    return replan(std::move(work), std::move(options));
  }
  /// The plan of a loop: the present one if it was made for this number of stages, else a new one with the options
  /// given last.
  /// \throws as `configure`
  block_plan const& plan_for(step_index stages) { return is_for(stages) ? plan_ : replan(stages, options_); }
  /// The plan of a chain: the present one if it was made for an equal chain, else a new one with the options given
  /// last.
  /// \throws as `configure`
  block_plan const& plan_for(chain const& work) { return is_for(work) ? plan_ : replan(work, options_); }
  /// The present plan.   \throws invalid_call   if there is none
  [[nodiscard]] block_plan const& plan() const {
    if (!planned_)
      throw invalid_call{who_,
                         "nothing is planned",
                         {},
                         "call configure with a chain or a number of stages, or pass it to backward"};
    return plan_;
  }
  /// Forgets the plan; keeps options and workload, so the next `backward` makes a new plan.
  void reset() {
    check_idle();
    planned_ = false;
  }

  /// Runs the configured work forward and backward.
  /// \throws invalid_call   before anything runs, if nothing was configured or a callback is missing
  /// \throws whatever a callback throws
  void backward(execution_callbacks const& callbacks) {
    check_idle();
    if (!planned_ && std::holds_alternative<chain>(work_)) replan(std::get<chain>(work_), options_);
    else if (!planned_ && std::holds_alternative<step_index>(work_)) replan(std::get<step_index>(work_), options_);
    sweep(plan(), callbacks);
  }
  /// The same for a loop of this many stages, planned if necessary.
  void backward(step_index stages, execution_callbacks const& callbacks) {
    check_idle();
    sweep(plan_for(stages), callbacks);
  }
  /// The same for a chain, planned if necessary.
  void backward(chain const& work, execution_callbacks const& callbacks) {
    check_idle();
    sweep(plan_for(work), callbacks);
  }

  /// Why everything is run as one block; empty if a plan was made.
  [[nodiscard]] char const* notice() const noexcept { return notice_.c_str(); }
  /// Where the last sweep failed, if it failed.
  [[nodiscard]] block_failure const& failure() const noexcept { return failure_; }
  /// How many plans were made, including plans of one block for work that could not be planned.
  [[nodiscard]] std::uint64_t plans_made() const noexcept { return plans_made_; }

 private:
  static constexpr char const* default_name = "cairn::block_executor";
  using workload = std::variant<std::monostate, step_index, chain>;

  void check_idle() const {
    if (running_)
      throw reentrancy_error{
          who_, "this executor is in the middle of a sweep", {}, "give each nested sweep an executor of its own"};
  }
  template <class Work>
  [[nodiscard]] bool is_for(Work const& work) const {
    auto const* const planned_for = std::get_if<Work>(&work_);
    return planned_ && planned_for != nullptr && *planned_for == work;
  }
  [[nodiscard]] block_plan plan_of(step_index stages, block_options const& options, std::string&) const {
    return detail::plan_blocks(stages, options, who_);
  }
  [[nodiscard]] block_plan plan_of(chain const& work, block_options const& options, std::string& notice) const {
    detail::chain_model const model{work, who_};
    bool asking = false;
    auto const take_plain = [&](error const& reason, bool is_none) {
      if (!is_none || !options.plain_fallback) throw;
      notice = "no plan could be made, so everything is stored: ";
      notice += reason.what();
    };
    try {
      return detail::plan_blocks(work, model, options, who_, asking);
    } catch (infeasible_budget const& reason) {
      take_plain(reason, true);
    } catch (error const& reason) {
      take_plain(reason, asking);
    }
    auto plan = detail::plain_blocks(model.stages);
    detail::weigh_blocks(plan, model, who_);
    return plan;
  }
  /// Takes its arguments by value because they may be the executor's own members.
  template <class Work>
  block_plan const& replan(Work work, block_options options) {
    check_idle();
    std::string notice;
    auto plan = plan_of(work, options, notice);
    work_ = std::move(work);
    options_ = std::move(options);
    plan_ = std::move(plan);
    notice_ = std::move(notice);
    planned_ = true;
    ++plans_made_;
    if (auto const tell = options_.notice; tell && !notice_.empty()) tell(notice_.c_str());
    return plan_;
  }
  /// The states and the user of `execute`. The engine keeps its states itself: no block plan saves or loads one.
  struct engine : detail::no_hooks {
    explicit engine(execution_callbacks const& callbacks)
        : call{callbacks}, recorded{call.run_recorded ? call.run_recorded : call.run_forward} {}
    void advance(engine&, step_index from, step_index to, step_index&) { run(call.run_forward, from, to); }
    void record(engine&, action const& a) { run(recorded, a.from, a.to); }
    void reverse(engine&, action const& a) { run(call.run_backward, a.from, a.to); }
    static constexpr bool keeps_nothing = true;
    void drop(place) noexcept {}
    void run(std::function<void(step_index, step_index)> const& callback, step_index from, step_index to) {
      callback(from, to);
      ++returned;
    }
    execution_callbacks const& call;
    std::function<void(step_index, step_index)> const& recorded;
    std::uint64_t returned = 0;
  };
  void sweep(block_plan const& plan, execution_callbacks const& callbacks) {
    if (!callbacks.run_forward || !callbacks.run_backward)
      throw invalid_call{
          who_, "run_forward or run_backward is missing", {}, "give both; run_recorded may be left out"};
    detail::in_use const mark{running_, who_};
    failure_ = {};
    engine driven{callbacks};
    auto cursor = plan.walk();
    no_observer nobody;
    detail::sweep_status status;
    try {
      (void)detail::execute(cursor, driven, driven, driven, nobody, status);
    } catch (...) {
      failure_ = {true, status.failure.what, driven.returned};
      throw;
    }
  }

  detail::busy_mark running_;  // first: a move that is refused has moved nothing
  char const* who_ = default_name;
  workload work_;
  block_options options_;
  block_plan plan_;
  bool planned_ = false;
  std::string notice_;
  block_failure failure_;
  std::uint64_t plans_made_ = 0;
};

}  // namespace cairn
