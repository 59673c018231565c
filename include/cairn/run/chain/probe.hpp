// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file probe.hpp  Measures a chain of stages on real runs: the sizes and times that planners need.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/run/probe/detail/short_calls.hpp>
#include <cairn/run/probe/detail/timings.hpp>

namespace cairn {
namespace detail {

/// Runs each stage forward once. Then records each stage in segments of about sqrt(L) stages, from the last segment on:
/// this takes memory for about sqrt(L) states and as many tapes.
[[nodiscard]] inline std::vector<action> probing_plan(step_index stages) {
  using namespace chain_actions;
  step_index segment = 1;
  while (segment * segment < stages) ++segment;
  std::vector<action> plan;
  for (step_index i = 0; i < stages; ++i) {
    plan.push_back(advance(i));
    if (i % segment != 0) plan.push_back(drop(i));
  }
  plan.push_back(stages > 0 ? drop(stages) : turn(0));
  for (step_index to = stages; to > 0;) {
    step_index const from = (to - 1) / segment * segment;
    for (step_index i = from; i < to; ++i) plan.push_back(record(i));
    if (to == stages) plan.push_back(turn(stages));
    for (step_index i = to; i-- > from;) plan.push_back(reverse(i));
    if (from > 0) plan.push_back(drop(from));
    to = from;
  }
  return plan;
}

/// Times of one stage's forward, record and backward.
struct stage_times {
  timings forward, record, backward;
};

/// Executes the plan of a probe for one run of the chain, or for many side by side, each with states and tapes of its
/// own. For `execute` it is both the states and the user; it reads the clock around each call.
template <class Clock, class Memory, class Given, class X0, class Seed>
class chain_measurement : public no_hooks {
 public:
  /// \param steps  number of stages
  chain_measurement(Given const& given, X0 const& x0, Seed& seed, step_index steps)
      : given_{given}, x0_{x0}, seed_{seed}, plan_{probing_plan(steps)}, times_(std::size_t(steps) + 1) {}

  /// Executes the plan `again` times for `count` runs of the chain; `inspect(action, run)` sees one of these runs after
  /// each action.
  template <class Inspect>
  void measure(std::size_t count, int again, Inspect inspect) {
    times_.assign(times_.size(), {});
    auto const after = [&](event const& e) {
      if (e.moment() == moment::after && e.what().kind != action_kind::done) inspect(e.what(), *runs_.front());
    };
    for (int k = 0; k < again; ++k) {
      runs_ = std::vector<std::optional<Memory>>(count);
      for (auto& run : runs_) run.emplace(given_, x0_);
      list_cursor walk{plan_};
      sweep_status status;
      while (execute(walk, *this, given_, *this, after, status) != stop_reason::done) {
      }
      runs_.clear();
    }
    count_ = count;
  }
  /// Whether a call is on average long enough for the clock; calls much shorter than the average are too small a part
  /// of the chain to matter.
  [[nodiscard]] bool long_enough() const {
    double sum = 0;
    for (auto const& of : times_) sum += of.forward.median() + of.record.median() + of.backward.median();
    return clock_.tells(sum / double(3 * times_.size() - 2));  // the loss has only a backward
  }
  /// Seconds of one call of a kind.
  [[nodiscard]] double seconds(std::size_t stage, timings stage_times::* kind) const {
    return clock_.net((times_[stage].*kind).median()) / double(count_);
  }

  void advance(Given const&, step_index i, step_index, step_index&) {
    timed(times_of(i).forward, [&](Memory& run) { run.forward(i); });
  }
  static constexpr bool keeps_nothing = true;
  void drop(place where) {
    for (auto& run : runs_) run->drop(where.slot);
  }
  [[nodiscard]] std::size_t bytes() const { return runs_.front()->bytes(); }
  bool visit(action const&, moment, event::sink, void*) const noexcept { return false; }

  void turn(chain_measurement&, action const& a, step_index&) {
    timed(times_of(a.from).backward, [&](Memory& run) { run.loss(seed_); });
  }
  void record(chain_measurement&, action const& a) {
    timed(times_of(a.from).record, [&](Memory& run) { run.record(a.from); });
  }
  void reverse(chain_measurement&, action const& a) {
    timed(times_of(a.from).backward, [&](Memory& run) { run.backward(a.from); });
  }

 private:
  [[nodiscard]] stage_times& times_of(step_index i) { return times_[std::size_t(i)]; }
  template <class Call>
  void timed(timings& into, Call call) {
    auto const begin = Clock::now();
    for (auto& run : runs_) call(*run);
    double const seconds = seconds_between(begin, Clock::now());
    clock_.saw(seconds);
    into.add(seconds);
  }

  Given const& given_;
  X0 const& x0_;
  Seed& seed_;
  std::vector<action> plan_;
  std::vector<std::optional<Memory>> runs_;
  std::vector<stage_times> times_;
  clock_precision<Clock> clock_;
  std::size_t count_ = 1;
};

/// Bytes of one run of a probe: the states and tapes of a segment, one state per segment, and everything that has a
/// pointer.
[[nodiscard]] inline wide probing_bytes(chain const& c) {
  auto const largest = [](std::vector<std::int64_t> const& all) {
    std::int64_t most = 0;
    for (std::int64_t const one : all) most = greater(most, one);
    return wide(most);
  };
  wide segment = 1;
  while (segment * segment < c.f.size()) ++segment;
  return (segment + 2) * (largest(c.x) + largest(c.s)) + 2 * largest(c.g) + 2 * sizeof(void*) * wide(c.x.size());
}

template <class Clock, class Memory, class Given, class X0, class Seed>
[[nodiscard]] chain probed_chain(Given const& given, X0 const& x0, Seed& seed, int tried) {
  step_index const count = Memory::count_of(given);
  if (count < 0)
    throw invalid_plan{"cairn::chain_probe", "the number of stages is negative", {{"stages", count}}, "give 0 or more"};
  if (tried < 1)
    throw invalid_plan{
        "cairn::chain_probe", "the chain has to be tried once at least", {{"tried", tried}}, "give 1 or more"};
  std::size_t const size = std::size_t(count);
  chain c;
  c.x.resize(size + 1), c.g.resize(size + 1), c.s.resize(size), c.f.resize(size), c.b.resize(size + 1),
      c.u.resize(size), c.v.resize(size + 1);
  c.x[0] = std::int64_t(bytes_of(x0));
  c.self_contained_tape = count > 0;
  for (step_index i = 0; i < count; ++i)
    c.self_contained_tape = c.self_contained_tape && !Memory::needs_state(given, i);
  chain_measurement<Clock, Memory, Given, X0, Seed> measured{given, x0, seed, count};
  measured.measure(1, tried, [&](action const& taken, Memory const& run) {
    std::size_t const i = std::size_t(taken.from);
    switch (taken.kind) {
      case action_kind::advance: c.x[i + 1] = std::int64_t(run.state_bytes(taken.to)); break;
      case action_kind::record: {
        std::int64_t const tape = std::int64_t(run.tape_bytes(taken.from));
        c.s[i] = greater(tape, c.x[i + 1]);
        break;
      }
      case action_kind::turn: c.g[i] = c.b[i] = std::int64_t(run.adjoint_bytes()); break;
      case action_kind::reverse:
        c.g[i] = std::int64_t(run.adjoint_bytes());
        c.f[i] = run.work_bytes(taken.from);
        c.b[i] = run.adjoint_work(taken.from, c.g[i], c.g[i + 1]) + c.f[i];
        break;
      default: break;
    }
  });
  std::size_t const most = copies_in_reach(probing_bytes(c) + sizeof(std::optional<Memory>));
  for (std::size_t runs = 1; runs < most && !measured.long_enough();) {
    runs = next_count(runs, most);
    measured.measure(runs, runs_of_short_calls, [](action const&, Memory const&) {});
  }
  for (std::size_t i = 0; i <= size; ++i) {
    double const back = measured.seconds(i, &stage_times::backward);
    double more = 0;
    if (i < size) {
      double const run = measured.seconds(i, &stage_times::forward),
                   recorded = measured.seconds(i, &stage_times::record);
      c.u[i] = nanoseconds(run);
      more = recorded - lesser(recorded, run);
    }
    c.v[i] = nanoseconds(back + more);
  }
  return c;
}

/// Whether the sizes of all states, tapes and adjoints are known.
template <class Memory> inline constexpr bool weighs_all = true;
template <class Given, class X0, class Bar, std::size_t... Place>
inline constexpr bool weighs_all<chain_tuple<Given, X0, Bar, std::index_sequence<Place...>>> =
    sized_state<X0>&& sized_state<Bar> &&
    ((sized_state<typename state_in<Given, X0, Place + 1>::type> &&
      sized_state<typename stage_at<Given, X0, Bar, Place, sizeof...(Place)>::reading::tape> &&
      sized_state<typename stage_at<Given, X0, Bar, Place, sizeof...(Place)>::adjoint>)&&...);
template <class Given, class X0, class Bar>
inline constexpr bool weighs_all<chain_list<Given, X0, Bar>> = sized_state<Bar>&&
    sized_state<typename list_types<Given, X0, Bar>::state>&& sized_state<typename list_types<Given, X0, Bar>::tape>;

/// The chain with all its checks.   \param dp  of `by`, a copy, to which the probe adds
template <class Clock, class Stages, class X0, class Seed, class Wrt>
[[nodiscard]] chain probe_chain(Stages& stages, X0 const& x0, Seed& seed, [[maybe_unused]] Wrt const& by, int tried) {
  using Given = chain_given_for<Stages, Wrt>;
  if constexpr (!check_clock<Clock>() || !check_wrt<Wrt>()) return {};
  else if constexpr (!check_stages<fault_of_chain_forward<Given, X0, std::vector<action>>()>()) return {};
  else if constexpr (!check_stages<fault_of_chain_seed<Given, X0, Seed&, Wrt>()>()) return {};
  else {
    using types = chain_sweep<Given, X0, Seed&, Wrt>;
    constexpr auto wrong = weighs_all<typename types::memory> ? stage_fault::none : stage_fault::unsized;
    if constexpr (!check_stages<wrong>()) return {};
    else {
      Given const given = given_chain(stages, by);
      if constexpr (Given::of_any) {
        check_any_stages<X0, typename types::seeded>(given, "cairn::chain_probe");
        for (std::size_t i = 0; i < stages.size(); ++i)
          if (!stages[i].types().sized)
            throw invalid_call{"cairn::chain_probe",
                               "the bytes of a state, tape or adjoint of a stage cannot be determined",
                               {{"stage", i}},
                               "give its type a member bytes() or specialise cairn::state_traits with bytes(x)"};
      }
      watched_params const watch{params_of(by).p};
      auto&& from = chain_seed<typename types::last>(seed, by, watch);
      return probed_chain<Clock, typename types::memory>(given, x0, from, tried);
    }
  }
}

}  // namespace detail

/// Sizes and times of a chain of stages on this machine, for `chain_planner` and `replay`: bytes of states, tapes and
/// adjoints as `bytes_of` counts them, and median times of single calls in nanoseconds. A plan made for this chain has
/// exactly the peak of `chain_gradient`, if stages need no temporary memory. A stage that needs some reports its bytes
/// by a member `work_bytes()`, indexed_stages by `work_bytes(i)`: they become f, and are added to b. b also contains
/// the new adjoint if backward returns one. The time by which record exceeds forward is part of v, because most plans
/// record each stage once.
///
/// If the calls of the chain are on average too short for the clock, up to 65,536 runs of it are executed side by side,
/// each with states and tapes of its own, and all calls of one stage are timed together. The time of a stage far
/// shorter than that average may be wrong by a part of the average. Gradients with respect to parameters are then
/// summed up once per run.
/// \tparam Clock  has now() like the clocks of the standard library: `chain_probe<std::chrono::steady_clock>(stages,
///   x0, seed)`
/// \param stages, x0, seed  as for `chain_gradient`; a seed value is copied   \param tried  how often the chain is run,
///   >= 1
/// Cost: 2 `tried` calls of each stage and `tried` of each adjoint; memory for about sqrt(L) states and as many tapes,
/// and for short calls up to 8 MiB of them
/// \throws invalid_plan, invalid_call; what stages and seed throw
template <class Clock = detail::no_clock, class Stages, class X0, class Seed>
[[nodiscard]] chain chain_probe(Stages&& stages, X0 const& x0, Seed&& seed, int tried = 3) {
  return detail::probe_chain<Clock>(stages, x0, seed, detail::no_wrt{}, tried);
}
/// The same for a chain with parameters, given as to `chain_gradient`. It adds to a copy of dp, never to dp itself.
template <class Clock = detail::no_clock, class Stages, class X0, class Seed, class Params, class DP>
[[nodiscard]] chain chain_probe(Stages&& stages, X0 const& x0, Seed&& seed, wrt<Params, DP> by, int tried = 3) {
  if constexpr (!detail::check_wrt<wrt<Params, DP>>()) return {};
  else {
    auto scratch = detail::copy_of(by.dp);
    detail::set_zero(by.p, scratch);
    return detail::probe_chain<Clock>(stages, x0, seed, wrt<Params, decltype(scratch)>{by.p, scratch}, tried);
  }
}

}  // namespace cairn
