// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ad.hpp  Adjoints by tools for automatic differentiation. The tool itself needs its own header, such as
/// adapt/adolc.hpp.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/adapt/ad/differentiate.hpp>
#include <cairn/adapt/ad/params.hpp>
#include <cairn/adapt/ad/plan_for.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/adapt/ad/taped.hpp>
#include <cairn/adapt/ad/taped_object.hpp>
#include <cairn/door/objective.hpp>
