// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ahead_by.hpp  Verbs of killed programs on two threads.
#include <cairn/adapt/threads.hpp>
#include "adapt/threads/ahead.hpp"
#include "support/killed.hpp"

namespace {

/// A verb that has a helper in two of three processes, if it has a store.
template <class Verb>
struct ahead_by {
  template <class Plan, class... Last>
  static auto of(Plan const& plan, Last const&... last) {
    if constexpr (sizeof...(last) == 0) return Verb::of(plan);
    else if (killed::started % 3 == 2) return Verb::of(plan, last...);
    else return Verb::of(plan, last..., ahead::eager{.ahead = killed::started % 7});
  }
};

}  // namespace
