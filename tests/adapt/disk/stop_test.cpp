// SPDX-License-Identifier: Apache-2.0
// Runs on disk that are asked to stop: they end within one action, and the next process goes on from there with the bits
// of an undisturbed run. One process after another is played by one call after another.
#include "adapt/disk/kept_verbs.hpp"

namespace {

/// One process, which is asked to stop the `at`-th time that it asks; never if that is 0.
template <class Verb, class Plan>
bool ends(program<Verb, Plan> const& of, long at, bool& right) {
  long asked = 0;
  auto const stop = [&] { return ++asked == at; };
  try {
    right = Verb::of(of.plan, cairn::disk{of.folder.run(), {.commit_every = of.commit_every, .stop = stop}}) == of.right;
    return true;
  } catch (cairn::stopped const&) {
    return false;
  }
}
/// Stops at every `stride`-th place where a process asks.
/// \param most  calls that a stop may cost
template <class Verb, class Plan>
void stop_everywhere(Plan plan, long most, long stride = 1, std::int64_t commit_every = 1'000) {
  program<Verb, Plan> of{std::move(plan), commit_every};
  bool right = false;
  killed::calls = 0;
  REQUIRE(ends(of, 0, right));
  long const usual = killed::calls;
  for (long at = 1;; at += stride) {
    CAPTURE(at);
    of.folder.remove_runs();
    killed::calls = 0;
    right = false;
    bool const ended = ends(of, at, right);
    if (!ended) CHECK(ends(of, 0, right));
    CHECK(right);
    CHECK(killed::calls - usual <= most);
    if (ended) break;
  }
}

}  // namespace

TEST_CASE("a run that is asked to stop anywhere goes on with the bits of an undisturbed one, and loses one action") {
  stop_everywhere<by_gradient<numbers>>(tiers, 3);
  stop_everywhere<by_gradient<numbers>>(cairn::revolve{length, 3}, 3);
  stop_everywhere<by_gradient<noted>>(cairn::multistage{length, 2, 4}, 3);
  stop_everywhere<by_gradient<solver>>(cairn::two_level{length, 10, 3}, 3);
}
TEST_CASE("so does a kept one") {
  stop_everywhere<by_run<numbers>>(tiers, 3);
  stop_everywhere<by_run<noted>>(cairn::revolve{length, 3}, 3);
  stop_everywhere<by_run<solver>>(tiers, 3);
  stop_everywhere<by_two_reverses>(tiers, 130);  // the first of its two reverses runs again
}
// A kept run does not go on between its turn and its first adjoint.
TEST_CASE("so does a loop of unknown length") {
  stop_everywhere<by_run<numbers>>(five, 5);
  stop_everywhere<by_run<noted>>(five, 5);
  stop_everywhere<by_run<solver>>(five, 5);
}
TEST_CASE("so do objectives, and steps that choose") {
  stop_everywhere<by_objective>(five, 5);
  stop_everywhere<by_objective>(tiers, 3);
  stop_everywhere<by_choices>(five, 5);
  stop_everywhere<by_choices>(tiers, 3);
}
