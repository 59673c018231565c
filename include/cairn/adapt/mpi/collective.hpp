// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file collective.hpp  The ranks of a communicator that run sweeps together; an argument of verbs.
#include <functional>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective_error.hpp>
#include <cairn/adapt/mpi/detail/rendezvous.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/run/with/adaptive.hpp>

namespace cairn {

namespace detail {

/// A choice that one rank makes for all; it takes what the caller's function takes.
template <class Choose> struct taken_by { using type = typename decltype(parameters_of<Choose>())::type; };
template <class Choose>
  requires std::is_void_v<typename decltype(parameters_of<Choose>())::type>
struct taken_by<Choose> { using type = arguments<>; };
template <class Choose, class Taken = typename taken_by<Choose>::type>
class agreed_choice;
template <class Choose, class... Args>
class agreed_choice<Choose, arguments<Args...>> {
  using State = typename chosen_by<Choose>::type::state;
  using Record = typename chosen_by<Choose>::type::record;
  static constexpr bool only_chooses = [] {  // its first argument is a const state
    if constexpr (std::is_same_v<Record, no_record>) return false;
    else {
      using first = typename type_at<0, arguments<Args...>>::type;
      return !std::is_lvalue_reference_v<first> || std::is_const_v<std::remove_reference_t<first>>;
    }
  }();
  static_assert(only_chooses,
                "cairn: ranks agree on a choice before the step is made; give `record = choose(x, i)`, whose x is "
                "const and whose parameters are types, not auto; `again` of cairn::adaptive makes the step");
  static constexpr bool is_bytes = !only_chooses || std::is_trivially_copyable_v<Record>;
  static_assert(is_bytes,
                "cairn: the record of a choice is sent to all ranks byte by byte; give a trivially copyable one");

 public:
  agreed_choice(rendezvous with, Choose choose) : with_{std::move(with)}, choose_{std::move(choose)} {}
  Record operator()(Args... args) {
    return with_.chosen("cairn::adaptive", Record(call_lending(choose_, std::forward<Args>(args)...)));
  }
  template <class Look>
  void each_function(Look const& look) const { look(choose_), look(with_.decider); }

 private:
  rendezvous with_;
  Choose choose_;
};

struct inside;
struct ranks_together;

}  // namespace detail

/// The ranks of a communicator that run a sweep together: one of the last arguments of `gradient`, `differentiate`,
/// `checkpointed_loop`, `checkpointed_while`, `chain_gradient`, `graph_gradient` and of a `device_sweep`, as in
/// `gradient(step, x0, plan, seed, adjoint, collective{comm})`. All ranks make the call. Then
/// - plans are compared before the first step,
/// - an exception on one rank ends the sweep on all ranks, with a `collective_error` that names rank and cause.
///
/// Ranks meet before the first step and after the last; in between, only step and adjoint send messages (but see
/// `every`). A rank that cannot go on waits at the next rendezvous. If the other ranks do not arrive within `patience`,
/// they are blocked in a step or adjoint that waits for a message of the failed rank, and cannot be reached. The failed
/// rank then writes rank and cause to stderr, and ends all ranks by MPI_Abort. A healthy rank that has waited that long
/// at a rendezvous says so on stderr, with its number and the verb, and goes on waiting. If a rank dies, MPI's launcher
/// ends all of them. After MPI_Finalize, and once the communicator is freed, each verb throws `invalid_call`.
///
/// A cheap handle that can be copied. The first one of a communicator duplicates it, which all ranks do together; the
/// duplicate lasts as long as the communicator. One thread of each rank uses it at a time.
/// \tparam BetweenActions  whether ranks meet between actions, too; see `every`
/// Cost: two reductions of 128 bytes a sweep, and the plan's `fingerprint`.
template <bool BetweenActions = false>
class collective {
 public:
  using together = detail::ranks_together;  ///< for the verbs
  /// \param comm  a communicator whose ranks all make the same calls
  /// \throws invalid_call   if MPI is not running
  explicit collective(MPI_Comm comm) : rendezvous_{comm} {}

  /// The same ranks with a different number of seconds that a failed rank waits for the others, instead of 10, and that
  /// a healthy one waits before it says so. If steps do not communicate, it must be longer than the others may compute
  /// before they meet.
  /// \throws invalid_call   for a negative one
  [[nodiscard]] collective patience(double seconds) const {
    if (!(seconds >= 0))
      throw invalid_call{"cairn::collective::patience", "the time to wait is negative", {}, "give seconds, 0 or more"};
    auto other = *this;
    other.rendezvous_.patience = seconds;
    return other;
  }
  /// The same ranks, of which `rank` instead of rank 0 decides how long loops are and what `agreed` chooses.
  /// \throws invalid_call   if there is no such rank
  [[nodiscard]] collective decided_by(int rank) const {
    if (rank < 0 || rank >= size())
      throw invalid_call{"cairn::collective::decided_by",
                         "there is no such rank",
                         {{"rank", rank}, {"ranks", size()}},
                         "give one of the communicator"};
    auto other = *this;
    other.rendezvous_.decider = rank;
    return other;
  }
  /// The same ranks with a different limit for the work of comparing plans, instead of 10^7 sums, about 0.1 s. If a
  /// fingerprint takes more, only what `plan_comparison::numbers` names is compared.
  [[nodiscard]] collective fingerprint_limit(work_limit const& limit) const {
    auto other = *this;
    other.rendezvous_.limit = limit;
    return other;
  }
  /// The same ranks with a stop request: `stop()` is called where ranks meet, except after the last step, and `true` on
  /// one rank ends the sweep on all, with `collective_cause::stop_request`. With `every`, it is also called during a
  /// sweep.
  [[nodiscard]] collective stops_when(std::function<bool()> stop) const {
    auto other = *this;
    other.rendezvous_.stop = std::move(stop);
    return other;
  }
  /// Ranks also meet before every `actions` actions of the plan, all at the same ones: a stop request or an exception
  /// then ends the sweep there, if steps do not wait for each other. Cost: one reduction of 128 bytes each time.
  /// \throws invalid_plan   for less than 1
  [[nodiscard]] collective<true> every(step_index actions) const {
    if (actions < 1)
      throw invalid_plan{"cairn::collective::every",
                         "ranks cannot meet more often than at every action",
                         {{"actions", actions}},
                         "give 1 or more"};
    collective<true> other{comm()};
    other.rendezvous_ = rendezvous_;
    other.rendezvous_.actions = actions;
    return other;
  }

  [[nodiscard]] int rank() const noexcept { return rendezvous_.ranks().rank(); }  ///< this rank in the communicator
  [[nodiscard]] int size() const noexcept { return rendezvous_.ranks().size(); }       ///< its ranks
  [[nodiscard]] MPI_Comm comm() const noexcept { return rendezvous_.ranks().comm(); }  ///< the caller's communicator
  /// How plans were compared by the last sweep with this object or a copy of it.
  [[nodiscard]] plan_comparison compared() const noexcept { return rendezvous_.compared(); }

  /// A choice that one rank makes for all, for `adaptive{with.agreed(choose), again}` in a sweep with this
  /// `collective`: `record = choose(x[, i])` is called on all ranks, and all get the record of the rank that decides. x
  /// is const, and the record trivially copyable. Cost: one reduction of 128 bytes a step, on its first run.
  template <class Choose>
  [[nodiscard]] auto agreed(Choose choose) const {
    return detail::agreed_choice<Choose>{rendezvous_, std::move(choose)};
  }

  /// Calls f() as one sweep of a plan: for verbs that take no `collective`, as
  /// `with.sweep(plan, [&] { return graph_gradient(...); })`.
  /// \param plan  a schedule, a number of steps, or a plan for a chain, a graph or blocks
  /// \throws collective_error   on all ranks
  template <class Plan, class Fn>
  auto sweep(Plan const& plan, Fn f) const {
    return rendezvous_.around("cairn::collective::sweep", plan, f);
  }
  /// The same for a call without a plan: what f throws on one rank is thrown on all.
  template <class Fn>
  auto sweep(Fn f) const {
    return sweep(detail::without_plan{}, std::move(f));
  }

 private:
  template <bool> friend class collective;
  friend struct detail::inside;
  detail::rendezvous rendezvous_;
};
/// Meets before and after each sweep.
collective(MPI_Comm) -> collective<false>;

namespace detail {

/// How the adapter's verbs reach the ranks of a `collective`.
struct inside {
  template <bool BetweenActions>
  [[nodiscard]] static rendezvous const& of(collective<BetweenActions> const& with) noexcept {
    return with.rendezvous_;
  }
};

}  // namespace detail
}  // namespace cairn
