// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/cairn.hpp>

struct decay {
  void operator()(double& x, cairn::step_index) const { x *= 0.999; }
};
struct decay_adjoint {
  void operator()(double const&, double& bar, cairn::step_index) const { bar *= 0.999; }
};
struct one {
  double operator()(double const&) const { return 1; }
};

/// 0.999^1000, in each translation unit with the same instantiations of cairn.
static double gradient_of_decay() {
  return cairn::gradient(decay{}, 1.0, cairn::revolve{1000, 8}, one{}, decay_adjoint{});
}
