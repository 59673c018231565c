// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_options.hpp  Options of a loop over tensors, and slots that keep states.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn::libtorch {

/// How a slot keeps a state.
enum class SlotMode {
  Lazy,  ///< holds a reference to the tensors of the state: no copy, and no memory before a state is kept
  Eager  ///< copies into tensors allocated before the loop: memory runs out at the start or not at all, and steps may
         ///< work in place
};

/// A number of slots, each for one state of any number of tensors. Undefined tensors stay undefined. The tensors have
/// no gradient history.
class slot_pool {
  struct one_slot {
    std::vector<detail::saved_tensor> parts;
    bool full = false;
  };
  template <class Self>
  [[nodiscard]] static auto& slot_at(Self& self, std::size_t slot, char const* operation) {
    if (slot >= self.slots_.size())
      throw invalid_call{
          operation, "there is no such slot", {{"slot", slot}, {"slots", self.slots_.size()}}, "slots count from 0"};
    return self.slots_[slot];
  }

 public:
  slot_pool() = default;
  /// \param like  an Eager pool allocates tensors with the sizes, types and devices of this state now; a Lazy pool
  ///   ignores it
  /// Cost: Eager, `slots` times the bytes of `like`.
  slot_pool(SlotMode mode, std::size_t slots, at::TensorList like) : mode_{mode}, slots_(slots) {
    if (mode == SlotMode::Lazy) return;
    for (auto& slot : slots_)
      for (auto const& part : like)
        slot.parts.emplace_back(part.defined() ? at::empty_like(part.detach()) : at::Tensor{});
  }

  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }  ///< slots
  [[nodiscard]] SlotMode mode() const noexcept { return mode_; }  ///< how it keeps states
  /// Whether a slot keeps a state.   \throws invalid_call
  [[nodiscard]] bool holds(std::size_t slot) const {
    return slot_at(*this, slot, "cairn::libtorch::slot_pool::holds").full;
  }

  /// Keeps a state in a slot, replacing the previous one. An Eager slot copies if its tensor has the sizes and type of
  /// the part and nothing else holds it; otherwise it gets a new tensor, because the old one may be in a graph.
  /// \throws invalid_call  for a slot that does not exist
  void save(std::size_t slot, at::TensorList state) {
    auto& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::save");
    at::NoGradGuard const no_grad;
    entry.full = false;  // the code below may throw half-way
    entry.parts.resize(state.size());
    for (std::size_t k = 0; k < state.size(); ++k) {
      auto& tensor = entry.parts[k].value;
      if (!state[k].defined() || mode_ == SlotMode::Lazy)
        tensor = state[k].defined() ? state[k].detach() : at::Tensor{};
      else if (fits(tensor, state[k])) tensor.copy_(state[k]);
      else tensor = state[k].detach().clone();
      entry.parts[k].version = detail::version_of(tensor);
    }
    entry.full = true;
  }
  /// The tensors of a kept state. They are the slot's own: do not write to them; the next load would detect it.
  /// \throws invalid_call  for an empty slot, and for a tensor that was changed in place after it was kept
  [[nodiscard]] std::vector<at::Tensor> load(std::size_t slot) const {
    auto const& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::load");
    if (!entry.full)
      throw invalid_call{
          "cairn::libtorch::slot_pool::load", "the slot keeps no state", {{"slot", slot}}, "save one there first"};
    std::vector<at::Tensor> state;
    for (std::size_t k = 0; k < entry.parts.size(); ++k) {
      if (!entry.parts[k].unchanged())
        throw invalid_call{"cairn::libtorch::slot_pool::load",
                           "a tensor was changed in place after it was kept",
                           {{"slot", slot}, {"part", k}},
                           "let the step make new tensors, or take SlotMode::Eager"};
      state.push_back(entry.parts[k].value);
    }
    return state;
  }
  /// Empties the slot. A Lazy slot releases its tensors, an Eager one keeps them for the next state.
  /// \throws invalid_call
  void drop(std::size_t slot) {
    auto& entry = slot_at(*this, slot, "cairn::libtorch::slot_pool::drop");
    entry.full = false;
    if (mode_ == SlotMode::Lazy) entry.parts.clear();
  }
  /// Releases the tensors of all empty slots; an Eager slot allocates new ones at its next save.
  void release_unused() noexcept {
    for (auto& slot : slots_) if (!slot.full) slot.parts.clear();
  }
  /// Bytes of the tensors that the slots hold, including those of empty Eager slots.
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (auto const& slot : slots_)
      for (auto const& part : slot.parts) sum += part.value.defined() ? std::int64_t(part.value.nbytes()) : 0;
    return sum;
  }

 private:
  [[nodiscard]] static bool fits(at::Tensor const& entry, at::Tensor const& part) {
    return entry.defined() && entry.sizes() == part.sizes() && entry.scalar_type() == part.scalar_type() &&
           entry.device() == part.device() && entry.use_count() == 1 && entry.storage().use_count() == 1;
  }

  SlotMode mode_ = SlotMode::Lazy;
  std::vector<one_slot> slots_;
};

/// What a loop calls while it runs, for `LoopOptions().callbacks(...)`; empty functions are skipped. Steps are counted
/// from 0, and 0 <= begin < end. The functions must not change the tensors passed to them. Their exceptions pass
/// through the loop unchanged.
struct StepCallbacks {
  /// Called before steps [begin, end) run, for the first time or again.
  std::function<void(std::int64_t begin, std::int64_t end)> run_forward;
  /// Called before steps [begin, end) are differentiated, together.
  std::function<void(std::int64_t begin, std::int64_t end)> run_backward;
  /// Receives the parts of the state before this step.
  std::function<void(std::int64_t step, at::TensorList parts)> state;
  /// Receives the gradients with respect to that state; undefined if there is none.
  std::function<void(std::int64_t step, at::TensorList parts)> grad;
};

namespace detail {

/// One observer, or none. Copies share it, so that it lives as long as the last graph whose backward may call it.
class shared_observer {
 public:
  shared_observer() = default;
  /// \param told  null: none
  template <class Observer>
  explicit shared_observer(std::shared_ptr<Observer> watcher) {
    if (watcher) call_ = [watcher = std::move(watcher)](event const& seen) { tell(*watcher, seen); };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return bool(call_); }
  /// \pre there is one
  void operator()(event const& seen) const { call_(seen); }

 private:
  template <class Observer>
  static void tell(std::reference_wrapper<Observer> watcher, event const& seen) { tell(watcher.get(), seen); }
  /// Passes an event on with the clock of the observer's type, which the executor does not know.
  template <class Observer>
  static void tell(Observer& watcher, event const& seen) {
    event::source const same{
        &seen, [](void const* of) { return static_cast<event const*>(of)->bytes_held(); },
        [](void const* of, event::sink sink, void* context) {
          return static_cast<event const*>(of)->each_buffer(
              [&](void const* bytes, std::size_t size) { sink(context, bytes, size); });
        },
        cairn::detail::clock_of<Observer>(),
        [](void const* of, sweep_work& left) {
          auto const work = static_cast<event const*>(of)->work_left();
          if (!work) return false;
          left.runs += work->runs;
          left.reversals += work->reversals;
          return true;
        }};
    watcher(event{seen.what(), seen.phase(), seen.moment(), same});
  }

  std::function<void(event const&)> call_;
};

template <class T> inline constexpr bool is_shared_pointer = false;
template <class T> inline constexpr bool is_shared_pointer<std::shared_ptr<T>> = true;

/// Whether an argument is an observer that may live on in the graph: any observer but an lvalue, whose lifetime is
/// unknown.
template <class Given>
[[nodiscard]] consteval bool can_observe() {
  using Type = std::remove_cvref_t<Given>;
  if constexpr (std::is_same_v<Type, no_observer>) return true;
  else if constexpr (is_shared_pointer<Type>) return std::is_invocable_v<typename Type::element_type&, event const&>;
  else {
    constexpr bool lives = !std::is_lvalue_reference_v<Given> || std::is_function_v<std::remove_reference_t<Given>>;
    return lives && std::is_invocable_v<std::decay_t<Given>&, event const&>;
  }
}

}  // namespace detail

/// How the loop finds the tensors besides its state that the step differentiates: parameters, or weights computed
/// before the loop.
enum class Capture {
  FirstStep,  ///< those that the first steps use; a new one in a later step is refused during backward
  EveryStep,  ///< those that any step uses; each step of the forward sweep then builds its graph
  Explicit    ///< those named by `captures` or `module`; another one is refused before the second step runs
};
/// What happens to what steps change besides their state, for example the running means of a batch norm.
enum class SideEffects {
  RestoreBuffers,  ///< recomputed steps find it as it was, and each step changes it once; it is kept with each state
                   ///< if steps read what earlier ones wrote
  Keep             ///< recomputed steps change it once more
};
/// Where states on a CUDA device are kept.
enum class Offload {
  Off,    ///< on the device
  Pinned  ///< in pinned host memory: copied there and back on the stream that computes, without waiting
};

/// Options of `checkpointed_loop`, `checkpointed_scan` and `checkpointed_while`.
struct LoopOptions {
  /// Most states kept at once, the initial one included, >= 1; 0 means one for each block.
  TORCH_ARG(std::int64_t, checkpoints) = 0;
  /// Steps that are differentiated together, >= 1: their tapes are in memory at the same time. 0 means 1 if
  /// `checkpoints` is given, otherwise floor(sqrt T).
  TORCH_ARG(std::int64_t, block_size) = 0;
  /// Any of cairn's schedules over T steps, or one of your own. Replaces `checkpoints` and `block_size`, which define a
  /// `revolve` over blocks.
  TORCH_ARG(std::optional<any_schedule>, schedule) = std::nullopt;
  /// How captured tensors are found.
  TORCH_ARG(Capture, capture) = Capture::FirstStep;
  /// Captured tensors that are known; those that require no gradient are ignored.
  TORCH_ARG(std::vector<at::Tensor>, captures) = {};
  /// Whether recomputed steps draw the same random numbers. Afterwards the generators are as a plain loop leaves them.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// What must be equal in recomputed states.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Whether recomputed states are compared with the first ones bit by bit, regardless of `determinism`: none, those
  /// between blocks, or all, which is `Check::Bits`. Costs reading each of these states twice, on the CPU.
  TORCH_ARG(replay_check, verify) = replay_check::off;
  /// Whether `create_graph` may be used: the second derivative keeps the tapes of all steps at once.
  TORCH_ARG(bool, double_backward) = true;
  /// What happens to what steps change besides their state.
  TORCH_ARG(SideEffects, side_effects) = SideEffects::RestoreBuffers;
  /// Lazy slots refer to the tensors of states. Eager slots copy into tensors that each slot allocates once, at its
  /// first state, and keeps until the graph is freed; their peak is the same. Parts that share memory with the initial
  /// state, or have gaps or overlaps in memory, are kept by reference.
  TORCH_ARG(SlotMode, slots) = SlotMode::Lazy;
  /// Where states on a CUDA device are kept. The initial state stays on the device, because the caller holds it, and so
  /// do parts with gaps or overlaps in memory; a memory limit counts all states as if they stayed. CPU tensors are not
  /// moved.
  TORCH_ARG(Offload, offload) = Offload::Off;
  /// Receives counts and measurements of the loop; several loops may share one object.
  TORCH_ARG(std::shared_ptr<StepStats>, stats) = nullptr;
  /// Where a loop with a memory limit keeps what it has measured, so that later calls of the same loop measure nothing.
  /// Without this option, a module of cairn has its own place, a step that is a module uses a place of the calling
  /// thread, and other steps are measured in each call, because it is unknown what they refer to. Give each step a
  /// place of its own. The step must take the same memory in all calls that agree in everything that `LoopPlans` names:
  /// a step that takes more later can exceed the limit. `made()` counts measurements; call `clear()` if the step's work
  /// changes.
  TORCH_ARG(std::shared_ptr<LoopPlans>, plans) = nullptr;
  /// Functions that are called before steps are run.
  TORCH_ARG(StepCallbacks, callbacks) = {};

 public:
  /// Shows an observer every action of the loop's plan, before and after it, as the core's verbs do: `progress`,
  /// `trace_observer`, or any callable that takes an `event const&`. Backward may run much later, so the options, their
  /// copies and the graphs of their loops own the observer together: `std::move(o)` transfers it; with a
  /// `std::shared_ptr` the caller can inspect it afterwards. `std::ref(o)` transfers no ownership: o must outlive every
  /// backward. What it refers to, such as the writer of a trace, must live as long. An observer that sees one sweep
  /// after another belongs in the options of one call: loops whose forward runs before another's backward interleave.
  ///
  /// The observer is not called by a loop without grad mode, by the measurement for a memory limit, or by a second
  /// derivative. If no gradients remain before the loop's start is reached, there is no `done`. The thread that runs
  /// the half calls it; in backward this may be a thread of the engine. Exceptions pass through the half like those of
  /// a step. Without an observer there is no extra cost.
  template <class Observer>
  LoopOptions& observer(Observer&& watcher) {
    constexpr bool observes = detail::can_observe<Observer>();
    static_assert(observes,
                  "cairn: the observer of a loop over tensors must be callable with an `event const&`, and live until "
                  "backward: give std::move(observer), a std::shared_ptr, or std::ref");
    using Type = std::remove_cvref_t<Observer>;
    if constexpr (std::is_same_v<Type, no_observer>) observer_ = {};
    else if constexpr (detail::is_shared_pointer<Type>) observer_ = detail::shared_observer{Type{watcher}};
    else if constexpr (observes)
      observer_ = detail::shared_observer{std::make_shared<std::decay_t<Observer>>(std::forward<Observer>(watcher))};
    return *this;
  }
  /// The observer, if there is one.
  [[nodiscard]] detail::shared_observer const& observer() const noexcept { return observer_; }
  /// Adds a module that the step uses: its parameters are captured, its buffers kept with each state.
  LoopOptions& module(torch::nn::Module const& used) {
    for (auto const& parameter : used.parameters()) captures_.push_back(parameter);
    for (auto const& buffer : used.buffers()) buffers_.push_back(buffer);
    modes_.push_back(used.is_training());
    for (auto const& one : used.modules(false)) modes_.push_back(one->is_training());
    return *this;
  }
  /// The same for a `torch::nn::Linear`, `LSTMCell` ...
  template <class Contained>
  LoopOptions& module(torch::nn::ModuleHolder<Contained> const& used) {
    return module(static_cast<torch::nn::Module const&>(*used));
  }
  /// Most bytes for all tensors that the loop holds at once, in forward and backward: "4GB", or a number. The steps are
  /// measured first, and the fastest checkpoints and block size within the limit are used. The limit includes states,
  /// also the initial and the last one, tapes, temporary memory of steps, adjoints, and the gradients of captured
  /// tensors, which the caller receives. The measurement runs the first five steps once, to see what they
  /// change, and at most eight steps forward and back, on the device of the state; if the same loop runs often, give it
  /// `plans`.   \throws invalid_size, overflow_error
  LoopOptions& memory_limit(byte_size limit) {
    memory_limit_ = limit;
    memory_share_ = 0;
    return *this;
  }
  /// A share of the memory that is free on the state's device when the loop begins, 0 < share <= 1.   \throws
  /// invalid_plan
  template <std::floating_point Share>
  LoopOptions& memory_limit(Share share) {
    if (!(share > 0 && share <= 1))
      throw invalid_plan{"cairn::libtorch::LoopOptions", "a share of the free memory is more than 0 and at most 1", {},
                         "give 0.5 for a half, and bytes as a whole number or \"4GB\""};
    memory_share_ = double(share);
    memory_limit_.reset();
    return *this;
  }
  /// The limit in bytes, if there is one.
  [[nodiscard]] std::optional<byte_size> memory_limit() const noexcept { return memory_limit_; }
  /// The limit as a share; 0 if it is in bytes, or if there is none.
  [[nodiscard]] double memory_share() const noexcept { return memory_share_; }
  /// Whether there is a limit of either kind.
  [[nodiscard]] bool has_memory_limit() const noexcept { return memory_limit_ || memory_share_ > 0; }
  /// Removes the limit.
  LoopOptions& no_memory_limit() noexcept {
    memory_limit_.reset();
    memory_share_ = 0;
    return *this;
  }
  /// Adds tensors that steps write to: their values are kept with each state. Needed only where it is said.
  LoopOptions& buffers(std::vector<at::Tensor> const& more) {
    buffers_.insert(buffers_.end(), more.begin(), more.end());
    return *this;
  }
  /// The buffers of the modules, and those that were added.
  [[nodiscard]] std::vector<at::Tensor> const& buffers() const noexcept { return buffers_; }
  /// Whether the modules, each followed by its children, were in training mode when they were added.
  [[nodiscard]] std::vector<bool> const& modes() const noexcept { return modes_; }
  /// The buffers that are kept with each state.
  [[nodiscard]] std::vector<at::Tensor> restored_buffers() const {
    return side_effects_ == SideEffects::Keep ? std::vector<at::Tensor>{} : buffers_;
  }

 private:
  std::vector<at::Tensor> buffers_;
  std::vector<bool> modes_;
  std::optional<byte_size> memory_limit_;
  double memory_share_ = 0;
  detail::shared_observer observer_;
};

}  // namespace cairn::libtorch
