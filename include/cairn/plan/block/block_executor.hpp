#pragma once
/// \file block_executor.hpp  Drives an engine of the user's, block by block, forward and backward.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>

namespace cairn {

/// What an engine does when it is told to, over stages [first, last). Each forward run begins at a state that the
/// engine has: that of the run before it, or the first state of an earlier run. It keeps the first state of each run
/// until `run_backward` has been over that stage. Every run whose tapes are wanted is followed at once by
/// `run_backward` of the same stages; before the first of these the engine makes the adjoint of the last state.
struct execution_callbacks {
  std::function<void(step_index first, step_index last)> run_forward;   ///< runs the stages
  std::function<void(step_index first, step_index last)> run_backward;  ///< runs their adjoints, the last stage first
  /// Runs the stages and keeps their tapes; where empty, `run_forward` is called.
  std::function<void(step_index first, step_index last)> run_recorded = {};
};

/// Where a sweep over blocks failed.
struct block_failure {
  bool failed = false;  ///< whether a callback threw
  action what;          ///< the action under way
  std::uint64_t returned = 0;  ///< callbacks that had come back before
};

/// Runs a chain or a loop forward and backward by callbacks into the user's own engine, in the order of a block plan,
/// which it makes, keeps and makes anew when the chain is another one. Where no plan can be made, everything is run
/// forward once and backward once, as one block, and a notice says why. Exceptions of the callbacks pass through;
/// `failure()` says where, and the executor can be used again. It is no sweep of `run/`: states, adjoints and the turn
/// are the engine's, and it holds none of them.
class block_executor {
 public:
  block_executor() = default;
  /// \param options  for what is run by `backward(work, callbacks)`
  explicit block_executor(block_options options) : options_{std::move(options)} {}
  block_executor(block_executor const&) = delete;
  block_executor& operator=(block_executor const&) = delete;

  /// Plans a loop of which only the number of stages is known, also where it is the same as before.
  /// \throws as `plan_blocks`; then nothing has changed
  block_plan const& configure(step_index stages, block_options options = {}) {
    return replan(stages, std::move(options));
  }
  /// Plans a chain, also where it is the same as before.
  /// \throws as `plan_blocks`, but where no plan can be made only without `plain_fallback`; then nothing has changed
  block_plan const& configure(chain work, block_options options = {}) {
    return replan(std::move(work), std::move(options));
  }
  /// The plan of a loop: the one there is if it was made for as many stages, else a new one by the options last given.
  /// \throws as `configure`
  block_plan const& plan_for(step_index stages) { return is_for(stages) ? plan_ : replan(stages, options_); }
  /// The plan of a chain: the one there is if it was made for an equal chain, else a new one by the options last given.
  /// \throws as `configure`
  block_plan const& plan_for(chain const& work) { return is_for(work) ? plan_ : replan(work, options_); }
  /// The plan there is.   \throws invalid_call   where there is none
  [[nodiscard]] block_plan const& plan() const {
    if (!planned_)
      throw invalid_call{"cairn::block_executor",
                         "nothing is planned",
                         {},
                         "call configure with a chain or a number of stages, or hand it to backward"};
    return plan_;
  }
  /// Forgets the plan; options and workload stay, and the next `backward` plans anew.
  void reset() {
    check_idle();
    planned_ = false;
  }

  /// Forward and backward over what was configured.
  /// \throws invalid_call   before anything runs, where nothing was configured or a callback is missing
  ///        \throws whatever a callback throws
  void backward(execution_callbacks const& callbacks) {
    check_idle();
    if (!planned_ && std::holds_alternative<chain>(work_)) replan(std::get<chain>(work_), options_);
    else if (!planned_ && std::holds_alternative<step_index>(work_)) replan(std::get<step_index>(work_), options_);
    sweep(plan(), callbacks);
  }
  /// The same for a loop of this many stages, planned if it has to be.
  void backward(step_index stages, execution_callbacks const& callbacks) {
    check_idle();
    sweep(plan_for(stages), callbacks);
  }
  /// The same for a chain, planned if it has to be.
  void backward(chain const& work, execution_callbacks const& callbacks) {
    check_idle();
    sweep(plan_for(work), callbacks);
  }

  /// Why everything is run as one block; empty where a plan was made.
  [[nodiscard]] char const* notice() const noexcept { return notice_.c_str(); }
  /// Where the last sweep failed, if it did.
  [[nodiscard]] block_failure const& failure() const noexcept { return failure_; }
  /// How often a plan was made, those of one block that stand for none included.
  [[nodiscard]] std::uint64_t plans_made() const noexcept { return plans_made_; }

 private:
  static constexpr char const* who = "cairn::block_executor";
  using workload = std::variant<std::monostate, step_index, chain>;

  void check_idle() const {
    if (running_)
      throw reentrancy_error{
          who, "this executor is in the middle of a sweep", {}, "give each nested sweep an executor of its own"};
  }
  template <class Work>
  [[nodiscard]] bool is_for(Work const& work) const {
    auto const* const planned_for = std::get_if<Work>(&work_);
    return planned_ && planned_for != nullptr && *planned_for == work;
  }
  [[nodiscard]] static block_plan plan_of(step_index stages, block_options const& options, std::string&) {
    return detail::plan_blocks(stages, options, who);
  }
  [[nodiscard]] static block_plan plan_of(chain const& work, block_options const& options, std::string& notice) {
    detail::chain_model const model{work, who};
    bool asking = false;
    auto const take_plain = [&](error const& reason, bool is_none) {
      if (!is_none || !options.plain_fallback) throw;
      notice = "no plan could be made, so everything is stored: ";
      notice += reason.what();
    };
    try {
      return detail::plan_blocks(work, model, options, who, asking);
    } catch (infeasible_budget const& reason) {
      take_plain(reason, true);
    } catch (error const& reason) {
      take_plain(reason, asking);
    }
    auto plan = detail::plain_blocks(model.stages);
    detail::weigh_blocks(plan, model, who);
    return plan;
  }
  /// Takes its arguments by value: they may be the executor's own.
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
  void sweep(block_plan const& plan, execution_callbacks const& callbacks) {
    if (!callbacks.run_forward || !callbacks.run_backward)
      throw invalid_call{who, "run_forward or run_backward is missing", {}, "give both; run_recorded may be left out"};
    struct running {
      bool& flag;
      explicit running(bool& is_running) : flag{is_running} { flag = true; }
      ~running() { flag = false; }
    } const now{running_};
    failure_ = {};
    auto const& recorded = callbacks.run_recorded ? callbacks.run_recorded : callbacks.run_forward;
    auto cursor = plan.walk();
    std::uint64_t returned = 0;
    for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next(), ++returned) {
      auto const& run = a.kind == action_kind::advance  ? callbacks.run_forward
                        : a.kind == action_kind::record ? recorded
                                                        : callbacks.run_backward;
      try {
        run(a.from, a.to);
      } catch (...) {
        failure_ = {true, a, returned};
        throw;
      }
    }
  }

  workload work_;
  block_options options_;
  block_plan plan_;
  bool planned_ = false, running_ = false;
  std::string notice_;
  block_failure failure_;
  std::uint64_t plans_made_ = 0;
};

}  // namespace cairn
