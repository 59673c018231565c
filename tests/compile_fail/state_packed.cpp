// error: this state has bit-fields, packed members or a union, which cannot be looked into
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#ifdef CAIRN_FIXED
struct grain {
#else
struct [[gnu::packed]] grain {
#endif
  char kind;
  double x;
};
auto const step = [](grain& g) { g.x *= 2; };
auto const adjoint = [](grain const&, double& bar) { bar *= 2; };
int main() {
  auto run = cairn::checkpointed_loop(step, grain{}, 10);
  return run.final_state().x + run.at(3).x + run.reverse(1.0, adjoint) + double(run.checkpoints().size()) > 0 ? 0 : 1;
}
