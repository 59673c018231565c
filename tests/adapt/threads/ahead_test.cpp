// SPDX-License-Identifier: Apache-2.0
// The way back on two threads gives the bits, the calls and the exceptions of one thread, for random plans, forms,
// lengths, frames and delays.
#include <cairn/adapt/threads.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cairn/planning.hpp>

#include "adapt/threads/ahead.hpp"
#include "support/catch.hpp"

using ahead::same;
using ahead::field;
using cairn::step_index;

namespace {

struct boom : std::runtime_error {
  using runtime_error::runtime_error;
};
/// Where a loop throws or waits, and what it has called.
struct events {
  long steps = 0, step_throws = -1, reversals = 0;
  step_index adjoint_throws = -1, slow_adjoint = 0, slow_step = 0;
  void step(step_index i) {
    if (steps++ == step_throws) throw boom{"step"};
    if (slow_step > 0 && i % slow_step == 0) std::this_thread::yield();
  }
  void adjoint(step_index i) {
    if (i == adjoint_throws) throw boom{"adjoint"};
    ++reversals;
    if (slow_adjoint > 0 && i % slow_adjoint == 0) std::this_thread::yield();
  }
};

/// Random settings; each is compared with the loop by hand, and with one thread where it throws.
struct campaign {
  std::mt19937_64 random;
  long settings = 0;
  events now;

  std::int64_t any(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>{from, to}(random);
  }
  cairn::any_schedule plan(bool with_leaves) {
    step_index const n = any(0, 7) == 0 ? any(0, 3) : any(2, any(0, 3) == 0 ? 300 : 40);
    cairn::slot_index const slots = any(1, any(0, 1) == 0 ? 3 : 12);
    if (with_leaves) {
      step_index const leaf = any(2, 6), leaves = (n + leaf - 1) / leaf;
      return cairn::any_schedule{cairn::leaves{n > 0 ? n : 1, leaf, cairn::revolve{n > 0 ? leaves : 1, slots}}};
    }
    switch (any(0, 4)) {
      case 0: return cairn::any_schedule{cairn::uniform{n, {.checkpoints = slots < n ? slots : n}}};
      case 1: return cairn::any_schedule{cairn::store_all(n)};
      case 2:
        return cairn::any_schedule{
            cairn::two_level{n, any(1, 30), any(0, 5), {.periods_on = cairn::tier::memory}}};
      default: return cairn::any_schedule{cairn::revolve{n, slots}};
    }
  }

  template <class Plan, class Step, class Adjoint>
  void compare(Plan const& plan, Step& step, Adjoint& adjoint) {
    auto const seed = [](field const& x) { return x; };
    auto const wanted = ahead::gradient_by_hand(plan.steps());
    auto work = cairn::workspace_for<field>(plan);
    ahead::eager const how{.ahead = any(0, 2) == 0 ? any(1, 3) : any(1, 40)};
    auto const two = [&] {
      return cairn::gradient(cairn::concurrent(step), ahead::begin(), plan, seed, adjoint, work, how);
    };
    auto const one = [&] { return cairn::gradient(step, ahead::begin(), plan, seed, adjoint); };
    ++settings;
    now = {};
    if (any(0, 1) == 0) now.slow_adjoint = any(1, 17);
    if (any(0, 2) == 0) now.slow_step = any(1, 17);
    events const slow = now;
    one();
    long const calls = now.steps;
    ahead::recalls = any(0, 3) == 0;
    for (int k = any(0, 2) == 0 ? 2 : 1; k > 0; --k) {
      now = slow;
      auto const found = two();
      REQUIRE(same(found, wanted));
      REQUIRE(now.steps == calls);
    }
    if (plan.steps() == 0 || calls == 0 || any(0, 2) > 0) return;
    events throwing = slow;
    if (any(0, 1) == 0) throwing.step_throws = long(any(0, calls - 1));
    if (throwing.step_throws < 0 || any(0, 3) == 0) throwing.adjoint_throws = any(0, plan.steps() - 1);
    std::string thrown[2];
    long reversals[2];
    for (int k = 0; k < 2; ++k) {
      now = throwing;
      try {
        k == 0 ? one() : two();
      } catch (boom const& e) {
        thrown[k] = e.what();
      }
      reversals[k] = now.reversals;
    }
    REQUIRE(thrown[0] == thrown[1]);
    REQUIRE(reversals[0] == reversals[1]);
    if (!thrown[1].empty()) {
      REQUIRE(work.failure().failed);
      REQUIRE((work.failure().phase == cairn::phase::reverse) == (thrown[1] == "adjoint"));
    }
    now = slow;
    REQUIRE(same(two(), wanted));
  }
  template <class Step, class Adjoint>
  void with(Step step, Adjoint adjoint, bool with_leaves = false) {
    auto const chosen = plan(with_leaves);
    if (any(0, 2) == 0) compare(ahead::late_drop{chosen}, step, adjoint);
    else compare(chosen, step, adjoint);
  }

  void one_setting() {
    auto const in = [this](field& x, step_index i) {
      now.step(i);
      field const before = x;
      ahead::move(before, x, i);
    };
    auto const out = [this](field const& x, field& x1, step_index i) {
      now.step(i);
      ahead::move(x, x1, i);
    };
    auto const by_value = [this](field const& x, step_index i) {
      now.step(i);
      field x1(5);
      ahead::move(x, x1, i);
      return x1;
    };
    auto const spare = [this](field& x, step_index i) {  // with spare capacity, which frames give back
      now.step(i);
      field const before = x;
      x.reserve(std::size_t(5 + i % 7));
      ahead::move(before, x, i);
    };
    auto const spare_out = [this](field const& x, field& x1, step_index i) {
      now.step(i);
      x1.reserve(std::size_t(5 + i % 7));
      ahead::move(x, x1, i);
    };
    auto const adjoint = [this](field const& x, field& bar, step_index i) {
      now.adjoint(i);
      bar = ahead::pulled(x, bar, i);
    };
    auto const next = [this](field const& x, field const& x1, field const& bar, step_index i) {
      now.adjoint(i);
      field made(5);
      ahead::move(x, made, i);
      if (!same(made, x1)) throw std::logic_error{"another x1"};
      return ahead::pulled(x, bar, i);
    };
    auto const recorded = cairn::recorded{[](field& x, step_index i) {
                                            field tape = x;
                                            ahead::move(tape, x, i);
                                            return tape;
                                          },
                                          [this](field const& tape, field const& bar, step_index i) {
                                            now.adjoint(i);
                                            return ahead::pulled(tape, bar, i);
                                          }};
    auto const leaf = cairn::concurrent([this](field const& x, field& bar, step_index first, step_index last) {
      std::vector<field> all{x};
      for (step_index i = first; i + 1 < last; ++i) {
        all.emplace_back(5);
        ahead::move(all[all.size() - 2], all.back(), i);
      }
      for (step_index i = last; i-- > first;) {
        now.adjoint(i);
        bar = ahead::pulled(all[std::size_t(i - first)], bar, i);
      }
    });
    switch (any(0, 11)) {
      case 0: return with(in, adjoint);
      case 1: return with(out, adjoint);
      case 2: return with(by_value, adjoint);
      case 3: return with(spare, adjoint);
      case 4: return with(spare_out, adjoint);
      case 5: return with(in, next);
      case 6: return with(out, next);
      case 7: return with(spare, next);
      case 8: return with(in, recorded);
      case 9: return with(spare, recorded);
      case 10: return with(in, leaf, true);
      default: return with(spare_out, leaf, true);
    }
  }
};

void run_settings(long count, std::uint64_t seed) {
  campaign all{std::mt19937_64{seed}, 0, {}};
  while (all.settings < count) {
    INFO("setting " << all.settings << " of seed " << seed);
    all.one_setting();
  }
  ahead::recalls = false;
}

}  // namespace

TEST_CASE("two threads give the bits, calls and exceptions of one: 300 random settings", "[adapt][threads]") {
  run_settings(300, 1);
}
TEST_CASE("two threads give the bits, calls and exceptions of one: 6,000 random settings", "[adapt][threads][long]") {
  run_settings(6'000, 2);
}
TEST_CASE("two threads give the bits, calls and exceptions of one: 30,000 random settings", "[.soak][threads]") {
  run_settings(30'000, 3);
}

TEST_CASE("a sweep hands a hundred thousand states over", "[adapt][threads][long]") {
  char const* const asked = std::getenv("CAIRN_FUZZ_HAND_OFFS");
  long const wanted = asked != nullptr ? std::atol(asked) : 100'000;
  auto const step = [](field& x, step_index i) {
    field const before = x;
    ahead::move(before, x, i);
  };
  auto const adjoint = [](field const& x, field const& x1, field& bar, step_index i) {
    bar = ahead::pulled(x, bar, i);
    bar[0] += 0 * x1[0];
  };
  cairn::revolve const plan{5'000, 30};
  auto const seed = [](field const& x) { return x; };
  auto const by_one = cairn::gradient(step, ahead::begin(), plan, seed, adjoint);
  auto work = cairn::workspace_for<field>(plan);
  for (long handed = 0; handed < wanted; handed += long(plan.steps()))
    REQUIRE(same(cairn::gradient(cairn::concurrent(step), ahead::begin(), plan, seed, adjoint, work,
                                 ahead::eager{.ahead = 1 + handed / 5'000 % 40}),
                 by_one));
}
