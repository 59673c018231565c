// SPDX-License-Identifier: Apache-2.0
// A warm sweep over a tape allocates what the tool allocates. This program counts operator new.
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/xad.hpp>
#include <cairn/cairn.hpp>
#include "adapt/ad/cases.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

/// What XAD's tape asks for is counted apart.
struct counting_tape : cairn::xad_tape {
  std::size_t asked = 0;
  void begin(std::size_t count) {
    heap::mark const now;
    xad_tape::begin(count);
    asked += now.allocated();
  }
  void dependent(scalar const& v) {
    heap::mark const now;
    xad_tape::dependent(v);
    asked += now.allocated();
  }
  void reverse(double const* seeds, double* bars) {
    heap::mark const now;
    xad_tape::reverse(seeds, bars);
    asked += now.allocated();
  }
};

}  // namespace

TEST_CASE("a warm sweep over a tape allocates no more than the tool does", "[ad]") {
  cairn::taped loop{counting_tape{}, ad_test::burgers_model{}, ad_test::viscosity<double>{0.01}};
  auto const plan = ad_test::in_leaves(60, 4, 3);
  auto work = cairn::workspace_for<ad_test::burgers_state<double>>(plan);
  ad_test::burgers_state<double> seed;
  seed.sum = 1;
  auto const x0 = ad_test::burgers_start();
  auto const bar = loop.bar(seed);
  auto const cold = cairn::gradient(loop.step, x0, plan, bar, loop.adjoint, work);
  loop.tool().asked = 0;
  heap::mark const warm;
  auto const again = cairn::gradient(loop.step, x0, plan, bar, loop.adjoint, work);
  CHECK(warm.allocated() == loop.tool().asked);
  CHECK(warm.allocated() == 0);  // this one keeps its memory
  CHECK(ad_test::same_bits(cold, again));

  loop.clear();
  heap::mark const anew;
  (void)cairn::gradient(loop.step, x0, plan, bar, loop.adjoint, work);
  CHECK(anew.allocated() > 0);
}
