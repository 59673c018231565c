// SPDX-License-Identifier: Apache-2.0
// States that grow from step to step, and their adjoint.
#pragma once
#include <cstddef>
#include <vector>
#include <cairn/core/action.hpp>

/// The state after step i: `more` numbers more.
inline std::vector<double> grown(std::vector<double> const& x, cairn::step_index i, std::size_t more) {
  std::vector<double> y(x.size() + more, 1.0);
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = 0.999 * x[k] + 1e-6 * double(i);
  return y;
}
/// bar becomes the adjoint of x.
inline void pull_grown(std::vector<double> const& x, std::vector<double>& bar) {
  bar.resize(x.size());
  for (double& v : bar) v *= 0.999;
}
