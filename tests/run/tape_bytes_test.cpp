// The predicted peak of plans that keep tapes is the counted peak, to the byte.
#include <optional>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/mixed.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

using bytes = std::vector<unsigned char>;

/// Neither copied nor moved. Its destructor is out of line for g++, which at -O1 warns of what an empty std::optional would destroy.
struct kept_bytes {
  bytes kept;
  explicit kept_bytes(std::size_t size) : kept(size) {}
  kept_bytes(kept_bytes const&) = delete;
  [[gnu::noinline]] ~kept_bytes() {}
};

template <class Step>
void check(any_schedule const& plan, Step step, step_form form, std::size_t tape_size) {
  bytes const x0(5000);
  recorded const adjoint{[=](bytes& x, step_index) { ++x[0]; return kept_bytes(tape_size); }, [](kept_bytes const&, bytes&, step_index) {}, [](kept_bytes const&) { return bytes(5000); }};
  workload const work{.state_bytes = bytes_of(x0), .state_inline_bytes = sizeof(bytes), .initial_bytes = 0, .adjoint_bytes = sizeof(bytes) + 300,
                      .tape_bytes = sizeof(std::optional<kept_bytes>) + tape_size, .tape_inline_bytes = sizeof(std::optional<kept_bytes>), .form = {form, adjoint_form::recorded}};
  auto const predicted = estimate(plan, work);
  heap::mark const mark;
  (void)gradient(step, x0, plan, [](bytes const&) { return bytes(300); }, adjoint);
  auto const counted = mark.rise() + sizeof(bytes);
  CAPTURE(plan.steps(), plan.slots(), plan.tapes(), tape_size, int(form));
  // Tables that the plan shares with its cursors were there before.
  CHECK(counted == std::size_t(predicted.peak_bytes - plan.shared_table_bytes()));
}
void check_all(any_schedule const& plan) {
  for (std::size_t const tape_size : {1u, 900u, 20'000u}) {
    check(plan, [](bytes& x, step_index) { ++x[0]; }, step_form::in_place, tape_size);
    check(plan, [](bytes const& x, step_index) { return bytes(x.size()); }, step_form::by_value, tape_size);
  }
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
          for (bool const free : {false, true}) check_all(mixed{n, units, {.tape_units = tape, .tapes_restart = restart, .free_initial = free}});
    check_all(bptt{n, 6, {.tape_units = 2}});
  }
}
