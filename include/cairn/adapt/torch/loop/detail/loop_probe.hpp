// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_probe.hpp  Measures the steps of a loop over tensors by running the first few of them with the loop's own
/// code, and makes checkpoints and a block size of a memory limit.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_sweep.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn::libtorch::detail {

/// \throws invalid_plan   if the options' numbers are invalid or contradict each other
inline void check_sizes(char const* who, LoopOptions const& options) {
  auto const slots = options.checkpoints(), size = options.block_size();
  if (slots < 0 || size < 0)
    throw invalid_plan{who,
                       "checkpoints and block sizes are 1 or more, or 0 for the default",
                       {{"checkpoints", slots}, {"block size", size}},
                       ""};
  if (options.has_memory_limit() && (slots > 0 || size > 0 || options.schedule()))
    throw invalid_plan{who,
                       "a memory limit chooses checkpoints and blocks itself",
                       {{"checkpoints", slots}, {"block size", size}},
                       "give either"};
}
/// The schedule of the options for a loop of `steps` steps.   \throws invalid_plan, invalid_schedule
[[nodiscard]] inline any_schedule loop_schedule(char const* who, step_index steps, LoopOptions const& options) {
  if (steps < 0) throw invalid_plan{who, "the number of steps is negative", {{"steps", steps}}, ""};
  check_sizes(who, options);
  auto const slots = options.checkpoints(), size = options.block_size();
  if (auto const& given = options.schedule()) {
    if (slots > 0 || size > 0)
      throw invalid_plan{who,
                         "a schedule brings its own checkpoints and blocks",
                         {{"checkpoints", slots}, {"block size", size}},
                         "give either"};
    if (given->steps() != steps)
      throw invalid_plan{who,
                         "the schedule is for another number of steps",
                         {{"its steps", given->steps()}, {"steps", steps}},
                         "make one for this loop"};
    if (given->tapes() > 0)
      throw invalid_plan{who, "the schedule keeps tapes", {{"tapes", given->tapes()}},
                         "keep states only; blocks of several steps keep their tapes together"};
    return verified<any_schedule>{*given}.inner();
  }
  step_index const block = size > 0 ? size : slots > 0 || steps < 1 ? 1 : whole_square_root(steps);
  step_index const blocks = cairn::detail::leaves_in(steps, block);
  return leaves{steps, block, revolve{blocks, slots > 0 ? slots : useful_slots(blocks)}};
}

inline constexpr char const* while_name = "cairn::libtorch::checkpointed_while";
/// The plan of the options, before any memory limit.   \throws invalid_plan
[[nodiscard]] inline while_plan plan_of_while(LoopOptions const& options) {
  check_sizes(while_name, options);
  if (auto const& given = options.schedule())
    throw invalid_plan{while_name,
                       "a schedule is for a known number of steps",
                       {{"its steps", given->steps()}},
                       "give checkpoints(...) and block_size(...), or memory_limit(...), or run that many steps with "
                       "checkpointed_loop"};
  while_plan plan;
  if (options.checkpoints() > 0) plan.checkpoints = options.checkpoints();
  if (options.block_size() > 0) plan.block_size = options.block_size();
  return plan;
}

/// Observes which storages of some tensors outlive the tensors.
class storage_list {
 public:
  explicit storage_list(at::TensorList parts) {
    for (auto const& part : parts) {
      bool const stored = part.defined() && part.has_storage();
      storages_.push_back(stored ? part.storage().getWeakStorageImpl()
                                : weak_storage{c10::intrusive_ptr<c10::StorageImpl>{}});
      bytes_.push_back(stored ? wide(part.storage().nbytes()) : 0);
      address_.push_back(stored ? part.storage().unsafeGetStorageImpl() : nullptr);
    }
  }
  [[nodiscard]] bool lives(std::size_t k) const { return !storages_[k].expired(); }
  /// Bytes of all storages that are not at the same place in `before`; each counts once.
  [[nodiscard]] wide bytes_beside(storage_list const& before) const {
    return bytes_where([&](std::size_t k) { return address_[k] != nullptr && address_[k] != before.address_[k]; });
  }
  /// Bytes of all storages that are not in `other`; each counts once.
  [[nodiscard]] wide bytes_apart_from(storage_list const& other) const {
    return bytes_where([&](std::size_t k) { return address_[k] != nullptr; },
                       {other.address_.begin(), other.address_.end()});
  }
  /// Bytes of all storages that are alive and whose counterparts at the same places in `later` are alive; each counts
  /// once.
  [[nodiscard]] wide bytes_alive_with(storage_list const& later) const {
    return bytes_where([&](std::size_t k) { return lives(k) && later.lives(k); });
  }

 private:
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  /// Bytes of the storages at chosen places; each counts once, and none in `seen`.
  template <class Chosen>
  [[nodiscard]] wide bytes_where(Chosen const& chosen, std::unordered_set<void*> seen = {}) const {
    wide sum = 0;
    for (std::size_t k = 0; k < address_.size(); ++k)
      if (chosen(k) && seen.insert(address_[k]).second) sum += bytes_[k];
    return sum;
  }
  std::vector<weak_storage> storages_;
  std::vector<wide> bytes_;
  std::vector<void*> address_;
};

/// Runs the first steps of a loop forward and back, in blocks of one and of two steps. Generators, automatic casts and
/// buffers are restored afterwards, and no gradient is written anywhere. Never holds more than the loop itself takes at
/// least, or than the limit if that is larger.
class loop_probe {
 public:
  /// \param initial  the caller's tensors   \param data  the steps' other inputs and outputs; the first of them count
  ///   as held by the loop
  /// \param who  the verb, for errors
  loop_probe(flat_step const& step, step_index steps, at::TensorList initial, LoopOptions const& options,
             loop_data const& data = {}, char const* who = loop_name)
      : who_{who},
        step_{step},
        initial_{initial.vec()},
        data_{data},
        options_{quiet(options)},
        meter_{device_of(initial)},
        around_{initial, options.rng() == Rng::Ignore ? Rng::Preserve : Rng::Ignore, drawing_},
        buffers_{memory_images{options_.restored_buffers()}} {
    costs_.steps = steps;
  }
  static constexpr step_index counted = 5;  ///< most steps that `count_steps` runs
  /// For a loop of unknown length, called before `run`: runs its first steps while `goes_on` returns true for the state
  /// before the step, at most `counted`.
  /// \pre the loop continues at state 0
  void count_steps(state_question const& goes_on) {
    rng_autocast_guard const around{initial_, options_.rng(), drawing_};
    loop_body body{step_, 0, initial_, options_, {}, who_};
    body.reads.tracks_later = false;
    auto x = detached(initial_);
    bool more = true;
    undone_writes changes;
    for (costs_.steps = 0; more;) {
      {
        read_tracker const tracker{&changes.log};
        body.run_first(x, costs_.steps, costs_.steps + 1);
      }
      ++costs_.steps;
      mark();
      more = costs_.steps < counted && goes_on(x, costs_.steps);
      asked_bytes_ = (std::max)(asked_bytes_, taken());
    }
  }
  [[nodiscard]] wide asked_bytes() const noexcept { return asked_bytes_; }  ///< most bytes that `goes_on` took
  /// Bytes of the initial state in addition to what every state has.
  [[nodiscard]] wide carried_bytes() const noexcept { return carried_bytes_; }
  /// \param limit  in bytes: blocks of two steps are run if they fit
  [[nodiscard]] loop_costs run(wide limit) {
    if (costs_.steps < 1) return costs_;
    if (options_.rng() == Rng::Preserve) {
      auto const before = meter_.allocated();
      auto const generators = generator_states::now(initial_);
      costs_.generator_bytes = wide(meter_.allocated() - before);
    }
    find_late_writes(std::min<step_index>(costs_.steps, counted));
    auto const single = sweep(std::min<step_index>(costs_.steps, 3), 1);
    wide const initial_bytes = storage_list{initial_}.bytes_beside(storage_list{tensor_list(initial_.size())});
    carried_bytes_ = initial_bytes - (std::min)(initial_bytes, costs_.state_bytes);
    costs_.other_bytes += carried_bytes_;
    costs_.probe_bytes = wide((std::max)(most_, meter_.peak())) + initial_bytes;
    costs_.block_bytes = single.block_bytes;
    // While the second step is recorded, the whole state between them is held; while it is differentiated, so are the
    // sums of gradients that the first made later.
    costs_.pair_bytes =
        single.block_bytes + (std::max)(costs_.tape_bytes + costs_.state_bytes, costs_.gradient_bytes) + shared_bytes_;
    costs_.probe_bytes = least_bytes(costs_);  // measuring pairs of steps needs memory for them
    costs_.vjp_seconds = single.block_seconds;
    if (costs_.steps < 5 || !single.differentiable || bytes_of_loop(costs_, 2, 1) > limit) return costs_;
    auto const pair = sweep(5, 2);
    costs_.pair_bytes = (std::max)(pair.block_bytes, costs_.block_bytes) + shared_bytes_;
    // Two blocks of one step call the engine once more than one block of two.
    costs_.vjp_seconds =
        (std::max)(pair.block_seconds - single.block_seconds, (std::min)(costs_.step_seconds, single.block_seconds));
    costs_.call_seconds = (std::max)(0.0, single.block_seconds - costs_.vjp_seconds);
    return costs_;
  }

 private:
  using clock = std::chrono::steady_clock;
  struct block_measure {
    wide block_bytes = 0;
    double block_seconds = 0;
    bool differentiable = false;
  };

  [[nodiscard]] static LoopOptions quiet(LoopOptions options) {
    options.callbacks({}).observer(no_observer{}).stats(nullptr).side_effects(SideEffects::RestoreBuffers);
    return options;
  }
  /// The time when a device has computed these tensors.
  [[nodiscard]] static clock::time_point when_done(at::TensorList parts) {
    wait_for(parts);
    return clock::now();
  }
  [[nodiscard]] static double seconds(clock::time_point from, clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  /// Starts counting bytes from here.
  void mark() {
    most_ = (std::max)(most_, meter_.peak());
    marked_ = meter_.allocated();
    meter_.reset_peak();
  }
  [[nodiscard]] wide taken() const { return wide(meter_.peak() - marked_); }

  /// Copies that share nothing with the tensors; equal tensors become equal copies.
  [[nodiscard]] static tensor_list copies(at::TensorList parts) {
    tensor_list all;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto const first = first_place(parts, k);
      all.push_back(first < k ? all[first] : parts[k].defined() ? parts[k].detach().clone() : at::Tensor{});
    }
    return all;
  }
  /// Bytes of the casts of captured leaves: one per block, as for their gradients.
  [[nodiscard]] static wide bytes_of_casts(loop_body const& body) {
    wide sum = 0;
    for (auto const& cast : body.captures.casts())
      if (cast.leaf.defined()) sum += wide(cast.leaf.numel()) * wide(c10::elementSize(cast.type));
    return sum;
  }
  /// Bytes that one more step adds to the tapes of a block.   \param x  copies of the state before step i; they are
  /// freed
  [[nodiscard]] wide tape_of_step(loop_body const& body, tensor_list x, wide held_before, step_index i) const {
    auto const outside = body.captures.new_gate();
    auto taped = body.record(x, i, i + 1, outside);
    auto const roots = body.roots_of(taped, outside);
    wide casts = bytes_of_casts(body);
    auto const with_casts = meter_.allocated();
    taped.casts.clear();
    casts -= (std::min)(casts, wide(with_casts - meter_.allocated()));
    storage_list const before{x}, after{taped.results};
    x.clear();
    taped.results.clear();
    wide const saved = wide(meter_.allocated()) - held_before;
    // A state that both steps save counts once.
    return saved - (std::min)(saved, before.bytes_alive_with(after) + casts);
  }

  /// Notes what the first steps write to, or draw from, beside what step 0 does, which each sweep finds itself: sweeps
  /// are measured without looking at their later steps.
  void find_late_writes(step_index count) {
    rng_autocast_guard const around{initial_, options_.rng(), drawing_};
    loop_body body{step_, count, initial_, options_, {first_of(data_.inputs, count), data_.outputs}, who_};
    body.reads.tracks_later = false;
    auto x = detached(initial_);
    undone_writes first;
    {
      read_tracker const tracker{&first.log};
      body.run_first(x, 0, 1);
    }
    first.log.end();
    outside_memory known;
    known.add(first.log, 0);
    known.leave_out_of(late_.log);
    {
      read_tracker const tracker{&late_.log};
      body.run_first(x, 1, count);
    }
    late_.log.end();
    late_.log.put_back();
  }
  /// Takes the bytes and times of one sweep, step by step in the forward half and block by block in the backward half.
  struct sweep_measurement {
    static constexpr double never = std::numeric_limits<double>::infinity();

    loop_probe& probe;
    step_index count, size;
    double step_seconds = never, typical_seconds = never, any_seconds = never;
    wide block_bytes = 0, beside_states = 0;
    bool forward = true, adjusted = false;
    clock::time_point start{};
    std::optional<storage_list> previous{};
    tensor_list second{};  ///< state 1
    wide bytes_of_second = 0, second_apart = 0;
    generator_states generators{};

    [[nodiscard]] tensor_list run(at::TensorList parts, step_index i) {
      if (!forward) return probe.step_(parts, i);
      auto const state = parts.slice(0, probe.initial_.size());
      if (i == 1 && size == 1) {
        bytes_of_second = wide(probe.meter_.allocated());
        second = copies(state);
        second_apart = storage_list{state}.bytes_apart_from(storage_list{probe.initial_});
        bytes_of_second = wide(probe.meter_.allocated()) - bytes_of_second;
        if (probe.options_.rng() == Rng::Preserve) generators = generator_states::now(parts);
      }
      previous.emplace(state);
      start = when_done(parts);
      probe.mark();
      auto next = probe.step_(parts, i);
      probe.costs_.step_bytes = (std::max)(probe.costs_.step_bytes, probe.taken());
      double const took = seconds(start, when_done(next));
      if (i > 0 || count == 1) step_seconds = (std::min)(step_seconds, took);  // step 0 also has its graph inspected
      return next;
    }
    void begin_block(step_index from, step_index to) {
      probe.mark();
      if (to < count || count == 1) {  // gradients of captured tensors exist
        // The slot, and a separate live state.
        wide const kept = from > 0 ? probe.costs_.generator_bytes + second_apart : 0;
        if (!adjusted) beside_states = wide(probe.marked_) - (std::min)(wide(probe.marked_), kept);
        adjusted = true;
      }
      start = clock::now();
    }
    void end_block(step_index from, at::TensorList bars) {
      block_bytes = (std::max)(block_bytes, probe.taken());
      double const took = seconds(start, when_done(bars));
      any_seconds = (std::min)(any_seconds, took);
      if (from > 0 && from + size <= count) typical_seconds = (std::min)(typical_seconds, took);
    }
    [[nodiscard]] StepCallbacks callbacks() {
      StepCallbacks all;
      all.run_backward = [this](step_index from, step_index to) { begin_block(from, to); };
      all.grad = [this](step_index from, at::TensorList bars) { end_block(from, bars); };
      return all;
    }
  };
  /// Gradients of ones for the last state, and for the outputs of the first `count` steps.
  [[nodiscard]] static std::pair<tensor_list, series_list> bars_of(loop_body& body, tensor_list const& last,
                                                                   step_index count) {
    tensor_list bars;
    for (std::size_t k = 0; k < last.size(); ++k)
      bars.push_back(body.last_flags[k] ? at::ones_like(last[k]) : at::Tensor{});
    auto output_bars = body.outputs.like(count);
    auto const outputs = body.outputs.take();
    for (std::size_t q = 0; q < outputs.size(); ++q)
      for (step_index i = 0; body.outputs.flags()[q] && i < count; ++i)
        if (auto const t = outputs[q].at(i); t.defined()) output_bars[q].put(i, at::ones_like(t));
    return {std::move(bars), std::move(output_bars)};
  }

  /// Runs the first `count` steps forward and back, with one slot and blocks of `size`.
  [[nodiscard]] block_measure sweep(step_index count, step_index size) {
    block_measure found;
    sweep_measurement measured{*this, count, size};
    flat_step const measured_step = [&](at::TensorList parts, step_index i) { return measured.run(parts, i); };
    auto options = options_;
    options.callbacks(measured.callbacks());

    loop_body body{measured_step, count, initial_, std::move(options), {first_of(data_.inputs, count), data_.outputs},
                   who_};
    body.reads.tracks_later = false;  // tracking would count as time of the step
    struct rewinding {
      ~rewinding() {
        body.buffers.first().put_back();
        late.log.put_back();
      }
      loop_body const& body;
      undone_writes const& late;
    } const rewinds{body, late_};
    generator_guard const at_end{drawing_, body.generators};
    loop_sweep sweep{leaves{count, size, revolve{cairn::detail::leaves_in(count, size), 1}}, body};
    auto const last = sweep.run();
    measured.forward = false;
    if (size == 1)
      body.buffers.first().each_changed(
          [&](void const*, std::int64_t bytes) { costs_.generator_bytes += wide(bytes); });
    costs_.step_seconds = size == 1 ? measured.step_seconds : (std::min)(measured.step_seconds, costs_.step_seconds);
    storage_list const of_last{last};
    costs_.state_bytes = (std::max)(costs_.state_bytes, of_last.bytes_beside(*measured.previous));
    shared_bytes_ = costs_.state_bytes - (std::min)(costs_.state_bytes, of_last.bytes_apart_from(*measured.previous));
    auto [bars, output_bars] = bars_of(body, last, count);
    found.differentiable = body.is_differentiable();
    if (!found.differentiable) return found;
    if (!measured.second.empty()) {
      drawing_.put_back(measured.generators);
      if (body.autocast.caches()) at::autocast::clear_cache();  // taped steps make their own casts
      auto const others = wide(meter_.allocated()) - measured.bytes_of_second;
      costs_.tape_bytes = tape_of_step(body, std::exchange(measured.second, {}), others, 1);
      measured.generators = {};
    }
    wanted_gradients const all{part_flags(last.size(), true), part_flags(body.captures.size(), true),
                               body.inputs.flags()};
    auto const of_captures = sweep.reverse(std::move(bars), output_bars, all).captures;
    if (size == 1) {
      costs_.gradient_bytes = storage_list{of_captures}.bytes_beside(storage_list{tensor_list(of_captures.size())});
      costs_.other_bytes =
          measured.beside_states - (std::min)(measured.beside_states, count > 1 ? costs_.gradient_bytes : 0);
      costs_.third_bytes = sums_casts_in_place ? 0 : bytes_of_casts(body);
    }
    found.block_bytes = measured.block_bytes;
    bool const is_typical = measured.typical_seconds < sweep_measurement::never;
    found.block_seconds = is_typical ? measured.typical_seconds : measured.any_seconds;
    return found;
  }

  char const* who_;
  flat_step step_;
  tensor_list initial_;
  loop_data data_;
  LoopOptions options_;
  byte_meter meter_;
  generator_use drawing_{Rng::Preserve};  ///< the probe restores generators, regardless of the options
  rng_autocast_guard around_;  ///< generators are restored from the states that a sweep keeps, if any
  memory_guard buffers_;
  undone_writes late_;
  std::int64_t marked_ = 0, most_ = 0;
  wide asked_bytes_ = 0, carried_bytes_ = 0;
  /// Memory that a state shares with the next one, at another place, but not with the one after that.
  wide shared_bytes_ = 0;
  loop_costs costs_;
};

/// The options, with the limit of the process if they set no schedule, checkpoints, block size or limit.
[[nodiscard]] inline LoopOptions with_process_limit(LoopOptions options) {
  bool const is_free =
      !options.has_memory_limit() && !options.schedule() && options.checkpoints() == 0 && options.block_size() == 0;
  if (auto const limit = libtorch::memory_limit(); limit && is_free) options.memory_limit(*limit);
  return options;
}
/// The limit of the options in bytes; 0 if there is none.   \throws device_error
[[nodiscard]] inline wide limit_of(LoopOptions const& options, at::TensorList state) {
  if (auto const bytes = options.memory_limit()) return bytes->count();
  if (options.memory_share() > 0) return wide(options.memory_share() * double(free_memory(device_of(state))));
  return 0;
}
/// What a loop's costs depend on.   \param steps  -1 if unknown
[[nodiscard]] inline plan_key key_of_loop(plan_key key, step_index steps, at::TensorList initial,
                                          LoopOptions const& options, loop_data const& data) {
  key.add_size();
  key.add(steps, options.memory_limit() ? options.memory_limit()->count() : 0,
          std::bit_cast<std::int64_t>(options.memory_share()), options.capture(), options.rng(), options.determinism(),
          options.verify(), options.double_backward(), options.side_effects(), options.slots(), options.offload());
  for (auto const device : {at::kCPU, at::kCUDA}) key.add(autocast_is_on(device), autocast_type(device));
  key.add(at::autocast::is_autocast_cache_enabled(), at::globalContext().deterministicAlgorithms(),
          at::get_num_threads());  // kernels take temporary memory for each thread
  tensor_list all = initial.vec();
  for (auto const& series : data.inputs) all.insert(all.end(), series.tensors().begin(), series.tensors().end());
  for (auto const* list : {&options.captures(), &options.buffers()}) all.insert(all.end(), list->begin(), list->end());
  key.add(initial.size(), data.inputs.size(), options.captures().size(), options.modes().size());
  for (bool const mode : options.modes()) key.add(mode);
  key.add(data.outputs);
  key.add_tensors(all);
  return key;
}
/// The place for plans of a thread's loops whose step is a module.
[[nodiscard]] inline LoopPlans& loop_plans_of_this_thread() {
  static thread_local LoopPlans plans;
  return plans;
}
/// The options with a memory limit, if any, replaced by checkpoints and a block size. Costs are those that were kept,
/// or those that `measure(options, limit)` returns, which are kept if they are enough.
/// \param of  identifies the step   \param steps  -1 if unknown   \param least_steps  costs from fewer steps are not
///   valid for other such loops   \param least(costs)  in bytes   \param choose(costs, limit)  the plan
/// \throws infeasible_budget   if the limit is below the least
template <class Measure, class Least, class Choose>
[[nodiscard]] LoopOptions planned(char const* who, plan_key of, step_index steps, at::TensorList initial,
                                  LoopOptions options, loop_data const& data, step_index least_steps, Measure measure,
                                  Least least, Choose choose) {
  options = with_process_limit(std::move(options));
  if (!options.has_memory_limit()) return options;
  wide const limit = limit_of(options, initial);
  auto* const place = options.plans() ? options.plans().get() : of.is_known ? &loop_plans_of_this_thread() : nullptr;
  std::optional<loop_costs> known;
  if (place != nullptr) known = place->find(of = key_of_loop(std::move(of), steps, initial, options, data));
  auto const costs = known ? *known : measure(options, limit);
  if (wide const needed = least(costs); limit < needed)
    throw infeasible_budget{who,
                            "the memory limit is below what any plan takes",
                            {{"limit", limit},
                             {"least", needed},
                             {"bytes of a state", costs.state_bytes},
                             {"of gradients", costs.gradient_bytes}},
                            "give the least, or make the state or the step smaller"};
  if (!known && place != nullptr && costs.steps >= least_steps) place->keep(std::move(of), costs);
  auto const choice = choose(costs, limit);
  return options.no_memory_limit().checkpoints(choice.checkpoints).block_size(choice.block_size);
}
/// The same for a loop of known length.   \pre steps >= 1
/// \throws invalid_plan, infeasible_budget, device_error; invalid_call if a profiler of LibTorch is on and steps are
///   measured
[[nodiscard]] inline LoopOptions within_limit(char const* who, flat_step const& step, plan_key of, step_index steps,
                                              at::TensorList initial, LoopOptions options,
                                              loop_data const& data = {}) {
  if (options.has_memory_limit()) (void)loop_schedule(who, steps, options);
  auto const measure = [&](LoopOptions const& how, wide limit) {
    return loop_probe{step, steps, initial, how, data, who}.run(limit);
  };
  return planned(who, std::move(of), steps, initial, std::move(options), data, 0, measure, least_bytes, choose_loop);
}
/// The same for a loop of unknown length that continues at state 0.   \throws as above
[[nodiscard]] inline LoopOptions while_within_limit(flat_step const& step, plan_key of, at::TensorList initial,
                                                    LoopOptions options, state_question const& goes_on) {
  auto const measure = [&](LoopOptions const& how, wide limit) {
    loop_probe probe{step, 0, initial, how, {}, while_name};
    probe.count_steps(goes_on);
    auto costs = probe.run(limit);
    // Everything besides states.
    costs.step_bytes = (std::max)(costs.step_bytes, costs.state_bytes + probe.asked_bytes()) + probe.carried_bytes();
    return costs;
  };
  auto const least = [](loop_costs const& found) {
    return (std::max)(bytes_of_while(found, {1, 1}), found.probe_bytes);
  };
  return planned(while_name, std::move(of), -1, initial, std::move(options), {}, loop_probe::counted, measure, least,
                 choose_while);
}

}  // namespace cairn::libtorch::detail
