// SPDX-License-Identifier: Apache-2.0
// Replay checks of a run on disk compare what is run again with the states of the processes before, by the hashes in
// their files. One process after another is played by one call after another; see verbs_test.cpp.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>
#include "adapt/disk/chain_runs.hpp"
#include "adapt/disk/kill_everywhere.hpp"

using cairn::disk;
using cairn::disk_use;
using cairn::replay_check;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr step_index length = 30;
cairn::hrevolve const tiers{length, two_tiers};
cairn::two_level const periods{length, 7, 2};
struct stopped {};
long calls = 0, stop_at = -1;
step_index differs_at = -1;  // a step whose arithmetic is another one in this process
void tick_or_stop() {
  if (++calls == stop_at) throw stopped{};
}
void step_in_place(numbers& x, step_index i) {
  tick_or_stop();
  for (double& v : x) v = std::sin(1.1 * v) + 0.01 * double(i % 5);
  if (i == differs_at) x[0] += 1e-6;
}
void pull(numbers const& x, numbers& bar) {
  tick_or_stop();
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x[k]) * x[k];
}
auto const in_place = [](numbers& x, step_index i) { step_in_place(x, i); };
auto const in_place_by = [](numbers& x, double, step_index i) { step_in_place(x, i); };
auto const out_of_place = [](numbers const& x, numbers& x1, double, step_index i) {
  x1 = x;
  step_in_place(x1, i);
};
auto const of_object = [](solver& s, step_index i) { step_in_place(s.v, i); };
auto const back = [](numbers const& x, numbers& bar) { pull(x, bar); };
auto const back_by = [](numbers const& x, numbers& bar, double, double& dp) {
  pull(x, bar);
  dp += bar[0];
};
auto const back_with_next = [](numbers const& x, numbers const& x1, numbers& bar, double by, double& dp, step_index) {
  back_by(x, bar, by, dp);
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] += x1[k];
};
auto const back_of_leaf = [](numbers const& x, numbers& bar, double, double& dp, step_index first, step_index last) {
  std::vector<numbers> states{x};
  for (step_index i = first; i + 1 < last; ++i) step_in_place(states.emplace_back(numbers{states.back()}), i);
  for (; !states.empty(); states.pop_back()) {
    pull(states.back(), bar);
    dp += bar[0];
  }
};
auto const back_of_object = [](solver const& s, numbers& bar) { pull(s.v, bar); };
auto const goes_on = [](numbers const&, step_index i) { return i < length; };
numbers const x0{0.3, -0.4}, ones{1, 1};

/// The sweeps of this file: each is one process of a run, and gives what it computes.
template <class Step, class Adjoint>
struct in_one_call {
  Step step;
  Adjoint adjoint;
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    double const by = 1;
    double dp = 0;
    numbers bar = cairn::gradient(step, x0, plan, ones, adjoint, cairn::wrt{by, dp}, last...);
    bar.push_back(dp);
    return bar;
  }
};
template <class Step, class Adjoint> in_one_call(Step, Adjoint) -> in_one_call<Step, Adjoint>;
struct over_object {
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    solver s;
    s.v = x0;
    return cairn::gradient(of_object, s, plan, ones, back_of_object, last...);
  }
};
struct over_object_by_leaves {
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    solver s;
    s.v = x0;
    auto const back_by_leaf = [](solver const& x, numbers& bar, step_index first, step_index end) {
      double dp = 0;
      back_of_leaf(x.v, bar, 0, dp, first, end);
    };
    return cairn::gradient(of_object, s, plan, ones, back_by_leaf, last...);
  }
};
struct by_tapes {
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    auto const record = [](numbers& x, step_index i) {
      numbers const before = x;
      step_in_place(x, i);
      return std::pair{before, x};
    };
    auto const reverse = [](std::pair<numbers, numbers> const& tape, numbers& bar) {
      pull(tape.first, bar);
      for (std::size_t k = 0; k < bar.size(); ++k) bar[k] += tape.second[k];
    };
    return cairn::gradient(in_place, x0, plan, ones, cairn::recorded{record, reverse}, last...);
  }
};
struct kept {
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    auto run = [&] {
      if constexpr (cairn::open_schedule<Plan>) return cairn::checkpointed_while(in_place, x0, goes_on, plan, last...);
      else return cairn::checkpointed_loop(in_place, x0, plan, last...);
    }();
    is_seen = true;
    return run.reverse(ones, back);
  }
  static inline bool is_seen;  // the final state, by the caller
};
/// Stage i is step i; states grow.
struct stage {
  [[nodiscard]] numbers forward(numbers const& x, step_index i) const {
    numbers y = x;
    step_in_place(y, i);
    y.push_back(0.1 * double(i));
    return y;
  }
  [[nodiscard]] numbers backward(numbers const& x, numbers bar, double, double& dp, step_index) const {
    bar.pop_back();
    pull(x, bar);
    dp += bar[0];
    return bar;
  }
};
struct stage_with_output : stage {
  void backward(numbers const& x, numbers const& y, numbers& bar, double by, double& dp, step_index i) const {
    double const last = bar.back();
    bar = stage::backward(x, bar, by, dp, i);
    bar[0] += last * y[1];
  }
};
struct stage_with_tape : stage {
  struct tape {
    numbers output;
  };
  [[nodiscard]] tape record(numbers const& x, step_index i) const { return {forward(x, i)}; }
  [[nodiscard]] static numbers const& output(tape const& of) { return of.output; }
  [[nodiscard]] numbers backward(numbers const& x, tape const& kept, numbers bar, double by, double& dp,
                                 step_index i) const {
    bar[0] += kept.output[1];
    return stage::backward(x, std::move(bar), by, dp, i);
  }
};
template <class Stage>
struct of_chain {
  template <class Plan, class... Last>
  numbers operator()(Plan const& plan, Last const&... last) const {
    double const by = 1;
    double dp = 0;
    numbers bar = cairn::chain_gradient(cairn::indexed_stages{length, Stage{}}, x0, plan,
                                        numbers(x0.size() + length, 1.0), cairn::wrt{by, dp}, last...);
    bar.push_back(dp);
    return bar;
  }
};
template <class Sweep> inline constexpr bool is_chain = false;
template <class Stage> inline constexpr bool is_chain<of_chain<Stage>> = true;
struct outcomes {
  long refused = 0, right = 0, mixed = 0, anew = 0;
};
/// Stops a first process at each of some calls, and lets a second one go on whose step k differs, for each k. What it
/// gives may be of the one arithmetic or of the other, and not of both.
/// \param asked  the first one is asked to stop, and writes what is there
template <class Sweep, class Plan>
outcomes go_on_with_another(Sweep const& sweep, Plan const& plan, std::int64_t commit_every, replay_check check,
                            bool asked) {
  auto const in_memory = [&] {
    if constexpr (is_chain<Sweep>) return sweep(chain_runs::stored_whole(length));
    else if constexpr (cairn::open_schedule<Plan>) return sweep(plan);
    else return sweep(cairn::in_memory{plan});
  };
  cairn::sweep_options const options{.verify = check};
  outcomes seen;
  differs_at = stop_at = -1, calls = 0;
  numbers const right = in_memory();
  calls = 0;
  (void)sweep(plan, options, disk{support::temporary{}.run()});
  long const all = calls;
  std::vector<numbers> right_if;
  for (differs_at = 0; differs_at < length; ++differs_at) right_if.push_back(in_memory());
  for (long const at : {all / 4, all / 2, all * 3 / 4, all * 9 / 10}) {
    for (step_index k = 1; k < length; ++k) {
      CAPTURE(at, k);
      support::temporary const here;
      disk const run{here.run(), {.commit_every = commit_every}};
      differs_at = -1, calls = 0, stop_at = asked ? -1 : at;
      if (asked) {
        disk const first{here.run(), {.commit_every = commit_every, .stop = [at] { return calls >= at; }}};
        CHECK_THROWS_AS(sweep(plan, options, first), cairn::stopped);
      } else CHECK_THROWS_AS(sweep(plan, options, run), stopped);
      differs_at = k, stop_at = -1, kept::is_seen = false;
      try {
        numbers const found = sweep(plan, options, run);
        ++(found == right || found == right_if[std::size_t(k)] ? seen.right : seen.mixed);
        if (run.report().used != disk_use::nothing) continue;
        CHECK(found == right_if[std::size_t(k)]);
        if (*run.report().why == '\0') continue;  // nothing was left
        ++seen.anew;
        CHECK_THAT(run.report().why, ContainsSubstring("another trajectory"));
      } catch (cairn::nondeterminism_error const& error) {
        ++seen.refused;
        CHECK(kept::is_seen);
        CHECK_THAT(error.what(), ContainsSubstring("static variables"));
        differs_at = -1;  // what the refused one has left is not used
        CHECK(sweep(plan, options, run) == right);
      }
    }
  }
  return seen;
}
/// \param refused  it is an error, and not a new beginning
template <class Sweep, class Plan>
void finds_all(Sweep const& sweep, Plan const& plan, std::int64_t commit_every = 3, bool refused = false) {
  for (auto const check : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
    if (std::is_same_v<Sweep, struct over_object> && check == replay_check::off) continue;
    for (bool const asked : {false, true}) {
      CAPTURE(int(check), asked);
      outcomes const seen = go_on_with_another(sweep, plan, commit_every, check, asked);
      CHECK(seen.mixed == 0);
      CHECK((refused ? seen.refused : seen.anew) > 20);
      CHECK((seen.refused > 0) == refused);
      CHECK(seen.right > 10);
    }
  }
}
/// Stops up to three processes at random calls, because they are asked to or by an exception, and lets the last one go
/// on with another arithmetic in a random step. In half of the runs any process but the first may have it, and what is
/// in slots may be lost in between, as in a scratch folder. What the last one gives may not be of both.
template <class Sweep, class Plan>
void searches(Sweep const& sweep, Plan const& plan, replay_check check, std::mt19937_64& draw, long runs) {
  cairn::sweep_options const options{.verify = check};
  auto const in_memory = [&](step_index k) {
    differs_at = k, stop_at = -1;
    if constexpr (is_chain<Sweep>) return sweep(chain_runs::stored_whole(length));
    else if constexpr (cairn::open_schedule<Plan>) return sweep(plan);
    else return sweep(cairn::in_memory{plan});
  };
  calls = 0;
  numbers const right = in_memory(-1);
  long const all = calls;
  for (long run = 0; run < runs; ++run) {
    support::temporary const here;
    std::int64_t const commit_every = draw() % 3 == 0 ? 1'000 : 1 + std::int64_t(draw() % 9);
    step_index const k = 1 + step_index(draw() % (length - 1));
    long const stops = 1 + long(draw() % 3);
    bool const any = draw() % 2 == 0;
    std::string at;
    numbers found;
    for (long s = 0; s <= stops && found.empty(); ++s) {
      bool const is_last = s == stops, asked = draw() % 4 != 0, differs = any ? s > 0 && draw() % 3 != 0 : is_last;
      long const last = is_last ? 0 : 1 + long(draw() % std::uint64_t(all));
      at += (asked ? " asked " : " thrown ") + std::to_string(last) + (differs ? " differs" : "");
      if (any && s > 0 && draw() % 3 == 0) here.remove_files("s0"), at += " lost";
      calls = 0, differs_at = differs ? k : -1, stop_at = asked || is_last ? -1 : last;
      auto const stop = [&] { return asked && !is_last && calls >= last; };
      try {
        found = sweep(plan, options, disk{here.run(), {.commit_every = commit_every, .stop = stop}});
      } catch (cairn::stopped const&) {
      } catch (stopped const&) {
      } catch (cairn::nondeterminism_error const&) {  // once the final state was seen
        CHECK((any || is_last));
      }
    }
    CAPTURE(int(check), run, k, commit_every, at);
    CHECK((found.empty() || found == right || found == in_memory(k)));
  }
}
void search_all(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  cairn::leaves const fives{length, 5, cairn::two_level{6, 2, 1}};
  in_one_call const values{in_place_by, back_by};
  for (auto const check : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
    searches(values, tiers, check, draw, runs);
    searches(values, cairn::revolve{length, 3}, check, draw, runs);
    searches(in_one_call{out_of_place, back_by}, periods, check, draw, runs);
    searches(in_one_call{in_place_by, back_with_next}, cairn::multistage{length, 1, 5}, check, draw, runs);
    searches(in_one_call{in_place_by, back_of_leaf}, fives, check, draw, runs);
    searches(by_tapes{}, tiers, check, draw, runs);
    searches(kept{}, tiers, check, draw, runs);
    searches(kept{}, cairn::online{5}, check, draw, runs);
    searches(of_chain<stage>{}, chain_runs::filed(length, 4), check, draw, runs);
    searches(of_chain<stage_with_tape>{}, chain_runs::filed(length, 5), check, draw, runs);
    if (check == replay_check::off) continue;  // of an object, states that are made again are not compared
    searches(over_object{}, tiers, check, draw, runs);
    searches(over_object{}, periods, check, draw, runs);
    searches(over_object{}, cairn::revolve{length, 3}, check, draw, runs);
    searches(over_object{}, cairn::multistage{length, 1, 5}, check, draw, runs);
    searches(over_object_by_leaves{}, fives, check, draw, runs);
  }
}
/// A first process is asked to stop; of what it leaves, states in slots are lost, as in a scratch folder. A second one
/// with another arithmetic goes on from where the first one stopped, until it is asked to stop, and a third one as the
/// second. What they give may not be of both.
template <class Sweep, class Plan>
void goes_on_from_a_stop_alone(Sweep const& sweep, Plan const& plan, replay_check check) {
  cairn::sweep_options const options{.verify = check};
  differs_at = stop_at = -1, calls = 0;
  numbers const right = sweep(cairn::in_memory{plan});
  long const all = calls;
  long used = 0;
  for (long const first : {all / 5, all / 4, all / 3, all / 2})
    for (step_index const k : {4, 13}) {
      differs_at = k;
      numbers const right_if = sweep(cairn::in_memory{plan});
      for (long second = 1; second < all; second += 3) {
        CAPTURE(int(check), first, k, second);
        support::temporary const here;
        auto const process = [&](long last, bool differs) {
          calls = 0, differs_at = differs ? k : -1;
          disk const run{here.run(), {.commit_every = 1, .stop = [last] { return calls >= last; }}};
          numbers found;
          try {
            found = sweep(plan, options, run);
          } catch (cairn::stopped const&) {
          }
          used += run.report().used != disk_use::nothing;
          return found;
        };
        (void)process(first, false);
        here.remove_files("s0");
        numbers found = process(second, true);
        if (found.empty()) found = process(1'000'000, true);
        CHECK((found == right || found == right_if));
      }
    }
  CHECK(used > 100);
}
cairn::sweep_options drawn;  // of the next process
template <class State>
struct checked {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) { return by_gradient<State>::of(plan, drawn, last...); }
};
template <class Verb, class Plan>
void no_alarm(Plan const& plan, std::mt19937_64& draw, long runs) {
  program<Verb, Plan> of{plan, 1};
  for (long run = 0; run < runs; ++run) {
    of.commit_every = draw() % 3 == 0 ? 1'000 : 1 + long(draw() % 8);
    long const kills = 1 + long(draw() % 4);
    CAPTURE(run);
    CHECK(killed::until_one_ends(of.folder, [&](long k) {
      drawn.verify = draw() % 4 == 0   ? replay_check::off
                     : draw() % 2 == 0 ? replay_check::checkpoints
                                       : replay_check::every_step;
      if (k >= kills) return of.process(-1);
      if (draw() % 2 == 0) return of.process(1 + long(draw() % std::uint64_t(of.calls)));
      return of.process(-1, 1 + long(draw() % 60), k % 2 == 0);
    }) >= 0);
  }
}
void no_alarm_at_random(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  no_alarm<checked<numbers>>(cairn::two_level{length, 7, 2}, draw, runs);
  no_alarm<checked<noted>>(cairn::hrevolve{length, two_tiers}, draw, runs);
  no_alarm<checked<solver>>(cairn::multistage{length, 2, 4}, draw, runs);
}

}  // namespace

TEST_CASE("wherever an adjoint would get a state of another trajectory the run begins anew, without a word") {
  in_one_call const sweep{in_place_by, back_by};
  finds_all(sweep, periods);
  finds_all(sweep, periods, 1'000);  // no records
  finds_all(sweep, tiers);
  finds_all(sweep, cairn::multistage{length, 1, 5});
  finds_all(in_one_call{out_of_place, back_by}, periods);
  finds_all(in_one_call{in_place_by, back_with_next}, tiers);
}
TEST_CASE("a damaged state that is made again must be what its file says, also if the process before had no check") {
  support::temporary const here;
  disk const run{here.run()};
  in_one_call const sweep{in_place_by, back_by};
  differs_at = stop_at = -1;
  numbers const right = sweep(cairn::in_memory{periods});
  cairn::sweep_options const check{replay_check::checkpoints};
  for (step_index const k : {13, -1}) {
    here.remove_runs();
    calls = 0, differs_at = -1, stop_at = 26;
    CHECK_THROWS_AS(sweep(periods, run), stopped);
    int damaged = 0;
    for (auto const& name : support::temporary::names_in(run.report().folder)) {
      std::string content = support::content_of(run.report().folder + '/' + name);
      cairn::detail::file_head head;
      if (name[0] != 's' || content.size() <= sizeof head) continue;
      std::memcpy(&head, content.data(), sizeof head);
      if (head.step != 14) continue;
      content.back() ^= 1;
      support::put(run.report().folder + '/' + name, content);
      ++damaged;
    }
    CHECK(damaged == 1);
    stop_at = -1, differs_at = k;
    numbers const found = sweep(periods, check, run);
    CHECK((run.report().used == disk_use::nothing) == (k >= 0));
    CHECK(found == sweep(cairn::in_memory{periods}));
    if (k < 0) CHECK(found == right);
  }
}
TEST_CASE("the check takes no step more in a process that goes on, but those that take what is restored one step on") {
  for (auto const check : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
    support::temporary const here;
    cairn::disk const run{here.run(), {.commit_every = 3}};
    in_one_call const sweep{in_place_by, back_by};
    long actions = 0;
    auto const stop = [&](cairn::event const&) {
      if (++actions == 200) throw stopped{};
    };
    differs_at = stop_at = -1;
    CHECK_THROWS_AS(sweep(tiers, cairn::sweep_options{check}, run, stop), stopped);
    calls = 0;
    long loads = 0;
    auto const count = [&](cairn::event const& e) {
      loads += e.what().kind == cairn::action_kind::load && e.moment() == cairn::moment::before;
    };
    (void)sweep(tiers, cairn::sweep_options{check}, run, count);
    CHECK(run.report().used == disk_use::record);
    static long without = 0;
    if (check == replay_check::off) without = calls;
    CHECK(calls <= without + (check == replay_check::every_step ? loads : 6));  // state 0; the 1st, 2nd ... 16th
  }
}
TEST_CASE("one that begins anew may be stopped at any call, and goes on") {
  in_one_call const sweep{in_place_by, back_by};
  constexpr step_index other = 9;
  differs_at = other, calls = 0, stop_at = -1;
  numbers const right = sweep(cairn::in_memory{periods});
  long const all = 3 * calls;
  long stops = 0;
  for (long at = 1; at < all; at += 2) {
    CAPTURE(at);
    support::temporary const here;
    disk const first{here.run()}, second{here.run(), {.commit_every = 4, .stop = [at] { return calls >= at; }}};
    differs_at = -1, calls = 0, stop_at = 35;
    CHECK_THROWS_AS(sweep(periods, first), stopped);
    differs_at = other, calls = 0, stop_at = -1;
    try {
      numbers const found = sweep(periods, second);
      CHECK(found == right);
      break;
    } catch (cairn::stopped const&) {
    }
    bool const anew = second.report().used == disk_use::nothing;
    CHECK(sweep(periods, first) == right);
    if (!anew) continue;
    CHECK(std::string{first.report().why} == "");  // and nothing of what was given up was written
    ++stops;
  }
  CHECK(stops > 10);
}
TEST_CASE("so does one over an object, from where it was") {
  finds_all(over_object{}, periods);
  finds_all(over_object{}, tiers, 1'000);
}
TEST_CASE("a seed that is handed over is there for a run that begins anew behind it") {
  auto const sweep = [](auto const& plan, auto const&... last) {
    double const by = 1;
    double dp = 0;
    return cairn::gradient(in_place_by, x0, plan, numbers{1, 1}, back_by, cairn::wrt{by, dp}, last...);
  };
  support::temporary const here;
  disk const run{here.run(), {.commit_every = 1'000}};
  calls = 0, differs_at = -1, stop_at = 45;  // on its way back: no record, and states
  CHECK_THROWS_AS(sweep(periods, run), stopped);
  differs_at = 12, stop_at = -1;
  numbers const found = sweep(periods, run);
  CHECK_THAT(run.report().why, ContainsSubstring("another trajectory"));
  CHECK(found == sweep(cairn::in_memory{periods}));
}
TEST_CASE("and a chain") {
  finds_all(of_chain<stage>{}, chain_runs::filed(length, 4));
  finds_all(of_chain<stage_with_output>{}, chain_runs::filed(length, 3));
  finds_all(of_chain<stage_with_tape>{}, chain_runs::filed(length, 5), 1'000);
}
TEST_CASE("processes that are stopped at random, one after another, never give a gradient of two trajectories") {
  search_all(7, 20);
}
TEST_CASE("nor do more of them", "[.soak]") { search_all(8, 1'000); }
TEST_CASE("nor where all that is left is the state at which one was asked to stop") {
  in_one_call const values{in_place_by, back_by};
  for (auto const check : {replay_check::off, replay_check::checkpoints, replay_check::every_step}) {
    goes_on_from_a_stop_alone(values, cairn::revolve{length, 3}, check);
    goes_on_from_a_stop_alone(values, periods, check);
    goes_on_from_a_stop_alone(in_one_call{in_place_by, back_with_next}, cairn::multistage{length, 1, 5}, check);
    if (check != replay_check::off) goes_on_from_a_stop_alone(over_object{}, periods, check);
  }
}
TEST_CASE("in loops that are kept, and in those of unknown length, it is an error once the final state is there") {
  finds_all(kept{}, periods, 3, true);
  finds_all(kept{}, cairn::online{5}, 3, true);
}
TEST_CASE("no run that is killed at random is refused, whatever checks its processes have") {
  no_alarm_at_random(3, 40);
}
TEST_CASE("nor one of 3,000", "[.soak]") { no_alarm_at_random(std::random_device{}(), 1'000); }
