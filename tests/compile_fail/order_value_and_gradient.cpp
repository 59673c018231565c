// error: value_and_gradient needs an objective after the plan
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/growth.hpp"
#ifdef CAIRN_FIXED
cairn::value_and_gradient f{growth, at_end, plan};
#else
cairn::value_and_gradient f{growth, plan};
#endif
