// error: an operation has one tape
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>

namespace reads = cairn::adjoint_reads;
#ifdef CAIRN_FIXED
constexpr auto both = reads::tape<double> | reads::output;
#else
constexpr auto both = reads::tape<double> | reads::tape<int>;
#endif
