// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_on_disk.hpp  One sweep of a chain whose states and sums outlive its process.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/call_reports.hpp>
#include <cairn/adapt/disk/detail/chain_files.hpp>
#include <cairn/adapt/disk/detail/compared_states.hpp>
#include <cairn/adapt/disk/detail/contents.hpp>
#include <cairn/adapt/disk/detail/finished_runs.hpp>
#include <cairn/adapt/disk/detail/known_run.hpp>
#include <cairn/adapt/disk/detail/plan_on_disk.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_journal.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/run/sweep/sweep_failure.hpp>

namespace cairn::detail {

/// Whether states and adjoints of a chain can be read back.   \tparam Bound  its stages as the sweep runs them
/// \tparam Bar  the adjoint of the last state
template <class Bound, class X0, class Bar, bool IsList = Bound::is_list>
struct types_of_chain {
  static constexpr bool states_are_stored = written_whole<X0>() && std::is_default_constructible_v<X0>;
  static constexpr bool bars_are_stored = written_whole<Bar>() && std::is_default_constructible_v<Bar>;
};
template <class Bound, class X0, class Bar>
struct types_of_chain<Bound, X0, Bar, false> {
  static constexpr std::size_t size = chain_length<Bound>;
  template <std::size_t Place> using state = typename state_in<Bound, X0, Place>::type;
  template <std::size_t Place> using bar = typename stage_at<Bound, X0, Bar, Place, size>::adjoint;
  template <class T>
  static constexpr bool is_stored = written_whole<T>() && std::is_default_constructible_v<T>;

  template <std::size_t... Place>
  static consteval bool all_states(std::index_sequence<Place...>) {
    return written_whole<X0>() && (is_stored<state<Place + 1>> && ...);
  }
  template <std::size_t... Place>
  static consteval bool all_bars(std::index_sequence<Place...>) { return (is_stored<bar<Place>> && ...); }
  static constexpr bool states_are_stored = all_states(std::make_index_sequence<size>{});
  static constexpr bool bars_are_stored = all_bars(std::make_index_sequence<size + 1>{});
};
/// Refuses states that cannot be read back.
template <class Known>
[[nodiscard]] consteval bool check_stored_chain() {
  constexpr bool stored = Known::states_are_stored;
  static_assert(stored,
                "cairn: a chain on disk needs states with a default constructor whose bytes can all be written and "
                "read back; give them members write_state(sink) const and read_state(source), or declare an array type "
                "by cairn::flat; Eigen's types need <cairn/adapt/eigen.hpp>");
  return stored;
}
/// Calls f with each stage that the user gave; with that of indexed_stages once.
template <class Stages, class Fn>
void each_stage(Stages& stages, Fn const& f) {
  if constexpr (is_indexed<std::remove_const_t<Stages>>) f(stages.stage);
  else if constexpr (stage_list<Stages>)
    for (std::size_t i = 0; i < std::size_t(stages.size()); ++i) f(std::as_const(stages[i]));
  else std::apply([&f](auto const&... one) { (f(one), ...); }, stages);
}
/// The stages' functions that run forward, and those that run backward, as far as they are apart.
template <class Stages>
struct forward_of_stages {
  Stages const& stages;
  template <class Look>
  void each_function(Look const& look) const {
    each_stage(stages, [&look]<class Stage>(Stage const& one) {
      if constexpr (!has_known_parts<Stage>) look(one);
      else {
        look(one.forward);
        if constexpr (requires { one.record; }) look(one.record), look(one.output);
      }
    });
  }
};
template <class Stages>
struct backward_of_stages {
  Stages const& stages;
  template <class Look>
  void each_function(Look const& look) const {
    each_stage(stages, [&look]<class Stage>(Stage const& one) {
      if constexpr (has_known_parts<Stage>) look(one.backward);
    });
  }
};
/// What the caller gave, its stages as functions.
template <class Stages, class Parts>
struct functions_of_chain {
  forward_of_stages<Stages> forward;
  backward_of_stages<Stages> backward;
  forward_of_stages<Stages> const* step = &forward;
  backward_of_stages<Stages> const* adjoint = &backward;
  decltype(Parts::seed) seed;
  decltype(Parts::p) p;
  decltype(Parts::dp) dp;

  explicit functions_of_chain(Parts const& parts)
      : forward{*parts.step}, backward{*parts.step}, seed{parts.seed}, p{parts.p}, dp{parts.dp} {}
  functions_of_chain(functions_of_chain const&) = delete;
};
/// What is looked at of them. From x0's type and the stages' follow the types of all states.
template <class X0, class Last, class Parts>
struct chain_parts : parts_of<Last, Parts> {
  using state = X0;
  static constexpr bool is_kept = false, is_open = false, has_objective = false,
                        has_seed = !parts_of<Last, Parts>::seed_is_known;
};

/// Writes the states that a chain saves to it.
template <class Sink>
struct states_to_sink {
  Sink& sink;
  template <class State>
  void save(tier, step_index, State const& x) { write_exactly(x, sink); }
};
/// The parts of a chain's name beside functions and parameters: how many stages there are, the plan, x0, a seed that is a
/// value, and what stage 0 makes of x0.
template <class Memory, class Last, class Parts, class Stages, class X0, class Actions>
void name_chain(run_name& name, Parts const& parts, Stages& stages, X0 const& x0, Actions const& actions) {
  using of = parts_of<Last, Parts>;
  step_index const count = Memory::count_of(stages);
  name.set(run_part::verb, "chain", [](id_sum& sum) { write_state(std::string{"chain"}, sum); });
  name.set(run_part::steps, "", [count](id_sum& sum) { sum.number(count); });
  name.set(run_part::plan, "", [&actions](id_sum& sum) {
    action const* const list = actions.data();
    for (std::size_t k = 0; k < actions.size(); ++k) {
      sum.number(list[k].kind);
      sum.number(list[k].where);
      sum.number(list[k].what);
      sum.number(list[k].from);
    }
  });
  name.set(run_part::initial, name_of_type<X0>(), [&x0](id_sum& sum) { add_value(sum, x0); });
  if constexpr (of::seed_is_known)
    name.set(run_part::seed, "", [&](id_sum& sum) { add_value(sum, *parts.seed); });
  if (count > 0) name.set(run_part::first, "", [&](id_sum& sum) {
    Memory run{stages, x0};
    run.forward(0);
    states_to_sink<id_sum> to{sum};
    run.save(to, tier::memory, 1);
  });
}

/// A seed by value of which a sweep can take a copy.
template <class Value>
concept comes_again = std::is_copy_constructible_v<Value> && !shallow<Value>;
/// The adjoints of a chain, with records of how far they are.
/// \tparam Value  of the last state's adjoint
template <class Seed, class Journal, class Value>
struct chain_reversal_on_disk : chain_reversal<Seed> {
  Journal& journal;
  Value const* kept;  // a seed that another beginning may need, if it is a value

  chain_reversal_on_disk(Seed&& given, Journal& notes, Value const* keeps)
      : chain_reversal<Seed>{std::forward<Seed>(given)}, journal{notes}, kept{keeps} {}

  template <class States>
  void turn(States& states, action const& a, step_index& failed) {
    bool made = false;
    if constexpr (comes_again<Value>)
      if (kept != nullptr) states.memory().loss(*kept), made = true;
    if (!made) chain_reversal<Seed>::turn(states, a, failed);
    states.passed(a);
  }
  template <class States>
  void reverse(States& states, action const& a) {
    step_index const open = a.from;
    states.close_seam(open + 1);
    journal.reversing(open, [&](auto const&) { return states.hash_of_input(open); });
    chain_reversal<Seed>::reverse(states, a);
    states.passed(a);
    states.memory().with_adjoint(open, [&](auto const& bar) { journal.reversed(open, *bar); });
    states.after(open);
  }
  template <class States>
  void drop_tape(States& states, slot_index tape) noexcept {
    chain_reversal<Seed>::drop_tape(states, tape);
    states.passed(chain_actions::drop_tape(tape));
  }
};

/// The shortest stretch between two states that another process has left is run again, and must end in the same state.
/// Returns how many stages have run.   \throws nondeterminism_error
template <class Memory, class Stages, class X0>
[[nodiscard]] std::uint64_t check_stretch_of_chain(chain_files& files, Stages& stages, X0 const& x0) {
  step_index const count = Memory::count_of(stages);
  for (;;) {
    step_index from = -1, to = -1, before = 0;
    for (step_index i = 1; i <= count; ++i) {
      if (!files.hold(i)) continue;
      if ((to < 0 || i - before < to - from) && files.hash(i) != 0) from = before, to = i;
      before = i;
    }
    if (to < 0) return 0;  // hashes are not known
    Memory run{stages, x0};
    try {
      run.load(files, tier::disk, from);
    } catch (chain_files::lost const&) {
      continue;
    }
    for (step_index i = from; i < to; ++i) {
      run.forward(i);
      if (i > 0) run.drop(i);
    }
    if (run.hash(to) != files.hash(to)) refuse_other_arithmetic(from, to);
    return std::uint64_t(to - from);
  }
}

/// The most bytes of files that a plan has at once; 0 if it does not say.
template <class Plan, class Actions>
[[nodiscard]] std::uint64_t file_bytes_of_chain([[maybe_unused]] Plan const& plan,
                                                [[maybe_unused]] Actions const& actions) {
  if constexpr (requires { std::uint64_t(plan.cost.elsewhere); }) {
    std::int64_t held = 0, most = 0;
    for (std::size_t k = 0; k < actions.size(); ++k) {
      action const& a = actions.data()[k];
      held += a.kind == action_kind::save ? 1 : a.kind == action_kind::drop && a.where != tier::memory ? -1 : 0;
      most = (std::max)(most, held);
    }
    return std::uint64_t(plan.cost.elsewhere) + std::uint64_t(most) * sizeof(file_head);
  } else return 0;
}

/// \param parts  what the caller gave   \param runs  becomes how many stages have run
/// \pre the stages can obey the plan
template <class Memory, class Parts, class Stages, class X0, class Plan, class Seed, class Observer, class Replay>
typename Memory::adjoint_type chain_on_disk(std::string path, disk_options const& asked, told_at_end const& told,
                                            Parts const& parts, Stages& stages, X0 const& x0, Plan const& plan,
                                            Seed&& seed, Observer& observer, sweep_failure& failure, Replay& replay,
                                            wide& runs) {
  using last = typename chain_types<Stages, X0>::last;
  using of = parts_of<last, Parts>;
  using adjoint_of_last = typename bar_from<Seed, last>::type;
  using known_types = types_of_chain<Stages, X0, adjoint_of_last>;
  using looked_at = chain_parts<X0, last, Parts>;
  using journal_type = run_journal<void, Stages, run_sums<typename of::dp, no_terms>, void>;
  [[maybe_unused]] constexpr bool stored = check_stored_chain<known_types>();
  check_disk_options(asked);
  disk_report& report = told.report();
  auto const& actions = actions_in(plan);
  action const* const list = actions.data();
  step_index const count = Memory::count_of(stages);
  functions_of_chain<typename of::step, Parts> const functions{parts};
  run_name name;
  trust known = name_given<looked_at>(name, asked, functions).trusted(!asked.key.empty(), false);
  if (known.record && !known_types::bars_are_stored)
    known = {true, false,
             "the type of an adjoint cannot be read back: it needs a default constructor, and bytes that are known"};
  run_id const before = held_now<looked_at>(name.sum(), functions);
  std::uint64_t const held_bytes = name.sum().bytes();
  auto const unchanged = [&] { return held_now<looked_at>(name.sum(), functions) == before; };

  outer_folders const outer = open_runs(one_process{}, path, asked.scratch);  // before stage 0 runs
  remove_forgotten(outer, path, asked.forget_after);
  name_chain<Memory, last>(name, parts, stages, x0, actions);
  run_folder folder{outer, path, name.id(), count};
  folder.keep_name(name);
  if (asked.compress != nullptr) folder.compress(*asked.compress);
  report.folder = folder.path();
  report.why = known.why;
  journal_type journal{folder, report, nullptr, {{}, parts.dp}, nullptr, nullptr, asked};
  journal.watch(unchanged, held_bytes);
  if (known.record) journal.commits();
  journal.trusts_states(known.states);
  // An attempt that uses what another process left, where it looks. Where that turns out to be another trajectory, the
  // run begins anew; of a seed that can be given once only, there is no other beginning.
  constexpr bool is_value = std::is_same_v<std::remove_cvref_t<decltype(*parts.seed)>, adjoint_of_last>;
  constexpr bool may_begin_anew = !is_value || comes_again<adjoint_of_last>;
  sweep_status status;
  auto const once = [&](bool looks) -> typename Memory::adjoint_type {
    chain_files files{folder, count, journal};
    if (known.states) files.find([&](file_head const& head) { return journal.may_use(head); });
    else folder.remove_slots();
    if (std::uint64_t const need = file_bytes_of_chain(plan, actions); need > files.all_bytes())
      folder.check_room(need - files.all_bytes());

    Memory memory{stages, x0};
    no_chain_store none;
    chain_states_in_files<Memory, Replay, journal_type> states{memory, none, count, replay, files, journal};
    forgets_if_changed<decltype(unchanged)> const end{report, folder, count + 1, unchanged};
    std::size_t begin = 0;
    chain_walk held{count, named_tiers::every(), ""};
    auto const restore_at = [&](std::size_t place) {
      for (; begin < place; ++begin) held.apply(list[begin]);
      step_index failed = 0;
      try {
        status.ran += states.restore(stages, held, failed);
      } catch (...) {
        failure = {true, phase_of(action_kind::advance, status.turned), {}, failed};
        throw;
      }
    };
    if constexpr (known_types::bars_are_stored && std::is_default_constructible_v<typename Memory::adjoint_type>) {
      if (looks && known.record) {
        typename journal_type::partial_sum no_sum;
        step_index open = -1;
        auto const found = folder.read_record(
            [&](auto& source) {
              memory.with_adjoint(open, [&]<class Bar>(boxed<Bar>& bar) {
                bar.make([] { return Bar{}; });
                journal.read_record(*bar, source, no_sum);
              });
            },
            [&](file_head const& head) {
              open = step_index(head.step);
              return open < count;
            });
        if (found) {
          report.used = disk_use::record;
          report.resumed_at = open;
          report.finished = open == 0;
          if (open == 0) {
            runs_of_process::here().taken(folder.id());
            return memory.take_adjoint();
          }
          std::size_t place = 0;
          while (list[place].kind != action_kind::reverse || list[place].from != open) ++place;
          while (list[place + 1].kind == action_kind::drop) ++place;  // what is dropped now is not made again
          for (std::size_t k = place + 1; list[k].kind != action_kind::reverse; ++k)
            if (runs_stage(list[k]) && list[k].from > 0 && files.hold(list[k].from)) place = k - 1;
          status.turned = true;
          status.open = open;
          states.open_seam(found->state_hash);
          if (found->state_hash == 0) status.ran += check_stretch_of_chain<Memory>(files, stages, x0);
          restore_at(place + 1);
        } else {
          if (folder.has_record()) report.why = "the record is damaged";
          for (step_index i = 0; i < count; ++i)  // a record that is not whole may have made one
            memory.with_adjoint(i, [](auto& bar) { bar.reset(); });
          if constexpr (of::has_params) set_zero(*parts.p, *parts.dp);
        }
      }
    }
    if (report.used == disk_use::nothing && looks) {
      std::size_t place = 0;  // behind the last state of the way forward that a file holds
      for (std::size_t k = 0; list[k].kind != action_kind::turn; ++k) {
        if (!files.hold(list[k].from)) continue;
        if (list[k].kind == action_kind::save) place = k + 1;
        else if (runs_stage(list[k])) place = k;  // where it was asked to stop
      }
      if (place > 0) {
        report.used = disk_use::states;
        status.ran += check_stretch_of_chain<Memory>(files, stages, x0);
      } else {
        tell_nearest(report, outer, folder, name);
        if (asked.resume == resume_rule::require) refuse_nothing_found(report.why, count);
      }
      restore_at(place);
    }

    adjoint_of_last const* kept_seed = nullptr;
    if constexpr (is_value && may_begin_anew)
      if (report.used != disk_use::nothing) kept_seed = parts.seed;
    chain_reversal_on_disk<Seed, journal_type, adjoint_of_last> user{std::forward<Seed>(seed), journal, kept_seed};
    told.tell();
    (void)obey_list(std::span{list + begin, actions.size() - begin}, states, stages, user, observer, failure, status);
    if (journal.is_recorded()) folder.remove_slots();
    if (known.record && !remove_finished(outer, std::size_t(asked.keep), folder.id())) folder.remove();
    return memory.take_adjoint();
  };
  bool looks = asked.resume != resume_rule::never;
  if (!looks) folder.begin_anew();
  for (wide given_up = 0;; looks = false) {
    struct counts {
      sweep_status const& of;
      wide const& given_up;
      wide &told, &runs;
      ~counts() { told = runs = given_up + of.ran; }
    } const at_end{status, given_up, report.step_calls, runs};
    try {
      return once(looks);
    } catch (nondeterminism_error const&) {
      if (!may_begin_anew || !journal.begins_anew(asked.resume)) throw;
    }
    given_up += std::exchange(status, {}).ran;
    failure = {};
    replay.begins_anew(count);
    if constexpr (of::has_params) set_zero(*parts.p, *parts.dp);
  }
}

}  // namespace cairn::detail
