// SPDX-License-Identifier: Apache-2.0
// Schedules changed at random: the interpreter agrees with a second reading of the rules that knows nothing of it, and
// never hangs.
#include <array>
#include <cstddef>
#include <string>
#include <vector>
#include <cairn/plan/loop/verify.hpp>
#include "support/book_of.hpp"
#include "support/breaker.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;

namespace {

std::string words(std::set<book::rule> const& broken) {
  std::string text;
  for (int k = 0; k <= int(flaw::no_progress); ++k)
    if (broken.count(rule_of(flaw(k))) > 0) text += std::string{text.empty() ? "" : ", "} + describe(flaw(k));
  return text.empty() ? "nothing" : text;
}

/// Sound schedules of every kind over a few steps.
std::vector<loose_plan> sound_plans() {
  std::vector<loose_plan> all;
  for (step_index const n : {0, 1, 2, 3, 5, 8, 12})
    each_as_any(n, [&](std::string const&, auto const& plan) { all.push_back(loose(plan)); });
  return all;
}

/// How often each flaw was found in `count` mutants; fails where the book disagrees.
std::array<long, book::rules> flaws_of_mutants(unsigned seed, int count) {
  auto const sound = sound_plans();
  for (auto const& plan : sound) REQUIRE(rule_on(plan).broken.empty());
  breaker change{seed};
  std::array<long, book::rules> found{};
  for (int k = 0; k < count; ++k) {
    loose_plan const mutant = change.changed(sound[std::size_t(k) % sound.size()]);
    auto const ours = check(mutant);
    auto const theirs = rule_on(mutant);
    bool const agreed = ours ? theirs.broken.empty() && ours.counts == counts_of(theirs.sum)
                             : theirs.broken.count(rule_of(ours.reason)) > 0;
    if (!agreed || ours.number != theirs.number) {
      std::string text;
      for (auto const& a : mutant.actions) text += text_of(a) + "\n";
      FAIL("mutant " << k << ": " << describe(ours.reason) << " at action " << text_of(ours.number) << ", by the book "
                     << words(theirs.broken) << " at action " << theirs.number << " of\n"
                     << text);
    }
    ++found[std::size_t(ours.reason)];
  }
  return found;
}

void agree_on_mutants(unsigned seed, int count) {
  auto const found = flaws_of_mutants(seed, count);
  CHECK(found[0] >= count / 5);
  CHECK(found[0] <= 4 * (count / 5));
  for (std::size_t k = 0; k < found.size(); ++k) {
    INFO(describe(flaw(k)) << ": " << found[k] << " of " << count);
    CHECK(found[k] >= count / 1000);
  }
}

}  // namespace

static_assert(book::rules == int(flaw::no_progress) + 1, "the book knows every flaw");

TEST_CASE("verify and the book agree on schedules changed at random", "[plan][verify][mutants]") {
  agree_on_mutants(7, 5'000);
}
TEST_CASE("verify and the book agree on 100,000 schedules changed at random", "[plan][verify][mutants][long]") {
  agree_on_mutants(7, 100'000);
}

TEST_CASE("verify and the book agree on a million schedules changed at random", "[plan][verify][mutants][.soak]") {
  agree_on_mutants(11, 1'000'000);
}
