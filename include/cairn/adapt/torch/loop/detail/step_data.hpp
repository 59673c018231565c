// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_data.hpp  What the steps of a loop are given and return: their call, their inputs, their outputs, and the
/// metadata of states.
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/replay_check.hpp>

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

/// The step on lists of tensors: from the parts of a state and the step's other inputs to the parts of the next state
/// and the step's outputs.
using flat_step = std::function<tensor_list(at::TensorList, step_index)>;

/// The tensors of both.
[[nodiscard]] inline tensor_list joined(tensor_list first, at::TensorList second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
/// The result of step i for the parts of a state, followed by inputs.
/// \throws invalid_call   if the step changed one of them in place
[[nodiscard]] inline tensor_list call_step(flat_step const& step, at::TensorList given, std::size_t parts, step_index i,
                                           char const* who) {
  auto const before = versions_of(given);
  auto y = step(given, i);
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (version_of(given[k]) == before[k]) continue;
    if (k < parts)
      throw invalid_call{who, "the step changed its state in place", {{"step", i}, {"part", k}},
                         "make a new tensor, or clone that part first"};
    throw invalid_call{who, "the step changed its input in place", {{"step", i}, {"part", k - parts}},
                       "make a new tensor, or clone it first"};
  }
  return y;
}

/// \throws invalid_call   if a tensor has a tangent and forward mode is on
inline void refuse_tangents(char const* who, at::TensorList tensors) {
  if (!c10::AutogradState::get_tls_state().get_fw_grad_mode()) return;
  for (std::size_t k = 0; k < tensors.size(); ++k)
    if (tensors[k].defined() && tensors[k]._fw_grad(0).defined())
      throw invalid_call{who, "a tensor has a tangent of forward mode, which would be lost", {{"tensor", k}},
                         "call it under torch::NoGradGuard: it is then the plain computation, which keeps tangents"};
}

/// The inputs of the steps of a loop.
class step_inputs {
 public:
  explicit step_inputs(series_list const& given) {
    for (auto const& one : given) {
      flags_.push_back(require_gradients(one.tensors()));
      series_.emplace_back(one.form(), one.steps(), detached(one.tensors()));
      for (auto const& t : series_.back().tensors()) saved_.emplace_back(t);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return series_.size(); }  ///< number of series
  [[nodiscard]] series_list const& series() const noexcept { return series_; }  ///< without history
  /// Which tensors of each series require a gradient.
  [[nodiscard]] std::vector<part_flags> const& flags() const noexcept { return flags_; }
  /// The inputs of step i.
  [[nodiscard]] tensor_list at(step_index i) const { return slices_at(series_, i); }
  /// Which inputs of step i require a gradient.
  [[nodiscard]] part_flags flags_at(step_index i) const {
    part_flags flags;
    for (std::size_t q = 0; q < series_.size(); ++q) flags.push_back(flags_[q][series_[q].number(i)]);
    return flags;
  }
  /// \throws invalid_call   if an input has changed since the loop was made
  void check_unchanged(char const* who) const {
    for (std::size_t k = 0; k < saved_.size(); ++k)
      if (!saved_[k].unchanged())
        throw invalid_call{who, "an input of the steps was changed in place since the loop used it",
                           {{"input tensor", k}, {"of", saved_.size()}},
                           "run backward first, or give the loop a clone"};
  }

 private:
  series_list series_;
  std::vector<part_flags> flags_;
  std::vector<saved_tensor> saved_;
};

/// The outputs of the steps of a loop: step i returns the parts of the next state, followed by its outputs.
class step_outputs {
 public:
  /// \param parts  number of parts of a state
  step_outputs(series_form form, std::size_t parts) : form_{form}, parts_{parts} {}

  /// Which outputs are differentiable, as far as is known.
  [[nodiscard]] part_flags const& flags() const noexcept { return flags_; }
  /// Undefined tensors in the form of the outputs.
  [[nodiscard]] series_list like(step_index steps) const {
    return series_list(flags_.size(), tensor_series{form_, steps});
  }
  /// Moves out the outputs of the steps.   \post there are none left
  [[nodiscard]] series_list take() { return std::exchange(all_, {}); }
  /// The part of the state after step i that is the same tensor as output number q; the number of parts if there is
  /// none.
  [[nodiscard]] std::size_t part_shared(step_index i, std::size_t q) const {
    bool const shared = part_of_[q] < parts_ && is_part_[std::size_t(i) * part_of_.size() + q];
    return shared ? part_of_[q] : parts_;
  }
  /// Finds which outputs are differentiable, and which are always a part of the state: their gradients are added before
  /// those of the next step.
  /// \param y  the results of a taped step   \param state_flags  which parts of the state after it are differentiable
  void learn(at::TensorList y, part_flags const& state_flags) {
    flags_.resize(y.size() - parts_);
    part_of_.resize(y.size() - parts_, unknown);
    for (std::size_t q = 0; q < flags_.size(); ++q) {
      auto const& t = y[parts_ + q];
      if (!t.defined() || !t.requires_grad()) continue;
      flags_[q] = true;
      auto const edge = torch::autograd::impl::gradient_edge(t);
      std::size_t part = 0;
      while (part < parts_ && !(state_flags[part] && torch::autograd::impl::gradient_edge(y[part]) == edge)) ++part;
      part_of_[q] = part_of_[q] == unknown || part_of_[q] == part ? part : parts_;
    }
  }
  /// Keeps the outputs of the first run of step i.   \param steps  of the loop, or 0 if that is not known
  void keep(tensor_list const& y, step_index i, step_index steps, char const* who) {
    if (i == 0) all_ = like(steps);
    keep_outputs(who, all_, at::TensorList{y}.slice(parts_), i);
    for (std::size_t q = 0; q < all_.size(); ++q) {
      auto const& t = y[parts_ + q];
      is_part_.push_back(part_of_[q] < parts_ && t.defined() && t.is_same(y[part_of_[q]]));
    }
  }
  /// \param y  the results of step i, run again   \throws recompute_mismatch   if an output is no longer a part of the
  ///   state
  void check_shared(at::TensorList y, step_index i, char const* who) const {
    for (std::size_t q = 0; q < flags_.size(); ++q) {
      auto const part = part_shared(i, q);
      if (part < parts_ && !y[part].is_same(y[parts_ + q]))
        throw recompute_mismatch{who, "a step gives one tensor as a state and an output, and two when it is run again",
                                 {{"step", i}, {"part", part}, {"output", q}},
                                 "make the step a function of its state and its number"};
    }
  }
  /// \param y  the results of step i, run again   \throws invalid_call   if an output is differentiable that was not in
  ///   the first run
  void check_flags(at::TensorList y, step_index i, char const* who) const {
    for (std::size_t q = 0; q < flags_.size(); ++q)
      if (auto const& t = y[parts_ + q]; t.defined() && t.requires_grad() && !flags_[q])
        throw invalid_call{who,
                           "an output of the step becomes differentiable later than in the first steps",
                           {{"step", i}, {"output", q}},
                           "use Capture::EveryStep"};
  }

 private:
  static constexpr std::size_t unknown = std::size_t(-1);

  series_form form_;
  std::size_t parts_;
  part_flags flags_;
  series_list all_;
  /// For each output: the part that it equals, the number of parts if there is none, or `unknown`.
  std::vector<std::size_t> part_of_;
  std::vector<bool> is_part_;  ///< for each output of each step
};

/// The metadata of all states. Consecutive states with the same metadata are stored once: a few bytes for a loop. If
/// bits are compared, some bytes for each compared state: for all states, or for those between blocks.
class state_metadata {
 public:
  state_metadata(Check check, replay_check verify)
      : verify_{check == Check::Bits ? replay_check::every_step : verify},
        compares_{check != Check::Off || verify != replay_check::off} {}

  /// For `replay_check::checkpoints`: the number of steps that are reversed together, and the end of the loop, -1 if
  /// unknown.
  void set_blocks(step_index size, step_index end) noexcept { block_ = size, last_ = end; }

  /// \pre called for states in order
  void note(step_index i, at::TensorList parts) { note(i, parts, wants_bits(i)); }
  /// The same for the last state of a loop whose length was unknown; it was noted before.
  void note_last(step_index i, at::TensorList parts) {
    if (verify_ != replay_check::checkpoints || wants_bits(i)) return;
    if (!all_.empty() && all_.back().from == i) all_.pop_back();
    last_ = i;
    note(i, parts, true);
  }
  /// \throws recompute_mismatch   \pre state i was noted
  void compare(char const* who, step_index i, at::TensorList parts) const {
    if (!compares_) return;
    auto const& first = metadata_at(i);
    for (std::size_t k = 0; k < parts.size() && k < first.size(); ++k) {
      auto const now = tensor_metadata::of(parts[k], wants_bits(i));
      if (!first[k].is_like(now))
        throw recompute_mismatch{
            who,
            ("a step gives " + now.text() + " when it is run again, and gave " + first[k].text()).c_str(),
            {{"step", i - 1}, {"part", k}},
            advice};
      if (first[k].bits == now.bits) continue;
      if (verify_ == replay_check::every_step)
        throw recompute_mismatch{
            who, "a step gives different bits when it is run again", {{"step", i - 1}, {"part", k}}, advice};
      throw recompute_mismatch{who,
                               "steps give different bits when they are run again",
                               {{"first step", (i - 1) / block_ * block_}, {"last step", i - 1}, {"part", k}},
                               advice};
    }
  }

 private:
  [[nodiscard]] bool wants_bits(step_index i) const noexcept {
    return verify_ == replay_check::every_step ||
           (verify_ == replay_check::checkpoints && (i % block_ == 0 || i == last_));
  }
  void note(step_index i, at::TensorList parts, bool with_bits) {
    if (!compares_) return;
    metadata_list now;
    for (auto const& part : parts) now.push_back(tensor_metadata::of(part, with_bits));
    if (all_.empty() || !same(all_.back().metadata, now)) all_.push_back({i, std::move(now)});
  }
  static constexpr char const* advice =
      "make the step a function of its state and its number: no counters, no global state, no other random generators";
  using metadata_list = std::vector<tensor_metadata>;
  struct noted {
    step_index from;  ///< the first state with this metadata
    metadata_list metadata;
  };

  [[nodiscard]] static bool same(metadata_list const& x, metadata_list const& y) {
    bool same = x.size() == y.size();
    for (std::size_t k = 0; same && k < x.size(); ++k) same = x[k].is_like(y[k]) && x[k].bits == y[k].bits;
    return same;
  }
  [[nodiscard]] metadata_list const& metadata_at(step_index i) const {
    auto const behind = std::upper_bound(all_.begin(), all_.end(), i,
                                         [](step_index k, noted const& one) { return k < one.from; });
    return std::prev(behind)->metadata;
  }

  replay_check verify_;
  bool compares_;
  step_index block_ = 1, last_ = -1;
  std::vector<noted> all_;
};

}  // namespace cairn::libtorch::detail
