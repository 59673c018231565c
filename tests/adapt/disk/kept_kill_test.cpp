// SPDX-License-Identifier: Apache-2.0
// Runs on disk that are kept, of unknown length, or whose steps choose, killed anywhere: what goes on has the bits of an
// undisturbed run.
#include "adapt/disk/kept_verbs.hpp"

namespace {

/// \param runs  that are killed, in equal shares of all kinds
void all_at_random(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  long const each = runs / 13 + 1;
  kill_at_random<by_gradient<numbers>>(tiers, draw, each);
  kill_at_random<by_gradient<noted>>(cairn::multistage{length, 2, 4}, draw, each);
  kill_at_random<by_gradient<solver>>(cairn::two_level{length, 10, 3}, draw, each);
  kill_at_random<by_gradient<numbers>>(cairn::revolve{length, 3}, draw, each);
  kill_at_random<by_run<numbers>>(tiers, draw, each);
  kill_at_random<by_run<noted>>(five, draw, each);
  kill_at_random<by_run<solver>>(five, draw, each);
  kill_at_random<by_run<solver>>(tiers, draw, each);
  kill_at_random<by_two_reverses>(tiers, draw, each);
  kill_at_random<by_objective>(five, draw, each);
  kill_at_random<by_objective>(tiers, draw, each);
  kill_at_random<by_choices>(five, draw, each);
  kill_at_random<by_choices>(tiers, draw, each);
}

}  // namespace

TEST_CASE("a kept run that is killed anywhere goes on with the bits of an undisturbed one, for each kind of state") {
  kill_everywhere<by_run<numbers>>(tiers, 5);
  kill_everywhere<by_run<numbers>>(cairn::multistage{length, 2, 4}, 17);
  kill_everywhere<by_run<numbers>>(cairn::revolve{length, 3}, 17);
  kill_everywhere<by_run<noted>>(tiers, 17);
  kill_everywhere<by_run<solver>>(tiers, 13);
}
TEST_CASE("so does a loop of unknown length") {
  kill_everywhere<by_run<numbers>>(five, 5);
  kill_everywhere<by_run<noted>>(five, 17);
  kill_everywhere<by_run<solver>>(five, 13);
}
TEST_CASE("so does a run that is reversed twice") {
  kill_everywhere<by_two_reverses>(tiers, 11);
  kill_everywhere<by_two_reverses>(five, 11);
}
TEST_CASE("so does an objective over a loop of unknown length, and as a function") {
  kill_everywhere<by_objective>(five, 5);
  kill_everywhere<by_objective>(five, 7, 1'000);
  kill_everywhere<by_objective>(tiers, 17);
}
TEST_CASE("so does a loop whose steps choose, and its choices are those of the undisturbed one") {
  kill_everywhere<by_choices>(five, 5);
  kill_everywhere<by_choices>(tiers, 7);
}
TEST_CASE("300 runs, killed at random") { all_at_random(1, 300); }
TEST_CASE("10,000 runs, killed at random", "[.soak]") { all_at_random(2, 10'000); }
