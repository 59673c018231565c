// error: cairn::measured needs the adjoint
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/profile/measured.hpp>

auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::checkpointed_loop(step, 1.0, cairn::budget_of{10, 1000});
#else
auto run = cairn::checkpointed_loop(step, 1.0, cairn::measured{{10, 1000}});
#endif
