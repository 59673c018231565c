// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tiers.hpp  The fastest plan of a chain whose states may also be kept on tiers besides memory, with budgets in
/// slots.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// A cell is one combination of free slots of the tiers with a limit. The last cell is that of empty tiers.
class tier_cells {
 public:
  /// \param wanted  most slots of each tier with a limit; 0 chooses 15 for one such tier, 7 each for two, 3 each for
  ///   more
  tier_cells(chain_model const& model, std::vector<chain_tier> const& tiers, std::int64_t wanted) {
    std::int64_t all = 0, common = 0;
    for (std::size_t i = 1; i <= std::size_t(model.stages); ++i)
      all += model.x[i], common = std::gcd(common, model.x[i]);
    auto const is_limited = [all](chain_tier const& one) { return one.bytes >= 0 && one.bytes < all; };
    auto const limited = std::count_if(tiers.begin(), tiers.end(), is_limited);
    std::int64_t const most = wanted > 0 ? wanted : limited == 1 ? 15 : limited == 2 ? 7 : 3;
    for (auto const& one : tiers) {
      limit has;
      if (is_limited(one)) {
        std::int64_t const least = std::max<std::int64_t>(1, one.bytes / most + (one.bytes % most != 0));
        slot_scale const scale{one.bytes, (std::max)(common, least), rounding::up, "cairn::chain_planner"};
        has.stride = count_;
        has.slots = std::size_t(scale.slots());
        for (auto const bytes : model.x) has.sizes.push_back(std::size_t(scale.size(bytes)));
        count_ *= has.slots + 1;
      }
      limits_.push_back(std::move(has));
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The cell after state i is saved to tier k; `count()` if it does not fit.
  [[nodiscard]] std::size_t after_save(std::size_t cell, std::size_t k, std::int64_t i) const noexcept {
    limit const& has = limits_[k];
    if (has.stride == 0) return cell;
    std::size_t const size = has.sizes[std::size_t(i)];
    return cell / has.stride % (has.slots + 1) < size ? count_ : cell - size * has.stride;
  }

 private:
  /// A tier with a limit: saving a state lowers the cell's number by `stride` for each slot it takes, and it fits if
  /// that many slots of the tier are free.
  struct limit {
    std::size_t stride = 0, slots = 0;  ///< stride is 0 if there is no limit
    value_list<std::size_t> sizes;      ///< slots of each state
  };

  std::vector<limit> limits_;
  std::size_t count_ = 1;
};

/// Persistent plans in which a kept state is in memory or on a tier until its adjoint is made. Tapes are in memory.
///
/// E(s, t, m) is the least time of runs, saves and loads beyond those of storing everything, for stages s..t with m
/// free slots, where the caller keeps state s in memory. H_k(s, t, m) is the same if state s is kept on tier k and a
/// copy of it, which counts within m, is in memory at the beginning. R(j, t, m) is the time of what remains to the
/// right of a state j that was just made; r and w are the times to load and save:
///
///     R(j, t, m)   = min( E(j, t, m - x_j),  min over k of  w_k(j) + H_k(j, t, m) )
///     E(s, t, m)   = min( E(s+1, t, m - s_s),  min over j of  u_s + .. + u_(j-1) + R(j, t, m) + E(s, j-1, m) )
///     H_k(s, t, m) = min( E(s, t, m - x_s),  E(s+1, t, m - s_s) + r_k(s),
///                         min over j of  u_s + .. + u_(j-1) + R(j, t, m) + r_k(s) + H_k(s, j-1, m) )
///
/// where each choice is allowed if its bytes fit. In the second choice of H the copy is dropped while the tape stays,
/// and state s is loaded once more for its adjoint. Beaumont, Herrmann, Pallez and Shilova (2020) plan this way for
/// equal stages. A tier with a limit adds its free slots to the arguments; its states are rounded up as those in memory
/// are. Transfers do not overlap with runs. Plans keep within all limits in bytes; times are exact. Cost: O(L^3 (1 +
/// tiers) cells) time and 4 L^2 (2 + tiers) cells bytes, where the number of cells is the product of the slots in
/// memory and of each tier with a limit.
class tier_chain_table {
 public:
  /// \param model  must outlive the table   \param budget  bytes of memory, without state 0   \param tiers  any number,
  ///   limited or not
  /// \param tier_slots  most slots of each tier with a limit; 0 chooses 15 for one such tier, 7 each for two, 3 each
  ///   for more
  /// \param meter  counts the work; null for no limit
  /// \throws invalid_plan   for invalid tiers and divisions, and if the table would take more than 2 GiB
  /// \throws too_much_work
  [[gnu::cold]] tier_chain_table(chain_model const& model, std::int64_t budget, std::vector<chain_tier> tiers,
                                 slot_division division = {}, std::int64_t tier_slots = 0,
                                 work_meter* meter = nullptr)
      : model_{model},
        tiers_{checked(model, std::move(tiers), tier_slots)},
        ends_{model.stages + 1},
        scale_{0, 1, rounding::up, who},
        cells_{model, tiers_, tier_slots} {
    if (budget < 0) return;
    for (auto& one : tiers_) {
      one.write.resize(std::size_t(ends_), 0);
      one.read.resize(std::size_t(ends_), 0);
    }
    scale_ = {budget, unit(budget, division), rounding::up, who};
    width_ = std::size_t(scale_.slots()) + 1;
    wide const bytes = rows_wanted() * wide(cells_.count()) * wide(width_) * sizeof(std::int64_t);
    check_chain_table(model, scale_, bytes, usual_table_bytes, who);
    for (std::int64_t i = 0; i < ends_; ++i) {
      x_.push_back(i == 0 ? 0 : std::size_t(scale_.size(model.x[std::size_t(i)])));
      s_.push_back(std::size_t(scale_.size(model.s[std::size_t(i)])));
    }
    rows_.resize(std::size_t(rows_wanted()));
    for (std::int64_t s = ends_; s-- > 0;)
      for (std::int64_t t = s; t < ends_; ++t) {
        fill(s, t);
        count_work(meter, wide(t - s + 1) * wide(tiers_.size() + 1) * wide(cells_.count()) * wide(width_),
                   [&] { return double(ends_ - s) / double(ends_); });
      }
  }

  [[nodiscard]] bool feasible() const noexcept { return added() < endless; }  ///< whether there is a plan
  /// Time of the whole sweep, saves and loads included.   \pre feasible()
  [[nodiscard]] std::int64_t makespan() const noexcept { return model_.store_all_time() + added(); }
  /// The plan; empty if there is none.
  [[nodiscard]] std::vector<action> actions() const;
  /// Bytes of memory that the table takes.
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (auto const& one : rows_) sum += sizeof(row) + one.size() * sizeof(std::int64_t);
    return sum;
  }

 private:
  static constexpr char const* who = "cairn::chain_planner";

  /// The tiers.   \throws invalid_plan   for invalid ones
  [[nodiscard]] static std::vector<chain_tier> checked(chain_model const& model, std::vector<chain_tier> tiers,
                                                       std::int64_t tier_slots) {
    (void)chain_interpreter{model, tiers, who};
    if (tier_slots < 0)
      throw invalid_plan{who,
                         "a number of slots or bytes a slot is negative",
                         {{"slots of a tier", tier_slots}},
                         "give 1 or more, or 0 to leave the choice to the planner"};
    return tiers;
  }
  static constexpr std::int64_t usual_bytes = std::int64_t{1} << 28;  ///< of a table that chooses its slots itself

  /// Times by cell and, within a cell, by free slots in memory. A cell is one combination of free slots of the tiers
  /// with a limit.
  using row = value_list<std::int64_t>;

  /// The number of rows: for each interval of stages E, R and one H per tier.
  [[nodiscard]] wide rows_wanted() const noexcept {
    return wide(ends_) * wide(ends_ + 1) / 2 * wide(tiers_.size() + 2);
  }
  [[nodiscard]] std::int64_t added() const noexcept {
    return rows_.empty() ? endless : row_in_memory(0, ends_ - 1).back();
  }
  [[nodiscard]] std::size_t number(std::int64_t s, std::int64_t t, std::size_t which) const noexcept {
    return std::size_t(s * (2 * ends_ - s - 1) / 2 + t) * (tiers_.size() + 2) + which;
  }
  [[nodiscard]] row const& row_in_memory(std::int64_t s, std::int64_t t) const noexcept {
    return rows_[number(s, t, 0)];
  }
  [[nodiscard]] row const& just_made(std::int64_t s, std::int64_t t) const noexcept { return rows_[number(s, t, 1)]; }
  [[nodiscard]] row const& row_on_tier(std::size_t k, std::int64_t s, std::int64_t t) const noexcept {
    return rows_[number(s, t, 2 + k)];
  }

  [[nodiscard, gnu::cold]] std::int64_t unit(std::int64_t budget, slot_division division) const {
    if (division.unit == 0 && division.slots == 0)
      division.slots =
          std::int64_t(std::clamp<wide>(wide(usual_bytes) / (8 * rows_wanted() * wide(cells_.count())), 17, 501)) - 1;
    return unit_of(division, model_, budget, rounding::up, who);
  }

  /// Bytes for the recorded run of stage s beside the adjoint of state t+1, without state s.
  [[nodiscard]] std::int64_t record_bytes(std::int64_t s, std::int64_t t) const noexcept {
    return model_.g[std::size_t(t) + 1] + model_.s[std::size_t(s)] + model_.f[std::size_t(s)];
  }
  [[nodiscard]] std::int64_t adjoint_bytes(std::int64_t s) const noexcept {
    return model_.g[std::size_t(s) + 1] + model_.s[std::size_t(s)] + model_.b[std::size_t(s)];
  }
  [[nodiscard]] std::size_t tape_need(std::int64_t s, std::int64_t t) const noexcept {
    return std::size_t(scale_.need((std::max)(record_bytes(s, t), adjoint_bytes(s))));
  }
  /// Slots for recording stage s from a copy of state s, and for its adjoint. The state is loaded again for the adjoint
  /// unless tapes are self-contained.
  [[nodiscard]] std::size_t reloaded_tape_need(std::int64_t s, std::int64_t t) const noexcept {
    std::int64_t const x = model_.x[std::size_t(s)];
    return std::size_t(
        scale_.need((std::max)(x + record_bytes(s, t), (model_.self_contained_tape ? 0 : x) + adjoint_bytes(s))));
  }
  [[nodiscard]] std::int64_t reload_time(std::size_t k, std::int64_t s) const noexcept {
    return model_.self_contained_tape ? 0 : tiers_[k].read[std::size_t(s)];
  }
  /// Bytes of the runs from state s to state j, without the adjoint; grows with j. \param before  bytes of the runs to
  /// state j-1
  /// \param first  bytes of state s that count
  [[nodiscard]] std::int64_t run_bytes(std::int64_t before, std::int64_t s, std::int64_t j,
                                       std::int64_t first) const noexcept {
    std::size_t const i = std::size_t(j) - 1;
    return (std::max)(before, (j - 1 == s ? first : model_.x[i]) + model_.x[i + 1] + model_.f[i]);
  }

  /// out[m] = min(out[m], time + less[m - taken]) in all cells, for m >= need
  void lower(row& out, row const& less, std::size_t taken, std::size_t need, std::int64_t time) const noexcept {
    for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
      std::int64_t* const to = out.data() + cell * width_;
      std::int64_t const* const from = less.data() + cell * width_;
      for (std::size_t m = (std::max)(need, taken); m < width_; ++m) to[m] = (std::min)(to[m], time + from[m - taken]);
    }
  }
  /// out[m] = min(out[m], time + left[m] + right[m]) in all cells, for m >= need
  void lower(row& out, row const& left, row const& right, std::size_t need, std::int64_t time) const noexcept {
    for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
      std::size_t const at = cell * width_;
      for (std::size_t m = at + need; m < at + width_; ++m) out[m] = (std::min)(out[m], time + left[m] + right[m]);
    }
  }
  void fill(std::int64_t s, std::int64_t t) {
    std::size_t const i = std::size_t(s), size = cells_.count() * width_;
    std::int64_t const adjoint = model_.g[std::size_t(t) + 1];
    row memory(size, endless);
    if (s == t) {
      std::size_t const need = s == model_.stages ? std::size_t(scale_.need(model_.b[i])) : tape_need(s, t);
      for (std::size_t cell = 0; cell < cells_.count(); ++cell)
        for (std::size_t m = need; m < width_; ++m) memory[cell * width_ + m] = 0;
    } else {
      lower(memory, row_in_memory(s + 1, t), s_[i], tape_need(s, t), 0);
    }
    std::int64_t run = 0;
    for (std::int64_t j = s + 1; j <= t; ++j) {
      run = run_bytes(run, s, j, 0);
      std::size_t const need = std::size_t(scale_.need(adjoint + run));
      if (need >= width_) break;
      lower(memory, row_in_memory(s, j - 1), just_made(j, t), need, model_.run(s, j));
    }
    row made(size, endless);
    if (s > 0) lower(made, memory, x_[i], 0, 0);
    for (std::size_t k = 0; s > 0 && s < model_.stages && k < tiers_.size(); ++k) {
      row there(size, endless);
      lower(there, memory, x_[i], 0, 0);
      if (s < t) lower(there, row_in_memory(s + 1, t), s_[i], reloaded_tape_need(s, t), reload_time(k, s));
      run = 0;
      for (std::int64_t j = s + 1; j <= t; ++j) {
        run = run_bytes(run, s, j, model_.x[i]);
        std::size_t const need = std::size_t(scale_.need(adjoint + run));
        if (need >= width_) break;
        lower(there, row_on_tier(k, s, j - 1), just_made(j, t), need, model_.run(s, j) + tiers_[k].read[i]);
      }
      for (std::size_t cell = 0; cell < cells_.count(); ++cell) {
        std::size_t const after = cells_.after_save(cell, k, s);
        if (after == cells_.count()) continue;
        for (std::size_t m = 0; m < width_; ++m)
          made[cell * width_ + m] = (std::min)(made[cell * width_ + m], tiers_[k].write[i] + there[after * width_ + m]);
      }
      rows_[number(s, t, 2 + k)] = std::move(there);
    }
    rows_[number(s, t, 0)] = std::move(memory);
    rows_[number(s, t, 1)] = std::move(made);
  }

  friend class tier_plan_writer;

  chain_model const& model_;
  std::vector<chain_tier> tiers_;
  std::int64_t ends_;  ///< number of stages, with the loss
  slot_scale scale_;
  tier_cells cells_;
  std::size_t width_ = 0;
  value_list<std::size_t> x_, s_;  ///< in slots
  std::vector<row> rows_;           ///< E, R and each H of all intervals
};

/// Writes the plan: follows the least times down the table.
class tier_plan_writer {
 public:
  /// \pre there is a plan
  explicit tier_plan_writer(tier_chain_table const& table) : table_{table}, in_memory_{table.tiers_.size()} {}

  [[nodiscard, gnu::cold]] std::vector<action> written() {
    write_stages(0, table_.ends_ - 1, table_.cells_.count() - 1, table_.width_ - 1, in_memory_);
    while (!open_.empty()) {
      part const now = open_.back();
      open_.pop_back();
      if (now.is_action) plan_.push_back(now.then);
      else if (now.from == table_.model_.stages) plan_.push_back(chain_actions::turn(now.from));
      else write(now);
    }
    return std::move(plan_);
  }

 private:
  /// A part of the plan still to be written: an action, or stages from..to. `on` is the tier that keeps state `from`,
  /// or the number of tiers if memory does.
  struct part {
    bool is_action = false;
    action then = {};
    std::int64_t from = 0, to = 0;
    std::size_t cell = 0, slots = 0, on = 0;
  };

  void write_later(action const& then) { open_.push_back({true, then}); }
  void write_stages(std::int64_t from, std::int64_t to, std::size_t cell, std::size_t slots, std::size_t on) {
    open_.push_back({false, {}, from, to, cell, slots, on});
  }
  [[nodiscard]] std::size_t at(part const& now) const noexcept { return now.cell * table_.width_ + now.slots; }
  [[nodiscard]] bool is_elsewhere(part const& now) const noexcept { return now.on != in_memory_; }

  [[gnu::cold]] void write(part const& now) {
    std::int64_t const s = now.from, t = now.to;
    std::size_t const x = table_.x_[std::size_t(s)];
    bool const elsewhere = is_elsewhere(now);
    std::int64_t const wanted =
        elsewhere ? table_.row_on_tier(now.on, s, t)[at(now)] : table_.row_in_memory(s, t)[at(now)];
    if (elsewhere && now.slots >= x && table_.row_in_memory(s, t)[at(now) - x] == wanted) {
      write_later(chain_actions::drop(s));
      write_stages(s, t, now.cell, now.slots - x, in_memory_);
    } else if (records(now, wanted)) {
      write_record(now);
    } else {
      write_split(now, split_of(now, wanted));
    }
  }
  [[nodiscard]] bool records(part const& now, std::int64_t wanted) const noexcept {
    std::int64_t const s = now.from, t = now.to;
    std::size_t const tape = table_.s_[std::size_t(s)];
    bool const elsewhere = is_elsewhere(now);
    return s == t ||
           (now.slots >= (std::max)(tape, elsewhere ? table_.reloaded_tape_need(s, t) : table_.tape_need(s, t)) &&
            table_.row_in_memory(s + 1, t)[at(now) - tape] + (elsewhere ? table_.reload_time(now.on, s) : 0) == wanted);
  }
  /// Writes a plan that records the first stage.
  [[gnu::cold]] void write_record(part const& now) {
    std::int64_t const s = now.from;
    bool const elsewhere = is_elsewhere(now), reloads = elsewhere && !table_.model_.self_contained_tape;
    plan_.push_back(chain_actions::record(s));
    if (elsewhere) plan_.push_back(chain_actions::drop(s));
    if (reloads) write_later(chain_actions::drop(s));
    write_later(chain_actions::reverse(s));
    if (reloads) write_later(chain_actions::load(s, table_.tiers_[now.on].where));
    if (s < now.to) write_stages(s + 1, now.to, now.cell, now.slots - table_.s_[std::size_t(s)], in_memory_);
  }
  /// Writes a plan that keeps state j next.
  [[gnu::cold]] void write_split(part const& now, std::int64_t j) {
    std::int64_t const s = now.from;
    if (is_elsewhere(now)) {
      for (std::int64_t k = s; k < j; ++k) {
        plan_.push_back(chain_actions::advance(k));
        plan_.push_back(chain_actions::drop(k));
      }
    } else {
      append_run(plan_, s, j);
    }
    write_stages(s, j - 1, now.cell, now.slots, now.on);
    if (is_elsewhere(now)) write_later(chain_actions::load(s, table_.tiers_[now.on].where));
    std::size_t const x = table_.x_[std::size_t(j)];
    std::int64_t const right = table_.just_made(j, now.to)[at(now)];
    if (now.slots >= x && table_.row_in_memory(j, now.to)[at(now) - x] == right) {
      if (j < table_.model_.stages) write_later(chain_actions::drop(j));
      write_stages(j, now.to, now.cell, now.slots - x, in_memory_);
      return;
    }
    std::size_t k = 0, after = 0;
    for (;; ++k) {
      after = table_.cells_.after_save(now.cell, k, j);
      if (after != table_.cells_.count() &&
          table_.tiers_[k].write[std::size_t(j)] +
                  table_.row_on_tier(k, j, now.to)[after * table_.width_ + now.slots] ==
              right)
        break;
    }
    plan_.push_back(chain_actions::save(j, table_.tiers_[k].where));
    write_later(chain_actions::drop(j, table_.tiers_[k].where));
    write_stages(j, now.to, after, now.slots, k);
  }
  [[nodiscard, gnu::cold]] std::int64_t split_of(part const& now, std::int64_t wanted) const noexcept {
    bool const elsewhere = is_elsewhere(now);
    std::int64_t const held = elsewhere ? table_.model_.x[std::size_t(now.from)] : 0;
    std::int64_t run = 0;
    for (std::int64_t j = now.from + 1; j < now.to; ++j) {
      run = table_.run_bytes(run, now.from, j, held);
      if (now.slots < std::size_t(table_.scale_.need(table_.model_.g[std::size_t(now.to) + 1] + run))) break;
      std::int64_t const left = elsewhere ? table_.tiers_[now.on].read[std::size_t(now.from)] +
                                                table_.row_on_tier(now.on, now.from, j - 1)[at(now)]
                                          : table_.row_in_memory(now.from, j - 1)[at(now)];
      if (table_.model_.run(now.from, j) + left + table_.just_made(j, now.to)[at(now)] == wanted) return j;
    }
    return now.to;
  }

  tier_chain_table const& table_;
  std::size_t in_memory_;  ///< stands for memory where a tier is expected
  std::vector<action> plan_;
  value_list<part> open_;
};

inline std::vector<action> tier_chain_table::actions() const {
  if (!feasible()) return {};
  return tier_plan_writer{*this}.written();
}

}  // namespace cairn::detail
