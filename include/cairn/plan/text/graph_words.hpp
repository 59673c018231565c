// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_words.hpp  The actions of a plan for a graph as words, and back.
///
///     F0 R1 Drop0 F2 Loss3 B2 F0 B1 B0
///
/// | word | means |
/// |---|---|
/// | `Fi`, `Ri` | operation i is run; operation i is run and its tape is recorded |
/// | `Dropi`, `DropTapei` | value i, or the tape of operation i, is freed |
/// | `Lossi` | the adjoints of the outputs are made; i is the number of operations |
/// | `Bi` | the adjoint of operation i is run |
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// The actions as one line of words. `read_graph_words` returns the same actions.   Cost: O(actions)
/// \pre each is one of `graph_actions`, as in every plan that `replay` accepts
[[nodiscard]] CAIRN_DECL std::string graph_words(std::span<action const> actions);

/// The actions of such a line; words are separated by spaces. The actions are read but not checked: use `replay` or
/// `graph_gradient` for that.   Cost: O(length)
/// \throws parse_error   with the number of the word, from 0
[[nodiscard]] CAIRN_DECL std::vector<action> read_graph_words(std::string_view line);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/graph_words.ipp>
#endif
