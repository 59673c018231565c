// error: forward must return a state that owns its data
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::chain_action>;
struct layer {
#ifdef CAIRN_FIXED
  vec forward(vec const& x) { return x; }
#else
  vec const& forward(vec const& x) { return x; }
#endif
  void backward(vec const&, vec&) {}
};
std::tuple<layer> stages;
int main() { (void)cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}); }
