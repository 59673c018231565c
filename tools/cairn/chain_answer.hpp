#pragma once
/// \file chain_answer.hpp  The figures of plans for a chain: JSON objects, or tables for people.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include <cairn/plan/chain/chain_planner.hpp>
#include "asked_chain.hpp"

namespace tool {

/// A chain that is planned as it was asked for.
class chain_desk {
 public:
  /// \param asked  its memory does not count state 0   \throws cairn::error   for options that cannot be
  chain_desk(cairn::chain work, asked_chain const& asked);

  /// The plan that is asked for.   \throws cairn::infeasible_budget   \pre memory or time is given
  [[nodiscard]] cairn::chain_plan plan() { return time_ ? planner_.min_memory(*time_) : planner_.plan(*memory_); }
  [[nodiscard]] std::vector<cairn::chain_plan> pareto(std::size_t most_points) { return planner_.pareto(most_points); }
  /// Nothing where the memory would do.
  [[nodiscard]] std::optional<cairn::chain_infeasibility> why_infeasible();

  [[nodiscard]] cairn::chain_planner const& planner() const noexcept { return planner_; }
  [[nodiscard]] cairn::chain const& work() const noexcept { return planner_.work(); }
  /// Of state 0, which the caller keeps.
  [[nodiscard]] std::int64_t initial_bytes() const noexcept { return work().x.front(); }

  /// The members of the JSON object of a plan, without its braces.
  [[nodiscard]] std::string json_members(cairn::chain_plan const& plan) const;
  [[nodiscard]] std::string table(cairn::chain_plan const& plan) const;
  /// What memory buys, as a table or as a JSON array.
  [[nodiscard]] std::string pareto_table(std::vector<cairn::chain_plan> const& front) const;
  [[nodiscard]] std::string pareto_json(std::vector<cairn::chain_plan> const& front) const;

 private:
  std::optional<std::int64_t> memory_, time_;
  cairn::chain_planner planner_;
};

}  // namespace tool
