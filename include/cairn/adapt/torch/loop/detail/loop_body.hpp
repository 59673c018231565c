// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_body.hpp  The steps of a loop over tensors: runs them, runs them again and differentiates them, and
/// checks for everything that can go wrong.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/loop/detail/step_captures.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The automatic casts for steps that are taped. Empties their cache at the end: a later user would otherwise find
/// casts whose graphs lead to our gates.
class taping_scope {
 public:
  explicit taping_scope(autocast_state const& inside) : clears_{inside.caches()}, scope_{inside} {}
  taping_scope(taping_scope const&) = delete;
  taping_scope& operator=(taping_scope const&) = delete;
  ~taping_scope() { if (clears_) at::autocast::clear_cache(); }

 private:
  bool clears_;
  autocast_scope scope_;
};

/// Steps with their tape, from a gate to the results.
struct taped_steps {
  /// Collects the gradients of the first state and then, step by step, of the inputs.
  std::shared_ptr<gate> start;
  part_flags gathers;  ///< at which of its places the gate collects gradients
  tensor_list results;
  edge_list outputs;  ///< where the gradients of the outputs enter, step by step; invalid if there is none
  autocast_entries casts;
};

/// What the steps of a loop read besides its state, and the form of their outputs.
struct loop_data {
  series_list inputs;
  series_form outputs = series_form::stacked;
};

inline constexpr char const* loop_name = "cairn::libtorch::checkpointed_loop";

/// A loop's step, and what was learned about it during the forward run.
class loop_body {
 public:
  /// \param count  the number of steps, or 0 if `steps` is set at the end   \param name  of the verb, for errors, with
  ///   static storage
  loop_body(flat_step step, step_index count, at::TensorList x0, LoopOptions given, loop_data const& data = {},
            char const* name = loop_name)
      : who{name},
        steps{count},
        options{std::move(given)},
        inputs{data.inputs},
        initial_flags{require_gradients(x0)},
        outputs{data.outputs, x0.size()},
        captures{who, options.capture(), this},
        step_{std::move(step)},
        metadata_{options.determinism(), options.verify()} {
    reads.compare(options.determinism());
    for (auto const& t : detached(x0)) initial.emplace_back(t);
    inner_flags.assign(x0.size(), false);
    for (auto const& t : options.captures()) {
      if (!t.defined() || !t.requires_grad()) continue;
      captures.add(torch::autograd::impl::gradient_edge(t));
      reads.add(t, 0);
    }
  }

  /// Runs steps [from, to) for the first time, without a tape.   \post x is state `to`
  void run_first(tensor_list& x, step_index from, step_index to) {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{autocast.without_cache()};
    for (step_index i = from; i < to; ++i) {
      bool const tracked = reads.tracks(i, steps);
      if (tracked) x = detached(x);  // distinct from the state that the step may have kept
      auto const given = joined(x, inputs.at(i));
      auto y = tracked ? tracked_step(given, i) : checked_step(given, i);
      refuse_tangents(who, y);
      if (!tracked) reads.note_made(given, x.size(), y);
      x = noted(i, without_history(std::move(y)));
    }
  }
  /// Runs one step for the first time, with a tape that is inspected and discarded: notes its captured tensors, and
  /// which parts of its result are differentiable.
  /// \param flags  which parts of x are differentiable
  [[nodiscard]] tensor_list discover(tensor_list const& x, step_index i, part_flags flags) {
    at::AutoGradMode const with_grad{true};
    autocast_scope const casts{autocast};
    auto const moment = graph_position{};
    auto const behind = gate::make(this);
    auto given = inputs.flags_at(i);
    auto const start = behind_gate(x, flags, behind);
    auto const slices = behind_gate(inputs.at(i), given, behind);
    auto const y = tracked_step(joined(start, slices), i);
    refuse_tangents(who, y);
    captures.discover(gradient_edges(y), moment, behind, autocast.caches(), i, reads);
    last_flags = require_gradients(at::TensorList{y}.slice(0, x.size()));
    for (std::size_t k = 0; k < x.size(); ++k) if (last_flags[k]) inner_flags[k] = true;
    outputs.learn(y, last_flags);
    return noted(i, detached(y));
  }
  /// Runs steps [from, to) again, without a tape.
  [[nodiscard]] tensor_list run_again(tensor_list x, step_index from, step_index to) const {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{autocast.without_cache()};
    settings_scope const as_then{settings_};
    for (step_index i = from; i < to; ++i) {
      x = without_history(checked_step(joined(x, inputs.at(i)), i));
      metadata_.compare(who, i + 1, x);
      x.resize(initial.size());
    }
    return x;
  }
  /// Runs steps [from, to) again, with a tape that ends at gates: one for state and inputs, and `outside` for captured
  /// tensors.
  [[nodiscard]] taped_steps record(at::TensorList x, step_index from, step_index to,
                                   std::shared_ptr<gate> const& outside) const {
    at::AutoGradMode const with_grad{true};
    taping_scope const casts{autocast};
    settings_scope const as_then{settings_};
    reads.settle(who);
    autocast_entries standing;
    for (std::size_t k = 0; k < captures.size(); ++k)
      if (auto const& cast = captures.casts()[k]; cast.leaf.defined()) standing.add(k, cast.result());
    auto const behind = gate::make(this);
    auto const start = graph_position{};
    auto gathers = from == 0 ? initial_flags : inner_flags;
    auto y = behind_gate(x, gathers, behind);
    edge_list ends;
    for (step_index i = from; i < to; ++i) {
      auto const moment = graph_position{};
      auto given = inputs.flags_at(i);
      auto const slices = behind_gate(inputs.at(i), given, behind);
      gathers.insert(gathers.end(), given.begin(), given.end());
      y = step_again(joined(y, slices), i);
      metadata_.compare(who, i + 1, y);
      auto roots = gradient_edges(y);
      auto const inside = [&](Node const& node) {
        return moment.precedes(node) || (moment.is_foreign(node) && !captures.holds(node) && !standing.holds(node));
      };
      visit_edges_out(roots, inside, [&](Edge& edge) {
        if (edge.function != behind && edge.function != outside && !start.precedes(*edge.function))
          captures.lead_to(edge, i, outside, standing);
      });
      check_flags(y, i);
      for (std::size_t k = initial.size(); k < y.size(); ++k) ends.push_back(captures.root_of(y[k], standing, outside));
      outputs.check_shared(y, i, who);
      y.resize(initial.size());
    }
    return {behind, std::move(gathers), std::move(y), std::move(ends), std::move(standing)};
  }
  /// The edges at which the gradients of taped results enter; invalid if there is none.
  [[nodiscard]] edge_list roots_of(taped_steps const& taped, std::shared_ptr<gate> const& outside) const {
    edge_list roots;
    for (std::size_t k = 0; k < taped.results.size(); ++k)
      roots.push_back(first_place(taped.results, k) == k ? captures.root_of(taped.results[k], taped.casts, outside)
                                                           : Edge{});
    return roots;
  }
  /// \throws invalid_call   if a tensor that steps read, or an input, has changed since the loop ran, or was an earlier
  ///   state at that time
  void check_captures() const {
    if (is_differentiable()) reads.check_states(who);
    reads.check_unchanged(who);
    inputs.check_unchanged(who);
  }
  void count(std::int64_t StepStats::*what, std::int64_t much = 1) const {
    if (options.stats()) (*options.stats()).*what += much;
  }

  /// \param size  how many steps are reversed together   \param end  the number of steps, or -1 if `note_end` sets it
  void set_blocks(step_index size, step_index end) noexcept { metadata_.set_blocks(size, end); }
  /// The loop has ended with state i.
  void note_end(step_index i, at::TensorList parts) { metadata_.note_last(i, parts); }
  /// The forward sweep is over. If it drew no random numbers, generators are not touched from here on.
  void note_drawn(generator_use const& use) {
    if (options.rng() == Rng::Ignore) return;
    draws = use.drew(generators);
    if (draws) use.check(who);
  }
  /// The forward sweep is over. The buffers that steps have changed are put back with each state, so later changes do
  /// not matter. Changed parameters stay refused, as in the plain loop, which has saved them.
  void note_changed_buffers() {
    reads.settle(who);
    tensor_list parameters;
    for (std::size_t k = 0; k < captures.size(); ++k) parameters.push_back(captures.leaf(k));
    buffers.first().each_changed([&](void const* memory, std::int64_t) {
      if (!any_in_memory(parameters, memory)) reads.leave_out(memory);
    });
  }
  /// Whether any result of the loop is differentiable.
  [[nodiscard]] bool is_differentiable() const {
    bool any = false;
    for (auto const* flags : {&last_flags, &outputs.flags()})
      for (bool const flag : *flags) any = any || flag;
    return any;
  }
  char const* who;
  step_index steps;
  LoopOptions options;
  std::vector<saved_tensor> initial;  ///< state 0
  step_inputs inputs;
  generator_states generators;  ///< as when step 0 began
  autocast_state autocast;  ///< of the call; casts are not shared between the first run and recomputation
  outside_memory buffers;  ///< what steps change
  /// Which parts are differentiable in state 0, in the states between, in the last state.
  part_flags initial_flags, inner_flags, last_flags;
  step_outputs outputs;
  bool draws = true;  ///< whether steps draw random numbers; true while that is unknown
  bool knows_all_steps = false;  ///< later steps cannot read or capture anything new
  step_captures captures;
  step_reads reads;

 private:
  /// The parts, detached if one has a history: our grad mode does not affect threads that the step starts.
  [[nodiscard]] static tensor_list without_history(tensor_list parts) {
    for (auto const& part : parts)
      if (part.defined() && part.requires_grad()) return detached(parts);
    return parts;
  }
  [[nodiscard]] static edge_list gradient_edges(at::TensorList parts) {
    edge_list edges;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      bool const counts = parts[k].defined() && parts[k].requires_grad() && first_place(parts, k) == k;
      edges.push_back(counts ? torch::autograd::impl::gradient_edge(parts[k]) : Edge{});
    }
    return edges;
  }
  /// \param given  the parts of the state, followed by the inputs
  [[nodiscard]] tensor_list checked_step(at::TensorList given, step_index i) const {
    if (auto const& callback = options.callbacks().state) callback(i, given.slice(0, initial.size()));
    return call_step(step_, given, initial.size(), i, who);
  }
  /// Runs a step like `checked_step`, and notes what the step reads from outside.
  [[nodiscard]] tensor_list tracked_step(at::TensorList given, step_index i) {
    write_log changes;
    changes.begin(given);
    buffers.leave_out_of(changes);
    changes.notes_generators = options.rng() == Rng::Preserve;
    bool const learns = options.side_effects() == SideEffects::RestoreBuffers;
    read_tracker const tracker{learns ? &changes : nullptr};
    auto y = checked_step(given, i);
    changes.end();
    // With a tape, casts of automatic casting are cached: they are made once, and no state.
    bool const caches = autocast.caches() && at::GradMode::is_enabled();
    if (learns) {
      if (!changes.empty()) reads.note_write(i, changes, who);
      buffers.add(changes, i);
      buffers.note_reads(tracker, i, who);
    }
    reads.note(tracker, given, y, initial.size(), i, who, !caches);
    return y;
  }
  /// Runs a step like `checked_step`, and checks that it reads what it read the first time.
  [[nodiscard]] tensor_list step_again(at::TensorList given, step_index i) const {
    if (!reads.looks_again()) return checked_step(given, i);
    read_tracker const tracker;
    auto y = checked_step(given, i);
    reads.compare(tracker, given, y, i, who);
    return y;
  }
  /// Notes the result of a step's first run, keeps its outputs, and returns the next state.
  [[nodiscard]] tensor_list noted(step_index i, tensor_list y) {
    metadata_.note(i + 1, y);
    count(&StepStats::forward);
    outputs.keep(y, i, steps, who);
    y.resize(initial.size());
    return y;
  }
  void check_flags(at::TensorList y, step_index i) const {
    if (knows_all_steps) return;
    auto const& known = i + 1 == steps ? last_flags : inner_flags;
    outputs.check_flags(y, i, who);
    for (std::size_t k = 0; k < known.size(); ++k)
      if (y[k].defined() && y[k].requires_grad() && !known[k])
        throw invalid_call{who,
                           "a part of the state becomes differentiable later than in the first steps",
                           {{"step", i}, {"part", k}},
                           "use Capture::EveryStep"};
  }

  flat_step step_;
  kernel_settings settings_;
  state_metadata metadata_;
};

}  // namespace cairn::libtorch::detail
