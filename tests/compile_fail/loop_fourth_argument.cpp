// error: the fourth argument must be a workspace
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto const run = cairn::checkpointed_loop(step, 1.0, 10, [](cairn::event const&) {});
#else
auto const run = cairn::checkpointed_loop(step, 1.0, 10, 7);
#endif
