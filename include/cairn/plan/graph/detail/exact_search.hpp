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

namespace cairn::detail {

/// Shortest paths between places (adjoints still to run, set of kept values), guided by the time of values that are yet
/// to be read and are not kept.   Cost: up to (n + 2) 2^n places and n steps from each; loose budgets take few of them.
class exact_search {
 public:
  static constexpr std::size_t most_operations = 18;

  /// \pre model.count <= most_operations   \param model  must outlive the search
  explicit exact_search(graph_model const& model) : model_{model}, count_{model.count} {
    std::size_t const sets = std::size_t{1} << count_;
    bytes_.assign(sets, 0);
    for (std::size_t k = 1; k < sets; ++k)
      bytes_[k] = bytes_[k & (k - 1)] + model.bytes[std::size_t(std::countr_zero(k))];
    inputs_.resize(count_ + 1), needs_.resize(count_ + 1), to_read_.assign(count_ + 2, 0);
    for (std::size_t v = 0; v <= count_; ++v) {
      for (std::size_t const read : model.inputs[v]) inputs_[v] |= 1u << read;
      for (std::size_t const read : model.needs[v]) needs_[v] |= 1u << read;
      to_read_[v + 1] = to_read_[v] | needs_[v];
    }
  }

  /// The runs of a plan with the least makespan whose peak is at most `budget`; nothing where there is none.
  [[nodiscard]] std::optional<run_order> fastest(std::int64_t budget) {
    budget_ = budget, by_peak_ = false;
    return search();
  }
  /// The least peak of any plan.
  [[nodiscard]] std::int64_t least_peak() {
    if (!least_) {
      budget_ = unreachable, by_peak_ = true;
      (void)search();
      least_ = found_;
    }
    return *least_;
  }

 private:
  using set = std::uint32_t;
  /// How a place was reached: an adjoint, whose value was kept or not, or drops + v, or computes + v.
  static constexpr std::uint8_t goes_back = 0, goes_back_kept = 1, drops = 2, computes = 34;

  [[nodiscard]] std::size_t place(std::size_t remaining, set kept) const noexcept {
    return (remaining << count_) | kept;
  }
  /// No plan takes less time from here: values that adjoints are yet to read must be made where they are not kept, and
  /// so must what these are made of.
  [[nodiscard]] std::int64_t still(std::size_t remaining, set kept) const noexcept {
    if (by_peak_) return 0;
    std::int64_t sum = 0;
    set missing = to_read_[remaining] & ~kept;
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
    cost_.assign((count_ + 2) << count_, unreachable);
    step_.assign(cost_.size(), 0);
    next_ = {};
    reach(count_ + 1, 0, 0, 0, 0, goes_back);
    while (!next_.empty()) {
      auto const [bound, number] = next_.top();
      next_.pop();
      std::size_t const remaining = number >> count_;
      set const kept = set(number & ((std::size_t{1} << count_) - 1));
      std::int64_t const cost = cost_[number];
      if (bound > cost + still(remaining, kept)) continue;
      if (remaining == 0) {
        found_ = cost;
        return path(number);
      }
      leave(remaining, kept, cost);
    }
    return {};
  }
  void leave(std::size_t remaining, set kept, std::int64_t cost) {
    std::int64_t const held = bytes_[kept];
    bool is_short = by_peak_;  // of room: a drop can wait until something does not fit
    std::size_t const next = remaining - 1;
    if ((needs_[next] & ~kept) == 0) {
      std::int64_t const peak = held + model_.back_work[next];
      set const own = next < count_ ? kept & (set{1} << next) : 0;
      if (peak <= budget_) reach(next, kept & ~own, cost, 0, peak, own != 0 ? goes_back_kept : goes_back);
      is_short = is_short || peak > budget_;
    }
    for (std::size_t v = 0; v < count_ && v < remaining; ++v) {
      set const bit = set{1} << v;
      if ((kept & bit) != 0 || (inputs_[v] & ~kept) != 0) continue;
      std::int64_t const peak = held + model_.bytes[v] + model_.work[v] + model_.open[remaining];
      if (peak <= budget_) reach(remaining, kept | bit, cost, model_.time[v], peak, std::uint8_t(computes + v));
      is_short = is_short || peak > budget_;
    }
    if (!is_short) return;
    for (set rest = kept; rest != 0; rest &= rest - 1) {
      std::size_t const v = std::size_t(std::countr_zero(rest));
      reach(remaining, kept & ~(set{1} << v), cost, 0, 0, std::uint8_t(drops + v));
    }
  }
  [[nodiscard]] run_order path(std::size_t number) const {
    run_order runs;
    set kept = set(number & ((std::size_t{1} << count_) - 1));
    std::size_t remaining = number >> count_;
    while (remaining != count_ + 1 || kept != 0) {
      std::uint8_t const step = step_[place(remaining, kept)];
      if (step >= computes) {
        std::size_t const v = std::size_t(step - computes);
        runs.push_back(graph_actions::advance(step_index(v)));
        kept &= ~(set{1} << v);
      } else if (step >= drops) {
        kept |= set{1} << (step - drops);
      } else {
        std::size_t const v = remaining;
        runs.push_back(v == count_ ? graph_actions::turn(step_index(v)) : graph_actions::reverse(step_index(v)));
        if (step == goes_back_kept) kept |= set{1} << v;
        remaining = v + 1;
      }
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  graph_model const& model_;
  std::size_t count_;
  std::vector<set> inputs_, needs_, to_read_;
  std::vector<std::int64_t> bytes_, cost_;
  std::vector<std::uint8_t> step_;
  std::int64_t budget_ = 0, found_ = 0;
  bool by_peak_ = false;
  std::optional<std::int64_t> least_;
  using entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next_;
};

}  // namespace cairn::detail
