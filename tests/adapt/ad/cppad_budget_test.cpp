// SPDX-License-Identifier: Apache-2.0
// CppAD within a budget. This program counts operator new.
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/cppad.hpp>

TEST_CASE("a gradient by CppAD keeps its budget, and more memory never takes more step calls", "[ad]") {
  ad_test::keeps_budgets<cairn::cppad_tape, ad_test::advect>();
  ad_test::keeps_budgets<cairn::cppad_tape, ad_test::advect, ad_test::late>();
  ad_test::keeps_budgets<cairn::cppad_tape, ad_test::advect_by_index>();
}
