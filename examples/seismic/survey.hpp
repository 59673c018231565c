// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file survey.hpp  Where the sources and receivers are, what a source emits, and what the receivers record.

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "wave.hpp"

namespace seismic {

/// One shot after the other from a line of sources near the surface; receivers lie in a line beside it and in one at
/// depth.
template <class Real>
struct survey {
  std::vector<std::size_t> sources, receivers;  ///< their cells
  std::vector<Real> wavelet;                    ///< what a source adds to the pressure in each step

  survey(grid const& g, std::size_t steps, std::size_t shots, double hertz) : wavelet(steps) {
    auto const first = g.rim + 2, last = g.nx - g.rim - 3, top = g.rim + 2, bottom = g.nz - g.rim - 3;
    for (std::size_t s = 0; s < shots; ++s)
      sources.push_back(g.at(first + (last - first) * (2 * s + 1) / (2 * shots), top));
    for (std::size_t x = first; x <= last; x += 4) {
      receivers.push_back(g.at(x, top + 1));
      receivers.push_back(g.at(x, bottom));
    }
    for (std::size_t i = 0; i < steps; ++i) {
      double const phase = std::numbers::pi * hertz * (double(i) * g.dt - 1.2 / hertz), squared = phase * phase;
      wavelet[i] = Real((1 - 2 * squared) * std::exp(-squared));  // Ricker
    }
  }
  [[nodiscard]] std::size_t steps() const noexcept { return wavelet.size(); }
};

/// The pressure at every receiver after every step: row i - 1 belongs to state i, because state 0 is silence.
template <class Real>
using traces = std::vector<Real>;

/// Runs one shot and listens.
template <class Real>
[[nodiscard]] traces<Real> record(medium<Real> const& ground, survey<Real> const& plan, std::size_t source) {
  traces<Real> heard;
  heard.reserve(plan.steps() * plan.receivers.size());
  auto x = silence<Real>(ground.grid.cells());
  for (Real const push : plan.wavelet) {
    leapfrog(ground, x.before.data(), x.now.data(), x.before.data());
    x.before[source] += push;
    x.before.swap(x.now);
    for (auto const at : plan.receivers) heard.push_back(x.now[at]);
  }
  return heard;
}

/// Half the sum of squared differences.
template <class Real>
[[nodiscard]] double misfit_between(traces<Real> const& heard, traces<Real> const& recorded) {
  double sum = 0;
  for (std::size_t k = 0; k < heard.size(); ++k) {
    double const difference = double(heard[k]) - double(recorded[k]);
    sum += difference * difference;
  }
  return sum / 2;
}

}  // namespace seismic
