// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_words.hpp  The actions of a plan for a chain as words.
///
///     Fck0 Fn1 Fall2 Loss3 B2 Fall0 Fall1 B1 B0
///
/// - `Fcki`, `Fni`: stage i is run; state i stays (`Fck`), or is freed after that (`Fn`)
/// - `Falli`: stage i is recorded; state i stays
/// - `Lossi`: the adjoint of the last state is made, i = L
/// - `Bi`, `Bcki`: the adjoint of stage i is run; state i, if it is kept as well as tapes, is freed after that (`B`),
///   or stays (`Bck`)
/// - `Dropi`, `DropTapei`: state i, or the tape of stage i, is freed
/// - `Savei:tier`, `Loadi:tier`, `Dropi:tier`: state i is copied to `device`, `host` or `disk`, copied back to memory,
///   freed there
///
/// The first five are the words of the literature, with their meaning there. If one of them frees state i, the list of
/// actions has a separate `drop` for it.
#include <span>
#include <string>
#include <cairn/detail/linkage.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {

/// The actions as one line of words.   Cost: O(actions)
/// \pre each is one of `chain_actions`, for stages 0 .. 2^31, as in every plan that `replay` accepts
[[nodiscard]] CAIRN_DECL std::string chain_words(std::span<action const> actions);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/chain_words.ipp>
#endif
