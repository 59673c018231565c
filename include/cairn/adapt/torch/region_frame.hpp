#pragma once
/// \file region_frame.hpp  What a region keeps between its first run and backward, and its second run.
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/buffers_guard.hpp>
#include <cairn/adapt/torch/determinism.hpp>
#include <cairn/adapt/torch/kept_input.hpp>
#include <cairn/adapt/torch/saved_hooks.hpp>
#include <cairn/adapt/torch/saved_look.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// One region that ran. The hooks of what it saved own it.
class region_frame : public std::enable_shared_from_this<region_frame> {
 public:
  /// How it runs again.
  struct settings {
    bool early_stop;
    Rng rng;
    Check check;
    std::vector<at::Tensor> buffers;  ///< that a second run leaves as they were
    char const* who;
  };

  /// \param run  called with inputs like the first ones; what it returns is not needed
  region_frame(std::function<void(std::vector<at::Tensor> const&)> run, std::vector<at::Tensor> const& inputs, settings how)
      : run_{std::move(run)}, how_{std::move(how)}, around_{ambient_state::now(inputs, how_.rng)} {
    inputs_.reserve(inputs.size());
    for (auto const& t : inputs) inputs_.emplace_back(t);
  }

  /// Hooks for the first run: they note what a tensor looks like, and forget it.
  [[nodiscard]] saved_hooks_maker first_run() {
    return [frame = shared_from_this()] { return std::make_unique<forgotten>(frame); };
  }

 private:
  struct forgotten final : torch::autograd::SavedVariableHooks {
    explicit forgotten(std::shared_ptr<region_frame> of) : frame{std::move(of)} {}
    void call_pack_hook(at::Tensor const& t) override { number = frame->note(t); }
    at::Tensor call_unpack_hook() override { return frame->take(number); }
    std::shared_ptr<region_frame> frame;
    std::size_t number = 0;
  };
  /// Thrown through the region, which must not catch it: it is no std::exception.
  struct everything_is_there {};
  struct recording {
    std::vector<saved_tensor> tensors;
    std::size_t wanted;
    bool stops;
  };
  /// Hooks for the second run. Its graph has the tensors at hand, for functions that differentiate something themselves.
  struct recorded final : torch::autograd::SavedVariableHooks {
    explicit recorded(recording& list) : into{&list} {}
    void call_pack_hook(at::Tensor const& t) override {
      kept = t.detach();  // where t is the node's own result, the hook would else keep the node that keeps the hook
      into->tensors.emplace_back(kept);
      if (into->stops && into->tensors.size() == into->wanted) throw everything_is_there{};
    }
    at::Tensor call_unpack_hook() override { return kept; }
    recording* into;
    at::Tensor kept;
  };

  [[nodiscard]] std::size_t note(at::Tensor const& t) {
    std::lock_guard const lock{access_};
    looks_.push_back(saved_look::of(t, how_.check, how_.buffers));
    return looks_.size() - 1;
  }
  [[nodiscard]] at::Tensor take(std::size_t number) {
    std::lock_guard const lock{access_};
    if (number >= again_.size() || !again_[number].value.defined()) again_ = run_again();
    auto const taken = std::exchange(again_[number], {});
    check_saved(looks_[number], taken, how_.who, number, {"tensors", looks_.size()});
    return taken.value;
  }
  [[nodiscard]] std::vector<saved_tensor> run_again() {
    again_.clear();
    std::vector<at::Tensor> inputs;
    for (auto const& one : inputs_) inputs.push_back(one.leaf(how_.who, inputs.size()));
    recording seen{{}, looks_.size(), how_.early_stop};
    {
      ambient_guard const outside{inputs, how_.rng};
      buffers_guard const buffers{how_.buffers};
      around_.generators.restore();
      around_.autocast.without_cache().restore();
      at::AutoGradMode const on{true};
      saved_hooks_scope const hooks{[&seen] { return std::make_unique<recorded>(seen); }};
      try {
        run_(inputs);
      } catch (everything_is_there const&) {}
    }
    if (seen.tensors.size() < seen.wanted || (!how_.early_stop && seen.tensors.size() > seen.wanted))
      throw recompute_mismatch{how_.who, "the second run saves another number of tensors for backward", {{"saved", seen.tensors.size()}, {"saved at first", seen.wanted}},
                               "make the computation a function of its inputs alone, and change nothing in it between forward and backward"};
    return std::move(seen.tensors);
  }

  std::function<void(std::vector<at::Tensor> const&)> run_;
  settings how_;
  ambient_state around_;
  std::vector<kept_input> inputs_;
  std::vector<saved_look> looks_;
  std::vector<saved_tensor> again_;  ///< of the second run, until they are taken
  std::recursive_mutex access_;  ///< the engine may go on with other tasks of this thread while a second run waits
};

}  // namespace cairn::detail
