// SPDX-License-Identifier: Apache-2.0
// ADOL-C on disk. This program counts operator new.
#include "adapt/ad/on_disk.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/adolc.hpp>

TEST_CASE("a gradient by ADOL-C goes on after a stop with its bits, value and sums included", "[ad]") {
  ad_test::gradients_go_on<cairn::adolc_tape>();
}

TEST_CASE("a gradient by ADOL-C keeps a budget of memory and files, also when it goes on", "[ad]") {
  ad_test::keeps_budgets_on_disk<cairn::adolc_tape, ad_test::advect>();
  ad_test::keeps_budgets_on_disk<cairn::adolc_tape, ad_test::advect_by_index>();
}

TEST_CASE("a taped object over ADOL-C goes on after a stop with its bits, and with the value that its seed found",
          "[ad]") {
  ad_test::taped_objects_go_on<cairn::adolc_tape>();
}

TEST_CASE("step, each and seed of a taped object over ADOL-C count as the functions that they are made of", "[ad]") {
  ad_test::functions_of_taped_objects_count<cairn::adolc_tape>();
}
