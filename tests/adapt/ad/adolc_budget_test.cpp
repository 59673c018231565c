// SPDX-License-Identifier: Apache-2.0
// ADOL-C within a budget. This program counts operator new.
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/adolc.hpp>

TEST_CASE("a gradient by ADOL-C keeps its budget, and more memory never takes more step calls", "[ad]") {
  ad_test::keeps_budgets<cairn::adolc_tape, ad_test::advect>();
  ad_test::keeps_budgets<cairn::adolc_tape, ad_test::advect, ad_test::late>();
  ad_test::keeps_budgets<cairn::adolc_tape, ad_test::advect_by_index>();
}
