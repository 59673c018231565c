// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file params.hpp  The parameters of a model that are neither a value nor a class of the user's.
#include <vector>
#include <cairn/door/wrt.hpp>

namespace cairn {

/// Parameters of the whole loop, and a control for each step. The model is called as `model(x, params, u, i)` with u =
/// controls[i], or `model(x, u, i)` with `no_params`. A leaf is differentiated only with respect to the controls of its
/// own steps.
template <class Params, class Control>
struct with_controls {
  Params params;                  ///< for all steps
  std::vector<Control> controls;  ///< one for each step
};

}  // namespace cairn
