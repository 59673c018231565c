// SPDX-License-Identifier: Apache-2.0
// Multi-step methods over rings of states: the bits of a program that stores every state and knows no rings, for every
// kind of plan and form.
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/dry_run.hpp>
#include "support/catch.hpp"
#include "support/multistep.hpp"
#include "support/plans.hpp"

using cairn::any_schedule;
using cairn::ring;
using cairn::step_index;
using multistep::field;
namespace {

constexpr std::size_t size = 5;

/// Keeps the runs of bytes of each state, and writes them back into another one.
template <class State>
struct copying_store {
  std::vector<std::vector<unsigned char>> slots;
  int saved = 0;
  void begin(cairn::slot_index count) { slots.assign(std::size_t(count), {}); }
  void save(auto& frames, cairn::place where, step_index, cairn::frame_id frame) {
    auto& bytes = slots[std::size_t(where.slot)];
    bytes.clear();
    cairn::visit_buffers(frames.state(frame), [&](void const* p, std::size_t count) {
      bytes.insert(bytes.end(), static_cast<unsigned char const*>(p), static_cast<unsigned char const*>(p) + count);
    });
    ++saved;
  }
  cairn::frame_id load(auto& frames, cairn::place where, step_index i) {
    State x = multistep::leapfrog::start(size);
    for (step_index k = 0; k < i % 2; ++k) x.rotate();
    auto const* from = slots[std::size_t(where.slot)].data();
    cairn::visit_buffers(x, [&](void* p, std::size_t count) {
      std::memcpy(p, from, count);
      from += count;
    });
    auto const frame = frames.take();
    frames.emplace(frame, std::move(x));
    return frame;
  }
  void drop(auto&, cairn::place) {}
};

bool keeps_tapes(any_schedule const& plan) { return tapes_of(plan) > 0 || tapes_restart(plan); }

/// Plans of every kind, as one type.
template <class Use>
void each_any_plan(Use use) {
  for (step_index const n : {0, 1, 2, 3, 7, 23})
    each_in_memory(n, [&](std::string const& name, auto const& plan) {
      INFO(name);
      use(any_schedule{plan});
    });
}

/// `adjoint(x, bar, i)` as one of a leaf.
template <class Method, class State>
auto leaf_of() {
  return [](State const& x, State& bar, step_index first, step_index last) {
    std::vector<State> all{x};
    for (step_index i = first; i + 1 < last; ++i) {
      all.push_back(all.back());
      Method{}(all.back(), i);
    }
    for (step_index i = last; i-- > first;) Method::adjoint(all[std::size_t(i - first)], bar, i);
  };
}
template <class Method, class State>
auto tape_of() {
  return cairn::recorded{
      [](State& x, step_index i) {
        std::pair<State, State> tape{x, x};
        Method{}(x, i);
        tape.second = x;
        return tape;
      },
      [](std::pair<State, State> const& tape, State& bar, step_index i) { Method::adjoint(tape.first, bar, i); },
      [](std::pair<State, State> const& tape) -> State const& { return tape.second; }};
}

/// Every plan with what it can be run with; `check(bar, n)`.
template <class Method, class State, class Check>
void check_plans(Check check) {
  std::size_t checked = 0;
  each_any_plan([&](any_schedule const& plan) {
    Method method{};
    auto const x0 = Method::start(size);
    auto const by_value = [](State x, step_index i) {
      Method{}(x, i);
      return x;
    };
    if (!keeps_tapes(plan)) {
      check(cairn::gradient(method, x0, plan, Method::seed, leaf_of<Method, State>()), plan.steps());
      check(cairn::gradient(by_value, x0, plan, Method::seed, leaf_of<Method, State>()), plan.steps());
      ++checked;
    }
    if (plan.leaf() > 1) return;
    check(cairn::gradient(method, x0, plan, Method::seed, tape_of<Method, State>()), plan.steps());
    if (keeps_tapes(plan)) return;
    check(cairn::gradient(method, x0, plan, Method::seed, Method::adjoint), plan.steps());
    auto run = cairn::checkpointed_loop(method, x0, plan);
    check(run.reverse(Method::seed, Method::adjoint), plan.steps());
    check(run.reverse(Method::seed, Method::adjoint), plan.steps());
  });
  CHECK(checked > 200);
}

}  // namespace

TEST_CASE("leapfrog over a ring of two has the bits of a list of all states, for every plan and form of adjoint") {
  using method = multistep::leapfrog;
  check_plans<method, method::state>([](method::state const& bar, step_index n) {
    if (bar != method::stored(n, size)) FAIL("another gradient");
  });
}

TEMPLATE_TEST_CASE(
    "Adams-Bashforth with a ring of rates in the state has the bits of a list of all states, for every plan and form "
    "of adjoint",
    "[ring]", multistep::adams_bashforth<2>, multistep::adams_bashforth<3>) {
  check_plans<TestType, typename TestType::state>([](auto const& bar, step_index n) {
    if (bar.y != TestType::stored(n, size)) FAIL("another gradient");
  });
}

TEST_CASE("BDF2, whose adjoint takes the state after the step, has the bits of a list of all states for every plan") {
  using method = multistep::bdf2;
  std::size_t checked = 0;
  each_any_plan([&](any_schedule const& plan) {
    if (keeps_tapes(plan) || plan.leaf() > 1) return;
    auto const all = method::stored(plan.steps(), size);
    auto const x0 = method::start(size);
    if (cairn::gradient(method{}, x0, plan, method::seed, method::adjoint) != all) FAIL("another gradient");
    auto run = cairn::checkpointed_loop(method{}, x0, plan);
    if (run.reverse(method::seed, method::adjoint) != all) FAIL("another gradient of the run");
    ++checked;
  });
  CHECK(checked > 150);
}

TEMPLATE_TEST_CASE("the adjoints of multi-step methods pass check_adjoint, and agree with central differences",
                   "[ring]", multistep::leapfrog, multistep::adams_bashforth<2>, multistep::adams_bashforth<3>,
                   multistep::bdf2) {
  step_index const n = 30;
  auto x0 = TestType::start(size);
  TestType method{};
  CHECK(cairn::check_adjoint(method, TestType::adjoint, x0, n).passed());
  auto bar = cairn::gradient(method, x0, cairn::revolve{n, 3}, TestType::seed, TestType::adjoint);
  auto const newest = [](auto& x) -> field& {
    if constexpr (requires { x.y; }) return x.y;
    else return x[0];
  };
  auto const value = [&] {
    auto x = x0;
    for (step_index i = 0; i < n; ++i) method(x, i);
    return multistep::objective(newest(x));
  };
  for (std::size_t k = 0; k < size; ++k) {
    double& number = newest(x0)[k];
    double const was = number, by = 1e-5;
    number = was + by;
    double const up = value();
    number = was - by;
    double const down = value();
    number = was;
    CHECK(newest(bar)[k] == Approx((up - down) / (2 * by)).epsilon(1e-8));
  }
}

TEST_CASE("loops over rings are replayed with a check, walked backwards, resumed, and kept in stores that copy") {
  using method = multistep::leapfrog;
  step_index const n = 40;
  auto const all = method::stored(n, size);
  auto const x0 = method::start(size);
  cairn::revolve const plan{n, 4};
  CHECK(cairn::gradient(method{}, x0, plan, method::seed, method::adjoint,
                        cairn::sweep_options{.verify = cairn::replay_check::every_step}) == all);
  copying_store<method::state> copies;
  CHECK(cairn::gradient(method{}, x0, plan, method::seed, method::adjoint, copies) == all);
  CHECK(copies.saved > 15);

  auto run = cairn::checkpointed_loop(method{}, x0, plan);
  std::vector<field> y(std::size_t(n) + 1);
  for (auto [i, x] : run.backward()) y[std::size_t(i)] = x[0];
  auto x = x0;
  for (step_index i = 0; i <= n; ++i) {
    CHECK(x[0] == y[std::size_t(i)]);
    method{}(x, i);
  }

  auto work = cairn::workspace_for<method::state>(plan);
  cairn::resume_point note{n, method::state{}};
  auto const noting = cairn::hooked(method::adjoint, [&](method::state const&, method::state& bar, step_index i) {
    note = {i, bar};
    if (i == 17) throw 17;
  });
  CHECK_THROWS_AS(cairn::gradient(method{}, x0, plan, method::seed, noting, work), int);
  CHECK(cairn::resume(method{}, x0, plan, note, method::adjoint, work) == all);

  auto open = cairn::checkpointed_while(
      method{}, x0, [](method::state const&, step_index i) { return i < 40; }, cairn::online{4});
  CHECK(open.reverse(method::seed, method::adjoint) == all);
}

TEST_CASE("a ring of one state is that state") {
  auto const step = [](ring<double, 1>& x) { x.push(std::sin(x[0])); };
  auto const adjoint = [](ring<double, 1> const& x, ring<double, 1>& bar) { bar.rotate_back() *= std::cos(x[0]); };
  auto const bar = cairn::gradient(step, ring<double, 1>{2.1}, cairn::revolve{20, 4}, ring<double, 1>{1.0}, adjoint);
  CHECK(bar[0] == cairn::gradient([](double& x) { x = std::sin(x); }, 2.1, cairn::store_all(20), 1.0,
                                  [](double x, double& b) { b *= std::cos(x); }));
}

TEST_CASE("a ring of large states is one state of the sweep, in memory of its own") {
  using large = std::array<double, 20'000>;
  using state = ring<large, 2>;
  auto const x0 = std::make_unique<state>();
  for (double& u : (*x0)[0]) u = 0.5;
  auto const step = [](state& x) {
    large& next = x.rotate();
    for (std::size_t k = 0; k < next.size(); ++k) next[k] = std::sin(x[1][k]) - 0.25 * next[k];
  };
  auto const adjoint = [](state const& x, state& bar) {
    large& oldest = bar.rotate_back();
    for (std::size_t k = 0; k < oldest.size(); ++k) {
      bar[0][k] += std::cos(x[0][k]) * oldest[k];
      oldest[k] *= -0.25;
    }
  };
  auto const bar = cairn::gradient(step, *x0, cairn::revolve{30, 3}, *x0, adjoint);
  CHECK(bar == cairn::gradient(step, *x0, cairn::store_all(30), *x0, adjoint));
  CHECK(bar[0][19'999] != 0);
}

TEST_CASE("elements of a ring may change their size from step to step, and the rehearsal predicts the bytes of each") {
  using state = ring<field, 3>;  // y_i has 2 + i % 5 numbers, of which each is made of all those before
  auto const length = [](step_index i) { return std::size_t(2 + i % 5); };
  auto const step = [&](state& x, step_index i) {
    field& next = x.rotate();
    next.assign(length(i + 1), 0);
    for (std::size_t k = 0; k < next.size(); ++k) next[k] = std::sin(x[1][k % x[1].size()]) + 0.5 * x[2][0];
  };
  auto const adjoint = [&](state const& x, state& bar, step_index) {
    field& newest = bar.rotate_back();
    for (std::size_t k = 0; k < newest.size(); ++k) {
      std::size_t const from = k % x[0].size();
      bar[0][from] += std::cos(x[0][from]) * newest[k];
      bar[1][0] += 0.5 * newest[k];
    }
    newest.assign(x[2].size(), 0);
  };
  state const x0{field(length(0), 0.4), field{0.1}, field{0.2, 0.3, 0.4}};
  auto const seed = [](state x) {
    for (std::size_t age = 1; age < 3; ++age) x[age].assign(x[age].size(), 0);
    return x;
  };
  step_index const n = 33;
  auto const all = cairn::gradient(step, x0, cairn::store_all(n), seed, adjoint);
  CHECK(all[0][0] != 0);
  for (cairn::slot_index const slots : {1, 2, 5})
    CHECK(cairn::gradient(step, x0, cairn::revolve{n, slots}, seed, adjoint) == all);
}

namespace {

/// A solver with a table that stays where it is; two of them hold the states of a leapfrog.
struct solver {
  explicit solver(double start) : u{start} {}
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] double save() const { return u; }
  void restore(double kept) { u = kept; }
  double u;
};

}  // namespace

TEST_CASE("a ring of objects that cannot be copied is an object that cannot be copied") {
  using objects = ring<solver, 2>;
  using values = ring<double, 2>;
  auto const step = [](auto& x, auto) {
    auto& next = x.rotate();
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, objects>) next.u += 0.1 * std::sin(x[1].u);
    else next += 0.1 * std::sin(x[1]);
  };
  auto const adjoint = [](objects const& x, values& bar) {
    bar[1] += 0.1 * std::cos(x[0].u) * bar[0];
    bar.rotate_back();
  };
  auto const of_values = [](values const& x, values& bar) {
    bar[1] += 0.1 * std::cos(x[0]) * bar[0];
    bar.rotate_back();
  };
  auto const all = cairn::gradient(step, values{1.0, 2.0}, cairn::store_all(50), values{1.0, 0.5}, of_values);
  for (cairn::slot_index const slots : {1, 3, 8}) {
    auto x = objects::made_by([](std::size_t age) { return solver{double(age + 1)}; });
    CHECK(cairn::gradient([&](objects& o, step_index i) { step(o, i); }, x, cairn::revolve{50, slots}, values{1.0, 0.5},
                          adjoint) == all);
  }
}
