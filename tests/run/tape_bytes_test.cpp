// SPDX-License-Identifier: Apache-2.0
// The predicted peak of plans that keep tapes is the counted peak, to the byte.
#include <chrono>
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/probe.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

using buffer = std::vector<unsigned char>;

/// Neither copied nor moved. Its destructor is out of line for g++, which at -O1 warns of what an empty std::optional
/// would destroy.
struct kept_bytes {
  buffer kept;
  explicit kept_bytes(std::size_t size) : kept(size) {}
  kept_bytes(kept_bytes const&) = delete;
  [[gnu::noinline]] ~kept_bytes() {}
  [[nodiscard]] std::size_t bytes() const { return sizeof *this + kept.size(); }
};
/// Nothing to destroy, nothing on the heap.
struct numbers {
  double kept[5];
  explicit numbers(std::size_t) : kept{} {}
};
/// A destructor, and nothing on the heap.
struct destroyed_numbers {
  double kept[5] = {};
  explicit destroyed_numbers(std::size_t) {}
  destroyed_numbers(destroyed_numbers const&) = delete;
  [[gnu::noinline]] ~destroyed_numbers() {}
  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }
};
/// The same, aligned as `new` does not align by itself.
struct alignas(64) aligned_numbers {
  double kept[5] = {};
  explicit aligned_numbers(std::size_t) {}
  aligned_numbers(aligned_numbers const&) = delete;
  [[gnu::noinline]] ~aligned_numbers() {}
  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }
};
/// Something on the heap, and no destructor: the code that reverses the tape frees it.
struct freed_bytes {
  unsigned char* kept;
  std::size_t size;
  explicit freed_bytes(std::size_t wanted) : kept{new unsigned char[wanted]}, size{wanted} {}
  [[nodiscard]] std::size_t bytes() const { return sizeof *this + size; }
};
static_assert(std::is_trivially_destructible_v<numbers> && std::is_trivially_destructible_v<freed_bytes>);
static_assert(!std::is_trivially_destructible_v<destroyed_numbers>);

template <class Tape>
void use_up(Tape const& tape) {
  if constexpr (std::same_as<Tape, freed_bytes>) delete[] tape.kept;
}

auto const seed = [](buffer const&) { return buffer(300); };
template <class Tape>
auto adjoint_with(std::size_t tape_size) {
  auto const record = [=](buffer& x, step_index) {
    ++x[0];
    return Tape(tape_size);
  };
  return recorded{std::move(record), [](Tape const& tape, buffer&, step_index) { use_up(tape); },
                  [](Tape const&) { return buffer(5000); }};
}

/// The heap that one gradient takes is what was predicted without the tables that the plan shares with its cursors:
/// these were there before.
template <class Step, class Adjoint>
void check_peak(any_schedule const& plan, Step step, Adjoint const& adjoint, workload const& work) {
  buffer const x0(5000);
  auto const predicted = estimate(plan, work);
  heap::mark const mark;
  (void)gradient(step, x0, plan, seed, adjoint);
  auto const counted = mark.rise() + sizeof(buffer);  // the adjoint itself is on the stack
  CAPTURE(plan.steps(), plan.slots(), plan.tapes(), int(work.form.step));
  CAPTURE(std::size_t(work.tape_bytes), std::size_t(work.tape_inline_bytes));
  CHECK(counted == std::size_t(predicted.peak_bytes - plan.shared_table_bytes()));
}
/// \param tape_size  bytes of a tape that are on the heap
template <class Tape, class Step>
void check(any_schedule const& plan, Step step, step_form form, std::size_t tape_size) {
  check_peak(plan, step, adjoint_with<Tape>(tape_size),
             {.state_bytes = sizeof(buffer) + 5000,
              .state_inline_bytes = sizeof(buffer),
              .initial_bytes = 0,
              .adjoint_bytes = sizeof(buffer) + 300,
              .tape_bytes = sizeof(std::optional<Tape>) + tape_size,
              .tape_inline_bytes = sizeof(std::optional<Tape>),
              .form = {form, adjoint_form::recorded}});
}
template <class Tape>
void check_forms(any_schedule const& plan, std::size_t tape_size) {
  check<Tape>(plan, [](buffer& x, step_index) { ++x[0]; }, step_form::in_place, tape_size);
  check<Tape>(plan, [](buffer const& x, step_index) { return buffer(x.size()); }, step_form::by_value, tape_size);
}
void check_all(any_schedule const& plan) {
  for (std::size_t const tape_size : {0u, 1u, 900u, 20'000u}) check_forms<kept_bytes>(plan, tape_size);
  check_forms<numbers>(plan, 0);
  check_forms<destroyed_numbers>(plan, 0);
  check_forms<aligned_numbers>(plan, 0);
  check_forms<freed_bytes>(plan, 900);
}

/// The same by what a probe of the loop says.
template <class Tape>
void check_probed(any_schedule const& plan, std::size_t tape_size) {
  auto const step = [](buffer& x, step_index) { ++x[0]; };
  auto const adjoint = adjoint_with<Tape>(tape_size);
  workload work = probe<std::chrono::steady_clock>(step, buffer(5000), plan.steps(), seed, adjoint, 1);
  work.initial_bytes = 0;
  check_peak(plan, step, adjoint, work);
}

}  // namespace

TEST_CASE("states and tapes together take what is predicted", "[bytes]") {
  for (step_index const n : {0, 1, 2, 3, 20, 77}) {
    check_all(all_tapes(n));
    check_all(revolve{n, 4});
    check_all(store_all(n));
    for (slot_index const units : {1, 2, 5, 12, 300})
      for (slot_index const tape : {1, 3})
        for (bool const restart : {false, true})
          for (bool const free : {false, true})
            check_all(mixed{n, units, {.tape_units = tape, .tapes_restart = restart, .free_initial = free}});
    check_all(bptt{n, 6, {.tape_units = 2}});
  }
}

TEST_CASE("what a probe says of tapes predicts the counted peak", "[bytes]") {
  any_schedule const both = mixed{40, 12, {.tape_units = 2, .tapes_restart = true}};
  for (any_schedule const& plan : {any_schedule{all_tapes(9)}, both, any_schedule{revolve{40, 4}}}) {
    check_probed<kept_bytes>(plan, 900);
    check_probed<numbers>(plan, 0);
    check_probed<destroyed_numbers>(plan, 0);
    check_probed<aligned_numbers>(plan, 0);
  }
}
