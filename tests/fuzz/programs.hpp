// SPDX-License-Identifier: Apache-2.0
// Random programs against store-all. A program is a number: what it does follows from it alone, so that one that fails
// can be run again by itself.
#pragma once
#include <cmath>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/with/jumps.hpp>
#include "fuzz/random_plans.hpp"
#include "fuzz/user_code.hpp"
#include "support/catch.hpp"
#include "support/every_tier.hpp"
#include "support/heap.hpp"
#include "support/tiered_store.hpp"
#include "support/toy_stores.hpp"

namespace fuzz {

/// What a program shows that it must not.
struct fault {
  std::string text;
};

/// What the programs came to, so that a test can tell that all of it was tried.
struct tally {
  long sweeps = 0, bytes = 0, stops = 0, resumed = 0, refused = 0, reversed_again = 0, structures = 0;
};
inline tally seen;

/// The random choices of a program, and what they were so far.
struct program {
  source from;
  std::string text;

  explicit program(unsigned long number) : from{number} {}
  void tells(std::string const& more) { text += "; " + more; }
  void check(bool holds, std::string const& what) const {
    if (!holds) throw fault{what};
  }
};

/// A loop and its store-all.
template <class K>
struct loop {
  step_index n;
  numbers start;
  stored<K> all;

  explicit loop(program& p) : n{random_length(p.from)}, start{random_start(p)}, all{n, start} {
    for (double const v : all.gradient) p.check(std::isfinite(v), "the oracle's gradient is finite");
    p.tells(std::to_string(n) + " steps, " + std::to_string(start.size()) + " numbers");
  }
  [[nodiscard]] state_of<K> initial() const {
    if constexpr (!std::is_copy_constructible_v<state_of<K>>) return state_of<K>(start);
    else {
      auto x = K::blank();
      K::write(x, start);
      return x;
    }
  }

 private:
  static step_index random_length(source& from) {
    switch (from.in(0, 9)) {
      case 0: return from.in(0, 2);
      case 1:
      case 2: return from.in(21, 60);
      case 3: return from.one_of(3) ? from.in(61, 400) : from.in(0, 5);
      default: return from.in(0, 20);
    }
  }
  static numbers random_start(program& p) {
    the_law = {0.8 + 0.2 * p.from.unit(), 0.3 * p.from.unit(), p.from.unit(), 0, requires { K::resizes; }};
    numbers start(K::size(std::size_t(p.from.one_of(20) ? p.from.in(100, 300) : p.from.in(0, 6))));
    for (double& v : start) v = double(float(p.from.unit() - 0.5));
    return start;
  }
};

template <class K>
constexpr bool is_object = !std::is_copy_constructible_v<state_of<K>>;
template <class AF>
constexpr bool is_leaf = std::is_same_v<AF, of_leaf> || std::is_same_v<AF, moving<of_leaf>>;
template <class AF>
constexpr bool is_recorded = std::is_same_v<AF, recorded> || std::is_same_v<AF, recorded_restarting>;

/// What the rules say of a plan and an adjoint.
template <class AF>
bool fits(any_schedule const& plan) {
  if (plan.leaf() > 1 && !is_leaf<AF>) return false;
  if (tapes_of(plan) > 0 && !is_recorded<AF>) return false;
  return tapes_of(plan) == 0 || !tapes_restart(plan) || std::is_same_v<AF, recorded_restarting>;
}
/// Mostly one that fits.
template <class Fits>
named_plan plan_for(program& p, step_index n, Fits fits) {
  auto plan = random_plan(p.from, n);
  for (int k = 0; k < 8 && !fits(plan.plan); ++k) plan = random_plan(p.from, n);
  p.tells(plan.name);
  return plan;
}

template <class K, class SF, class AF>
constexpr sweep_form form_of = {
    .step = detail::shape_of_step<typename SF::template step<K>, state_of<K>>().form,
    .adjoint = detail::shape_of_adjoint<decltype(AF::template make<K>()), state_of<K>, bar_of<K>>().form,
    .snapshots = is_object<K>};

/// Counts as an observer the states that a sweep keeps and brings back.
struct counter {
  wide& saves;
  wide& loads;
  void operator()(event const& e) const {
    the_fuse.pass(site::observer);
    if (e.moment() == moment::before || e.what().what != content::state) return;
    saves += e.what().kind == action_kind::save;
    loads += e.what().kind == action_kind::load;
  }
};

/// Calls `run`, which must throw what the rules predict, before any step.
template <class Error, class Run>
void refused(program& p, std::string const& what, Run run) {
  long const calls = step_calls;
  try {
    run();
  } catch (Error const&) {
    p.check(step_calls == calls, what + " is refused before any step runs");
    ++seen.refused;
    return;
  }
  p.check(false, what + " is refused");
}

/// Calls `run` with a call of the user's functions that throws, chosen at random. \return whether it was reached
template <class Run>
bool thrown(program& p, Run run) {
  constexpr site sites[] = {site::step, site::adjoint, site::seed, site::observer};
  auto const where = sites[p.from.in(0, 3)];
  auto const call = where == site::seed ? 0 : p.from.in(0, p.from.one_of(2) ? 5 : 200);
  the_fuse.arm(where, call);
  bool reached = false;
  try {
    run();
  } catch (::planned const& made) {
    p.check(&made == ::planned::made, "the exception is the one that was thrown");
    reached = true;
    ++seen.stops;
  }
  the_fuse.disarm();
  p.tells("site " + std::to_string(int(where)) + " throws at call " + std::to_string(call) +
          (reached ? "" : ", which is not reached"));
  return reached;
}

template <class K>
void same(program& p, loop<K> const& l, bar_of<K> const& got, char const* what) {
  p.check(got == l.all.gradient, std::string{what} + " has the bits of storing everything");
}

/// Where sizes are constant, by `new`, and nothing but the library allocates.
template <class K, class AF>
constexpr bool predicts_bytes = !requires {
  K::resizes;
}
&&!requires { K::by_malloc; }
&&!std::is_same_v<K, of_pendulum> && (std::is_same_v<AF, one_step> || std::is_same_v<AF, moving<one_step>> ||
                                      std::is_same_v<AF, one_step_by_value> || is_recorded<AF>);

/// One gradient, with a seed that is a value where steps return their state, else a function.
template <class K, class SF, class AF, class Work>
bar_of<K> swept(loop<K> const& l, any_schedule const& plan, state_of<K>& x0, Work& work, counter const& count) {
  typename SF::template step<K> const step;
  auto adjoint = AF::template make<K>();
  if constexpr (std::is_same_v<SF, by_value>) return gradient(step, x0, plan, l.all.seed, adjoint, work, count);
  else return gradient(step, x0, plan, seed_function<K>{}, adjoint, work, count);
}

/// One gradient as predicted: bits, calls, saves, loads.
template <class K, class SF, class AF, class Work>
void check_gradient(program& p, loop<K> const& l, any_schedule const& plan, Work& work, bool loses = false) {
  constexpr auto form = form_of<K, SF, AF>;
  state_of<K> x0 = l.initial();
  wide saves = 0, loads = 0;
  step_calls = seed_calls = 0;
  auto const got = swept<K, SF, AF>(l, plan, x0, work, counter{saves, loads});
  same(p, l, got, "the gradient");
  ++seen.sweeps;
  auto const counts = verify(plan);
  auto const predicted = estimate(plan, {.form = form}).step_calls;
  p.check(loses ? step_calls >= l.n : wide(step_calls) == predicted,
          "step calls are as predicted");  // what is lost is planned anew, for better or worse
  p.check(loses || (saves == counts.saves && loads == counts.loads), "saves and loads are as predicted");
  p.check(seed_calls == (std::is_same_v<SF, by_value> ? 0 : 1), "the seed is called once");
}

/// The heap of one cold gradient.
template <class K, class SF, class AF>
void check_bytes(program& p, loop<K> const& l, any_schedule const& plan) {
  using Bar = bar_of<K>;
  constexpr bool adjoint_by_value = std::is_same_v<AF, one_step_by_value>;
  auto form = form_of<K, SF, AF>;
  form.adjoint_by_value = adjoint_by_value;
  auto x0 = l.initial();
  toys::every_tier store;
  workload work{.initial_bytes = 0, .adjoint_bytes = bytes_of(l.all.seed), .form = form};
  if constexpr (is_object<K>) {
    work.state_bytes = bytes_of(x0.save());
    work.state_inline_bytes = sizeof(x0.save());
    (void)gradient(typename SF::template step<K>{}, x0, plan, l.all.seed,
                   AF::template make<K>(), store);  // the object's own memory has grown
    K::write(x0, l.start);
  } else {
    work.state_bytes = bytes_of(x0);
    work.state_inline_bytes = sizeof(x0);
  }
  if (is_recorded<AF>) {
    work.tape_inline_bytes = sizeof(std::optional<tape>);
    work.tape_bytes = work.tape_inline_bytes + wide(2 * l.start.size() * sizeof(double));
  }
  auto const predicted = estimate(plan, work).peak_bytes - plan.shared_table_bytes();
  store = {};
  heap::mark const mark;
  (void)gradient(typename SF::template step<K>{}, x0, plan, l.all.seed, AF::template make<K>(), store);
  auto const counted = mark.rise() + sizeof(Bar) * (adjoint_by_value && l.n > 0 ? 2 : 1);
  ++seen.bytes;
  p.check(wide(counted) == predicted, "the heap of " + std::to_string(counted) + " bytes is what is predicted, " +
                                          std::to_string((long long)predicted));
}

/// Gradients of some loops in one workspace; some are stopped by an exception in between.
template <class K, class SF, class AF>
void gradients(program& p) {
  p.tells(std::string{"gradient of "} + K::name + ", step " + SF::name + ", adjoint " + AF::name);
  workspace<state_of<K>, any_schedule, toys::every_tier> work;
  for (step_index round = p.from.in(1, 3); round > 0; --round) {
    loop<K> const l{p};
    auto const plan = plan_for(p, l.n, fits<AF>).plan;
    auto const sweep = [&] {
      state_of<K> x0 = l.initial();
      wide saves = 0, loads = 0;
      (void)swept<K, SF, AF>(l, plan, x0, work, counter{saves, loads});
    };
    if (!fits<AF>(plan)) {
      refused<invalid_plan>(p, "an adjoint that the plan is not for", sweep);
      continue;
    }
    if (p.from.one_of(3)) thrown(p, sweep);
    check_gradient<K, SF, AF>(p, l, plan, work);
    if constexpr (predicts_bytes<K, AF>)
      // Bytes do not tell that a tape without memory of its own is still to be destroyed, for which its array counts 8
      // bytes.
      if (p.from.one_of(4) && !(is_recorded<AF> && l.start.empty())) check_bytes<K, SF, AF>(p, l, plan);
  }
}

template <class First, class...>
struct first_of { using type = First; };
template <class... All>
using first_type = typename first_of<All...>::type;

/// Stopped by an exception after the turn, and resumed.
template <class K, class SF, class AF, class... Store>
void resumes(program& p) {
  p.tells(std::string{"resume of "} + K::name + ", step " + SF::name + ", adjoint " + AF::name);
  using step = typename SF::template step<K>;
  loop<K> const l{p};
  auto const plan = plan_for(p, l.n, fits<AF>).plan;
  if (!fits<AF>(plan)) return;
  workspace<state_of<K>, any_schedule, first_type<Store..., toys::every_tier>> work;
  resume_point<bar_of<K>> noted{l.n, l.all.seed};
  bool turned = false;
  auto const seed = [&](state_of<K> const& last) {
    auto bar = seed_function<K>{}(last);
    turned = true;
    return bar;
  };
  auto const noting = hooked(AF::template make<K>(), [&](state_of<K> const&, bar_of<K> const& bar, step_index i) {
    noted = {i, bar};
  });
  bool const stopped = thrown(p, [&] {
    state_of<K> x0 = l.initial();
    wide saves = 0, loads = 0;
    (void)gradient(step{}, x0, plan, seed, noting, work, counter{saves, loads});
  });
  if (!stopped) return;
  state_of<K> x0 = l.initial();
  if (!turned) {
    p.tells("goes on from its way forward");
    same(p, l, resume(step{}, x0, plan, seed, noting, work), "the sweep that goes on");
    return;
  }
  p.tells("resumed at " + std::to_string(noted.open));
  auto const from = noted;
  same(p, l, resume(step{}, x0, plan, from, noting, work), "the resumed sweep");
  ++seen.resumed;
}

/// A hook that does nothing, after any form of adjoint.
struct idle {
  void operator()(auto const&, auto&, step_index) const {}
  void operator()(auto const&, auto&, step_index, step_index) const {}
};

/// Hooks, jumps that do nothing, and inner loops around a step and an adjoint in any form.
template <class K, class SF, class AF>
void wrapped(program& p) {
  p.tells(std::string{"wrapped loop of "} + K::name + ", step " + SF::name + ", adjoint " + AF::name);
  loop<K> const l{p};
  if (l.n == 0) return;
  typename SF::template step<K> step;
  auto adjoint = AF::template make<K>();
  auto const stay = [](state_of<K>&) {};
  auto const back = [](state_of<K> const&, bar_of<K>&) {};
  step_index const before = p.from.in(0, l.n - 1), after = p.from.in(0, l.n - 1), every = p.from.in(1, l.n + 1);
  p.tells("jumps before " + std::to_string(before) + ", after " + std::to_string(after) + ", every " +
          std::to_string(every));
  with_jumps const jumps{step,
                         adjoint,
                         jump_at(before, stay, back),
                         jump_after(after, stay, back),
                         jump_when([&](state_of<K> const&, step_index i) { return i % every == 0; }, stay, back)};
  toys::every_tier store;
  auto const x0 = l.initial();
  auto const plan = plan_for(p, l.n, fits<AF>).plan;
  auto const hooks = hooked(jumps.adjoint, idle{});
  if (fits<AF>(plan))
    same(p, l, gradient(jumps.step, x0, plan, seed_function<K>{}, hooks, store), "with jumps and a hook");
  step_index inner = p.from.in(1, l.n);
  while (l.n % inner != 0) --inner;
  auto const inside = plan_for(p, inner, fits<AF>).plan, outside = plan_for(p, l.n / inner, fits<one_step>).plan;
  if (!fits<AF>(inside) || !fits<one_step>(outside)) return;
  any_schedule const in_reach = in_memory{inside};
  nested const inner_loop{in_reach, jumps.step, hooks};
  same(p, l, gradient(inner_loop.step, x0, outside, seed_function<K>{}, inner_loop.adjoint, store), "an inner loop");
}

/// What can be asked of a run that is kept: reversed in several forms, walked backwards, asked for states, in any
/// order, and with exceptions. Forms of adjoints go with those of steps, so that each is compiled for some runs.
template <class K, class SF, class Run>
void play(program& p, loop<K> const& l, Run& run, step_index leaf, bool reversed = false) {
  auto const is_state = [&]<class X>(X const& x, step_index i) {
    if constexpr (std::is_same_v<X, state_of<K>>) K::read(x, now_numbers);
    else now_numbers.assign(x.begin(), x.end());  // a snapshot
    return now_numbers == l.all.states[std::size_t(i)];
  };
  p.check(run.steps() == l.n, "the run has its steps");
  if (!is_object<K> || !reversed) p.check(is_state(run.final_state(), l.n), "the final state is right");
  auto const reverse = [&](auto form) {
    using AF = decltype(form);
    p.tells(std::string{"reverse, "} + AF::name);
    auto const whole = [&] { return run.reverse(l.all.seed, AF::template make<K>()); };
    if (leaf > 1 && !is_leaf<AF>) return refused<invalid_plan>(p, "an adjoint of one step", whole);
    if (p.from.one_of(4)) thrown(p, whole);
    same(p, l, whole(), "a reverse");
    if constexpr (is_object<K>)
      if (l.n > 0) refused<invalid_call>(p, "a final state that the object has left", [&] { (void)run.final_state(); });
    ++seen.reversed_again;
  };
  for (step_index k = p.from.in(1, 5); k > 0; --k) switch (p.from.in(0, 5)) {
      case 0:
        if constexpr (std::is_same_v<K, of_resaved>) reverse(moving<one_step>{});
        else if constexpr (std::is_same_v<SF, in_place>) reverse(one_step{});
        else reverse(with_next{});
        break;
      case 1:
      case 2:
        if constexpr (std::is_same_v<K, of_resaved>) reverse(moving<of_leaf>{});
        else reverse(of_leaf{});
        break;
      case 3:
        if constexpr (std::is_same_v<SF, by_value>) reverse(with_next{});
        else reverse(recorded{});
        break;
      case 4: {
        step_index const stop = p.from.one_of(2) ? 0 : p.from.in(0, l.n);
        p.tells("backward to " + std::to_string(stop));
        auto const walk = [&] {
          step_index expected = l.n;
          for (auto [i, x] : run.backward()) {
            p.check(i == expected-- && is_state(x, i), "a walk backwards meets every state");
            if (i == stop) return;
          }
        };
        if (leaf > 1) refused<invalid_plan>(p, "a walk over leaves", walk);
        else walk();
        break;
      }
      default: {
        step_index const i = p.from.in(-1, l.n + 1);
        p.tells("at " + std::to_string(i));
        if (i < 0 || i > l.n) refused<invalid_call>(p, "a state that is not there", [&] { (void)run.at(i); });
        else p.check(is_state(run.at(i), i), "a state that is asked for is right");
      }
    }
}

template <class K, class SF, class Store>
void loops_in(program& p, Store& store) {
  p.tells(std::string{"kept run of "} + K::name + ", step " + SF::name);
  using step = typename SF::template step<K>;
  loop<K> const l{p};
  auto const plan = plan_for(p, l.n, [](any_schedule const& made) { return tapes_of(made) == 0; }).plan;
  state_of<K> x0 = l.initial();
  if (tapes_of(plan) > 0)
    return refused<invalid_plan>(p, "a plan with tapes", [&] { (void)checkpointed_loop(step{}, x0, plan, store); });
  step_calls = 0;
  bool reversed = false;
  auto run = checkpointed_loop(step{}, x0, plan, store);
  if constexpr (std::is_same_v<Store, toys::every_tier>) {
    if (p.from.one_of(3)) {
      same(p, l, run.reverse(l.all.seed, of_leaf::make<K>()), "the first reverse");
      reversed = true;
      auto const predicted = estimate(plan, {.form = {.step = form_of<K, SF, one_step>.step,
                                                      .adjoint = adjoint_form::leaf,
                                                      .keeps_run = true,
                                                      .snapshots = is_object<K>}})
                                 .step_calls;
      p.check(wide(step_calls) == predicted && run.step_calls() == predicted,
              "step calls of a kept run are as predicted");
    }
  }
  play<K, SF>(p, l, run, plan.leaf(), reversed);
}
template <class K, class SF>
void loops(program& p) {
  toys::every_tier store;
  loops_in<K, SF>(p, store);
}

template <class K, class SF>
void whiles(program& p) {
  p.tells(std::string{"loop of unknown length of "} + K::name + ", step " + SF::name);
  loop<K> const l{p};
  slot_index const slots = random_slots(p.from, l.n);
  bool const eager = p.from.one_of(2);
  p.tells(told("online", {slots, eager}));
  state_of<K> x0 = l.initial();
  step_index asked = 0;
  step_calls = 0;
  auto run = checkpointed_while(
      typename SF::template step<K>{}, x0,
      [&](state_of<K> const& x, step_index i) {
        K::read(x, now_numbers);
        p.check(i == asked++ && now_numbers == l.all.states[std::size_t(i)],
                "keep_going is asked for every state once");
        return i < l.n;
      },
      online{slots, {.eager = eager}});
  p.check(asked == l.n + 1 && step_calls == l.n, "each step runs once on the way forward");
  play<K, SF>(p, l, run, 1);
}

/// Gradients and kept runs over a store of the tests, which is used again.
template <class Store, class SF, class AF>
void stores(program& p) {
  using K = of_pendulum;
  p.tells(std::string{"a store, step "} + SF::name + ", adjoint " + AF::name);
  Store store;
  if constexpr (requires { store.random; }) store.random.seed(unsigned(p.from.in(0, 1'000'000)));
  for (step_index round = p.from.in(1, 3); round > 0; --round) {
    loop<K> const l{p};
    auto const plan = plan_for(p, l.n, fits<AF>).plan;
    if (!fits<AF>(plan)) continue;
    if constexpr (std::is_same_v<Store, toys::tiered>)
      store = toys::tiered{plan, p.from.one_of(2) ? toys::in_memory::as_frames : toys::in_memory::as_bytes};
    if (p.from.one_of(3))
      thrown(p, [&] {
        auto x0 = l.initial();
        wide saves = 0, loads = 0;
        (void)swept<K, SF, AF>(l, plan, x0, store, counter{saves, loads});
      });
    check_gradient<K, SF, AF>(p, l, plan, store, detail::may_lose<Store>);
  }
}
template <class Store, class SF>
void loops_over(program& p) {
  Store store;
  if constexpr (requires { store.random; }) store.random.seed(unsigned(p.from.in(0, 1'000'000)));
  p.tells("over a store");
  loops_in<of_pendulum, SF>(p, store);
}

/// A replay check finds a step that changes only the structure of its state when it is run again, wherever somebody
/// gets that state, and nothing else.
inline void structures(program& p) {
  using K = of_structure;
  loop<K> const l{p};
  any_schedule const plan = in_memory{plan_for(p, l.n, fits<of_leaf>).plan};
  if (!fits<of_leaf>(plan)) return;
  step_index const bad = p.from.in(0, l.n / 2);
  unsigned const how = unsigned(p.from.in(0, 5));
  auto const mode = p.from.one_of(2) ? replay_check::checkpoints : replay_check::every_step;
  p.tells("step " + std::to_string(bad) + " changes structure " + std::to_string(how));
  std::map<step_index, K::state> first;
  long runs = 0;
  bool faulty = false, other = false;
  auto const sees = [&](K::state const& x, step_index i) {
    other = other || first.emplace(i, x).first->second != x;
  };
  auto const step = [&](K::state& x, step_index i) {
    sees(x, i);
    in_place::step<K>{}(x, i);
    if (i == bad && runs++ > 0 && faulty) K::change(x, how);
  };
  auto const adjoint = [&](K::state const& x, numbers& bar, step_index from, step_index to) {
    sees(x, from);
    of_leaf::adjoint<K>{}(x, bar, from, to);
  };
  auto const sweep = [&](auto... options) {
    first.clear();
    runs = 0;
    other = false;
    return gradient(step, l.initial(), plan, l.all.seed, adjoint, options...);
  };
  same(p, l, sweep(sweep_options{mode}), "a sweep with a replay check");
  faulty = true;
  (void)sweep();
  // The next step makes the structure anew, so that `checkpoints` sees the change only where a recomputation ends.
  bool const must = other && mode == replay_check::every_step;
  bool const reruns = runs > 1;
  bool found = false;
  try {
    (void)sweep(sweep_options{mode});
  } catch (nondeterminism_error const&) { found = true; }
  p.check(found || !must, "another structure is found where somebody gets it");
  p.check(!found || reruns, "a step that runs once is not accused");
  seen.structures += found;
}

inline void impossible(program& p) {
  step_index const n = p.from.in(0, 50);
  bool refused = false;
  auto const what = impossible_plan(p.from, n, refused);
  p.tells(what + " for " + std::to_string(n) + " steps");
  p.check(refused, "a plan that cannot be is refused");
}

using any_program = void (*)(program&);

/// The program of a number: empty, or what is wrong with it.
inline std::string faults_of(unsigned long number, std::initializer_list<any_program> kinds) {
  program p{number};
  int const outside = pendulum::state::alive;
  std::string wrong;
  try {
    kinds.begin()[p.from.in(0, step_index(kinds.size()) - 1)](p);
  } catch (fault const& found) {
    wrong = found.text;
  } catch (std::exception const& other) {
    wrong = std::string{"an exception that no rule predicts: "} + other.what();
  } catch (::planned const&) {
    wrong = "an exception of a user's function at a place where none was planned";
  }
  the_fuse.disarm();
  if (wrong.empty() && pendulum::state::alive != outside) wrong = "states are left behind";
  return wrong.empty() ? wrong : "program " + std::to_string(number) + p.text + "\n  does not hold: " + wrong;
}

inline unsigned long number_in(char const* variable, unsigned long otherwise) {
  char const* const text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

/// Runs programs first, first + 1, ..., and counts in `seen` what they came to; CAIRN_FUZZ_PROGRAM runs one by its
/// number instead. Returns whether all ran.
inline bool run_programs(unsigned long first, unsigned long count, std::initializer_list<any_program> kinds) {
  bool const one = std::getenv("CAIRN_FUZZ_PROGRAM") != nullptr;
  if (one) first = number_in("CAIRN_FUZZ_PROGRAM", 0), count = 1;
  seen = {};
  for (unsigned long number = first; number < first + count; ++number) {
    INFO("program " << number);
    auto const wrong = faults_of(number, kinds);
    if (!wrong.empty()) FAIL(wrong << "\n  again, alone: CAIRN_FUZZ_PROGRAM=" << number << " and this program");
  }
  SUCCEED();
  return !one;
}

}  // namespace fuzz
