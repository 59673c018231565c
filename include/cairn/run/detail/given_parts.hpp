// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given_parts.hpp  What the caller of a verb gave, beside what the sweep is made of.
#include <cairn/core/wrt.hpp>

namespace cairn::detail {

struct no_terms {};
/// What the caller of a verb gave, beside the functions into which it is bound: for a sweep that another process may go
/// on with.
template <class StepGiven, class AdjointGiven, class SeedGiven, class Params = no_params, class DP = no_params,
          class Objective = no_terms, class Terms = no_terms>
struct given_parts {
  StepGiven const* step;
  AdjointGiven const* adjoint;
  SeedGiven const* seed;
  Params const* p = nullptr;
  DP* dp = nullptr;
  Objective const* objective = nullptr;
  Terms* terms = nullptr;
};

}  // namespace cairn::detail
