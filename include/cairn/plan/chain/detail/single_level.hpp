// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file single_level.hpp  The best plan in which each stage is run again at most once: which segments keep no tapes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// In the forward run each stage either keeps its tape, or lies in a segment of which only the first state is kept; the
/// segment is recorded when its adjoints come. The best choice within a budget has the least time of stages in
/// segments.
///
/// At each state, earlier choices matter only by the bytes they hold and the time that will be run again; a choice that
/// has more of both than another is dropped. Cost: O(L^2 n) time and O(L n) memory for at most n choices per state. If
/// there are more, n choices spread over them are kept, and `is_exact` is false.
class single_level {
 public:
  /// \param model  must outlive the object   \param most_choices  most choices kept at each state, >= 2   \param meter
  ///   counts the work; null for no limit   \throws too_much_work
  single_level(chain_model const& model, std::int64_t budget, std::size_t most_choices = 4096,
               work_meter* meter = nullptr)
      : model_{model}, budget_{budget}, most_choices_{most_choices}, fronts_(std::size_t(model.stages) + 1) {
    if (budget >= 0) fronts_[0].push_back({0, 0, -1, 0});
    for (std::int64_t at = 0; at < model.stages; ++at) {
      thin(fronts_[std::size_t(at)]);
      leave(at, meter);
    }
    auto& ends = fronts_.back();
    ends.remove_if([&](choice const& one) { return one.held + model.b.back() > budget; });
    thin(ends);
  }

  [[nodiscard]] bool feasible() const noexcept { return !fronts_.back().empty(); }  ///< whether there is such a plan
  /// Whether the plan is proven to be the best of its kind.
  [[nodiscard]] bool is_exact() const noexcept { return is_exact_; }
  /// Time of stages run again.   \pre feasible()
  [[nodiscard]] std::int64_t extra_forward() const noexcept { return fronts_.back().back().again; }
  /// The plan.   \pre feasible()
  [[nodiscard, gnu::cold]] std::vector<action> actions() const {
    value_list<chain_segment> again;
    std::int64_t at = model_.stages;
    for (auto const* one = &fronts_.back().back(); one->from >= 0;
         one = &fronts_[std::size_t(one->from)][one->number]) {
      bool const is_tape = one->is_tape;
      if (!is_tape) again.push_back({one->from, at});
      at = one->from;
    }
    std::reverse(again.begin(), again.end());
    return segments_plan(model_, again);
  }

 private:
  struct choice {
    std::int64_t held = 0;    ///< bytes of tapes and kept states
    std::int64_t again = 0;   ///< time of stages without a tape
    std::int64_t from = -1;   ///< the state at which the last tape or segment begins
    std::size_t number = 0;   ///< the number of the choice at `from`
    bool is_tape = false;
  };

  /// Extends the choices at a state to later states.
  void leave(std::int64_t at, work_meter* meter) {
    std::size_t const a = std::size_t(at);
    auto const& front = fronts_[a];
    if (front.empty()) return;
    std::int64_t const tape = model_.s[a] + (std::max)(model_.f[a], model_.g[a + 1] + model_.b[a]);
    extend(a, a + 1, tape, model_.s[a], 0, true);
    // For the segment from `at` to e: bytes of its tapes, of its recorded run without the adjoint of state e, and of
    // its adjoints. The forward run takes no more than the recorded run, because tapes hold the states.
    std::int64_t tapes = 0, recorded = 0, adjoints = 0;
    for (std::size_t e = a + 1; e < fronts_.size(); ++e) {
      std::size_t const i = e - 1;
      tapes += model_.s[i];
      recorded = (std::max)(recorded, tapes + model_.f[i]);
      adjoints = (std::max)(adjoints, tapes + model_.g[e] + model_.b[i]);
      if (front[0].held + adjoints > budget_) break;
      extend(a, e, (std::max)(model_.g[e] + recorded, adjoints), model_.x[e], model_.run(at, std::int64_t(e)), false);
      count_work(meter, sums_of_a_choice * wide(1 + front.size()), [&] { return double(at) / double(model_.stages); });
    }
  }
  void extend(std::size_t at, std::size_t to, std::int64_t need, std::int64_t held, std::int64_t again, bool is_tape) {
    auto const& front = fronts_[at];
    for (std::size_t k = 0; k < front.size() && front[k].held + need <= budget_; ++k)
      fronts_[to].push_back({front[k].held + held, front[k].again + again, std::int64_t(at), k, is_tape});
    if (fronts_[to].size() > 4 * most_choices_) sift(fronts_[to]);
  }
  /// Keeps the choices that no other one beats: with more bytes, the time falls.
  static void sift(value_list<choice>& front) {
    sort_values(front, [](choice const& one, choice const& other) {
      return one.held != other.held ? one.held < other.held : one.again < other.again;
    });
    std::size_t count = 0;
    for (auto const& one : front)
      if (count == 0 || one.again < front[count - 1].again) front[count++] = one;
    front.resize(count);
  }
  void thin(value_list<choice>& front) {
    sift(front);
    if (front.size() <= most_choices_) return;
    is_exact_ = false;
    for (std::size_t k = 0; k < most_choices_; ++k) front[k] = front[k * (front.size() - 1) / (most_choices_ - 1)];
    front.resize(most_choices_);
  }

  static constexpr wide sums_of_a_choice = 16;  // a choice takes as long as this many sums

  chain_model const& model_;
  std::int64_t budget_;
  std::size_t most_choices_;
  std::vector<value_list<choice>> fronts_;  ///< at each state, with the fewest bytes first
  bool is_exact_ = true;
};

}  // namespace cairn::detail
