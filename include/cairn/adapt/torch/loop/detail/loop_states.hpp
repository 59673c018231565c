// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_states.hpp  The states of a loop over tensors, the live one and those in slots, and the generators and
/// buffers around them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/detail/loop_body.hpp>
#include <cairn/adapt/torch/loop/detail/loop_slot.hpp>
#include <cairn/adapt/torch/loop/detail/pinned_copy.hpp>
#include <cairn/adapt/torch/loop/detail/step_surroundings.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/action.hpp>

namespace cairn::libtorch::detail {

/// What a loop holds between its forward and its backward half. A copy shares the tensors.
class loop_states {
 public:
  explicit loop_states(loop_body const& body) {
    for (auto const& part : body.initial) live.push_back(part.value);
  }

  tensor_list live;  ///< empty after its step has been differentiated

  /// Begins the forward half. The generators' states are read only now that other threads can see that they are in use.
  void begin_forward(loop_body& body, generator_use const& drawing) {
    begin_half(drawing);
    body.buffers = outside_memory{body.options.restored_buffers()};
    remember_surroundings(body);
    body.around.generators = around_.generators;
  }
  /// Begins a half.   \param drawing  how the half uses the generators; must live as long as it
  void begin_half(generator_use const& drawing) noexcept { drawing_ = &drawing; }
  /// Sets generators and buffers to what was stored last.   \pre a half has begun
  void put_back_surroundings(loop_body const& body) const { put_back(body, around_); }
  /// Stores generators and buffers, for the step after live.
  void remember_surroundings(loop_body const& body) {
    if (body.options.rng() == Rng::Preserve) around_.generators = generator_states::now(live);
    around_.buffers = body.buffers.stored_now(around_.buffers);
  }

  /// Runs steps [from, to) on x for the first time; with a tape as long as something is learned from it.
  void run_first(loop_body& body, tensor_list& x, step_index from, step_index to) {
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
  /// Runs steps [from, to) on live again.
  void run_again(loop_body const& body, step_index from, step_index to) {
    if (auto const& callback = body.options.callbacks().run_forward) callback(from, to);
    live = body.run_again(std::move(live), from, to);
    body.count(&StepStats::recompute, to - from);
  }
  /// Notes that live is state i, from which the backward half begins.
  void turn_at(step_index i) noexcept { live_from_ = i; }
  /// Notes the versions of live, which must be the same when the backward half begins.
  void note_versions() { live_versions_ = versions_of(live); }
  /// Ends the forward half.
  void end_forward(loop_body& body, generator_use const& drawing) {
    copies_->finish();
    body.knows_all_steps = learning_;
    body.note_drawn(drawing);
    body.note_changed_buffers();
  }
  /// \throws invalid_call   if the state at the turn was changed in place
  void check_live(char const* who) const {
    for (std::size_t k = 0; k < live.size(); ++k)
      if (version_of(live[k]) != live_versions_[k]) loop_slot::throw_changed(who, live_from_, k);
  }

  /// \pre the surroundings are stored
  void save(loop_body const& body, std::size_t slot) {
    if (slots_.size() <= slot) slots_.resize(slot + 1);
    auto& into = slots_[slot];
    into.put(live, body.initial, around_, {body.options.slots(), body.options.offload()}, *copies_);
    ++full_slots_;
    bytes_ += into.bytes();
    body.count(&StepStats::offload_bytes, into.pinned_bytes());
    if (auto const& stats = body.options.stats()) {
      stats->slots_peak = (std::max)(stats->slots_peak, full_slots_);
      stats->bytes_peak = (std::max)(stats->bytes_peak, bytes_);
    }
  }
  void drop(std::size_t slot) {
    --full_slots_;
    bytes_ -= slots_[slot].bytes();
    slots_[slot].drop();
  }
  void load(loop_body const& body, std::size_t slot, step_index i) {
    live.clear();
    live = slots_[slot].get(body.who, i);
    body.count(&StepStats::offload_bytes, slots_[slot].pinned_bytes());
    put_back(body, slots_[slot].around());
  }
  void load_initial(loop_body const& body) {
    live.clear();
    for (auto const& part : body.initial) {
      if (part.value.defined() && !part.unchanged()) loop_slot::throw_changed(body.who, 0, live.size());
      live.push_back(part.value);
    }
    drawing_->put_back(body.around.generators);
    body.buffers.put_back({});
  }

  /// The states of the generators, and buffers.
  [[nodiscard]] tensor_list tensors_around(loop_body const& body) const {
    tensor_list all;
    body.around.generators.list_tensors(all);
    body.buffers.first().list_tensors(all);
    around_.list_tensors(all);
    return all;
  }
  /// All tensors that the loop holds between its halves.
  [[nodiscard]] tensor_list kept_tensors(loop_body const& body) const {
    auto all = tensors_around(body);
    all.insert(all.end(), live.begin(), live.end());
    for (auto const& slot : slots_) slot.list_tensors(all);
    return all;
  }
  /// Bytes of all states that the loop holds, and of some more tensors; memory that several of them share counts once.
  [[nodiscard]] std::size_t bytes_with(loop_body const& body, at::TensorList more) const {
    auto all = more.vec();
    for (auto const& part : body.initial) all.push_back(part.value);
    all.insert(all.end(), live.begin(), live.end());
    std::size_t sum = 0;
    for (auto const& slot : slots_) {
      slot.list_parts(all);
      sum += std::size_t(slot.pinned_bytes());
    }
    std::unordered_set<void const*> counted;
    for (auto const& t : all) {
      if (!t.defined()) continue;
      if (!t.has_storage()) sum += t.nbytes();
      else if (auto const& storage = t.storage(); counted.insert(storage.unsafeGetStorageImpl()).second)
        sum += storage.nbytes();
    }
    return sum;
  }

 private:
  void put_back(loop_body const& body, step_surroundings const& around) const {
    drawing_->put_back(around.generators);
    body.buffers.put_back(around.buffers);
  }

  std::vector<loop_slot> slots_;
  std::shared_ptr<copies_to_host> copies_ = std::make_shared<copies_to_host>();
  std::vector<std::int64_t> live_versions_;  ///< at the turn
  step_index live_from_ = 0;  ///< the number of that state
  step_surroundings around_;  ///< of the step after live, as of the last save or the turn
  generator_use const* drawing_ = nullptr;  ///< of the half that is running
  std::int64_t full_slots_ = 0, bytes_ = 0;
  bool learning_ = true;
};

}  // namespace cairn::libtorch::detail
