// SPDX-License-Identifier: Apache-2.0
// CoDiPack within a budget, over a stand-in that allocates by chunks, as CoDiPack does. This program counts operator
// new.
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/codipack.hpp>

TEST_CASE("a gradient by CoDiPack's interface keeps its budget, whole chunks included", "[ad]") {
  ad_test::keeps_budgets<cairn::codipack_tape<>, ad_test::advect>();
}
