// SPDX-License-Identifier: Apache-2.0
// Runs on disk that are asked to stop: they end within one action, and the next process goes on from there with the bits
// of an undisturbed run. One process after another is played by one call after another.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <cairn/adapt/disk/stored_runs.hpp>
#include "adapt/disk/ahead_by.hpp"
#include "adapt/disk/kept_verbs.hpp"

namespace {

/// One process, which is asked to stop the `at`-th time that it asks; never if that is 0.
template <class Verb, class Plan>
bool ends(program<Verb, Plan> const& of, long at, bool& right) {
  std::atomic<long> asked = 0;
  auto const stop = [&] { return ++asked == at; };
  try {
    cairn::disk const on{of.folder.run(), {.commit_every = of.commit_every, .stop = stop}};
    right = Verb::of(of.plan, on) == of.right;
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

// A signal that asks for a stop.
std::atomic<bool> asked_by_signal = false;
static_assert(std::atomic<bool>::is_always_lock_free);
struct on_sigterm {
  on_sigterm() { (void)std::signal(SIGTERM, [](int) { asked_by_signal = true; }); }
  ~on_sigterm() { (void)std::signal(SIGTERM, SIG_DFL); }
};
/// SIGTERM at a call of step or adjoint, up to four times in a row.
/// \param most  calls that a stop may cost
template <class Verb, class Plan>
void stop_at_random(Plan plan, std::mt19937_64& draw, long runs, long most) {
  program<Verb, Plan> of{std::move(plan), 1'000};
  on_sigterm const handled;
  cairn::disk_options const options{.commit_every = 1'000, .stop = [] { return asked_by_signal.load(); }};
  killed::calls = 0;
  (void)Verb::of(of.plan, cairn::disk{of.folder.run(), options});
  long const usual = killed::calls;
  for (long run = 0; run < runs; ++run) {
    of.folder.remove_runs();
    long stops = 0, all = 0;
    long const wanted = 1 + long(draw() % 4);
    std::string what;
    for (bool ended = false; !ended;) {
      killed::calls = 0;
      killed::at_call = stops < wanted ? 1 + long(draw() % std::uint64_t(usual)) : -1;
      killed::by = SIGTERM;
      what += ' ' + std::to_string(killed::at_call);
      asked_by_signal = false;
      try {
        bool const right = Verb::of(of.plan, cairn::disk{of.folder.run(), options}) == of.right;
        CHECK(right);
        ended = true;
      } catch (cairn::stopped const&) {
        CHECK(killed::calls <= killed::at_call + 2);  // one action
        ++stops;
      }
      all += killed::calls;
    }
    CAPTURE(what, stops, usual);
    CHECK(all - usual <= most * stops);
  }
  killed::at_call = -1;
  killed::by = SIGKILL;
}
/// \param runs  in equal shares of all kinds
void all_at_random(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  stop_at_random<by_gradient<numbers>>(tiers, draw, runs / 5, 12);
  stop_at_random<by_gradient<solver>>(cairn::two_level{length, 10, 3}, draw, runs / 5, 12);
  stop_at_random<by_run<noted>>(tiers, draw, runs / 5, 12);
  stop_at_random<by_objective>(five, draw, runs / 5, 12);
  stop_at_random<by_choices>(tiers, draw, runs / 5, 12);
}

}  // namespace

TEST_CASE("a run that is asked to stop anywhere goes on with the bits of an undisturbed one, and loses one action") {
  stop_everywhere<by_gradient<numbers>>(tiers, 4);
  stop_everywhere<by_gradient<numbers>>(cairn::revolve{length, 3}, 4);
  stop_everywhere<by_gradient<noted>>(cairn::multistage{length, 2, 4}, 4);
  stop_everywhere<by_gradient<solver>>(cairn::two_level{length, 10, 3}, 4);
}
TEST_CASE("so does a kept one") {
  stop_everywhere<by_run<numbers>>(tiers, 4);
  stop_everywhere<by_run<noted>>(cairn::revolve{length, 3}, 4);
  stop_everywhere<by_run<solver>>(tiers, 4);
  stop_everywhere<by_two_reverses>(tiers, 130);  // the first of its two reverses runs again
}
// A kept run does not go on between its turn and its first adjoint.
TEST_CASE("so does one of unknown length") {
  stop_everywhere<by_run<numbers>>(five, 6);
  stop_everywhere<by_run<noted>>(five, 6);
  stop_everywhere<by_run<solver>>(five, 6);
}
TEST_CASE("so do objectives, and steps that choose") {
  stop_everywhere<by_objective>(five, 6);
  stop_everywhere<by_objective>(tiers, 4);
  stop_everywhere<by_choices>(five, 6);
  stop_everywhere<by_choices>(tiers, 4);
}
TEST_CASE("so do runs with a helper, which loses the states that it was ahead") {
  for (long const started : {0, 1, 6}) {
    killed::started = started;
    CAPTURE(started);
    stop_everywhere<ahead_by<by_gradient<numbers>>>(tiers, 90);
    stop_everywhere<ahead_by<by_gradient<numbers>>>(cairn::revolve{length, 3}, 90);
    stop_everywhere<ahead_by<by_run<noted>>>(tiers, 90);
  }
}
TEST_CASE("20 runs with SIGTERM at random end or stop, and then go on") { all_at_random(1, 20); }
TEST_CASE("300 runs with SIGTERM at random", "[.soak]") { all_at_random(2, 300); }

TEST_CASE("a run of which nothing can be used stops, too, writes nothing, and says why") {
  support::temporary const place;
  double const captured = 0.9;
  auto const step = [&](double& x) { x = std::sin(captured * x); };
  auto const adjoint = [&](double x, double& bar) { bar *= captured * std::cos(captured * x); };
  long asked = 0;
  cairn::disk const on{place.run(), {.stop = [&] { return ++asked == 20; }}};
  try {
    (void)cairn::gradient(step, 0.5, tiers, 1.0, adjoint, on);
    FAIL("it was not stopped");
  } catch (cairn::stopped const& seen) {
    CHECK_THAT(seen.what(), Catch::Matchers::ContainsSubstring("(state = 19)"));
  }
  CHECK_THAT(on.report().why, Catch::Matchers::ContainsSubstring("the step, or a stage, holds what cannot be seen"));
  CHECK(on.report().not_written.empty());
  CHECK(on.report().step_calls == 20);
  place.remove_files("s");
  for (auto const& run : place.names_in(place.run()))
    for (auto const& name : place.names_in(place.run() + '/' + run)) CHECK((name == "lock" || name == "name"));
}
TEST_CASE("what a run stopped with is gone when it is finished, and counts as a checkpoint before") {
  support::temporary const place;
  long asked = 0;
  auto const stop = [&] { return ++asked == 22; };
  CHECK_THROWS_AS(by_gradient<numbers>::of(tiers, cairn::disk{place.run(), {.stop = stop}}), cairn::stopped);
  auto const names = [&] { return place.names_in(place.run() + '/' + place.names_in(place.run()).at(0)); };
  auto const there = names();
  CHECK(std::count(there.begin(), there.end(), "live") == 1);
  auto const seen = cairn::stored_runs(place.run(), true).at(0);
  CHECK(seen.checkpoints == 5);  // 0, 6, 12, 18 and where it stopped
  CHECK(seen.damaged.empty());
  CHECK(seen.others == 0);
  (void)by_gradient<numbers>::of(tiers, cairn::disk{place.run(), {.stop = stop}});
  auto const left = names();
  CHECK(left.size() == 3);  // the lock, the name and the record
}

namespace {
/// Copies what is whole after each record, and goes on from each copy.
template <class Verb, class Plan>
void goes_on_from_copies(Plan plan, std::size_t least, long stop_at = 0) {
  program<Verb, Plan> of{std::move(plan), 4};
  support::temporary const copies;
  std::vector<step_index> left;
  long asked = 0;
  auto const copy = [&](cairn::whole_run const& now) {
    std::string const folder = copies.path() + '/' + std::to_string(left.size());
    std::filesystem::create_directory(folder);
    auto const into = std::filesystem::path{folder} / std::filesystem::path{now.folder}.filename();
    std::filesystem::create_directory(into);
    for (auto const& name : now.files) std::filesystem::copy_file(now.folder + '/' + name, into / name);
    left.push_back(now.left);
  };
  cairn::disk_options const options{
      .commit_every = 4, .stop = [&] { return ++asked == stop_at; }, .committed = copy};
  try {
    bool const right = Verb::of(of.plan, cairn::disk{of.folder.run(), options}) == of.right;
    CHECK(right);
  } catch (cairn::stopped const&) {
    CHECK(stop_at > 0);
  }
  REQUIRE(left.size() >= least);
  if (stop_at == 0) CHECK(left.back() == 0);
  for (std::size_t k = 0; k < left.size(); ++k) {
    CAPTURE(k, left[k]);
    cairn::disk const on{copies.path() + '/' + std::to_string(k), {.resume = cairn::resume_rule::require}};
    killed::calls = 0;
    CHECK(Verb::of(of.plan, on) == of.right);
    if (left[k] >= 0) CHECK(on.report().used == cairn::disk_use::record);
    CHECK(on.report().resumed_at == left[k]);
    CHECK(killed::calls < of.calls);
  }
}
}  // namespace

TEST_CASE("a copy of the files that are whole after a record is a run that goes on from it") {
  goes_on_from_copies<by_gradient<numbers>>(tiers, 7);
  goes_on_from_copies<by_gradient<solver>>(cairn::two_level{length, 10, 3}, 7);
  goes_on_from_copies<by_run<noted>>(tiers, 7);
  goes_on_from_copies<by_objective>(five, 7);
  goes_on_from_copies<by_choices>(five, 7);
  goes_on_from_copies<by_gradient<numbers>>(tiers, 1, 25);  // where it is asked to stop, on its way forward
  goes_on_from_copies<by_gradient<numbers>>(tiers, 4, 70);  // and back
}

namespace {
numbers stepped(numbers const& x, step_index i) {
  killed::tick();
  numbers y = x;
  for (double& v : y) v = std::sin(1.1 * v + 0.01 * double(i));
  return y;
}
void pull(numbers const& x, numbers& bar, step_index i) {
  killed::tick();
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x[k] + 0.01 * double(i));
}
/// Stops run(disk) wherever it asks.
template <class Run>
void stop_form_everywhere(long most, Run const& run) {
  support::temporary const place;
  killed::calls = 0;
  numbers const right = run(cairn::disk{place.run(), {.commit_every = 1'000}});
  long const usual = killed::calls;
  bool ended = false;
  for (long at = 1; !ended; ++at) {
    CAPTURE(at);
    place.remove_runs();
    long asked = 0;
    killed::calls = 0;
    numbers found;
    ended = true;
    try {
      found = run(cairn::disk{place.run(), {.commit_every = 1'000, .stop = [&] { return ++asked == at; }}});
    } catch (cairn::stopped const&) {
      ended = false;
      found = run(cairn::disk{place.run(), {.commit_every = 1'000}});
    }
    CHECK(found == right);
    CHECK(killed::calls - usual <= most);
  }
}
}  // namespace

TEST_CASE("so do all forms of adjoints, and sweeps with replay checks") {
  numbers const x0{0.3, 0.7}, one{1, 1};
  cairn::two_level const two{length, 10, 3};
  auto const in_place = [](numbers& x, step_index i) { x = stepped(x, i); };
  auto const next = [](numbers const& x, numbers const&, numbers& bar, step_index i) { pull(x, bar, i); };
  auto const leaf = [](numbers const& x, numbers& bar, step_index first, step_index last) {
    std::vector<numbers> states{x};
    for (step_index i = first; i + 1 < last; ++i) states.push_back(stepped(states.back(), i));
    for (step_index i = last; i-- > first;) pull(states[std::size_t(i - first)], bar, i);
  };
  auto const record = [](numbers& x, step_index i) {
    numbers const tape = x;
    x = stepped(x, i);
    return tape;
  };
  cairn::recorded const recorded{record, pull};
  cairn::leaves const fives{length, 5, cairn::two_level{6, 3, 1}};
  stop_form_everywhere(5, [&](auto const& on) { return cairn::gradient(stepped, x0, tiers, one, next, on); });
  stop_form_everywhere(5, [&](auto const& on) { return cairn::gradient(in_place, x0, two, one, next, on); });
  stop_form_everywhere(9, [&](auto const& on) { return cairn::gradient(in_place, x0, two, one, recorded, on); });
  stop_form_everywhere(17, [&](auto const& on) { return cairn::gradient(in_place, x0, fives, one, leaf, on); });
  stop_form_everywhere(5, [&](auto const& on) {
    auto run = cairn::checkpointed_loop(stepped, x0, tiers, on);
    return run.reverse(one, next);
  });
  for (auto const verify : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    cairn::sweep_options const checked{.verify = verify};
    stop_form_everywhere(13, [&](auto const& on) { return cairn::gradient(in_place, x0, two, one, pull, on, checked); });
    stop_form_everywhere(9, [&](auto const& on) { return cairn::gradient(stepped, x0, tiers, one, pull, on, checked); });
  }
}
