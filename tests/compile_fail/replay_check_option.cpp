// error: the last argument must be cairn::sweep_options
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto const look = [](cairn::event const&) {};
cairn::memory_store store;
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, store, look,
                               cairn::sweep_options{.verify = cairn::replay_check::checkpoints});
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, store, look, cairn::replay_check::checkpoints);
#endif
