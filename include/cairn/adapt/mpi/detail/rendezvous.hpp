// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rendezvous.hpp  A sweep that all ranks run together: they agree before the first step and meet again after the
/// last.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/mpi/collective_error.hpp>
#include <cairn/adapt/mpi/detail/team.hpp>
#include <cairn/rules/open_schedule.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// What ranks compare of their plans.
struct sent_plan {
  plan_comparison by = plan_comparison::nothing;
  plan_fingerprint print;
  std::uint64_t steps = 0, slots = 0, leaf = 0;
  bool kept = false;  ///< whether the run is kept on disk

  void take(std::optional<plan_fingerprint> const& made) {
    by = made ? plan_comparison::fingerprint : plan_comparison::numbers;
    if (made) print = *made;
  }
};
/// The fingerprint of a plan, unless it takes too much work. A function of its own, because g++ 12 drops the previous
/// value of a variable that is assigned inside a try block.
template <class Plan>
[[nodiscard]] std::optional<plan_fingerprint> affordable(Plan const& plan, work_limit const& limit) {
  try {
    return fingerprint(plan, limit);
  } catch (too_much_work const&) {
    return std::nullopt;
  }
}

/// How many first actions are compared of a loop of unknown length, as if it did not end.
inline constexpr std::size_t first_actions = 256;

/// Stands for the plan of a call that has none.
struct without_plan {};

/// What is compared of a plan. A value that is not a plan is not compared: the verb refuses it.
template <class PlanGiven>
[[nodiscard]] sent_plan words_of(PlanGiven const& plan, [[maybe_unused]] work_limit const& limit) {
  sent_plan words;
  if constexpr (std::is_integral_v<PlanGiven>) return words_of(uniform{step_index(plan)}, limit);
  else if constexpr (schedule<PlanGiven>) {
    words.steps = std::uint64_t(plan.steps());
    words.slots = std::uint64_t(plan.slots());
    words.leaf = std::uint64_t(plan.leaf());
    words.take(affordable(plan, limit));
  } else if constexpr (open_schedule<PlanGiven>) {
    words.slots = std::uint64_t(plan.slots());
    words.by = plan_comparison::numbers;
    std::vector<action> first;
    auto walk = plan.walk();
    while (first.size() < first_actions) first.push_back(walk.next());
    words.print = fingerprint(first.data(), first.size());
  } else if constexpr (has_actions<PlanGiven>) {
    auto const& actions = actions_in(plan);
    words.print = fingerprint(actions.data(), actions.size());
    words.by = plan_comparison::fingerprint;
  } else if constexpr (walkable<PlanGiven>) {
    words.take(affordable(plan, limit));
  }
  return words;
}

/// The ranks that run a sweep together, and how they do it.
class rendezvous {
 public:
  explicit rendezvous(MPI_Comm comm) : team_{team::of(comm)} {}

  double patience = 10;  ///< seconds that a failed rank waits for the others, and after which a healthy one says so
  int decider = 0;                                     ///< the rank that decides for all
  work_limit limit{.most_sums = 10'000'000};           ///< most work for a fingerprint
  step_index actions = 0;                              ///< actions from one round to the next; 0 for no rounds
  std::function<bool()> stop;                          ///< whether to end the sweep

  [[nodiscard]] team& ranks() const noexcept { return *team_; }
  [[nodiscard]] plan_comparison compared() const noexcept { return *compared_; }

  /// Runs f() between two rounds. An exception of f ends the sweep on all ranks.
  /// \throws collective_error   on all ranks
  template <class Plan, class Fn>
  auto around(char const* operation, Plan const& plan, Fn&& f, bool kept = false) const {
    return guarded(operation, [&] {
      auto words = words_of(plan, limit);
      words.kept = kept;
      begin(operation, words);
      if constexpr (std::is_void_v<std::invoke_result_t<Fn&>>) {
        f();
        end(operation);
      } else {
        auto result = f();
        end(operation);
        return result;
      }
    });
  }
  /// Calls f; what it throws on one rank is thrown on all, at the next round.
  template <class Fn>
  auto guarded(char const* operation, Fn&& f) const {
    ranks().check_running(operation);
    try {
      return f();
    } catch (collective_error const& known) {
      if (known.among == team_.get()) throw;  // all ranks throw this error already
      leave(operation);
    } catch (stopped const&) {
      leave(operation, collective_cause::stop_request);
    } catch (...) {
      leave(operation);
    }
  }

  /// A round between two actions.
  void between(char const* operation) const { round(operation, occasion::between, {}); }
  /// A round on what is on disk.
  [[nodiscard]] ballot on_disk(char const* operation, ballot const& mine) const {
    return round(operation, occasion::disk, mine);
  }
  /// The decider's answer, on all ranks.
  [[nodiscard]] bool agreed(char const* operation, bool own) const {
    ballot mine;
    if (ranks().rank() == decider) mine.put(0, own ? 1 : 0);
    return round(operation, occasion::length, mine).least(0) == 1;
  }
  /// The decider's value, on all ranks.
  template <class Value>
  [[nodiscard]] Value chosen(char const* operation, Value own) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    constexpr std::size_t word = sizeof(std::uint64_t), words = (sizeof(Value) + word - 1) / word;
    bool const decides = ranks().rank() == decider;
    if constexpr (words > ballot::most_values) {
      round(operation, occasion::choice, {});
      ranks().give(&own, sizeof own, decider);
    } else {
      std::uint64_t packed[words]{};
      std::memcpy(packed, &own, sizeof own);
      ballot mine;
      for (std::size_t k = 0; decides && k < words; ++k) mine.put(k, packed[k]);
      auto const all = round(operation, occasion::choice, mine);
      for (std::size_t k = 0; k < words; ++k) packed[k] = all.least(k);
      std::memcpy(&own, packed, sizeof own);
    }
    return own;
  }
  /// The least of the values of all ranks.
  [[nodiscard]] std::uint64_t least(char const* operation, std::uint64_t own) const {
    ballot mine;
    mine.put(0, own);
    return round(operation, occasion::other, mine).least(0);
  }
  /// Compares plans.   \throws collective_error   on all ranks, if one differs
  void begin(char const* operation, sent_plan const& words) const {
    *compared_ = words.by;
    std::uint64_t const own[] = {words.print.high, words.print.low, words.steps, words.slots, words.leaf,
                                 std::uint64_t(words.by) + 4 * std::uint64_t(words.kept) + 8 * std::uint64_t(actions) +
                                     (std::uint64_t(decider) << 32)};
    ballot mine;
    std::size_t k = 0;
    for (std::uint64_t const value : own) mine.put(k++, value);
    auto const all = round(operation, occasion::begin, mine);
    while (k > 0)
      if (!all.same(--k))
        ranks().differs(operation, hash_of(own), "a rank has a different plan, or different options, from rank 0",
                        collective_cause::other_plan,
                        "no step has run; make one plan for all ranks, with cairn::mpi_plan or from numbers that all "
                        "ranks share");
  }
  void end(char const* operation) const { ranks().meet(operation, occasion::end, {}, patience); }

 private:
  static_assert(ballot::most_values == 6);

  [[nodiscard]] static std::uint64_t hash_of(std::uint64_t const (&values)[ballot::most_values]) noexcept {
    std::uint64_t hash = 0;
    for (std::uint64_t const value : values) hash = (hash ^ value) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
    return hash;
  }
  ballot round(char const* operation, occasion why, ballot const& mine) const {
    if (stop && stop()) ranks().leave(operation, collective_cause::stop_request, nullptr, patience);
    return ranks().meet(operation, why, mine, patience);
  }
  [[noreturn]] void leave(char const* operation, collective_cause why = collective_cause::exception) const {
    ranks().leave(operation, why, std::current_exception(), patience);
  }

  std::shared_ptr<team> team_;
  std::shared_ptr<plan_comparison> compared_ = std::make_shared<plan_comparison>(plan_comparison::nothing);
};

/// An observer that meets the other ranks every `actions` actions, around the caller's observer.
template <class Observer>
class meets_between {
 public:
  meets_between(rendezvous const& with, char const* operation, Observer&& observer)
      : with_{with}, operation_{operation}, observer_{std::forward<Observer>(observer)} {}

  void operator()(event const& seen) {
    if (seen.moment() == moment::before && ++since_ >= with_.actions) {
      since_ = 0;
      with_.between(operation_);
    }
    if constexpr (observed<std::remove_reference_t<Observer>>) observer_(seen);
  }
  [[nodiscard]] static std::int64_t clock_now()
    requires requires { { std::remove_reference_t<Observer>::clock_now() } -> std::convertible_to<std::int64_t>; }
  { return std::remove_reference_t<Observer>::clock_now(); }

 private:
  rendezvous with_;
  char const* operation_;
  [[no_unique_address]] Observer observer_;
  step_index since_ = 0;
};

}  // namespace cairn::detail
