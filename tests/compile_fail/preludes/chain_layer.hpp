// SPDX-License-Identifier: Apache-2.0
// A stage of a chain, and a list of actions. Included within a namespace, so without #pragma once and without headers.
using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) const { return x; }
  vec backward(vec const&, vec const& bar) const { return bar; }
};
