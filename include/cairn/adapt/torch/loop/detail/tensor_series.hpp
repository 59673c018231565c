// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_series.hpp  One tensor per step of a loop: slices of one tensor, or a list; how inputs of a scan are
/// taken apart.
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// One tensor [T, ...], or a list of T tensors.
enum class series_form : bool { stacked, list };

/// A tensor for each step.
class tensor_series {
 public:
  /// A series of undefined tensors.
  tensor_series(series_form form, step_index steps)
      : form_{form}, steps_{steps}, tensors_(form == series_form::stacked ? 1 : std::size_t(steps)) {}
  /// \pre if stacked, one tensor [steps, ...] or none; otherwise one for each step
  tensor_series(series_form form, step_index steps, tensor_list tensors)
      : form_{form}, steps_{steps}, tensors_{std::move(tensors)} {}

  [[nodiscard]] series_form form() const noexcept { return form_; }
  [[nodiscard]] step_index steps() const noexcept { return steps_; }
  /// All its tensors.
  [[nodiscard]] tensor_list const& tensors() const noexcept { return tensors_; }
  /// The index in `tensors()` of the tensor for step i.
  [[nodiscard]] std::size_t number(step_index i) const noexcept {
    return form_ == series_form::stacked ? 0 : std::size_t(i);
  }
  [[nodiscard]] at::Tensor at(step_index i) const {
    auto const& t = tensors_[number(i)];
    return form_ == series_form::stacked && t.defined() ? t.select(0, i) : t;
  }
  /// Whether a tensor can be added: all slices of a stacked tensor have one size, type and device.
  [[nodiscard]] bool takes(step_index i, at::Tensor const& t) const {
    if (form_ == series_form::list || i == 0) return true;
    auto const& all = tensors_.front();
    if (!t.defined() || !all.defined()) return t.defined() == all.defined();
    return t.sizes() == all.sizes().slice(1) && t.scalar_type() == all.scalar_type() && t.device() == all.device();
  }
  /// Sets the tensor of step i. A stacked one is copied, and missing slices are zero.   \pre grad mode is off, or t has
  /// no history
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

/// Several series.
using series_list = std::vector<tensor_series>;

/// Stores the outputs of step i.   \throws invalid_call   if stacked outputs have different sizes, types or devices
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
/// Series of undefined tensors in the same forms.
[[nodiscard]] inline series_list like_series(series_list const& others) {
  series_list fresh;
  for (auto const& series : others) fresh.emplace_back(series.form(), series.steps());
  return fresh;
}
/// Series of the given forms, made from the tensors of a list from a place on.
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
/// The inputs of the first steps.
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
/// The tensors of all series.
[[nodiscard]] inline tensor_list tensors_of_series(series_list const& all) {
  tensor_list list;
  for (auto const& series : all) list.insert(list.end(), series.tensors().begin(), series.tensors().end());
  return list;
}
/// The inputs of step i.
[[nodiscard]] inline tensor_list slices_at(series_list const& all, step_index i) {
  tensor_list slices;
  for (auto const& series : all) slices.push_back(series.at(i));
  return slices;
}

/// The same structure, with undefined tensors.
template <tensor_state State>
[[nodiscard]] State emptied(State const& x) { return state_of(x, tensor_list(tensors_of(x).size())); }

/// How a sequence is taken apart.
template <class Sequence>
struct sequence_traits {};
template <class Sequence>
using element_of = typename sequence_traits<Sequence>::element;

/// The rows of one tensor.
template <>
struct sequence_traits<at::Tensor> {
  using element = at::Tensor;
  static constexpr series_form form = series_form::stacked;
  [[nodiscard]] static step_index steps(char const* who, at::Tensor const& xs) {
    if (!xs.defined() || xs.dim() == 0)
      throw invalid_call{
          who, "an input has no first dimension to scan along", {}, "give a tensor [T, ...], or a vector of T tensors"};
    return xs.size(0);
  }
  static void flatten(char const*, at::Tensor const& xs, series_list& all) {
    all.emplace_back(form, xs.size(0), tensor_list{xs});
  }
  [[nodiscard]] static element like(at::Tensor const&) { return {}; }
};
/// The elements of a vector.
template <tensor_state Element>
struct sequence_traits<std::vector<Element>> {
  using element = Element;
  static constexpr series_form form = series_form::list;
  [[nodiscard]] static step_index steps(char const*, std::vector<Element> const& xs) { return step_index(xs.size()); }
  static void flatten(char const* who, std::vector<Element> const& xs, series_list& all) {
    if (xs.empty()) return;
    auto const count = tensors_of(xs.front()).size(), before = all.size();
    for (std::size_t q = 0; q < count; ++q) all.emplace_back(form, step_index(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      auto const parts = tensors_of(xs[i]);
      if (parts.size() != count || !same_structure(xs.front(), xs[i]))
        throw invalid_call{who,
                           "the inputs of two steps have different parts",
                           {{"step", i}, {"its parts", parts.size()}, {"parts of step 0", count}},
                           "give each step as many tensors under the same keys; leave some undefined if need be"};
      for (std::size_t q = 0; q < count; ++q) all[before + q].put(step_index(i), parts[q]);
    }
  }
  [[nodiscard]] static element like(std::vector<Element> const& xs) { return emptied(xs.front()); }
};
/// For types that `std::get` takes apart.
template <class Sequences, class Element, class First>
struct sequences_traits {
  using element = Element;
  static constexpr series_form form = sequence_traits<First>::form;
  template <class Xs>
  using of = sequence_traits<std::remove_cvref_t<Xs>>;

  [[nodiscard]] static step_index steps(char const* who, Sequences const& xs) {
    auto const first = sequence_traits<First>::steps(who, std::get<0>(xs));
    auto const check = [&](step_index other) {
      if (other != first)
        throw invalid_call{who,
                           "the inputs are of different lengths",
                           {{"steps of the first", first}, {"steps of another", other}},
                           ""};
    };
    std::apply([&](auto const&... one) { (check(of<decltype(one)>::steps(who, one)), ...); }, xs);
    return first;
  }
  static void flatten(char const* who, Sequences const& xs, series_list& all) {
    std::apply([&](auto const&... one) { (of<decltype(one)>::flatten(who, one, all), ...); }, xs);
  }
  [[nodiscard]] static element like(Sequences const& xs) {
    return std::apply([](auto const&... one) { return element{of<decltype(one)>::like(one)...}; }, xs);
  }
};
template <class First, class... Rest>
struct sequence_traits<std::tuple<First, Rest...>>
    : sequences_traits<std::tuple<First, Rest...>, std::tuple<element_of<First>, element_of<Rest>...>, First> {};
template <class First, class Second>
struct sequence_traits<std::pair<First, Second>>
    : sequences_traits<std::pair<First, Second>, std::pair<element_of<First>, element_of<Second>>, First> {};

}  // namespace cairn::libtorch::detail
