// SPDX-License-Identifier: Apache-2.0
// Every place where a value of the user's is copied, walked with one type whose constructor shares what `state_traits`
// copies: the gradient is that of storing everything, and what the caller keeps stays as it was.
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/chain/probe.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/probe.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/schedule/mixed.hpp>
#include "support/catch.hpp"

using cairn::revolve;
using cairn::step_index;

namespace {

/// A handle: its constructor and `=` share the number.
struct shared {
  shared() = default;
  shared(double value) : at{std::make_shared<double>(value)} {}
  std::shared_ptr<double> at;
};
double& of(shared& x) { return *x.at; }
double of(shared const& x) { return *x.at; }

}  // namespace

template <>
struct cairn::state_traits<shared> {
  static void copy(shared const& from, shared& into) {
    if (into.at) *into.at = *from.at;
    else into.at = std::make_shared<double>(*from.at);
  }
  static std::size_t bytes(shared const&) { return sizeof(shared) + sizeof(double); }
  template <class X, class F>
  static void visit_numbers(X& x, F&& f) { f(x.at.get(), std::size_t{1}); }
};

namespace {

constexpr step_index n = 20;
constexpr double start = 2.1;
/// x_(i+1) = sin x_i with every state stored; its states, and the derivative times the adjoint `seed` of the last.
struct stored {
  std::vector<double> x{start};
  stored() {
    for (step_index i = 0; i < n; ++i) x.push_back(std::sin(x.back()));
  }
  double gradient(double seed) const {
    for (step_index i = n; i-- > 0;) seed *= std::cos(x[std::size_t(i)]);
    return seed;
  }
};
stored const exact;
double const g1 = exact.gradient(1), gx = exact.gradient(exact.x.back());

auto const step = [](shared& x) { of(x) = std::sin(of(x)); };
auto const adjoint = [](shared const& x, shared& bar) { of(bar) *= std::cos(of(x)); };
auto const one = [](shared const&) { return shared{1}; };
/// By its own reference, which is what the sweep must not change.
auto const itself = [](shared const& x) -> shared const& { return x; };
auto const returned = [](shared const& x) { return x; };
/// Spoils its parameter.
auto const spoiling = [](shared x) {
  of(x) *= 2;
  return shared{of(x) / 2};
};

std::vector<revolve> plans() { return {revolve{n, 1}, revolve{n, 4}, revolve{n, 20}}; }
/// A store that keeps copies.
struct copying_store {
  std::vector<shared> kept;
  void begin(cairn::slot_index slots) { kept.assign(std::size_t(slots), shared{}); }
  template <class Frames>
  void save(Frames& frames, cairn::place where, step_index, cairn::frame_id k) {
    kept[std::size_t(where.slot)] = shared{};
    cairn::copy_state(frames.state(k), kept[std::size_t(where.slot)]);
  }
  template <class Frames>
  cairn::frame_id load(Frames& frames, cairn::place where, step_index) {
    auto const k = frames.take();
    shared fresh;
    cairn::copy_state(kept[std::size_t(where.slot)], fresh);
    frames.emplace(k, std::move(fresh));
    return k;
  }
  template <class Frames>
  void drop(Frames&, cairn::place) {}
};

/// For all plans, by itself, and three times in a workspace and over a store of copies.
template <class Step, class Seed, class Adjoint>
void check(double expected, Step const& f, Seed&& seed, Adjoint const& back) {
  for (auto const& plan : plans()) {
    CHECK(of(cairn::gradient(f, shared{start}, plan, seed, back)) == expected);
    auto work = cairn::workspace_for<shared>(plan);
    copying_store store;
    for (int k = 0; k < 3; ++k) {
      CHECK(of(cairn::gradient(f, shared{start}, plan, seed, back, work)) == expected);
      CHECK(of(cairn::gradient(f, shared{start}, plan, seed, back, store)) == expected);
    }
  }
}

/// An object that stays where it is. Its snapshot shares its number.
class solver {
 public:
  solver() = default;
  solver(solver const&) = delete;
  shared save() const { return x_; }
  void restore(shared const& kept) { cairn::copy_state(kept, x_); }
  double& operator*() { return of(x_); }
  double operator*() const { return of(x_); }

 protected:
  shared x_{start};
};
struct referring_solver : solver {
  shared const& save() const { return x_; }
};

using actions = std::vector<cairn::action>;
using namespace cairn::chain_actions;
/// Runs to the end, and again from x0 before each reversal.
actions chain_plan(step_index stages) {
  actions plan;
  for (step_index i = 0; i < stages; ++i) {
    plan.push_back(advance(i));
    if (i > 0) plan.push_back(drop(i));
  }
  plan.push_back(turn(stages));
  for (step_index i = stages; i-- > 0;) {
    for (step_index k = 0; k <= i; ++k) {
      plan.push_back(k < i ? advance(k) : record(k));
      if (k > 0 && k < i) plan.push_back(drop(k));
    }
    plan.push_back(reverse(i));
    if (i > 0) plan.push_back(drop(i));
  }
  return plan;
}
/// A stage whose functions spoil what they take by value.
struct layer {
  shared forward(shared x) const {
    of(x) = std::sin(of(x));
    return shared{of(x)};
  }
  struct tape {
    double x;
    shared y;
  };
  tape record(shared x) const {
    double const before = of(x);
    of(x) = std::sin(of(x));
    return {before, shared{of(x)}};
  }
  shared const& output(tape const& kept) const { return kept.y; }
  void backward(tape& kept, shared& bar) const { of(bar) *= std::cos(kept.x); }
};

auto generic_stage() {
  return cairn::stage{[](auto x) { of(x) = std::sin(of(x)); return shared{of(x)}; },
                      [](auto x, auto& bar) { of(bar) *= std::cos(of(x)); of(x) = 77; }};
}

}  // namespace

TEST_CASE("a seed is copied as the state is, however it is passed") {
  shared seed{1};
  check(g1, step, seed, adjoint);
  check(g1, step, std::as_const(seed), adjoint);
  for (auto const& plan : plans())
    CHECK(of(cairn::gradient(step, shared{start}, plan, std::move(std::as_const(seed)), adjoint)) == g1);
  CHECK(of(seed) == 1);
  CHECK(of(cairn::gradient(step, shared{start}, 20, shared{1}, adjoint)) == g1);
}

TEST_CASE(
    "what a seed function returns becomes an object of the sweep's, and its parameter is no alias of the final state") {
  check(g1, step, one, adjoint);
  check(gx, step, itself, adjoint);
  check(gx, step, std::identity{}, adjoint);
  check(gx, step, returned, adjoint);
  check(gx, step, spoiling, adjoint);
  check(gx, step, [](auto x) { of(x) *= 2; return shared{of(x) / 2}; }, adjoint);
  auto run = cairn::checkpointed_loop(step, shared{start}, revolve{n, 4});
  for (int k = 0; k < 3; ++k) {
    CHECK(of(run.reverse(std::identity{}, adjoint)) == gx);
    CHECK(of(run.reverse(returned, adjoint)) == gx);
    CHECK(of(run.reverse(spoiling, adjoint)) == gx);
    CHECK(of(run.final_state()) == exact.x.back());
  }
  shared seed{1};
  CHECK(of(run.reverse(seed, adjoint)) == g1);
  CHECK(of(run.reverse(std::move(std::as_const(seed)), adjoint)) == g1);
  CHECK(of(seed) == 1);
}

TEST_CASE("the initial state of the caller stays as it was unless it is given away") {
  shared x0{start};
  for (auto const& plan : plans()) {
    for (int k = 0; k < 2; ++k) {
      CHECK(of(cairn::gradient(step, x0, plan, one, adjoint)) == g1);
      CHECK(of(cairn::gradient(step, std::as_const(x0), plan, one, adjoint)) == g1);
    }
    CHECK(of(cairn::gradient(step, std::move(std::as_const(x0)), plan, one, adjoint)) == g1);
    auto run = cairn::checkpointed_loop(step, std::move(std::as_const(x0)), plan);
    CHECK(of(run.reverse(one, adjoint)) == g1);
  }
  auto run = cairn::checkpointed_while(
      step, std::move(std::as_const(x0)), [](shared const&, step_index i) { return i < n; }, cairn::online{4});
  CHECK(of(run.reverse(one, adjoint)) == g1);
  CHECK(of(x0) == start);
}

TEST_CASE("a step that takes the state by value gets a copy of its own") {
  auto const by_value = [](shared x) {
    of(x) = std::sin(of(x));
    return shared{of(x)};
  };
  auto const given_back = [](shared x) {
    of(x) = std::sin(of(x));
    return x;
  };
  auto const generic = [](auto x) {
    of(x) = std::sin(of(x));
    return x;
  };
  auto const counted = [](auto x, auto) {
    of(x) = std::sin(of(x));
    return x;
  };
  auto const from_value = [](shared x, shared& x1, step_index) {
    of(x1) = std::sin(of(x));
    of(x) = 77;
  };
  check(g1, by_value, one, adjoint);
  check(g1, given_back, one, adjoint);
  check(g1, generic, one, adjoint);
  check(g1, counted, one, adjoint);
  check(g1, std::function<shared(shared)>{given_back}, one, adjoint);
  check(g1, +[](shared x) { of(x) = std::sin(of(x)); return x; }, one, adjoint);
  check(g1, cairn::by_value(given_back), one, adjoint);
  CHECK(of(cairn::gradient(
            [](auto x) mutable {
              of(x) = std::sin(of(x));
              return x;
            },
            shared{start}, revolve{n, 4}, one, adjoint)) == g1);
  check(g1, [](shared const& x) { return shared{std::sin(of(x))}; }, one, adjoint);
  check(g1, from_value, one, adjoint);
  shared x0{start};
  for (auto const& plan : plans()) CHECK(of(cairn::gradient(given_back, x0, plan, one, adjoint)) == g1);
  CHECK(of(x0) == start);
  auto run = cairn::checkpointed_while(
      given_back, x0,
      [](shared x, step_index i) {
        of(x) = 77;
        return i < n;
      },
      cairn::online{4});
  CHECK(of(run.reverse(one, adjoint)) == g1);
  CHECK(of(x0) == start);
}

TEST_CASE("an adjoint that takes a state by value gets a copy of its own") {
  auto const pull = [](shared x, shared& bar) {
    of(bar) *= std::cos(of(x));
    of(x) = 77;
  };
  auto const pull_two = [](shared x, shared x1, shared& bar, step_index) {
    of(bar) *= of(x1) == std::sin(of(x)) ? std::cos(of(x)) : 1e300;
    of(x) = of(x1) = 77;
  };
  auto const pull_leaf = [](shared x, shared& bar, step_index, step_index) {
    of(bar) *= std::cos(of(x));
    of(x) = 77;
  };
  check(g1, step, one, pull);
  check(g1, step, one, pull_two);
  check(g1, step, one, pull_leaf);
  check(g1, step, one, [](auto x, auto& bar, auto) { of(bar) *= std::cos(of(x)); of(x) = 77; });
  shared seed{1};
  check(g1, step, seed, [](shared const& x, shared bar) { of(bar) *= std::cos(of(x)); return bar; });
  CHECK(of(seed) == 1);
  auto run = cairn::checkpointed_loop(step, shared{start}, revolve{n, 4});
  for (int k = 0; k < 2; ++k) CHECK(of(run.reverse(one, pull_two)) == g1);
  CHECK(of(run.final_state()) == exact.x.back());
}

TEST_CASE("a tape that record returns by reference is copied, and a state after a tape is none of its parts") {
  shared kept;
  auto const record = [&](shared& x) -> shared const& {
    cairn::copy_state(x, kept);
    step(x);
    return kept;
  };
  auto const reverse = [](shared& tape, shared& bar) {
    of(bar) *= std::cos(of(tape));
    of(tape) = 77;
  };
  check(g1, step, one, cairn::recorded{record, reverse});
  struct both {
    double before;
    shared after;
  };
  auto const record_both = [](shared& x) {
    double const before = of(x);
    step(x);
    return both{before, shared{of(x)}};
  };
  auto const reverse_both = [](both& tape, shared& bar) { of(bar) *= std::cos(tape.before); };
  auto const check_restart = [&](auto restart) {
    for (cairn::slot_index const units : {1, 3, 6})
      CHECK(of(cairn::gradient(step, shared{start}, cairn::mixed{n, units, {.tape_units = 1, .tapes_restart = true}},
                               one, cairn::recorded{record_both, reverse_both, restart})) == g1);
  };
  check_restart([](both const& tape) -> shared const& { return tape.after; });
  check_restart([](both const& tape) { return tape.after; });
  check_restart([](both tape) { return tape.after; });
}

TEST_CASE("states of a run are looked at or copied out, and never shared") {
  auto run = cairn::checkpointed_loop(step, shared{start}, revolve{n, 4});
  for (auto const [position, x] : run.checkpoints()) CHECK(of(x) == exact.x[std::size_t(position)]);
  for (step_index i = 0; i <= n; ++i) {
    shared x = run.at(i);
    CHECK(of(x) == exact.x[std::size_t(i)]);
    of(x) = 77;
  }
  CHECK(of(run.reverse(one, adjoint)) == g1);
  for (step_index i = 0; i <= n; ++i) CHECK(of(run.at(i)) == exact.x[std::size_t(i)]);
  double slope = 1;
  for (auto const [i, x] : run.backward()) slope *= i < n ? std::cos(of(x)) : 1;
  CHECK(slope == g1);
  CHECK(of(run.reverse(itself, adjoint)) == gx);
  CHECK(of(run.final_state()) == exact.x.back());
}

TEST_CASE("resume does not change the adjoint that was noted, wherever it is") {
  for (auto const& plan : plans()) {
    shared noted{1};
    step_index open = n;
    auto work = cairn::workspace_for<shared>(plan);
    struct stop {};
    auto const failing = [&](shared const& x, shared& bar, step_index i) {
      if (i == 7) throw stop{};
      adjoint(x, bar);
      cairn::copy_state(bar, noted);
      open = i;
    };
    CHECK_THROWS_AS(cairn::gradient(step, shared{start}, plan, one, failing, work), stop);
    CHECK(open == 8);
    double const before = of(noted);
    cairn::resume_point position{open, noted};
    using const_rvalue = decltype(position) const&&;
    for (int k = 0; k < 2; ++k) {
      CHECK(of(cairn::resume(step, shared{start}, plan, position, adjoint, work)) == g1);
      CHECK(of(cairn::resume(step, shared{start}, plan, static_cast<const_rvalue>(position), adjoint, work)) == g1);
      CHECK(of(cairn::resume(step, shared{start}, plan, cairn::resume_point{open, noted}, adjoint, work)) == g1);
      CHECK(of(noted) == before);
    }
  }
}

TEST_CASE("a loop in a loop copies as a loop does") {
  auto const pull = [](shared x, shared& bar, step_index) {
    of(bar) *= std::cos(of(x));
    of(x) = 77;
  };
  cairn::nested inner{revolve{5, 2}, [](shared& x, step_index) { step(x); }, pull};
  shared seed{1}, x0{start};
  CHECK(of(cairn::gradient(inner.step, x0, revolve{4, 2}, seed, inner.adjoint)) == g1);
  CHECK(of(seed) == 1);
  CHECK(of(x0) == start);
}

TEMPLATE_TEST_CASE("a snapshot is none of the object's own parts", "", solver, referring_solver) {
  for (auto const& plan : plans()) {
    auto const move = [](TestType& s) { *s = std::sin(*s); };
    auto const pull = [](TestType const& s, shared& bar) { of(bar) *= std::cos(*s); };
    shared seed{1};
    TestType s;
    CHECK(of(cairn::gradient(move, s, plan, seed, pull)) == g1);
    TestType again;
    auto run = cairn::checkpointed_loop(move, again, plan);
    CHECK(of(run.reverse(std::move(std::as_const(seed)), pull)) == g1);
    CHECK(of(seed) == 1);
  }
}

TEST_CASE("a chosen step lends its states, and copies a record that is returned by reference") {
  shared chosen;
  auto const first = [&](shared x) -> shared const& {
    cairn::copy_state(x, chosen);
    of(x) = 77;
    return chosen;
  };
  auto const again = [](shared& x, shared record) {
    of(x) = std::sin(of(record));
    of(record) = 77;
  };
  cairn::adaptive loop{first, again};
  auto run = cairn::checkpointed_while(
      loop.step(), shared{start}, [](shared const&, step_index i) { return i < n; }, cairn::online{4});
  auto const pull = loop.with_record([](shared x, shared& bar, shared record) {
    of(bar) *= of(x) == of(record) ? std::cos(of(x)) : 1e300;
    of(x) = of(record) = 77;
  });
  for (int k = 0; k < 2; ++k) CHECK(of(run.reverse(one, pull)) == g1);
}

TEST_CASE("chains copy seeds and lend states as loops do") {
  auto const check_chain = [](auto make, auto const& plan) {
    shared x0{start}, seed{1};
    auto const gradient = [&](auto&& by) {
      auto stages = make();
      return cairn::chain_gradient(stages, x0, plan, std::forward<decltype(by)>(by));
    };
    auto const number = [](auto const& g) {
      if constexpr (requires { of(g); }) return of(g);
      else return of(g.template get<shared>());
    };
    CHECK(number(gradient(seed)) == g1);
    CHECK(number(gradient(std::as_const(seed))) == g1);
    CHECK(number(gradient(std::move(std::as_const(seed)))) == g1);
    CHECK(number(gradient(one)) == g1);
    CHECK(number(gradient(itself)) == gx);
    CHECK(number(gradient(returned)) == gx);
    CHECK(number(gradient(spoiling)) == gx);
    CHECK(of(seed) == 1);
    CHECK(of(x0) == start);
    auto stages = make();
    (void)cairn::chain_probe<std::chrono::steady_clock>(stages, x0, seed);
    CHECK(of(seed) == 1);
    CHECK(of(x0) == start);
  };
  auto const plan = chain_plan(n);
  check_chain([] { return std::vector<layer>(n); }, plan);
  check_chain([] { return std::vector(n, generic_stage()); }, plan);
  check_chain([] {
    std::vector<cairn::any_stage> some;
    for (step_index i = 0; i < n; ++i) some.emplace_back(layer{});
    return some;
  }, plan);
  check_chain(
      [] {
        return cairn::indexed_stages{n, cairn::stage{[](shared x, step_index) {
                                                       of(x) = std::sin(of(x));
                                                       return shared{of(x)};
                                                     },
                                                     [](shared x, shared& bar, step_index) {
                                                       of(bar) *= std::cos(of(x));
                                                       of(x) = 77;
                                                     }}};
      },
      plan);
  shared x0{exact.x[16]}, seed{1};
  std::tuple stages{layer{}, generic_stage(), layer{}, generic_stage()};
  double expected = 1;
  for (std::size_t i = 20; i-- > 16;) expected *= std::cos(exact.x[i]);
  CHECK(of(cairn::chain_gradient(stages, x0, chain_plan(4), seed)) == expected);
  CHECK(of(seed) == 1);
  cairn::stage_value const held{std::as_const(seed)}, also{std::move(std::as_const(seed))};
  of(seed) = 2;
  CHECK(of(held.get<shared>()) == 1);
  CHECK(of(also.get<shared>()) == 1);
}

TEST_CASE("what only looks at a loop leaves everything as it was") {
  shared x0{start}, seed{1};
  auto const spoils = [](shared x, shared& bar) {
    of(bar) *= std::cos(of(x));
    of(x) = 77;
  };
  auto const given_back = [](shared x) {
    of(x) = std::sin(of(x));
    return x;
  };
  CHECK(cairn::check_adjoint(step, adjoint, x0, n, seed).passed());
  CHECK(cairn::check_adjoint(given_back, spoils, x0, n, spoiling).passed());
  CHECK(cairn::check_gradient([](shared x) { return of(x) *= of(x); }, x0, shared{2 * start}).passed());
  CHECK(cairn::probe<std::chrono::steady_clock>(given_back, x0, n, seed, spoils).steps == n);
  CHECK(of(seed) == 1);
  CHECK(of(x0) == start);
}
