// SPDX-License-Identifier: Apache-2.0
// Stages that throw: at every call of each function in turn the exception comes out as it was thrown, nothing is left
// behind, here or in the store, the place is named, and the same stages then give the right bits.
#include <cairn/run/chain.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/fuse.hpp"
#include "support/kernels.hpp"

using cairn::action;
using cairn::step_index;
using kernels::vec2;

namespace {

constexpr step_index n = 6;

/// Stages that pass the fuse; recording passes it at the place of hooks.
struct plain {
  step_index i;
  [[nodiscard]] tracked forward(tracked const& x) const {
    tracked y{x.values()};
    the_fuse.pass(site::step, i);
    kernels::step(y.numbers(), i);
    return y;
  }
  void backward(tracked const& x, vec2& bar) const {
    double const kept = std::exchange(bar[0], 1e300);
    the_fuse.pass(site::adjoint, i);
    bar[0] = kept;
    kernels::adjoint(x.numbers(), bar.data(), i);
  }
};
struct recording : plain {
  struct tape {
    tracked before, after;
  };
  [[nodiscard]] tape record(tracked const& x) const {
    tracked before{x.values()};
    the_fuse.pass(site::hook, i);
    tracked after{x.values()};
    kernels::step(after.numbers(), i);
    return {std::move(before), std::move(after)};
  }
  [[nodiscard]] static tracked const& output(tape const& kept) { return kept.after; }
  [[nodiscard]] vec2 backward(tape const& kept, vec2 bar) const {
    plain::backward(kept.before, bar);
    return bar;
  }
};
struct seed {
  vec2 operator()(tracked const& last) const {
    the_fuse.pass(site::seed);
    return kernels::seed(last.numbers());
  }
};
/// Copies pass the fuse.
struct shelf {
  std::map<step_index, tracked> kept = {};
  void save(cairn::tier, step_index i, tracked const& x) { kept.emplace(i, x); }
  void save(cairn::tier, step_index i, cairn::stage_view x) { kept.emplace(i, x.get<tracked>()); }
  template <class State>
  State load(cairn::tier, step_index i) { return State{kept.at(i)}; }
  void drop(cairn::tier, step_index i) {
    kept.erase(i);
    if (throws) throw 1;
  }
  bool throws = false;
};
/// Keeps the fuse informed of the action under way, and may throw itself.
struct watcher {
  std::int64_t number = -1;
  void operator()(cairn::event const& e) {
    if (e.moment() == cairn::moment::before) the_fuse.action = ++number;
    the_fuse.pass(site::observer);
    if (e.moment() == cairn::moment::after) the_fuse.action = -1;
  }
};

cairn::phase phase_of(std::vector<action> const& plan, std::size_t k) {
  std::size_t turn = 0;
  while (plan[turn].kind != cairn::action_kind::turn) ++turn;
  if (k <= turn) return cairn::phase::forward;
  return k < plan.size() && plan[k].kind == cairn::action_kind::reverse ? cairn::phase::reverse
                                                                        : cairn::phase::recompute;
}
vec2 value_of(vec2 const& bar) { return bar; }
vec2 value_of(cairn::stage_value const& bar) { return bar.get<vec2>(); }

/// Makes `sweep` throw at each call from each site.
template <class Stages>
void survives_every_throw(Stages& stages, std::vector<action> const& plan) {
  constexpr bool records = !std::is_same_v<Stages, std::vector<plain>>;
  tracked const x0{kernels::start};
  vec2 const expected = kernels::gradient(n);
  for (site const where : {site::step, site::hook, site::adjoint, site::seed, site::copy, site::observer}) {
    if (where == site::hook && !records) continue;
    std::vector<fuse::place> calls;
    {
      watcher watching;
      shelf store;
      the_fuse.arm(where, std::numeric_limits<std::int64_t>::max());
      REQUIRE(value_of(cairn::chain_gradient(stages, x0, plan, seed{}, watching, store)) == expected);
      calls = the_fuse.calls();
    }
    REQUIRE(!calls.empty());
    for (std::size_t k = 0; k < calls.size(); ++k) {
      CAPTURE(int(where), k);
      auto const alive = tracked::alive;
      shelf store;
      store.throws = k % 2 == 0;  // what cannot be dropped while unwinding does not hide the exception
      cairn::sweep_failure failure;
      watcher watching;
      the_fuse.arm(where, std::int64_t(k));
      bool burnt = false;
      try {
        if (where == site::observer) (void)cairn::chain_gradient(stages, x0, plan, seed{}, store, failure, watching);
        else if (k % 3 == 0) (void)cairn::chain_gradient(stages, x0, plan, seed{}, failure, store);
        else (void)cairn::chain_gradient(stages, x0, plan, seed{}, store, failure);
      } catch (planned const& e) {
        CHECK(&e == planned::made);
        burnt = true;
      } catch (int) {  // a drop of the plan's own came first
        CHECK(store.throws);
      }
      the_fuse.disarm();
      the_fuse.action = -1;
      CHECK(failure.failed);
      if (burnt && calls[k].action >= 0) {
        std::size_t const number = std::size_t(calls[k].action);
        auto const under_way =
            number < plan.size() ? plan[number] : cairn::action{};  // observers see that nothing is left
        CHECK(failure.what == under_way);
        CHECK(failure.phase == phase_of(plan, number));
        CHECK(failure.step == under_way.from);
        if (calls[k].step >= 0) CHECK(failure.step == calls[k].step);
      }
      CHECK(store.kept.empty());
      CHECK(tracked::alive == alive);
      store.throws = false;
      CHECK(value_of(cairn::chain_gradient(stages, x0, plan, seed{}, failure, store)) == expected);
      CHECK(!failure.failed);
      CHECK(tracked::alive == alive);
    }
  }
}

/// With saves and loads of every state, and without.
std::vector<std::vector<action>> plans() {
  std::vector<std::vector<action>> all;
  for (std::uint64_t k = 0; all.size() < 6; ++k) {
    auto const plan = chain_stages::wild_plan(n, k, 150, false, true);
    int saves = 0, loads = 0, runs = 0;
    for (auto const& a : plan) {
      saves += a.kind == cairn::action_kind::save && a.from > 0;
      loads += a.kind == cairn::action_kind::load && a.from > 0;
      runs += a.kind == cairn::action_kind::advance;
    }
    // One tier: the shelf knows states by their number.
    bool one_tier = true;
    for (auto const& a : plan) one_tier = one_tier && a.where != cairn::tier::host;
    if (saves > 0 && loads > 0 && runs > 0 && one_tier) all.push_back(plan);
  }
  return all;
}

}  // namespace

TEST_CASE("a vector of stages survives anything that its functions throw", "[run][chain][throw]") {
  std::vector<plain> stages;
  for (step_index i = 0; i < n; ++i) stages.push_back({i});
  for (auto const& plan : plans()) survives_every_throw(stages, plan);
}

TEST_CASE("a tuple of stages that record and others survives anything that they throw", "[run][chain][throw]") {
  std::tuple stages{plain{0}, recording{{1}}, recording{{2}}, plain{3}, plain{4}, recording{{5}}};
  for (auto const& plan : plans()) survives_every_throw(stages, plan);
}

TEST_CASE("a vector of any stages survives anything that its functions throw", "[run][chain][throw]") {
  std::vector<cairn::any_stage> stages;
  for (step_index i = 0; i < n; ++i) {
    if (i % 2 == 0) stages.emplace_back(plain{i});
    else stages.emplace_back(recording{{i}});
  }
  for (auto const& plan : plans()) survives_every_throw(stages, plan);
}

TEST_CASE("a plan that is refused leaves no failure of a stage behind", "[run][chain][throw]") {
  std::vector<plain> const stages{{0}};
  cairn::sweep_failure failure;
  failure.failed = true;
  CHECK_THROWS_AS(cairn::chain_gradient(stages, tracked{kernels::start}, std::vector<action>{}, seed{}, failure),
                  cairn::invalid_schedule);
  CHECK(!failure.failed);
}

TEST_CASE("a sweep started by a stage of another sweep is one of its own", "[run][chain][throw]") {
  std::vector<plain> inner;
  for (step_index i = 0; i < n; ++i) inner.push_back({i});
  auto const whole = chain_stages::store_all(n);
  int sweeps = 0;
  cairn::stage const outer{[&](tracked const& x) {
                             ++sweeps;
                             CHECK(cairn::chain_gradient(inner, tracked{kernels::start}, whole, seed{}) ==
                                   kernels::gradient(n));
                             return inner[0].forward(x);
                           },
                           [&](tracked const& x, vec2& bar) { inner[0].backward(x, bar); }};
  (void)cairn::chain_gradient(std::vector(3, outer), tracked{kernels::start}, chain_stages::store_all(3), seed{});
  CHECK(sweeps == 3);
}
