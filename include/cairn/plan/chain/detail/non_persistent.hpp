// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file non_persistent.hpp  The fastest plan among those that may drop states early, with a budget in slots.
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/non_persistent_rules.hpp>
#include <cairn/plan/chain/detail/segment_filler.hpp>
#include <cairn/plan/chain/detail/segment_rows.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Times of all segments of a chain for every budget that can occur, in slots. If sizes are rounded up, the plan keeps
/// within the budget in bytes; if they are rounded down, its time is a lower bound for every plan of the class. Both
/// are exact in bytes if the unit divides all x_1.. and s_i. Cost: O(L^3 slots) time. For each two ends and a middle
/// that is eight sums of rows (two if tapes are self-contained), where persistent plans take one. O(L^2 slots) memory
/// in four tables (two). Equal stages share rows.
class non_persistent_table {
 public:
  /// \param model  must outlive the table   \param budget  bytes, without state 0   \param table_limit_bytes  most
  ///   bytes of the table
  /// \param meter  counts the work; null for no limit
  /// \throws invalid_plan   for an invalid division, and if the table would exceed its limit
  /// \throws too_much_work
  [[gnu::cold]] non_persistent_table(chain_model const& model, std::int64_t budget, slot_division division, rounding by,
                                     std::int64_t table_limit_bytes = usual_table_bytes, work_meter* meter = nullptr)
      : model_{model},
        rules_{model},
        is_possible_{budget >= 0},
        rows_{model,
              {std::max<std::int64_t>(budget, 0), unit_of(division, model, std::max<std::int64_t>(budget, 0), by, who),
               by, who},
              table_limit_bytes, meter, who} {
    if (!is_possible_) return;
    fill(most_quanta, meter);
    // A plan has fewer than 2 L splits, and each runs the whole chain at most once.
    if (feasible() && whole_time() >= most_time)
      fill(std::max<std::int64_t>(1, most_time / (2 * (model.stages + 1))), meter);
    if (!feasible()) return;
    if (by == rounding::down) {
      extra_forward_ = std::int64_t{whole_time()} * quantum_;
    } else {
      auto const choose = [this](segment const& of, std::int64_t free) { return choice_of(of, std::int32_t(free)); };
      write_plan(rules_, rows_.sizes(), rules_.whole(), scale().slots(), choose, actions_);
      extra_forward_ = replay(model_, actions_, {}, who).extra_forward;
    }
  }

  /// Whether a plan exists in slots. If sizes are rounded up, one exists in bytes, too. If they are rounded down and
  /// this is false, no plan of the class exists in bytes.
  [[nodiscard]] bool feasible() const noexcept {
    return is_possible_ && rows_.at(rules_.whole()).first <= scale().slots();
  }
  /// Time of stages run more than once; `endless` if there is no plan. Rounded up: the time of `actions`. Rounded down:
  /// no plan of the class takes less.
  [[nodiscard]] std::int64_t extra_forward() const noexcept { return extra_forward_; }
  /// The plan, if sizes were rounded up; its peak is at most the budget, in bytes. Empty if there is none.
  [[nodiscard]] std::vector<action> const& actions() const noexcept { return actions_; }
  /// How the budget is divided.
  [[nodiscard]] slot_scale const& scale() const noexcept { return rows_.scale(); }
  /// The unit of time in rows; bounds lose less than this for each stage run.
  [[nodiscard]] std::int64_t quantum() const noexcept { return quantum_; }
  /// Bytes that the table holds.
  [[nodiscard]] std::int64_t bytes() const noexcept { return rows_.bytes(); }

 private:
  static constexpr char const* who = "cairn::chain_planner";
  static constexpr std::int32_t most_time = segment_filler::most_time;
  static constexpr std::int64_t most_quanta = std::int64_t{1} << 26;

  [[nodiscard]] std::int32_t whole_time() const noexcept { return rows_.time_of(rules_.whole(), scale().slots()); }
  /// \param quanta  the most quanta that all stages run once may take
  void fill(std::int64_t quanta, work_meter* meter) {
    std::int64_t const all = model_.sum_u.back();
    quantum_ = std::max<std::int64_t>(1, all / quanta + (all % quanta != 0));
    rows_.begin(quantum_);
    segment_filler{model_, rules_, rows_, meter}.fill();
  }
  [[nodiscard, gnu::cold]] segment_choice choice_of(segment const& of, std::int32_t free) const {
    if (of.from == of.to) return {};
    std::int32_t const time = rows_.time_of(of, free), held_slots = rows_.held(of);
    if (free >= rows_.need(rules_.record_need(of), held_slots) &&
        rows_.time_of(rules_.rest(of), rows_.sizes().after_record(of, free)) == time)
      return {segment_choice::what::record, 0};
    std::int64_t run_need = rules_.first_need(of);
    for (std::int64_t k = of.from + 1; k <= of.to; ++k) {
      if (k > of.from + 1) run_need = rules_.further_need(run_need, k);
      if (free < rows_.need(rules_.forward_base(of) + run_need, held_slots)) break;
      for (auto const does : {segment_choice::what::keep, segment_choice::what::release}) {
        segment_choice const by{does, k};
        if (!rules_.may_split(of, by)) continue;
        auto const [right, left] = rules_.parts(of, by);
        std::int32_t const right_time = rows_.time_of(right, rows_.sizes().after_run(k, free)),
                           left_time = rows_.time_of(left, free);
        if ((std::max)(right_time, left_time) < segment_rows::never &&
            rows_.run(of.from, k) + right_time + left_time == time)
          return by;
      }
    }
    assert(false && "a row holds a time that no choice has");
    return {};
  }

  chain_model const& model_;
  non_persistent_rules rules_;
  bool is_possible_;  ///< the budget is not negative
  segment_rows rows_;
  std::int64_t quantum_ = 1;
  std::int64_t extra_forward_ = endless;
  std::vector<action> actions_;
};

}  // namespace cairn::detail
