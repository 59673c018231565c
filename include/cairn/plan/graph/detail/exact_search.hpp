// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file exact_search.hpp  The fastest of all plans for a small graph, by search over every set of kept values.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Shortest paths between places, guided by a lower bound on the time left. A place is the number of adjoints still to
/// run with the set of kept values and tapes; the bound is the time to make what is still to be read and not kept.
/// The set also has a mark for each operation that has run, if its states give it a place among others. Marks stay.
/// Cost: up to (n + 2) 2^k places for k values, tapes and marks, and k steps from each; loose budgets visit few of
/// them.
class exact_search {
 public:
  static constexpr std::size_t most_items = 18;  ///< values, tapes and marks

  /// Number of values, tapes and marks of a graph.
  [[nodiscard]] static std::size_t items_of(graph_model const& model) noexcept {
    auto const some = [](auto const& list) {
      return std::size_t(std::count_if(list.begin(), list.end(), [](auto one) { return one > 0; }));
    };
    return model.count + some(model.tape) + some(model.is_ordered);
  }
  /// \pre items_of(model) <= most_items   \param model  must outlive the search   \param meter  counts the work; null
  /// for no limit
  explicit exact_search(graph_model const& model, work_meter* meter = nullptr)
      : model_{model}, meter_{meter}, count_{model.count}, items_{items_of(model)}, tapes_(model.count + 1),
        marks_(model.count), before_(model.count) {
    std::vector<std::int64_t> sizes(model.bytes.begin(), model.bytes.begin() + std::ptrdiff_t(count_));
    for (std::size_t v = 0; v < count_; ++v) {
      if (model.tape[v] == 0) continue;
      tapes_[v] = set{1} << sizes.size();
      sizes.push_back(model.tape[v]);
    }
    droppable_ = (set{1} << sizes.size()) - 1;
    for (std::size_t v = 0; v < count_; ++v) {
      for (std::size_t const u : model.before[v]) before_[v] |= marks_[u];
      if (!model.is_ordered[v]) continue;
      marks_[v] = set{1} << sizes.size();
      sizes.push_back(0);
    }
    std::size_t const sets = std::size_t{1} << items_;
    bytes_.assign(sets, 0);
    for (std::size_t k = 1; k < sets; ++k) bytes_[k] = bytes_[k & (k - 1)] + sizes[std::size_t(std::countr_zero(k))];
    inputs_.resize(count_ + 1), needs_.resize(count_ + 1), to_read_.assign(count_ + 2, 0);
    for (std::size_t v = 0; v <= count_; ++v) {
      for (std::size_t const read : model.inputs[v]) inputs_[v] |= 1u << read;
      for (std::size_t const read : model.needs[v]) needs_[v] |= 1u << read;
      needs_[v] |= tapes_[v];
      to_read_[v + 1] = to_read_[v] | needs_[v];
    }
  }

  /// The runs of a plan with the least makespan whose peak is at most `budget`; nothing if there is none.
  [[nodiscard]] std::optional<run_order> fastest(std::int64_t budget) {
    budget_ = budget, by_peak_ = false;
    return search();
  }
  /// The runs of a plan with the least peak.
  [[nodiscard]] run_order leanest() {
    budget_ = unreachable, by_peak_ = true;
    return *search();
  }

 private:
  using set = std::uint32_t;
  /// How a place was reached: by an adjoint, whose value was kept or not; by dropping an item; by running operation v
  /// without its tape, with its tape, or for its tape while its value was kept; a run may be the first, with a mark.
  static constexpr std::uint8_t goes_back = 0, goes_back_kept = 1, drops = 2, computes = 32, records = 64,
                                records_again = 96, is_first = 128;

  [[nodiscard]] std::size_t place(std::size_t remaining, set kept) const noexcept {
    return (remaining << items_) | kept;
  }
  /// A lower bound on the time from here: values that adjoints are still to read must be made if they are not kept, and
  /// so must the values that these are made from.
  [[nodiscard]] std::int64_t still(std::size_t remaining, set kept) const noexcept {
    if (by_peak_) return 0;
    std::int64_t sum = 0;
    set missing = to_read_[remaining] & ~kept;
    if (droppable_ >> count_ != 0) {  // to make a missing tape, its operation must run
      set const tapes = missing >> count_ << count_;
      missing ^= tapes;
      for (std::size_t v = 0; v < count_; ++v)
        if (tapes & tapes_[v]) missing |= set{1} << v;
    }
    while (missing != 0) {
      std::size_t const v = std::size_t(std::bit_width(missing)) - 1;
      sum += model_.time[v];
      missing = (missing & ~(set{1} << v)) | (inputs_[v] & ~kept);
    }
    return sum;
  }
  void reach(std::size_t remaining, set kept, std::int64_t from_cost, std::int64_t time, std::int64_t peak,
             std::uint8_t step) {
    std::int64_t const cost = by_peak_ ? (std::max)(from_cost, peak) : from_cost + time;
    std::size_t const number = place(remaining, kept);
    if (cost >= cost_[number]) return;
    cost_[number] = cost;
    step_[number] = step;
    next_.push({cost + still(remaining, kept), number});
  }
  [[nodiscard]] std::optional<run_order> search() {
    count_work(meter_, wide{count_ + 2} << items_);
    cost_.assign((count_ + 2) << items_, unreachable);
    step_.assign(cost_.size(), 0);
    next_ = {};
    reach(count_ + 1, 0, 0, 0, 0, goes_back);
    while (!next_.empty()) {
      auto const [bound, number] = next_.top();
      next_.pop();
      count_work(meter_, 32 * items_);
      std::size_t const remaining = number >> items_;
      set const kept = set(number & ((std::size_t{1} << items_) - 1));
      std::int64_t const cost = cost_[number];
      if (bound > cost + still(remaining, kept)) continue;
      if (remaining == 0) return path(number);
      leave(remaining, kept, cost);
    }
    return {};
  }
  void leave(std::size_t remaining, set kept, std::int64_t cost) {
    bool is_short = by_peak_;  // whether something does not fit; until then a drop can wait
    std::size_t const next = remaining - 1;
    if ((needs_[next] & ~kept) == 0) {
      std::int64_t const peak = bytes_[kept] + model_.back_work[next];
      set const own = next < count_ ? kept & (set{1} << next) : 0;
      if (peak <= budget_)
        reach(next, kept & ~(own | tapes_[next]), cost, 0, peak, own != 0 ? goes_back_kept : goes_back);
      is_short = is_short || peak > budget_;
    }
    for (std::size_t v = 0; v < count_ && v < remaining; ++v) {
      set const bit = set{1} << v;
      if ((inputs_[v] & ~kept) != 0) continue;
      bool const first = (marks_[v] & ~kept) != 0;
      if (first && (before_[v] & ~kept) != 0) continue;
      auto const run = [&](set made, std::uint8_t step) {
        made |= marks_[v];
        if (first) step = std::uint8_t(step + is_first);
        std::int64_t const peak = bytes_[kept | made] + model_.work[v] + model_.open[remaining];
        if (peak <= budget_) reach(remaining, kept | made, cost, model_.time[v], peak, std::uint8_t(step + v));
        is_short = is_short || peak > budget_;
      };
      if (!(kept & bit)) run(bit, computes);
      if (tapes_[v] != 0 && !(kept & tapes_[v])) run(bit | tapes_[v], kept & bit ? records_again : records);
    }
    if (!is_short) return;
    for (set rest = kept & droppable_; rest != 0; rest &= rest - 1) {
      std::size_t const v = std::size_t(std::countr_zero(rest));
      reach(remaining, kept & ~(set{1} << v), cost, 0, 0, std::uint8_t(drops + v));
    }
  }
  [[nodiscard]] run_order path(std::size_t number) const {
    run_order runs;
    set kept = set(number & ((std::size_t{1} << items_) - 1));
    std::size_t remaining = number >> items_;
    while (remaining != count_ + 1 || kept != 0) {
      std::uint8_t step = step_[place(remaining, kept)];
      if (step >= computes) {
        std::size_t const v = step % 32u;
        if (step >= is_first) kept &= ~marks_[v], step = std::uint8_t(step - is_first);
        runs.push_back(graph_actions::advance(step_index(v)));
        if (step < records_again) kept &= ~(set{1} << v);
        if (step >= records) kept &= ~tapes_[v];
      } else if (step >= drops) {
        kept |= set{1} << (step - drops);
      } else {
        std::size_t const v = remaining;
        runs.push_back(v == count_ ? graph_actions::turn(step_index(v)) : graph_actions::reverse(step_index(v)));
        if (step == goes_back_kept) kept |= set{1} << v;
        kept |= tapes_[v];
        remaining = v + 1;
      }
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  graph_model const& model_;
  work_meter* meter_;
  std::size_t count_, items_;
  std::vector<set> tapes_;  ///< the bit of each tape, above those of values; 0 if there is none
  std::vector<set> marks_, before_;  ///< the mark of each operation, above tapes; those that must stand when it runs
  set droppable_ = 0;                ///< all values and tapes
  std::vector<set> inputs_, needs_, to_read_;
  std::vector<std::int64_t> bytes_, cost_;
  std::vector<std::uint8_t> step_;
  std::int64_t budget_ = 0;
  bool by_peak_ = false;
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next_;
};

}  // namespace cairn::detail
