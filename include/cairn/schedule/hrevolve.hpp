#pragma once
/// \file hrevolve.hpp  The cheapest schedule over tiers of storage with costs of writing and reading.
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/hrevolve_table.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/detail/table_limit.hpp>
#include <cairn/schedule/detail/tier_cursor.hpp>
#include <cairn/schedule/detail/tier_table.hpp>
#include <cairn/schedule/storage_tier.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// The other costs of a `hrevolve`, in the unit of its tiers' costs.
struct hrevolve_options {
  double advance_cost = 1;  ///< of one unrecorded step, finite and >= 0
  double turn_cost = 0;  ///< of one step's recorded run and its adjoint, finite and >= 0
  wide most_table_bytes = detail::most_table_bytes;  ///< what making the plan may take
  work_limit limit = {};  ///< how much work that may be
};

/// The schedule of least cost over up to four tiers, each with slots and costs of writing and reading a state (Herrmann & Pallez 2020,
/// H-Revolve; the recurrence is in hrevolve_table.hpp). The initial state takes a slot.
///
/// Tiers may be given in any order. Where of every two one is no dearer than the other, be it to write or to read, they are used in this
/// order, and the cost is the least of any schedule: so says exhaustive search in each of 10,000 small cases. Where one of two is
/// cheaper to write and the other to read, all orders that the other pairs allow are tried and the cheapest plan taken; `tiers_are_ordered()` is
/// false then. A plan that nests the two now in one order and now in the other may be cheaper: 3 of 1,388 were, with 8 to 12 steps, by 1 % or less.
/// Tiers that cannot lower the cost are left out, see `dropped_tiers()`.
///
/// With n steps and c slots: O(n^2 c) time at worst, in practice some 1,400 sums for each of the n c numbers at n = 10,000; 4 n c bytes for the
/// plan and 32 n more while it is made. A first tier that costs nothing needs no table. A cursor allocates `table_bytes()` at its first
/// action; an action is O(1).
class hrevolve {
 public:
  using cursor = detail::tier_cursor;  ///< the cursor

  /// \param steps  loop length, >= 0   \param tiers  1 to 4
  /// \throws invalid_plan   also where the table would not fit `most_table_bytes`   \throws too_much_work   \throws overflow_error   for a cost beyond a double
  hrevolve(step_index steps, std::initializer_list<storage_tier> tiers, hrevolve_options const& options = {})
      : hrevolve{steps, tiers.begin(), tiers.size(), options} {}
  /// The same for tiers in an array.   \throws invalid_plan   \throws overflow_error
  hrevolve(step_index steps, storage_tier const* tiers, std::size_t count, hrevolve_options const& options = {})
      : hrevolve{made(steps, tiers, count, options)} {}

  [[nodiscard]] step_index steps() const noexcept { return table_->of.steps; }  ///< loop length
  [[nodiscard]] slot_index slots() const noexcept { return table_->of.slots(); }  ///< on all tiers, those of no use left out
  [[nodiscard]] step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  /// The tier of a slot; the slots of the cheapest tier come first, in `tier_order()`.
  [[nodiscard]] tier slot_tier(slot_index slot) const noexcept { return table_->of.tier_of(slot); }
  [[nodiscard]] wide table_bytes() const noexcept { return cursor::bytes(table_->of); }  ///< bytes that a cursor allocates
  [[nodiscard]] wide shared_table_bytes() const noexcept { return table_->bytes(); }  ///< of the table that copies and cursors share
  [[nodiscard]] cursor const& walk() const noexcept { return start_; }  ///< the start; good as long as the plan

  /// What a sweep costs: its advances, saves, loads and turns, each times its cost.
  [[nodiscard]] double cost() const noexcept { return cost_ + turns_; }
  /// The same without the turns, as the literature often counts.
  [[nodiscard]] double cost_without_turns() const noexcept { return cost_; }

  /// The tiers in use from the cheapest on, by their places among those given.
  [[nodiscard]] tier_positions const& tier_order() const noexcept { return order_; }
  /// The tiers that are not used: without slots, or none of them can lower the cost, as no dearer tiers have slots for every state.
  [[nodiscard]] tier_positions const& dropped_tiers() const noexcept { return dropped_; }
  /// Whether the tiers in use can be put in an order in which none is cheaper to write or to read than one before it: then no schedule at all
  /// costs less, else a plan that nests them in no fixed order may.
  [[nodiscard]] bool tiers_are_ordered() const noexcept { return ordered_; }
  /// What became of the tiers as they were given, in a sentence with static storage; empty where they are used as given.
  [[nodiscard]] char const* remark() const noexcept {
    bool const dropped = !dropped_.empty();
    if (!ordered_) {
      if (!dropped) return "one tier is cheaper to write and one to read: the best order is taken";
      return "a tier that cannot lower the cost is not used; of the others, one is cheaper to write and one to read: the best order is taken";
    }
    for (std::size_t k = 1; k < order_.size(); ++k)
      if (order_[k] < order_[k - 1])
        return dropped ? "a tier that cannot lower the cost is not used; the others are used in the order of their costs"
                       : "the tiers are used in the order of their costs, not in the order given";
    return dropped ? "a tier that cannot lower the cost is not used" : "";
  }

 private:
  struct parts {
    detail::tier_table table;
    double cost = 0, turns = 0;
    tier_positions order, dropped;
    bool ordered = true;
  };
  explicit hrevolve(parts&& of)
      : table_{new detail::shared_tier_table{std::move(of.table)}}, start_{table_}, cost_{of.cost}, turns_{of.turns}, order_{of.order},
        dropped_{of.dropped}, ordered_{of.ordered} {}

  static constexpr char const* who = "cairn::hrevolve";

  [[nodiscard]] static parts made(step_index steps, storage_tier const* given, std::size_t count, hrevolve_options const& options) {
    if (steps < 0) throw invalid_plan{who, "a loop has no negative number of steps", {{"steps", steps}}, "give 0 or more"};
    if (!detail::is_cost(options.advance_cost) || !detail::is_cost(options.turn_cost))
      throw invalid_plan{who, "a cost is a finite number that is not negative", {}, ""};
    detail::tier_set const tiers{who, steps, given, count};
    parts best;
    wide rows = 0, all_rows = 0;
    std::size_t orders = 0;
    tiers.each_order(steps, [&](tier_positions const& order) {
      ++orders;
      wide const its = detail::hrevolve_table::rows(tiers, order);
      if (its > rows) rows = its;
      all_rows += its;
    });
    if (steps < 2) rows = all_rows = 0;
    detail::check_choices(who, steps, orders > 1 ? 2 * rows : rows, rows > 0 ? detail::hrevolve_table::work : 0, options.most_table_bytes);
    wide const least = all_rows > 0 ? detail::least_sums_of_row(steps) : 0;
    detail::row_meter meter{who, steps, all_rows, options.limit, least > 0 && all_rows > ~wide{0} / least ? ~wide{0} : all_rows * least};
    detail::hrevolve_table work{rows > 0 ? std::size_t(steps) + 1 : 0};
    detail::tier_table next;
    best.cost = std::numeric_limits<double>::infinity();
    tiers.each_order(steps, [&](tier_positions const& order) {
      lay_out(next, steps, tiers, order);
      double const cost = work.fill(next, tiers, order, options.advance_cost, meter);
      if (!(cost < best.cost)) return;
      std::swap(best.table, next);
      best.cost = cost;
      best.order = order;
    });
    best.turns = double(steps) * options.turn_cost;
    if (!detail::is_cost(best.cost + best.turns))
      throw overflow_error{who, "the cost of this plan is too large for a double", {{"steps", steps}}, "give the costs in a larger unit"};
    best.ordered = orders == 1;
    for (std::size_t k = 0; k < count; ++k)
      if (!tiers.is_of_use(k, steps)) best.dropped.at[best.dropped.count++] = k;
    return best;
  }
  static void lay_out(detail::tier_table& table, step_index steps, detail::tier_set const& tiers, tier_positions const& order) {
    table.steps = steps;
    table.levels = order.size();
    std::size_t const lengths = steps < 2 ? 0 : std::size_t(steps) + 1;
    std::size_t choices = 0;
    slot_index first = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto const& own = tiers.of[order[k]];
      bool const binomial = k == 0 && detail::hrevolve_table::is_free(own);
      table.level[k] = {own.slots, first, *own.where, binomial ? detail::level_kind::binomial : detail::level_kind::chosen, choices, lengths};
      if (!binomial) choices += std::size_t(own.slots) * lengths;
      first += own.slots;
    }
    table.most_kept = useful_slots(steps, first);
    table.choices = {};  // before the new ones, so that no more than two tables exist at once
    table.choices = detail::table<detail::tier_choice>(choices);
  }

  detail::shared<detail::shared_tier_table> table_;
  cursor start_;
  double cost_, turns_;
  tier_positions order_, dropped_;
  bool ordered_;
};

}  // namespace cairn
