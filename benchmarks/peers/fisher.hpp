// SPDX-License-Identifier: Apache-2.0
#pragma once
// The case of `./run versus`: Fisher's equation, u' = spread laplace(u) + growth u (1 - u), on a torus of side x side
// doubles, by explicit steps; the gradient of sum u^2 by the initial state.
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/core/action.hpp>
#include "peer.hpp"

namespace peer {

struct fisher {
  static constexpr double spread = 0.2, growth = 0.005;
  std::size_t side = 0;
  cairn::step_index steps = 0;

  [[nodiscard]] std::size_t cells() const { return side * side; }
  /// 8 x 8 blocks of one number each, between 0 and 1.
  [[nodiscard]] std::vector<double> start() const {
    std::vector<double> u(cells());
    std::size_t const block = side / 8;
    for (std::size_t k = 0; k < u.size(); ++k)
      u[k] = double(noise(std::uint32_t(k / side / block * 8 + k % side / block))) + 0.5;
    return u;
  }
};

/// The sizes of a case, those of peer.py.
inline fisher fisher_of(std::string const& name) {
  if (name == "fisher") return {256, 1000};
  if (name == "fisher_small") return {16, 60};
  throw std::runtime_error{"no such case: " + name};
}

/// A step, for the numbers of any tool.
template <class T>
void react(T const* u, T* u1, std::size_t side) {
  for (std::size_t row = 0; row < side; ++row) {
    std::size_t const here = row * side, up = (row + side - 1) % side * side, down = (row + 1) % side * side;
    auto const cell = [&](std::size_t k, std::size_t left, std::size_t right) {
      T const& x = u[here + k];
      u1[here + k] = x + fisher::spread * (u[up + k] + u[down + k] + u[here + left] + u[here + right] - 4.0 * x) +
                     fisher::growth * (x - x * x);
    };
    cell(0, side - 1, 1);
    for (std::size_t k = 1; k + 1 < side; ++k) cell(k, k - 1, k + 1);
    cell(side - 1, side - 2, 0);
  }
}

/// Its adjoint by hand, from `bar` into `bar0`.
inline void react_back(double const* u, double const* bar, double* bar0, std::size_t side) {
  for (std::size_t row = 0; row < side; ++row) {
    std::size_t const here = row * side, up = (row + side - 1) % side * side, down = (row + 1) % side * side;
    auto const cell = [&](std::size_t k, std::size_t left, std::size_t right) {
      double const at = bar[here + k];
      bar0[here + k] =
          at + fisher::spread * (bar[up + k] + bar[down + k] + bar[here + left] + bar[here + right] - 4.0 * at) +
          fisher::growth * (1.0 - 2.0 * u[here + k]) * at;
    };
    cell(0, side - 1, 1);
    for (std::size_t k = 1; k + 1 < side; ++k) cell(k, k - 1, k + 1);
    cell(side - 1, side - 2, 0);
  }
}

/// The number of METHOD:NUMBER, a number of checkpoints; 0 without one.
inline cairn::slot_index checkpoints_of(std::string const& name) {
  auto const at = name.find(':');
  return at == std::string::npos ? 0 : cairn::slot_index(std::atoi(name.c_str() + at + 1));
}
/// METHOD:NUMBER
inline std::string with_checkpoints(std::string name, cairn::slot_index checkpoints) {
  return name.append(1, ':').append(std::to_string(checkpoints));
}

}  // namespace peer
