// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file persistent.hpp  The fastest of all persistent plans of a chain, exact in bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/slot_table.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Stretches of stages [from, to] of a chain, where the loss is stage L and the caller holds state `from`. A persistent
/// plan of a stretch in some number of bytes does not depend on its place, so stretches of equal stages share one
/// number. Bytes are those free for everything but state `from`; they include the adjoint of state to+1 in the reverse
/// sweep.
class sub_chains {
 public:
  /// \param c  must outlive this object   \param meter  counts the work; null for no limit
  /// Cost: 20 bytes per stretch; O(L^2) time, and O(L^3) if the least bytes are often above `floor`
  /// \throws too_much_work
  explicit sub_chains(chain_model const& c, work_meter* meter = nullptr)
      : c_{c}, classes_{stage_types(c, ranks(c.u), false), meter}, least_(classes_.count()), enough_(classes_.count()) {
    std::size_t const count = classes_.stages();
    // For the stretches of one length, by start: bytes of the largest run before the last stage, and of the largest
    // need of a stage after the first one.
    value_list<std::int64_t> widest(count, 0), later(count, 0);
    for (std::size_t more = 0; more < count; ++more) {
      for (std::size_t s = 0; more > 0 && s + more < count; ++s) {
        std::size_t const t = s + more;
        widest[s] = (std::max)(widest[s], (more == 1 ? 0 : c.x[t - 1]) + c.x[t] + c.f[t - 1]);
        later[s] = (std::max)(later[s], c.x[t] + own_need(t));
      }
      for (std::size_t k = classes_.first(more); k < classes_.first(more + 1); ++k) {
        std::size_t const s = classes_.from(k, more), t = s + more;
        find_needs(k, std::int64_t(s), std::int64_t(t), (std::max)({c.g[t + 1] + widest[s], later[s], own_need(s)}));
        count_work(meter, 16 + more);
      }
    }
  }

  /// The number of the stretch [from, to].
  [[nodiscard]] std::size_t number(std::int64_t from, std::int64_t to) const noexcept {
    return classes_.of(std::size_t(from), std::size_t(to));
  }
  [[nodiscard]] std::size_t count() const noexcept { return classes_.count(); }  ///< number of different stretches
  /// The fewest bytes in which a persistent plan reverses the stretch.
  [[nodiscard]] std::int64_t least(std::size_t number) const noexcept { return least_[number]; }
  /// The bytes in which all tapes of the stretch fit, so that nothing runs again.
  [[nodiscard]] std::int64_t enough(std::size_t number) const noexcept { return enough_[number]; }
  /// Bytes to record stage `from` while the adjoint of state to+1 lives, and for its adjoint later.
  [[nodiscard]] std::int64_t record_need(std::int64_t from, std::int64_t to) const noexcept {
    std::size_t const i = std::size_t(from);
    return c_.s[i] + (std::max)(c_.g[std::size_t(to) + 1] + c_.f[i], c_.g[i + 1] + c_.b[i]);
  }

 private:
  /// Times as small numbers, equal for equal times.
  [[nodiscard]] static value_list<std::int32_t> ranks(value_list<std::int64_t> const& times) {
    value_list<std::int64_t> sorted = times;
    sort_values(sorted, [](std::int64_t one, std::int64_t other) { return one < other; });
    value_list<std::int32_t> answer;
    answer.reserve(times.size());
    for (auto const time : times)
      answer.push_back(std::int32_t(std::lower_bound(sorted.begin(), sorted.end(), time) - sorted.begin()));
    return answer;
  }
  /// Bytes of the recorded run of a stage and of its adjoint, without what else lives.
  [[nodiscard]] std::int64_t own_need(std::size_t i) const noexcept {
    return c_.s[i] + (std::max)(c_.f[i], c_.g[i + 1] + c_.b[i]);
  }
  /// \param floor  a lower bound for all plans of the stretch: each stage but the last one runs while adjoint to+1
  ///   lives, beside its own state or a tape that holds it, and each is recorded and has its adjoint made once
  void find_needs(std::size_t here, std::int64_t from, std::int64_t to, std::int64_t floor) {
    std::int64_t low = record_need(from, to), high = low;
    if (from < to) {
      std::size_t const rest = number(from + 1, to);
      low = (std::max)(low, c_.s[std::size_t(from)] + least_[rest]);
      high = (std::max)(high, c_.s[std::size_t(from)] + enough_[rest]);
    }
    for (std::int64_t j = to; j > from && low > floor; --j)
      low = (std::min)(low,
                       (std::max)({floor, c_.x[std::size_t(j)] + least_[number(j, to)], least_[number(from, j - 1)]}));
    least_[here] = low;
    enough_[here] = high;
  }

  chain_model const& c_;
  interval_classes classes_;
  value_list<std::int64_t> least_, enough_;
};

/// More than any number of bytes.
inline constexpr std::int64_t no_end = (std::numeric_limits<std::int64_t>::max)();

/// A range [from, end) of bytes in which one choice is the best, at one cost.
struct plateau {
  std::int64_t from = 0;    ///< the choice has this cost from here on
  std::int64_t end = 0;     ///< proven: with fewer bytes than this nothing costs less
  std::int64_t cost = 0;    ///< the cost of the choice
  std::int32_t choice = 0;  ///< its meaning is up to the owner
};

/// A lower bound on the least cost at some number of bytes.
struct cost_bound {
  std::int64_t cost = 0;  ///< not more than the least cost
  std::int64_t end = 0;   ///< the bound holds from the bytes asked for up to here
  bool exact = false;     ///< whether it is the least cost
};

/// The plateaus found so far of a cost that never rises with bytes and is 0 from some number on. They do not overlap,
/// and each costs less than those below it.
class plateaus {
 public:
  /// \param enough  bytes at which the cost becomes 0   \pre bytes < enough   Cost: O(log size)
  [[nodiscard]] cost_bound bound(std::int64_t bytes, std::int64_t enough) const noexcept {
    auto const above = first_above(bytes);
    if (above != known_.begin() && bytes < above[-1].end) return {above[-1].cost, above[-1].end, true};
    if (above == known_.end()) return {0, enough, false};
    return {above->cost, above->from, false};
  }
  /// The last plateau that starts at `bytes` or below; null if none is known.
  [[nodiscard]] plateau const* last(std::int64_t bytes) const noexcept {
    auto const above = first_above(bytes);
    return above == known_.begin() ? nullptr : &above[-1];
  }
  /// Adds a plateau. Plateaus of the same cost are merged, because the cost between them is the same.
  void add(plateau found) {
    if (found.cost == 0) found.end = no_end;
    auto const at =
        std::partition_point(known_.begin(), known_.end(), [&](plateau const& one) { return one.cost > found.cost; });
    if (at == known_.end() || at->cost != found.cost) {
      known_.insert(at, found);
      return;
    }
    at->end = (std::max)(at->end, found.end);
    if (found.from < at->from) at->from = found.from, at->choice = found.choice;
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }  ///< how many there are

 private:
  [[nodiscard]] plateau const* first_above(std::int64_t bytes) const noexcept {
    return std::upper_bound(known_.begin(), known_.end(), bytes,
                            [](std::int64_t b, plateau const& one) { return b < one.from; });
  }

  value_list<plateau> known_;
};

/// The optimum among persistent plans, which keep a state or a tape until its adjoint is made (Beaumont, Eyraud-Dubois,
/// Herrmann, Joly, Shilova 2019, theorem 1, with needs that are exact in bytes). Let E(s, t, m) be the least time of
/// runs of stages s..t beyond the first, where the caller keeps state s and m bytes are free for all else, including
/// the adjoint of state t+1:
///
///     E(s, t, m) = min( E(s+1, t, m - s_s)  if `record_need` fits in m,
///                       min over s < j <= t of  u_s + .. + u_(j-1) + E(s, j-1, m) + E(j, t, m - x_j)
///                           if each run and adjoint t+1 fit in m )
///
/// The second condition depends on the stretch and not on j: in every plan each stage from s to t-1 runs while adjoint
/// t+1 lives, beside its own state or a tape that holds it. `sub_chains::least` covers it, and fewer bytes are never
/// asked for. E falls in steps as m grows. A value found at one m is stored for the range of bytes in which it cannot
/// change, and serves every later budget. A choice is evaluated only if bounds on its parts allow an improvement; these
/// bounds come from steps known at more bytes and from a table of slots. Cost: O(L) per question; the number of
/// questions depends on the sizes, and is small for chains whose sizes repeat. No recursion.
class persistent_optimum {
 public:
  static constexpr std::int64_t most_stages = 2000;  ///< memory grows with the square of the stages: about 100 MB

  /// \param c  must outlive this object   \param meter  counts the work of the constructor and of all searches and must
  ///   outlive them; null for no limit
  /// \throws invalid_plan   for more than `most_stages` stages   \throws too_much_work   as searches do; a search may
  ///   be repeated after that
  explicit persistent_optimum(chain_model const& c, work_meter* meter = nullptr)
      : c_{c}, meter_{meter}, parts_{checked(c), meter}, known_(parts_.count()) {}

  /// The fewest bytes for which there is a plan.
  [[nodiscard]] std::int64_t least_budget() const noexcept { return parts_.least(parts_.number(0, c_.stages)); }

  /// Stops each later search after this many visits of a state that could be kept; a second is enough for some 10 to 30
  /// million of them.
  void limit_effort(std::size_t visits) noexcept { limit_ = visits; }
  /// Whether this limit stopped the last search. Its results serve the next one.
  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }
  /// Visits of all searches.
  [[nodiscard]] std::size_t effort() const noexcept { return visits_; }
  /// Number of known steps of costs, 32 bytes each.
  [[nodiscard]] std::size_t known() const noexcept {
    std::size_t sum = 0;
    for (auto const& one : known_) sum += one.size();
    return sum;
  }
  /// Sets a table of lower bounds on the cost of stretches, for later searches. \param table  of the same chain,
  /// rounded down, must outlive the searches; null for none
  void prune_by(slot_table const* table) noexcept { table_ = table; }

  /// The least time that is run again within `budget` bytes; nothing if there is no plan, or if the search gave up.
  [[nodiscard]] std::optional<std::int64_t> extra_forward(std::int64_t budget) {
    auto const found = plateau_at(budget);
    if (!found) return {};
    return found->cost;
  }
  /// The same with the range [from, end) of bytes for which it is proven; the plan of `actions` needs `from` bytes.
  [[nodiscard]] std::optional<plateau> plateau_at(std::int64_t budget) {
    gave_up_ = false;
    if (budget < least_budget()) return {};
    search(0, c_.stages, budget);
    if (gave_up_) return {};
    return found(0, c_.stages, budget);
  }
  /// A plan with this time whose peak is at most `budget`; empty if there is none.   Cost: O(1) per action after
  /// `extra_forward`
  [[nodiscard, gnu::cold]] std::vector<action> actions(std::int64_t budget) {
    std::vector<action> plan;
    if (!plateau_at(budget)) return plan;
    auto const choose = [this](free_stretch<std::int64_t>& of) {
      // The choice of a step was evaluated at its fewest bytes, and so were its parts.
      auto const step = found(of.from, of.to, of.free);
      of.free = step.from;
      return of.from + step.choice;
    };
    write_persistent_plan(
        c_.stages, budget, choose, [this](std::int64_t j) { return c_.x[std::size_t(j)]; },
        [this](std::int64_t j) { return c_.s[std::size_t(j)]; }, plan);
    return plan;
  }

 private:
  static constexpr std::int64_t none = (std::numeric_limits<std::int64_t>::max)();

  struct stretch {
    std::int64_t from, to, bytes;
  };
  /// A stretch and a number of bytes whose cost is sought.
  struct question {
    stretch of;
    std::size_t number;
    std::int64_t floor, floor_end;  ///< no choice costs less than `floor` in fewer bytes than `floor_end`
    plateau best;                   ///< the best of the choices seen so far
    std::int64_t next;              ///< the next state to visit
  };

  [[nodiscard]] static chain_model const& checked(chain_model const& c) {
    if (c.stages > most_stages)
      throw invalid_plan{"cairn::chain_planner",
                         "the chain has too many stages for the exact optimum",
                         {{"stages", c.stages}, {"most", most_stages}},
                         "plan in slots, or join stages into blocks"};
    return c;
  }

  /// What is known about a stretch. \pre its bytes are enough for some plan
  [[nodiscard]] cost_bound bound(std::size_t number, std::int64_t bytes) const noexcept {
    std::int64_t const enough = parts_.enough(number);
    if (bytes >= enough) return {0, no_end, true};
    return known_[number].bound(bytes, enough);
  }
  /// The plateau that a search found for a stretch with that many bytes. \pre its cost was sought
  [[nodiscard]] plateau found(std::int64_t from, std::int64_t to, std::int64_t bytes) const noexcept {
    std::size_t const number = parts_.number(from, to);
    std::int64_t const enough = parts_.enough(number);
    if (bytes >= enough) return {enough, no_end, 0, 0};
    return *known_[number].last(bytes);
  }

  void search(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    std::size_t const end = limit_ > none_left - visits_ ? none_left : visits_ + limit_;
    open_.clear();
    ask({from, to, bytes});
    while (!open_.empty()) {
      std::size_t const before = visits_;
      auto const part = evaluate(open_.back(), end);
      count_work(meter_, sums_of_a_visit * (1 + visits_ - before));
      if (gave_up_) return;
      if (part) {
        ask(*part);
      } else {
        known_[open_.back().number].add(open_.back().best);
        open_.pop_back();
      }
    }
  }
  /// Opens a question unless its answer is known.
  void ask(stretch of) {
    std::size_t const number = parts_.number(of.from, of.to);
    auto const above = bound(number, of.bytes);
    if (above.exact) return;
    question one{of, number, above.cost, above.end, {of.bytes, above.end, none, -1}, of.from};
    // The choice of the step below is possible here, too.
    if (auto const* below = known_[number].last(of.bytes))
      one.best.from = below->from, one.best.cost = below->cost, one.best.choice = below->choice;
    open_.push_back(one);
  }

  /// Visits choices until the answer is found, or until the cost of a part is needed first; then returns that part.
  [[nodiscard]] std::optional<stretch> evaluate(question& q, std::size_t end) {
    auto const [from, to, bytes] = q.of;
    if (q.next == from) {
      std::int64_t const tape = c_.s[std::size_t(from)];
      std::size_t const after = parts_.number(from + 1, to);
      std::int64_t const need = (std::max)(parts_.record_need(from, to), tape + parts_.least(after));
      if (bytes < need) {
        q.best.end = (std::min)(q.best.end, need);
      } else {
        auto const rest = bound(after, bytes - tape);
        if (rest.cost < q.best.cost) {
          if (!rest.exact) return stretch{from + 1, to, bytes - tape};
          improve(q, rest.cost, 0, (std::max)(need, found(from + 1, to, bytes - tape).from + tape));
        }
        q.best.end = (std::min)(q.best.end, shifted(rest.end, tape));
      }
      ++q.next;
    }
    for (; q.next <= to; ++q.next) {
      // Nothing costs less up to the step above, so the other choices need no visit.
      if (q.best.cost == q.floor) {
        q.best.end = q.floor_end;
        return {};
      }
      std::int64_t const j = q.next, run = c_.run(from, j), state = c_.x[std::size_t(j)];
      if (run >= q.best.cost) break;
      std::size_t const left = parts_.number(from, j - 1), right = parts_.number(j, to);
      std::int64_t const need = (std::max)(parts_.least(left), state + parts_.least(right));
      if (bytes < need) {
        q.best.end = (std::min)(q.best.end, need);
        continue;
      }
      if (visits_ == end) {
        gave_up_ = true;
        return {};
      }
      ++visits_;
      auto const before = bound(left, bytes), after = bound(right, bytes - state);
      std::int64_t const good_until = (std::min)({q.best.end, before.end, shifted(after.end, state)});
      if (run + before.cost + after.cost >= q.best.cost) {
        q.best.end = good_until;
        continue;
      }
      if (table_ && (!before.exact || !after.exact) && pruned(q, j, good_until, run, before, after)) continue;
      if (!before.exact) return stretch{from, j - 1, bytes};
      if (!after.exact) return stretch{j, to, bytes - state};
      improve(q, run + before.cost + after.cost, j - from,
              (std::max)(found(from, j - 1, bytes).from, found(j, to, bytes - state).from + state));
      q.best.end = good_until;
    }
    if (q.best.cost == q.floor) q.best.end = q.floor_end;
    return {};
  }
  /// \param from  the fewest bytes at which the parts have these costs
  void improve(question& q, std::int64_t cost, std::int64_t choice, std::int64_t from) const noexcept {
    if (cost >= q.best.cost) return;
    q.best.from = (std::max)(from, parts_.least(q.number));
    q.best.cost = cost;
    q.best.choice = std::int32_t(choice);
  }
  /// Whether the table shows that state j is no better than the best so far, and up to which bytes.
  [[nodiscard]] bool pruned(question& q, std::int64_t j, std::int64_t good_until, std::int64_t run,
                            cost_bound const& before, cost_bound const& after) const noexcept {
    auto const [from, to, bytes] = q.of;
    auto const no_better = [&, from = from, to = to](std::int64_t m) {
      return run + (std::max)(before.cost, table_->bound(from, j - 1, m)) +
                 (std::max)(after.cost, table_->bound(j, to, m - c_.x[std::size_t(j)])) >=
             q.best.cost;
    };
    if (!no_better(bytes)) return false;
    std::int64_t step = good_until - 1 - bytes;
    while (step > 0 && !no_better(bytes + step)) step /= 2;
    q.best.end = bytes + step + 1;
    return true;
  }
  [[nodiscard]] static std::int64_t shifted(std::int64_t end, std::int64_t bytes) noexcept {
    return end == no_end ? no_end : end + bytes;
  }

  static constexpr wide sums_of_a_visit = 256;  // a visit takes as long as this many sums
  static constexpr std::size_t none_left = (std::numeric_limits<std::size_t>::max)();

  chain_model const& c_;
  work_meter* meter_;
  sub_chains parts_;
  std::vector<plateaus> known_;
  value_list<question> open_;
  slot_table const* table_ = nullptr;
  std::size_t limit_ = none_left, visits_ = 0;
  bool gave_up_ = false;
};

}  // namespace cairn::detail
