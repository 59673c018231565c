// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file builder.hpp  Builds a graph of operations: callables on values of any types.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/owned.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/refused.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/detail/node.hpp>
#include <cairn/run/graph/value.hpp>

namespace cairn {

/// What the adjoint of an operation reads besides the adjoint of its value: `adjoint_reads::inputs |
/// adjoint_reads::tape<mask>`.
namespace adjoint_reads {

/// One bit for each input, the lowest for the first; all bits stand for all inputs.
using input_bits = std::uint64_t;
/// What an adjoint reads: some of the inputs, its own value, a tape.
template <input_bits Inputs, bool Output, class Tape>
struct choice {
  static constexpr input_bits inputs_read = Inputs;  ///< the inputs whose values it reads
  static constexpr bool reads_output = Output;       ///< its own value
  using tape_type = Tape;                            ///< what it keeps of a run besides values; void for nothing
  /// Whether it reads the value of an input, 0 for the first.
  [[nodiscard]] static constexpr bool reads_input(std::size_t place) noexcept {
    return place < 64 ? (Inputs >> place & 1) != 0 : Inputs == ~input_bits{0};
  }
};
inline constexpr choice<0, false, void> nothing{};              ///< as for a sum
inline constexpr choice<~input_bits{0}, false, void> inputs{};  ///< the values of all inputs, as for a product
/// The values of the inputs with these places, 0 to 62: `input<1>` for the second one only.
template <std::size_t... Place>
inline constexpr choice<(input_bits{0} | ... | (input_bits{1} << Place)), false, void> input{};
inline constexpr choice<0, true, void> output{};  ///< its own value, as for a softmax
/// A tape of type Tape, default constructible, which the operation fills when it is recorded: a mask, indices.
template <class Tape>
inline constexpr choice<0, false, Tape> tape{};

/// Reads what either of the two reads.
template <input_bits Inputs, bool Output, class Tape, input_bits OtherInputs, bool OtherOutput, class OtherTape>
[[nodiscard]] constexpr auto operator|(choice<Inputs, Output, Tape>, choice<OtherInputs, OtherOutput, OtherTape>) {
  static_assert(std::is_void_v<Tape> || std::is_void_v<OtherTape>, "cairn: an operation has one tape");
  return choice<(Inputs | OtherInputs), Output || OtherOutput,
                std::conditional_t<std::is_void_v<Tape>, OtherTape, Tape>>{};
}

}  // namespace adjoint_reads

/// Sizes and times of an operation, if they are given and not measured. Numbers are >= 0; -1 for what `bytes_of`
/// returns.
struct graph_facts {
  std::int64_t bytes = -1;          ///< of its value
  std::int64_t tape_bytes = -1;     ///< of its tape; 1 or more
  std::int64_t adjoint_bytes = -1;  ///< of the adjoint of its value
  std::int64_t work = 0;            ///< bytes it takes while it runs, besides its inputs, its value and its tape
  std::int64_t adjoint_work = 0;    ///< bytes its adjoint takes while it runs, besides values, tapes and adjoints
  std::int64_t time = 0;            ///< to run it, in any one unit
  std::int64_t adjoint_time = 0;    ///< to run its adjoint
};

namespace detail {
class graph_given;
class graph_memory;
class known_graph;
}  // namespace detail

/// A graph of operations on typed values, for `graph_probe` and `graph_gradient`. Operations are added in an order in
/// which they can run; the `graph_value` that is returned names the value of an operation.
class graph_builder {
 public:
  graph_builder() = default;

  /// A value that is given to each run: an input, a parameter. The caller owns it and its adjoint; the bytes of neither
  /// are counted.
  template <class T, class Bar = T>
  [[nodiscard]] graph_value<T, Bar> input() {
    ++inputs_;
    return graph_value<T, Bar>{add_entry(kind::input, inputs_ - 1, detail::mark_of<T>())};
  }
  /// An operation: its value is `forward(inputs...)`, of any type, movable or not. It may run more than once, and has
  /// to give the same value each time. What it uses besides its inputs, and what may change, is named by `changes` and
  /// `reads`.
  /// \param reads  what its adjoint reads, of `adjoint_reads`. With a tape, forward is called `forward(inputs..., Tape*
  ///   tape)` and fills the tape if the pointer is not null
  /// \param adjoint  adds to the adjoints of the inputs; called `adjoint(inputs..., value, tape, bar, sums...)`. Of the
  ///   inputs, the value and the tape only those that `reads` names are passed. `bar` is the adjoint of its value. Each
  ///   of `sums` is a `graph_adjoint`, or a `T&` if T{} is zero, one per input
  /// \param inputs  values of this builder that it reads; one may be named more than once
  /// \tparam Bar  the type of the adjoint of its value; by default the type of the value
  template <class Bar = void, class Reads, class Fn, class Adjoint, class... In, class... InBar>
  auto add([[maybe_unused]] Reads reads, Fn&& forward, Adjoint&& adjoint, graph_value<In, InBar>... inputs) {
    using tape = typename Reads::tape_type;
    using Forward = std::remove_cvref_t<Fn>;
    using called = typename detail::forward_of<Forward, tape, In...>::type;
    constexpr bool has_inputs = detail::inputs_are_there<Reads, sizeof...(In)>;
    static_assert(has_inputs,
                  "cairn: adjoint_reads::input names a place at which the operation has no input; the first is 0");
    constexpr bool is_called = !has_inputs || requires { typename called::type; };
    static_assert(is_called,
                  "cairn: the operation must be callable as `value = forward(inputs...)`, with a tape as `value = "
                  "forward(inputs..., Tape* tape)`");
    if constexpr (!has_inputs || !is_called) return graph_value<detail::refused>{0};
    else {
      using Value = std::remove_cvref_t<typename called::type>;
      using ValueBar = std::conditional_t<std::is_void_v<Bar>, Value, Bar>;
      constexpr bool has_value = !std::is_void_v<Value> && detail::standalone<Value>;
      static_assert(has_value,
                    "cairn: the operation must return its value, which owns its data (no view, no pointer and no "
                    "expression; what shares the bytes of another value is added by `view`)");
      constexpr bool pulls =
          detail::pulls_back<Reads, std::remove_cvref_t<Adjoint>, Value, ValueBar, std::tuple<In...>,
                             std::tuple<InBar...>>;
      static_assert(!has_value || pulls,
                    "cairn: the adjoint must be callable as `adjoint(inputs..., value, tape, bar, sums...)`, of which "
                    "inputs, value and tape are there as `reads` says; a sum is a `graph_adjoint<T>&`, or a T& of "
                    "plain numbers");
      if constexpr (!has_value || !pulls) return graph_value<detail::refused>{0};
      else {
        using node = detail::graph_node_of<Reads, Forward, std::remove_cvref_t<Adjoint>, Value, ValueBar,
                                           std::tuple<In...>, std::tuple<InBar...>>;
        (check(inputs.number_, detail::mark_of<In>()), ...);
        operations_.push_back({detail::owned<detail::graph_node>{
                                   new node{std::forward<Fn>(forward), std::forward<Adjoint>(adjoint)}},
                               {inputs.number_...},
                               {},
                               detail::inputs_read<Reads>(std::index_sequence_for<In...>{}),
                               Reads::reads_output,
                               !std::is_void_v<tape>,
                               {},
                               {}});
        return graph_value<Value, ValueBar>{
            add_entry(kind::operation, std::int32_t(operations_.size()) - 1, detail::mark_of<Value>())};
      }
    }
  }
  /// A view of a value, such as a part of it or another shape: it shares the bytes of that value and has none of its
  /// own. Each operation that reads the view calls `view(value)`, which should be cheap; the result is valid during the
  /// call.
  /// \param pull  called `pull(bar, sum)` after the adjoint of each reader: adds the adjoint of the view to that of the
  ///   value, a `graph_adjoint`. The adjoint of the view lives only that long
  /// \tparam Bar  the type of the adjoint of the view; by default the type of the view
  template <class Bar = void, class View, class Pull, class T, class TBar>
  auto view(View&& view, Pull&& pull, graph_value<T, TBar> of) {
    constexpr bool is_view = std::is_invocable_v<std::remove_cvref_t<View>&, T const&>;
    static_assert(is_view, "cairn: the view must be callable as `seen = view(value)`");
    if constexpr (!is_view) return graph_value<detail::refused>{0};
    else {
      using Seen = std::remove_cvref_t<std::invoke_result_t<std::remove_cvref_t<View>&, T const&>>;
      using SeenBar = std::conditional_t<std::is_void_v<Bar>, Seen, Bar>;
      constexpr bool pulls =
          std::is_invocable_v<std::remove_cvref_t<Pull>&, SeenBar const&, graph_adjoint<TBar>&> &&
          detail::adds_in_place<std::remove_cvref_t<Pull>, 1>;
      static_assert(pulls, "cairn: the adjoint of a view must be callable as `pull(bar, sum)`");
      if constexpr (!pulls) return graph_value<detail::refused>{0};
      else {
        using node =
            detail::graph_view_of<std::remove_cvref_t<View>, std::remove_cvref_t<Pull>, T, TBar, Seen, SeenBar>;
        check(of.number_, detail::mark_of<T>());
        views_.push_back(
            {detail::owned<detail::graph_view>{new node{std::forward<View>(view), std::forward<Pull>(pull)}},
             of.number_});
        return graph_value<Seen, SeenBar>{
            add_entry(kind::view, std::int32_t(views_.size()) - 1, detail::mark_of<Seen>())};
      }
    }
  }
  /// An object outside the graph that operations change or read: a generator, a buffer, a counter. It is copied, or
  /// saved by its `save()` and `restore(kept)`, so that whatever a plan runs again finds it as the first run did, and
  /// leaves it as it is. A sweep leaves it as running each operation once does.
  /// \param object  must outlive the sweeps; one sweep may use it at a time
  template <class T>
  [[nodiscard]] graph_state state(T& object) {
    constexpr bool saves = !std::is_const_v<T> && (copied_state<T> || saved_state<T>);
    static_assert(saves,
                  "cairn: a state that operations use must be an object that can be copied and owns its data, or one "
                  "with save() and restore()");
    if constexpr (saves) {
      states_.push_back({detail::owned<detail::graph_outside>{new detail::graph_outside_of<T>{object}}, false});
      return graph_state{std::int32_t(states_.size()) - 1};
    } else return graph_state{0};
  }
  /// Says that the operation that makes `value` changes a state, and perhaps reads it. Operations that use a state that
  /// one of them changes run for the first time in the order in which they were added.
  /// \throws invalid_call   for a value that no operation makes, and for a state of another builder
  template <class T, class Bar>
  void changes(graph_value<T, Bar> value, graph_state state) {
    check(value.number_, detail::mark_of<T>());
    use(value.number_, state.number_, true);
  }
  /// Says that the operation that makes `value` reads a state and does not change it.   \throws as `changes`
  template <class T, class Bar>
  void reads(graph_value<T, Bar> value, graph_state state) {
    check(value.number_, detail::mark_of<T>());
    use(value.number_, state.number_, false);
  }
  /// Names a value that the loss reads. If none is named, the loss reads the values that no operation reads.
  template <class T, class Bar>
  void output(graph_value<T, Bar> value) {
    check(value.number_, detail::mark_of<T>());
    outputs_.push_back(value.number_);
  }
  /// Gives sizes and times of the operation that makes a value.
  /// \throws invalid_call   for a value that no operation makes   \throws invalid_plan   for a negative number
  template <class T, class Bar>
  void describe(graph_value<T, Bar> value, graph_facts const& facts) {
    check(value.number_, detail::mark_of<T>());
    operation& made = made_by(value.number_, "describe what `add` returned");
    for (std::int64_t const number : {facts.bytes, facts.tape_bytes, facts.adjoint_bytes})
      if (number < -1) refuse_fact(value.number_, number);
    for (std::int64_t const number : {facts.work, facts.adjoint_work, facts.time, facts.adjoint_time})
      if (number < 0) refuse_fact(value.number_, number);
    if (made.has_tape && facts.tape_bytes == 0) refuse_fact(value.number_, 0);
    made.facts = facts;
  }

  /// Number of operations.
  [[nodiscard]] step_index size() const noexcept { return step_index(operations_.size()); }
  /// The graph as planners take it: who reads whom, with the given sizes and times. Bytes that are not given are those
  /// of the types, without what their values allocate; `graph_probe` measures them. Of states those of a copy made now.
  [[nodiscard]] operation_graph graph() const {
    operation_graph made;
    for (operation const& of : operations_) {
      graph_operation next = declared(of);
      std::vector<bool> read;
      for (std::size_t k = 0; k < of.inputs.size(); ++k) {
        std::int32_t const base = base_of(of.inputs[k]);
        if (base < 0) continue;
        next.inputs.push_back(base);
        read.push_back(of.reads_inputs[k]);
      }
      next.adjoint_needs_inputs = needed_inputs(std::move(read));
      next.states_changed = of.states_changed, next.states_read = of.states_read;
      each_state(of, [&](detail::graph_outside const& one) { next.copy_bytes += one.bytes(one.save()); });
      made.operations.push_back(std::move(next));
    }
    for (std::int32_t const output : outputs_)
      if (std::int32_t const base = base_of(output); base >= 0) made.outputs.push_back(base);
    return made;
  }

 private:
  friend class detail::graph_given;
  friend class detail::graph_memory;
  friend class detail::known_graph;
  static constexpr char const* who_ = "cairn::graph_builder";

  enum class kind : unsigned char { input, operation, view };
  struct entry {
    kind is;
    std::int32_t at;  ///< the number of the input, operation or view
    detail::type_mark type;
  };
  struct operation {
    detail::owned<detail::graph_node> call;
    std::vector<std::int32_t> inputs;  ///< entries
    graph_facts facts;
    needed_inputs reads_inputs;
    bool reads_output, has_tape;
    std::vector<step_index> states_changed, states_read;
  };
  struct outside {
    detail::owned<detail::graph_outside> call;
    bool changes;  ///< whether an operation changes it
  };
  struct viewed {
    detail::owned<detail::graph_view> call;
    std::int32_t of;  ///< an entry
  };

  /// What planners take of an operation besides its inputs.
  [[nodiscard]] static graph_operation declared(operation const& of) {
    detail::graph_sizes const least = of.call->least_sizes();
    graph_operation next;
    next.bytes = of.facts.bytes >= 0 ? of.facts.bytes : least.value;
    next.tape_bytes = !of.has_tape ? 0 : of.facts.tape_bytes > 0 ? of.facts.tape_bytes : least.tape;
    next.adjoint_bytes = of.facts.adjoint_bytes >= 0 ? of.facts.adjoint_bytes : least.adjoint;
    next.work = of.facts.work, next.adjoint_work = of.facts.adjoint_work;
    next.time = of.facts.time, next.adjoint_time = of.facts.adjoint_time;
    next.adjoint_needs_output = of.reads_output;
    return next;
  }
  [[nodiscard]] std::int32_t add_entry(kind is, std::int32_t at, detail::type_mark type) {
    entries_.push_back({is, at, type});
    return std::int32_t(entries_.size()) - 1;
  }
  void check(std::int32_t number, detail::type_mark type) const {
    if (number < 0 || std::size_t(number) >= entries_.size() || entries_[std::size_t(number)].type != type)
      throw invalid_call{who_, "a value does not belong to this graph",
                         {{"value", number}, {"values", entries_.size()}},
                         "give what this builder returned"};
  }
  /// The operation that makes a value.
  [[nodiscard]] operation& made_by(std::int32_t number, char const* advice) {
    entry const& of = entries_[std::size_t(number)];
    if (of.is != kind::operation)
      throw invalid_call{who_, "no operation makes this value", {{"value", number}}, advice};
    return operations_[std::size_t(of.at)];
  }
  void use(std::int32_t number, std::int32_t state, bool changes) {
    auto& [call, inputs, facts, needs, output, tape, changed, read] =
        made_by(number, "name a value that `add` returned; that operation uses the state");
    if (state < 0 || std::size_t(state) >= states_.size())
      throw invalid_call{who_, "a state does not belong to this graph", {{"state", state}, {"states", states_.size()}},
                         "give what `state` of this builder returned"};
    for (step_index const known : changed)
      if (known == state) return;
    std::erase(read, state);
    (changes ? changed : read).push_back(state);
    if (changes) states_[std::size_t(state)].changes = true;
  }
  /// Calls f with each state of which a second run of an operation needs a copy.
  template <class Fn>
  void each_state(operation const& of, Fn f) const {
    for (step_index const state : of.states_changed) f(*states_[std::size_t(state)].call);
    for (step_index const state : of.states_read)
      if (auto const& one = states_[std::size_t(state)]; one.changes) f(*one.call);
  }
  [[noreturn]] void refuse_fact(std::int32_t number, std::int64_t fact) const {
    throw invalid_plan{who_, "the description of an operation is out of range",
                       {{"operation", entries_[std::size_t(number)].at}, {"value", fact}},
                       "give numbers of 0 or more, and 1 or more for a tape; unknown bytes are -1"};
  }
  /// The operation that owns the bytes of a value; -1 for an input.
  [[nodiscard]] std::int32_t base_of(std::int32_t number) const noexcept {
    entry const* of = &entries_[std::size_t(number)];
    while (of->is == kind::view) of = &entries_[std::size_t(views_[std::size_t(of->at)].of)];
    return of->is == kind::operation ? of->at : -1;
  }

  std::vector<entry> entries_;
  std::vector<operation> operations_;
  std::vector<viewed> views_;
  std::vector<outside> states_;
  std::vector<std::int32_t> outputs_;
  std::int32_t inputs_ = 0;
};

}  // namespace cairn
