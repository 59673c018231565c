// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lower_set_table.hpp  The best plan for a graph among those that keep, for a range of operations that has run,
/// the values read after it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/block_search.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// The places between which a graph is planned, and the options of its blocks. A place is a number of operations run,
/// which Kusumoto, Inoue, Watanabe, Akiba, Koyama (2019) call a lower set; its boundary is the set of values read after
/// it. If the boundary is one value, the place is a cut, and a block lies between two cuts.
struct graph_blocks {
  std::vector<std::size_t> places;  ///< 0 = first < ... < n, the place before the loss, and n + 1
  std::vector<std::vector<block_candidate>> open, closing;  ///< by the place at which they begin; `to` is an operation
  std::size_t cuts = 0;                                     ///< places that are cuts

  /// \param most_block  most operations of a block that is searched   \param most_places  with more places, some are
  ///   left out
  /// \param meter  counts the work; null for no limit
  graph_blocks(graph_model const& model, std::size_t most_block, std::size_t most_places, work_meter* meter = nullptr) {
    std::size_t const count = model.count;
    std::vector<std::int64_t> boundary(count + 1);
    for (std::size_t p = 1; p <= count; ++p)
      for (std::size_t v = 0; v < p; ++v)
        if (model.last_reader[v] >= p) boundary[p] += model.bytes[v];
    std::size_t const apart = (count + most_places - 1) / std::max<std::size_t>(1, most_places);
    places.push_back(0);
    for (std::size_t p = 1; p < count;) {  // of `apart` places in a row the one with the smallest boundary
      std::size_t const end = (std::min)(count, p + apart);
      std::size_t best = p;
      for (std::size_t q = p; q < end; ++q)
        if (boundary[q] < boundary[best]) best = q;
      places.push_back(best);
      p = end;
    }
    if (count > 0) places.push_back(count);
    places.push_back(count + 1);
    open.resize(places.size()), closing.resize(places.size());
    for (std::size_t k = 0; k + 1 < places.size(); ++k) add(model, k, places[k + 1], meter);
    std::size_t last_cut = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] != count + 1 && !model.is_cut(places[k])) continue;
      ++cuts;
      if (k > last_cut + 1 && block_search::width_of(model, places[last_cut], places[k]) <= most_block)
        add(model, last_cut, places[k], meter);
      last_cut = k;
    }
  }

 private:
  void add(graph_model const& model, std::size_t at, std::size_t to, work_meter* meter) {
    std::size_t const from = places[at], width = block_search::width_of(model, from, to);
    count_work(meter, wide{1} << (std::min)(width + 14, std::size_t{24}));
    if (width > block_search::most_operations) {
      add_store_all(model, at, to);
      return;
    }
    block_candidates const choice = block_search{model, from, to}.candidates();
    open[at].insert(open[at].end(), choice.open.begin(), choice.open.end());
    closing[at].insert(closing[at].end(), choice.closing.begin(), choice.closing.end());
  }
  /// Adds the only option of a long block: everything is kept.
  void add_store_all(graph_model const& model, std::size_t at, std::size_t to) {
    block_candidate all{.from = places[at], .to = to};
    for (std::size_t v = all.from; v < to; ++v) {
      all.kept += model.bytes[v] + model.tape[v];
      all.time += model.time[v];
      all.forward_peak = (std::max)(all.forward_peak, all.kept + model.work[v]);
      all.backward_peak = (std::max)(all.backward_peak, all.kept + model.back_work[v]);
    }
    open[at].push_back(all);
    closing[at].push_back(all);
  }
};

/// Sub-problem (s, t, m) of a dynamic program: the caller keeps the boundary of place s, and m bytes are free, which
/// include the adjoints that exist before those of ranges t..s run. The least time to run these ranges is the minimum
/// over
/// - an option of a block from s: its time + (to, t, m - kept);
/// - a place j, s < j <= t: the ranges s..j-1 run once and the boundary of j is kept: their time + (j, t, m - new
///   boundary) + (s, j-1, m).
/// This is the recurrence of Beaumont et al. (2019) for chains, with boundaries for states; one level of it is the
/// dynamic program over lower sets. Time is a step function of m; its steps are stored and computed on demand, exact in
/// bytes.
class lower_set_table {
 public:
  /// \param unit  bytes that sizes are rounded up to; 1 for none   \param effort  the table gives up after visiting
  ///   this many choices   \param model, blocks  must outlive the table   \param meter  counts the work; null for no
  ///   limit
  lower_set_table(graph_model const& model, graph_blocks const& blocks, std::int64_t unit, std::uint64_t effort,
                  work_meter* meter = nullptr)
      : model_{model}, blocks_{blocks}, unit_{unit}, effort_{effort}, meter_{meter}, ranges_{blocks.places.size() - 1},
        steps_(ranges_ * ranges_), least_(ranges_ * ranges_), quick_(ranges_ * ranges_), boundary_(least_),
        through_(least_), open_(blocks.open), closing_(blocks.closing) {
    for (auto* side : {&open_, &closing_})
      for (auto& options : *side)
        for (auto& o : options) {
          o.kept = units(o.kept), o.forward_peak = units(o.forward_peak), o.backward_peak = units(o.backward_peak);
          o.to =
              std::size_t(std::lower_bound(blocks.places.begin(), blocks.places.end(), o.to) - blocks.places.begin());
        }
    measure();
    for (std::size_t t = 0; t < ranges_; ++t)
      for (std::size_t s = t + 1; s-- > 0;) {
        count_work(meter_, wide(open_[s].size() + closing_[s].size() + t - s));
        bound(s, t);
      }
  }

  /// The least budget for which the table finds a plan.
  [[nodiscard]] std::int64_t least_budget() const noexcept { return least_[ranges_ - 1] * unit_; }
  /// The least time within the budget, without the times of adjoints; nothing if no plan is found or the effort is
  /// spent.
  [[nodiscard]] std::optional<std::int64_t> time(std::int64_t budget) {
    found const best = find(0, ranges_ - 1, budget / unit_);
    if (gave_up_ || best.time >= unreachable) return {};
    return best.time;
  }
  /// Whether the effort is spent; `time` then finds no plan.
  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }
  /// The runs of a plan within the budget. \pre time(budget)
  [[nodiscard]] run_order runs(std::int64_t budget) {
    run_order order;
    write(0, ranges_ - 1, budget / unit_, order);
    return order;
  }

 private:
  /// A step: the time is the same for all m in [low, high).
  struct found {
    std::int64_t time, low, high;
    std::int32_t choice = 0;  ///< the number of an option of block s, or -j for a place j
  };

  [[nodiscard]] std::int64_t units(std::int64_t bytes) const noexcept { return bytes / unit_ + (bytes % unit_ != 0); }
  [[nodiscard]] std::size_t at(std::size_t s, std::size_t t) const noexcept { return s * ranges_ + t; }
  [[nodiscard]] std::int64_t run(std::size_t s, std::size_t j) const noexcept { return sum_[j] - sum_[s]; }

  /// boundary_(s, j): bytes of values of ranges s..j-1 that are read after these ranges. through_(s, j): bytes while
  /// the ranges run.
  void measure() {
    std::vector<std::vector<std::size_t>> ends(model_.count + 1);
    for (std::size_t v = 0; v < model_.count; ++v) ends[model_.last_reader[v]].push_back(v);
    sum_.push_back(0);
    for (std::size_t k = 0; k < ranges_; ++k) {
      std::int64_t sum = sum_.back();
      for (std::size_t v = blocks_.places[k]; v < blocks_.places[k + 1]; ++v) sum += model_.time[v];
      sum_.push_back(sum);
    }
    for (std::size_t k = 0; k < ranges_; ++k) behind_.push_back(units(model_.open[blocks_.places[k + 1]]));
    for (std::size_t s = 0; s < ranges_; ++s) {
      std::int64_t live = 0, peak = 0;
      std::size_t const from = blocks_.places[s];
      std::size_t j = s + 1;
      for (std::size_t v = from; v < model_.count && j < ranges_; ++v) {
        live += model_.bytes[v];
        peak = (std::max)(peak, live + model_.work[v]);
        for (std::size_t const over : ends[v])
          if (over >= from) live -= model_.bytes[over];
        if (v + 1 != blocks_.places[j]) continue;
        boundary_[at(s, j)] = units(live);
        through_[at(s, j)] = units(peak);
        ++j;
      }
    }
  }
  /// Finds the least feasible m, the least time, and an m that is enough for it. Smaller ranges must be done first.
  void bound(std::size_t s, std::size_t t) {
    std::int64_t least = unreachable;
    found quick{unreachable, unreachable, unreachable};
    auto const offer = [&](std::int64_t time, std::int64_t bytes, std::size_t choice) {
      if (std::pair{time, bytes} < std::pair{quick.time, quick.low})
        quick = {time, bytes, unreachable, std::int32_t(choice)};
    };
    for (std::size_t k = 0; k < closing_[s].size(); ++k) {
      block_candidate const& o = closing_[s][k];
      if (o.to != t + 1) continue;
      std::int64_t const need = (std::max)(behind_[t] + o.forward_peak, o.backward_peak);
      least = (std::min)(least, need);
      offer(o.time, need, k);
    }
    for (std::size_t k = 0; k < open_[s].size(); ++k) {
      block_candidate const& o = open_[s][k];
      if (o.to > t) continue;
      std::int64_t const need = (std::max)(behind_[t] + o.forward_peak, o.backward_peak);
      least = (std::min)(least, (std::max)(need, o.kept + least_[at(o.to, t)]));
      offer(o.time + quick_[at(o.to, t)].time, (std::max)(need, o.kept + quick_[at(o.to, t)].low),
            closing_[s].size() + k);
    }
    for (std::size_t j = s + 1; j <= t; ++j)
      least = (std::min)(least, (std::max)({behind_[t] + through_[at(s, j)], boundary_[at(s, j)] + least_[at(j, t)],
                                            least_[at(s, j - 1)]}));
    least_[at(s, t)] = least, quick_[at(s, t)] = quick;
  }
  [[nodiscard]] found find(std::size_t s, std::size_t t, std::int64_t m) {
    std::size_t const cell = at(s, t);
    if (m < least_[cell]) return {unreachable, 0, least_[cell]};
    if (m >= quick_[cell].low) return quick_[cell];
    auto const place_of = [&] {
      return std::upper_bound(steps_[cell].begin(), steps_[cell].end(), m,
                              [](std::int64_t bytes, found const& step) { return bytes < step.low; });
    };
    auto const next = place_of();
    if (next != steps_[cell].begin() && m < std::prev(next)->high) return *std::prev(next);
    found const best = choose(s, t, m);
    if (!gave_up_) steps_[cell].insert(place_of(), best);
    return best;
  }
  /// \pre least_ <= m < quick_.low of (s, t)
  [[nodiscard]] found choose(std::size_t s, std::size_t t, std::int64_t m) {
    found best{unreachable, m, quick_[at(s, t)].low};
    auto const refuse = [&](std::int64_t need) { best.high = (std::min)(best.high, need); };
    auto const take = [&](std::int64_t time, std::int64_t low, std::int32_t choice) {
      if (time < best.time) best.time = time, best.low = low, best.choice = choice;
    };
    for (std::size_t k = 0; k < closing_[s].size(); ++k) {
      block_candidate const& o = closing_[s][k];
      if (o.to != t + 1 || o.time >= best.time) continue;
      std::int64_t const need = (std::max)(behind_[t] + o.forward_peak, o.backward_peak);
      if (m < need) refuse(need);
      else take(o.time, need, std::int32_t(k));
    }
    for (std::size_t k = 0; k < open_[s].size(); ++k) {
      block_candidate const& o = open_[s][k];
      if (o.to > t || o.time + quick_[at(o.to, t)].time >= best.time) continue;
      if (!spend()) return {unreachable, m, m + 1};
      std::int64_t const need =
          (std::max)({behind_[t] + o.forward_peak, o.backward_peak, o.kept + least_[at(o.to, t)]});
      if (m < need) {
        refuse(need);
        continue;
      }
      found const rest = find(o.to, t, m - o.kept);
      refuse(rest.high + o.kept);
      take(o.time + rest.time, (std::max)(need, rest.low + o.kept), std::int32_t(closing_[s].size() + k));
    }
    for (std::size_t j = s + 1; j <= t; ++j) {
      std::int64_t const passed = run(s, j), here = boundary_[at(s, j)];
      if (passed + quick_[at(j, t)].time + quick_[at(s, j - 1)].time >= best.time) continue;
      if (!spend()) return {unreachable, m, m + 1};
      std::int64_t const need =
          (std::max)({behind_[t] + through_[at(s, j)], here + least_[at(j, t)], least_[at(s, j - 1)]});
      if (m < need) {
        refuse(need);
        continue;
      }
      found const right = find(j, t, m - here);
      refuse(right.high + here);
      if (passed + right.time + quick_[at(s, j - 1)].time >= best.time) continue;
      found const left = find(s, j - 1, m);
      refuse(left.high);
      take(passed + right.time + left.time, (std::max)({need, right.low + here, left.low}), -std::int32_t(j));
    }
    return best;
  }
  [[nodiscard]] bool spend() {
    count_work(meter_, sums_for_choice);
    if (effort_ == 0) gave_up_ = true;
    else --effort_;
    return !gave_up_;
  }
  void write(std::size_t s, std::size_t t, std::int64_t m, run_order& order) {
    std::int32_t const choice = find(s, t, m).choice;
    if (choice < 0) {
      std::size_t const j = std::size_t(-choice);
      for (std::size_t v = blocks_.places[s]; v < blocks_.places[j]; ++v)
        order.push_back(graph_actions::advance(step_index(v)));
      write(j, t, m - boundary_[at(s, j)], order);
      write(s, j - 1, m, order);
      return;
    }
    bool const is_closing = std::size_t(choice) < closing_[s].size();
    std::size_t const k = is_closing ? std::size_t(choice) : std::size_t(choice) - closing_[s].size();
    block_candidate const& given = (is_closing ? blocks_.closing : blocks_.open)[s][k];
    bool const is_long = block_search::width_of(model_, given.from, given.to) > block_search::most_operations;
    if (is_long)
      for (std::size_t v = given.from; v < given.to; ++v) order.push_back(graph_actions::advance(step_index(v)));
    else
      block_search{model_, given.from, given.to}.run_forward(given, is_closing, order);
    if (!is_closing) write(open_[s][k].to, t, m - open_[s][k].kept, order);
    if (is_long)
      for (std::size_t v = given.to; v-- > given.from;) order.push_back(graph_actions::reverse(step_index(v)));
    else
      block_search{model_, given.from, given.to}.run_backward(given, order);
  }

  static constexpr unsigned sums_for_choice = 64;  ///< a visit of a choice takes as long as this many sums

  graph_model const& model_;
  graph_blocks const& blocks_;
  std::int64_t unit_;
  std::uint64_t effort_;
  work_meter* meter_;
  bool gave_up_ = false;
  std::size_t ranges_;
  std::vector<std::vector<found>> steps_;
  std::vector<std::int64_t> least_;
  std::vector<found> quick_;
  std::vector<std::int64_t> boundary_, through_, behind_, sum_;
  std::vector<std::vector<block_candidate>> open_, closing_;  ///< in units, `to` a place
};

}  // namespace cairn::detail
