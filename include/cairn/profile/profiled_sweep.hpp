// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profiled_sweep.hpp  What profilers have in common: the statistics of a sweep, and their files.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/profile/profile_csv.hpp>
#include <cairn/profile/profile_of.hpp>
#include <cairn/profile/profile_stats.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {
namespace detail {

inline void write_profile(std::filesystem::path const& folder, std::string const& name, std::string_view text,
                          char const* who) {
  std::error_code problem;  // ignored: without its folder the file cannot be written
  std::filesystem::create_directories(folder, problem);
  std::ofstream file{folder / name, std::ios::binary};
  file.write(text.data(), std::streamsize(text.size()));
  if (!file.flush())
    throw invalid_call{who, "a file of a profile cannot be written", {}, "give a folder that can be written to"};
}

}  // namespace detail

/// The name with which the files of a profile begin.
inline constexpr std::string_view profile_prefix = "profiler_stats";

/// Reads a profile from the two files that `save_stats_to_csv` wrote. It equals the profile that was saved.
/// \throws invalid_call   if a file cannot be read   \throws parse_error   as `read_profile_csv`
[[nodiscard]] inline profile_stats read_stats_csv(std::filesystem::path const& folder = ".",
                                                  std::string_view prefix = profile_prefix) {
  auto const text = [&](char const* ending) {
    std::ifstream file{folder / (std::string{prefix} + ending), std::ios::binary};
    if (!file)
      throw invalid_call{"cairn::read_stats_csv", "a file of a profile cannot be read", {},
                         "give the folder and the prefix that save_stats_to_csv was given"};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  return read_profile_csv(text("_node_stats.csv"), text("_activation_stats.csv"));
}

/// Holds the statistics of a profiled sweep. Profilers derive from this class and pass it what they measured.
class profiled_sweep {
 public:
  /// The statistics of the last run, with what it takes to make activations again if some values are not kept.
  /// \param evicted  operations or stages whose values are not kept between their last use forward and their first use
  ///   backward; ignored for loops
  /// \throws invalid_call   before the first run   \throws invalid_plan   for numbers in `evicted` that name no
  ///   operation
  profile_stats const& aggregate_stats(std::span<step_index const> evicted = {}) {
    (void)stats();
    if (graph_) stats_ = profile_of(*graph_, evicted);
    else if (chain_) stats_ = profile_of(*chain_, evicted);
    return *stats_;
  }
  /// The last statistics.   \throws invalid_call   before the first run
  [[nodiscard]] profile_stats const& stats() const {
    if (!stats_)
      throw invalid_call{"cairn::profiled_sweep", "nothing has been profiled yet", {}, "call run before"};
    return *stats_;
  }
  /// Writes PREFIX_node_stats.csv and PREFIX_activation_stats.csv into a folder, which is created if it does not exist.
  /// `cairn profile --draw FOLDER` draws them.
  /// \throws invalid_call   before the first run, and if a file cannot be written
  void save_stats_to_csv(std::filesystem::path const& folder = ".", std::string_view prefix = profile_prefix) const {
    constexpr char const* who = "cairn::profiled_sweep::save_stats_to_csv";
    std::string const name{prefix};
    detail::write_profile(folder, name + "_node_stats.csv", node_stats_csv(stats()), who);
    detail::write_profile(folder, name + "_activation_stats.csv", activation_stats_csv(stats()), who);
  }

 protected:
  profiled_sweep() = default;
  ~profiled_sweep() = default;
  profiled_sweep(profiled_sweep const&) = default;             ///< copies what was found
  profiled_sweep& operator=(profiled_sweep const&) = default;  ///< copies what was found

  /// Takes what a run found.
  void found(profiled_graph graph) {
    stats_ = profile_of(graph);
    graph_ = std::move(graph);
    chain_.reset();
  }
  /// Takes what a run found.
  void found(cairn::chain stages) {
    stats_ = profile_of(stages);
    chain_ = std::move(stages);
    graph_.reset();
  }
  /// Takes what a run found.
  void found(profile_stats stats) {
    stats_ = std::move(stats);
    graph_.reset(), chain_.reset();
  }

 private:
  std::optional<profiled_graph> graph_;
  std::optional<cairn::chain> chain_;
  std::optional<profile_stats> stats_;
};

}  // namespace cairn
