// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_body.hpp  The steps of a loop over tensors: runs them, runs them again and differentiates them, and
/// checks for everything that can go wrong.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <cairn/adapt/torch/loop/detail/forward_mode.hpp>
#include <cairn/adapt/torch/loop/detail/state_metadata.hpp>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
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

/// The step on lists of tensors: from the parts of a state and the step's other inputs to the parts of the next state
/// and the step's outputs.
using flat_step = std::function<tensor_list(at::TensorList, step_index)>;

/// Steps with their tape, from a gate to the results.
struct taped_steps {
  std::shared_ptr<gate>
      start;  ///< collects the gradients of the first state and then, step by step, of the inputs
  part_flags gathers;  ///< at which of its places it collects gradients
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
        initial_flags{require_gradients(x0)},
        step_{std::move(step)},
        output_form_{data.outputs},
        looks_{options.determinism(), options.verify()} {
    around.autocast = autocast_state::now();
    for (auto const& t : detached(x0)) initial.push_back(saved(t));
    for (auto const& series : data.inputs) {
      input_flags.push_back(require_gradients(series.tensors()));
      inputs.emplace_back(series.form(), series.steps(), detached(series.tensors()));
      for (auto const& t : inputs.back().tensors()) saved_inputs_.push_back(saved(t));
    }
    inner_flags.assign(x0.size(), false);
    for (auto const& t : options.captures()) {
      if (!t.defined() || !t.requires_grad()) continue;
      captures.add(torch::autograd::impl::gradient_edge(t));
      reads_.add(t, 0);
    }
  }

  /// A tensor without history, and its version.
  [[nodiscard]] static saved_tensor saved(at::Tensor const& t) {
    return t.defined() ? saved_tensor{t} : saved_tensor{};
  }

  /// Runs steps [from, to) for the first time, without a tape.   \post x is state `to`
  void run_first(tensor_list& x, step_index from, step_index to) {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{around.autocast.without_cache()};
    for (step_index i = from; i < to; ++i) {
      auto const given = slices_at(inputs, i);
      x = noted(i, without_history(is_tracked(i) ? tracked_step(x, given, i) : checked_step(x, given, i)));
    }
  }
  /// Runs one step for the first time, with a tape that is inspected and discarded: notes its captured tensors, and
  /// which parts of its result are differentiable.
  /// \param flags  which parts of x are differentiable
  [[nodiscard]] tensor_list discover(tensor_list const& x, step_index i, part_flags flags) {
    at::AutoGradMode const with_grad{true};
    autocast_scope const casts{around.autocast};
    auto const moment = graph_position{};
    if (i == 0) begun_ = moment;
    auto const behind = gate::make(this);
    auto given = input_flags_at(i);
    auto const start = behind_gate(x, flags, behind);
    auto const slices = behind_gate(slices_at(inputs, i), given, behind);
    auto const y = tracked_step(start, slices, i);
    refuse_tangents(who, y);
    auto roots = gradient_edges(y);
    auto const cast_behind = [&](Node const& node) {
      return around.autocast.caches() ? cached_cast::behind(node) : cached_cast{};
    };
    auto const leads_to_state = [&](Node const& node) {
      return leads_to(
          node.next_edges(), [](Node const&) { return true; }, [&](Node const& end) { return &end == behind.get(); });
    };
    auto const inside = [&](Node const& node) {
      bool const made = moment.precedes(node) || (moment.is_foreign(node) && leads_to_state(node));
      return made && !cast_behind(node).leaf.defined();
    };
    visit_edges_out(roots, inside, [&](Edge& edge) {
      if (edge.function == behind) return;
      if (auto const cast = cast_behind(*edge.function); cast.leaf.defined()) {
        reads_.add(cast.leaf, i);
        return captures.add(edge, cast);
      }
      if (!moment.is_foreign(*edge.function)) return add_capture(edge, i, true);
      if (captures.find(edge) < captures.size()) return;
      // The node existed before the loop, or a thread of the step made it and will make another one: then the nodes
      // behind it count.
      edge_list roots_there{edge};
      if (options.capture() != Capture::Explicit) add_capture(edge, i, false);
      visit_edges_out(roots_there, [&](Node const& node) { return moment.is_foreign(node); },
                      [&](Edge const& end) { add_capture(end, i, false); });
    });
    last_flags = require_gradients(at::TensorList{y}.slice(0, x.size()));
    for (std::size_t k = 0; k < x.size(); ++k) if (last_flags[k]) inner_flags[k] = true;
    learn_outputs(y);
    return noted(i, detached(y));
  }
  /// Runs steps [from, to) again, without a tape.
  [[nodiscard]] tensor_list run_again(tensor_list x, step_index from, step_index to) const {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{around.autocast.without_cache()};
    for (step_index i = from; i < to; ++i) {
      x = without_history(checked_step(x, slices_at(inputs, i), i));
      looks_.compare(who, i + 1, x);
      x.resize(initial.size());
    }
    return x;
  }
  /// Runs steps [from, to) again, with a tape that ends at gates: one for state and inputs, and `outside` for captured
  /// tensors.
  [[nodiscard]] taped_steps record(at::TensorList x, step_index from, step_index to,
                                   std::shared_ptr<gate> const& outside) const {
    at::AutoGradMode const with_grad{true};
    taping_scope const casts{around.autocast};
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
      auto given = input_flags_at(i);
      auto const slices = behind_gate(slices_at(inputs, i), given, behind);
      gathers.insert(gathers.end(), given.begin(), given.end());
      y = checked_step(y, slices, i);
      looks_.compare(who, i + 1, y);
      auto roots = gradient_edges(y);
      auto const inside = [&](Node const& node) {
        return moment.precedes(node) || (moment.is_foreign(node) && !captures.holds(node) && !standing.holds(node));
      };
      visit_edges_out(roots, inside, [&](Edge& edge) {
        if (edge.function != behind && edge.function != outside && !start.precedes(*edge.function))
          lead_to(edge, i, outside, standing);
      });
      check_flags(y, i);
      for (std::size_t k = initial.size(); k < y.size(); ++k) ends.push_back(root_of(y[k], standing, outside));
      check_shared(y, i);
      y.resize(initial.size());
    }
    return {behind, std::move(gathers), std::move(y), std::move(ends), std::move(standing)};
  }
  /// The edges at which the gradients of taped results enter; invalid if there is none.
  [[nodiscard]] edge_list roots_of(taped_steps const& taped, std::shared_ptr<gate> const& outside) const {
    edge_list roots;
    for (std::size_t k = 0; k < taped.results.size(); ++k)
      roots.push_back(first_place(taped.results, k) == k ? root_of(taped.results[k], taped.casts, outside) : Edge{});
    return roots;
  }
  /// The number of the captured tensor to which an edge leads; captures.size() if there is none.
  [[nodiscard]] std::size_t capture_behind(Edge const& edge, autocast_entries const& casts) const {
    return casts.find(edge, captures.find(edge));
  }

  /// \throws invalid_call   if a tensor that steps read, or an input, has changed since the loop ran, or was an earlier
  ///   state at that time
  void check_captures() const {
    if (reads_state_ >= 0 && is_differentiable()) throw_reads_state(reads_state_);
    if (auto const k = reads_.first_changed(); k < reads_.size())
      throw invalid_call{
          who,
          (std::string{"a captured tensor was changed in place since the loop used it"} + reads_.text(k)).c_str(),
          {{"step", reads_.step(k)}, {"captured tensor", k}, {"of", reads_.size()}},
          "run backward before the optimiser's step, and change nothing that the step uses from within it"};
    for (std::size_t k = 0; k < saved_inputs_.size(); ++k)
      if (saved_inputs_[k].value.defined() && !saved_inputs_[k].unchanged())
        throw invalid_call{who, "an input of the steps was changed in place since the loop used it",
                           {{"input tensor", k}, {"of", saved_inputs_.size()}},
                           "run backward first, or give the loop a clone"};
  }
  void count(std::int64_t StepStats::*what, std::int64_t much = 1) const {
    if (options.stats()) (*options.stats()).*what += much;
  }

  /// \param size  how many steps are reversed together   \param end  the number of steps, or -1 if `note_end` sets it
  void set_blocks(step_index size, step_index end) noexcept { looks_.set_blocks(size, end); }
  /// The loop has ended with state i.
  void note_end(step_index i, at::TensorList parts) { looks_.note_last(i, parts); }
  /// The forward sweep is over. If it drew no random numbers, generators are not touched from here on.
  void note_drawn(generator_use const& use) {
    if (options.rng() == Rng::Ignore) return;
    draws = use.drew(around.generators);
    if (draws) use.check(who);
  }
  /// Whether any result of the loop is differentiable.
  [[nodiscard]] bool is_differentiable() const {
    bool any = false;
    for (auto const* flags : {&last_flags, &output_flags})
      for (bool const flag : *flags) any = any || flag;
    return any;
  }
  /// The part of the state after step i that is the same tensor as output number q; the number of parts if there is
  /// none.
  [[nodiscard]] std::size_t part_shared(step_index i, std::size_t q) const {
    bool const shared = part_of_output_[q] < initial.size() && is_part_[std::size_t(i) * part_of_output_.size() + q];
    return shared ? part_of_output_[q] : initial.size();
  }
  /// Moves out the outputs of the steps.   \post there are none left
  [[nodiscard]] series_list take_outputs() { return std::exchange(outputs_, {}); }
  /// Undefined tensors in the form of the outputs.
  [[nodiscard]] series_list like_outputs() const {
    return series_list(output_flags.size(), tensor_series{output_form_, steps});
  }

  char const* who;
  step_index steps;
  LoopOptions options;
  std::vector<saved_tensor> initial;  ///< state 0
  series_list inputs;  ///< without history
  std::vector<part_flags> input_flags;  ///< which tensors of the inputs require a gradient
  rng_autocast_state
      around;  ///< as step 0 began; casts are not shared between the first run and recomputation
  part_flags initial_flags, inner_flags,
      last_flags;           ///< which parts are differentiable in state 0, in states between, in the last state
  part_flags output_flags;  ///< which outputs are differentiable
  bool draws = true;  ///< random numbers, as far as is known
  bool knows_all_steps = false;  ///< later steps cannot read or capture anything new
  bool tracks_later = true;  ///< whether some of the steps without a tape are checked for what they read
  capture_list captures;

 private:
  /// A thread that the step starts is not affected by our grad mode.
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
  [[nodiscard]] Edge root_of(at::Tensor const& t, autocast_entries const& casts,
                             std::shared_ptr<gate> const& outside) const {
    if (!t.defined() || !t.requires_grad()) return {};
    auto const edge = torch::autograd::impl::gradient_edge(t);
    auto const k = capture_behind(edge, casts);
    return k < captures.size() ? Edge{outside, std::uint32_t(k)} : edge;
  }
  [[nodiscard]] part_flags input_flags_at(step_index i) const {
    part_flags flags;
    for (std::size_t q = 0; q < inputs.size(); ++q) flags.push_back(input_flags[q][inputs[q].number(i)]);
    return flags;
  }
  [[nodiscard]] tensor_list checked_step(tensor_list const& x, tensor_list const& given, step_index i) const {
    auto all = x;
    all.insert(all.end(), given.begin(), given.end());
    std::vector<std::int64_t> versions;
    for (auto const& t : all) versions.push_back(t.defined() ? std::int64_t(t._version()) : 0);
    if (auto const& callback = options.callbacks().state) callback(i, x);
    auto y = step_(all, i);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!all[k].defined() || std::int64_t(all[k]._version()) == versions[k]) continue;
      if (k < x.size())
        throw invalid_call{who,
                           "the step changed its state in place",
                           {{"step", i}, {"part", k}},
                           "make a new tensor, or clone that part first"};
      throw invalid_call{who,
                         "the step changed its input in place",
                         {{"step", i}, {"part", k - x.size()}},
                         "make a new tensor, or clone it first"};
    }
    return y;
  }
  /// The same, and notes what the step reads from outside.
  [[nodiscard]] tensor_list tracked_step(tensor_list const& x, tensor_list const& given, step_index i) {
    auto all = x;
    all.insert(all.end(), given.begin(), given.end());
    read_tracker const tracker;
    auto y = checked_step(x, given, i);
    auto const reads = tracker.reads(all);
    bool varies = false;
    for (auto const& read : reads) {
      auto const t = read.lock();
      if (reads_state_ < 0 && states_made_.holds(t)) reads_state_ = i;
      // A view that each step makes anew, such as a row of its input, is not a new tensor.
      varies = varies || (i > 0 && !reads_.knows_memory_of(t));
    }
    reads_.add(reads, i);
    tracks_all_ = tracks_all_ || varies || tracker.costs_little();
    for (std::size_t k = 0; k < x.size() && k < y.size(); ++k)
      if (y[k].defined() && tracker.made(y[k])) states_made_.add(y[k]);
    return y;
  }
  /// Whether to note what step i reads though it is run without a tape: in the last step, in steps 2^k and 2^k + 1, and
  /// in every step as soon as such a step has read something new, or if tracking costs little.
  /// \pre i > 0
  [[nodiscard]] bool is_tracked(step_index i) const noexcept {
    auto const is_power = [](step_index k) { return (k & (k - 1)) == 0; };
    return tracks_later && (tracks_all_ || is_power(i) || is_power(i - 1) || i + 1 == steps);
  }
  /// Notes the result of a step's first run, keeps its outputs, and returns the next state.
  [[nodiscard]] tensor_list noted(step_index i, tensor_list y) {
    looks_.note(i + 1, y);
    count(&StepStats::forward);
    if (i == 0) outputs_ = like_outputs();
    keep_outputs(who, outputs_, at::TensorList{y}.slice(initial.size()), i);
    for (std::size_t q = 0; q < outputs_.size(); ++q) {
      auto const& t = y[initial.size() + q];
      auto const part = part_of_output_[q];
      is_part_.push_back(part < initial.size() && t.defined() && t.is_same(y[part]));
    }
    y.resize(initial.size());
    return y;
  }
  /// Finds which outputs are differentiable, and which are always a part of the state: their gradients are added before
  /// those of the next step.
  void learn_outputs(at::TensorList y) {
    auto const parts = initial.size();
    output_flags.resize(y.size() - parts);
    part_of_output_.resize(y.size() - parts, unknown);
    for (std::size_t q = 0; q < output_flags.size(); ++q) {
      auto const& t = y[parts + q];
      if (!t.defined() || !t.requires_grad()) continue;
      output_flags[q] = true;
      auto const edge = torch::autograd::impl::gradient_edge(t);
      std::size_t part = 0;
      while (part < parts && !(last_flags[part] && torch::autograd::impl::gradient_edge(y[part]) == edge)) ++part;
      part_of_output_[q] = part_of_output_[q] == unknown || part_of_output_[q] == part ? part : parts;
    }
  }
  /// \throws recompute_mismatch   if an output is no longer a part of the state
  void check_shared(at::TensorList y, step_index i) const {
    auto const parts = initial.size();
    for (std::size_t q = 0; q < output_flags.size(); ++q) {
      auto const part = part_shared(i, q);
      if (part < parts && !y[part].is_same(y[parts + q]))
        throw recompute_mismatch{who, "a step gives one tensor as a state and an output, and two when it is run again",
                                 {{"step", i}, {"part", part}, {"output", q}},
                                 "make the step a function of its state and its number"};
    }
  }
  /// \throws invalid_call   if the edge leads to an earlier state
  void check_is_no_state(Edge const& edge, step_index i, bool since_begun) const {
    auto const followed = [&](Node const& node) { return !since_begun || begun_.precedes(node); };
    auto const is_state = [&](Node const& node) {
      auto const* const stop = dynamic_cast<gate const*>(&node);
      return stop != nullptr && stop->owner() == this;
    };
    if (leads_to({edge}, followed, is_state)) throw_reads_state(i);
  }
  [[noreturn]] void throw_reads_state(step_index i) const {
    throw invalid_call{who, "the step reads an earlier state of its own loop", {{"step", i}},
                       "make that a part of the state: a tuple of both, of which the step returns the next one"};
  }
  void add_capture(Edge const& edge, step_index i, bool is_read) {
    if (captures.find(edge) < captures.size()) return;
    check_is_no_state(edge, i, true);
    if (options.capture() == Capture::Explicit)
      throw invalid_call{who, "the step uses a differentiable tensor that captures() does not name", {{"step", i}},
                         "name it, or let Capture::FirstStep find it"};
    captures.add(edge);
    if (is_read) reads_.add(captures.leaf(captures.size() - 1), i);
  }
  void lead_to(Edge& edge, step_index i, std::shared_ptr<gate> const& outside, autocast_entries const& casts) const {
    auto const k = capture_behind(edge, casts);
    if (k == captures.size()) check_is_no_state(edge, i, false);
    if (k == captures.size())
      throw invalid_call{who,
                         "the step uses a differentiable tensor that the first steps did not use",
                         {{"step", i}, {"captured tensors known", k}},
                         "name it in captures(...), or find all with Capture::EveryStep"};
    edge = Edge{outside, std::uint32_t(k)};
  }
  void check_flags(at::TensorList y, step_index i) const {
    if (knows_all_steps) return;
    auto const& known = i + 1 == steps ? last_flags : inner_flags;
    for (std::size_t q = 0; q < output_flags.size(); ++q)
      if (auto const& t = y[known.size() + q]; t.defined() && t.requires_grad() && !output_flags[q])
        throw invalid_call{who,
                           "an output of the step becomes differentiable later than in the first steps",
                           {{"step", i}, {"output", q}},
                           "use Capture::EveryStep"};
    for (std::size_t k = 0; k < known.size(); ++k)
      if (y[k].defined() && y[k].requires_grad() && !known[k])
        throw invalid_call{who,
                           "a part of the state becomes differentiable later than in the first steps",
                           {{"step", i}, {"part", k}},
                           "use Capture::EveryStep"};
  }

  static constexpr std::size_t unknown = std::size_t(-1);

  flat_step step_;
  series_form output_form_;
  series_list outputs_;
  std::vector<std::size_t> part_of_output_;  ///< for each output: the part that it equals, the number of parts if there
                                             ///< is none, or `unknown`
  std::vector<bool> is_part_;  ///< for each output of each step
  std::vector<saved_tensor> saved_inputs_;
  read_list reads_;
  storage_set states_made_;  ///< memory of states that were made while reads were tracked
  step_index reads_state_ = -1;  ///< the first step that was seen to read one of them
  bool tracks_all_ = false;  ///< reads are tracked in every later step
  graph_position begun_;  ///< before the first step
  state_metadata looks_;
};

}  // namespace cairn::libtorch::detail
