// SPDX-License-Identifier: Apache-2.0
// Pinned memory of the host: how often it is requested and how much, what is reported if it is not available, and who
// touches it first.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <cairn/adapt/cuda/detail/touched_pages.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include "support/catch.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

using field = sim::state<sim_runtime>;
constexpr std::size_t mebi = std::size_t{1} << 20;

/// What was pinned for so many slots of a state, and what is left of it.
struct pinned {
  std::size_t pins = 0, bytes = 0, left = 0;
  slot_index slots = 0;
  std::string refused;
  std::size_t value = 0;
  bool leaks = false;
};
pinned pin(slot_index slots, sim::shape const& sizes, bool or_fewer = false, sim::options const& options = {},
           std::uint64_t fails = 0) {
  pinned seen;
  sim_runtime device{options};
  auto const c = device.make_stream();
  device.fail_at(sim::call::pinned_alloc, fails);
  auto const make = [&] { return field{device, sizes}; };
  auto const look = [&](device_sweep<sim_runtime, field> const& sweep) {
    seen.slots = sweep.capacity().host_slots;
    seen.pins = device.counted().pins;
    seen.bytes = device.pinned_bytes_held();
  };
  try {
    if (or_fewer) look({device, c, capacity_up_to{{1, slots}}, make});
    else look({device, c, {1, slots}, make});
  } catch (out_of_memory const& refused) {
    seen.refused = refused.what();
    seen.value = std::size_t(refused.value(1).magnitude);
  }
  seen.left = device.pinned_bytes_held();
  device.destroy(c);
  seen.leaks = device.has_leaks();
  CHECK(device.first_fault() == "");
  return seen;
}
/// So many doubles that they take these bytes.
std::size_t doubles(std::size_t bytes) { return bytes / sizeof(double); }

}  // namespace

TEST_CASE("slots are pinned together up to 64 MiB, larger ones each by itself, and no byte more than they need",
          "[cuda]") {
  struct expected { slot_index slots; sim::shape sizes; std::size_t pins, bytes; };
  for (auto const& one :
       {expected{0, {8}, 0, 0}, expected{1, {8}, 1, 64}, expected{2, {8}, 1, 128}, expected{1000, {8}, 1, 64'000},
        expected{3, {1}, 1, 64 + 64 + 8},       // each begins at a multiple of 64, and the last one ends where it ends
        expected{2, {1, 3}, 1, 128 + 64 + 24},  // so does each buffer
        expected{5, {}, 0, 0}, expected{5, {0}, 0, 0}, expected{7, {doubles(24 * mebi)}, 3, 7 * 24 * mebi},
        expected{2, {doubles(65 * mebi)}, 2, 2 * 65 * mebi}}) {
    auto const seen = pin(one.slots, one.sizes);
    INFO(one.slots << " slots of " << one.sizes.size() << " buffers, " << one.bytes << " bytes");
    CHECK(seen.slots == one.slots);
    CHECK(seen.pins == one.pins);
    CHECK(seen.bytes == one.bytes);
    CHECK(seen.left == 0);
    CHECK_FALSE(seen.leaks);
  }
}

TEST_CASE("whichever pin fails, the slots before it are reported, or kept if less will do, and nothing is left behind",
          "[cuda]") {
  sim::shape const sizes{doubles(33 * mebi)};  // two slots at once
  for (std::uint64_t fails = 1; fails <= 4; ++fails) {
    auto const before = 2 * std::size_t(fails - 1), all = std::size_t{5};
    auto const refused = pin(slot_index(all), sizes, false, {}, fails),
               less = pin(slot_index(all), sizes, true, {}, fails);
    INFO("pin " << fails << " of three fails");
    CHECK((refused.refused == "") == (fails == 4));
    if (fails < 4)
      CHECK(refused.refused.find("cairn::device_sweep: not all host slots could be pinned (slots = 5, pinned = ") == 0);
    if (fails < 4) CHECK(refused.value == before);
    CHECK(std::size_t(less.slots) == (before < all ? before : all));
    CHECK(less.refused == "");
    CHECK(refused.left + less.left == 0);
    CHECK_FALSE((refused.leaks || less.leaks));
  }
  CHECK(pin(5, sizes, true, {.pinned_bytes = 70 * mebi}).slots == 2);
  CHECK(pin(5, sizes, false, {.pinned_bytes = 70 * mebi}).value == 2);
}

TEST_CASE("an error of the device while slots are pinned is reported as it is, also if less will do", "[cuda]") {
  sim_runtime device;
  auto const c = device.make_stream();
  auto const make = [&] { return field{device, {1}}; };
  device.fail_at(sim::call::pinned_alloc, 1, sim::failure::foreign_handle);
  CHECK_THROWS_AS((device_sweep<sim_runtime, field>{device, c, capacity_up_to{{1, 2}}, make}), device_error);
  device.destroy(c);
  CHECK(device.first_fault() == "");
  CHECK_FALSE(device.has_leaks());
}

TEST_CASE("parts cover a range once, in order, and none is empty where there are enough for all threads", "[cuda]") {
  for (std::size_t const count : {0u, 1u, 2u, 7u, 64u, 1000u})
    for (unsigned const threads : {0u, 1u, 2u, 3u, 8u, 70u}) {
      std::mutex one_at_a_time;
      std::vector<int> seen(count);
      std::size_t parts = 0, empty = 0;
      detail::in_parts_of(count, threads, [&](std::size_t first, std::size_t last) {
        std::lock_guard const lock{one_at_a_time};
        ++parts;
        empty += first == last ? 1u : 0u;
        for (; first < last; ++first) ++seen[first];
      });
      INFO(count << " in " << threads << " parts");
      CHECK(seen == std::vector<int>(count, 1));
      if (count > 0) {
        CHECK(empty == 0);
        CHECK(parts == (threads < 2 ? 1 : threads < count ? threads : count));
      }
    }
}

TEST_CASE("parts run at the same time, in as many threads", "[cuda]") {
  constexpr std::size_t threads = 4;
  std::mutex guard;
  std::condition_variable changed;
  std::set<std::thread::id> here;
  std::size_t met = 0;
  detail::in_parts_of(1000, threads, [&](std::size_t, std::size_t) {
    std::unique_lock lock{guard};
    here.insert(std::this_thread::get_id());
    changed.notify_all();
    if (changed.wait_for(lock, std::chrono::seconds{20}, [&] { return here.size() == threads; })) ++met;
  });
  CHECK(met == threads);
  CHECK(here.count(std::this_thread::get_id()) == 1);  // this one does its part, too
}

TEST_CASE("one byte of each page is touched, that of a page that is begun included, and nothing else", "[cuda]") {
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, detail::page_bytes - 1, detail::page_bytes,
                                  detail::page_bytes + 1, 9 * detail::page_bytes + 5})
    for (unsigned const threads : {0u, 1u, 3u, 100u}) {
      std::vector<char> memory(10 * detail::page_bytes, 'x');
      detail::touch_pages(memory.data(), bytes, threads);
      INFO(bytes << " bytes by " << threads << " threads");
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < memory.size(); ++k)
        wrong += (memory[k] == 'x') == (k % detail::page_bytes == 0 && k < bytes) ? 1u : 0u;
      CHECK(wrong == 0);
    }
}

TEST_CASE("pages are taken whole and aligned, and no pages are taken for more bytes than there can be", "[cuda]") {
  for (std::size_t const bytes : {std::size_t{1}, detail::page_bytes, 3 * detail::page_bytes + 1}) {
    void* const pages = detail::take_pages(bytes, 2);
    REQUIRE(pages != nullptr);
    CHECK(reinterpret_cast<std::size_t>(pages) % detail::page_bytes == 0);
    std::memset(pages, 1, detail::whole_pages(bytes));
    detail::give_pages_back(pages);
  }
  CHECK(detail::take_pages(~std::size_t{0}, 2) == nullptr);
  CHECK(detail::whole_pages(0) == 0);
  CHECK(detail::whole_pages(detail::page_bytes + 1) == 2 * detail::page_bytes);
}
