// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file end_hash.hpp  What an adjoint that runs steps again is told of the state at their end.
#include <cstdint>
#include <cairn/door/detail/step_shape.hpp>

namespace cairn::detail {

/// The hash of the state at the end of the steps of the next adjoint call, 0 if unknown; for adjoints that run these
/// steps again.
struct end_hash {
  std::uint64_t value = 0;
};
template <class Adjoint>
concept takes_end_hash = requires(Adjoint& adjoint, end_hash end) { referred_to(adjoint).ends_in(end); };

}  // namespace cairn::detail
