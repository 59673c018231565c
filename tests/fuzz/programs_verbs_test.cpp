// SPDX-License-Identifier: Apache-2.0
// Random programs of resumed sweeps, loops, loops of unknown length and stores, as in programs_test.cpp.
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

bool run(unsigned long first, unsigned long count) {
  return run_programs(first, count,
                      {
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
                      });
}

}  // namespace
}  // namespace fuzz

static void run_from(std::uint64_t first, long programs) {
  if (!fuzz::run(first, std::uint64_t(programs))) return;
  auto const& seen = fuzz::seen;
  CHECK(seen.sweeps > programs / 2);
  CHECK(seen.stops > programs / 5);
  CHECK(seen.resumed > programs / 60);
  CHECK(seen.refused > programs / 5);
  CHECK(seen.reversed_again > programs / 2);
}
TEST_CASE("random programs of all verbs and stores give what storing everything gives, or the predicted error") {
  run_from(1, 1'100);
}
TEST_CASE("so do 7,900 more", "[long]") { run_from(1'101, 7'900); }

TEST_CASE("random programs of all verbs, as many as are asked for", "[.soak]") {
  fuzz::run(3'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000));
}
