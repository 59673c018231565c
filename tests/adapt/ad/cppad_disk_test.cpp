// SPDX-License-Identifier: Apache-2.0
// CppAD on disk. This program counts operator new.
#include "adapt/ad/on_disk.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/cppad.hpp>

TEST_CASE("a gradient by CppAD goes on after a stop with its bits, value and sums included", "[ad]") {
  ad_test::gradients_go_on<cairn::cppad_tape>();
}

TEST_CASE("a gradient by CppAD keeps a budget of memory and files, also when it goes on", "[ad]") {
  ad_test::keeps_budgets_on_disk<cairn::cppad_tape, ad_test::advect>();
  ad_test::keeps_budgets_on_disk<cairn::cppad_tape, ad_test::advect_by_index>();
}

TEST_CASE("a taped object over CppAD goes on after a stop with its bits, and with the value that its seed found",
          "[ad]") {
  ad_test::taped_objects_go_on<cairn::cppad_tape>();
}

TEST_CASE("step, each and seed of a taped object over CppAD count as the functions that they are made of", "[ad]") {
  ad_test::functions_of_taped_objects_count<cairn::cppad_tape>();
}
