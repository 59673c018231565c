// SPDX-License-Identifier: Apache-2.0
// Sacado within a budget. This program counts operator new.
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/sacado.hpp>

TEST_CASE("a gradient by Sacado keeps its budget, and more memory never takes more step calls", "[ad]") {
  ad_test::keeps_budgets<cairn::sacado_tape, ad_test::advect>();
  ad_test::keeps_budgets<cairn::sacado_tape, ad_test::advect, ad_test::late>();
}
