// SPDX-License-Identifier: Apache-2.0
// What cursors allocate: exactly what plans tell, at their first action, and nothing when they are used again.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

namespace {
struct heap {
  std::size_t held = 0, peak = 0, calls = 0;
};
heap now;
constexpr std::size_t header = alignof(std::max_align_t);
}  // namespace

void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  auto* const memory = static_cast<unsigned char*>(std::malloc(size + header));
  if (memory == nullptr) return nullptr;
  ::new (memory) std::size_t{size};
  now.held += size;
  ++now.calls;
  if (now.held > now.peak) now.peak = now.held;
  return memory + header;
}
void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc{};
}
static void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* const start = static_cast<unsigned char*>(memory) - header;
  now.held -= *reinterpret_cast<std::size_t*>(start);
  std::free(start);
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::nothrow_t const&) noexcept { give_back(memory); }
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return operator new(size, std::nothrow); }
void operator delete[](void* memory, std::nothrow_t const&) noexcept { give_back(memory); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

using namespace cairn;

namespace {

template <class Cursor>
void walk_to_the_end(Cursor& cursor) {
  while (cursor.next().kind != action_kind::done) {}
}

/// Bytes that a cursor of the plan holds at most from its making to its end.
template <schedule Plan>
std::size_t cursor_bytes(Plan const& plan) {
  std::size_t const before = now.peak = now.held;
  cursor_of<Plan> cursor = plan.walk();
  walk_to_the_end(cursor);
  return now.peak - before;
}

/// Allocations of a second walk with the same cursor.
template <schedule Plan>
std::size_t allocations_when_warm(Plan const& plan) {
  cursor_of<Plan> cursor = plan.walk();
  walk_to_the_end(cursor);
  std::size_t const before = now.calls;
  cursor = plan.walk();
  walk_to_the_end(cursor);
  return now.calls - before;
}

}  // namespace

TEST_CASE("a cursor allocates what its plan predicts", "[schedule][allocation]") {
  for (step_index const n : {0, 1, 2, 5, 40, 300})
    each_plan(n, [](std::string const& name, auto const& plan) {
      auto const bytes = cursor_bytes(plan);
      INFO(name);
      CHECK(wide(bytes) == table_bytes_of(plan));
    });
}

TEST_CASE("a warm cursor allocates nothing", "[schedule][allocation]") {
  for (step_index const n : {0, 1, 2, 5, 40, 300})
    each_plan(n, [](std::string const& name, auto const& plan) {
      auto const calls = allocations_when_warm(plan);
      INFO(name);
      CHECK(calls == 0);
    });
}

TEST_CASE("any_schedule predicts what its cursor allocates and allocates nothing when warm",
          "[schedule][allocation][any]") {
  for (step_index const n : {0, 1, 2, 5, 40, 300})
    each_plan(n, [](std::string const& name, auto const& plan) {
      any_schedule const any = plan;
      auto const bytes = cursor_bytes(any);
      auto const calls = allocations_when_warm(any);
      INFO(name);
      CHECK(wide(bytes) == any.table_bytes());
      CHECK(calls == 0);
    });
}

TEST_CASE("a replanned sweep allocates what its plan predicts", "[schedule][allocation]") {
  for (tier const where : {tier::memory, tier::disk}) {
    std::vector<stored_state> const all{{4, 250, where}, {0, 20}, {7, 35, where}, {2, 299}};
    for (std::ptrdiff_t count = 0; count <= 4; ++count)
      for (slot_index const slots : {8, 20, 400}) {
        remaining const plan = rest_around({300, 300, true, slots, 1, true}, {all.begin(), all.begin() + count});
        auto const bytes = cursor_bytes(plan);
        auto const calls = allocations_when_warm(plan);
        CHECK(wide(bytes) == plan.table_bytes());
        CHECK(calls == 0);
      }
  }
}

TEST_CASE("a plan of revolve holds no memory however many slots it has", "[schedule][allocation]") {
  auto const before = now.calls;
  revolve const plan{step_index{1} << 62, step_index{1} << 61};
  auto const counts = plan.counts();
  CHECK(now.calls == before);
  CHECK(counts.reversals == wide{1} << 62);
}

TEST_CASE("revolve allocates once and before its first action", "[schedule][allocation]") {
  revolve const plan{10'000, 50};
  auto cursor = plan.walk();
  auto const before = now.calls;
  (void)cursor.next();
  auto const after = now.calls;
  walk_to_the_end(cursor);
  auto const at_end = now.calls;
  CHECK(after == before + 1);
  CHECK(at_end == after);
}
