// SPDX-License-Identifier: Apache-2.0
#include "profile_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/profile/profile_csv.hpp>

#include "files.hpp"
#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr std::string_view nodes_end = "_node_stats.csv", batches_end = "_batches.csv";

/// Whether a text is XML with `svg` outermost: each element that begins also ends, in the opposite order.
[[nodiscard]] bool is_picture(std::string_view text) {
  std::vector<std::string_view> open;
  bool any = false;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    if (text.substr(at).starts_with("<!--")) {
      if ((at = text.find("-->", at)) == text.npos) return false;
      continue;
    }
    std::size_t end = at + 1;
    for (char quote = 0; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (quote != 0) quote = text[end] == quote ? char(0) : quote;
      else if (text[end] == '"' || text[end] == '\'') quote = text[end];
    }
    if (end >= text.size()) return false;
    auto const inside = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside.starts_with('?') || inside.starts_with('!')) continue;
    if (inside.starts_with('/')) {
      if (open.empty() || open.back() != inside.substr(1)) return false;
      open.pop_back();
      continue;
    }
    auto const name = inside.substr(0, inside.find_first_of(" \t\r\n/"));
    if (open.empty() && (any || name != "svg")) return false;
    any = true;
    if (!inside.ends_with('/')) open.push_back(name);
  }
  return any && open.empty();
}

class folder_check {
 public:
  folder_check(std::filesystem::path folder, std::string (*message_of)(cairn::error const&))
      : folder_{std::move(folder)}, message_of_{message_of} {
    std::error_code problem;
    for (auto const& one : std::filesystem::directory_iterator{folder_, problem})
      names_.push_back(one.path().filename().string());
    if (problem)
      throw wrong_request{"\"" + folder_.string() + "\" cannot be read; give the folder of a profile"};
    std::sort(names_.begin(), names_.end());
    for (auto const& name : names_) {
      if (name.ends_with(nodes_end)) check_profile(name, name.substr(0, name.size() - nodes_end.size()));
      else if (name.ends_with(batches_end)) check_batches(name, name.substr(0, name.size() - batches_end.size()));
    }
    if (profiles_ == 0)
      fault(folder_.string(), "holds no table of nodes, whose name ends with " + std::string{nodes_end});
  }
  [[nodiscard]] std::string said() const {
    if (!faults_.empty())
      throw wrong_request{faults_.front() +
                          (faults_.size() > 1 ? ", and " + counted(faults_.size() - 1, "more fault") : std::string{}) +
                          "; profile again, with all files in one folder"};
    return counted(profiles_, "profile") + " and " + counted(batches_, "table") +
           " of batches: every file is there and is what it says\n";
  }

 private:
  void fault(std::string const& file, std::string const& what) { faults_.push_back("\"" + file + "\" " + what); }
  [[nodiscard]] bool has(std::string const& name) const {
    return std::binary_search(names_.begin(), names_.end(), name);
  }
  [[nodiscard]] std::string text_of(std::string const& name) const {
    return read_file((folder_ / name).string(), longest_text);
  }
  void check_pictures(std::string const& prefix, std::initializer_list<char const*> kinds) {
    for (auto const* const kind : kinds) {
      auto const name = prefix + '_' + kind + ".svg";
      if (has(name) && !is_picture(text_of(name))) fault(name, "is no picture");
    }
  }
  void check_profile(std::string const& name, std::string const& prefix) {
    ++profiles_;
    check_pictures(prefix, {"run_time", "node_memory", "memory"});
    auto const other = prefix + "_activation_stats.csv";
    std::string const no_activations = std::string{cairn::activation_stats_columns} + '\n';
    if (!has(other)) fault(other, "is missing");
    std::size_t nodes = 0;
    try {
      auto const all = cairn::read_profile_csv(text_of(name), no_activations).nodes;
      nodes = all.size();
      for (std::size_t k = 0; k < nodes; ++k) {
        auto const rank = std::to_string(k);
        if (all[k].rank != cairn::step_index(k)) fault(name, "has another rank than " + rank + " in that place");
        if (all[k].node_name.empty()) fault(name, "has no name at rank " + rank);
        if (all[k].median_peak_mem_bytes < all[k].median_active_mem_bytes)
          fault(name, "has a peak below what is active at rank " + rank);
      }
      if (!has(other)) return;
    } catch (cairn::error const& problem) {
      return fault(name, "is no table of nodes: " + message_of_(problem));
    }
    try {
      std::string const no_nodes = std::string{cairn::node_stats_columns} + '\n';
      for (auto const& one : cairn::read_profile_csv(no_nodes, text_of(other)).activations) {
        std::array const uses{one.creation_rank, one.last_fw_use_rank, one.first_bw_use_rank, one.last_bw_use_rank};
        if (!std::is_sorted(uses.begin(), uses.end()) || uses[1] >= uses[2] || uses[3] >= cairn::step_index(nodes))
          fault(other, "has uses out of order, of " + one.activation_name);
      }
    } catch (cairn::error const& problem) {
      fault(other, "is no table of activations: " + message_of_(problem));
    }
  }
  void check_batches(std::string const& name, std::string const& prefix) {
    ++batches_;
    check_pictures(prefix, {"batch_peak_and_time", "batch_breakdown", "batch_memory"});
    std::istringstream lines{text_of(name)};
    auto const cells_of = [](std::string line) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      std::vector<std::string> cells(1);
      for (char const c : line) {
        if (c == ',') cells.emplace_back();
        else cells.back() += c;
      }
      return cells;
    };
    std::string line;
    std::getline(lines, line);
    auto const names = cells_of(line);
    auto const column = [&](std::string_view word) {
      return std::size_t(std::find(names.begin(), names.end(), word) - names.begin());
    };
    std::size_t const total = column("counted_peak_bytes");
    std::vector<std::size_t> parts;
    for (auto const* const word : {"param_bytes", "act_bytes", "grad_bytes", "opt_state_bytes", "other_bytes"})
      parts.push_back(column(word));
    if (total == names.size() || *std::max_element(parts.begin(), parts.end()) == names.size())
      return fault(name, "lacks a column of bytes");
    std::size_t batches = 0;
    while (std::getline(lines, line)) {
      ++batches;
      auto const row = std::to_string(batches + 1);
      std::vector<double> numbers;
      for (auto const& cell : cells_of(line)) {
        char* end = nullptr;
        double const value = std::strtod(cell.c_str(), &end);
        if (!cell.empty() && *end == '\0' && std::isfinite(value) && value >= 0) numbers.push_back(value);
      }
      if (numbers.size() != names.size()) {
        fault(name, "has a cell that is no number of 0 or more in line " + row);
        continue;
      }
      double sum = 0;
      for (auto const k : parts) sum += numbers[k];
      if (sum != numbers[total]) fault(name, "has parts that do not add up to the counted peak in line " + row);
    }
    if (batches == 0) fault(name, "has no batches");
  }

  std::filesystem::path folder_;
  std::string (*message_of_)(cairn::error const&);
  std::vector<std::string> names_, faults_;
  std::size_t profiles_ = 0, batches_ = 0;
};

}  // namespace

std::string checked_profiles(std::string const& folder, std::string (*message_of)(cairn::error const&)) {
  return folder_check{folder, message_of}.said();
}

}  // namespace tool
