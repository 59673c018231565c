// SPDX-License-Identifier: Apache-2.0
// Random programs against store-all: states, steps, adjoints, seeds, plans, and exceptions in between; stores and the
// other verbs are those of programs_verbs_test.cpp. Each must give the bits of storing everything with the step calls,
// transfers and bytes that are predicted, or the error that the rules say.
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

bool run(unsigned long first, unsigned long count) {
  return run_programs(first, count,
                      {
                          gradients<of_floats, in_place, one_step>,
                          gradients<of_floats, in_place, of_leaf>,
                          gradients<of_floats, by_value, one_step_by_value>,
                          gradients<of_floats, by_value, recorded_restarting>,
                          gradients<of_floats, out_of_place, with_next>,
                          gradients<of_floats, out_of_place, recorded>,
                          gradients<of_double, in_place, with_next>,
                          gradients<of_double, by_value, of_leaf>,
                          gradients<of_double, out_of_place, one_step_by_value>,
                          gradients<of_aggregate, in_place, recorded_restarting>,
                          gradients<of_aggregate, by_value, with_next>,
                          gradients<of_aggregate, out_of_place, one_step>,
                          gradients<of_nested, in_place, one_step_by_value>,
                          gradients<of_nested, by_value, recorded>,
                          gradients<of_nested, out_of_place, of_leaf>,
                          gradients<of_structure, out_of_place, one_step>,
                          gradients<of_structure, in_place, recorded>,
                          gradients<of_nothing, in_place, one_step>,
                          gradients<of_nothing, out_of_place, recorded_restarting>,
                          gradients<of_solver, in_place, one_step>,
                          gradients<of_solver, in_place, of_leaf>,
                          gradients<of_solver, in_place, recorded>,
                          gradients<of_resaved, in_place, moving<one_step>>,
                          gradients<of_resaved, in_place, moving<of_leaf>>,
                          gradients<of_resaved, in_place, recorded_restarting>,
                          wrapped<of_floats, out_of_place, with_next>,
                          wrapped<of_double, by_value, recorded_restarting>,
                          wrapped<of_aggregate, in_place, with_next>,
                          wrapped<of_floats, by_value, of_leaf>,
                          structures,
                          impossible,
                      });
}

}  // namespace
}  // namespace fuzz

static void run_from(std::uint64_t first, long programs) {
  if (!fuzz::run(first, std::uint64_t(programs))) return;
  auto const& seen = fuzz::seen;
  CHECK(seen.sweeps > programs);
  CHECK(seen.bytes > programs / 10);
  CHECK(seen.stops > programs / 5);
  CHECK(seen.structures > programs / 280);
}
TEST_CASE("random programs give what storing everything gives, or the error that is predicted") { run_from(1, 1'400); }
TEST_CASE("so do 9,600 more", "[long]") { run_from(1'401, 9'600); }

TEST_CASE("random programs, as many as are asked for", "[.soak]") {
  fuzz::run(1'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000));
}
