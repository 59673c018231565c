// SPDX-License-Identifier: Apache-2.0
// Plans for chains as words, tables and curves.
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/plan/text/memory_over_time.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_plans.hpp"
#include "support/chain_stages.hpp"
#include "support/read_chain_words.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using namespace chain_actions;
using namespace chain_plans;

namespace {

/// Bytes of the states and tapes that are kept, which `replay` does not report by themselves.
class standing_tally {
 public:
  explicit standing_tally(chain const& work) : work_{work} {}
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (auto const i : states_) sum += work_.x[std::size_t(i)];
    for (auto const i : tapes_) sum += work_.s[std::size_t(i)];
    return sum;
  }
  void obey(action const& a) {
    if (a.kind == cairn::action_kind::advance) states_.insert(a.from + 1);
    if (a.kind == cairn::action_kind::record || a.kind == cairn::action_kind::reverse) states_.erase(a.from + 1);
    if (a.kind == cairn::action_kind::drop || a.kind == cairn::action_kind::turn) states_.erase(a.from);
    if (a.kind == cairn::action_kind::record) tapes_.insert(a.from);
    if (a.kind == cairn::action_kind::reverse) tapes_.erase(a.from);
  }

 private:
  chain const& work_;
  std::set<std::int64_t> states_, tapes_;
};

}  // namespace

TEST_CASE("plans come back from their words", "[plan][chain]") {
  for (std::int64_t const stages : {0, 1, 2, 3, 9})
    for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
      auto const words = chain_words(plan);
      CAPTURE(words);
      CHECK(read_chain_words(words) == plan);
    }
  CHECK(chain_words(storing_all(2)) == "Fall0 Fall1 Loss2 B1 B0");
  CHECK(chain_words(one_tape(3)) == "Fck0 Fck1 Fall2 Loss3 B2 Fall1 B1 Fall0 B0");
  CHECK(chain_words(one_state(3)) == "Fck0 Fn1 Fall2 Loss3 B2 Fck0 Fall1 B1 Fall0 B0");
  CHECK(chain_words({}).empty());
  // clang-format off
  std::vector<action> const sound{record(0), record(1), advance(1), drop(2), save(1, tier::disk), advance(2), drop(2),
                                  drop_tape(1), turn(3), reverse(2), drop(1), load(1, tier::disk),
                                  drop(1, tier::disk), reverse(1), save(12, tier::device)};
  // clang-format on
  CHECK(
      chain_words(sound) ==
      "Fall0 Fall1 Fck1 Drop2 Save1:disk Fck2 Drop2 DropTape1 Loss3 B2 Drop1 Load1:disk Drop1:disk Bck1 Save12:device");
  CHECK(read_chain_words(chain_words(sound)) == sound);
}

TEST_CASE("any list of actions on tiers that are there comes back from its words", "[plan][chain]") {
  std::mt19937_64 numbers{5};
  for (int run = 0; run < 20'000; ++run) {
    std::vector<action> plan;
    for (std::size_t k = numbers() % 30; k-- > 0;) {
      std::size_t const kind = numbers() % 8;
      bool const elsewhere = kind > 5 || (kind == 2 && numbers() % 3 == 0);
      tier const where = elsewhere ? tier(1 + numbers() % 3) : tier::memory;
      plan.push_back(chain_stages::all_actions[kind](std::int64_t(numbers() % 4), where));
    }
    INFO(chain_words(plan));
    REQUIRE(read_chain_words(chain_words(plan)) == plan);
  }
}

TEST_CASE("the curve of a plan has the peak that replay counts, and its sums of time", "[plan][chain]") {
  for (auto const of : chains::all_kinds)
    for (int const stages : {0, 1, 2, 5, 12}) {
      auto const work = chains::with_odd_adjoints(chains::make(of, stages, 11), 4);
      for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
        auto const cost = replay(work, plan);
        auto const curve = chain_memory_over(work, plan);
        REQUIRE(curve.moments.size() == plan.size());
        CHECK(curve.peak == cost.peak);
        CHECK(curve.moments[curve.summit].held == curve.peak);
        CHECK(std::none_of(curve.moments.begin(), curve.moments.begin() + std::ptrdiff_t(curve.summit),
                           [&](memory_moment const& at) { return at.held >= curve.peak; }));
        CHECK(curve.moments.back().end == wide(cost.makespan));
        CHECK(curve.moments.front().standing == 0);
        wide now = 0;
        standing_tally tally{work};
        for (std::size_t k = 0; k < plan.size(); ++k) {
          auto const& at = curve.moments[k];
          CHECK((at.begin == now && at.end >= at.begin));
          CHECK((at.standing == tally.bytes() && at.standing <= at.held));
          now = at.end;
          tally.obey(plan[k]);
        }
      }
    }
}

TEST_CASE("saves and loads take their place in the curve", "[plan][chain]") {
  chain const work{.x = {1, 2, 4}, .s = {5, 6}, .u = {10, 20}, .v = {30, 40, 50}};
  std::vector<action> const plan{advance(0), save(1, tier::disk), record(1),           drop(1),
                                 turn(2),    load(1, tier::disk), drop(1, tier::disk), reverse(1),
                                 drop(1),    record(0),           reverse(0)};
  chain_tier const disk{.where = tier::disk, .write = {0, 100, 0}, .read = {0, 200, 0}};
  auto const cost = replay(work, plan, {&disk, 1});
  auto const curve = chain_memory_over(work, plan, {&disk, 1});
  CHECK(curve.moments.back().end == wide(cost.makespan));
  CHECK(curve.moments[1].end - curve.moments[1].begin == 100);
  CHECK(curve.moments[5].end - curve.moments[5].begin == 200);
  CHECK(curve.peak == cost.peak);
}

TEST_CASE("tables of plans say memory, time, and how far they are from the best", "[plan][chain]") {
  chain const work{.x = {8, 8, 8, 8}, .s = {20, 20, 20}, .u = {10, 10, 10}, .v = {20, 20, 20, 0}};
  auto slow = planned(work, one_state(3)), fast = planned(work, storing_all(3));
  slow.proof.class_bound_time = 117, slow.proof.of = chain_class::persistent;
  std::vector<chain_plan> const front{slow, fast};
  CHECK(chain_pareto_text(front) == "memory  makespan  of store-all  above bound  planner\n"
                                    "  36 B       120         1.333        2.6 %  persistent\n"
                                    "  68 B        90             1            0  persistent\n");
  CHECK_THAT(chain_pareto_text(front, 8), ContainsSubstring("44 B") && ContainsSubstring("76 B"));
  auto stopped = front;
  stopped[1].left_out = 1;
  CHECK_THAT(chain_pareto_text(stopped),
             EndsWith(" 0  persistent\n1 more budget has no plan here: the limit of work was passed\n"));
  stopped[0].left_out = 2;
  CHECK_THAT(chain_pareto_text(stopped),
             EndsWith(" 0  persistent\n3 more budgets have no plan here: the limit of work was passed\n"));
  CHECK(chain_pareto_text({}) == "memory  makespan  of store-all  above bound  planner\n");
  CHECK(chain_plan_text(slow) ==
        "persistent: 1.333 times the time of storing everything, peak 36 bytes; it takes 2.6 % more than a bound for "
        "every persistent plan");
  CHECK(chain_plan_text(fast) ==
        "persistent: 1 times the time of storing everything, peak 68 bytes; no schedule of any kind is faster");
  CHECK(slow.slowdown() == Approx(4.0 / 3));
  CHECK(slow.store_all_time() == fast.cost.makespan);
  CHECK(fast.slowdown() == 1);
  slow.proof.class_bound_time = 120, slow.proof.of = chain_class::non_persistent;
  CHECK(chain_gap_text(slow) == "no non-persistent plan is faster");
  slow.proof = {};
  CHECK(chain_gap_text(slow) == "nothing is proven of its time");
}

TEST_CASE("figures are said in the words of all texts", "[plan][text]") {
  CHECK(cairn::number_text(0.0123456) == "0.01235");
  CHECK(cairn::number_text(123456.7) == "123457");
  CHECK(cairn::seconds_text(1.82) == "1.82 s");
  CHECK(cairn::seconds_text(3.1e-4) == "310 us");
  CHECK(cairn::seconds_text(0) == "0 s");
  CHECK(cairn::percent_text(0.12) == "12 %");
  CHECK(cairn::percent_text(0.004) == "0.4 %");
  CHECK(cairn::percent_text(2.5) == "250 %");
  CHECK(cairn::percent_text(1234567.891) == "123456789 %");
  CHECK(cairn::exact_bytes_text(1) == "1 byte");
  CHECK(cairn::exact_bytes_text(1023) == "1023 bytes");
  CHECK(cairn::exact_bytes_text(2048) == "2048 bytes (2.00 KiB)");
}

TEST_CASE("what makes a budget too small is said in bytes", "[plan][chain]") {
  auto const work = chains::make(chains::kind::uniform, 3, 1);
  chain_infeasibility why{.budget = 10,
                          .least_bytes = 24,
                          .lower_bound = 20,
                          .stage = 2,
                          .is_backward = true,
                          .state = 4,
                          .tape = 10,
                          .adjoint = 4,
                          .work = 2};
  CHECK(chain_infeasibility_text(why, work) ==
        "The budget is 10 bytes, and the least that would do is 24; of all stages the adjoint of stage 2 takes the "
        "most at once, 20: 4 for its state, "
        "10 for its tape, 4 for the adjoint it reads, 2 to work with, and no schedule can do with less than that");
  CHECK_THAT(chain_infeasibility_text(why, work, 4),
             StartsWith("The budget is 14 bytes, and the least that would do is 28, of which state 0 takes 4;"));
  why.is_backward = false, why.adjoint = 0;
  CHECK_THAT(chain_infeasibility_text(why, work),
             ContainsSubstring("of all stages stage 2, recorded, takes") && !ContainsSubstring("adjoint"));
  why.stage = 3, why.tape = 0;
  CHECK_THAT(chain_infeasibility_text(why, work), ContainsSubstring("of all stages the loss takes"));
}
