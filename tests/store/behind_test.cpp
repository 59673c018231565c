// SPDX-License-Identifier: Apache-2.0
// Stores behind the sweep, and of two tiers: bits, what reaches the store behind and when, errors of the other thread.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/overlap.hpp>
#include <cairn/planning.hpp>
#include <cairn/store/behind.hpp>
#include <cairn/store/tiered.hpp>
#include "support/catch.hpp"
#include "support/toy_stores.hpp"

using cairn::behind_options;
using cairn::step_index;
using swinging = pendulum::state;

namespace {

/// Counts what reaches it, can be held up, and fails where it is told to.
struct counted : toys::serialising {
  int saves = 0, loads = 0, drops = 0, fail_save = -1, fail_load = -1;
  std::thread::id by{};
  std::mutex gate;
  std::condition_variable opened;
  std::atomic<bool> open = true;

  void begin(cairn::slot_index count) { toys::serialising::begin(count); }
  void pass() {
    by = std::this_thread::get_id();
    std::unique_lock lock{gate};
    opened.wait(lock, [&] { return open.load(); });
  }
  void set(bool to) {
    {
      std::lock_guard const lock{gate};
      open = to;
    }
    opened.notify_all();
  }
  void save(auto& frames, cairn::place where, step_index i, cairn::frame_id frame) {
    pass();
    if (saves++ == fail_save) throw std::runtime_error{"no room"};
    toys::serialising::save(frames, where, i, frame);
  }
  cairn::frame_id load(auto& frames, cairn::place where, step_index i) {
    pass();
    if (loads++ == fail_load) throw std::runtime_error{"cannot read"};
    return toys::serialising::load(frames, where, i);
  }
  void drop(auto& frames, cairn::place where) {
    ++drops;
    toys::serialising::drop(frames, where);
  }
};

template <class Plan, class Store>
auto gradient(Plan const& plan, Store& store) {
  return cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
}
cairn::any_schedule random_plan(std::mt19937& random, step_index n) {
  auto const below = [&](int most) { return step_index(random() % unsigned(most)); };
  switch (below(5)) {
    case 0: return cairn::revolve{n, 1 + below(6)};
    case 1: return cairn::multistage{n, 1 + below(2), 1 + below(6)};
    case 2: return cairn::two_level{n, 1 + below(9), 1 + below(3)};
    case 3:
      return cairn::hrevolve{n, {cairn::storage_tier{.slots = 1 + below(3)},
                                 cairn::storage_tier{.slots = 1 + below(4), .write = double(below(4)), .read = 2}}};
    default: return cairn::disk_revolve{n, 1 + below(3), {.disk_write = 2, .disk_read = 1}};
  }
}
/// Random plans over a memory and a store behind, or all behind, with states that are lost and slots that fail.
void many(unsigned seed, int rounds) {
  std::mt19937 random{seed};
  for (int round = 0; round < rounds; ++round) {
    step_index const n = 1 + step_index(random() % 40);
    auto const plan = random_plan(random, n);
    behind_options const how{1 + int(random() % 3), int(random() % 4)};
    CAPTURE(seed, round, n, how.saves, how.loads);
    auto const expected = pendulum::stored{n}.gradient;
    toys::losing<toys::failing<toys::serialising>> bad;
    bad.random.seed(random()), bad.inner.random.seed(random());
    bad.inner.p = 0.2, bad.p = 0.1;
    auto far = cairn::behind_for<swinging>(bad, how);
    CHECK(gradient(plan, far) == expected);
    toys::serialising good;
    auto back = cairn::behind_for<swinging>(good, how);
    cairn::tiered store{cairn::memory_store{}, back};
    CHECK(gradient(plan, store) == expected);
    auto run = cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan, store);
    CHECK(run.reverse(pendulum::seed, pendulum::with_next{}) == expected);
    CHECK(run.reverse(pendulum::seed, pendulum::one_step{}) == expected);
  }
}

}  // namespace

TEST_CASE("random plans have the bits of storing everything behind the sweep and on two tiers", "[store]") { many(1, 40); }
TEST_CASE("so have many more", "[.soak]") {
  for (unsigned seed = 2; seed < 60; ++seed) many(seed, 200);
}

TEST_CASE("a period's beginning is read once, and ahead", "[store]") {
  cairn::two_level const plan{400, 10, 3};
  counted plain;
  cairn::tiered waits{cairn::memory_store{}, plain};
  auto const expected = gradient(plan, waits);
  CHECK(expected == pendulum::stored{400}.gradient);
  counted files;
  auto far = cairn::behind_for<swinging>(files);
  cairn::tiered store{cairn::memory_store{}, far};
  CHECK(gradient(plan, store) == expected);
  CHECK(plain.loads > 3 * 39);
  CHECK(files.loads <= 40);
  CHECK(files.saves <= plain.saves);  // what is dropped before it is written is not
  CHECK(files.by != std::this_thread::get_id());
}

TEST_CASE("a save returns before it is written, and a load takes what is still being written", "[store]") {
  counted files;
  files.set(false);
  cairn::detail::frames<swinging> frames;
  cairn::behind<swinging, counted&> store{behind_options{.saves = 2, .loads = 1}, files};
  store.begin(cairn::sweep_shape{.slots = 4});
  frames.begin(store.extra_frames() + 2);
  auto const save = [&](cairn::slot_index slot, step_index i) {
    auto const k = frames.take();
    frames.emplace(k, swinging{{double(i), 0}});
    store.save(frames, {slot, cairn::tier::disk}, i, k);
    frames.release(k);
  };
  save(0, 10);
  save(1, 11);
  CHECK(files.slots.empty());
  auto const k = store.load(frames, {1, cairn::tier::disk}, 11);
  CHECK(frames.state(k).v[0] == 11);
  frames.release(k);
  store.drop(frames, {1, cairn::tier::disk});  // it has not begun: it never will
  files.set(true);
  store.settle(frames);
  CHECK(files.saves == 1);
  CHECK(files.loads == 0);
  CHECK(files.drops == 0);
  CHECK(files.at(0) == 10);
  CHECK(files.at(1) == -1);
  store.drop(frames, {0, cairn::tier::disk});
  store.settle(frames);
  CHECK(files.at(0) == -1);
}

TEST_CASE("what a store throws behind the sweep is thrown in the sweep, and both can be used again", "[store]") {
  cairn::multistage const plan{60, 1, 8};
  auto const expected = pendulum::stored{60}.gradient;
  int thrown = 0;
  for (int at = 0; at < 12; ++at)
    for (bool const reads : {false, true}) {
      CAPTURE(at, reads);
      counted files;
      (reads ? files.fail_load : files.fail_save) = at;
      auto far = cairn::behind_for<swinging>(files);
      cairn::tiered store{cairn::memory_store{}, far};
      try {
        auto const found = gradient(plan, store);
        CHECK(found == expected);
      } catch (std::runtime_error const& e) {
        CHECK(std::string{e.what()} == (reads ? "cannot read" : "no room"));
        ++thrown;
      }
      CHECK(gradient(plan, store) == expected);
    }
  CHECK(thrown > 12);
}

TEST_CASE("steps that throw leave nothing behind", "[store]") {
  int const outside = swinging::alive;
  {
    counted files;
    auto far = cairn::behind_for<swinging>(files);
    cairn::tiered store{cairn::memory_store{}, far};
    cairn::multistage const plan{40, 1, 6};
    for (int at = 0; at < 100; at += 3) {
      int left = at;
      auto const step = [&](swinging& x, step_index i) {
        if (left-- == 0) throw at;
        pendulum::in_place{}(x, i);
      };
      try {
        (void)cairn::gradient(step, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}, store);
      } catch (int) {
      }
    }
    CHECK(gradient(plan, store) == pendulum::stored{40}.gradient);
  }
  CHECK(swinging::alive == outside);
}

TEST_CASE("a virtual clock of a store behind: what overlaps, what waits, and serially what `estimate` says", "[store]") {
  cairn::workload work{.state_bytes = 8, .step_seconds = 1, .adjoint_seconds = 2};
  work.tiers.disk = {.write_seconds = 3, .read_seconds = 4, .bytes = cairn::unlimited_bytes};
  for (auto const& [period, inside] : {std::pair<step_index, step_index>{10, 9}, {5, 2}, {1, 1}}) {
    cairn::two_level const plan{60, period, inside};
    auto const serial = cairn::estimate(plan, work).seconds;
    auto const found = cairn::overlapped(plan, work);
    CHECK(found.seconds <= serial);
    CHECK(found.seconds >= std::max(found.computing, found.transfers));
    CHECK(found.seconds >= cairn::overlapped(plan, work, {8, 8}).seconds);
    auto slow = work;
    slow.tiers.disk.write_seconds = 6;
    CHECK(cairn::overlapped(plan, slow).seconds >= found.seconds);
    work.tiers.disk.write_seconds = 0, work.tiers.disk.read_seconds = 0;
    CHECK(cairn::overlapped(plan, work).seconds == cairn::estimate(plan, work).seconds);
    work.tiers.disk.write_seconds = 3, work.tiers.disk.read_seconds = 4;
  }
  // Two periods of two steps, by hand: 0 and 2 are written, 3 s each; the loop ends at 4. State 2 is at hand, its steps
  // are reversed: 4 + 1 + 2 + 2; and so is state 0, because both saves keep their frames.
  auto const little = cairn::overlapped(cairn::two_level{4, 2, 1}, work);
  CHECK(little.reads == 0);
  CHECK(little.writes == 2);
}

TEST_CASE("the numbers of states behind are checked", "[store]") {
  toys::serialising files;
  CHECK_THROWS_AS(cairn::behind_for<swinging>(files, {.saves = 0}), cairn::invalid_call);
  CHECK_THROWS_AS(cairn::behind_for<swinging>(files, {.loads = -1}), cairn::invalid_call);
}
