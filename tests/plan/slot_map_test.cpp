// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>
#include <random>
#include <cairn/plan/loop/detail/slot_map.hpp>
#include "support/catch.hpp"

using namespace cairn;

TEST_CASE("a slot map holds what was put in and not taken out", "[plan][slot_map]") {
  std::mt19937_64 random{5};
  for (slot_index const range :
       {slot_index{3}, slot_index{40}, slot_index{5000}, std::numeric_limits<slot_index>::max()}) {
    detail::slot_map map;
    std::map<slot_index, step_index> model;
    std::vector<slot_index> used{0};
    for (int k = 0; k < 20'000; ++k) {
      slot_index const slot =
          random() % 2 == 0 ? used[std::size_t(random() % used.size())] : slot_index(random() % std::uint64_t(range));
      if (auto const* const held = map.find(slot)) {
        REQUIRE(model.count(slot) == 1);
        REQUIRE(held->from == model[slot]);
        map.erase(slot);
        model.erase(slot);
      } else {
        REQUIRE(model.count(slot) == 0);
        map.insert(slot, {k, k + 1, tier::memory});
        model[slot] = k;
        used.push_back(slot);
      }
      REQUIRE(map.size() == slot_index(model.size()));
    }
    for (auto const& [slot, from] : model) REQUIRE(map.find(slot)->from == from);
  }
}

TEST_CASE("a copy of a slot map is its own", "[plan][slot_map]") {
  detail::slot_map map;
  for (slot_index slot = 0; slot < 100; ++slot) map.insert(slot, {slot, slot, tier::memory});
  auto copy = map;
  for (slot_index slot = 0; slot < 100; slot += 2) copy.erase(slot);
  CHECK(map.size() == 100);
  CHECK(copy.size() == 50);
  CHECK(map.find(4)->from == 4);
  CHECK(copy.find(4) == nullptr);
  CHECK(copy.find(5)->from == 5);
}
