// SPDX-License-Identifier: Apache-2.0
// Parts on threads: each once, exceptions come back, and tables do not depend on them.
#include <cairn/adapt/threads.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <cairn/plan/chain/detail/slot_table.hpp>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"

TEST_CASE("a launcher runs each part once", "[adapt][threads]") {
  for (unsigned const threads : {0u, 1u, 2u, 7u}) {
    cairn::thread_launcher const launch{threads};
    for (std::size_t const count : {0u, 1u, 2u, 5u, 1000u}) {
      std::vector<std::atomic<int>> seen(count);
      launch(count, [&](std::size_t k) { ++seen[k]; });
      for (auto const& one : seen) CHECK(one == 1);
    }
  }
}

TEST_CASE("a launcher uses as many threads as requested, the caller's among them", "[adapt][threads]") {
  cairn::thread_launcher const launch{3};
  CHECK(launch.threads() == 3);
  std::atomic<int> inside{0};
  std::vector<std::thread::id> who(3);
  launch(3, [&](std::size_t k) {
    who[k] = std::this_thread::get_id();
    ++inside;
    while (inside < 3) std::this_thread::yield();
  });
  std::set<std::thread::id> const different{who.begin(), who.end()};
  CHECK(different.size() == 3);
  CHECK(different.contains(std::this_thread::get_id()));
}

TEST_CASE("what a part throws comes back once the others are done", "[adapt][threads]") {
  for (unsigned const threads : {1u, 4u}) {
    cairn::thread_launcher const launch{threads};
    std::atomic<int> begun{0}, ended{0};
    CHECK_THROWS_AS(launch(100,
                           [&](std::size_t k) {
                             ++begun;
                             if (k == 17) throw std::out_of_range{"part"};
                             ++ended;
                           }),
                    std::out_of_range);
    CHECK(begun == ended + 1);
    launch(10, [&](std::size_t) { ++ended; });
  }
}

TEST_CASE("tables of chains are the same for any number of threads", "[adapt][threads][plan][chain]") {
  using namespace cairn::detail;
  for (auto const kind : {chains::kind::random, chains::kind::resnet, chains::kind::lstm})
    for (auto const by : {rounding::up, rounding::down}) {
      chain_model const model{chains::make(kind, 61, 5), "test"};
      std::int64_t const budget = model.store_all_peak() / 3;
      slot_table const alone{model, budget, {.slots = 300}, by},
          together{model, budget, {.slots = 300}, by, cairn::thread_launcher{4}};
      CHECK(std::ranges::equal(alone.costs(), together.costs()));
      CHECK(alone.actions() == together.actions());
      CHECK(alone.extra_forward() == together.extra_forward());
    }
}
