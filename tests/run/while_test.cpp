// SPDX-License-Identifier: Apache-2.0
// Loops of unknown length: the same bits as storing everything, wherever they end, in every form of step and adjoint,
// with lag and eager; how often the user's functions are called; early stops; what observers see; solver objects; rules
// other than ours.
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>
#include "support/catch.hpp"
#include "support/fuse.hpp"
#include "support/heap.hpp"
#include "support/kernels.hpp"
#include "support/pendulum.hpp"
#include "support/toy_stores.hpp"

using cairn::action;
using cairn::action_kind;
using cairn::content;
using cairn::slot_index;
using cairn::step_index;
using cairn::tier;

namespace {

/// A rule of a user's own: keeps the first states, and never gives one up.
class first_states {
 public:
  explicit first_states(slot_index slots, bool eager = false) : slots_{slots}, eager_{eager} {}
  [[nodiscard]] slot_index slots() const { return slots_; }

  class cursor {
   public:
    cursor(slot_index slots, bool eager) : slots_{slots}, eager_{eager} {}
    [[nodiscard]] bool lags() const { return !eager_; }
    void stop_at(step_index n, step_index live) {
      CHECK_FALSE(stopped_);
      CHECK((live == n || live == n - 1));
      CHECK(live >= from_);
      CHECK(n - 1 <= at_);
      stopped_ = true;
      steps_ = open_ = n;
      at_ = live;
    }
    action next() {
      if (!stopped_) return forward();
      if (!turned_) {
        turned_ = true;
        return make(action_kind::turn, no, at_, steps_);
      }
      if (open_ == 0) return kept_ > 0 && dropped_ < kept_ ? make(action_kind::drop, dropped_++, 0, 0) : action{};
      if (at_ == open_ - 1) {
        --open_;
        at_ = -1;
        return make(action_kind::reverse, no, open_, open_ + 1);
      }
      if (at_ >= 0 && at_ < open_ - 1) {
        step_index const from = at_;
        at_ = open_ - 1;
        return make(action_kind::advance, no, from, at_);
      }
      slot_index const slot = open_ - 1 < kept_ ? open_ - 1 : kept_ - 1;
      at_ = slot;
      return make(action_kind::load, slot, slot, 0);
    }

   private:
    static constexpr slot_index no = cairn::no_slot;
    static action make(action_kind kind, slot_index slot, step_index from, step_index to) {
      return {kind, tier::memory, content::state, slot, from, to};
    }
    action forward() {
      if (kept_ < slots_ && candidate_) {
        candidate_ = false;
        ++kept_;
        return make(action_kind::save, kept_ - 1, at_, 0);
      }
      from_ = at_;
      at_ = kept_ < slots_ ? at_ + 1 : std::numeric_limits<step_index>::max();
      candidate_ = true;
      return make(action_kind::advance, no, from_, at_);
    }
    slot_index slots_, kept_ = 0, dropped_ = 0;
    bool eager_, candidate_ = true, stopped_ = false, turned_ = false;
    step_index from_ = 0, at_ = 0, steps_ = 0, open_ = 0;
  };
  [[nodiscard]] cursor walk() const { return {slots_, eager_}; }

 private:
  slot_index slots_;
  bool eager_;
};
static_assert(cairn::open_schedule<first_states>);

/// Says yes until state n, and notes whether it is asked about each state once and in order.
struct until {
  step_index n;
  step_index asked = 0;
  bool in_order = true;
  bool operator()(pendulum::state const&, step_index i) {
    in_order = in_order && i == asked;
    return asked++ < n;
  }
};

/// Notes what was done, and holds the executor to the order of its own actions.
struct watcher {
  std::vector<action> seen;
  std::optional<action> open;
  bool in_order = true;
  void operator()(cairn::event const& e) {
    action const& a = e.what();
    bool const begins = e.moment() == cairn::moment::before;
    in_order = in_order && open.has_value() != begins &&
               (begins || (open->kind == a.kind && open->from == a.from && a.to <= open->to && a.slot == open->slot));
    if (begins) {
      open = a;
    } else {
      open.reset();
      seen.push_back(a);
    }
  }
  [[nodiscard]] cairn::wide steps() const {
    cairn::wide sum = 0;
    for (action const& a : seen)
      if (a.kind == action_kind::advance || a.kind == action_kind::turn) sum += cairn::wide(a.to - a.from);
    return sum;
  }
};

template <class Step>
constexpr cairn::sweep_form form_of(cairn::adjoint_form adjoint) {
  return {cairn::detail::shape_of_step<Step, pendulum::state>().form, adjoint, false, true};
}

/// Answers what an observer saw.
template <class Step, class Plan>
std::vector<action> check_loop(Plan const& plan, step_index n, pendulum::stored const& all) {
  CAPTURE(n, plan.slots(), plan.walk().lags());
  int const outside = pendulum::state::alive;
  watcher sight;
  {
    pendulum::step_calls = 0;
    pendulum::state::peak = outside;
    until keep_going{n};
    auto run = cairn::checkpointed_while(Step{}, pendulum::start(), keep_going, plan, sight);
    CHECK(run.steps() == n);
    CHECK(pendulum::step_calls == n);
    CHECK(sight.steps() == cairn::wide(n));
    CHECK(run.final_state().v == all.states[std::size_t(n)]);
    bool right = true;
    auto const kept = run.checkpoints();
    for (step_index before = 0; auto [position, x] : kept) {
      right = right && x.v == all.states[std::size_t(position)] && &kept.at(position) == &x;
      right = right && std::exchange(before, position) < position;  // in order, whatever slots they are in
    }
    CHECK(right);
    CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
    CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));
    CHECK(sight.steps() == run.step_calls());
    CHECK(sight.in_order);
    CHECK(pendulum::state::peak - outside <=
          1 + plan.slots() + cairn::working_frames(form_of<Step>(cairn::adjoint_form::one_step), 1));
    CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
    CHECK(run.reverse(pendulum::seed, pendulum::recorded()) == all.gradient);
    CHECK(run.reverse(pendulum::seed, pendulum::leaf{}) == all.gradient);
    CHECK(run.reverse(pendulum::seed, pendulum::one_step_by_value{}) == all.gradient);
    step_index expected = n;
    for (auto [i, x] : run.backward()) {
      right = right && i == expected-- && x.v == all.states[std::size_t(i)];
      if (i % 7 == 0) right = right && run.at(i / 2).v == all.states[std::size_t(i / 2)];
    }
    CHECK(right);
    CHECK(expected == -1);
    auto moved = std::move(run);
    CHECK(moved.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
    CHECK(keep_going.asked == n + 1);
    CHECK(keep_going.in_order);
  }
  CHECK(pendulum::state::alive == outside);
  return sight.seen;
}

/// Up to the end of the first of the sweeps that were seen.
std::vector<action> first_sweep(std::vector<action> seen) {
  for (std::size_t k = 0; k < seen.size(); ++k)
    if (seen[k].kind == action_kind::done) seen.resize(k);
  return seen;
}
std::vector<action> all_of(auto const& plan) {
  std::vector<action> all;
  auto walk = plan.walk();
  for (action a = walk.next(); a.kind != action_kind::done; a = walk.next()) all.push_back(a);
  return all;
}

template <class Step>
void check_online(cairn::online const& plan, step_index n, pendulum::stored const& all) {
  bool const at_hand = !std::is_same_v<Step, pendulum::in_place>;
  auto const predicted = plan.stopping_at(n, at_hand);
  auto const seen = first_sweep(check_loop<Step>(plan, n, all));
  CHECK((seen == all_of(predicted)));
  pendulum::step_calls = 0;
  auto run = cairn::checkpointed_while(Step{}, pendulum::start(), until{n}, plan);
  (void)run.reverse(pendulum::seed, pendulum::one_step{});
  CHECK(cairn::wide(pendulum::step_calls) ==
        cairn::estimate(predicted, {.form = form_of<Step>(cairn::adjoint_form::one_step)}).step_calls);
}

using kernels::vec2;
constexpr auto kernel_step = [](vec2& x, step_index i) { kernels::step(x.data(), i); };
constexpr auto kernel_adjoint = [](vec2 const& x, vec2& bar, step_index i) {
  kernels::adjoint(x.data(), bar.data(), i);
};
constexpr auto kernel_seed = [](vec2 const& x) { return kernels::seed(x.data()); };

}  // namespace

TEST_CASE("a loop of unknown length gives the bits of storing everything, and does what the plan of its length says") {
  for (step_index n = 0; n <= 60; n += n < 24 ? 1 : 3) {
    pendulum::stored const all{n};
    for (slot_index slots = 1; slots <= 6; ++slots)
      for (bool const eager : {false, true}) {
        cairn::online const plan{slots, {.eager = eager}};
        check_online<pendulum::in_place>(plan, n, all);
        check_online<pendulum::by_value>(plan, n, all);
        check_online<pendulum::out_of_place>(plan, n, all);
      }
  }
}

TEST_CASE("a loop of unknown length runs under a rule of a user's own") {
  for (step_index n = 0; n <= 12; ++n) {
    pendulum::stored const all{n};
    for (bool const eager : {false, true})
      for (slot_index const slots : {1, 2, 5}) {
        check_loop<pendulum::in_place>(first_states{slots, eager}, n, all);
        check_loop<pendulum::by_value>(first_states{slots, eager}, n, all);
        check_loop<pendulum::out_of_place>(first_states{slots, eager}, n, all);
      }
  }
}

TEST_CASE("an in-place step that returns false was the last one, and counts") {
  for (step_index const last : {0, 1, 7, 30})
    for (bool const eager : {false, true}) {
      step_index const n = last + 1;
      CAPTURE(n, eager);
      until asked{1000};
      auto const step = [last](pendulum::state& x, step_index i) {
        ++pendulum::step_calls;
        pendulum::swing(x.v, x.v, i);
        return i < last;
      };
      pendulum::stored const all{n};
      pendulum::step_calls = 0;
      auto run = cairn::checkpointed_while(step, pendulum::start(), asked, cairn::online{3, {.eager = eager}});
      CHECK(run.steps() == n);
      CHECK(asked.asked == n + 1);
      CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
      CHECK(run.reverse(pendulum::seed, pendulum::recorded()) == all.gradient);
      CHECK(run.at(last).v == all.states[std::size_t(last)]);
      CHECK(run.step_calls() >= cairn::wide(n));
      until first{n - 1};
      CHECK(cairn::checkpointed_while(step, pendulum::start(), first, cairn::online{3, {.eager = eager}}).steps() ==
            n - 1);
      CHECK(first.asked == n);
    }
  auto const halve = [](double& x) { return (x /= 2) > 1; };
  auto run = cairn::checkpointed_while(halve, 10.0, [](double) { return true; }, cairn::online{2});
  CHECK(run.steps() == 4);
  CHECK(run.reverse(1.0, [](double, double& bar) { bar /= 2; }) == 1.0 / 16);
  auto told = cairn::checkpointed_while(cairn::in_place(halve), 10.0, [](double) { return true; }, cairn::online{2});
  CHECK(told.steps() == 4);
}

TEST_CASE("keep_going may take only the state, and may return what converts to bool") {
  auto const newton = [](double x) { return (x + 2 / x) / 2; };
  auto const by_state = [](double const& x) { return std::abs(x * x - 2) > 1e-12; };
  auto run = cairn::checkpointed_while(newton, 1.0, by_state, cairn::online{2});
  CHECK(run.steps() == 5);
  CHECK(run.final_state() == Approx(std::sqrt(2)));
  auto [last, checkpoints] = cairn::checkpointed_while(
      newton, 1.0, [](double, step_index i) { return int(3 - i); }, cairn::online{2});
  CHECK(last == newton(newton(newton(1.0))));
  CHECK(checkpoints.size() <= 2);
  bool (*const function)(double const&) = +by_state;
  CHECK(cairn::checkpointed_while(newton, 1.0, function, cairn::online{1}).steps() == 5);
}

TEST_CASE("a loop of unknown length runs over stores that copy, complete late or lose what they hold") {
  for (step_index const n : {0, 1, 2, 9, 40})
    for (bool const eager : {false, true}) {
      pendulum::stored const all{n};
      cairn::online const plan{4, {.eager = eager}};
      auto const check = [&](auto store) {
        auto const back_and_forth = [&](auto step) {
          auto run = cairn::checkpointed_while(step, pendulum::start(), until{n}, plan, store);
          CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
          CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == all.gradient);
          CHECK(run.at(n / 2).v == all.states[std::size_t(n / 2)]);
        };
        back_and_forth(pendulum::in_place{});
        back_and_forth(pendulum::by_value{});
        back_and_forth(pendulum::out_of_place{});
      };
      check(toys::keeping{});
      check(toys::serialising{});
      check(toys::late{});
      check(toys::losing<toys::keeping>{});
      check(toys::losing<toys::serialising>{});
    }
}

namespace {

struct solver {
  pendulum::numbers v = pendulum::start().v;
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] pendulum::state save() const { return pendulum::state{v}; }
  void restore(pendulum::state const& snapshot) { v = snapshot.v; }
};

}  // namespace

TEST_CASE("a solver object that cannot be copied may run until it is done, too") {
  for (step_index n = 0; n <= 40; ++n)
    for (slot_index const slots : {1, 2, 4})
      for (bool const eager : {false, true}) {
        CAPTURE(n, slots, eager);
        pendulum::stored const all{n};
        cairn::online const plan{slots, {.eager = eager}};
        int const outside = pendulum::state::alive;
        pendulum::state::peak = outside;
        long calls = 0;
        solver x;
        auto const step = [&](solver& s, step_index i) { ++calls, pendulum::swing(s.v, s.v, i); };
        step_index asked = 0;
        bool right = true;
        auto const keep_going = [&](solver const& s, step_index i) {
          right = right && s.v == all.states[std::size_t(i)];
          return asked++ < n;
        };
        auto run = cairn::checkpointed_while(step, x, keep_going, plan);
        CHECK(right);
        CHECK(run.steps() == n);
        CHECK(asked == n + 1);
        CHECK(run.final_state().v == all.states.back());
        CHECK(run.reverse([](solver const& s) { return s.v; }, [](solver const& s, pendulum::numbers& bar,
                                                                  step_index) { pendulum::swing_back(s.v, bar); }) ==
              all.gradient);
        CHECK(cairn::wide(calls) == cairn::estimate(plan.stopping_at(n, false)).step_calls);
        CHECK(pendulum::state::peak - outside <= slots + 1);
      }
}

TEST_CASE("a warm loop of unknown length allocates nothing") {
  for (bool const eager : {false, true}) {
    cairn::online const plan{5, {.eager = eager}};
    auto work = cairn::workspace_for<vec2>(plan);
    auto const sweep = [&](step_index n) {
      auto run = cairn::checkpointed_while(
          kernel_step, kernels::start, [n](vec2 const&, step_index i) { return i < n; }, plan, work);
      return run.reverse(kernel_seed, kernel_adjoint);
    };
    (void)sweep(3);
    for (step_index const n : {200, 0, 1, 57}) {
      heap::mark const before;
      vec2 const bar = sweep(n);
      std::size_t const asked = before.allocated();
      CHECK(asked == 0);
      CHECK(bar == kernels::gradient(n));
    }
  }
}

TEST_CASE("a workspace serves one loop after another, also over a store of the caller's") {
  cairn::online const plan{3};
  auto work = cairn::workspace_for<pendulum::state>(plan);
  toys::serialising store;
  auto stored = cairn::workspace_for<pendulum::state>(plan, store);
  for (step_index const n : {30, 0, 2, 61}) {
    auto run = cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), until{n}, plan, work);
    CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == pendulum::stored{n}.gradient);
    auto other = cairn::checkpointed_while(pendulum::by_value{}, pendulum::start(), until{n}, plan, stored);
    CHECK(other.reverse(pendulum::seed, pendulum::one_step{}) == pendulum::stored{n}.gradient);
  }
  auto first = cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), until{9}, plan, work);
  auto second = cairn::checkpointed_while(pendulum::in_place{}, pendulum::start(), until{9}, plan, work);
  CHECK_THROWS_AS(first.reverse(pendulum::seed, pendulum::one_step{}), cairn::invalid_call);
  CHECK(second.reverse(pendulum::seed, pendulum::one_step{}) == pendulum::stored{9}.gradient);
}

namespace {

constexpr double spoilt = 1e300;

struct throwing_in_place {
  void operator()(tracked& x, step_index i) const {
    double const kept = std::exchange(x.numbers()[0], spoilt);
    the_fuse.pass(site::step, i);
    x.numbers()[0] = kept;
    kernels::step(x.numbers(), i);
  }
};
struct throwing_by_value {
  tracked operator()(tracked const& x, step_index i) const {
    tracked y = x;
    throwing_in_place{}(y, i);
    return y;
  }
};
struct throwing_out_of_place {
  void operator()(tracked const& x, tracked& y, step_index i) const {
    y.numbers()[0] = spoilt;
    the_fuse.pass(site::step, i);
    y.numbers()[0] = x.numbers()[0];
    y.numbers()[1] = x.numbers()[1];
    kernels::step(y.numbers(), i);
  }
};

/// Lets call 0, 1, 2 ... from `here` throw, until a sweep gets through; the workspace must serve the next one each
/// time.
template <class Step>
void survives(site here, bool eager) {
  constexpr step_index n = 23;
  vec2 const expected = kernels::gradient(n);
  cairn::online const plan{3, {.eager = eager}};
  auto work = cairn::workspace_for<tracked>(plan);
  tracked const x0{kernels::start};
  auto const keep_going = [](tracked const&, step_index i) {
    the_fuse.pass(site::hook, i);
    return i < n;
  };
  auto const look = [](cairn::event const& e) { the_fuse.pass(site::observer, e.what().from); };
  auto const sweep = [&](bool again) {
    auto run = cairn::checkpointed_while(Step{}, x0, keep_going, plan, work, look);
    auto const seed = [](tracked const& last) { return the_fuse.pass(site::seed), kernels::seed(last.numbers()); };
    auto const adjoint = [](tracked const& x, vec2& bar, step_index i) {
      double const kept = std::exchange(bar[0], spoilt);
      the_fuse.pass(site::adjoint, i);
      bar[0] = kept;
      kernels::adjoint(x.numbers(), bar.data(), i);
    };
    if (!again) return run.reverse(seed, adjoint);
    try {
      return run.reverse(seed, adjoint);
    } catch (planned const&) {
      CHECK(run.failure().failed);
      CHECK(run.failure().step == (here == site::seed          ? n
                                   : the_fuse.last_step() >= 0 ? the_fuse.last_step()
                                                               : run.failure().step));
      return run.reverse(seed, adjoint);  // the run itself goes on, too
    }
  };
  std::int64_t const outside = tracked::alive;
  bool burnt = true;
  std::int64_t call = 0;
  for (; burnt; ++call)
    for (bool const again : {false, true}) {
      CAPTURE(call, again, eager);
      burnt = false;
      the_fuse.arm(here, call);
      try {
        vec2 const bar = sweep(again);
        CHECK(bar == expected);
      } catch (planned const& e) {
        burnt = true;
        CHECK(&e == planned::made);
        CHECK(work.failure().failed);
        if (here == site::step || here == site::hook) CHECK(work.failure().step == the_fuse.last_step());
      }
      if (call < std::int64_t(the_fuse.calls().size())) burnt = true;
      the_fuse.disarm();
      CHECK(sweep(false) == expected);
      CHECK_FALSE(work.failure().failed);
    }
  CHECK(call > 1);
  work = {};
  CHECK(tracked::alive == outside);
}

}  // namespace

TEST_CASE("what user code throws passes through a loop of unknown length, which can be run again") {
  for (bool const eager : {false, true})
    for (site const here : {site::step, site::hook, site::seed, site::adjoint, site::observer, site::copy}) {
      CAPTURE(int(here));
      survives<throwing_in_place>(here, eager);
      survives<throwing_by_value>(here, eager);
      if (here != site::copy) survives<throwing_out_of_place>(here, eager);
    }
}

TEST_CASE("a sweep in the workspace of a loop that is still running is refused") {
  cairn::online const plan{2};
  auto work = cairn::workspace_for<vec2>(plan);
  auto const until_five = [](vec2 const&, step_index i) { return i < 5; };
  auto const nested = [&](vec2 const&, step_index i) {
    return cairn::checkpointed_while(kernel_step, kernels::start, until_five, plan, work).steps() > i;
  };
  CHECK_THROWS_AS(cairn::checkpointed_while(kernel_step, kernels::start, nested, plan, work), cairn::reentrancy_error);
  CHECK(work.failure().failed);
  CHECK(cairn::checkpointed_while(kernel_step, kernels::start, until_five, plan, work)
            .reverse(kernel_seed, kernel_adjoint) == kernels::gradient(5));
}

namespace {

/// Answers the same action again and again.
struct stubborn {
  action answer;
  struct cursor {
    action answer;
    [[nodiscard]] action next() const { return answer; }
    void stop_at(step_index, step_index) {}
    [[nodiscard]] bool lags() const { return false; }
  };
  [[nodiscard]] slot_index slots() const { return 2; }
  [[nodiscard]] cursor walk() const { return {answer}; }
};

}  // namespace

TEST_CASE("a cursor whose action cannot be carried out gets an error") {
  auto const until_five = [](vec2 const&, step_index i) { return i < 5; };
  auto const run = [&](action a) {
    return cairn::checkpointed_while(kernel_step, kernels::start, until_five, stubborn{a}).steps();
  };
  auto const make = [](action_kind kind, step_index from, step_index to) {
    return action{kind, tier::memory, content::state, 0, from, to};
  };
  CHECK_THROWS_AS(run(make(action_kind::advance, 1, 2)), cairn::invalid_schedule);
  CHECK_THROWS_AS(run(make(action_kind::advance, 0, 0)), cairn::invalid_schedule);
  CHECK_THROWS_AS(run(make(action_kind::advance, 0, 9)), cairn::invalid_schedule);  // and no turn after the stop
  CHECK_THROWS_AS(run(make(action_kind::turn, 0, 0)), cairn::invalid_schedule);
  CHECK_THROWS_AS(run(make(action_kind::save, 1, 0)), cairn::invalid_schedule);
  CHECK_THROWS_AS(run(make(action_kind::load, 0, 0)), cairn::invalid_schedule);
  CHECK_THROWS_AS(run(action{}), cairn::invalid_schedule);
}
