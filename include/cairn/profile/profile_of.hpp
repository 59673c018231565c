// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_of.hpp  The profile of a measured graph or chain, and the graph or chain of a profile.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/profile/profile_stats.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// A value that is there during the whole sweep: a parameter, an input, a state of an optimiser.
struct profile_leaf {
  std::string name;                    ///< without brackets and commas; no other leaf or operation has it
  node_type type = node_type::other;   ///< the adjoint of a `param` is made in the reverse sweep and stays
  std::int64_t bytes = 0;              ///< >= 0
};
/// A node after the last adjoint, such as the step of an optimiser.
struct profile_update {
  std::string name;            ///< without brackets and commas
  std::int64_t time = 0;       ///< nanoseconds, >= 0
  std::int64_t work = 0;       ///< bytes it takes while it runs, >= 0
};

/// A measured graph with the names of its operations, and the leaves and updates around it. Times are in nanoseconds.
struct profiled_graph {
  operation_graph graph;                        ///< sizes and times
  std::vector<std::string> names = {};          ///< of all operations, as those of leaves; if empty: "op_0", "op_1" ...
  std::vector<profile_leaf> leaves = {};        ///< there before the first operation
  std::vector<std::vector<std::size_t>> reads = {};  ///< the leaves that each operation reads; none if empty
  std::vector<profile_update> updates = {};     ///< nodes after the last adjoint
  std::string device = "cpu";                   ///< where everything runs
};

/// The profile of a sweep over a graph that keeps every value until its last reader. Bytes are those that `live_bytes`
/// counts, plus those of leaves and of adjoints of parameters. Its nodes are the leaves, the operations, the loss, the
/// adjoints, the updates, and "output", which stands for what is left.
/// \param evicted  operations whose values are not kept between their last use forward and their first use backward:
///   this raises the cost of making other values again. The nodes are still those of the sweep that keeps them
/// \throws invalid_plan, overflow_error   for an invalid graph, and for numbers in `evicted` that name no operation
/// \throws invalid_call   for names that are missing, not unique, or hold brackets or commas
/// Cost: O(n^2)
[[nodiscard]] CAIRN_DECL profile_stats profile_of(profiled_graph const& measured,
                                                  std::span<step_index const> evicted = {});
/// The same for a chain: a sweep that records every stage once. Stage i is "stage_i", state 0 counts as active from the
/// first node on. The activation "stage_i" is state i+1, "stage_i.tape" the rest of the tape of stage i.
[[nodiscard]] CAIRN_DECL profile_stats profile_of(chain const& measured, std::span<step_index const> evicted = {});

/// The graph that a profile describes: `graph_of(profile_of({graph}))` equals `graph` with `adjoint_bytes` and inputs
/// written out, and without the states outside it that operations use: tables do not hold these. The profile of a chain
/// does not distinguish some of the work from adjoints; that work is left out.
/// \throws parse_error   for nodes other than those of such a sweep, in the order of the sweep
/// \throws invalid_plan, overflow_error   as `graph_planner`, and if all nodes together exceed 2^60 bytes
[[nodiscard]] CAIRN_DECL operation_graph graph_of(profile_stats const& stats);
/// The chain that a profile describes: `chain_of(profile_of(c))` equals `c`, with its optional lists given.
/// \throws parse_error   for a profile of anything else
[[nodiscard]] CAIRN_DECL chain chain_of(profile_stats const& stats);

/// Bytes at the node with the highest peak, by type.
struct peak_breakdown {
  step_index rank = 0;     ///< the first node with the highest peak
  std::int64_t peak = 0;   ///< its bytes: the sum of all types
  std::array<std::int64_t, 5> bytes = {};  ///< by `node_type`; `other` has what is none of the other types
  /// Bytes of one type.
  [[nodiscard]] std::int64_t operator[](node_type type) const noexcept { return bytes[std::size_t(type)]; }
  friend bool operator==(peak_breakdown const&, peak_breakdown const&) = default;
};
/// Where the highest peak is, and what is there: parameters, activations, adjoints (also of values), states of the
/// optimiser, and the rest, such as inputs and working memory.
/// \throws parse_error   as `graph_of`
[[nodiscard]] CAIRN_DECL peak_breakdown breakdown_of(profile_stats const& stats);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/profile/impl/profile_of.ipp>
#endif
