// SPDX-License-Identifier: Apache-2.0
// Random programs against store-all: states, steps, adjoints, seeds, plans, stores, verbs, and exceptions in between.
// Each must give the bits of storing everything with the step calls, transfers and bytes that are predicted, or the
// error that the rules say.
#include <cstdlib>
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

void run(unsigned long first, unsigned long count) {
  run_programs(first, count,
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
                   resumes<of_floats, out_of_place, with_next>,
                   resumes<of_nested, by_value, one_step_by_value>,
                   resumes<of_solver, in_place, one_step>,
                   resumes<of_resaved, in_place, moving<one_step>>,
                   resumes<of_pendulum, out_of_place, one_step, toys::serialising>,
                   resumes<of_pendulum, in_place, one_step_by_value, toys::losing<toys::keeping>>,
                   loops<of_floats, out_of_place>,
                   loops<of_nested, in_place>,
                   loops<of_aggregate, by_value>,
                   loops<of_solver, in_place>,
                   loops<of_resaved, in_place>,
                   whiles<of_double, in_place>,
                   whiles<of_solver, in_place>,
                   whiles<of_nested, out_of_place>,
                   whiles<of_floats, by_value>,
                   stores<toys::keeping, in_place, one_step>,
                   stores<toys::serialising, out_of_place, with_next>,
                   stores<toys::late, in_place, of_leaf>,
                   stores<toys::threaded, out_of_place, with_next>,
                   loops_over<toys::threaded, in_place>,
                   stores<toys::counting, by_value, recorded_restarting>,
                   stores<toys::tiered, in_place, recorded_restarting>,
                   stores<toys::losing<memory_store>, by_value, one_step>,
                   stores<toys::losing<toys::serialising>, in_place, of_leaf>,
                   loops_over<toys::serialising, in_place>,
                   loops_over<toys::losing<toys::keeping>, out_of_place>,
                   structures,
                   impossible,
               });
}

}  // namespace
}  // namespace fuzz

static void run_from(std::uint64_t first, long programs) {
  fuzz::seen = {};
  fuzz::run(first, std::uint64_t(programs));
  if (std::getenv("CAIRN_FUZZ_PROGRAM")) return;
  auto const& seen = fuzz::seen;
  CHECK(seen.sweeps > programs * 2 / 5);
  CHECK(seen.bytes > programs / 50);
  CHECK(seen.stops > programs / 10);
  CHECK(seen.resumed > programs / 133);
  CHECK(seen.refused > programs / 20);
  CHECK(seen.structures > programs / 400);
  CHECK(seen.reversed_again > programs * 3 / 20);
}
TEST_CASE("random programs give what storing everything gives, or the error that is predicted") { run_from(1, 2'500); }
TEST_CASE("so do 17,500 more", "[long]") { run_from(2'501, 17'500); }

TEST_CASE("random programs, as many as are asked for", "[.soak]") {
  fuzz::run(1'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000));
}
