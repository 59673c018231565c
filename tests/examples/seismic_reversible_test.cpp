// SPDX-License-Identifier: Apache-2.0
// The seismic example with its wave running backwards: the gradient inside the damping rim is that of storing every field,
// within rounding, and no step runs again.
#include <algorithm>
#include <cmath>
#include <vector>
#include "../../examples/seismic/baseline.hpp"
#include "../../examples/seismic/inversion.hpp"
#include "../../examples/seismic/models.hpp"
#include "../../examples/seismic/reversible_sweep.hpp"
#include "support/catch.hpp"

using namespace seismic;

namespace {
template <class Real>
void check_inside(cairn::segments const& division, double within) {
  grid g;
  g.nx = 60, g.nz = 50, g.rim = 10;
  survey<Real> const plan{g, 400, 1, 20};
  auto const recorded = record(medium<Real>{g, true_model(g)}, plan, plan.sources[0]);
  medium<Real> const ground{g, start_model(g)};
  shot<Real> const one{plan.sources[0], &recorded};
  std::vector<Real> expected(g.cells()), found(g.cells());
  stored_sweep<Real> stored{ground, plan, expected};
  backward_sweeper<Real> backward{ground, plan, found, division};
  for (int sweep = 0; sweep < 2; ++sweep) {
    std::fill(expected.begin(), expected.end(), Real(0));
    std::fill(found.begin(), found.end(), Real(0));
    auto const misfit = stored.run(one);
    CHECK(std::abs(backward.run(one) - misfit) <= within * misfit);
    double largest = 0, error = 0;
    for (std::size_t z = g.rim; z + g.rim < g.nz; ++z)
      for (std::size_t x = g.rim; x + g.rim < g.nx; ++x) {
        auto const k = g.at(x, z);
        largest = std::max(largest, std::abs(double(expected[k])));
        error = std::max(error, std::abs(double(expected[k]) - double(found[k])));
      }
    CHECK(largest > 0);
    CHECK(error <= within * largest);
  }
  CHECK(backward.report().steps_back == 400);
  CHECK(backward.report().steps_again == cairn::wide(400 - division.leaf()));
  CHECK(backward.report().drift > 0);
}
}  // namespace

TEST_CASE("a shot that runs backwards from strips has the gradient of storing every field", "[seismic][reversible]") {
  check_inside<double>(cairn::segments{400}, 1e-10);
  check_inside<double>(cairn::segments{400, {.length = 100}}, 1e-10);
  check_inside<float>(cairn::segments{400}, 1e-3);
}
