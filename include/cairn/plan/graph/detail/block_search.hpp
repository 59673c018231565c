// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file block_search.hpp  The options of a few operations in a row: what they can keep for their adjoints, and the
/// cost of each choice.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>

namespace cairn::detail {

/// One way to run operations [from, to) and, later, their adjoints. Values from before the block are kept by the caller
/// and not counted here.
struct block_candidate {
  std::size_t from = 0, to = 0;
  std::uint32_t keep = 0;          ///< bit k: value from + k stays for the adjoints; the bits above are tapes in order
  std::int64_t kept = 0;           ///< bytes of these values and tapes
  std::int64_t forward_peak = 0;   ///< bytes while the operations run, without adjoints
  std::int64_t backward_peak = 0;  ///< bytes while the adjoints run, with all adjoints
  std::int64_t time = 0;           ///< of all operations run: forward, and again to make what is missing
};

/// The options of a block, without those that another option beats in everything.
struct block_candidates {
  std::vector<block_candidate> open;  ///< options that keep all values read after the block
  std::vector<block_candidate> closing;  ///< for a block whose adjoints come right after its operations
};

/// Finds all options of a block of a few operations. For each set of kept values and tapes: one forward run in order,
/// which drops values after their last reader, and the fastest reverse sweep under each limit on its peak, by search
/// over every set.   Cost: some 2^w w per limit for w values and tapes.
class block_search {
 public:
  static constexpr std::size_t most_operations = 10;
  static constexpr std::int64_t most_limits = 64;

  /// Number of operations and tapes of a block.
  [[nodiscard]] static std::size_t width_of(graph_model const& model, std::size_t from, std::size_t to) noexcept {
    std::size_t width = to - from;
    for (std::size_t v = from; v < to; ++v) width += model.tape[v] > 0;
    return width;
  }
  /// \pre from < to <= model.count + 1, width_of(model, from, to) <= most_operations
  /// \param model  must outlive the search
  block_search(graph_model const& model, std::size_t from, std::size_t to)
      : model_{model}, from_{from}, to_{to}, width_{to - from}, inputs_(width_), needs_(width_), tapes_(width_) {
    // The loss makes no value: it has a place in the order of adjoints, but no bit.
    values_ = items_ = (std::min)(to, model.count) - from;
    std::vector<std::int64_t> sizes;
    for (std::size_t k = 0; k < values_; ++k) sizes.push_back(model.bytes[from + k]);
    for (std::size_t k = 0; k < values_; ++k)
      if (model.tape[from + k] > 0) tapes_[k] = set{1} << items_++, sizes.push_back(model.tape[from + k]);
    bytes_.assign(std::size_t{1} << items_, 0);
    for (std::size_t k = 1; k < bytes_.size(); ++k)
      bytes_[k] = bytes_[k & (k - 1)] + sizes[std::size_t(std::countr_zero(k))];
    for (std::size_t k = 0; k < width_; ++k) {
      for (std::size_t const read : model.inputs[from + k])
        if (read >= from) inputs_[k] |= 1u << (read - from);
      for (std::size_t const read : model.needs[from + k])
        if (read >= from) needs_[k] |= 1u << (read - from);
      needs_[k] |= tapes_[k];
    }
  }

  [[nodiscard]] block_candidates candidates() {
    block_candidates choice;
    set const sets = set{1} << items_;
    set after = 0;  // values read after the block
    for (std::size_t k = 0; k < values_; ++k)
      if (model_.last_reader[from_ + k] >= to_) after |= set{1} << k;
    std::vector<block_candidate> opens(sets), closings(sets);
    for (set keep = 0; keep < sets; ++keep)
      opens[keep] = forward(keep, all_values()), closings[keep] = forward(keep, needed_for(keep));
    std::int64_t limit = unreachable, step = 1;
    for (std::int64_t tries = 0; tries <= most_limits; ++tries) {
      go_back_within(limit);
      std::int64_t highest = 0;
      for (set keep = 0; keep < sets; ++keep) {
        auto const at = place(width_, keep);
        if (time_[at] >= unreachable) continue;
        highest = (std::max)(highest, peak_[at]);
        for (auto const* forward : {&opens[keep], &closings[keep]}) {
          if (forward == &opens[keep] && (to_ > model_.count || (keep & after) != after)) continue;
          block_candidate whole = *forward;
          whole.backward_peak = peak_[at];
          whole.time += time_[at];
          (forward == &opens[keep] ? choice.open : choice.closing).push_back(whole);
        }
      }
      if (highest == 0) break;
      if (tries == 0) step = std::max<std::int64_t>(1, (highest - model_.open[from_]) / most_limits);
      limit = highest - step;
    }
    keep_the_best(choice.open);
    keep_the_best(choice.closing);
    return choice;
  }
  /// Appends the runs that make what an option keeps.
  void run_forward(block_candidate const& of, bool closing, run_order& runs) const {
    set const run = closing ? needed_for(of.keep) : all_values();
    for (std::size_t k = 0; k < values_; ++k)
      if (run >> k & 1u) runs.push_back(graph_actions::advance(step_index(from_ + k)));
  }
  /// Appends the adjoints, and the runs that make what they miss.
  void run_backward(block_candidate const& of, run_order& runs) {
    go_back_within(of.backward_peak);
    std::size_t left = width_;
    set kept = of.keep;
    while (left > 0) {
      std::uint8_t const move = move_[place(left, kept)];
      if (move == goes_back) {
        std::size_t const v = from_ + left - 1;
        runs.push_back(v == model_.count ? graph_actions::turn(step_index(v)) : graph_actions::reverse(step_index(v)));
        --left;
        if (left < values_) kept &= ~(set{1} << left | tapes_[left]);
      } else if (move >= computes) {
        std::size_t const k = move % 16u;
        runs.push_back(graph_actions::advance(step_index(from_ + k)));
        kept |= set{1} << k | (move >= records ? tapes_[k] : 0);
      } else {
        kept &= ~(set{1} << (move - drops));
      }
    }
  }

 private:
  using set = std::uint32_t;
  static constexpr std::uint8_t goes_back = 0, drops = 1, computes = 16, records = 32;

  [[nodiscard]] std::size_t place(std::size_t left, set kept) const noexcept { return (left << items_) | kept; }
  [[nodiscard]] set all_values() const noexcept { return (set{1} << values_) - 1; }
  /// The operations that must run to make these values and tapes. In a block with the loss, these are first runs, and
  /// those of operations that use states outside the graph keep their order.
  [[nodiscard]] set needed_for(set items) const noexcept {
    set values = items & all_values();
    for (std::size_t k = 0; k < values_ && to_ > model_.count; ++k)
      if (model_.is_ordered[from_ + k]) values |= set{1} << k;
    for (std::size_t k = 0; k < values_; ++k)
      if (items & tapes_[k]) values |= set{1} << k;
    for (std::size_t k = values_; k-- > 0;)
      if (values >> k & 1u) values |= inputs_[k];
    return values;
  }
  [[nodiscard]] block_candidate forward(set keep, set run) const noexcept {
    block_candidate of{.from = from_, .to = to_, .keep = keep, .kept = bytes_[keep]};
    set kept = 0;
    for (std::size_t k = 0; k < values_; ++k) {
      if (!(run >> k & 1u)) continue;
      kept |= set{1} << k | (keep & tapes_[k]);
      of.forward_peak = (std::max)(of.forward_peak, bytes_[kept] + model_.work[from_ + k]);
      of.time += model_.time[from_ + k];
      set read = keep;
      for (std::size_t later = k + 1; later < values_; ++later)
        if (run >> later & 1u) read |= inputs_[later];
      kept &= read;
    }
    return of;
  }
  /// Finds the least time to the end for every number of adjoints left and every set of kept values and tapes, among
  /// ways whose peak is at most `limit`; among equally fast ones the least peak.
  void go_back_within(std::int64_t limit) {
    time_.assign((width_ + 1) << items_, unreachable), peak_ = time_;
    move_.assign(time_.size(), goes_back);
    time_[0] = peak_[0] = 0;
    using entry = std::tuple<std::int64_t, std::int64_t, set>;
    std::priority_queue<entry, std::vector<entry>, std::greater<entry>> next;
    for (std::size_t left = 1; left <= width_; ++left) {
      std::size_t const k = left - 1, here = (std::min)(left, values_);
      auto const reach = [&](set kept, std::int64_t time, std::int64_t peak, std::uint8_t move) {
        std::size_t const at = place(left, kept);
        if (peak > limit || std::pair{time, peak} >= std::pair{time_[at], peak_[at]}) return;
        time_[at] = time, peak_[at] = peak, move_[at] = move;
        next.push({time, peak, kept});
      };
      set there = (set{1} << here) - 1;
      for (std::size_t v = 0; v < here; ++v) there |= tapes_[v];
      for (set kept = 0; kept <= there; ++kept) {
        if ((kept & ~there) != 0 || (needs_[k] & ~kept) != 0) continue;
        std::size_t const after = place(k, k < values_ ? kept & ~(set{1} << k | tapes_[k]) : kept);
        if (time_[after] < unreachable)
          reach(kept, time_[after], (std::max)(peak_[after], bytes_[kept] + model_.back_work[from_ + k]), goes_back);
      }
      while (!next.empty()) {
        auto const [time, peak, kept] = next.top();
        next.pop();
        std::size_t const at = place(left, kept);
        if (std::pair{time, peak} > std::pair{time_[at], peak_[at]}) continue;
        for (std::size_t v = 0; v < here; ++v) {
          set const bit = set{1} << v;
          if (tapes_[v] != 0 && !(kept & tapes_[v]))
            reach(kept | tapes_[v], time, peak, std::uint8_t(drops + std::countr_zero(tapes_[v])));
          if (!(kept & bit)) {
            reach(kept | bit, time, peak, std::uint8_t(drops + v));
          } else if ((inputs_[v] & ~kept) == 0) {
            std::int64_t const longer = time + model_.time[from_ + v];
            std::int64_t const higher =
                (std::max)(peak, bytes_[kept] + model_.work[from_ + v] + model_.open[from_ + left]);
            reach(kept & ~bit, longer, higher, std::uint8_t(computes + v));
            if (kept & tapes_[v]) {  // the run also makes the tape, and its value may replace the kept one
              reach(kept & ~bit & ~tapes_[v], longer, higher, std::uint8_t(records + v));
              reach(kept & ~tapes_[v], longer, higher, std::uint8_t(records + v));
            }
          }
        }
      }
    }
  }
  static void keep_the_best(std::vector<block_candidate>& options) {
    auto const order = [](block_candidate const& o) {
      return std::tuple{o.time, o.kept, o.backward_peak, o.forward_peak};
    };
    std::sort(options.begin(), options.end(), [&](auto const& a, auto const& b) { return order(a) < order(b); });
    std::vector<block_candidate> best;
    for (auto const& o : options) {
      bool const is_worse = std::any_of(best.begin(), best.end(), [&](block_candidate const& p) {
        return p.time <= o.time && p.kept <= o.kept && p.backward_peak <= o.backward_peak &&
               p.forward_peak <= o.forward_peak;
      });
      if (!is_worse) best.push_back(o);
    }
    options = std::move(best);
  }

  graph_model const& model_;
  std::size_t from_, to_, width_, values_ = 0, items_ = 0;
  std::vector<set> inputs_, needs_;
  std::vector<set> tapes_;  ///< the bit of each tape, above those of values; 0 if there is none
  std::vector<std::int64_t> bytes_, time_, peak_;
  std::vector<std::uint8_t> move_;
};

}  // namespace cairn::detail
