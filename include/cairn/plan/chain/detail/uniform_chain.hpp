// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file uniform_chain.hpp  The fastest persistent plan of a chain of equal stages, without a table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/wide.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// Whether all stages have the same sizes and times, and states 1..L and their adjoints the same sizes. The loss, state
/// 0 and the times of adjoints may differ.
[[nodiscard]] inline bool is_uniform(chain_model const& c) noexcept {
  for (std::size_t i = 1; i < std::size_t(c.stages); ++i)
    if (c.x[i + 1] != c.x[1] || c.g[i + 1] != c.g[1] || c.s[i] != c.s[0] || c.f[i] != c.f[0] || c.b[i] != c.b[0] ||
        c.u[i] != c.u[0])
      return false;
  return true;
}

/// The fewest items that are together worth at least `wanted`. Item i is worth `worth[i]`. Items are taken in chains: a
/// chain that begins at i takes items i, i+1, .. and may stop anywhere; `heads[i]` chains may begin at i.
///
/// Takes stretches with the most worth per item, and then a shorter one that is just enough. If these are more items
/// than the fractional optimum needs, it searches the choices in which each item is taken up to `reach` times more or
/// less often. Cost: O(items log items), and O(items * length of a stretch) for the shorter stretch
class chain_cover {
 public:
  /// \param worth  each > 0
  chain_cover(value_list<std::int64_t> const& worth, value_list<std::int64_t> const& heads, std::int64_t wanted)
      : worth_{worth}, heads_{heads}, wanted_{wanted}, taken_(worth.size()), open_{heads} {
    std::size_t const count = worth.size();
    // The stretch that begins at an item grows while that raises its mean worth: the concave hull of the worths from
    // there on.
    value_list<stretch> from(count);
    for (std::size_t i = count; i-- > 0;) {
      from[i] = {i, i + 1, worth[i]};
      while (from[i].end < count && is_better(from[from[i].end], from[i])) {
        stretch const& next = from[from[i].end];
        from[i].worth += next.worth;
        from[i].end = next.end;
      }
    }
    sort_values(from, is_better);
    open_.resize(count + 1);
    for (auto const& best : from) {
      if (wanted_ <= 0) return;
      std::int64_t const times = (std::min)(open_[best.first], wanted_ / best.worth);
      take(best.first, best.end, times);
      open_[best.first] -= times;
      open_[best.end] += times;
      wanted_ -= times * best.worth;
      if (wanted_ <= 0 || open_[best.first] == 0) continue;
      complete(best);
      return;
    }
  }

  [[nodiscard]] value_list<std::int64_t> const& taken() const noexcept { return taken_; }  ///< uses of each item
  /// Whether the items taken are worth `wanted`; if not, all are taken.
  [[nodiscard]] bool is_enough() const noexcept { return wanted_ <= 0; }
  [[nodiscard]] bool is_least() const noexcept { return is_least_; }      ///< whether they are proven to be the fewest

 private:
  struct stretch {
    std::size_t first = 0, end = 0;
    std::int64_t worth = 0;
    [[nodiscard]] std::int64_t items() const noexcept { return std::int64_t(end - first); }
  };
  static constexpr std::int64_t reach = 3;
  static constexpr std::int64_t most_cells = std::int64_t{1} << 22;

  [[nodiscard]] static bool is_better(stretch const& one, stretch const& other) noexcept {
    return wide(one.worth) * wide(other.items()) > wide(other.worth) * wide(one.items());
  }
  void take(std::size_t first, std::size_t end, std::int64_t times) {
    for (std::size_t i = first; i < end; ++i) taken_[i] += times;
  }
  /// \param best  stretches of this kind are open, and each is worth more than what is still wanted
  void complete(stretch const& best) {
    std::int64_t const least =
        std::int64_t((wide(wanted_) * wide(best.items()) + wide(best.worth) - 1) / wide(best.worth));
    stretch last = best;
    for (std::size_t i = 0; i < worth_.size(); ++i) {
      if (open_[i] <= 0) continue;
      std::int64_t sum = 0;
      for (std::size_t end = i; end < worth_.size() && std::int64_t(end - i) + 1 < last.items(); ++end) {
        sum += worth_[end];
        if (sum >= wanted_) last = {i, end + 1, sum};
      }
    }
    if (last.items() > least && search(least, last.items() - 1)) return;
    is_least_ = last.items() == least;
    take(last.first, last.end, 1);
    wanted_ -= last.worth;
  }
  /// Looks for `least` to `most` further items that reach the wanted worth, where each count taken so far may change by
  /// up to `reach`.
  [[nodiscard]] bool search(std::int64_t least, std::int64_t most) {
    constexpr std::int64_t ways = 2 * reach + 1, none = -endless;
    std::int64_t const side = most + 4 * reach, sums = 2 * side + 1, count = std::int64_t(worth_.size());
    if (count * ways * sums > most_cells) return false;
    // For each change of the last item and each sum of changes: the most worth, and the change of the item before.
    value_list<std::int64_t> now(std::size_t(ways * sums), none), next;
    value_list<std::int8_t> before(std::size_t(count * ways * sums));
    auto const at = [&](std::int64_t change, std::int64_t sum) {
      return std::size_t((change + reach) * sums + sum + side);
    };
    now[at(0, 0)] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t const k = std::size_t(i);
      // A chain that takes an item has taken the item before, or begins here.
      std::int64_t const spare = (i > 0 ? taken_[k - 1] : 0) + heads_[k] - taken_[k];
      next.assign(now.size(), none);
      for (std::int64_t last = -reach; last <= reach; ++last)
        for (std::int64_t change = (std::max)(-reach, -taken_[k]); change <= reach && change <= last + spare; ++change)
          for (std::int64_t sum = (std::max)(-side, -side - change); sum <= side && sum + change <= side; ++sum) {
            std::int64_t const had = now[at(last, sum)];
            if (had == none || had + change * worth_[k] <= next[at(change, sum + change)]) continue;
            next[at(change, sum + change)] = had + change * worth_[k];
            before[k * now.size() + at(change, sum + change)] = std::int8_t(last);
          }
      std::swap(now, next);
    }
    for (std::int64_t items = least; items <= most; ++items)
      for (std::int64_t change = -reach; change <= reach; ++change) {
        if (now[at(change, items)] < wanted_) continue;
        is_least_ = items == least;
        wanted_ -= now[at(change, items)];
        for (std::int64_t i = count, sum = items, own = change; i-- > 0;) {
          taken_[std::size_t(i)] += own;
          std::int64_t const last = before[std::size_t(i) * now.size() + at(own, sum)];
          sum -= own;
          own = last;
        }
        return true;
      }
    return false;
  }

  value_list<std::int64_t> const& worth_;
  value_list<std::int64_t> const& heads_;
  std::int64_t wanted_;
  value_list<std::int64_t> taken_, open_;  ///< counts of items; number of chains that may go on at an item
  bool is_least_ = true;
};

/// The fastest persistent plan of a uniform chain at a budget M.
///
/// A tape that is made before anything is run again can be made later at the same cost. So E(n, m), the cost of n
/// stages with m free bytes, is 0 if all tapes fit, n <= tapes(m), and else min over i of i u + E(i, m) + E(n-i, m-x).
/// (Proof: drop the first tape and run its stage on the way to the next kept state instead. If anything is run again to
/// the right of that state, its s bytes save a run there. If nothing is, they hold the tape of one more stage on the
/// right, and the way is no longer.) So m = M - k x with k states kept. A stretch that is split gains tapes(k+1) stages
/// and loses tapes(k) - tapes(k+1), which is 0 or 1 because x <= s: a toll of one run. Splitting gives Griewank and
/// Walther's (2000) binomial tree, grown row by row of equal repetitions, with stretches of tapes as leaves; the last
/// row takes the splits with the fewest tolls. If tapes live only during their own adjoint, tapes(m) = 1 and there is
/// no toll: this is Revolve.
class uniform_chain {
 public:
  /// \param keeps_tapes  whether tapes may outlive their own adjoint   \pre is_uniform(model)
  uniform_chain(chain_model const& c, std::int64_t budget, bool keeps_tapes)
      : stages_{c.stages},
        budget_{std::clamp(budget, std::int64_t{-1}, most_bytes)},
        keeps_tapes_{keeps_tapes},
        loss_need_{c.b[std::size_t(c.stages)]} {
    if (stages_ > 0) {
      x_ = c.x[1], s_ = c.s[0], u_ = c.u[0];
      need_ = c.g[1] + s_ + (std::max)(c.f[0], c.b[0]);
      tail_need_ = s_ + (std::max)(c.f[0], c.g[1] + c.b[0]);
    }
    last_ = stages_ == 0 || budget_ < need_ ? -1 : x_ == 0 ? stages_ : (std::min)(stages_, (budget_ - need_) / x_);
    choose();
  }

  [[nodiscard]] bool feasible() const noexcept { return best_.runs >= 0; }  ///< whether there is a persistent plan
  /// Time of stages run more than once.   \pre feasible()
  [[nodiscard]] std::int64_t extra_forward() const noexcept { return best_.runs * u_; }
  /// Whether no persistent plan is faster; if tapes are not kept, no plan of that kind. If false, the plan is one or a
  /// few tolls above the least.
  [[nodiscard]] bool is_exact() const noexcept { return best_.is_least || u_ == 0; }
  /// Stages run more than once.   \pre feasible()
  [[nodiscard]] std::int64_t runs_again() const noexcept { return best_.runs; }
  /// The plan.   \pre feasible()   Cost: O(its length)
  [[nodiscard]] std::vector<action> actions() const { return written(); }

 private:
  /// No chain has more bytes, so larger budgets are of no use and would overflow sums.
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

  /// The tree of splits: `kept` states are kept in the forward run, each with a binomial tree to its left.
  struct shape {
    std::int64_t kept = 0;   ///< states kept in the forward run
    std::int64_t rows = 0;   ///< full rows of splits; 0 if the first stretches are enough
    std::int64_t rest = 0;   ///< stages of the row that is not full
    std::int64_t runs = -1;  ///< stages run again; negative if there is no such plan
    bool is_least = true;
    /// For the row that is not full: the number of splits with k states kept, for each k with a toll.
    value_list<std::int64_t> splits;
  };
  struct node {
    std::int64_t stages = 0;
    std::size_t left = 0;  ///< number of the left part, after which the right one comes; 0 for a stretch of tapes
  };

  [[nodiscard]] std::int64_t remaining_bytes(std::int64_t kept) const noexcept { return budget_ - kept * x_; }
  /// The number of stages whose tapes all fit beside `kept` states, with an adjoint to their right.
  [[nodiscard]] std::int64_t tapes(std::int64_t kept) const noexcept {
    std::int64_t const above = remaining_bytes(kept) - need_;
    return kept > last_ ? 0 : !keeps_tapes_ ? 1 : s_ == 0 ? stages_ : (std::min)(stages_, 1 + above / s_);
  }
  [[nodiscard]] std::int64_t toll(std::int64_t kept) const noexcept { return tapes(kept) - tapes(kept + 1); }
  /// The number of stages before the loss whose tapes all fit beside `kept` states; negative if not even the loss fits.
  [[nodiscard]] std::int64_t tail(std::int64_t kept) const noexcept {
    std::int64_t const above = remaining_bytes(kept) - loss_need_;
    if (above < 0) return -1;
    if (!keeps_tapes_ || remaining_bytes(kept) < tail_need_) return 0;
    return s_ == 0 ? stages_ : (std::min)({stages_, 1 + (remaining_bytes(kept) - tail_need_) / s_, above / s_});
  }

  /// Chooses how many states to keep in the forward run. Each further state costs at most one toll and gives another
  /// stretch to the left. That pays off while stages are run again more than once, except for a stretch of one tape and
  /// a toll of one. So only a few numbers have to be tried.
  void choose() {
    if (tail(0) < 0) return;
    if (tail(0) >= stages_) {
      best_.runs = 0;
      return;
    }
    std::int64_t const most = (std::min)(stages_, last_ + 1);
    std::int64_t first_row = 0;
    for (std::int64_t kept = 1; kept <= most && tail(kept) >= 0; ++kept) {
      first_row += tapes(kept - 1);
      if (first_row >= stages_ - tail(kept))
        return better({.kept = kept, .runs = stages_ - tail(kept), .splits = {}});
      bool const is_last = kept == most || tail(kept + 1) < 0;
      if (is_last || (tapes(kept) == 1 && tail(kept + 1) < tail(kept))) better(grown(kept, first_row));
    }
  }
  void better(shape other) {
    // A number of states that seems worse may be better if its fewest tolls are not known.
    bool const is_least = best_.is_least && other.is_least;
    if (other.runs >= 0 && (best_.runs < 0 || other.runs < best_.runs)) best_ = std::move(other);
    best_.is_least = is_least;
  }
  /// Adds rows of splits until all stages have a place.
  [[nodiscard]] shape grown(std::int64_t kept, std::int64_t first_row) const {
    shape tree;
    tree.kept = kept;
    std::int64_t const all = stages_ - tail(kept);
    tree.rest = all - first_row;
    if (last_ < 1) return tree;
    std::size_t const places = std::size_t(last_);  // with fewer states kept a stretch can be split
    value_list<std::int64_t> heads(places);
    for (std::size_t k = 0; k < places && std::int64_t(k) < kept; ++k) heads[k] = 1;
    for (std::int64_t runs = all;; ++tree.rows) {
      // Sums stop at a number that is certainly enough.
      std::int64_t gained = 0, tolls = 0, split = 0;
      auto next = heads;
      for (std::size_t k = 0; k < places; ++k) {
        split = (std::min)(stages_, split + heads[k]);
        next[k] = split;
        gained = std::min<std::int64_t>(
            stages_, gained + std::int64_t((std::min)(wide(split) * wide(tapes(std::int64_t(k) + 1)), wide(stages_))));
        tolls += split * toll(std::int64_t(k));
      }
      // A stage placed by the splits of row r is run again r + 1 times, of which `all` counts one.
      if (gained >= tree.rest) {
        finish(tree, heads, runs + tree.rest * (tree.rows + 1));
        return tree;
      }
      tree.rest -= gained;
      runs += gained * (tree.rows + 1) + tolls;
      heads = std::move(next);
    }
  }
  /// Chooses the splits of the last row. Those without a toll come first; each toll opens a stretch of further splits
  /// without one.
  [[gnu::cold]] void finish(shape& tree, value_list<std::int64_t> const& heads, std::int64_t runs) const {
    value_list<std::int64_t> worth, starts;
    value_list<std::size_t> places;
    std::int64_t waiting = 0, wanted = tree.rest;
    for (std::size_t k = 0; k < heads.size(); ++k) {
      waiting = (std::min)(stages_, waiting + heads[k]);
      if (toll(std::int64_t(k)) > 0) {
        places.push_back(k);
        worth.push_back(0);
        starts.push_back(waiting);
        waiting = 0;
      }
      std::int64_t const gain = tapes(std::int64_t(k) + 1);
      if (!worth.empty()) worth.back() += gain;
      wanted -= std::int64_t((std::min)(wide(waiting) * wide(gain), wide(stages_)));
      wanted = std::max<std::int64_t>(wanted, 0);
    }
    tree.runs = runs;
    tree.splits.assign(heads.size(), 0);
    if (wanted == 0) return;
    chain_cover const tolls{worth, starts, wanted};
    tree.is_least = tolls.is_least();
    for (std::size_t i = 0; i < places.size(); ++i) {
      tree.splits[places[i]] = tolls.taken()[i];
      tree.runs += tolls.taken()[i];
    }
  }

  /// The tree to the left of the kept state `head`, right parts before left ones.
  [[gnu::cold]] void grow(std::int64_t head, value_list<std::int64_t>& splits, std::int64_t& rest,
                          value_list<node>& tree) const {
    struct part { std::int64_t kept, row; std::size_t parent; std::int64_t stages; };
    value_list<part> open{{head, 0, 0, 0}};
    std::size_t const first = tree.size();
    while (!open.empty()) {
      part const now = open.back();
      open.pop_back();
      std::size_t const number = tree.size();
      tree.push_back({});
      if (now.parent > 0) tree[now.parent - 1].left = number;
      std::int64_t left = 0;  // stages of a left part that is a leaf
      bool split = now.stages == 0 && now.row < best_.rows && now.kept < last_;
      if (now.stages == 0 && now.row == best_.rows && now.kept < last_ && rest > 0) {
        std::int64_t const tolls = toll(now.kept);
        if (tolls == 0 || splits[std::size_t(now.kept)] > 0) {
          splits[std::size_t(now.kept)] -= tolls;
          std::int64_t const gained = (std::min)(rest, tapes(now.kept + 1));
          rest -= gained;
          left = tolls + gained;
          split = true;
        }
      }
      if (!split) {
        tree[number].stages = now.stages > 0 ? now.stages : tapes(now.kept);
        continue;
      }
      open.push_back({now.kept, now.row + 1, number + 1, left});
      open.push_back({now.kept + 1, now.row, 0, 0});
    }
    for (std::size_t i = tree.size(); i-- > first;)
      if (tree[i].left > 0) tree[i].stages = tree[i + 1].stages + tree[tree[i].left].stages;
  }
  [[nodiscard, gnu::cold]] std::vector<action> written() const {
    std::vector<action> plan;
    value_list<node> tree;
    value_list<std::size_t> roots;
    auto splits = best_.splits;
    std::int64_t rest = best_.rest, left = best_.kept == 0 ? 0 : stages_ - tail(best_.kept), at = 0;
    for (std::int64_t k = 0; k < best_.kept; ++k) {
      roots.push_back(tree.size());
      if (splits.empty())
        tree.push_back({(std::min)(tapes(k), left - (best_.kept - 1 - k)), 0}), left -= tree.back().stages;
      else grow(k, splits, rest, tree);
      append_run(plan, at, at + tree[roots.back()].stages);
      at += tree[roots.back()].stages;
    }
    append_records(plan, at, stages_);
    plan.push_back(chain_actions::turn(stages_));
    append_adjoints(plan, at, stages_);
    for (std::size_t k = roots.size(); k-- > 0;) {
      if (at < stages_) plan.push_back(chain_actions::drop(at));
      at -= tree[roots[k]].stages;
      reverse(plan, tree, roots[k], at);
    }
    return plan;
  }
  [[gnu::cold]] static void reverse(std::vector<action>& plan, value_list<node> const& tree, std::size_t root,
                                    std::int64_t from) {
    struct part { std::size_t number; std::int64_t from; bool is_drop; };
    value_list<part> open{{root, from, false}};
    while (!open.empty()) {
      part const now = open.back();
      open.pop_back();
      node const& here = tree[now.number];
      if (now.is_drop) {
        plan.push_back(chain_actions::drop(now.from));
      } else if (here.left == 0) {
        append_records(plan, now.from, now.from + here.stages);
        append_adjoints(plan, now.from, now.from + here.stages);
      } else {
        std::int64_t const kept = now.from + tree[here.left].stages;
        append_run(plan, now.from, kept);
        open.push_back({here.left, now.from, false});
        open.push_back({now.number, kept, true});
        open.push_back({now.number + 1, kept, false});
      }
    }
  }

  std::int64_t stages_, budget_;
  bool keeps_tapes_;
  std::int64_t loss_need_;  ///< bytes of the loss
  std::int64_t x_ = 0, s_ = 0, u_ = 0;
  std::int64_t need_ = 0;       ///< bytes to record a stage and run its adjoint
  std::int64_t tail_need_ = 0;  ///< the same before the loss, with no adjoint beside the recorded run
  std::int64_t last_ = -1;      ///< most states kept while a stage can still be recorded; negative if none can
  shape best_;
};

/// The fastest persistent plan of a uniform chain; nothing if none keeps within the budget. See `uniform_chain`.
/// \pre is_uniform(model)
/// Cost: O(L); the actions are written on demand
/// \param keeps_tapes  whether tapes may outlive their own adjoint
[[nodiscard, gnu::cold]] inline std::optional<uniform_chain> uniform_plan(chain_model const& model, std::int64_t budget,
                                                                          bool keeps_tapes = true) {
  uniform_chain plan{model, budget, keeps_tapes};
  if (!plan.feasible()) return {};
  return plan;
}

}  // namespace cairn::detail
