// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_gradient.hpp  The adjoint of a chain that all ranks run together. Not part of <cairn/adapt/mpi.hpp>.
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/extras.hpp>
#include <cairn/run/chain/gradient.hpp>

namespace cairn {

/// The same as `chain_gradient` without `collective`, by all ranks together.
/// \param with  the ranks; see `collective`; `every` counts actions   \param rest  as without `collective`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any stage runs if plans differ
template <class Stages, class X0, class Plan, class Seed, bool BetweenActions, class... Rest>
auto chain_gradient(Stages&& stages, X0 const& x0, Plan const& plan, Seed&& seed, collective<BetweenActions> with,
                    Rest&&... rest) {
  auto const run = [&](auto&&... extras) {
    return chain_gradient(stages, x0, plan, std::forward<Seed>(seed), std::forward<decltype(extras)>(extras)...);
  };
  return detail::run_with_extras(with, "cairn::chain_gradient", plan, run, std::forward<Rest>(rest)...);
}

}  // namespace cairn
