#pragma once
/// \file tensor_series.hpp  A tensor for each step of a loop: slices of one, or a list.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Whether there is one tensor [T, ...], or there are T of them.
enum class series_form : bool { stacked, list };

/// A tensor for each step.
class tensor_series {
 public:
  /// Undefined ones.
  tensor_series(series_form form, step_index steps)
      : form_{form}, steps_{steps}, tensors_(form == series_form::stacked ? 1 : std::size_t(steps)) {}
  /// \pre one tensor [steps, ...] or none where it is stacked, else one for each step
  tensor_series(series_form form, step_index steps, tensor_list tensors)
      : form_{form}, steps_{steps}, tensors_{std::move(tensors)} {}

  [[nodiscard]] series_form form() const noexcept { return form_; }
  [[nodiscard]] step_index steps() const noexcept { return steps_; }
  /// All that it consists of.
  [[nodiscard]] tensor_list const& tensors() const noexcept { return tensors_; }
  /// The number in `tensors()` of the one that holds that of step i.
  [[nodiscard]] std::size_t number(step_index i) const noexcept {
    return form_ == series_form::stacked ? 0 : std::size_t(i);
  }
  [[nodiscard]] at::Tensor at(step_index i) const {
    auto const& t = tensors_[number(i)];
    return form_ == series_form::stacked && t.defined() ? t.select(0, i) : t;
  }
  /// Whether a tensor may stand beside those that were put before: stacked ones have one size, type and device.
  [[nodiscard]] bool takes(step_index i, at::Tensor const& t) const {
    if (form_ == series_form::list || i == 0) return true;
    auto const& all = tensors_.front();
    if (!t.defined() || !all.defined()) return t.defined() == all.defined();
    return t.sizes() == all.sizes().slice(1) && t.scalar_type() == all.scalar_type() && t.device() == all.device();
  }
  /// Stacked ones are copied; those that are never put are zero then.   \pre grad mode is off, or t has no history
  void put(step_index i, at::Tensor const& t) {
    auto& place = tensors_[number(i)];
    if (form_ == series_form::list) {
      place = t;
    } else if (t.defined()) {
      if (!place.defined()) {
        auto sizes = t.sizes().vec();
        sizes.insert(sizes.begin(), steps_);
        place = at::zeros(sizes, t.options().requires_grad(false));
      }
      place.select(0, i).copy_(t);
    }
  }

 private:
  series_form form_;
  step_index steps_;
  tensor_list tensors_;
};

/// Several, side by side.
using series_list = std::vector<tensor_series>;

/// Takes what step i gave beside its state.   \throws invalid_call   where stacked outputs are not alike
inline void keep_outputs(char const* who, series_list& outputs, at::TensorList given, step_index i) {
  for (std::size_t q = 0; q < outputs.size(); ++q) {
    if (!outputs[q].takes(i, given[q]))
      throw invalid_call{
          who,
          "an output of the step is not like that of the first step",
          {{"step", i}, {"output", q}},
          "return outputs of one size, type and device, or give the inputs in a vector: the outputs then come in one"};
    outputs[q].put(i, given[q]);
  }
}
/// Undefined ones of the forms of others.
[[nodiscard]] inline series_list like_series(series_list const& others) {
  series_list fresh;
  for (auto const& series : others) fresh.emplace_back(series.form(), series.steps());
  return fresh;
}
/// Tensors of a list, from a place on, in these forms.
[[nodiscard]] inline series_list series_from(series_list const& forms, tensor_list const& list, std::size_t place) {
  series_list filled;
  for (auto const& series : forms) {
    auto const begin = list.begin() + std::ptrdiff_t(place);
    filled.emplace_back(series.form(), series.steps(),
                        tensor_list{begin, begin + std::ptrdiff_t(series.tensors().size())});
    place += series.tensors().size();
  }
  return filled;
}
/// What the first steps find.
[[nodiscard]] inline series_list first_of(series_list const& all, step_index steps) {
  series_list first;
  for (auto const& series : all) {
    auto tensors = series.tensors();
    if (series.form() == series_form::list) tensors.resize(std::size_t(steps));
    else if (tensors.front().defined()) tensors.front() = tensors.front().narrow(0, 0, steps);
    first.emplace_back(series.form(), steps, std::move(tensors));
  }
  return first;
}
/// The tensors of all.
[[nodiscard]] inline tensor_list tensors_of_series(series_list const& all) {
  tensor_list list;
  for (auto const& series : all) list.insert(list.end(), series.tensors().begin(), series.tensors().end());
  return list;
}
/// What step i finds.
[[nodiscard]] inline tensor_list slices_at(series_list const& all, step_index i) {
  tensor_list slices;
  for (auto const& series : all) slices.push_back(series.at(i));
  return slices;
}

}  // namespace cairn::libtorch::detail
