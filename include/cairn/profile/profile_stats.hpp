// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_stats.hpp  The result of a profile: what each node of a sweep takes, and when each activation is used.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/action.hpp>

namespace cairn {

/// What a node of a sweep makes.
enum class node_type : std::uint8_t {
  param,      ///< a parameter, which lives through the sweep
  act,        ///< an activation: made in the forward run, read in the reverse sweep
  grad,       ///< adjoints
  opt_state,  ///< states of an optimiser, and its step
  other       ///< everything else: inputs, the loss, values that nothing reads in the reverse sweep
};
/// The part of a sweep that a node belongs to. The boundary between forward and backward is one node, the loss, which
/// is `other`.
enum class graph_type : std::uint8_t { forward, backward, other };

/// PARAM, ACT, GRAD, OPT_STATE or OTHER.
[[nodiscard]] constexpr std::string_view word_of(node_type type) noexcept {
  switch (type) {
    case node_type::param: return "PARAM";
    case node_type::act: return "ACT";
    case node_type::grad: return "GRAD";
    case node_type::opt_state: return "OPT_STATE";
    default: return "OTHER";
  }
}
/// forward, backward or other.
[[nodiscard]] constexpr std::string_view word_of(graph_type type) noexcept {
  return type == graph_type::forward ? "forward" : type == graph_type::backward ? "backward" : "other";
}

/// One node of a sweep that keeps everything until its last reader.
struct node_stats {
  step_index rank = 0;  ///< its place in the order of the sweep, from 0
  /// What it is: "relu_3(conv_2)" for a run and what it reads, "relu_3.backward(output)" for an adjoint and what that
  /// reads of the run: `inputs`, `output`, `tape`; "loss(relu_3)"; or only a name.
  std::string node_name;
  node_type type = node_type::other;      ///< what it makes
  graph_type gtype = graph_type::other;   ///< the part of the sweep it belongs to
  double median_run_time_s = 0;           ///< seconds, >= 0
  std::int64_t median_peak_mem_bytes = 0;    ///< most bytes while it runs
  std::int64_t median_active_mem_bytes = 0;  ///< bytes before it runs
  std::string device = "cpu";             ///< where it runs
  friend bool operator==(node_stats const&, node_stats const&) = default;
};

/// One activation: a value or a tape that is made in the forward run and read in the reverse sweep. Uses are named by
/// the ranks of their nodes.
struct activation_stats {
  std::string activation_name;        ///< name of the operation, with ".tape" added for its tape
  step_index creation_rank = 0;       ///< the run that makes it
  step_index last_fw_use_rank = 0;    ///< the last run or loss that reads it; the creation if there is none
  step_index first_bw_use_rank = 0;   ///< the first adjoint that reads it
  step_index last_bw_use_rank = 0;    ///< the last adjoint that reads it
  std::int64_t median_mem_size_bytes = 0;  ///< its bytes
  double inactive_time_s = 0;         ///< seconds from its last use forward to its first use backward
  double recomp_time_s = 0;           ///< seconds to make it again for that use, from what is kept
  std::int64_t recomp_memory_bytes = 0;  ///< most bytes for making it again, beside what is kept; its own included
  friend bool operator==(activation_stats const&, activation_stats const&) = default;
};

/// The profile of one sweep.
struct profile_stats {
  std::vector<node_stats> nodes;               ///< by rank
  std::vector<activation_stats> activations;   ///< by creation
  friend bool operator==(profile_stats const&, profile_stats const&) = default;
};

}  // namespace cairn
