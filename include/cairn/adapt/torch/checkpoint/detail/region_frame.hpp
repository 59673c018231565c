// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region_frame.hpp  What a region keeps from its first run to backward, and its recomputation.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_guards.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/cached_operations.hpp>
#include <cairn/adapt/torch/checkpoint/detail/checkpointed_input.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/group_state.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/script_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/side_by_side.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_metadata.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// One region that has run. It is owned by the hooks of the tensors that it saved.
class region_frame : public std::enable_shared_from_this<region_frame> {
 public:
  /// Options of the frame.
  struct settings {
    bool early_stop;
    Rng rng;
    Check check;
    tensor_list buffers;  ///< what the function changes other than by operators of this thread
    tensor_list own;      ///< the buffers of a module; a recomputation leaves them as they are
    char const* who;
    bool debug = false;  ///< operations are recorded for errors
    bool keep_leftovers = false;  ///< tensors that a backward pass did not use stay for the next pass
    kept_names names = {};  ///< names of the parts that are not run again
    checkpoint_policy policy = {};  ///< for operators; without one all run again
  };

  /// \param run  called with inputs like the first ones; its result is ignored
  region_frame(std::function<void(std::vector<at::Tensor> const&)> run, std::vector<at::Tensor> const& inputs,
               settings how)
      : run_{std::move(run)}, how_{std::move(how)} {
    auto const& set = checkpoint_overrides::of_thread();
    how_.early_stop = set.early_stop.value_or(how_.early_stop);
    how_.debug = set.debug.value_or(how_.debug);
    if (how_.policy) need_dispatch_mode(how_.who);
    reads_.compare(how_.check);
    inputs_.reserve(inputs.size());
    for (auto const& t : inputs) inputs_.emplace_back(t);
  }

  /// The first run, during its lifetime: hooks note metadata of saved tensors, but not the tensors.
  class first_run {
   public:
    /// \param inputs  must outlive it
    first_run(std::shared_ptr<region_frame> frame, std::vector<at::Tensor> const& inputs)
        : frame_{std::move(frame)}, given_{inputs}, tracker_{frame_->how_.debug, &frame_->changes_},
          now_{frame_->results_, *notes_, false, frame_->how_.rng, frame_->how_.names},
          operators_{frame_->how_.policy, frame_->cached_operations_, now_, frame_->how_.who},
          hooks_{[of = frame_, notes = notes_] { return std::make_unique<forgotten>(of, notes); }} {
      frame_->changes_.begin(inputs);
      for (auto const& one : frame_->how_.buffers) frame_->changes_.note(one);
      frame_->numbers_.begin_run(drawing_, inputs);
    }
    first_run(first_run const&) = delete;
    first_run& operator=(first_run const&) = delete;
    ~first_run() { end(); }
    /// The function has returned.   \throws invalid_call   if it drew random numbers while another thread may have
    ///   drawn them, too
    void check() {
      end();
      if (frame_->numbers_.drew()) drawing_.check(frame_->how_.who);
    }

   private:
    void end() noexcept {
      if (std::exchange(is_over_, true)) return;
      try {
        frame_->end_first(tracker_, given_, drawing_);
      } catch (...) {  // out of memory: changes in place are not detected
      }
    }

    std::shared_ptr<region_frame> frame_;
    std::vector<at::Tensor> const& given_;
    generator_use const drawing_{frame_->how_.rng};
    bool is_over_ = false;
    read_tracker tracker_;
    std::shared_ptr<origin_map> notes_ = std::make_shared<origin_map>();
    active_region now_;
    operator_run operators_;
    saved_hooks_scope hooks_;
  };

 private:
  struct forgotten final : torch::autograd::SavedVariableHooks {
    forgotten(std::shared_ptr<region_frame> of, std::shared_ptr<origin_map> notes)
        : frame{std::move(of)}, origins{std::move(notes)} {}
    ~forgotten() override { if (!origins) frame->release(number); }
    void call_pack_hook(at::Tensor const& t) override {
      dispatch_mode_scope const no_mode{false};
      number = frame->note(t, origins->of(t));
      origins.reset();
    }
    at::Tensor call_unpack_hook() override { return frame->take(number); }
    std::shared_ptr<region_frame> frame;
    std::shared_ptr<origin_map> origins;  ///< needed until the tensor is noted
    std::size_t number = 0;
  };
  /// Thrown through the region's function, which must not catch it; not a std::exception.
  struct everything_is_there {};
  /// A recomputation.
  struct recording {
    std::vector<saved_tensor> tensors;
    std::size_t wanted;
    std::size_t last;  ///< how many tensors are saved when the run stops
    bool stops;
    origin_map origins = {};
    std::vector<std::string> operations = {};
  };
  /// Hooks for the recomputation. Its graph keeps its tensors, for functions that differentiate inside.
  struct recorded final : torch::autograd::SavedVariableHooks {
    explicit recorded(recording& list) : into{&list} {}
    void call_pack_hook(at::Tensor const& t) override {
      dispatch_mode_scope const no_mode{false};
      kept = t.detach();  // t may be the node's own result, and would keep alive the node that owns the hook
      into->tensors.emplace_back(kept, into->origins.of(t));
      if (into->stops && into->tensors.size() == into->last) throw everything_is_there{};
    }
    at::Tensor call_unpack_hook() override { return kept; }
    recording* into;
    at::Tensor kept;
  };
  /// Metadata of a tensor that the first run saved.
  struct noted {
    saved_metadata metadata;
    bool is_wanted = true;  ///< the graph still holds it
    bool is_unfinished = false;  ///< the operation that saves it may write afterwards to what it has saved
  };

  /// \param given  the inputs, which are checked separately
  void end_first(read_tracker const& tracker, std::vector<at::Tensor> const& given, generator_use const& drawing) {
    std::lock_guard const lock{access_};
    first_is_over_ = true;
    numbers_.end_run(drawing);
    again_.clear();
    places_.clear();  // tensors requested during the first run do not belong to a later pass
    scripts_ = tracker.saw_script();
    operations_ = tracker.operations();
    changes_.end();
    reads_.add_unchanged(tracker.reads(given));
  }
  [[nodiscard]] std::size_t note(at::Tensor const& t, saved_origin origin) {
    std::lock_guard const lock{access_};
    bool const changes = read_tracker::is_updating(t);
    auto const check = changes && how_.check == Check::Bits ? Check::Metadata : how_.check;
    first_.push_back({saved_metadata::of(t, check, origin), true, read_tracker::is_updating()});
    return first_.size() - 1;
  }
  void release(std::size_t number) {
    std::lock_guard const lock{access_};
    first_[number].is_wanted = false;
    if (number < again_.size()) again_[number] = {};
    places_.release(number);
  }
  [[nodiscard]] at::Tensor take(std::size_t number) {
    std::lock_guard const lock{access_};
    auto const in_group = place_in_group();
    if (in_group && number < in_group->size() && !(*in_group)[number].value.defined())
      throw invalid_call{how_.who,
                         "a backward pass needs a saved tensor that another pass of its group has taken",
                         {{"tensor", number}, {"tensors", first_.size()}},
                         "let the passes of a group run different nodes, or run this one without a group"};
    auto& again = in_group ? *in_group : again_;
    if (number >= again.size() || !again[number].value.defined()) {
      again.clear();
      again = run_again();
      if (!in_group) drop_leftovers_later();
    }
    auto const taken = std::exchange(again[number], {});
    told([&] { check(number, taken); });
    return taken.value;
  }
  /// The place of recomputed tensors in the active group; null without a group.
  [[nodiscard]] std::shared_ptr<saved_tensors> place_in_group() {
    return places_.of_pass(group_, how_.who);
  }
  /// Frees them at the end of the current backward pass.
  void drop_leftovers_later() {
    if (how_.keep_leftovers || !first_is_over_) return;
    try {
      torch::autograd::Engine::get_default_engine().queue_callback([frame = weak_from_this()] {
        if (auto const still = frame.lock()) {
          std::lock_guard const lock{still->access_};
          still->again_.clear();
        }
      });
    } catch (c10::Error const&) {  // no backward pass is running: the tensor was requested from elsewhere
    }
  }
  void check(std::size_t number, saved_tensor const& again) const {
    check_saved(first_[number].metadata, again, how_.who, number, {"tensors", first_.size()},
                scripts_ ? script_advice : recompute_advice);
  }
  /// A function that differentiates inside requests saved tensors before the first run has saved all of them.
  void check_count(recording const& seen) const {
    auto const count = seen.tensors.size();
    if (count == seen.wanted || (count > seen.wanted && (seen.stops || !first_is_over_))) return;
    throw recompute_mismatch{how_.who,
                             "the second run saves a different number of tensors for backward",
                             {{"saved", count}, {"saved at first", seen.wanted}},
                             scripts_ ? script_advice
                                      : "let the computation depend only on its inputs, and change nothing in it "
                                        "between forward and backward"};
  }
  /// Runs `checks`; adds the operations of both runs to its error.
  template <class Checks>
  void told(Checks const& checks) const {
    try {
      checks();
    } catch (recompute_mismatch const& found) {
      if (!how_.debug) throw;
      throw found.with_operations(side_by_side(operations_, operations_again_));
    }
  }

  [[nodiscard]] saved_tensors run_again() {
    std::vector<at::Tensor> inputs;
    for (auto const& one : inputs_) inputs.push_back(one.leaf(how_.who, inputs.size()));
    check_reads(reads_, how_.who, {"tensors read", reads_.size()});
    auto seen = run_once(inputs);
    operations_again_ = std::move(seen.operations);
    told([&] {
      for (std::size_t k = 0; k < seen.tensors.size() && k < first_.size(); ++k)
        if (!same_saved(first_[k].metadata, seen.tensors[k])) check(k, seen.tensors[k]);
      check_count(seen);
    });
    seen.tensors.resize((std::min)(seen.tensors.size(), first_.size()));
    for (std::size_t k = 0; k < seen.tensors.size(); ++k)
      if (!first_[k].is_wanted) seen.tensors[k] = {};
    return std::move(seen.tensors);
  }
  [[nodiscard]] recording run_once(std::vector<at::Tensor> const& inputs) {
    auto wanted = first_.size();
    while (wanted > 0 && how_.early_stop && !first_[wanted - 1].is_wanted) --wanted;
    auto last = wanted;  // beyond the tensors of the operation that saves the last one, and one more: then it has ended
    if (wanted > 0 && first_[wanted - 1].is_unfinished) {
      while (last < first_.size() && first_[last].is_unfinished) ++last;
      ++last;
    }
    recording seen{{}, wanted, last, how_.early_stop};
    generator_use const drawing{how_.rng, numbers_.sets_some()};
    rng_autocast_guard const outside{inputs, how_.rng, drawing};
    rewound_memory const memory{changes_, how_.own};
    drawing.put_back(numbers_);
    autocast_.without_cache().restore();
    at::AutoGradMode const on{true};
    plain_scripts const scripts{scripts_};
    std::optional<read_tracker> tracker;
    if (how_.debug) tracker.emplace(true);
    active_region const now{results_, seen.origins, true, how_.rng, how_.names};
    operator_run const operators{how_.policy, cached_operations_, now, how_.who};
    saved_hooks_scope const hooks{[&seen] { return std::make_unique<recorded>(seen); }};
    try {
      run_(inputs);
    } catch (everything_is_there const&) {}
    if (numbers_.drew()) drawing.check(how_.who);
    if (tracker) seen.operations = tracker->operations();
    return seen;
  }

  std::function<void(std::vector<at::Tensor> const&)> run_;
  settings how_;
  initial_rng_state numbers_;
  autocast_state autocast_ = autocast_state::now();
  std::vector<checkpointed_input> inputs_;
  std::vector<noted> first_;
  saved_tensors again_;  ///< recomputed tensors, until they are used
  group_places places_;  ///< recomputed tensors that belong to groups
  std::shared_ptr<group_state> group_ = group_state::of_thread();  ///< the group in which the region was created, if
                                                                   ///< any
  std::vector<kept_result> results_;  ///< parts that are not run again
  cached_operations cached_operations_;  ///< operators that are not run again
  read_list reads_;
  write_log changes_;  ///< of the first run
  std::vector<std::string> operations_, operations_again_;  ///< of both runs, for errors
  bool first_is_over_ = false, scripts_ = false;
  std::recursive_mutex access_;  ///< recursive: while a recomputation waits, the engine may run other tasks in this
                                 ///< thread
};

}  // namespace cairn::libtorch::detail
