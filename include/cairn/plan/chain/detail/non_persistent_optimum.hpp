// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file non_persistent_optimum.hpp  The fastest plan among those that may drop states early, exact in bytes; for
/// chains of few stages or few sizes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/non_persistent_rules.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Times of segments as step functions of their budgets, computed on demand; results for one budget serve the next.
/// Cost: O(L^3) to construct; then as many pieces as the sizes have different sums, each O(L): milliseconds for 10
/// stages, minutes for 100 stages whose sizes all differ.
class non_persistent_optimum {
 public:
  /// \param model  must outlive the optimum   \param meter  counts the work of all searches and must outlive them; null
  ///   for no limit
  explicit non_persistent_optimum(chain_model const& model, work_meter* meter = nullptr)
      : model_{model},
        meter_{meter},
        rules_{model},
        sizes_{model.x, model.s},
        count_{std::size_t(model.stages) + 1},
        pieces_(4 * count_ * count_),
        least_(pieces_.size(), endless) {
    for (std::int64_t to = 0; to <= model.stages; ++to)
      for (std::int64_t from = to; from >= 0; --from)
        for (int kind = 0; kind < 4; ++kind)
          if (segment const of{segment_kind(kind), from, to}; rules_.exists(of)) least_[place(of)] = least_of(of);
  }

  /// The fewest bytes for which this class has a plan.
  [[nodiscard]] std::int64_t least_budget() const noexcept { return least_[place(rules_.whole())]; }
  /// Stops each later search after this many of its steps; 0 for no limit.
  void limit_effort(std::size_t steps) noexcept { limit_ = steps; }
  /// Whether the limit stopped the last search.
  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }

  /// Time of stages run again by the fastest plan; nothing if there is none, or if the limit of effort is reached.
  /// \throws too_much_work
  [[nodiscard]] std::optional<std::int64_t> extra_forward(std::int64_t budget) {
    begin();
    piece const found = time_of(rules_.whole(), budget);
    if (gave_up_ || found.time >= endless) return {};
    return found.time;
  }
  /// The fastest plan; empty if there is none, or if the limit of effort is reached.
  [[nodiscard, gnu::cold]] std::vector<action> actions(std::int64_t budget) {
    std::vector<action> plan;
    if (!extra_forward(budget)) return plan;
    write_plan(
        rules_, sizes_, rules_.whole(), budget,
        [this](segment const& of, std::int64_t free) { return choice_of(of, free); }, plan);
    return plan;
  }

 private:
  /// A piece of a step function: the time is the same for all budgets in [low, high).
  struct piece {
    std::int64_t low, high, time;
  };
  static constexpr std::int64_t any = -endless;
  static constexpr wide sums_of_a_choice = 64;  ///< a choice takes as long as this many sums

  [[nodiscard]] std::size_t place(segment const& of) const noexcept {
    return (std::size_t(of.kind) * count_ + std::size_t(of.from)) * count_ + std::size_t(of.to);
  }
  /// The least budget besides the first state.
  [[nodiscard]] std::int64_t least_of(segment const& of) const {
    std::int64_t const held = rules_.held(of);
    if (of.from == of.to) return rules_.last_need(of) - held;
    std::int64_t least =
        (std::max)(rules_.record_need(of) - held, least_[place(rules_.rest(of))] - sizes_.after_record(of, 0));
    each_split(of, [&](segment_choice const& by, std::int64_t need) {
      auto const [right, left] = rules_.parts(of, by);
      if (need < least)
        least = (std::min)(least,
                           (std::max)({need, least_[place(right)] - sizes_.after_run(by.k, 0), least_[place(left)]}));
      return need < least;
    });
    return least;
  }
  /// Calls visit(choice, least budget besides the first state for its run) until it returns false.
  template <class Visit>
  void each_split(segment const& of, Visit const& visit) const {
    std::int64_t const base = rules_.forward_base(of) - rules_.held(of);
    std::int64_t need = rules_.first_need(of);
    for (std::int64_t k = of.from + 1; k <= of.to; ++k) {
      if (k > of.from + 1) need = rules_.further_need(need, k);
      for (auto const does : {segment_choice::what::keep, segment_choice::what::release})
        if (segment_choice const by{does, k}; rules_.may_split(of, by) && !visit(by, base + need)) return;
    }
  }
  void begin() noexcept {
    steps_ = 0;
    gave_up_ = false;
  }
  [[nodiscard]] piece time_of(segment const& of, std::int64_t free) {
    if (free < least_[place(of)]) return {any, least_[place(of)], endless};
    auto& known = pieces_[place(of)];
    auto const after = [&] {
      return std::upper_bound(known.begin(), known.end(), free,
                              [](std::int64_t bytes, piece const& p) { return bytes < p.low; });
    };
    if (auto const next = after(); next != known.begin() && free < std::prev(next)->high) return *std::prev(next);
    piece const found = of.from == of.to ? piece{least_[place(of)], endless, 0} : searched(of, free);
    if (gave_up_) return found;
    auto const next = after();
    if (next != known.begin() && std::prev(next)->time == found.time && std::prev(next)->high >= found.low) {
      std::prev(next)->high = (std::max)(std::prev(next)->high, found.high);
      return *std::prev(next);
    }
    if (next != known.end() && next->time == found.time && found.high >= next->low) {
      next->low = (std::min)(next->low, found.low);
      return *next;
    }
    return *known.insert(next, found);
  }
  [[nodiscard]] piece searched(segment const& of, std::int64_t free) {
    piece best{any, endless, endless};
    if (limit_ > 0 && ++steps_ > limit_) gave_up_ = true;
    if (gave_up_) return best;
    count_work(meter_, sums_of_a_choice * wide(of.to - of.from + 1));
    if (std::int64_t const need = rules_.record_need(of) - rules_.held(of); free < need) {
      best.high = need;
    } else {
      std::int64_t const shift = sizes_.after_record(of, 0);
      piece const rest = time_of(rules_.rest(of), free + shift);
      best = {(std::max)(need, rest.low - shift), rest.high - shift, rest.time};
    }
    each_split(of, [&](segment_choice const& by, std::int64_t need) {
      std::int64_t const run = model_.run(of.from, by.k);
      if (free < need) best.high = (std::min)(best.high, need);
      if (free < need || run >= best.time) return false;
      auto const parts = rules_.parts(of, by);
      std::int64_t const shift = sizes_.after_run(by.k, 0);
      piece const right = time_of(parts.first, free + shift);
      best.high = (std::min)(best.high, right.high - shift);
      if (run + right.time >= best.time) return true;
      piece const left = time_of(parts.second, free);
      best.high = (std::min)(best.high, left.high);
      if (std::int64_t const time = run + right.time + left.time; time < best.time)
        best.time = time, best.low = (std::max)({need, right.low - shift, left.low});
      return true;
    });
    return best;
  }
  [[nodiscard]] segment_choice choice_of(segment const& of, std::int64_t free) {
    if (of.from == of.to) return {};
    std::int64_t const time = time_of(of, free).time;
    if (free >= rules_.record_need(of) - rules_.held(of) &&
        time_of(rules_.rest(of), sizes_.after_record(of, free)).time == time)
      return {segment_choice::what::record, 0};
    segment_choice found;
    each_split(of, [&](segment_choice const& by, std::int64_t need) {
      if (free < need) return false;
      auto const parts = rules_.parts(of, by);
      if (model_.run(of.from, by.k) + time_of(parts.first, sizes_.after_run(by.k, free)).time +
              time_of(parts.second, free).time !=
          time)
        return true;
      found = by;
      return false;
    });
    return found;
  }

  chain_model const& model_;
  work_meter* meter_;
  non_persistent_rules rules_;
  held_sizes sizes_;
  std::size_t count_;
  std::vector<value_list<piece>> pieces_;  ///< by kind, from and to; sorted, without overlap
  value_list<std::int64_t> least_;         ///< by kind, from and to: least budget besides the first state
  std::size_t limit_ = 0, steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace cairn::detail
