// error: checkpoints\(\) needs a state that can be copied
#include <cairn/cairn.hpp>

struct solver {
  double x = 1;
  solver() = default;
  solver(solver const&) = delete;
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
solver s;
auto const step = [](solver& at) { at.x *= 2; };
auto run = cairn::checkpointed_loop(step, s, 10);
#ifdef CAIRN_FIXED
auto const& x = run.final_state();
#else
auto const x = run.checkpoints();
#endif
