// error: with cairn::parallel steps run beside adjoints, and the messages of both would cross: each rank of a collective sweep has one thread; leave out cairn::parallel
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/threads.hpp>
#include <cairn/run/gradient.hpp>

auto const step = cairn::concurrent([](double& x) { x *= 2; });
auto const adjoint = [](double, double& bar) { bar *= 2; };
struct ranks { struct together {}; };
#ifdef CAIRN_FIXED
int main() { return cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::parallel{}) > 1000 ? 0 : 1; }
#else
int main() { return cairn::gradient(step, 1.0, 10, 1.0, adjoint, ranks{}, cairn::parallel{}) > 1000 ? 0 : 1; }
#endif
