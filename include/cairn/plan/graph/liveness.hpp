// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file liveness.hpp  When the values of a graph are read, how long they are idle, and the cost of making them again.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {

/// One value in a sweep that keeps everything as long as it is read. Ranks count actions: operation v has rank v, the
/// loss n, and the adjoint of v 2n - v.
struct value_liveness {
  std::int64_t bytes = 0;                         ///< of the value
  step_index created = 0;                         ///< rank of the operation
  step_index last_forward_use = 0;                ///< rank of the last operation that reads it, or the loss
  std::optional<step_index> first_backward_use;   ///< rank of the first adjoint that reads it; nothing if none does
  std::optional<step_index> last_backward_use;    ///< rank of the last adjoint that reads it; nothing if none does
  /// Time from the end of its last use in the forward run to the start of its first use in the reverse sweep; 0 if
  /// there is none.
  std::int64_t inactive_time = 0;
  /// Time of the operations that make it again for its first use in the reverse sweep, from the values that are kept
  /// then.
  std::int64_t recompute_time = 0;
  std::int64_t recompute_bytes = 0;  ///< most bytes that these operations take at one time besides the kept values, the
                                     ///< value itself included
  /// Bytes freed per unit of time: a value with a large ratio is a good one to drop (mu-TWO's recompute ratio).
  /// \pre recompute_time > 0
  [[nodiscard]] double ratio() const noexcept { return double(bytes) / double(recompute_time); }
  friend bool operator==(value_liveness const&, value_liveness const&) = default;
};

/// The liveness of each value 0..n-1.   Cost: O(n^2).
/// \param dropped  values that are not kept between their last use in the forward run and their first use in the
///   reverse sweep; in between nothing can be made from them
/// \throws invalid_plan, overflow_error   for an invalid graph, and for numbers in `dropped` that are not values of it
[[nodiscard]] CAIRN_DECL std::vector<value_liveness> liveness_of(operation_graph const& graph,
                                                                 std::span<step_index const> dropped = {});

/// The same for the tape of each operation 0..n-1, which only its adjoint reads. To make a tape again, its operation is
/// run again and recorded, so the bytes include those of its value. An operation without a tape has 0 bytes and no use.
/// \throws invalid_plan, overflow_error   as `liveness_of`
[[nodiscard]] CAIRN_DECL std::vector<value_liveness> tape_liveness_of(operation_graph const& graph,
                                                                      std::span<step_index const> dropped = {});

/// Bytes during each action, by rank, of the sweep that keeps every value as long as it is read: values, tapes,
/// adjoints and work. There are 2n + 1 entries; the largest is the peak of storing everything.
/// \throws invalid_plan, overflow_error   for an invalid graph
[[nodiscard]] CAIRN_DECL std::vector<std::int64_t> live_bytes(operation_graph const& graph);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/graph/impl/liveness.ipp>
#endif
