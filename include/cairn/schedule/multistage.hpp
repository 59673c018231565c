#pragma once
/// \file multistage.hpp  The fewest advances with slots in memory and on disk, and then the least traffic to the disk.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/repetition_run.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/detail/table_limit.hpp>
#include <cairn/schedule/detail/tier_cursor.hpp>
#include <cairn/schedule/detail/tier_table.hpp>
#include <cairn/schedule/storage_tier.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn {

/// As many slots as could be of use.
inline constexpr slot_index unlimited_slots = (std::numeric_limits<slot_index>::max)();

/// The numbers of a `multistage` by their names: `multistage{{.steps = 1000, .ram_slots = 20, .disk_slots = 10}}`.
struct multistage_shape {
  step_index steps = -1;       ///< loop length; has to be given
  slot_index ram_slots = -1;   ///< in memory; has to be given
  slot_index disk_slots = -1;  ///< on disk; has to be given
};

/// What making a `multistage` may take.
struct multistage_options {
  wide most_table_bytes = detail::most_table_bytes;  ///< bytes of its table
  work_limit limit = {};  ///< how much work that may be
};

/// Slots in memory and on disk (Stumm & Walther 2009): the fewest advances that all of them together allow; of the schedules with these,
/// those with the fewest saves and loads on disk; and of these, those with the fewest saves on disk. Memory costs nothing.
/// The initial state takes a slot. Where a state is kept is chosen anew each time that it is loaded, which moves less than a fixed
/// place for each slot of the stack does.
///
/// Advances are least where each part splits within the interval of `revolve`'s optimal splits (Griewank & Walther 2000), so the table,
/// n rows for each disk slot, counts traffic only. With c slots in memory and d on disk: O(n d w) time, w the width of these intervals; 4 n d
/// bytes for the plan and 24 n more while it is made. No table where c + d >= n - 1 or d = 0. A cursor allocates `table_bytes()` at its first
/// action; an action is O(1).
class multistage {
 public:
  using cursor = detail::tier_cursor;  ///< the cursor

  /// \param steps  loop length, >= 0   \param ram_slots  in memory, >= 0, their numbers come first
  /// \param disk_slots  on disk, >= 0; `unlimited_slots` is allowed   \pre together >= 1
  /// \throws invalid_plan   also where the table would not fit `most_table_bytes`   \throws too_much_work
  multistage(step_index steps, slot_index ram_slots, slot_index disk_slots, multistage_options const& options = {})
      : table_{new detail::shared_tier_table{made(steps, ram_slots, disk_slots, options)}}, start_{table_}, remark_{remark_on(steps, ram_slots, disk_slots)} {}
  /// The same by names.   \throws invalid_plan
  multistage(multistage_shape const& of, multistage_options const& options = {}) : multistage{of.steps, of.ram_slots, of.disk_slots, options} {}

  [[nodiscard]] step_index steps() const noexcept { return table_->of.steps; }  ///< loop length
  [[nodiscard]] slot_index slots() const noexcept { return table_->of.slots(); }  ///< in memory and on disk, no more than are of use
  [[nodiscard]] step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  [[nodiscard]] tier slot_tier(slot_index slot) const noexcept { return table_->of.tier_of(slot); }  ///< memory, then disk
  [[nodiscard]] wide table_bytes() const noexcept { return cursor::bytes(table_->of); }  ///< bytes that a cursor allocates
  [[nodiscard]] wide shared_table_bytes() const noexcept { return table_->bytes(); }  ///< of the table that copies and cursors share
  [[nodiscard]] char const* remark() const noexcept { return remark_; }  ///< see `remark_of`; more slots than states may be numbers swapped
  [[nodiscard]] cursor const& walk() const noexcept { return start_; }  ///< the start; good as long as the plan

 private:
  static constexpr char const* who = "cairn::multistage";
  static constexpr wide work = wide{3} * sizeof(std::uint64_t);

  /// Saves and loads on disk, then saves: in one number, as a sweep of less than 2^31 steps has less than 2^31 saves and as many loads.
  static constexpr std::uint64_t one_load = std::uint64_t{1} << 32;
  static constexpr std::uint64_t one_save = one_load + 1;

  [[nodiscard]] static constexpr char const* remark_on(step_index steps, slot_index ram, slot_index disk) noexcept {
    return detail::remark_on_slots(steps, disk == unlimited_slots || ram > disk ? ram : disk);
  }
  [[nodiscard]] static detail::tier_table made(step_index steps, slot_index ram, slot_index disk, multistage_options const& options) {
    if (steps < 0) throw invalid_plan{who, "a loop has no negative number of steps", {{"steps", steps}}, "give 0 or more"};
    if (ram < 0 || disk < 0)
      throw invalid_plan{who, "a tier has no negative number of slots", {{"ram slots", ram}, {"disk slots", disk}}, "give 0 or more"};
    if (ram == 0 && disk == 0) throw invalid_plan{who, "too few slots", {{"steps", steps}, {"slots", 0}, {"least slots", 1}}, ""};
    slot_index const all = useful_slots(steps);
    ram = useful_slots(steps, ram);
    disk = disk < all - ram ? disk : all - ram;
    bool const chosen = disk > 0 && disk < all - ram;

    detail::tier_table table;
    table.steps = steps;
    table.most_kept = ram + disk;
    detail::check_choices(who, steps, chosen ? wide(disk) : 0, chosen ? work : 0, options.most_table_bytes);
    std::size_t const lengths = std::size_t(steps) + 1;
    if (ram > 0) table.level[table.levels++] = {ram, 0, tier::memory, detail::level_kind::binomial, 0, 0};
    if (disk > 0)
      table.level[table.levels++] = {disk, ram, tier::disk, chosen ? detail::level_kind::chosen : detail::level_kind::chain, 0, lengths};
    if (chosen) fill(table, ram, disk, options.limit);
    return table;
  }

  /// With T(x, s) the fewest advances for s slots in all: as T(x, s + 1) < T(x, s) while s < x - 1, the slots on disk can be done without only
  /// where x - 1 <= c, and there nothing of the disk is needed. Else
  ///   P(x, m) = min over the optimal splits y of T(x, c + m) of O(x-y, m-1) + one load + P(y, m);   O(x, m) = one save + P(x, m);   O(x, 0) = 0
  static void fill(detail::tier_table& into, slot_index ram, slot_index disk, work_limit const& limit) {
    step_index const steps = into.steps;
    std::size_t const lengths = std::size_t(steps) + 1;
    detail::row_meter meter{who, steps, wide(disk), limit, wide(disk) * wide(steps - 1 - ram)};  // one for each number that is made
    into.choices.assign(lengths * std::size_t(disk), 0);
    detail::table<std::uint64_t> before(lengths);  // O(x, m - 1)
    detail::table<std::uint64_t> own(lengths);     // P(x, m)
    detail::table<std::uint64_t> now(lengths);     // O(x, m)
    for (slot_index m = 1; m <= disk; ++m) {
      detail::tier_choice* const choices = into.choices.begin() + std::size_t(m - 1) * lengths;
      optimal_splits interval{ram + m, steps};
      for (step_index x = 2; x <= steps; ++x) {
        auto const at = std::size_t(x);
        if (x - 1 <= ram) {
          own[at] = now[at] = 0;
          choices[at] = detail::left_below;
          continue;
        }
        interval.move_to(x);
        std::uint64_t least = ~std::uint64_t{0};
        for (step_index y = interval.first; y <= interval.last; ++y) {
          std::uint64_t const sum = before[std::size_t(x - y)] + own[std::size_t(y)];
          if (sum >= least) continue;
          least = sum;
          choices[at] = detail::tier_choice(y);
        }
        meter.add(interval.last - interval.first + 1, x);
        own[at] = least + one_load;
        now[at] = own[at] + one_save;
      }
      std::swap(before, now);
      meter.end_row();
    }
  }

  /// The splits y with y + T(x-y, s-1) + T(y, s) = T(x, s), for x that does not decrease (Griewank & Walther 2000):
  /// max(1, beta(s, t-2), x - beta(s-1, t)) .. min(beta(s, t-1), x - beta(s-1, t-1)), and x - 1 for one slot.
  struct optimal_splits {
    slot_index slots;
    step_index steps;
    detail::repetition_run run{slots, steps};
    step_index t = 0, first_beta = 0, last_beta = 0, right_first_beta = 0, right_last_beta = 0;
    step_index first = 1, last = 1;

    void move_to(step_index x) noexcept {
      if (slots == 1) {
        first = last = x - 1;
        return;
      }
      if (step_index const now = run.at(x); now != t) {
        t = now;
        first_beta = t < 2 ? 0 : capped_beta(slots, t - 2, steps);
        last_beta = capped_beta(slots, t - 1, steps);
        right_first_beta = capped_beta(slots - 1, t, steps);
        right_last_beta = capped_beta(slots - 1, t - 1, steps);
      }
      first = first_beta > x - right_first_beta ? first_beta : x - right_first_beta;
      if (first < 1) first = 1;
      last = last_beta < x - right_last_beta ? last_beta : x - right_last_beta;
    }
  };

  detail::shared<detail::shared_tier_table> table_;
  cursor start_;
  char const* remark_;
};

}  // namespace cairn
