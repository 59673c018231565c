// SPDX-License-Identifier: Apache-2.0
// Segments of a loop that runs backwards: against every division of short loops, and the executor's rules.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/segments.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {
constexpr step_index longest = std::numeric_limits<step_index>::max();

/// The fewest forward runs of any division into segments of at most `length` steps: every place of a checkpoint, every
/// length of every segment. \param free  slots besides that of the first state, which is held
class every_division {
 public:
  explicit every_division(step_index length) : length_{length} {}
  step_index runs(step_index n, step_index free) {
    if (n <= length_) return n;
    auto const [found, fresh] = known_.try_emplace({n, free}, longest);
    if (!fresh) return found->second;
    step_index best = longest;
    for (step_index last = 1; last <= length_; ++last) best = std::min(best, n + runs(n - last, free));
    if (free > 0)
      for (step_index j = 1; j < n; ++j) best = std::min(best, j + runs(n - j, free - 1) + runs(j, free));
    return known_[{n, free}] = best;
  }

 private:
  step_index length_;
  std::map<std::pair<step_index, step_index>, step_index> known_;
};

/// Steps that run forward in a sweep whose segments run again, but for the last of the loop, which the turn runs.
wide runs_of(segments const& plan) {
  wide sum = 0;
  bool turned = false;
  detail::each_action(plan, [&](action const& a) {
    if (a.kind == action_kind::advance || a.kind == action_kind::turn) sum += wide(a.to - a.from);
    if (a.kind == action_kind::reverse && std::exchange(turned, true)) sum += wide(a.to - a.from);
  });
  return sum;
}
}  // namespace

static_assert(verify(segments{10, {.length = 3, .slots = 2}}) == segments{10, {.length = 3, .slots = 2}}.counts(),
              "segments walk in a constant expression");

TEST_CASE("segments run the fewest steps forward of all divisions of a loop", "[schedule][segments]") {
  for (step_index length = 1; length <= 12; ++length) {
    every_division all{length};
    for (slot_index slots = 1; slots <= 6; ++slots)
      for (step_index n = 0; n <= 40; ++n) {
        segments const plan{n, {.length = length, .slots = slots}};
        INFO(n << " steps, segments of " << length << ", " << slots << " slots");
        auto const fewest = wide(all.runs(n, slots - 1));
        REQUIRE(runs_of(plan) == fewest);
        REQUIRE(segments::fewest_runs(n, length, slots) == fewest);
      }
  }
}

TEST_CASE("segments obey an executor's rules within their slots and length", "[schedule][segments]") {
  for (step_index n = 0; n <= 60; ++n)
    for (step_index length = 0; length <= n + 1; length += 1 + length / 4)
      for (slot_index slots = 0; slots <= 5; ++slots) {
        segments const plan{n, {.length = length, .slots = slots}};
        auto const counts = verify(plan);
        CHECK(counts == plan.counts());
        CHECK(counts.peak_slots <= plan.slots());
        CHECK(counts.reversals == wide(n));
        CHECK(plan.leaf() <= std::max<step_index>(n, 1));
        if (length == 0) CHECK((counts.advances == 0 && counts.turned == wide(n) && plan.slots() == 0));
        if (slots == 0 && length > 0) CHECK(counts.advances + counts.turned == wide(n));
      }
}

TEST_CASE("segments of one step are those of revolve", "[schedule][segments]") {
  for (step_index n = 2; n <= 60; ++n)
    for (slot_index slots = 1; slots <= 6; ++slots)
      CHECK(segments(n, {.length = 1, .slots = slots}).counts().advances == revolve(n, slots).counts().advances);
}

TEST_CASE("segments are made for loops of any length", "[schedule][segments]") {
  segments const plan{longest, {.length = longest / 1000, .slots = 7}};
  auto const counts = plan.counts();
  CHECK(counts.reversals == wide(longest));
  CHECK(runs_of(plan) == segments::fewest_runs(longest, longest / 1000, 7));
  CHECK(segments{longest}.slots() == 0);
  CHECK(segments{0}.counts().reversals == 0);
  segments const one{longest, {.length = 3, .slots = 1}};
  CHECK(segments::fewest_runs(longest, 3, 1) > wide(longest));
  CHECK_FALSE(one.is_counted());
  CHECK_THROWS_AS(segments(-1), invalid_plan);
  CHECK_THROWS_AS(segments(10, {.length = -1}), invalid_plan);
  CHECK_THROWS_AS(segments(10, {.slots = -1}), invalid_plan);
}

TEST_CASE("the estimate of segments counts kept parts as it counts leaves", "[schedule][segments]") {
  workload work{.state_bytes = 1000, .tape_bytes = 1000};
  work.form.adjoint = adjoint_form::leaf;
  for (step_index const length : {1000, 100, 7}) {
    segments const plan{1000, {.length = length}};
    work.tape_step_bytes = 0;
    auto const without = estimate(plan, work).peak_bytes;
    work.tape_step_bytes = 10;
    CHECK(estimate(plan, work).peak_bytes - without == wide(length) * 10);
    CHECK(estimate(plan, work).step_calls == 1000);
  }
}
