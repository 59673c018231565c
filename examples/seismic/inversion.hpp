// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file inversion.hpp  The objective as an optimiser sees it: misfit over all shots and its gradient with respect to
/// the velocity.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sweep.hpp"

namespace seismic {

/// The traces of all shots over one model.
template <class Real>
[[nodiscard]] std::vector<traces<Real>> record_all(grid const& g, survey<Real> const& plan,
                                                   std::vector<double> const& velocity) {
  medium<Real> const ground{g, velocity};
  std::vector<traces<Real>> all;
  for (auto const source : plan.sources) all.push_back(record(ground, plan, source));
  return all;
}

/// `sweep(shot)` adds one shot's gradient to `sensitivity` and returns its misfit.
/// \param ground  what the sweep runs in; gets the velocity   \param slope  becomes the gradient, per m/s
/// \returns infinity, and does nothing, where the scheme would be unstable
template <class Real, class Sweep>
double evaluate(medium<Real>& ground, survey<Real> const& plan, std::vector<traces<Real>> const& recorded,
                std::vector<double> const& velocity, std::vector<Real>& sensitivity, std::vector<double>& slope,
                Sweep sweep) {
  auto const [slowest, fastest] = std::minmax_element(velocity.begin(), velocity.end());
  if (!(*slowest > 0 && *fastest < ground.grid.fastest())) return std::numeric_limits<double>::infinity();
  ground.set(velocity);
  std::fill(sensitivity.begin(), sensitivity.end(), Real(0));
  double misfit = 0;
  for (std::size_t s = 0; s < recorded.size(); ++s) misfit += sweep(shot<Real>{plan.sources[s], &recorded[s]});
  for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = double(sensitivity[k]) * ground.slope(velocity[k]);
  return misfit;
}

/// How far each cell may change: not at all at the rim, sources and receivers, where the gradient is a picture of them
/// alone.
[[nodiscard]] inline std::vector<double> freedom(grid const& g) {
  std::vector<double> weight(g.cells());
  for (std::size_t z = 0; z < g.nz; ++z)
    for (std::size_t x = 0; x < g.nx; ++x) {
      auto const depth = double(std::min({x, g.nx - 1 - x, z, g.nz - 1 - z})) - double(g.rim);
      weight[g.at(x, z)] = std::clamp((depth - 5) / 5, 0.0, 1.0);
    }
  return weight;
}

}  // namespace seismic
