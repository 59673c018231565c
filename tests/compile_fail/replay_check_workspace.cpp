// error: this workspace keeps no hashes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
cairn::revolve const plan{10, 3};
cairn::sweep_options const options{.verify = cairn::replay_check::checkpoints};
#ifdef CAIRN_FIXED
auto work = cairn::workspace_for<double>(plan, options);
#else
auto work = cairn::workspace_for<double>(plan);
#endif
auto const g = cairn::gradient(step, 1.0, plan, 1.0, adjoint, work, options);
