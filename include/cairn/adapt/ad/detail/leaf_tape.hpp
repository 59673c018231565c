// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_tape.hpp  The tape of one leaf: recorded, or replayed if an earlier recording is valid for the leaf, then
/// reversed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/active_leaf.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/run/detail/cached_object.hpp>

namespace cairn::detail {

/// Ends a recording that an exception interrupts.
template <class Tool>
class open_recording {
 public:
  explicit open_recording(Tool& tool) noexcept : tool_{&tool} {}
  open_recording(open_recording const&) = delete;
  open_recording& operator=(open_recording const&) = delete;
  ~open_recording() {
    if (tool_ != nullptr) tool_->abandon();
  }
  void ended() noexcept { tool_ = nullptr; }

 private:
  Tool* tool_;
};

/// Differentiates leaves of a loop with a tool: one recording at a time, which a `replaying_tape` may use for more
/// leaves than one.
/// \tparam Tool  an `ad_tape`, or a reference to one   \tparam Primal  a `primal_loop`
template <class Tool, class Primal>
class leaf_tape {
  using tool_type = std::remove_reference_t<Tool>;
  using scalar = typename tool_type::scalar;
  using gradient_type = typename Primal::gradient_type;
  using objective_type = typename Primal::objective_type;
  using own_params = typename Primal::own_params;
  using control = typename Primal::control;
  template <class State> using step_data = typename Primal::template step_data<State>;
  template <class T> using all = scalars_of<T, scalar>;
  template <class T> using active = rebound_scalar<T, scalar>;

 public:
  explicit leaf_tape(Tool&& tool) : tool_{std::forward<Tool>(tool)} {}
  leaf_tape(leaf_tape const&) = delete;
  leaf_tape& operator=(leaf_tape const&) = delete;
  ~leaf_tape() {
    [[maybe_unused]] auto const held = hold_tool(tool_);
    memory_.clear();
  }

  [[nodiscard]] tool_type& tool() noexcept { return tool_; }
  /// The most bytes that one leaf has taken, with state, parameters and seeds.
  [[nodiscard]] wide most_bytes() const noexcept { return most_bytes_; }
  void forget_bytes() noexcept { most_bytes_ = 0; }
  /// Frees the memory of tape and states.
  void clear() {
    [[maybe_unused]] auto const held = hold_tool(tool_);
    memory_.clear();
    tool_.clear();
  }

  /// Turns bar, the adjoint of the state after the steps, into the adjoint of the state x before them.
  /// \param gradient  with respect to the parameters, or null
  template <class State>
  void reverse(Primal const& primal, State const& x, State& bar, gradient_type* gradient, leaf_steps const& steps) {
    [[maybe_unused]] auto const held = hold_tool(tool_);
    auto& r = memory_.template get<kept_leaf<State>>();
    auto const [of_state, of_all] = r.numbers.shape(primal, x, steps, r.values, r.layout);
    std::size_t const of_inputs = gradient != nullptr ? of_all : of_state;
    if (gradient != nullptr) check_gradient(primal, *gradient, steps, r.sizes);
    recorded_leaf wanted{steps.last - steps.first, r.values.size(), gradient != nullptr, primal.loops(), 0};
    if constexpr (replaying_tape<tool_type>) wanted.recording = tool_.recordings();
    bool lasting = can_replay<State> && gradient != nullptr && !steps.ending;
    r.replayed.clear();
    if constexpr (can_replay<State>) {
      std::size_t const terms = lasting ? note_terms(r.terms, primal.objective(), steps) : 0;
      lasting = lasting && (terms == 0 || !objective_type::template indexed<active<State>, active<own_params>>);
      if (lasting && r.recorded == wanted && r.layout == r.recorded_layout && r.terms == r.recorded_terms &&
          layout_of<State>(bar, r.sizes) == r.layout_after && tool_.replay(r.values.data())) {
        r.seeds.assign(terms, 1.0);
        auto const seed = [&r](double const& v) { r.seeds.push_back(v); };
        all<State>::visit(std::as_const(bar), seed);
        all<own_params>::visit(std::as_const(Primal::own_of(*gradient)), seed);
        if (!std::has_single_bit(++r.replays)) return answer(r, x, bar, gradient, of_state, steps);
        r.replayed.resize(of_inputs);  // the leaf is also recorded, to check the replay
        tool_.reverse(r.seeds.data(), r.replayed.data());
      }
    }
    r.recorded = {};
    record(r, primal, bar, gradient, steps, lasting, of_inputs);
    if constexpr (replaying_tape<tool_type>) wanted.recording = tool_.recordings();
    if (lasting) {
      r.recorded = wanted;
      r.recorded_layout = r.layout;
      r.recorded_terms = r.terms;
    }
    answer(r, x, bar, gradient, of_state, steps);
  }

 private:
  /// What a recording that may be replayed was made from.
  struct recorded_leaf {
    step_index steps = 0;  // 0: there is no recording
    std::size_t values = 0;
    bool gradient = false;
    std::uint64_t loop = 0, recording = 0;
    friend bool operator==(recorded_leaf const&, recorded_leaf const&) = default;
  };
  /// What is kept from leaf to leaf.
  template <class State>
  struct kept_leaf {
    active_leaf<scalar, Primal, State> numbers;
    std::vector<double> values, seeds, replayed;
    std::vector<std::size_t> terms, recorded_terms;
    std::vector<std::size_t> layout, recorded_layout, layout_after, sizes;  // after: of the state after the steps
    recorded_leaf recorded;
    std::uint64_t replays = 0;
  };
  /// The recording of a leaf is valid for other leaves with the same number of steps: nothing in it depends on the
  /// index or on passive parts.
  template <class State>
  static constexpr bool can_replay = replaying_tape<tool_type> && Primal::template has_data<State> &&
                                     all<State>::only_scalars() && all<control>::only_scalars() &&
                                     all<step_data<State>>::only_scalars();

  /// Records a leaf, and notes the seeds of its results.
  /// \param lasting  whether the recording may be replayed for other leaves
  template <class State>
  void record(kept_leaf<State>& r, Primal const& primal, State const& bar, gradient_type* gradient,
              leaf_steps const& steps, [[maybe_unused]] bool lasting, std::size_t of_inputs) {
    open_recording<tool_type> open{tool_};
    tool_.begin(of_inputs);
    std::size_t k = 0;
    auto const enter = [&](scalar& v) { tool_.independent(v, r.values[k++]); };
    auto const fix = [&](scalar& v) { v = scalar(r.values[k++]); };
    all<State>::visit(r.numbers.state(), enter);
    r.numbers.visit_params(steps, [&](scalar& v) { gradient != nullptr ? enter(v) : fix(v); });
    r.numbers.visit_data(steps, [&](scalar& v) {
      if constexpr (replaying_tape<tool_type>) {
        if (lasting) return tool_.varies(v, r.values[k++]);
      }
      fix(v);
    });
    tool_.record();
    r.seeds.clear();
    r.numbers.run(primal, steps, [&](auto&& term) {
      scalar v(std::forward<decltype(term)>(term));
      tool_.dependent(v);
      r.seeds.push_back(1);
    });
    auto const seed = [&r](double const& v) { r.seeds.push_back(v); };
    auto const leave = [this](scalar& v) { tool_.dependent(v); };
    if (!steps.ending) {
      (void)layout_of<State>(r.numbers.state(), r.layout_after);
      check_bar(all<State>::count(bar), all<State>::count(r.numbers.state()),
                layout_of<State>(bar, r.sizes) == r.layout_after);
      all<State>::visit(std::as_const(bar), seed);
      all<State>::visit(r.numbers.state(), leave);
    }
    if (gradient != nullptr) {
      all<own_params>::visit(std::as_const(Primal::own_of(*gradient)), seed);
      all<own_params>::visit(r.numbers.params(), leave);
    }
    tool_.end();
    open.ended();
  }
  /// Reverses the recording, and writes the adjoint of the state and the gradients.
  template <class State>
  void answer(kept_leaf<State>& r, State const& x, State& bar, gradient_type* gradient, std::size_t of_state,
              leaf_steps const& steps) {
    tool_.reverse(r.seeds.data(), r.values.data());
    check_replayed(r.replayed, r.values, steps.first);
    most_bytes_ = (std::max)(most_bytes_, wide(tool_.bytes()) + bytes_of(r));
    if (all<State>::count(bar) != of_state || !same_layout<State>(x, bar, r.sizes)) copy_state(x, bar);
    std::size_t k = 0;
    auto const take = [&](double& v) { v = r.values[k++]; };
    all<State>::visit(bar, take);
    if (gradient == nullptr) return;
    all<own_params>::visit(Primal::own_of(*gradient), take);
    if constexpr (Primal::controlled)
      for (step_index i = steps.first; i < steps.last; ++i)
        all<control>::visit(gradient->controls[std::size_t(i)], take);
  }
  /// Lists how many terms each function of the objective has at each state of a leaf, in order, and returns their sum.
  /// A recording is valid only for leaves with the same terms at the same places.
  [[nodiscard]] static std::size_t note_terms(std::vector<std::size_t>& into, objective_type const& objective,
                                              leaf_steps const& steps) {
    std::size_t sum = 0;
    into.clear();
    auto const note = [&](std::size_t count) {
      into.push_back(count);
      sum += count;
    };
    if (steps.first == 0) objective.each_count(0, note);
    if (sum == 0) into.clear();  // then the list is that of a leaf that begins at another state
    for (step_index i = steps.first; i < steps.last; ++i) objective.each_count(i + 1, note);
    return sum;
  }
  /// Compares the 1st, 2nd, 4th, 8th ... replay with a recording of the same leaf. Otherwise a model that reads more
  /// than it is given would silently get a wrong gradient. The tolerance is for rounding, which may differ between the
  /// tool's code for recording and for replay.
  static void check_replayed(std::vector<double> const& replayed, std::vector<double> const& recorded,
                             step_index first) {
    double largest = 0, gap = 0;
    for (std::size_t k = 0; k < replayed.size(); ++k) {
      if (!std::isfinite(replayed[k]) || !std::isfinite(recorded[k])) continue;
      largest = (std::max)(largest, std::abs(recorded[k]));
      gap = (std::max)(gap, std::abs(replayed[k] - recorded[k]));
    }
    if (gap > 1e-7 * largest)
      throw invalid_call{"cairn::taped",
                         "a recording of some steps does not hold for others: the model reads more than it is given",
                         {{"first step", first}},
                         "let its at(i) name all numbers that differ from step to step, or let the model take the "
                         "index as a cairn::step_index"};
  }
  static void check_bar(std::size_t given, std::size_t after, bool same_layout) {
    if (given != after)
      throw invalid_call{"cairn::taped",
                         "the adjoint does not have as many scalars as the state that it belongs to",
                         {{"adjoint", given}, {"state", after}},
                         "make the seed as large as the final state"};
    if (!same_layout)
      throw invalid_call{"cairn::taped",
                         "the adjoint has its scalars at other places than the state that it belongs to",
                         {{"scalars", given}}, "give each part of the seed the size that it has in the final state"};
  }
  /// Refuses a gradient that does not fit the parameters.
  static void check_gradient(Primal const& primal, gradient_type const& gradient,
                             [[maybe_unused]] leaf_steps const& steps, std::vector<std::size_t>& sizes) {
    using params = own_params;
    bool fits = same_layout<params>(primal.own(), Primal::own_of(gradient), sizes);
    if constexpr (Primal::controlled)
      for (step_index i = steps.first; fits && i < steps.last; ++i)
        fits = std::size_t(i) < gradient.controls.size() &&
               same_layout<control>(primal.control_at(i), gradient.controls[std::size_t(i)], sizes);
    if (!fits)
      throw invalid_call{"cairn::taped", "the gradient by the parameters does not have their sizes",
                         {{"first step", steps.first}}, "make the seed by bar(state) of the taped loop"};
  }
  template <class T>
  [[nodiscard]] static bool same_layout(T const& a, T const& b, std::vector<std::size_t>& sizes) {
    if constexpr (!all<T>::sizes_vary()) return true;
    else {
      (void)layout_of<T>(a, sizes);
      std::size_t k = 0;
      bool same = true;
      auto const compare = [&](std::size_t size) { same = k < sizes.size() && sizes[k++] == size && same; };
      all<T>::each_size(b, compare);
      return same && k == sizes.size();
    }
  }
  /// The sizes of the parts of a value over double or over the tool's scalar.
  template <class T, class Input>
  static std::vector<std::size_t> const& layout_of(Input const& x, std::vector<std::size_t>& into) {
    into.clear();
    auto const note = [&into](std::size_t size) { into.push_back(size); };
    all<T>::each_size(x, note);
    return into;
  }
  template <class Kept>
  [[nodiscard]] static wide bytes_of(Kept const& r) {
    return wide(r.values.size()) * sizeof(scalar) +
           wide(r.values.capacity() + r.seeds.capacity() + r.replayed.capacity()) * sizeof(double);
  }

  Tool tool_;
  cached_object memory_;
  wide most_bytes_ = 0;
};

}  // namespace cairn::detail
