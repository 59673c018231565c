// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_answer.hpp  The figures of plans for a chain: JSON objects, or tables for people.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include <cairn/plan/chain/chain_planner.hpp>
#include "asked_chain.hpp"
#include "deadline_timer.hpp"

namespace tool {

/// A chain and a request, with the planner that answers it.
class chain_desk {
 public:
  /// \param asked  its memory does not include state 0   \throws cairn::error   for impossible options
  chain_desk(cairn::chain work, asked_chain const& asked);

  /// The requested plan, or the best one found in time.   \pre memory or time is given
  /// \throws cairn::infeasible_budget   \throws wrong_request   if the time was over before a plan was found
  [[nodiscard]] cairn::chain_plan plan();
  /// \throws wrong_request   as `plan`
  [[nodiscard]] std::vector<cairn::chain_plan> pareto(std::size_t most_points);
  /// Empty if the memory is enough.   \throws wrong_request   as `plan`
  [[nodiscard]] std::optional<cairn::chain_infeasibility> why_infeasible();

  [[nodiscard]] cairn::chain_planner const& planner() const noexcept { return planner_; }
  [[nodiscard]] cairn::chain const& work() const noexcept { return planner_.work(); }
  /// Bytes of state 0, which the caller keeps.
  [[nodiscard]] std::int64_t initial_bytes() const noexcept { return work().x.front(); }

  /// The members of the JSON object of a plan, without its braces.
  [[nodiscard]] std::string json_members(cairn::chain_plan const& plan) const;
  [[nodiscard]] std::string table(cairn::chain_plan const& plan) const;
  /// Plans over all budgets, as a table or as a JSON array.
  [[nodiscard]] std::string pareto_table(std::vector<cairn::chain_plan> const& front) const;
  [[nodiscard]] std::string pareto_json(std::vector<cairn::chain_plan> const& front) const;

 private:
  template <class Work>
  auto in_time(Work const& work);

  std::optional<std::int64_t> memory_, time_;
  deadline_timer own_deadline_;
  deadline_timer& deadline_;  ///< its own, or that of all answers
  cairn::chain_planner planner_;
};

}  // namespace tool
