#pragma once
/// \file chain_words.hpp  The actions of a plan for a chain as words, and back.
///
///     Fck0 Fn1 Fall2 Loss3 B2 Fall0 Fall1 B1 B0
///
/// | word | is |
/// |---|---|
/// | `Fcki`, `Fni` | stage i is run; state i stays, or is forgotten once that is done |
/// | `Falli` | stage i is recorded; state i stays |
/// | `Lossi` | the adjoint of the last state is made, i = L |
/// | `Bi`, `Bcki` | the adjoint of stage i is run; state i, where it is kept beside tapes, is forgotten once that is done, or stays |
/// | `Dropi`, `DropTapei` | state i, or the tape of stage i, is forgotten |
/// | `Savei:tier`, `Loadi:tier`, `Dropi:tier` | state i is copied to `device`, `host` or `disk`, back to memory, forgotten there |
///
/// The first five are the words of the literature, and mean there what they mean here; a state i that they forget is a
/// `drop` of its own among the actions.
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/chain.hpp>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// The actions as one line of words. `read_chain_words` gives the same actions back.   Cost: O(actions)
/// \pre each is one of `chain_actions`, of stages 0 .. 2^31, as in every plan that `replay` takes
[[nodiscard]] CAIRN_DECL std::string chain_words(std::span<action const> actions);

/// The actions that such a line says, separated by spaces. They are read, not played: `replay` checks them.   Cost:
/// O(length)
/// \throws parse_error   with the number of the word, from 0
[[nodiscard]] CAIRN_DECL std::vector<action> read_chain_words(std::string_view line);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/chain_words.ipp>
#endif
