#pragma once
/// \file ad.hpp  Adjoints by tools for automatic differentiation; a tool itself comes by its own header, as
/// adapt/adolc.hpp.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <cairn/adapt/ad/differentiate.hpp>
#include <cairn/adapt/ad/objective.hpp>
#include <cairn/adapt/ad/plan_for.hpp>
#include <cairn/adapt/ad/rebind_scalar.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/adapt/ad/taped.hpp>
