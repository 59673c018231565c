// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory.hpp  Values, tapes and adjoints of one sweep over a graph, and how many bytes they take.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/event.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/rules/detail/stage_boxes.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/given.hpp>
#include <cairn/run/graph/detail/node.hpp>
#include <cairn/run/graph/value.hpp>

namespace cairn::detail {

/// What is held of one operation, and how many bytes were counted for it.
struct graph_held {
  stage_value value, tape, bar;
  std::int64_t value_bytes = 0, tape_bytes = 0, bar_bytes = 0;
};

/// Copies of the states that an operation uses, as its first run found them.
struct graph_copies {
  std::vector<stage_value> states;
  std::int64_t bytes = 0;
  std::size_t runs_left = 0;
};

/// The places; between sweeps only those of the adjoints of inputs hold values. The tables keep their memory.
struct graph_storage {
  /// Empty places for a graph.   \pre nothing is held
  void begin(graph_builder const& net, std::size_t inputs) {
    input_bars.resize(inputs);
    held.resize(std::size_t(net.size()));
  }
  /// Destroys everything that is held.
  void empty() noexcept {
    end_sweep();
    input_bars.clear();
  }
  /// The same, except that the adjoints of the inputs stay.
  void end_sweep() noexcept {
    held.clear();
    copies.clear();
    read.clear();
    viewed.clear();
  }

  stage_boxes boxes;  // before all values, which may lie in them
  graph_given given;
  std::vector<stage_value> input_bars;
  std::vector<graph_held> held;
  std::vector<graph_copies> copies;  // by operation; empty for a graph without states
  // Of the operation that runs:
  std::vector<graph_operand> read;
  std::vector<stage_value> viewed;  // adjoints of the views among its inputs
  std::vector<stage_value*> bars;
};

/// The memory of one sweep. Bytes are counted when they are made: as given for an operation, else as `bytes_of`
/// returns.
class graph_memory {
  using kind = graph_builder::kind;

 public:
  /// \throws invalid_call   for inputs and seeds of another graph
  /// \param net, inputs, seeds  must outlive the sweep   \param storage  holds everything   \param boxes  of the
  ///   storage, if it outlives the sweep; null if it does not
  graph_memory(graph_builder const& net, std::vector<graph_binding> const& inputs,
               std::vector<graph_seed> const& seeds, char const* who, graph_storage& storage, stage_boxes* boxes)
      : net_{net}, storage_{storage}, boxes_{boxes} {
    storage.begin(net, std::size_t(net.inputs_));
    storage.given.begin(net, inputs, seeds, who);
  }
  graph_memory(graph_memory const&) = delete;
  ~graph_memory() {
    if (is_finished_) storage_.end_sweep();
    else storage_.empty();
  }
  /// Says how often operations will run: those that use states and run more than once keep copies.
  /// \param more  runs of each beside those of the plan   \pre the graph can obey the actions
  template <class Actions>
  void expect(Actions const& actions, std::size_t more = 0) {
    if (net_.states_.empty()) return;
    storage_.copies.resize(std::size_t(net_.size()));
    for (graph_copies& one : storage_.copies) one.runs_left = more;
    action const* const list = actions.data();
    for (std::size_t k = 0; k < actions.size(); ++k)
      if (list[k].kind == action_kind::advance || list[k].kind == action_kind::record)
        ++storage_.copies[std::size_t(list[k].from)].runs_left;
  }
  /// Calls `run`, and then puts the states of a graph back as they were before, also after an exception.
  template <class Run>
  static void keep_states(graph_builder const& net, Run run) {
    std::vector<stage_value> before;
    for (auto const& one : net.states_) before.push_back(one.call->save());
    auto const put_back = [&] {
      for (std::size_t k = 0; k < before.size(); ++k) net.states_[k].call->restore(before[k]);
    };
    try {
      run();
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
  }
  /// The sweep has ended normally: the adjoints of the inputs stay in the storage.
  void finish() noexcept { is_finished_ = true; }

  void advance(step_index v) { run(v, false); }
  void record(step_index v) {
    drop(v);
    run(v, true);
  }
  void drop(step_index v) noexcept {
    graph_held& at = held(v);
    at.value = {};
    live_ -= std::exchange(at.value_bytes, 0);
  }
  void drop_tape(step_index v) noexcept {
    graph_held& at = held(v);
    at.tape = {};
    tapes_ -= at.tape_bytes, live_ -= std::exchange(at.tape_bytes, 0);
  }
  /// Runs the loss: makes the adjoints of the outputs.
  void turn() {
    std::int64_t transient = 0;
    for (graph_seed const& seed : storage_.given.seeds()) {
      graph_operand const output = operand(seed.number);
      pass_on(seed.number, transient, [&](stage_value& bar) { seed.add(seed.from, output.seen, {bar, boxes_}); });
    }
    count_bars(net_.size());
    reach(transient);
  }
  /// Runs the adjoint of operation v. The adjoint is not called if nothing contributed to the adjoint of value v,
  /// because there is nothing to add.
  void reverse(step_index v) {
    graph_held& at = held(v);
    transient_ = 0;
    if (at.bar.has_value()) {
      std::int64_t transient = 0;
      pull(v, transient, [](std::int32_t) -> stage_value* { return nullptr; });
      count_bars(v);
      reach(transient + operation(v).facts.adjoint_work);
    }
    drop(v);
    drop_tape(v);
    at.bar = {};
    bars_ -= at.bar_bytes, live_ -= std::exchange(at.bar_bytes, 0);
  }

  /// Runs operation v once more to measure it; keeps nothing.
  void try_run(step_index v, bool with_tape) {
    stage_value tape;
    (void)made(v, with_tape ? &tape : nullptr, has_run(v));
  }
  /// Runs the adjoint of v once more to measure it; keeps nothing.
  void try_pull(step_index v) {
    if (!held(v).bar.has_value()) return;
    std::vector<stage_value> scratch(net_.entries_.size());
    std::int64_t transient = 0;
    pull(v, transient, [&](std::int32_t entry) { return &scratch[std::size_t(entry)]; });
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t(live_); }  ///< of everything held
  /// Bytes during the last action that ran.
  [[nodiscard]] std::int64_t bytes_at_last_run() const noexcept { return bytes_at_last_run_; }
  [[nodiscard]] std::int64_t peak() const noexcept { return peak_; }        ///< the largest of these so far
  /// The same by purpose, so far.
  [[nodiscard]] sweep_parts parts_at_peak() const noexcept {
    wide const tapes = wide(peak_tapes_), bars = wide(peak_bars_);
    return {.states = wide(peak_) - tapes - bars, .adjoints = bars, .tapes = tapes};
  }
  [[nodiscard]] std::int64_t value_bytes(step_index v) const noexcept { return held(v).value_bytes; }
  [[nodiscard]] std::int64_t tape_bytes(step_index v) const noexcept { return held(v).tape_bytes; }
  [[nodiscard]] std::int64_t bar_bytes(step_index v) const noexcept { return held(v).bar_bytes; }
  /// Bytes besides values, tapes and adjoints during the last action.
  [[nodiscard]] std::int64_t transient() const noexcept { return transient_; }
  bool visit(step_index v, event::sink sink, void* context) const {
    return std::size_t(v) < storage_.held.size() && held(v).value.view().visit(sink, context);
  }
  /// The hash of value v; 0 if not all of it is known.
  [[nodiscard]] std::uint64_t hash(step_index v) const { return held(v).value.view().hash(); }

 private:
  [[nodiscard]] graph_held& held(step_index v) noexcept { return storage_.held[std::size_t(v)]; }
  [[nodiscard]] graph_held const& held(step_index v) const noexcept { return storage_.held[std::size_t(v)]; }
  [[nodiscard]] graph_builder::operation const& operation(step_index v) const noexcept {
    return net_.operations_[std::size_t(v)];
  }
  /// Whether a run of v is not the first, and it uses states.
  [[nodiscard]] bool has_run(step_index v) const noexcept {
    return !storage_.copies.empty() && !storage_.copies[std::size_t(v)].states.empty();
  }
  /// The value of a run.   \param again  whether it begins with the states that the first run found, which are then
  ///   put back as they are now, also after an exception
  [[nodiscard]] stage_value made(step_index v, stage_value* tape, bool again) {
    auto const& of = operation(v);
    auto const call = [&] { return of.call->run(operands(of.inputs), tape, boxes_); };
    if (!again) return call();
    auto const restore = [&](std::vector<stage_value> const& states) {
      std::size_t next = 0;
      net_.each_state(of, [&](graph_outside& one) { one.restore(states[next++]); });
    };
    std::vector<stage_value> const now = saved(of);
    try {
      restore(storage_.copies[std::size_t(v)].states);
      stage_value value = call();
      restore(now);
      return value;
    } catch (...) {
      restore(now);
      throw;
    }
  }
  [[nodiscard]] std::vector<stage_value> saved(graph_builder::operation const& of) const {
    std::vector<stage_value> states;
    net_.each_state(of, [&](graph_outside const& one) { states.push_back(one.save()); });
    return states;
  }
  void run(step_index v, bool with_tape) {
    graph_held& at = held(v);
    auto const& of = operation(v);
    graph_copies* const copies = storage_.copies.empty() ? nullptr : &storage_.copies[std::size_t(v)];
    bool const again = has_run(v);
    if (copies != nullptr && !again && copies->runs_left > 1) {
      copies->states = saved(of);
      std::size_t next = 0;
      net_.each_state(of, [&](graph_outside const& one) { copies->bytes += one.bytes(copies->states[next++]); });
      live_ += copies->bytes;
    }
    stage_value tape;
    at.value = made(v, with_tape ? &tape : nullptr, again);
    storage_.read.clear();
    at.value_bytes = of.facts.bytes >= 0 ? of.facts.bytes : of.call->value_bytes(at.value);
    live_ += at.value_bytes;
    if (with_tape && of.has_tape) {
      at.tape = std::move(tape);
      at.tape_bytes = of.facts.tape_bytes >= 0 ? of.facts.tape_bytes : of.call->tape_bytes(at.tape);
      live_ += at.tape_bytes, tapes_ += at.tape_bytes;
    }
    reach(of.facts.work + (again ? copies->bytes : 0));
    if (copies != nullptr && --copies->runs_left == 0) {
      copies->states.clear();
      live_ -= std::exchange(copies->bytes, 0);
    }
  }
  /// The value of an entry; a view is made now.
  [[nodiscard]] graph_operand operand(std::int32_t number) const {
    auto const& entry = net_.entries_[std::size_t(number)];
    if (entry.is == kind::input) return {storage_.given.input(entry.at), {}};
    if (entry.is == kind::operation) return {held(entry.at).value.view(), {}};
    auto const& view = net_.views_[std::size_t(entry.at)];
    graph_operand const of = operand(view.of);
    graph_operand made{{}, view.call->view(of.seen, boxes_)};
    made.seen = made.made.view();
    return made;
  }
  /// The values of entries, valid until the next call; those that are not needed are empty.
  [[nodiscard]] graph_operand const* operands(std::vector<std::int32_t> const& numbers,
                                              needed_inputs const& needed = true) {
    storage_.read.clear();
    for (std::size_t k = 0; k < numbers.size(); ++k)
      storage_.read.push_back(needed[k] ? operand(numbers[k]) : graph_operand{});
    return storage_.read.data();
  }
  /// The place of the adjoint of an entry that is not a view.
  [[nodiscard]] stage_value& place_of(std::int32_t number) noexcept {
    auto const& entry = net_.entries_[std::size_t(number)];
    return entry.is == kind::input ? storage_.input_bars[std::size_t(entry.at)] : held(entry.at).bar;
  }
  [[nodiscard]] bool is_view(std::int32_t number) const noexcept {
    return net_.entries_[std::size_t(number)].is == kind::view;
  }
  /// Calls `add(place)` to add to the adjoint of an entry. The adjoint of a view lives until it is added to that of its
  /// value.
  template <class Add>
  void pass_on(std::int32_t number, std::int64_t& transient, Add const& add) {
    if (!is_view(number)) return add(place_of(number));
    stage_value bar;
    add(bar);
    pass_view_on(number, bar, transient, [this](std::int32_t of) { return &place_of(of); });
  }
  template <class Place>
  void pass_view_on(std::int32_t number, stage_value const& bar, std::int64_t& transient, Place const& place) {
    if (!bar.has_value()) return;
    auto const& view = net_.views_[std::size_t(net_.entries_[std::size_t(number)].at)];
    transient += view.call->bar_bytes(bar);
    if (!is_view(view.of)) return view.call->pull(bar, {*place(view.of), boxes_});
    stage_value outer;
    view.call->pull(bar, {outer, boxes_});
    pass_view_on(view.of, outer, transient, place);
  }
  /// \param scratch  returns another place for an adjoint, or null for the place of the sweep
  template <class Scratch>
  void pull(step_index v, std::int64_t& transient, Scratch const& scratch) {
    auto const& of = operation(v);
    graph_held const& at = held(v);
    graph_operand const* const read = operands(of.inputs, of.reads_inputs);
    auto const place = [&](std::int32_t number) {
      stage_value* const other = scratch(number);
      return other != nullptr ? other : &place_of(number);
    };
    std::vector<stage_value>& viewed = storage_.viewed;
    std::vector<stage_value*>& bars = storage_.bars;
    viewed.clear(), bars.clear();
    viewed.resize(of.inputs.size());
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      bars.push_back(is_view(of.inputs[k]) ? &viewed[k] : place(of.inputs[k]));
    of.call->pull(read, at.value.view(), at.tape, at.bar, bars.data(), boxes_);
    for (std::size_t k = 0; k < of.inputs.size(); ++k)
      if (is_view(of.inputs[k])) pass_view_on(of.inputs[k], viewed[k], transient, place);
    storage_.read.clear();
    viewed.clear();
  }
  /// Counts the bytes of the adjoints that operation v, or the loss, has made or added to.
  void count_bars(step_index v) {
    auto const count = [&](std::int32_t number) {
      std::int32_t const base = net_.base_of(number);
      if (base < 0) return;
      graph_held& at = held(base);
      auto const& of = operation(base);
      std::int64_t const now = !at.bar.has_value()           ? 0
                               : of.facts.adjoint_bytes >= 0 ? of.facts.adjoint_bytes
                                                             : of.call->bar_bytes(at.bar);
      bars_ += now - at.bar_bytes, live_ += now - std::exchange(at.bar_bytes, now);
    };
    if (v == net_.size())
      for (graph_seed const& seed : storage_.given.seeds()) count(seed.number);
    else
      for (std::int32_t const input : operation(v).inputs) count(input);
  }
  void reach(std::int64_t beside) noexcept {
    transient_ = beside;
    bytes_at_last_run_ = live_ + beside;
    if (bytes_at_last_run_ > peak_) peak_ = bytes_at_last_run_, peak_tapes_ = tapes_, peak_bars_ = bars_;
  }

  graph_builder const& net_;
  graph_storage& storage_;
  stage_boxes* boxes_;
  bool is_finished_ = false;
  std::int64_t live_ = 0, bytes_at_last_run_ = 0, peak_ = 0, transient_ = 0;
  std::int64_t tapes_ = 0, bars_ = 0, peak_tapes_ = 0, peak_bars_ = 0;  // parts of live, and of the peak
};

}  // namespace cairn::detail
