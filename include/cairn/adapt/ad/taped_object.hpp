// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file taped_object.hpp  A program whose numbers are all of a tool's type, in one object: checkpoints of the object,
/// and its adjoint by a tape of a few steps.
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/leaf_tape.hpp>
#include <cairn/adapt/ad/detail/scalars.hpp>
#include <cairn/adapt/ad/detail/weighed_leaf.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/objective.hpp>

namespace cairn {
namespace detail {

/// Goes through what a program passes to `f`: numbers of the tool, ranges of such values, and everything else.
template <class Scalar, class OnNumber, class OnRest>
class object_visitor {
 public:
  object_visitor(OnNumber& on_number, OnRest& on_rest) : on_number_{&on_number}, on_rest_{&on_rest} {}
  template <class T>
  void operator()(T& v) const {
    constexpr bool is_range = requires {
      v.begin();
      v.end();
    };
    if constexpr (std::is_same_v<T, Scalar>) (*on_number_)(v);
    else if constexpr (is_range || std::is_array_v<T>)
      for (auto& each : v) (*this)(each);
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) (*on_rest_)(v);
    else
      throw invalid_call{"cairn::taped_object",
                         "each(f) passes a class that is neither the tool's number nor a range",
                         {{"bytes", sizeof(T)}},
                         "pass its members one by one"};
  }

 private:
  OnNumber* on_number_;
  OnRest* on_rest_;
};

/// What a seed's function has found, as a run on disk keeps it: there are no terms of states before the last.
class found_at_end {
 public:
  void go_on(double, step_index) noexcept {}
  [[nodiscard]] double sum() const noexcept { return 0; }
  [[nodiscard]] step_index steps() const noexcept { return 0; }
  void ended(double value) noexcept { value_ = value; }
  [[nodiscard]] double ending() const noexcept { return value_; }

 private:
  double value_ = 0;
};

}  // namespace detail

/// What a program that is written over a tool's number holds, as the state of a loop: for programs with one `typedef`
/// for all numbers and an object that everything works on. It has `save` and `restore`, so that its checkpoints are
/// plain numbers without the tape; `step` is the program's own, and `adjoint` records the steps of a leaf:
/// `gradient(loop.step, loop, plan, loop.seed(f), loop.adjoint)`. The gradient is by the numbers that `each` passes,
/// in their order, in the state where the loop begins. Outside of `adjoint` and `seed` nothing is recorded.
/// \tparam Tool  an `ad_tape` whose numbers are plain while nothing is recorded, also those that an earlier recording
///   has left (ADOL-C, CppAD, CoDiPack), or a reference to one
/// \tparam Each  `each(f)` calls f(v) for everything that a step reads and changes, always in the same order: numbers
///   of the tool, which are differentiated, other numbers, flags and enumerations, which are brought back, and ranges
///   and arrays of these
/// \tparam Step  `step(i)`, or `step()`: one step of the program
template <class Tool, class Each, class Step>
class taped_object {
  using tool_type = std::remove_reference_t<Tool>;
  static_assert(ad_tape<tool_type>,
                "cairn: the tool must be a tape that can be recorded and reversed, such as cairn::adolc_tape{}; see "
                "cairn::ad_tape");
  using scalar = typename tool_type::scalar;

 public:
  using numbers = std::vector<double>;  ///< the values of all numbers, or their adjoints

  /// \param tool  an rvalue is moved in; an lvalue must outlive the object
  /// \throws invalid_call   if `each` passes something else than it may
  taped_object(Tool&& tool, Each each, Step one_step)
      : each_{std::move(each)}, step_{std::move(one_step)}, tool_{std::forward<Tool>(tool)} {
    visit([](scalar&) {}, [](auto&) {});
  }
  taped_object(taped_object const&) = delete;
  taped_object& operator=(taped_object const&) = delete;

  /// The program's state between two steps.
  struct snapshot {
    numbers values;                   ///< of the numbers that are differentiated
    std::vector<unsigned char> rest;  ///< the bytes of everything else
  };
  /// A checkpoint.
  [[nodiscard]] snapshot save() const {
    snapshot taken;
    save(taken);
    return taken;
  }
  /// The same into an old one.
  void save(snapshot& into) const {
    into.values.clear();
    into.rest.clear();
    visit([&](scalar& v) { into.values.push_back(detail::plain_value(v)); },
          [&](auto& v) {
            std::size_t const at = into.rest.size();
            into.rest.resize(at + sizeof v);
            std::memcpy(into.rest.data() + at, &v, sizeof v);
          });
  }
  /// Puts the program back.   \throws invalid_call   if `each` passes another number of values now
  void restore(snapshot const& old) {
    std::size_t k = 0, at = 0;
    bool fits = true;
    visit(
        [&](scalar& v) {
          fits = fits && k < old.values.size();
          if (fits) v = old.values[k++];
        },
        [&](auto& v) {
          fits = fits && at + sizeof v <= old.rest.size();
          if (fits) std::memcpy(&v, old.rest.data() + at, sizeof v);
          at += sizeof v;
        });
    if (!fits || k != old.values.size() || at != old.rest.size()) refuse_sizes(k, old.values.size());
  }

  /// Calls look with what it holds beside its snapshots.
  template <class Look>
  void each_function(Look const& look) const { look(each_), look(step_); }

  /// `step(loop, i)`: one step of the program.
  struct stepper {
    taped_object* owner;  ///< the object with the functions
    /// For loops over the object.
    void operator()(taped_object& x, step_index i) const { x.advance(i); }
    using own_params = no_params;            ///< says that it has a value of its own
    using functions = void (*)(Each, Step);  ///< of which it is made
    /// Calls look with each and step.
    template <class Look>
    void each_function(Look const& look) const { owner->each_function(look); }
    /// Begins a loop that may be kept on disk: the value that the seed finds stands in its records.
    template <class Keep>
    auto kept_by(Keep keep) const {
      static constexpr no_params none{};
      static constexpr detail::only_at_end what{};
      return keep(none, what, owner->found_);
    }
  };
  /// `adjoint(loop, bar, first, last)`: the adjoint of the steps of a leaf; bar has the adjoints of all numbers.
  struct leaf_reverser {
    taped_object* owner;  ///< the object with the tape
    /// It holds nothing of its own; `step` shows what the object's functions are.
    template <class Look>
    void each_function(Look const&) const noexcept {}
    /// What a leaf of so many steps holds, weighed at a state, which the object is in again afterwards: for planners.
    [[nodiscard]] wide leaf_bytes(taped_object& x, step_index leaf, step_index) const { return x.weigh(leaf); }
    /// The same if it was weighed last, otherwise `unknown_bytes`: for reports.
    [[nodiscard]] wide leaf_known(step_index steps) const noexcept {
      return owner->weighed_.known(steps);
    }
    [[nodiscard]] wide leaf_held() const noexcept { return owner->most_bytes_; }  ///< the most of all leaves so far
    /// Leaves the program after the leaf.
    void operator()(taped_object& x, numbers& bar, step_index first, step_index last) const {
      x.reverse(bar, first, last);
    }
  };
  /// The adjoint of a number of the final state.
  template <class Fn>
  struct function_seed {
    Fn f;  ///< `f()` returns the number
    /// For loops over the object.
    numbers operator()(taped_object& x) const {
      numbers bar;
      x.seed_bytes_ = x.record(bar, [&] {
        scalar const result = f();
        x.found_.ended(detail::plain_value(result));
        x.tool_.dependent(result);
        x.seeds_.assign(1, 1.0);
      });
      x.seed_bytes_ += bar.size() * 4 * sizeof(scalar);  // a leaf's lists of results, which stay
      return bar;
    }
    using functions = void (*)(Fn);  ///< of which it is made
    /// Calls look with f.
    template <class Look>
    void each_function(Look const& look) const { look(f); }
  };
  stepper step{this};                                           ///< for all verbs
  detail::tagged<adjoint_form::leaf, leaf_reverser> adjoint{{this}};  ///< for all verbs, and plans with leaves

  /// A seed: the adjoint of `f()`, which returns a number of the final state; `value()` has it then, also where a run
  /// on disk goes on from a record and calls no seed.
  template <class Fn>
  [[nodiscard]] function_seed<Fn> seed(Fn f) { return {std::move(f)}; }
  /// Of the last seed's function.
  [[nodiscard]] double value() const noexcept { return found_.ending(); }
  [[nodiscard]] tool_type& tool() noexcept { return tool_; }       ///< the tape

 private:
  template <class OnNumber, class OnRest>
  void visit(OnNumber on_number, OnRest on_rest) const {
    detail::object_visitor<scalar, OnNumber, OnRest> const f{on_number, on_rest};
    each_(f);
  }
  void advance([[maybe_unused]] step_index i) {
    if constexpr (requires { step_(i); }) step_(i);
    else step_();
  }
  [[noreturn]] static void refuse_sizes(std::size_t now, std::size_t before) {
    throw invalid_call{"cairn::taped_object",
                       "each(f) does not pass the values that it passed before",
                       {{"numbers now", now}, {"before", before}},
                       "pass the same values, in the same order, in every state"};
  }
  /// Records what `run` computes from the numbers, and writes the adjoint of these into bar. Returns the bytes taken.
  template <class Run>
  wide record(numbers& bar, Run run) {
    [[maybe_unused]] auto const held = detail::hold_tool(tool_);
    std::size_t inputs = 0;
    auto const rest = [](auto&) {};
    visit([&inputs](scalar&) { ++inputs; }, rest);
    detail::open_recording<tool_type> open{tool_};
    tool_.begin(inputs);
    visit([this](scalar& v) { tool_.independent(v, detail::plain_value(v)); }, rest);
    tool_.record();
    run();
    tool_.end();
    open.ended();
    bar.resize(inputs);
    tool_.reverse(seeds_.data(), bar.data());
    wide const bytes = wide(tool_.bytes()) + seeds_.capacity() * sizeof(double);
    if (bytes > most_bytes_) most_bytes_ = bytes;
    return bytes;
  }
  [[nodiscard]] wide weigh(step_index length) {
    snapshot const before = save();
    tool_.clear();
    return weighed_.weigh(
        tool_, length, 1, [this] { most_bytes_ = seed_bytes_; },
        [&](std::size_t) {
          numbers bar(before.values.size());
          reverse(bar, 0, length);
          restore(before);
        },
        [this] { return most_bytes_; });
  }
  void reverse(numbers& bar, step_index first, step_index last) {
    (void)record(bar, [&] {
      for (step_index i = first; i < last; ++i) advance(i);
      std::size_t results = 0;
      visit(
          [&](scalar& v) {
            tool_.dependent(v);
            ++results;
          },
          [](auto&) {});
      if (results != bar.size()) refuse_sizes(results, bar.size());
      seeds_ = bar;
    });
  }

  Each each_;
  Step step_;
  Tool tool_;
  numbers seeds_;
  detail::found_at_end found_;
  wide most_bytes_ = 0, seed_bytes_ = 0;  // of the last seed: a plan is made for it, too
  detail::weighed_leaf weighed_;
};
/// An lvalue tool is kept by reference.
template <class Tool, class Each, class Step>
taped_object(Tool&&, Each, Step) -> taped_object<Tool, Each, Step>;

}  // namespace cairn
