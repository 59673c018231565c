// SPDX-License-Identifier: Apache-2.0
// Single cases of the replay check: stale targets, solver objects, loops of unknown length, nested loops, stopped and
// lost sweeps, memory.
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/nested.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"
#include "support/toy_stores.hpp"

using namespace cairn;

namespace {

constexpr replay_check modes[] = {replay_check::checkpoints, replay_check::every_step};
using numbers = std::vector<double>;

/// What a replay check says of a sweep, if it says anything.
template <class Sweep>
std::optional<replay_difference> difference_in(Sweep sweep) {
  try {
    (void)sweep();
  } catch (nondeterminism_error const& e) {
    return e.found;
  }
  return {};
}

/// Runs of two steps or more that an advance makes after the turn.
template <class Plan>
int long_replays(Plan const& plan) {
  int count = 0;
  bool turned = false;
  for (action const& a : actions_of(plan)) {
    turned = turned || a.kind == action_kind::turn;
    count += turned && a.kind == action_kind::advance && a.to - a.from > 1;
  }
  return count;
}

}  // namespace

TEST_CASE("a step that does not write all of x1 is found wherever it is run again, for any part left out") {
  struct state {
    numbers v;
    std::vector<int> marks;
  };
  auto const adjoint = [](state const& x, numbers& bar, step_index) { bar[0] += x.v[0]; };
  auto const seed = [](state const& x) { return x.v; };
  auto const all = [](state const& x, state& x1, step_index i) {
    x1.v[0] = x.v[0] + 0.1 * x.v[1];
    x1.v[1] = x.v[1] - 0.1 * x.v[0];
    x1.marks[0] = i % 2 == 0 ? int(i) : x.marks[0];
    x1.marks[1] = i % 2 != 0 ? int(i) : x.marks[1];
  };
  auto const half_of_numbers = [&](state const& x, state& x1, step_index i) {
    double const old = x1.v[1];
    all(x, x1, i);
    if (i % 3 == 0) x1.v[1] = old;
  };
  auto const half_of_marks = [&](state const& x, state& x1, step_index i) {
    int const old = x1.marks[std::size_t(i % 2 == 0)];
    all(x, x1, i);
    x1.marks[std::size_t(i % 2 == 0)] = old;
  };
  int planted = 0;
  each_in_memory(40, [&](std::string const& name, auto const& plan) {
    if (tapes_of(plan) > 0 || tapes_restart(plan) || plan.leaf() > 1) return;
    INFO(name);
    any_schedule const p{plan};
    for (auto const mode : modes) {
      sweep_options const options{mode};
      state const x0{{1, 0.5}, {-1, -2}};
      CHECK(gradient(all, x0, p, seed, adjoint, options) == gradient(all, x0, p, seed, adjoint));
      if (long_replays(p) == 0) continue;
      ++planted;
      auto const in_numbers = difference_in([&] { return gradient(half_of_numbers, x0, p, seed, adjoint, options); });
      CHECK(in_numbers);
      CHECK(difference_in([&] { return gradient(half_of_marks, x0, p, seed, adjoint, options); }));
      if (in_numbers && mode == replay_check::every_step) CHECK(in_numbers->first_step % 3 == 0);
    }
  });
  CHECK(planted > 60);
}

namespace {

/// A solver in the style of an adaptive Runge-Kutta object: Heun's method with the error of Euler's, and a step size
/// that is chosen from this error and the one before.
class solver {
 public:
  struct snapshot {
    double u, t, dt;
    long long step;
    double last_error;
  };
  /// \param whole  the error history of the step size controller is part of the snapshot
  explicit solver(bool whole) : whole_{whole} {}
  solver(solver const&) = delete;
  void advance() {
    double const k1 = slope(u_, t_), k2 = slope(u_ + dt_ * k1, t_ + dt_);
    double const error = std::abs(dt_ / 2 * (k2 - k1)) / 1e-3 + 1e-10;
    u_ += dt_ / 2 * (k1 + k2);
    t_ += dt_;
    dt_ *= std::pow(error, -0.35) * std::pow(last_error_, 0.2);
    last_error_ = error;
    ++step_;
  }
  [[nodiscard]] double u() const { return u_; }
  [[nodiscard]] double dt() const { return dt_; }
  [[nodiscard]] double t() const { return t_; }
  [[nodiscard]] snapshot save() const { return {u_, t_, dt_, step_, whole_ ? last_error_ : 0}; }
  void restore(snapshot const& from) {
    u_ = from.u, t_ = from.t, dt_ = from.dt, step_ = from.step;
    if (whole_) last_error_ = from.last_error;
  }
  [[nodiscard]] static double slope(double u, double t) { return std::sin(3 * t) * u - 0.3 * u * u * u; }

 private:
  double u_ = 1.5, t_ = 0, dt_ = 0.01, last_error_ = 1;
  long long step_ = 0;
  bool whole_;
};

template <class... More>
double solve(any_schedule const& plan, bool whole, More... more) {
  solver x{whole};
  auto const step = [](solver& s) { s.advance(); };
  auto const adjoint = [](solver const& s, double& bar) {
    double const c = std::sin(3 * s.t()) - 0.9 * s.u() * s.u();
    bar *= 1 + s.dt() * c;
  };
  return gradient(step, x, plan, 1.0, adjoint, more...);
}

}  // namespace

TEST_CASE(
    "a solver whose snapshot misses the history of its step size gives gradients that depend on the slots, and a "
    "replay check says so") {
  step_index const n = 20;
  double const right = solve(store_all(n), true);
  CHECK(solve(revolve{n, 5}, false) != right);
  CHECK(solve(revolve{n, 2}, false) != solve(revolve{n, 5}, false));
  int planted = 0;
  each_in_memory(n, [&](std::string const& name, auto const& plan) {
    if (tapes_of(plan) > 0 || tapes_restart(plan) || plan.leaf() > 1) return;
    INFO(name);
    any_schedule const p{plan};
    for (auto const mode : modes) {
      CHECK(solve(p, true, sweep_options{mode}) == right);
      toys::keeping store;
      CHECK(solve(p, true, store, sweep_options{mode}) == right);
      if (solve(p, false) == right) continue;  // nothing of consequence is run again
      ++planted;
      auto const found = difference_in([&] { return solve(p, false, sweep_options{mode}); });
      REQUIRE(found);
      CHECK(found->state > found->last_step);
    }
  });
  CHECK(planted > 60);
}

TEST_CASE("an object that does not restore all that it saves is found when it is brought back") {
  struct forgetful {
    forgetful() = default;
    forgetful(forgetful const&) = delete;
    std::pair<double, double> both{1, 2};
    [[nodiscard]] std::pair<double, double> save() const { return both; }
    void restore(std::pair<double, double> const& from) { both.first = from.first; }
  };
  auto const step = [](forgetful& x) { x.both.first += 0.1 * x.both.second, x.both.second *= 0.9; };
  auto const adjoint = [](forgetful const& x, double& bar) { bar += x.both.second; };
  for (auto const mode : modes) {
    forgetful x;
    auto const found = difference_in([&] {
      return gradient(step, x, revolve{10, 2}, 1.0, adjoint, sweep_options{mode});
    });
    REQUIRE(found);
    CHECK(found->first_step == found->state);  // brought back, not run again
  }
}

namespace {

struct moved_snapshot {
  double value;
  explicit moved_snapshot(double x) : value{x} {}
  moved_snapshot(moved_snapshot&&) = default;
  moved_snapshot& operator=(moved_snapshot&&) = default;
  void visit_buffers(auto& f) const { cairn::visit_buffers(value, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(value, f); }
  void visit_numbers(auto& f) const { cairn::visit_numbers(value, f); }
  void visit_numbers(auto& f) { cairn::visit_numbers(value, f); }
};
struct object {
  object() = default;
  object(object const&) = delete;
  double value = 1, hidden = 0;
  [[nodiscard]] moved_snapshot save() const { return moved_snapshot{value}; }
  void restore(moved_snapshot const& from) { value = from.value; }
};

}  // namespace

TEST_CASE("an object whose snapshots cannot be copied is compared, too") {
  auto const step = [](object& x) { x.value += 1 + x.hidden, x.hidden += 0.25; };
  auto const adjoint = [](object const& x, double& bar) { bar += x.value; };
  for (auto const mode : modes) {
    object x;
    CHECK(difference_in([&] { return gradient(step, x, revolve{10, 2}, 1.0, adjoint, sweep_options{mode}); }));
  }
}

namespace {

/// Hides that its copies share what they hold.
class shared_inside {
 public:
  double& value() const { return *value_; }
  void visit_buffers(auto& f) const { cairn::visit_buffers(*value_, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(*value_, f); }

 private:
  std::shared_ptr<double> value_ = std::make_shared<double>(1.0);
};

}  // namespace

TEST_CASE("a state whose copies share their data is found when it is brought back") {
  auto const step = [](shared_inside& x) { x.value() = std::sin(x.value()); };
  auto const adjoint = [](shared_inside const& x, double& bar) { bar *= std::cos(x.value()); };
  for (auto const mode : modes)
    CHECK(difference_in([&] {
      return gradient(step, shared_inside{}, revolve{20, 4}, 1.0, adjoint, sweep_options{mode});
    }));
}

TEST_CASE("if the first state still exists, the first number that differs is named with both values") {
  using enum action_kind;
  action const all[] = {
      {save, tier::memory, content::state, 0, 0, 0},          {advance, tier::memory, content::state, no_slot, 0, 1},
      {save, tier::memory, content::state, 1, 1, 0},          {advance, tier::memory, content::state, no_slot, 1, 2},
      {turn, tier::memory, content::state, no_slot, 2, 3},    {reverse, tier::memory, content::state, no_slot, 2, 3},
      {load, tier::memory, content::state, 0, 0, 0},          {advance, tier::memory, content::state, no_slot, 0, 1},
      {reverse, tier::memory, content::state, no_slot, 1, 2}, {drop, tier::memory, content::state, 1, 0, 0},
      {load, tier::memory, content::state, 0, 0, 0},          {reverse, tier::memory, content::state, no_slot, 0, 1},
      {drop, tier::memory, content::state, 0, 0, 0}};
  action_list const plan{3, 2, all, std::size(all)};
  (void)verify(plan);
  for (bool const zero : {false, true}) {
    int calls = 0;
    auto const step = [&](numbers& x) {
      for (auto& v : x) v += 1;
      if (zero) x[2] = ++calls > 3 ? -0.0 : 0.0;
      else x[2] += ++calls > 3 ? 0.5 : 0.25;
    };
    auto const adjoint = [](numbers const&, numbers&) {};
    auto const found = difference_in([&] {
      return gradient(step, numbers{0, 0, 0}, plan, numbers{1, 1, 1}, adjoint, sweep_options{replay_check::every_step});
    });
    REQUIRE(found);
    CHECK(found->state == 1);
    CHECK(found->first_step == 0);
    CHECK(found->number == 2);
    CHECK(found->first == (zero ? 0.0 : 1.25));
    CHECK(std::signbit(found->again) == zero);
    CHECK(found->again == (zero ? -0.0 : 1.5));
  }
}

TEST_CASE("a loop of unknown length compares as the others do") {
  step_index const n = 37;
  pendulum::stored const all{n};
  auto const going = [&](pendulum::state const&, step_index i) { return i < n; };
  for (auto const mode : modes)
    for (slot_index const s : {1, 2, 3, 7})
      for (bool const eager : {false, true}) {
        online const plan{s, {.eager = eager}};
        sweep_options const options{mode};
        auto const check = [&](auto step) {
          auto run = checkpointed_while(step, pendulum::start(), going, plan, options);
          CHECK(run.steps() == n);
          for (int time = 0; time < 3; ++time) CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
          CHECK(run.at(n / 2).v == all.states[n / 2]);
          std::map<step_index, int> calls;
          auto const hides = [&](pendulum::state& x, step_index i) {
            pendulum::swing(x.v, x.v, i), x.v[0] += calls[i]++ > 0 ? 1e-9 : 0;
          };
          auto faulty = checkpointed_while(hides, pendulum::start(), going, plan, options);
          auto const found = difference_in([&] { return faulty.reverse(pendulum::seed, pendulum::one_step{}); });
          bool const again = [&] {
            for (auto const& [i, k] : calls)
              if (k > 1) return true;
            return false;
          }();
          CHECK(found.has_value() == again);
        };
        check(pendulum::in_place{});
        check(pendulum::by_value{});
        check(pendulum::out_of_place{});
        auto const stops = [&](pendulum::state& x, step_index i) {
          pendulum::swing(x.v, x.v, i);
          return i + 1 < n;
        };
        auto work = workspace_for<pendulum::state>(plan, options);
        auto run = checkpointed_while(
            stops, pendulum::start(), [](pendulum::state const&) { return true; }, plan, work, [](event const&) {});
        CHECK(run.steps() == n);
        CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == all.gradient);
      }
}

TEST_CASE("a run that is kept compares its second reversal, and requested states, with the first run") {
  step_index const n = 20;
  for (auto const mode : modes)
    for (slot_index const slots : {1, 3}) {
      double change = 0;
      auto const step = [&](pendulum::state& x, step_index i) {
        pendulum::swing(x.v, x.v, i), x.v[0] += i < 10 ? 0 : change;
      };
      auto run = checkpointed_loop(step, pendulum::start(), revolve{n, slots}, sweep_options{mode});
      (void)run.reverse(pendulum::seed, pendulum::one_step{});
      (void)run.reverse(pendulum::seed, pendulum::one_step{});
      change = 1e-9;
      CHECK(difference_in([&] { return run.reverse(pendulum::seed, pendulum::one_step{}); }));
      if (mode == replay_check::every_step) {
        auto const found = difference_in([&] { return run.at(15); });
        REQUIRE(found);
        CHECK(found->state <= 15);
      }
      change = 0;
      CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == pendulum::stored{n}.gradient);  // and can go on
    }
}

TEST_CASE("lost checkpoints and stopped sweeps compare what is run again, and find nothing where there is nothing") {
  step_index const n = 40;
  pendulum::stored const all{n};
  for (auto const mode : modes) {
    sweep_options const options{mode};
    toys::losing<toys::keeping> frames;
    toys::losing<toys::serialising> bytes;
    for (int time = 0; time < 20; ++time) {
      CHECK(gradient(pendulum::in_place{}, pendulum::start(), revolve{n, 4}, pendulum::seed, pendulum::one_step{},
                     frames, options) == all.gradient);
      CHECK(gradient(pendulum::out_of_place{}, pendulum::start(), revolve{n, 4}, pendulum::seed, pendulum::with_next{},
                     bytes, options) == all.gradient);
      int calls = 0;
      auto const hides = [&](pendulum::state& x, step_index i) {
        pendulum::swing(x.v, x.v, i), x.v[0] += 1e-9 * ++calls;
      };
      CHECK(difference_in([&] {
        return gradient(hides, pendulum::start(), revolve{n, 4}, pendulum::seed, pendulum::one_step{}, frames, options);
      }));
    }
    CHECK(frames.lost + bytes.lost > 20);
  }
}

namespace {
struct stop {};
}  // namespace

TEST_CASE("a sweep that is stopped at any action goes on with its replay check") {
  step_index const n = 20;
  pendulum::stored const all{n};
  revolve const plan{n, 3};
  for (auto const mode : modes)
    for (bool const outlives : {false, true})
      for (long k = 0, done = 0; done == 0; ++k) {
        toys::serialising store;
        auto in_frames = workspace_for<pendulum::state>(plan, sweep_options{mode});
        auto in_store = workspace_for<pendulum::state>(plan, store, sweep_options{mode});
        auto const go = [&](auto& work) {
          resume_point<numbers> noted{n, {}};
          bool turned = false;
          pendulum::in_place const step;
          auto const seed = [&](pendulum::state const& x) { return turned = true, noted.bar = x.v; };
          auto const adjoint =
              hooked(pendulum::one_step{}, [&](pendulum::state const&, numbers const& bar, step_index i) {
                noted = {i, bar};
              });
          long left = k;
          auto const stops = [&](event const&) {
            if (left-- == 0) throw stop{};
          };
          try {
            auto const whole = gradient(step, pendulum::start(), plan, seed, adjoint, work, stops);
            CHECK(whole == all.gradient);
            done = 1;
          } catch (stop) {
            if (!turned) return;
            CHECK(resume(step, pendulum::start(), plan, noted, adjoint, work) == all.gradient);
            CHECK(resume(step, pendulum::start(), plan, resume_point<numbers>{n, all.states.back()}, adjoint, work,
                         sweep_options{mode}) == all.gradient);
          }
        };
        if (outlives) go(in_store);
        else go(in_frames);
      }
}

TEST_CASE("the x1 that a resumed sweep runs again for its adjoint is compared, too") {
  step_index const n = 20;
  pendulum::stored const all{n};
  for (auto const mode : modes)
    for (slot_index const slots : {1, 3, 20})
      for (bool const fault : {false, true})
        for (step_index stopped = 0; stopped < n; ++stopped) {
          CAPTURE(int(mode), slots, fault, stopped);
          revolve const plan{n, slots};
          bool resumed = false;
          resume_point<numbers> noted{n, {}};
          auto const seed = [&](pendulum::state const& x) { return noted.bar = x.v; };
          auto const adjoint = [&](pendulum::state const& x, pendulum::state const& x1, numbers& bar, step_index i) {
            if (i == stopped && !resumed) throw stop{};
            pendulum::with_next{}(x, x1, bar, i);
            noted = {i, bar};
          };
          auto const go = [&](auto inner) {
            auto const wrong = [&](numbers& v, step_index i) { v[0] += fault && resumed && i == stopped ? 1e-9 : 0; };
            auto const sweep = [&](auto step) {
              resumed = false;
              noted = {n, {}};
              auto work = workspace_for<pendulum::state>(plan, sweep_options{mode});
              CHECK_THROWS_AS(gradient(step, pendulum::start(), plan, seed, adjoint, work), stop);
              resumed = true;
              REQUIRE(noted.open == stopped + 1);
              numbers answer = all.gradient;
              auto const found =
                  difference_in([&] { return answer = resume(step, pendulum::start(), plan, noted, adjoint, work); });
              CHECK(answer == all.gradient);
              REQUIRE(found.has_value() == fault);
              if (fault) CHECK(found->state == stopped + 1);
            };
            if constexpr (std::is_same_v<decltype(inner), pendulum::in_place>)
              sweep([&](pendulum::state& x, step_index i) { inner(x, i), wrong(x.v, i); });
            else
              sweep([&](pendulum::state const& x, pendulum::state& x1, step_index i) {
                inner(x, x1, i), wrong(x1.v, i);
              });
          };
          go(pendulum::in_place{});
          go(pendulum::out_of_place{});
        }
}

namespace {

/// Counts how often the bytes of one object are looked at.
struct looked_at {
  double value = 1;
  static inline looked_at const* watched = nullptr;
  static inline int looks = 0;
  void visit_buffers(auto& f) const {
    looks += this == watched ? 1 : 0;
    cairn::visit_buffers(value, f);
  }
  void visit_buffers(auto& f) { cairn::visit_buffers(value, f); }
  void visit_numbers(auto& f) const { cairn::visit_numbers(value, f); }
  void visit_numbers(auto& f) { cairn::visit_numbers(value, f); }
};

}  // namespace

TEST_CASE("resume looks at the bytes of the initial state once") {
  revolve const plan{10, 3};
  for (auto const mode : modes) {
    auto work = workspace_for<looked_at>(plan, sweep_options{mode});
    auto const step = [](looked_at& x) { x.value *= 0.5; };
    bool stops = true;
    auto const adjoint = [&](looked_at const&, double& bar, step_index i) {
      if (i == 5 && stops) throw stop{};
      bar *= 0.5;
    };
    looked_at const x0;
    CHECK_THROWS_AS(gradient(step, x0, plan, 1.0, adjoint, work), stop);
    stops = false;
    looked_at::watched = &x0;
    looked_at::looks = 0;
    CHECK(resume(step, x0, plan, resume_point<double>{6, 1.0}, adjoint, work) == std::ldexp(1.0, -6));
    CHECK(looked_at::looks == 1);
  }
}

TEST_CASE(
    "a resumed sweep that starts from another initial state than the stopped one is refused where the workspace knows "
    "better") {
  revolve const plan{20, 3};
  for (auto const mode : modes) {
    auto work = workspace_for<pendulum::state>(plan, sweep_options{mode});
    CHECK_THROWS_AS(gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed,
                             [](pendulum::state const&, numbers&, step_index i) {
                               if (i == 10) throw stop{};
                             },
                             work),
                    stop);
    CHECK_THROWS_AS(resume(pendulum::in_place{}, pendulum::state{{1.0, 0.25}}, plan, resume_point<numbers>{11, {1, 1}},
                           pendulum::one_step{}, work),
                    invalid_call);
    CHECK_NOTHROW((void)resume(pendulum::in_place{}, pendulum::start(), plan, resume_point<numbers>{11, {1, 1}},
                               pendulum::one_step{}, work));
  }
}

TEST_CASE("nested loops compare in their inner sweeps") {
  auto const adjoint = [](numbers const&, numbers& bar, step_index) { bar[0] += 0.1 * bar[1]; };
  auto const sound = [](numbers& x, step_index i) { x[0] += 0.1 * x[1], x[1] -= 0.1 * x[0] + 1e-3 * double(i); };
  nested plain{revolve{8, 2}, sound, adjoint};
  auto const expected = gradient(plain.step, numbers{1, 2}, revolve{5, 2}, numbers{1, 0}, plain.adjoint);
  for (auto const mode : modes) {
    nested loops{revolve{8, 2}, sound, adjoint, sweep_options{mode}};
    CHECK(gradient(loops.step, numbers{1, 2}, revolve{5, 2}, numbers{1, 0}, loops.adjoint, sweep_options{mode}) ==
          expected);
    auto calls = std::make_shared<int>(0);
    nested faulty{revolve{8, 2}, [=](numbers& x, step_index i) { sound(x, i), x[0] += 1e-9 * ++*calls; }, adjoint,
                  sweep_options{mode}};
    CHECK(difference_in([&] {
      return gradient(faulty.step, numbers{1, 2}, store_all(5), numbers{1, 0}, faulty.adjoint);
    }));
  }
}

TEST_CASE("an inner loop that does not end in the outer state after it is found, in any outer step") {
  struct faulty_step {
    bool const* reversing;
    step_index from, to;  // in these inner steps of the whole loop
    void operator()(numbers& x, step_index i) const {
      x[0] += 0.1 * x[1], x[1] -= 0.1 * x[0] + 1e-3 * double(i);
      if (*reversing && i >= from && i < to) x[1] += 1e-9;
    }
  };
  auto const adjoint = [](numbers const&, numbers& bar, step_index) { bar[0] += 0.1 * bar[1]; };
  step_index const outer = 6, inner = 4;
  numbers const x0{1, 2};
  for (auto const mode : modes)
    for (step_index wrong = -1; wrong < outer; ++wrong)
      each_in_memory(outer, [&](std::string const& name, auto const& given) {
        if (tapes_of(given) > 0 || given.leaf() > 1) return;
        INFO(name);
        CAPTURE(int(mode), wrong);
        any_schedule const plan{given};
        bool reversing =
            false;  // set when the outer loop has ended: all inner loops of one outer step then agree with each other
        nested loops{store_all(inner), faulty_step{&reversing, inner * wrong, inner * (wrong + 1)}, adjoint,
                     sweep_options{mode}};
        auto const check = [&](auto sweep) {
          reversing = false;
          auto const found = difference_in(sweep);
          REQUIRE(found.has_value() == (wrong >= 0));
          if (!found) return;
          CHECK(found->first_step <= wrong);
          CHECK(found->last_step >= wrong);
          if (mode == replay_check::every_step || estimate(plan).extra_steps == 0) CHECK(found->state == wrong + 1);
        };
        auto const seed = [&](numbers const&) {
          reversing = true;
          return numbers{1, 0};
        };
        nested with_p{store_all(inner),
                      [&loops](numbers& x, double const&, step_index i) { (*loops.step.inner)(x, i); },
                      [&](numbers const& x, numbers& bar, double const&, double&, step_index i) { adjoint(x, bar, i); },
                      sweep_options{mode}};
        auto const ends = at_end([](numbers const& x) { return x[0]; },
                                 [&](numbers const&, numbers& bar) { reversing = true, bar[0] += 1; });
        check([&] {
          return differentiate(model{with_p.step, with_p.adjoint}, x0, 1.0, plan, ends, sweep_options{mode});
        });
        check([&] {
          return gradient(loops.step, x0, plan,
                          [&](numbers const& x) { return std::vector<numbers>{seed(x)}; },
                          each_bar(hooked(loops.adjoint, [](numbers const&, numbers const&, step_index) {})),
                          sweep_options{mode});
        });
        auto run = [&] { return checkpointed_loop(loops.step, x0, plan, sweep_options{mode}); };
        check([&] { return run().reverse(seed, std::ref(loops.adjoint)); });
      });
}

TEST_CASE("the innermost of three loops is compared with the one around it") {
  numbers const x0{1, 2};
  for (auto const mode : modes)
    for (bool const fault : {false, true}) {
      sweep_options const options{mode};
      bool back = false;  // steps are reversed: the loop in the middle has made its states
      auto const step = [&](numbers& x, step_index i) { x[0] += 0.1 * x[1] + (fault && back && i < 4 ? 1e-9 : 0); };
      auto const adjoint = [&](numbers const&, numbers& bar, step_index) { back = true, bar[1] += 0.1 * bar[0]; };
      nested const inner{store_all(4), step, adjoint, options};
      nested const middle{store_all(2), inner.step, inner.adjoint, options};
      auto const found = difference_in(
          [&] { return gradient(middle.step, x0, store_all(1), numbers{1, 0}, std::ref(middle.adjoint), options); });
      CHECK(found.has_value() == fault);
    }
}

TEST_CASE("nested loops of random plans compare and find nothing where there is nothing") {
  std::mt19937_64 random{5};
  auto const sound = [](numbers& x, step_index i) { x[0] += 0.1 * x[1], x[1] -= 0.1 * x[0] + 1e-3 * double(i); };
  auto const adjoint = [](numbers const& x, numbers& bar, step_index) { bar[0] += 0.1 * bar[1] * x[0]; };
  auto const plan_of = [&](step_index n) -> any_schedule {
    auto const slots = slot_index(1 + random() % 4);
    switch (random() % 3) {
      case 0: return revolve{n, slots, {.free_initial = random() % 2 == 0}};
      case 1: return uniform{n, {.block = step_index(1 + random() % 5)}};
      default: return store_all(n);
    }
  };
  for (int k = 0; k < 1000; ++k) {
    step_index const n = step_index(random() % 6), m = step_index(random() % 6), inmost = step_index(1 + random() % 3);
    sweep_options const options{modes[random() % 2]};
    CAPTURE(k, n, m, inmost);
    nested third{plan_of(inmost), sound, adjoint, options};
    nested second{plan_of(m), third.step, third.adjoint, options};
    auto const expected = gradient(sound, numbers{1, 2}, store_all(n * m * inmost), numbers{1, 0}, adjoint);
    auto const outer = plan_of(n);
    CHECK(gradient(second.step, numbers{1, 2}, outer, numbers{1, 0}, second.adjoint, options) == expected);
    auto run = checkpointed_loop(second.step, numbers{1, 2}, outer, options);
    for (int time = 0; time < 2; ++time) CHECK(run.reverse(numbers{1, 0}, second.adjoint) == expected);
  }
}

TEST_CASE("the options of a workspace count for its sweeps, can be changed, and give way to those of a call") {
  revolve const plan{20, 3};
  int calls = 0;
  auto const hides = [&](double& x) { x += 1e-6 * ++calls; };
  auto const adjoint = [](double, double&) {};
  toys::serialising unused;
  memory_store store;
  auto work = workspace_for<double>(plan, sweep_options{replay_check::checkpoints});
  auto over_store = workspace_for<double>(plan, store, sweep_options{replay_check::checkpoints});
  auto const finds = [&](auto& with, auto... more) {
    return difference_in([&] { return gradient(hides, 1.0, plan, 1.0, adjoint, with, more...); }).has_value();
  };
  CHECK(finds(work));
  CHECK(finds(over_store));
  work.options().verify = replay_check::off;
  CHECK_FALSE(finds(work));
  CHECK(finds(work, sweep_options{replay_check::every_step}));
  CHECK(work.options().verify == replay_check::every_step);
  CHECK_FALSE(finds(work, [](event const&) {}, sweep_options{}));
  sweep_options const every{replay_check::every_step};
  CHECK(difference_in([&] { return checkpointed_loop(hides, 1.0, plan, every).reverse(1.0, adjoint); }));
  CHECK(difference_in([&] { return checkpointed_loop(hides, 1.0, plan, store, every).reverse(1.0, adjoint); }));
  CHECK(difference_in([&] {
    return checkpointed_loop(
               hides, 1.0, plan, [](event const&) {}, every)
        .reverse(1.0, adjoint);
  }));
  CHECK(difference_in(
      [&] { return checkpointed_loop(hides, 1.0, plan, over_store, [](event const&) {}).reverse(1.0, adjoint); }));
}

TEST_CASE("a replay check takes the predicted bytes, and none in a workspace that is warm") {
  for (auto const mode : modes)
    for (slot_index const slots : {1, 5, 40}) {
      revolve const plan{200, slots};
      auto const step = [](numbers& x, step_index i) { x[0] += 1e-3 * double(i), x[1] += x[0]; };
      auto const adjoint = [](numbers const&, numbers& bar, step_index) { bar[0] += bar[1]; };
      numbers const x0(16, 0.5), bar(16, 1.0);
      auto const rise = [&](auto&& work) {
        heap::mark const mark;
        (void)gradient(step, x0, plan, bar, adjoint, work);
        return mark.rise();
      };
      auto const without = rise(workspace_for<numbers>(plan));
      CHECK(rise(workspace_for<numbers>(plan, sweep_options{mode})) ==
            without + replay_check_bytes(mode, {.steps = 200, .slots = slots}));
      CHECK(rise(workspace_for<numbers>(plan, sweep_options{})) == without);
      auto const kept = [&](auto... options) {
        heap::mark const mark;
        auto run = checkpointed_loop(step, x0, plan, options...);
        for (int time = 0; time < 2; ++time) (void)run.reverse(bar, adjoint);
        return mark.rise();
      };
      CHECK(kept(sweep_options{mode}) ==
            kept() + replay_check_bytes(mode, {.steps = 200, .slots = slots, .keeps_run = true}));
      auto work = workspace_for<double>(plan, sweep_options{mode});
      auto const warm = [&] {
        return gradient([](double& x) { x *= 0.5; }, 1.0, plan, 1.0, [](double, double& b) { b *= 0.5; }, work);
      };
      (void)warm();
      heap::mark const mark;
      (void)warm();
      CHECK(mark.allocated() == 0);
    }
}

namespace {

/// The peak of one cold sweep with a replay check is what `estimate` says, for each reversal of the plan.
template <class Step>
void check_bytes(any_schedule const& plan, replay_check mode, step_form form, Step step) {
  numbers const x0(500, 0.5);
  auto const seed = [](numbers const&) { return 1.0; };
  workload work{.state_bytes = bytes_of(x0),
                .state_inline_bytes = sizeof x0,
                .initial_bytes = 0,
                .adjoint_bytes = sizeof(double),
                .verify = mode};
  auto const predicted = [&](adjoint_form adjoint, bool kept) {
    work.form = {.step = form, .adjoint = adjoint, .keeps_run = kept};
    auto const e = estimate(plan, work);
    CHECK(e.peak_is_exact);
    return e.peak_bytes - plan.shared_table_bytes();  // what the plan shares with its cursors was there before
  };
  auto const check = [&](adjoint_form how, auto const& adjoint) {
    CAPTURE(plan.steps(), plan.slots(), plan.leaf(), int(mode), int(form), int(how));
    heap::mark const mark;
    (void)gradient(step, x0, plan, seed, adjoint, sweep_options{mode});
    auto const counted = mark.rise() + sizeof(double);
    CHECK(counted == std::size_t(predicted(how, false)));
    if (how == adjoint_form::recorded) return;
    auto const of_run = [&](sweep_options options) {
      heap::mark const mark_of_run;
      auto run = checkpointed_loop(step, x0, plan, options);
      for (int time = 0; time < 2; ++time) (void)run.reverse(seed, adjoint);
      return mark_of_run.rise();
    };
    auto const counted_run = of_run(sweep_options{mode}) + sizeof(double);
    CHECK(counted_run == std::size_t(predicted(how, true)));
  };
  struct taped {
    double x;
  };
  auto const record = [](numbers& x, step_index) {
    for (auto& v : x) v += 1;
    return taped{x[0]};
  };
  work.tape_bytes = work.tape_inline_bytes = sizeof(std::optional<taped>);
  if (tapes_of(plan) > 0)
    return check(adjoint_form::recorded, recorded{record, [](taped const&, double& bar) { bar += 1; }});
  work.tape_bytes = work.tape_inline_bytes = 0;
  check(adjoint_form::leaf, [](numbers const& x, double& bar, step_index, step_index) { bar += x[0]; });
  if (plan.leaf() > 1) return;
  check(adjoint_form::one_step, [](numbers const& x, double& bar, step_index) { bar += x[0]; });
  check(adjoint_form::with_next, [](numbers const&, numbers const& x1, double& bar, step_index) { bar += x1[0]; });
}

}  // namespace

TEST_CASE("the bytes of a replay check are in the estimate and in plans for a budget, to the byte", "[long]") {
  auto const in_place = [](numbers& x, step_index) {
    for (auto& v : x) v += 1;
  };
  auto const by_value = [](numbers const& x, step_index) { return numbers(x.size(), x[0] + 1); };
  auto const out_of_place = [](numbers const& x, numbers& x1, step_index) {
    for (std::size_t k = 0; k < x.size(); ++k) x1[k] = x[k] + 1;
  };
  for (auto const mode : {replay_check::off, replay_check::checkpoints, replay_check::every_step})
    for (step_index const n : {0, 1, 2, 3, 30, 77}) {
      auto const all_forms = [&](any_schedule const& plan) {
        check_bytes(plan, mode, step_form::in_place, in_place);
        check_bytes(plan, mode, step_form::by_value, by_value);
        check_bytes(plan, mode, step_form::out_of_place, out_of_place);
      };
      for (slot_index const slots : {1, 4, 20}) {
        all_forms(revolve{n, slots});
        all_forms(revolve{n, slots, {.free_initial = true}});
        all_forms(leaves{n, 7, revolve{(n + 6) / 7, slots}});
      }
      all_forms(uniform{n});
      all_forms(store_all(n));
      all_forms(all_tapes(n));
      all_forms(mixed{n, 12, {.tape_units = 3}});
    }
  numbers const x0(500, 0.5);
  auto const adjoint = [](numbers const& x, double& bar, step_index) { bar += x[0]; };
  for (auto const mode : modes) {
    workload const work{.steps = 3000,
                        .state_bytes = bytes_of(x0),
                        .state_inline_bytes = sizeof x0,
                        .adjoint_bytes = sizeof(double),
                        .verify = mode};
    for (char const* const budget : {"80kB", "200kB", "1MB"}) {
      auto const plan = plan_within(budget, work);
      heap::mark const mark;
      (void)gradient(in_place, x0, plan.schedule, 1.0, adjoint, sweep_options{mode});
      auto const counted = mark.rise() + bytes_of(x0) + sizeof(double);
      CHECK(counted == plan.cost.peak_bytes - plan.schedule.shared_table_bytes());
      CHECK(counted <= byte_size{budget}.count());
    }
  }
}

namespace {

/// Stays where it is; its snapshots own memory.
struct heavy_object {
  heavy_object() = default;
  heavy_object(heavy_object const&) = delete;
  numbers all = numbers(500, 0.5);
  [[nodiscard]] numbers save() const { return all; }
  void restore(numbers const& from) { all = from; }
};

}  // namespace

TEST_CASE("the bytes of a replay check of a loop of unknown length are in the estimate, to the byte", "[long]") {
  numbers const x0(500, 0.5);
  auto const seed = [](numbers const&) { return 1.0; };
  auto const one_step = [](numbers const& x, double& bar, step_index) { bar += x[0]; };
  auto const with_next = [](numbers const&, numbers const& x1, double& bar, step_index) { bar += x1[0]; };
  auto const check = [&](auto step, step_form form, auto const& adjoint, adjoint_form back) {
    for (auto const mode : {replay_check::off, replay_check::checkpoints, replay_check::every_step})
      for (bool const eager : {false, true})
        for (slot_index const slots : {1, 2, 4, 20})
          for (step_index const n : {0, 1, 2, 3, 19, 20, 21, 63, 64, 127, 128, 129}) {
            CAPTURE(int(form), int(back), int(mode), eager, slots, n);
            online const plan{slots, {.eager = eager}};
            workload const work{.state_bytes = bytes_of(x0),
                                .state_inline_bytes = sizeof x0,
                                .initial_bytes = 0,
                                .adjoint_bytes = sizeof(double),
                                .form = {.step = form, .adjoint = back, .keeps_run = true},
                                .verify = mode};
            auto const stopped = plan.stopping_at(n, form != step_form::in_place);
            auto const e = estimate(stopped, work);
            any_schedule const any = stopped;
            CHECK(estimate(any, work).peak_bytes - 2 * any.table_bytes() == e.peak_bytes - 2 * stopped.table_bytes());
            heap::mark const mark;
            auto run = checkpointed_while(
                step, x0, [&](numbers const&, step_index i) { return i < n; }, plan, sweep_options{mode});
            for (int time = 0; time < 2; ++time) (void)run.reverse(seed, adjoint);
            CHECK(mark.rise() + sizeof(double) == std::size_t(e.peak_bytes));
          }
  };
  auto const in_place = [](numbers& x, step_index) {
    for (auto& v : x) v += 1;
  };
  auto const by_value = [](numbers const& x, step_index) { return numbers(x.size(), x[0] + 1); };
  auto const out_of_place = [](numbers const& x, numbers& x1, step_index) {
    for (std::size_t k = 0; k < x.size(); ++k) x1[k] = x[k] + 1;
  };
  check(in_place, step_form::in_place, one_step, adjoint_form::one_step);
  check(in_place, step_form::in_place, with_next, adjoint_form::with_next);
  check(by_value, step_form::by_value, one_step, adjoint_form::one_step);
  check(by_value, step_form::by_value, with_next, adjoint_form::with_next);
  check(out_of_place, step_form::out_of_place, one_step, adjoint_form::one_step);
  check(out_of_place, step_form::out_of_place, with_next, adjoint_form::with_next);
}

TEST_CASE("a replay check of an object takes no more than the estimate says, and one snapshot less at most") {
  auto const step = [](heavy_object& x, step_index) { x.all[0] += 1; };
  auto const adjoint = [](heavy_object const& x, double& bar, step_index) { bar += x.all[0]; };
  for (auto const mode : modes)
    for (step_index const n : {0, 1, 2, 30})
      for (slot_index const slots : {1, 4, 20})
        for (bool const free : {false, true}) {
          any_schedule const plan{revolve{n, slots, {.free_initial = free}}};
          wide const snapshot = bytes_of(numbers(500));
          workload const work{.state_bytes = snapshot,
                              .state_inline_bytes = sizeof(numbers),
                              .initial_bytes = 0,
                              .adjoint_bytes = sizeof(double),
                              .form = {.snapshots = true},
                              .verify = mode};
          heavy_object x;
          heap::mark const mark;
          (void)gradient(step, x, plan, 1.0, adjoint, sweep_options{mode});
          auto const counted = mark.rise() + sizeof(double);
          auto const e = estimate(plan, work);
          CAPTURE(int(mode), n, slots, free);
          CHECK(counted <= std::size_t(e.peak_bytes));
          CHECK(counted + std::size_t(snapshot) >= std::size_t(e.peak_bytes));
          CHECK_FALSE(e.peak_is_exact);
        }
}

TEST_CASE("lengths of which no hash can be held are refused before any step runs") {
  int calls = 0;
  auto const step = [&](double& x) { ++calls, x += 1; };
  auto const adjoint = [](double, double&) {};
  revolve const plan{step_index{1} << 60, 60};
  CHECK_THROWS_AS(gradient(step, 1.0, plan, 1.0, adjoint, sweep_options{replay_check::every_step}), out_of_memory);
  CHECK_THROWS_AS(checkpointed_loop(step, 1.0, plan, sweep_options{replay_check::every_step}), out_of_memory);
  CHECK(calls == 0);
}
