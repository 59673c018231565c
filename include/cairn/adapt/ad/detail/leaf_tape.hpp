// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_tape.hpp  The tape of one leaf: recorded, or replayed if an earlier recording is valid for the leaf, then
/// reversed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
#include <cairn/run/sweep/detail/cached_object.hpp>

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
    r.gap = 0;
    if constexpr (can_replay<State>) {
      std::size_t const terms = lasting ? note_terms(r.terms, primal.objective(), steps) : 0;
      lasting = lasting && (terms == 0 || !takes_index<State>);
      if (lasting && r.recorded == wanted && r.layout == r.recorded_layout && r.terms == r.recorded_terms &&
          layout_of<State>(bar, r.sizes) == r.layout_after && tool_.replay(r.values.data())) {
        r.seeds.assign(terms, 1.0);
        all<State>::list(bar, r.seeds);
        all<own_params>::list(Primal::own_of(*gradient), r.seeds);
        r.gap = gap_of_replay(r, primal, x, steps, all<State>::count(bar), terms);
        bool const sampled = std::has_single_bit(++r.replays);
        if (r.gap == 0 && !sampled) return answer(r, primal, x, bar, gradient, of_state, steps);
        if (sampled || r.gap <= most_rounding) {
          r.replayed.resize(of_inputs);  // the leaf is also recorded, to check the replay
          tool_.reverse(r.seeds.data(), r.replayed.data());
        }
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
    answer(r, primal, x, bar, gradient, of_state, steps);
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
    std::vector<double> behind;  // what plain steps give at the end of the next leaf: terms, numbers of the state
    step_index behind_at = -1;   // the number of that state, and its loop
    std::uint64_t behind_loop = 0;
    double gap = 0;  // between a replay and plain steps, of numbers that are apart by more than rounding
    std::vector<double> rounding;  // of each number: see `rounded`
    bool trusted = true;           // the replay that `rounding` was last raised for has turned out to be right
    bool fits = true;              // the recording made after a replay ends where plain steps do
  };
  /// Numbers whose largest difference, relative to the largest of them, is no more than this may differ by rounding:
  /// whether they do, the gradient says. Numbers in one state may be of very different size, so that what is allowed
  /// from then on is noted for each.
  static constexpr double most_rounding = 1e-10;
  template <class State>
  static constexpr bool takes_index = objective_type::template indexed<active<State>, active<own_params>>;

  /// The largest difference of numbers, relative to the largest finite one; 0 if all are the same, as two that are not
  /// numbers are.
  class difference {
   public:
    void see(double found, double right) noexcept {
      bool const finite = std::isfinite(right);
      if (finite) largest_ = (std::max)(largest_, std::abs(right));
      if (found == right || (std::isnan(found) && std::isnan(right))) return;
      apart_ = finite && std::isfinite(found) ? (std::max)(apart_, std::abs(found - right)) : infinite;
    }
    [[nodiscard]] double relative() const noexcept { return apart_ > 0 ? apart_ / largest_ : 0; }
    static constexpr double infinite = std::numeric_limits<double>::infinity();

   private:
    double largest_ = 0, apart_ = 0;
  };
  /// Adds to what plain steps have given: the terms of a state.
  template <class State>
  static void list_terms(kept_leaf<State>& r, Primal const& primal, State const& x, step_index at) {
    if constexpr (!takes_index<State>)
      primal.objective().running(x, primal.own(), at, [&r](auto const& term) { r.behind.push_back(double(term)); });
  }
  /// The same: its numbers.
  template <class State>
  static void list_numbers(kept_leaf<State>& r, Primal const& primal, State const& x, step_index at) {
    all<State>::list(x, r.behind);
    r.behind_at = at;
    r.behind_loop = primal.loops();
  }
  /// Runs plain steps through a leaf, for all its terms, and for the state behind it.
  template <class State>
  static void run_plain(kept_leaf<State>& r, Primal const& primal, State const& x, leaf_steps const& steps) {
    r.behind.clear();
    State y(x);
    if (steps.first == 0) list_terms(r, primal, std::as_const(y), 0);
    for (step_index i = steps.first; i < steps.last; ++i) {
      primal.move_on(y, i);
      list_terms(r, primal, std::as_const(y), i + 1);
    }
    list_numbers(r, primal, std::as_const(y), steps.last);
  }
  /// How far the results of a replay are from what plain steps give: its terms, and the state behind it, where the
  /// sweep has been already. A model that chooses what it computes by a plain value, such as a cell of a table, would
  /// have recorded something else for this leaf; the tool does not see that, and the results show it.
  /// \param numbers  of the state behind the leaf   \param terms  of the leaf, which come before them
  template <class State>
  [[nodiscard]] double gap_of_replay(kept_leaf<State>& r, Primal const& primal, State const& x, leaf_steps const& steps,
                                     std::size_t numbers, std::size_t terms) const {
    bool const known = r.behind_at == steps.last && r.behind_loop == primal.loops();
    if (!known || r.behind.size() != terms + numbers) run_plain(r, primal, x, steps);
    std::size_t const count = r.behind.size();
    if (count != terms + numbers) return difference::infinite;
    if (!r.trusted || r.rounding.size() != count) r.rounding.assign(count, 0);
    r.trusted = true;
    double const *found = tool_.replayed(), *right = r.behind.data();
    bool same = true;
    for (std::size_t k = 0; k < count; ++k) same &= rounded(r.rounding[k], found[k], right[k]);
    if (same) return 0;
    difference apart;
    for (std::size_t k = 0; k < count; ++k)
      apart.see(rounded(r.rounding[k], found[k], right[k]) ? right[k] : found[k], right[k]);
    double const gap = apart.relative();
    if (gap > 0 && gap <= most_rounding) {
      r.trusted = false;
      for (std::size_t k = 0; k < count; ++k)
        if (!rounded(r.rounding[k], found[k], right[k]))
          allow(r.rounding[k], 8 * std::abs(found[k] - right[k]), std::abs(right[k]));
    }
    return gap;
  }
  /// Whether two numbers differ by rounding. \param allowed  relative to the right one; negative: absolute, of a number
  /// that is the rounding of larger ones, such as a difference of equal numbers
  [[nodiscard]] static bool rounded(double allowed, double found, double right) noexcept {
    return std::abs(found - right) <= (allowed < 0 ? -allowed : (std::max)(allowed, always_rounding) * std::abs(right));
  }
  /// 16 units in the last place: the tool's code multiplies and adds where a compiler fuses both (-march=native).
  static constexpr double always_rounding = 0x1p-48;
  static void allow(double& allowed, double off, double right) noexcept {
    if (allowed >= 0 && off <= most_rounding * right) allowed = (std::max)(allowed, off / right);
    else if (std::isfinite(off)) allowed = (std::min)(allowed, -off);
  }
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
    auto const leave = [this](scalar& v) { tool_.dependent(v); };
    if (!steps.ending) {
      (void)layout_of<State>(r.numbers.state(), r.layout_after);
      check_bar(all<State>::count(bar), all<State>::count(r.numbers.state()),
                layout_of<State>(bar, r.sizes) == r.layout_after);
      all<State>::list(bar, r.seeds);
      all<State>::visit(r.numbers.state(), leave);
      if constexpr (can_replay<State>)
        if (r.gap > 0) {
          difference ended;
          std::size_t const numbers = all<State>::count(bar);
          bool const same_size = numbers <= r.behind.size();
          double const* right = r.behind.data() + r.behind.size() - numbers;
          auto const compare = [&](scalar const& v) { ended.see(plain_value(v), *right++); };
          if (same_size) all<State>::visit(std::as_const(r.numbers.state()), compare);
          r.fits = same_size && ended.relative() <= same_gradient;
        }
    }
    if (gradient != nullptr) {
      all<own_params>::list(Primal::own_of(*gradient), r.seeds);
      all<own_params>::visit(r.numbers.params(), leave);
    }
    tool_.end();
    open.ended();
  }
  /// Reverses the recording, and writes the adjoint of the state and the gradients.
  template <class State>
  void answer(kept_leaf<State>& r, Primal const& primal, State const& x, State& bar, gradient_type* gradient,
              std::size_t of_state, leaf_steps const& steps) {
    if constexpr (can_replay<State>)
      if (gradient != nullptr) {
        r.behind.clear();
        if (steps.first > 0) list_terms(r, primal, x, steps.first);
        list_numbers(r, primal, x, steps.first);
      }
    tool_.reverse(r.seeds.data(), r.values.data());
    if (!r.replayed.empty()) check_replayed(r, steps.first);
    most_bytes_ = (std::max)(most_bytes_, wide(tool_.bytes()) + bytes_of(r));
    if (all<State>::count(bar) != of_state || !same_layout<State>(x, bar, r.sizes)) copy_state(x, bar);
    double const* from = r.values.data();
    auto const take = [&from](double& v) { v = *from++; };
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
  /// Compares a replay, of which the 1st, 2nd, 4th, 8th ... is also recorded, with the recording of the same leaf.
  /// Otherwise a model that reads more than it is given could silently get a wrong gradient. The tolerance is for
  /// rounding, which may differ between the tool's code for recording and for replay. A replay that is known not to
  /// hold is no fault of the model if the recording ends where plain steps do. One that ends elsewhere by little
  /// differs by rounding only if it has the gradient of the recording, to the bit: one number of that may be much
  /// smaller than the others.
  template <class State>
  static void check_replayed(kept_leaf<State>& r, step_index first) {
    double largest = 0, gap = 0;
    bool same = true;
    for (std::size_t k = 0; k < r.replayed.size(); ++k) {
      same = same && (r.replayed[k] == r.values[k] || (std::isnan(r.replayed[k]) && std::isnan(r.values[k])));
      if (!std::isfinite(r.replayed[k]) || !std::isfinite(r.values[k])) continue;
      largest = (std::max)(largest, std::abs(r.values[k]));
      gap = (std::max)(gap, std::abs(r.replayed[k] - r.values[k]));
    }
    r.trusted = r.trusted || same;
    if (gap > same_gradient * largest && !(r.gap > 0 && r.fits))
      throw invalid_call{"cairn::taped",
                         "a recording of some steps does not hold for others: the model reads more than it is given",
                         {{"first step", first}},
                         "let its at(i) name all numbers that differ from step to step, or let the model take the "
                         "index as a cairn::step_index"};
  }
  static constexpr double same_gradient = 1e-7;
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
      throw invalid_call{"cairn::taped", "the gradient with respect to the parameters does not have their sizes",
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
           wide(r.values.capacity() + r.seeds.capacity() + r.replayed.capacity() + r.behind.capacity() +
                r.rounding.capacity()) *
               sizeof(double);
  }

  Tool tool_;
  cached_object memory_;
  wide most_bytes_ = 0;
};

}  // namespace cairn::detail
