#pragma once
/// \file replay.hpp  What a plan for a graph does, action by action: the one judge of all planners.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/operation_graph.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>

namespace cairn {

/// What a plan costs, by playing it.
struct graph_cost {
  std::int64_t peak = 0;           ///< most bytes at once; what the caller owns is not counted
  std::int64_t makespan = 0;       ///< all times
  std::int64_t extra_forward = 0;  ///< makespan above that of a sweep that runs each operation once
  step_index runs = 0;             ///< operations run forward; n where none is run twice
  friend constexpr bool operator==(graph_cost const&, graph_cost const&) = default;
};

namespace detail {

/// The action of `graph_actions` that has the kind and number of `a`; `done` where graphs have none of that kind.
[[nodiscard]] constexpr action as_graph_action(action const& a) noexcept {
  switch (a.kind) {
    case action_kind::advance: return graph_actions::advance(a.from);
    case action_kind::record: return graph_actions::record(a.from);
    case action_kind::drop:
      return a.what == content::tape ? graph_actions::drop_tape(a.from) : graph_actions::drop(a.from);
    case action_kind::turn: return graph_actions::turn(a.from);
    case action_kind::reverse: return graph_actions::reverse(a.from);
    default: return {action_kind::done, tier::memory, content::state, no_slot, -1, -1};
  }
}

/// Plays a plan on numbers of values and tapes. One object, one sweep.
class graph_interpreter {
 public:
  /// \param model  must outlive the player
  graph_interpreter(graph_model const& model, char const* who)
      : model_{model}, who_{who}, kept_(model.count), taped_(model.count), remaining_{model.count + 1} {}

  /// \throws invalid_schedule   where the plan asks for what is not there
  void obey(action const& a) {
    std::size_t const most = a.kind == action_kind::turn ? model_.count + 1 : model_.count;
    if (a.from < 0 || std::size_t(a.from) >= most) refuse("an action names an operation that is not there", a);
    if (a != as_graph_action(a))
      throw invalid_schedule{
          who_,
          "an action is none that a graph has",
          {{"action", played_}, {"kind", int(a.kind)}, {"slot", a.slot}, {"from", a.from}, {"to", a.to}},
          "make it by cairn::graph_actions"};
    std::size_t const v = std::size_t(a.from);
    switch (a.kind) {
      case action_kind::advance:
        need(!kept_[v], "an operation is run whose value is kept", a);
        need(v < remaining_, "an operation is run after its adjoint", a);
        need(all_held(model_.inputs[v]), "an operation is run without the value of an input", a);
        run(v);
        break;
      case action_kind::record:
        need(!taped_[v], "an operation is recorded whose tape is kept", a);
        need(v < remaining_, "an operation is run after its adjoint", a);
        need(all_held(model_.inputs[v]), "an operation is run without the value of an input", a);
        forget(v);
        taped_[v] = 1;
        live_ += model_.tape[v];
        run(v);
        break;
      case action_kind::drop:
        if (a.what == content::tape) {
          need(taped_[v], "a tape is dropped that is not kept", a);
          forget_tape(v);
        } else {
          need(kept_[v], "a value is dropped that is not kept", a);
          forget(v);
        }
        break;
      case action_kind::turn:
        need(v == model_.count, "the loss has the number of an operation", a);
        need(remaining_ == model_.count + 1, "the loss of a graph is run twice", a);
        need(all_held(model_.needs[v]), "the loss is run without the value of an output", a);
        go_back(v);
        break;
      case action_kind::reverse:
        need(remaining_ == v + 1, "the adjoint of an operation is run out of order", a);
        need(all_held(model_.needs[v]), "the adjoint of an operation is run without a value that it reads", a);
        need(model_.tape[v] == 0 || taped_[v], "the adjoint of an operation is run without its tape", a);
        go_back(v);
        forget(v);
        forget_tape(v);
        break;
      default: break;
    }
    ++played_;
  }
  /// Bytes during the last action that ran something.
  [[nodiscard]] std::int64_t reached() const noexcept { return reached_; }
  /// \throws invalid_schedule   where an adjoint is missing
  [[nodiscard]] graph_cost finish() {
    if (remaining_ != 0)
      throw invalid_schedule{who_,
                             "the plan ends before the adjoint of operation 0 has run",
                             {{"actions", played_}, {"adjoints left", remaining_}},
                             ""};
    cost_.extra_forward = cost_.makespan - model_.least_time();
    return cost_;
  }

 private:
  [[nodiscard]] bool all_held(std::vector<std::size_t> const& values) const noexcept {
    return std::all_of(values.begin(), values.end(), [this](std::size_t v) { return kept_[v] != 0; });
  }
  void run(std::size_t v) noexcept {
    kept_[v] = 1;
    live_ += model_.bytes[v];
    reach(live_ + model_.work[v] + model_.open[remaining_]);
    cost_.makespan += model_.time[v];
    ++cost_.runs;
  }
  void go_back(std::size_t v) noexcept {
    reach(live_ + model_.back_work[v]);
    cost_.makespan += model_.adjoint_time[v];
    remaining_ = v;
  }
  void forget(std::size_t v) noexcept {
    if (!kept_[v]) return;
    kept_[v] = 0;
    live_ -= model_.bytes[v];
  }
  void forget_tape(std::size_t v) noexcept {
    if (!taped_[v]) return;
    taped_[v] = 0;
    live_ -= model_.tape[v];
  }
  void reach(std::int64_t bytes) noexcept {
    reached_ = bytes;
    cost_.peak = (std::max)(cost_.peak, bytes);
  }
  void need(bool holds, char const* problem, action const& a) const {
    if (!holds) refuse(problem, a);
  }
  [[noreturn]] void refuse(char const* problem, action const& a) const {
    throw invalid_schedule{who_, problem, {{"action", played_}, {"operation", a.from}}, ""};
  }

  graph_model const& model_;
  char const* who_;
  std::vector<char> kept_, taped_;
  std::size_t remaining_;  ///< adjoints of [0, remaining) are still to run; the loss is that of n
  std::int64_t live_ = 0;  ///< bytes of kept values and tapes
  std::int64_t reached_ = 0;
  std::size_t played_ = 0;
  graph_cost cost_;
};

[[nodiscard]] inline graph_cost replay(graph_model const& model, std::span<action const> actions, char const* who) {
  graph_interpreter player{model, who};
  for (auto const& a : actions) player.obey(a);
  return player.finish();
}

}  // namespace detail

/// Plays a plan for a graph and answers what it costs.   Cost: O(reads) an action.
/// \throws invalid_schedule   at the first action that cannot be obeyed, or where the plan ends early
///        \throws invalid_plan, overflow_error   for a graph that cannot be
[[nodiscard]] inline graph_cost replay(operation_graph const& graph, std::span<action const> actions) {
  constexpr char const* who = "cairn::replay";
  return detail::replay(detail::graph_model{graph, who}, actions, who);
}

}  // namespace cairn
