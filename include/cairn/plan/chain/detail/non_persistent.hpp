// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file non_persistent.hpp  The fastest plan among those that may drop states early, with a budget in slots.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/non_persistent_rules.hpp>
#include <cairn/plan/chain/detail/slot_division.hpp>
#include <cairn/plan/chain/detail/slot_kernel.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Times of one segment by the free slots besides its first state: `never` below `first`, 0 from `zero` on.
struct segment_row {
  /// More than any number of slots, and than any time; the sum of both fits 32 bits.
  static constexpr std::int32_t never = std::int32_t{1} << 30;

  std::int32_t first = never, zero = never;
  std::int32_t best = 0;  ///< the shortest time
  std::int32_t const* times = nullptr;  ///< for first, first + 1, .. free slots

  [[nodiscard]] std::int32_t at(std::int32_t free) const noexcept {
    return free < first ? never : free >= zero ? 0 : times[free - first];
  }
};

/// The rows of a non_persistent_table, with sizes in slots and times in quanta. Equal stages share rows.
class segment_rows {
 public:
  static constexpr std::int32_t never = segment_row::never;

  /// \param model  must outlive the rows   \param most  most bytes of the table
  /// \param meter  counts the work; null for no limit
  segment_rows(chain_model const& model, slot_scale scale, std::int64_t most, work_meter* meter, char const* who)
      : model_{model}, scale_{scale}, most_bytes_{most}, meter_{meter}, who_{who} {
    for (std::size_t i = 0; i <= std::size_t(model.stages); ++i) {
      sizes_.x.push_back(i == 0 ? 0 : scale_.size(model.x[i]));
      sizes_.s.push_back(scale_.size(model.s[i]));
    }
  }

  /// Forgets all rows, and finds out which segments share one.
  /// \throws invalid_plan   if the table would exceed its limit
  void begin(std::int64_t quantum) {
    std::size_t const count = std::size_t(model_.stages) + 1;
    value_list<std::int32_t> times(count);
    sum_u_.assign(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i) {
      times[i] = std::int32_t(model_.u[i] / quantum);
      sum_u_[i + 1] = sum_u_[i] + times[i];
    }
    check_bytes(wide(count) * wide(count) * 2);  // the numbers that say which rows are shared
    classes_ = interval_classes{stage_types(model_, times, true), meter_};
    blocks_.clear();
    block_bytes_ = 0;
    check_bytes(wide(classes_.count()) * 4 * sizeof(segment_row) +
                (wide(scale_.slots()) + 1) * 4 * sizeof(std::int32_t));
  }
  /// Makes all rows; until they are filled, they say that there is no plan.
  void lay_out() { detail::lay_out(rows_, 4 * classes_.count(), meter_); }
  /// Stores a finished row.
  /// \param times  for `numbers` free slots from `made.first` on
  /// \throws invalid_plan   if the table would exceed its limit
  void store(segment const& of, segment_row made, std::int32_t const* times, std::size_t numbers) {
    if (numbers > 0) {
      if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < numbers) {
        std::size_t const size = (std::max)(numbers, block_numbers);
        check_bytes(wide(bytes()) + wide(size) * sizeof(std::int32_t));
        blocks_.emplace_back().reserve(size);
        block_bytes_ += std::int64_t(size * sizeof(std::int32_t));
      }
      auto& block = blocks_.back();
      made.times = block.data() + block.size();
      block.append(times, numbers);
    }
    rows_[4 * place(of.from, of.to) + std::size_t(of.kind)] = made;
  }

  [[nodiscard]] segment_row const& at(segment const& of) const noexcept {
    return rows_[4 * place(of.from, of.to) + std::size_t(of.kind)];
  }
  [[nodiscard]] std::int32_t time_of(segment const& of, std::int64_t free) const noexcept {
    return free < 0 ? never : at(of).at(std::int32_t(free));
  }
  /// Time of stages from..to-1.
  [[nodiscard]] std::int32_t run(std::int64_t from, std::int64_t to) const noexcept {
    return sum_u_[std::size_t(to)] - sum_u_[std::size_t(from)];
  }
  /// Slots of the first state, if the segment owns it.
  [[nodiscard]] std::int32_t held(segment const& of) const noexcept {
    return is_released(of.kind) ? std::int32_t(sizes_.x[std::size_t(of.from)]) : 0;
  }
  /// Slots besides the first state that hold that many bytes; the bytes include a first state that the segment owns.
  [[nodiscard]] std::int32_t need(std::int64_t bytes, std::int32_t held) const noexcept {
    return (std::max)(0, scale_.need(bytes) - held);
  }
  [[nodiscard]] slot_scale const& scale() const noexcept { return scale_; }
  /// The sizes of states and tapes in slots; state 0 takes none.
  [[nodiscard]] held_sizes const& sizes() const noexcept { return sizes_; }
  [[nodiscard]] interval_classes const& classes() const noexcept { return classes_; }
  /// The number of the class of a segment. Rows with the same start are neighbours, because splits read them in this
  /// order.
  [[nodiscard]] std::size_t place(std::int64_t from, std::int64_t to) const noexcept {
    std::size_t const i = std::size_t(from), j = std::size_t(to);
    return classes_.shared() ? classes_.of(i, j) : i * (2 * classes_.stages() - i + 1) / 2 + (j - i);
  }
  /// Bytes of all rows.
  [[nodiscard]] std::int64_t bytes() const noexcept {
    return std::int64_t(rows_.size() * sizeof(segment_row)) + block_bytes_;
  }

 private:
  static constexpr std::size_t block_numbers = std::size_t{1} << 18;

  void check_bytes(wide bytes) const { check_chain_table(model_, scale_, bytes, most_bytes_, who_); }

  chain_model const& model_;
  slot_scale scale_;
  std::int64_t most_bytes_;
  work_meter* meter_;
  char const* who_;
  held_sizes sizes_;
  value_list<std::int32_t> sum_u_;
  interval_classes classes_{std::size_t{0}};
  value_list<segment_row> rows_;  ///< four per class, by kind
  std::vector<value_list<std::int32_t>> blocks_;  ///< hold the times of rows; never moved
  std::int64_t block_bytes_ = 0;
};

/// Fills the rows of a non_persistent_table, shorter segments first.
class segment_filler {
 public:
  /// The largest time; the sum of two of these and of all stages once is below 2^31.
  static constexpr std::int32_t most_time = std::int32_t{1} << 29;

  /// \param meter  counts the work; null for no limit
  segment_filler(chain_model const& model, non_persistent_rules const& rules, segment_rows& rows, work_meter* meter)
      : rules_{rules}, rows_{rows}, meter_{meter} {
    // While state `from` is kept, at most the tapes before it are held besides the bytes of the segment.
    std::int64_t before = 0;
    least_.resize(std::size_t(model.stages) + 1);
    for (std::size_t i = 0; i < least_.size(); ++i) {
      least_[i] = std::int32_t(std::max<std::int64_t>(0, rows_.scale().slots() - before));
      before += rows_.sizes().s[i];
    }
  }

  /// \pre `rows.begin` was called   \throws invalid_plan   if the table would exceed its limit   \throws too_much_work
  void fill() {
    std::size_t const count = least_.size();
    // A row that several starts share is made once, for the least slots of all of them, which are those of the last
    // start.
    value_list<std::int32_t> least;
    value_list<char> done;
    bool const shared = rows_.classes().shared();
    if (shared) {
      detail::lay_out(least, rows_.classes().count(), meter_);
      detail::lay_out(done, rows_.classes().count(), meter_);
      for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = from; to < count; ++to)
          least[rows_.place(std::int64_t(from), std::int64_t(to))] = least_[from];
        count_work(meter_, 4 * wide(count - from));
      }
    }
    rows_.lay_out();
    for (auto& one : drafts_) one.times.resize(std::size_t(rows_.scale().slots()) + 1);
    for (std::size_t to = 0; to < count; ++to)
      for (std::size_t from = to + 1; from-- > 0;) {
        std::int32_t low = least_[from];
        if (shared) {
          std::size_t const number = rows_.place(std::int64_t(from), std::int64_t(to));
          if (done[number]) continue;
          done[number] = 1;
          low = least[number];
        }
        sums_ = 256;
        make_rows(std::int64_t(from), std::int64_t(to), low);
        count_work(meter_, sums_, [&] { return double(to) / double(count); });
      }
  }

 private:
  /// A row under construction.
  struct draft {
    bool open = false;  ///< whether further splits may lower it
    std::int32_t low = segment_rows::never, top = -1;  ///< times of low..top are known
    std::int32_t zero = segment_rows::never;           ///< no split is tried from here on
    std::int64_t base = 0;   ///< bytes that are held during a whole forward run
    std::int32_t held = 0;   ///< slots of the first state, if the segment owns it
    std::int32_t need = 0;   ///< slots needed by the run to the current state
    value_list<std::int32_t> times;
  };

  void make_rows(std::int64_t from, std::int64_t to, std::int32_t low) {
    std::int32_t const high = rows_.scale().slots() - std::int32_t(rows_.sizes().x[std::size_t(from)]);
    if (high < low) return;
    bool any_open = false;
    for (int kind = 0; kind < 4; ++kind) {
      auto& d = drafts_[std::size_t(kind)];
      d.open = false;
      segment const of{segment_kind(kind), from, to};
      if (!rules_.exists(of)) continue;
      d.held = rows_.held(of);
      if (from == to) {
        if (std::int32_t const least = (std::max)(low, rows_.need(rules_.last_need(of), d.held)); least <= high)
          rows_.store(of, {.first = least, .zero = least}, nullptr, 0);
        continue;
      }
      start(d, of, low, high);
      any_open = any_open || d.open;
    }
    if (from == to) return;
    if (any_open) split(from, to, low);
    for (int kind = 0; kind < 4; ++kind)
      if (segment const of{segment_kind(kind), from, to}; rules_.exists(of)) keep(drafts_[std::size_t(kind)], of, high);
  }
  /// Records the first stage if that is possible.
  void start(draft& d, segment const& of, std::int32_t low, std::int32_t high) {
    segment_row const& rest = rows_.at(rules_.rest(of));
    std::int32_t const shift = std::int32_t(rows_.sizes().after_record(of, 0)),
                       least = (std::max)(low, rows_.need(rules_.record_need(of), d.held));
    d.zero = (std::max)(least, rest.zero - shift);
    d.top = (std::min)(high, d.zero - 1);
    d.low = (std::max)(least, rest.first - shift);
    d.base = rules_.forward_base(of);
    d.open = d.top >= low;
    std::int32_t const known = (std::min)(d.low, d.top + 1);
    std::fill(d.times.begin() + low, d.times.begin() + (std::max)(low, known), most_time);
    if (d.low <= d.top)
      std::copy_n(rest.times + (d.low + shift - rest.first), d.top - d.low + 1, d.times.begin() + d.low);
  }
  void split(std::int64_t from, std::int64_t to, std::int32_t low) {
    std::int64_t run_need = rules_.first_need({segment_kind::pinned, from, to}), last_need = -1;
    for (std::int64_t k = from + 1; k <= to; ++k) {
      if (k > from + 1) run_need = rules_.further_need(run_need, k);
      std::int32_t const time = rows_.run(from, k), size = std::int32_t(rows_.sizes().x[std::size_t(k)]);
      bool any_open = false;
      for (int kind = 0; kind < 4; ++kind) {
        auto& d = drafts_[std::size_t(kind)];
        if (!d.open) continue;
        if (run_need != last_need) d.need = (std::max)(low, rows_.need(d.base + run_need, d.held));
        // Needs and times of runs only grow with k.
        if (d.need > d.top || (d.low <= d.need && time >= d.times[std::size_t(d.need)])) {
          d.open = false;
          continue;
        }
        any_open = true;
        segment const of{segment_kind(kind), from, to};
        for (auto const does : {segment_choice::what::keep, segment_choice::what::release})
          if (segment_choice const by{does, k}; rules_.may_split(of, by)) {
            auto const parts = rules_.parts(of, by);
            lower(d, rows_.at(parts.second), rows_.at(parts.first), size, time);
          }
      }
      last_need = run_need;
      if (!any_open) return;
    }
  }
  /// Lowers a row to the cost of one split.
  void lower(draft& d, segment_row const& left, segment_row const& right, std::int32_t size, std::int32_t time) {
    std::int32_t const low = (std::max)({d.need, left.first, right.first + size});
    sums_ += 8;
    if (low > d.top) return;
    d.low = (std::min)(d.low, low);
    // Times never grow with the budget: the least time of the split is at the top, the most of the row at the low end.
    std::int32_t const most = d.times[std::size_t(low)];
    if (time + left.best + right.best >= most || time + left.at(d.top) + right.at(d.top - size) >= most) return;
    sums_ += wide(d.top - low + 1);
    std::int32_t const left_end = std::clamp(left.zero, low, d.top + 1),
                       right_end = std::clamp(right.zero + size, low, d.top + 1);
    std::int32_t const both_end = (std::min)(left_end, right_end);
    std::int32_t* const out = d.times.data();
    auto const count = [](std::int32_t begin, std::int32_t end) { return std::size_t(end - begin); };
    if (low < both_end)
      kernel_.both(out + low, left.times + (low - left.first), right.times + (low - size - right.first), time,
                   count(low, both_end));
    if (both_end < left_end)
      kernel_.one(out + both_end, left.times + (both_end - left.first), time, count(both_end, left_end));
    if (both_end < right_end)
      kernel_.one(out + both_end, right.times + (both_end - size - right.first), time, count(both_end, right_end));
    for (std::int32_t m = (std::max)(left_end, right_end); m <= d.top && out[m] > time; ++m) out[m] = time;
  }
  /// Stores a finished row.
  void keep(draft const& d, segment const& of, std::int32_t high) {
    segment_row made{.first = (std::min)(d.low, d.zero), .zero = d.zero};
    if (made.first > high) made.first = made.zero = segment_rows::never;
    if (made.first > d.top) return rows_.store(of, made, nullptr, 0);
    made.best = d.top < high ? 0 : d.times[std::size_t(d.top)];
    rows_.store(of, made, d.times.data() + made.first, std::size_t(d.top - made.first) + 1);
  }

  non_persistent_rules const& rules_;
  segment_rows& rows_;
  slot_kernel const& kernel_ = usual_kernel();
  work_meter* meter_;
  value_list<std::int32_t> least_;  ///< for each start: the fewest free slots that can occur
  std::array<draft, 4> drafts_;     ///< by kind
  wide sums_ = 0;                   ///< of the rows made since the last report to the meter
};

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
