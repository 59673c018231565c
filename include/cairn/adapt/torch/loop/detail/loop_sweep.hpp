// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_sweep.hpp  Executes a schedule over a loop of tensors: forward to its turn, and from there back,
/// with the gradients of block after block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/step_captures.hpp>
#include <cairn/adapt/torch/loop/detail/step_data.hpp>
#include <cairn/adapt/torch/loop/detail/step_effects.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/open_sweep.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/store/store.hpp>

namespace cairn::libtorch::detail {

/// Whether a copy has the same layout, and so the same bits: false if there are gaps or overlaps in memory, or if it is
/// not a plain strided tensor.
[[nodiscard]] inline bool is_plain(at::Tensor const& t) {
  return t.layout() == at::kStrided && t.has_storage() && !t.is_nested() && !t.is_quantized() && !t.is_conj() &&
         !t.is_neg() && t.is_non_overlapping_and_dense();
}

/// One tensor of a kept state. A copy of this object shares the memory, which is not overwritten while both have it:
/// the next `put` then allocates.
class slot_part {
 public:
  /// Keeps a tensor. If this makes a copy on the same device, t becomes the copy, so that the values exist only once.
  void put(at::Tensor& t, SlotMode slots, Offload offload) {
    if (offload == Offload::Pinned && t.is_cuda() && is_plain(t)) {
      auto const there = t.options().device(at::kCPU).pinned_memory(true);
      pinned_ = at::empty_strided(t.sizes(), t.strides(), there).copy_(t, true);
      device_ = t.device();
    } else {
      if (slots == SlotMode::Eager && is_plain(t)) t = own_copy(t);
      refer(t);
    }
  }
  /// Keeps a reference.
  void refer(at::Tensor const& t) { saved_ = saved_tensor{t}; }
  /// The tensor, undefined if there is none.
  [[nodiscard]] at::Tensor get() const {
    if (!pinned_.defined()) return saved_.value;
    auto const there = pinned_.options().device(device_).pinned_memory(false);
    return at::empty_strided(pinned_.sizes(), pinned_.strides(), there).copy_(pinned_, true);
  }
  /// The tensor that holds the values, wherever it is; undefined if there is none.
  [[nodiscard]] at::Tensor const& held() const noexcept { return pinned_.defined() ? pinned_ : saved_.value; }
  /// Whether a tensor that it refers to has not changed.
  [[nodiscard]] bool unchanged() const { return saved_.unchanged(); }
  /// Drops the tensor, but keeps memory of the device for the next one.
  void drop() noexcept {
    saved_ = {};
    pinned_.reset();
  }

 private:
  /// A copy in memory that nothing else uses.   \pre nothing is kept
  [[nodiscard]] at::Tensor own_copy(at::Tensor const& t) {
    bool const fits = own_.defined() && own_.use_count() == 1 && own_.storage().use_count() == 1 &&
                      own_.device() == t.device() && own_.scalar_type() == t.scalar_type() &&
                      own_.sizes() == t.sizes() && own_.strides() == t.strides();
    if (!fits) {
      own_.reset();
      own_ = at::empty_strided(t.sizes(), t.strides(), t.options());
    }
    own_.copy_(t);
    return own_;
  }

  saved_tensor saved_;
  at::Tensor own_, pinned_;
  c10::Device device_{at::kCPU};  ///< from which the pinned values come
};

/// Keeps a state, and generators and buffers before its step. A copy shares the tensors.
class loop_slot {
 public:
  /// \param state  replaced by the slot's own tensors if these are on the same device   \param initial  state 0, which
  ///   lives anyway and is not copied
  void put(tensor_list& state, std::vector<saved_tensor> const& initial, step_surroundings const& around,
           SlotMode slots, Offload offload) {
    at::NoGradGuard const no_grad;
    drop();
    around_ = around;
    parts_.resize(state.size());
    first_.clear();
    for (std::size_t k = 0; k < state.size(); ++k) first_.push_back(first_place(state, k));
    for (std::size_t k = 0; k < state.size(); ++k) {
      if (!state[k].defined()) continue;
      bytes_ += std::int64_t(state[k].nbytes());
      if (first_[k] < k) state[k] = state[first_[k]];
      else if (stands_in(state[k], initial)) parts_[k].refer(state[k]);
      else parts_[k].put(state[k], slots, offload);
    }
  }
  /// The state. Parts that were the same tensor are the same tensor again.
  /// \throws invalid_call   if a tensor was changed in place
  [[nodiscard]] tensor_list get(char const* who, step_index i) const {
    tensor_list state;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (!parts_[k].unchanged()) throw_changed(who, i, k);
      state.push_back(first_[k] < k ? state[first_[k]] : parts_[k].get());
    }
    return state;
  }
  /// Frees the slot; keeps its memory for the next state unless it holds references.
  void drop() noexcept {
    for (auto& part : parts_) part.drop();
    around_ = {};
    bytes_ = 0;
  }
  [[nodiscard]] step_surroundings const& around() const noexcept { return around_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }  ///< of its tensors, wherever they are
  /// Appends the parts of its state, wherever they are.
  void list_parts(tensor_list& all) const { for (auto const& part : parts_) all.push_back(part.held()); }
  /// Appends its tensors, those of generators and buffers included.
  void list_tensors(tensor_list& all) const {
    list_parts(all);
    around_.list_tensors(all);
  }

  [[noreturn]] static void throw_changed(char const* who, step_index i, std::size_t part) {
    throw invalid_call{who, "a state was changed in place after it was kept", {{"state", i}, {"part", part}},
                       "clone what the loop was given, what it returned and what steps see before you change it"};
  }

 private:
  [[nodiscard]] static bool stands_in(at::Tensor const& t, std::vector<saved_tensor> const& state) {
    for (auto const& part : state)
      if (part.value.defined() &&
          (part.value.is_same(t) || (part.value.has_storage() && t.has_storage() && part.value.is_alias_of(t))))
        return true;
    return false;
  }

  std::vector<slot_part> parts_;
  std::vector<std::size_t> first_;  ///< for each part: the first part that is the same tensor
  step_surroundings around_;
  std::int64_t bytes_ = 0;
};

/// The gradients that a backward needs.
struct wanted_gradients {
  part_flags state, captures;
  std::vector<part_flags> inputs = {};
};

/// The gradients with respect to the inputs of a loop.
struct loop_gradients {
  tensor_list state, captures;
  series_list inputs;
};

/// The gradients of a loop whose backward half is running: those of the state after the remaining steps, and the sums
/// so far for captured tensors and inputs.
class gradients_so_far {
 public:
  /// \param bars  with respect to the parts of the last state   \param outputs  with respect to the outputs; must
  ///   outlive this object, as must `body` and `wanted`
  gradients_so_far(loop_body const& body, tensor_list bars, series_list const& outputs, wanted_gradients const& wanted)
      : body_{body},
        wanted_{wanted},
        outputs_{outputs},
        sums_{std::move(bars), tensor_list(body.captures.size()), like_series(body.inputs.series())},
        outside_{body.captures.new_gate()},
        entered_(outputs.size(), false),
        outputs_count_{any_defined(tensors_of_series(outputs))} {}

  /// Whether any gradients remain to be propagated.
  [[nodiscard]] bool any() const { return outputs_count_ || any_defined(sums_.state); }
  /// Turns gradients with respect to state a.to into gradients with respect to state a.from. The sums so far enter the
  /// engine as roots, so that gradients are added in the order of a plain loop.
  /// \param live  state a.from   \post live is empty   \param recorder  null if nothing is measured
  void pull_back(tensor_list& live, action const& a, stats_recorder* recorder) {
    if (auto const& callback = body_.options.callbacks().run_backward) callback(a.from, a.to);
    auto taped = body_.record(live, a.from, a.to, outside_);
    live.clear();
    body_.count(&StepStats::vjp, a.to - a.from);
    auto roots = roots_of(taped, a);
    bool const connected = !roots.edges.empty();
    for (std::size_t k = 0; k < sums_.captures.size(); ++k)
      roots.enter(Edge{outside_, std::uint32_t(k)}, sums_.captures[k]);
    std::fill(sums_.state.begin(), sums_.state.end(), at::Tensor{});
    auto const into = targets_of(taped, a);
    taped.results.clear();
    taped.outputs.clear();
    taped.casts.clear();
    if (recorder != nullptr) recorder->sample();
    if (connected && !into.ends.empty()) {
      auto gradients = torch::autograd::Engine::get_default_engine().execute(roots.edges, roots.seeds, false, false,
                                                                             false, into.ends);
      body_.count(&StepStats::engine_calls);
      into.put(std::move(gradients));
    }
    if (auto const& callback = body_.options.callbacks().grad) callback(a.from, sums_.state);
  }
  /// Returns the gradients.
  [[nodiscard]] loop_gradients take() { return std::move(sums_); }

 private:
  [[nodiscard]] static bool any_defined(tensor_list const& list) {
    return std::any_of(list.begin(), list.end(), [](at::Tensor const& t) { return t.defined(); });
  }
  /// Where the gradients of results and outputs enter. An output that is a part of state a.from enters with the step
  /// after it, so that gradients are added in the order of a plain loop; `entered_` records this for the next call.
  [[nodiscard]] gradient_roots roots_of(taped_steps const& taped, action const& a) {
    auto const& bars = sums_.state;
    gradient_roots roots;
    auto const results = body_.roots_of(taped, outside_);
    for (std::size_t k = 0; k < results.size(); ++k) roots.enter(results[k], bars[k]);
    for (auto i = a.from; i < a.to; ++i)
      for (std::size_t q = 0; q < outputs_.size(); ++q)
        if (i + 1 < a.to || !entered_[q])
          roots.enter(taped.outputs[std::size_t(i - a.from) * outputs_.size() + q], outputs_[q].at(i));
    for (std::size_t q = 0; a.from > 0 && q < outputs_.size(); ++q) {
      auto const k = body_.outputs.part_shared(a.from - 1, q);
      entered_[q] = k < bars.size() && taped.gathers[k];
      if (entered_[q]) roots.enter(Edge{taped.start, std::uint32_t(k)}, outputs_[q].at(a.from - 1));
    }
    return roots;
  }
  [[nodiscard]] gradient_ends targets_of(taped_steps const& taped, action const& a) {
    gradient_ends into;
    auto& bars = sums_.state;
    for (std::size_t k = 0; k < bars.size(); ++k)
      if (taped.gathers[k] && (a.from > 0 || wanted_.state[k]))
        into.add(taped.start, k, [&bars, k](at::Tensor&& t) { bars[k] = std::move(t); });
    for (std::size_t k = 0; k < sums_.captures.size(); ++k)
      if (wanted_.captures[k]) into.add(outside_, k, [this, k](at::Tensor&& t) { sums_.captures[k] = std::move(t); });
    for (std::size_t place = bars.size(); place < taped.gathers.size(); ++place) {
      auto const q = (place - bars.size()) % body_.inputs.size();
      auto const i = a.from + step_index((place - bars.size()) / body_.inputs.size());
      if (taped.gathers[place] && wanted_.inputs[q][body_.inputs.series()[q].number(i)])
        into.add(taped.start, place, [this, q, i](at::Tensor&& t) { sums_.inputs[q].put(i, t); });
    }
    return into;
  }

  loop_body const& body_;
  wanted_gradients const& wanted_;
  series_list const& outputs_;
  loop_gradients sums_;
  std::shared_ptr<gate> outside_;
  part_flags entered_;
  bool outputs_count_;
};

/// The rest of an online plan after its loop has stopped, from after the turn. Its steps are blocks.
class stopped_loop {
 public:
  stopped_loop(step_index steps, online::cursor const& at) : steps_{steps}, at_{at} {}
  [[nodiscard]] step_index steps() const noexcept { return steps_; }
  [[nodiscard]] slot_index slots() const noexcept { return at_.slots(); }
  [[nodiscard]] step_index leaf() const noexcept { return 1; }
  [[nodiscard]] online::cursor const& walk() const noexcept { return at_; }

 private:
  step_index steps_;
  online::cursor at_;
};

/// Whether a loop continues from a state with this number.
using state_question = std::function<bool(at::TensorList, step_index)>;

/// A loop between its forward and its backward half, with the plan for the rest: the states, the live one and those in
/// slots, and the generators and buffers around them. It is the states and the user of `execute`; of `open_sweep`, too,
/// whose steps are then blocks of steps, and whose states are their first states. A copy shares the tensors.
class loop_sweep : public cairn::detail::no_hooks {
 public:
  static constexpr bool in_place = false;

  /// \param body  must outlive the sweep and its copies
  loop_sweep(any_schedule const& plan, loop_body& body) : plan_{plan}, cursor_{plan_.walk()}, body_{&body} {
    for (auto const& part : body.initial) live_.push_back(part.value);
    recorder_ = stats_recorder::over(body.options.stats(), live_);
  }
  /// For a loop of unknown length.
  explicit loop_sweep(loop_body& body) : loop_sweep{revolve{0, 1}, body} {}

  /// Runs the loop forward, up to the turn, and returns the last state.
  [[nodiscard]] tensor_list run() {
    return run_forward(plan_.leaf(), body_->steps, [&](auto& observer, auto& status) {
      (void)cairn::detail::execute(cursor_, *this, *body_, *this, observer, status);
    });
  }
  /// The same while `goes_on` returns true for the state after a step, with a plan over blocks of `size` steps.
  /// \pre the loop continues at state 0
  [[nodiscard]] tensor_list run_while(online const& plan, step_index size, state_question const& goes_on) {
    goes_on_ = &goes_on;
    size_ = size;
    live_versions_ = versions_of(live_);
    auto blocks = plan.walk();
    auto last = run_forward(size, -1, [&](auto& observer, auto& status) {
      cairn::detail::open_sweep{blocks, *this, *body_, *this, observer, status}.go();
    });
    goes_on_ = nullptr;
    plan_ = leaves{body_->steps, size, stopped_loop{blocks_, blocks}};
    cursor_ = plan_.walk();
    return last;
  }
  /// Notes that these tensors belong to the caller from here on.
  void hands_out(at::TensorList parts) { if (recorder_) recorder_->hands_out(parts); }

  /// \param bars  the gradients with respect to the parts of the last state   \param outputs  with respect to the
  ///   outputs   \throws invalid_call   if the state at the turn was changed in place
  [[nodiscard]] loop_gradients reverse(tensor_list bars, series_list const& outputs, wanted_gradients const& wanted) {
    auto const& body = *body_;
    for (std::size_t k = 0; k < live_.size(); ++k)
      if (version_of(live_[k]) != live_versions_[k]) loop_slot::throw_changed(body.who, live_from_, k);
    stats_recorder::scope const recording{recorder_, stats_recorder::half::backward,
                                          recorder_ ? kept_tensors() : tensor_list{}};
    generator_use const drawing{body.options.rng(), body.draws};
    drawing_ = &drawing;
    rng_autocast_guard const around{live_, body.options.rng(), drawing};
    memory_guard const buffers{body.buffers.first().now()};
    put_back(around_);
    gradients_so_far gradients{body, std::move(bars), outputs, wanted};
    gradients_ = &gradients;
    if (gradients.any())
      watched(true, [&](auto& observer, auto& status) {
        (void)cairn::detail::execute(cursor_, *this, *body_, *this, observer, status);
      });
    drawing.check(body.who);
    body.reads.settle(body.who);
    return gradients.take();
  }

  // ---- for the executor
  void advance(loop_body&, step_index from, step_index to, step_index&) {
    if (gradients_ == nullptr) return run_first(live_, from, to);
    if (auto const& callback = body_->options.callbacks().run_forward) callback(from, to);
    live_ = body_->run_again(std::move(live_), from, to);
    body_->count(&StepStats::recompute, to - from);
  }
  /// The first run from the turn on, which makes the last state.
  std::uint64_t turn(loop_sweep&, action const& a, step_index&) {
    last_ = live_;
    if (a.from < a.to) remember_surroundings();
    live_from_ = a.from;
    live_versions_ = versions_of(live_);
    run_first(last_, a.from, a.to);
    return std::uint64_t(a.to - a.from);
  }
  std::uint64_t reverse(loop_sweep&, action const& a) {
    gradients_->pull_back(live_, a, recorder_.get());
    return 0;
  }
  [[nodiscard]] bool pauses() const { return gradients_ != nullptr && !gradients_->any(); }
  void save(place where, step_index) {
    if (goes_on_ == nullptr) remember_surroundings();  // otherwise the block after live has run, which did that before
    auto const slot = std::size_t(where.slot);
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    auto& into = slots_[slot];
    into.put(live_, body_->initial, around_, body_->options.slots(), body_->options.offload());
    ++full_slots_;
    bytes_ += into.bytes();
    if (auto const& stats = body_->options.stats()) {
      stats->slots_peak = (std::max)(stats->slots_peak, full_slots_);
      stats->bytes_peak = (std::max)(stats->bytes_peak, bytes_);
    }
  }
  [[nodiscard]] bool load(place where, step_index i) {
    auto const& from = slots_[std::size_t(where.slot)];
    live_.clear();
    live_ = from.get(body_->who, i);
    put_back(from.around());
    return true;
  }
  void load_initial() {
    live_.clear();
    for (auto const& part : body_->initial) {
      if (!part.unchanged()) loop_slot::throw_changed(body_->who, 0, live_.size());
      live_.push_back(part.value);
    }
    put_back({body_->generators, {}});
  }
  void drop(place where) {
    auto& slot = slots_[std::size_t(where.slot)];
    --full_slots_;
    bytes_ -= slot.bytes();
    slot.drop();
  }

  // ---- for observers
  /// Bytes of all states that the loop holds; memory that several of them share counts once.
  [[nodiscard]] std::size_t bytes() const {
    auto all = last_;
    for (auto const& part : body_->initial) all.push_back(part.value);
    all.insert(all.end(), live_.begin(), live_.end());
    std::size_t sum = 0;
    for (auto const& slot : slots_) slot.list_parts(all);
    std::unordered_set<void const*> counted;
    for (auto const& t : all) {
      if (!t.defined()) continue;
      if (!t.has_storage()) sum += t.nbytes();
      else if (auto const& storage = t.storage(); counted.insert(storage.unsafeGetStorageImpl()).second)
        sum += storage.nbytes();
    }
    return sum;
  }
  /// Shows the bytes of the live or the last state; false if there is none, or if some of it is not in the processor's
  /// memory or has gaps there.
  bool visit(action const& a, moment when, event::sink sink, void* context) const {
    auto const& parts = a.kind == action_kind::turn && when == moment::after ? last_ : live_;
    for (auto const& part : parts) if (part.defined() && !(part.is_cpu() && is_plain(part))) return false;
    for (auto const& part : parts) if (part.defined()) sink(context, part.data_ptr(), part.nbytes());
    return !parts.empty();
  }

  // ---- for loops of unknown length
  [[nodiscard]] tensor_list const& live() const noexcept { return live_; }
  [[nodiscard]] tensor_list const& final_state() const noexcept { return last_; }
  /// Runs a block from live as far as the loop goes.
  void turn(loop_body&, step_index, step_index, step_index&) {
    remember_surroundings();
    last_ = live_;
    for (step_index left = size_; more_ && left > 0; --left) {
      run_first(last_, steps_, steps_ + 1);
      more_ = (*goes_on_)(last_, ++steps_);
    }
  }
  void final_becomes_live() {
    live_ = std::exchange(last_, {});
    live_versions_ = versions_of(live_);
  }
  [[nodiscard]] bool goes_on(tensor_list const&, step_index) const noexcept { return more_; }
  void ends_at(step_index blocks) {
    blocks_ = blocks;
    live_from_ = (blocks - 1) * size_;
    body_->steps = steps_;
    body_->note_end(steps_, last_);
  }
  [[nodiscard]] action as_shown(action a) const noexcept {
    for (step_index* const i : {&a.from, &a.to}) *i = step_index(std::uint64_t(*i) * std::uint64_t(size_));
    if (a.kind == action_kind::turn) a.to = steps_;
    return a;
  }

 private:
  /// \param block  steps that are reversed together   \param end  the number of steps, or -1
  template <class Run>
  [[nodiscard]] tensor_list run_forward(step_index block, step_index end, Run run) {
    auto& body = *body_;
    generator_use const drawing{body.options.rng()};
    drawing_ = &drawing;
    body.buffers = outside_memory{body.options.restored_buffers()};
    remember_surroundings();  // only now can other threads see that the generators are in use
    body.generators = around_.generators;
    stats_recorder::scope const recording{recorder_, stats_recorder::half::forward,
                                          recorder_ ? tensors_around() : tensor_list{}};
    body.set_blocks(block, end);
    watched(false, run);
    body.knows_all_steps = learning_;
    body.note_drawn(drawing);
    body.note_changed_buffers();
    return std::exchange(last_, {});
  }
  /// Calls run(observer, status) with the observer of the options. Without one, `run` is compiled separately and costs
  /// nothing.
  template <class Run>
  void watched(bool turned, Run run) {
    cairn::detail::sweep_status status;
    status.turned = turned;
    if (auto const& observer = body_->options.observer()) return run(observer, status);
    no_observer nobody;
    run(nobody, status);
  }
  /// Runs steps [from, to) on x for the first time; with a tape as long as something is learned from it.
  void run_first(tensor_list& x, step_index from, step_index to) {
    auto& body = *body_;
    if (auto const& callback = body.options.callbacks().run_forward; callback && from < to) callback(from, to);
    auto i = from;
    for (; learning_ && i < to; ++i) {
      auto const before = i == 0 ? body.initial_flags : body.last_flags;
      x = body.discover(x, i, before);
      bool const settled = body.last_flags == before && body.is_differentiable();
      learning_ = !settled || body.options.capture() == Capture::EveryStep;
    }
    body.run_first(x, i, to);
  }
  /// Stores generators and buffers, for the step after live.
  void remember_surroundings() {
    if (body_->options.rng() == Rng::Preserve) around_.generators = generator_states::now(live_);
    around_.buffers = body_->buffers.stored_now(around_.buffers);
  }
  void put_back(step_surroundings const& around) const {
    drawing_->put_back(around.generators);
    body_->buffers.put_back(around.buffers);
  }
  /// The states of the generators, and buffers.
  [[nodiscard]] tensor_list tensors_around() const {
    tensor_list all;
    body_->generators.list_tensors(all);
    body_->buffers.first().list_tensors(all);
    around_.list_tensors(all);
    return all;
  }
  /// All tensors that the loop holds between its halves.
  [[nodiscard]] tensor_list kept_tensors() const {
    auto all = tensors_around();
    all.insert(all.end(), live_.begin(), live_.end());
    for (auto const& slot : slots_) slot.list_tensors(all);
    return all;
  }

  any_schedule plan_;
  any_schedule::cursor cursor_;
  loop_body* body_;
  tensor_list live_;  ///< empty after its step has been differentiated
  tensor_list last_;  ///< in the forward half, from the turn on
  std::vector<loop_slot> slots_;
  std::shared_ptr<stats_recorder> recorder_;  ///< null if nothing is measured
  std::vector<std::int64_t> live_versions_;  ///< at the turn
  step_index live_from_ = 0;  ///< the number of that state
  step_surroundings around_;  ///< of the step after live, as of the last save or the turn
  generator_use const* drawing_ = nullptr;    ///< of the half that is running
  gradients_so_far* gradients_ = nullptr;     ///< of the backward half
  std::int64_t full_slots_ = 0, bytes_ = 0;
  bool learning_ = true;
  state_question const* goes_on_ = nullptr;   ///< while a loop of unknown length runs forward
  step_index size_ = 1, steps_ = 0, blocks_ = 0;  ///< of a block; run so far; of the loop, once it has ended
  bool more_ = true;                              ///< whether the loop goes on after the state asked about last
};

}  // namespace cairn::libtorch::detail
