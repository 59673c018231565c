// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loss_scaler.hpp  Scales a loss, by a factor that adapts itself, so that its gradients do not underflow in 16
/// bits.
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>
#include <torch/arg.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// How a LossScaler chooses its scale.
struct LossScalerOptions {
  TORCH_ARG(double, init_scale) = 65536;  ///< first scale, > 0
  TORCH_ARG(double, growth_factor) = 2;  ///< factor for the scale after a good interval, > 1
  TORCH_ARG(double, backoff_factor) = 0.5;  ///< factor for the scale after a gradient that is not finite, > 0 and < 1
  TORCH_ARG(std::int64_t,
            growth_interval) = 2000;  ///< updates in a row without such a gradient that make a good interval, >= 1
  TORCH_ARG(bool, enabled) = true;  ///< false: losses and gradients are not scaled, and every step is taken
};

/// Dynamic loss scaling for training in half precision. In each iteration: `scaler.scale(loss).backward();
/// scaler.step(optimizer); scaler.update();`, with `scaler.unscale_(optimizer)` before the step to clip gradients. A
/// step with a gradient that is inf or nan is skipped, and reduces the scale; a number of good steps in a row increases
/// it. Several optimizers can share a scaler: call update once after all their steps. Gradients are unscaled in their
/// own type: keep parameters in float, or small gradients are lost again. Can be saved and loaded by torch::save and
/// torch::load.
class LossScaler {
 public:
  /// \throws invalid_call  for factors, a scale or an interval out of range
  explicit LossScaler(LossScalerOptions const& options = {}) : options_{options}, scale_{options.init_scale()} {
    check(options);
  }

  /// The loss times the scale, for `backward()`. An undefined tensor stays undefined.
  [[nodiscard]] at::Tensor scale(at::Tensor const& loss) const {
    return options_.enabled() && loss.defined() ? loss * scale_ : loss;
  }

  /// Divides the gradients of an optimizer's parameters by the scale, in place, and checks whether they are finite.
  /// `step` calls this function if you did not.
  /// \throws invalid_call  the second time for the same optimizer before `update`, and after its `step`   Cost: one
  ///   wait for each device
  void unscale_(torch::optim::Optimizer& optimizer) {
    if (!options_.enabled()) return;
    auto& state = state_of(optimizer);
    if (state.stepped || state.finite)
      refuse("cairn::libtorch::LossScaler::unscale_", "the gradients of this optimizer are unscaled already",
             "call update() after its step");
    state.finite = unscaled(optimizer);
  }
  /// Takes the optimizer's step if its gradients are finite; unscales them first if you did not.
  /// \returns whether the step was taken   \throws invalid_call  the second time for the same optimizer before `update`
  bool step(torch::optim::Optimizer& optimizer) {
    if (!options_.enabled()) return optimizer.step(), true;
    if (state_of(optimizer).stepped)
      refuse("cairn::libtorch::LossScaler::step", "this optimizer has stepped already",
             "call update() after the steps");
    if (!state_of(optimizer).finite) unscale_(optimizer);
    auto& state = state_of(optimizer);
    if (*state.finite) optimizer.step();
    state.stepped = true;
    return *state.finite;
  }
  /// Chooses the scale of the next iteration.   \throws invalid_call  if no gradients were unscaled since the last
  /// update
  void update() {
    if (!options_.enabled()) return;
    bool any = false, finite = true;
    for (auto const& state : states_) {
      any = any || state.finite;
      finite = finite && state.finite.value_or(true);
    }
    if (!any)
      refuse("cairn::libtorch::LossScaler::update", "no gradients were unscaled since the last update",
             "call step() or unscale_() before it");
    states_.clear();
    good_ = finite ? good_ + 1 : 0;
    if (!finite) scale_ *= options_.backoff_factor();
    if (good_ < options_.growth_interval()) return;
    good_ = 0;
    double const grown = scale_ * options_.growth_factor();
    if (std::isfinite(float(grown))) scale_ = grown;  // losses are scaled in float
  }

  /// The scale of this iteration.
  [[nodiscard]] double scale() const noexcept { return options_.enabled() ? scale_ : 1; }
  /// Number of good updates in a row since the scale last changed.
  [[nodiscard]] std::int64_t good_updates() const noexcept { return good_; }
  [[nodiscard]] LossScalerOptions const& options() const noexcept { return options_; }  ///< as given or loaded

  /// Writes scale, counter and options, but not the state between an unscale and its update.
  void save(torch::serialize::OutputArchive& archive) const {
    archive.write("scale", c10::IValue(scale_));
    archive.write("good_updates", c10::IValue(good_));
    archive.write("growth_factor", c10::IValue(options_.growth_factor()));
    archive.write("backoff_factor", c10::IValue(options_.backoff_factor()));
    archive.write("growth_interval", c10::IValue(options_.growth_interval()));
    archive.write("enabled", c10::IValue(options_.enabled()));
  }
  /// Reads what `save` wrote.   \throws invalid_call  for an archive of something else and for numbers out of range;
  /// nothing has changed then
  void load(torch::serialize::InputArchive& archive) {
    auto const read = [&archive](char const* key) {
      c10::IValue value;
      if (!archive.try_read(key, value))
        refuse("cairn::libtorch::LossScaler::load", "the archive holds no scaler", "give one that save() wrote");
      return value;
    };
    auto const options = LossScalerOptions()
                             .init_scale(read("scale").toDouble())
                             .growth_factor(read("growth_factor").toDouble())
                             .backoff_factor(read("backoff_factor").toDouble())
                             .growth_interval(read("growth_interval").toInt())
                             .enabled(read("enabled").toBool());
    auto const good = read("good_updates").toInt();
    check(options);
    options_ = options;
    scale_ = options.init_scale();
    good_ = good;
    states_.clear();
  }
  /// For torch::save.
  friend torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                                     LossScaler const& scaler) {
    return scaler.save(archive), archive;
  }
  /// For torch::load.
  friend torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive, LossScaler& scaler) {
    return scaler.load(archive), archive;
  }

 private:
  struct optimizer_state {
    torch::optim::Optimizer const* optimizer;
    std::optional<bool> finite;  ///< empty until the gradients are unscaled
    bool stepped = false;
  };

  [[noreturn]] static void refuse(char const* operation, char const* problem, char const* advice) {
    throw invalid_call{operation, problem, {}, advice};
  }
  static void check(LossScalerOptions const& options) {
    auto const need = [](bool holds, char const* problem) { if (!holds)
      refuse("cairn::libtorch::LossScaler", problem, "the defaults are 65536, 2, 0.5 and 2000"); };
    need(options.init_scale() > 0 && std::isfinite(float(options.init_scale())),
         "the scale must be positive, and finite in float");
    need(options.growth_factor() > 1 && std::isfinite(options.growth_factor()),
         "the growth factor must be more than 1");
    need(options.backoff_factor() > 0 && options.backoff_factor() < 1, "the backoff factor must lie between 0 and 1");
    need(options.growth_interval() >= 1, "the growth interval must be at least 1");
  }
  [[nodiscard]] optimizer_state& state_of(torch::optim::Optimizer const& optimizer) {
    for (auto& state : states_) if (state.optimizer == &optimizer) return state;
    return states_.emplace_back(optimizer_state{&optimizer, {}, false});
  }
  /// Unscales with one flag per device, so that the host waits once per device and not once per gradient.
  [[nodiscard]] bool unscaled(torch::optim::Optimizer& optimizer) const {
    at::NoGradGuard const no_grad;
    std::vector<at::Tensor> flags;
    for (auto& group : optimizer.param_groups()) {
      for (auto& parameter : group.params()) {
        auto& grad = parameter.mutable_grad();
        if (!grad.defined()) continue;
        if (grad.is_sparse()) grad = grad.coalesce();  // duplicate entries are summed, and the sum may overflow
        auto values = grad.is_sparse() ? grad._values() : grad;
        auto const finite = at::isfinite(values).all();
        values.mul_(1 / scale_);
        bool known = false;
        for (auto& flag : flags) if (flag.device() == finite.device()) flag = flag.logical_and(finite), known = true;
        if (!known) flags.push_back(finite);
      }
    }
    bool all = true;
    for (auto const& flag : flags) all = flag.item<bool>() && all;
    return all;
  }

  LossScalerOptions options_;
  double scale_;
  std::int64_t good_ = 0;
  std::vector<optimizer_state> states_;
};

}  // namespace cairn::libtorch
