// error: the backward of a stage must be `backward\(x, bar\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
struct layer {
  vec forward(vec const& x) { return x; }
#ifdef CAIRN_FIXED
  vec backward(vec const&, vec const& bar) { return bar; }
#else
  vec backward(vec const& bar) { return bar; }
#endif
};
cairn::any_stage stage{layer{}};
struct takes_more {
  vec forward(vec const& x) { return x; }
  void backward(vec const&, vec&, double) {}
};
static_assert(!cairn::stage_of<takes_more, vec, vec>);
