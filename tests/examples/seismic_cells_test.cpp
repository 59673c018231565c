// SPDX-License-Identifier: Apache-2.0
// The seismic example's kernels for devices, called for one cell after the other on the host, against its loops over
// rows.
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>
#include "../../examples/seismic/cells.hpp"
#include "../../examples/seismic/device_case.hpp"
#include "../../examples/seismic/medium.hpp"
#include "../../examples/seismic/wave.hpp"
#include "../../examples/support/difference.hpp"
#include "support/catch.hpp"

namespace {

using namespace seismic;

/// A ground and waves of few digits: nothing that is computed from them is rounded, whatever a compiler does. The rim
/// is not silent.
template <class Real>
struct scene {
  grid g;
  std::mt19937 generator{7};
  medium<Real> ground;

  scene(std::size_t nx, std::size_t nz) : g{nx, nz, 10, 1e-3, 1}, ground{g, std::vector<double>(nx * nz, 2000)} {
    for (Real& m : ground.courant2) m = Real(1 + generator() % 4) / 4;
    for (Real& factor : ground.damping_x) factor = Real(1 + generator() % 3) / 2;
    for (Real& factor : ground.damping_z) factor = Real(1 + generator() % 3) / 2;
  }
  [[nodiscard]] std::vector<Real> wave() {
    std::vector<Real> all(g.cells());
    for (Real& v : all) v = Real(generator() % 17) - 8;
    return all;
  }
  [[nodiscard]] medium_view<Real> view() const {
    return {g.nx, g.nz, ground.courant2.data(), ground.damping_x.data(), ground.damping_z.data()};
  }
};

/// In an order that no loop over rows has.
template <class F>
void for_cells(std::size_t count, F const& f) {
  for (std::size_t const rest : {2u, 0u, 1u})
    for (std::size_t k = count; k-- > 0;)
      if (k % 3 == rest) f(k);
}

constexpr std::size_t shapes[][2] = {{3, 3}, {3, 9}, {9, 3}, {37, 30}};

}  // namespace

TEMPLATE_TEST_CASE("a step cell by cell is the step row by row, out of place and in place", "[examples][seismic]",
                   float, double) {
  for (auto const& [nx, nz] : shapes) {
    scene<TestType> s{nx, nz};
    auto const before = s.wave(), now = s.wave();
    auto const source = s.g.at(1, 1);
    auto const push = TestType(0.625);
    std::vector<TestType> rows(s.g.cells()), cells(s.g.cells(), TestType(9)), in_place = before;
    leapfrog(s.ground, before.data(), now.data(), rows.data());
    rows[source] += push;
    for_cells(s.g.cells(), leap_cell<TestType>{s.view(), before.data(), now.data(), cells.data(), source, push});
    for_cells(s.g.cells(), leap_cell<TestType>{s.view(), in_place.data(), now.data(), in_place.data(), source, push});
    CHECK(cells == rows);
    CHECK(in_place == cells);
  }
}

TEMPLATE_TEST_CASE("an adjoint cell by cell is the adjoint row by row, the rim and the gradient included",
                   "[examples][seismic]", float, double) {
  for (auto const& [nx, nz] : shapes) {
    scene<TestType> s{nx, nz};
    auto const u = s.wave(), by_w = s.wave(), by_u = s.wave(), gradient = s.wave();
    auto rows_first = by_u, rows_second = by_w, rows_gradient = gradient;
    adjoint_rows<TestType> rows{nx};
    leapfrog_adjoint(s.ground, u.data(), rows_first.data(), rows_second.data(), rows_gradient.data(), rows);
    auto cells_first = by_u, cells_gradient = gradient;
    std::vector<TestType> cells_second(s.g.cells(), TestType(9));
    for_cells(s.g.cells(), back_cell<TestType>{s.view(), u.data(), by_w.data(), cells_first.data(), cells_second.data(),
                                               cells_gradient.data()});
    CHECK(cells_first == rows_first);
    CHECK(cells_second == rows_second);
    CHECK(cells_gradient == rows_gradient);
  }
}

TEST_CASE("a receiver computes its residual and adds it to the adjoint at its place", "[examples][seismic]") {
  std::vector<std::size_t> const receivers{4, 1};
  std::vector<double> const u{0, 1, 2, 3, 4}, recorded{0.5, 3};
  std::vector<double> residual(2), bar{10, 20, 30, 40, 50};
  for_cells(2, listen_cell<double>{receivers.data(), u.data(), recorded.data(), residual.data(), bar.data()});
  CHECK(residual == std::vector<double>{3.5, -2});
  CHECK(bar == std::vector<double>{10, 18, 30, 40, 53.5});
}

TEST_CASE("a shot's gradient cell by cell is that of the host, and one number that is off is noticed",
          "[examples][seismic]") {
  device_case const shot{30, 26, 300};
  auto const cells = shot.cells(), receivers = shot.plan().receivers.size();
  auto const& ground = shot.ground();
  medium_view<double> const view{30, 26, ground.courant2.data(), ground.damping_x.data(), ground.damping_z.data()};
  std::vector<std::vector<double>> pressure(shot.plan().steps() + 2,
                                            std::vector<double>(cells));  // that of state i is number i + 1
  for (std::size_t i = 0; i < shot.plan().steps(); ++i)
    for_cells(cells, leap_cell<double>{view, pressure[i].data(), pressure[i + 1].data(), pressure[i + 2].data(),
                                       shot.source(), shot.plan().wavelet[i]});
  std::vector<double> before(cells), now(cells), spare(cells), sensitivity(cells), residuals(shot.recorded().size());
  for (std::size_t i = shot.plan().steps() + 1; i-- > 0;) {
    if (i > 0) {
      auto const row = (i - 1) * receivers;
      for_cells(receivers, listen_cell<double>{shot.plan().receivers.data(), pressure[i + 1].data(),
                                               &shot.recorded()[row], &residuals[row], now.data()});
    }
    if (i == 0) break;
    for_cells(cells,
              back_cell<double>{view, pressure[i].data(), now.data(), before.data(), spare.data(), sensitivity.data()});
    now.swap(spare);
    before.swap(now);
  }
  auto const found = shot.with_misfit(sensitivity, residuals);
  CHECK(found.misfit > 0);
  CHECK(shot.same_on_host(found));
  auto off = found;
  off.sensitivity[shot.source()] *= 1 + 1e-9;
  CHECK_FALSE(shot.same_on_host(off));
  off = found;
  off.misfit *= 1 + 1e-9;
  CHECK_FALSE(shot.same_on_host(off));
  off = found;
  off.sensitivity.pop_back();
  CHECK_FALSE(shot.same_on_host(off));
  off = found;
  off.sensitivity[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(shot.same_on_host(off));
}

TEST_CASE("numbers that cannot be compared are infinitely far apart, and equal ones not at all", "[examples]") {
  auto const infinity = std::numeric_limits<double>::infinity();
  using numbers = std::vector<double>;
  CHECK(support::relative_difference({}, {}) == 0);
  CHECK(support::relative_difference({0}, {0}) == 0);
  CHECK(support::relative_difference({1, 4}, {1, 4}) == 0);
  CHECK(support::relative_difference({1, 5}, {2, 4}) == 0.25);
  CHECK(support::relative_difference({1}, {0}) == infinity);
  std::pair<numbers, numbers> const pairs[] = {{{1}, {1, 1}}, {{infinity}, {infinity}}, {{std::nan("")}, {1}}};
  for (auto const& [found, wanted] : pairs)
    CHECK(support::relative_difference(found, wanted) == infinity);
}
