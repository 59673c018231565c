// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chains in tests/oracles/chains with the answers of others.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/rules/chain.hpp>

#include "support/json.hpp"

namespace chains {

/// What is known of one chain at one budget. Makespans are of whole sweeps; the budget leaves out state 0.
struct oracle_row {
  std::int64_t budget = 0;
  std::int64_t opt_persistent = 0;
  double lb_recompute_any = 0;                   ///< on the extra forward time of any schedule
  std::optional<std::int64_t> opt_any_schedule;  ///< up to 8 stages
};
struct oracle {
  std::string name;
  cairn::chain chain;
  std::int64_t no_checkpoint_makespan = 0, store_all_peak = 0, min_peak_persistent = 0, lb_peak_any_schedule = 0;
  std::vector<oracle_row> rows;
};

inline std::vector<std::int64_t> numbers_of(json const& list) {
  std::vector<std::int64_t> numbers;
  for (auto const& item : list.items) numbers.push_back(std::int64_t(item.number));
  return numbers;
}
/// All of them, by name; never an empty answer.
inline std::vector<oracle> oracles() {
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::directory_iterator{
           std::filesystem::path{__FILE__}.parent_path().parent_path() / "oracles" / "chains"})
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<oracle> all;
  for (auto const& path : files) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    json const file = json::read(text.str());
    json const &c = file.at("chain"), &result = file.at("result");
    oracle one;
    one.name = path.stem().string();
    one.chain = {.x = numbers_of(c.at("x")),
                 .s = numbers_of(c.at("s")),
                 .f = numbers_of(c.at("f")),
                 .b = numbers_of(c.at("b")),
                 .u = numbers_of(c.at("uf")),
                 .v = numbers_of(c.at("ub"))};
    one.no_checkpoint_makespan = result.integer("no_checkpoint_makespan");
    one.store_all_peak = result.integer("store_all_peak");
    one.min_peak_persistent = result.integer("min_peak_persistent");
    one.lb_peak_any_schedule = result.integer("lb_peak_any_schedule");
    for (auto const& budget : result.at("budgets").items) {
      oracle_row row{budget.integer("M"), budget.integer("opt_persistent"), budget.at("lb_recompute_any").number, {}};
      if (budget.members.contains("opt_any_schedule")) row.opt_any_schedule = budget.integer("opt_any_schedule");
      one.rows.push_back(row);
    }
    all.push_back(std::move(one));
  }
  if (all.empty()) throw std::runtime_error{"no chains in tests/oracles/chains"};
  return all;
}

}  // namespace chains
