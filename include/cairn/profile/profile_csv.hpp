// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_csv.hpp  A profile as two tables of comma-separated values, and back.
#include <string>
#include <string_view>
#include <cairn/detail/linkage.hpp>
#include <cairn/profile/profile_stats.hpp>

namespace cairn {

/// The first line of a table of nodes.
inline constexpr std::string_view node_stats_columns =
    "rank,node_name,node_type,gtype,median_run_time_s,median_peak_mem_bytes,median_active_mem_bytes,device";
/// The first line of a table of activations.
inline constexpr std::string_view activation_stats_columns =
    "activation_name,creation_rank,last_fw_use_rank,first_bw_use_rank,last_bw_use_rank,median_mem_size_bytes,"
    "inactive_time_s,recomp_time_s,recomp_memory_bytes";

/// The nodes as a table, one line each below `node_stats_columns`. Names with commas, quotes or line ends are quoted as
/// RFC 4180 says; seconds have the fewest digits that read back as the same number. Never NaN.
[[nodiscard]] CAIRN_DECL std::string node_stats_csv(profile_stats const& stats);
/// The activations as a table, one line each below `activation_stats_columns`.
[[nodiscard]] CAIRN_DECL std::string activation_stats_csv(profile_stats const& stats);

/// Reads a profile from two such tables. It equals the profile that was written.
/// \throws parse_error   with the number of the line, from 1
[[nodiscard]] CAIRN_DECL profile_stats read_profile_csv(std::string_view nodes, std::string_view activations);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/profile/impl/profile_csv.ipp>
#endif
