// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_search.hpp  The best plan of every planner within a budget.
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/loop/detail/next_candidate.hpp>
#include <cairn/plan/loop/detail/plan_factories.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/most_slots.hpp>
#include <cairn/plan/loop/overlap.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/rules/detail/two_threads.hpp>
#include <cairn/schedule/detail/remarks.hpp>
#include <cairn/schedule/detail/unit_table.hpp>
#include <cairn/schedule/segments_of.hpp>

namespace cairn::detail {

[[nodiscard]] constexpr step_index steps_of(workload const& work, char const* who) {
  if (!work.steps)
    throw invalid_plan{who, "the workload does not say how many steps the loop has", {}, "give workload::steps"};
  check_steps(who, *work.steps);
  check_state_bytes(work, who);
  return *work.steps;
}

[[nodiscard]] inline bool memory_costs(workload const& work) {
  return work.tiers.memory.write_seconds > 0 || work.tiers.memory.read_seconds > 0 || work.frame_seconds > 0;
}

/// What a sweep of segments of this loop holds.
[[nodiscard]] inline auto bytes_of_segments(workload const& work) {
  return [&work](segments const& plan) {
    workload const run = as_run(plan, work);
    return parts_with(plan, plan.slots(), run.form, sizes_of(run, plan.leaf()), run.verify).total();
  };
}

/// The least seconds of a sweep with a helper, or with a store behind it, by its totals.
[[nodiscard]] inline double least_overlapped(cost const& sum, workload const& work) {
  schedule_counts in_memory = sum.counts;
  double moved = 0;
  for (tier const where : all_tiers) {
    if (where == tier::memory) continue;
    tier_counts& there = in_memory.tiers[std::size_t(where)];
    moved += double(there.peak) * (work.tiers[where].write_seconds + work.tiers[where].read_seconds);
    there = {};
  }
  double const computing = sum.seconds - seconds_of(sum.counts, work, 0) + seconds_of(in_memory, work, 0);
  if (work.form.ahead == 0) return greater(computing, moved);
  double const n = double(sum.steps), there = n * work.step_seconds,
               adjoints = n * (work.adjoint_seconds +
                               (work.form.adjoint == adjoint_form::recorded ? record_seconds(work) : 0));
  return least_on_two(there, computing - there - adjoints, adjoints, work.form.ahead);
}
/// By the virtual clock, for loops whose peaks are exact, too; longer ones are not walked.
[[nodiscard, gnu::cold]] inline double overlapped_seconds(any_schedule const& plan, cost const& sum,
                                                          workload const& work, behind_options const& how) {
  if (sum.steps > most_counted_steps) return least_overlapped(sum, work);
  return overlapped(plan, work, how).seconds + sum.seconds - seconds_of(sum.counts, work, 0);  // and new frames
}

/// With far transfers that take a share of the time.
[[nodiscard]] inline workload with_transfers(workload work, double share) {
  for (tier const where : all_tiers)
    if (where != tier::memory) work.tiers[where].write_seconds *= share, work.tiers[where].read_seconds *= share;
  return work;
}

/// The best plan of one planner so far, and the fewest bytes of any of its plans.
class plan_contest {
 public:
  /// \param behind  how a store of far states is behind the sweep; null if the sweep waits for it
  plan_contest(workload const& work, byte_size budget, behind_options const* behind = nullptr)
      : work_{work}, budget_{budget}, behind_{behind} {}

  /// Tries a plan with as many slots as fit; false if none fits.
  [[gnu::cold]] bool try_widest(planner by, plan_parameters with, any_factory make) {
    slot_fit const fit = widest(make);
    if (!fit.fits) return false;
    with.slots = fit.slots;
    enter(plan_of(make(fit.slots), work_, by, with));
    return true;
  }
  /// Tries fewer slots than fit: if keeping a state in memory takes time, they may be faster.   \pre make(slots) knows
  /// its totals
  [[gnu::cold]] void try_narrower(planner by, plan_parameters with, any_factory make) {
    slot_index const most = most_slots_within(budget_, work_, make).slots;
    auto const seconds = [&](slot_index slots) {
      auto const counts = make(slots).counts();
      return seconds_of(counts, work_, wide(counts.peak_slots));
    };
    double least = seconds(most);
    with.slots = most;
    for (slot_index slots = make.least(); slots < most; slots = next_candidate(slots, 64, 16))
      if (double const now = seconds(slots); now < least) least = now, with.slots = slots;
    if (with.slots < most) enter(plan_of(make(with.slots), work_, by, with));
  }
  /// The most slots that fit, if any do.
  [[nodiscard, gnu::cold]] slot_fit widest(any_factory make) {
    slot_fit const fit = most_slots_within(budget_, work_, make);
    least_ = lesser(least_, fit.bytes);
    return fit;
  }
  [[gnu::cold]] void enter(planned&& plan) {
    if (!fits(plan.cost)) return;
    if (behind_ != nullptr && plan.schedule.leaves_memory()) {
      if (has_plan() && least_overlapped(plan.cost, work_) > best().cost.seconds) return;
      plan.cost.seconds = overlapped_seconds(plan.schedule, plan.cost, work_, *behind_);
    }
    if (best_.empty()) best_.push_back(std::move(plan));
    else if (is_cheaper(plan.cost, best_[0].cost, work_)) best_[0] = std::move(plan);
  }
  [[nodiscard]] bool has_plan() const { return !best_.empty(); }
  [[nodiscard]] planned& best() { return best_[0]; }
  /// The fewest bytes that `widest` has found; 0 before its first call.
  [[nodiscard]] wide least_bytes() const { return least_ != ~wide{0} ? least_ : 0; }

 private:
  [[nodiscard]] bool fits(cost const& sum) const {
    bool fit = sum.memory_bytes <= budget_.count();
    for (tier const where : all_tiers)
      if (where != tier::memory) fit = fit && sum.tier_bytes[std::size_t(where)] <= work_.tiers[where].bytes;
    return fit;
  }

  workload const& work_;
  byte_size budget_;
  behind_options const* behind_;
  std::vector<planned> best_;
  wide least_ = ~wide{0};
};

/// Asks each planner in turn for its cheapest plan that fits. Functions that are called rarely are compiled for size
/// (`gnu::cold`), because every user's file compiles them. Walks and tables are not.
class plan_search {
 public:
  plan_search(workload const& work, byte_size budget, planning_options const& options, bool other_tiers,
              char const* who)
      : work_{work},
        far_{work},
        steps_{steps_of(work, who)},
        budget_{budget},
        options_{options},
        other_tiers_{other_tiers} {
    if (options.leaf && *options.leaf < 1)
      throw invalid_plan{who, "a leaf has at least 1 step", {{"leaf", *options.leaf}}, "give 1 or more"};
    check_tape_bytes(work, options.leaf.value_or(steps_ > 1 ? 2 : 1), who);
    if (options.threads < 1 || options.threads > 2)
      throw invalid_plan{who, "a sweep runs on one or two threads", {{"threads", options.threads}}, "ask for 1 or 2"};
    if ((options.threads > 1 || options.behind) && !(work.step_seconds > 0))
      throw invalid_plan{who,
                         "what overlaps is planned by times, and the workload has none",
                         {},
                         "give workload::step_seconds and adjoint_seconds, as cairn::probe measures them"};
    if (options.behind) far_.file_bytes += wide(states_behind(*options.behind)) * (work.state_bytes + bytes_a_frame);
    in_memory(planner::store_all, &plan_search::try_leaf<store_all_factory>);
    in_memory(planner::uniform, &plan_search::try_leaf<uniform_factory>);
    in_memory(planner::revolve, &plan_search::try_leaf<revolve_factory>);
    if (helped()) {
      in_memory(planner::uniform, &plan_search::try_ahead<uniform_factory>, false);
      in_memory(planner::revolve, &plan_search::try_ahead<revolve_factory>, false);
    }
    by_units();
    on_tiers();
    backwards();
  }

  std::vector<planned> found;  ///< at most one plan of each planner, and one with a helper, the cheapest first
  std::vector<skipped_planner> skipped;  ///< the other planners that suit the workload

 private:
  [[nodiscard]] bool is_wanted(planner by) const { return !options_.only || *options_.only == by; }
  [[nodiscard]] bool is_leaf_form() const { return work_.form.adjoint == adjoint_form::leaf; }

  [[gnu::cold]] void close(plan_contest&& so_far, planner by, skip_reason reason = skip_reason::budget) {
    if (!so_far.has_plan()) skipped.push_back({by, reason, reason == skip_reason::budget ? so_far.least_bytes() : 0});
    else enlist(std::move(so_far.best()));
  }
  /// Inserts a plan after all plans that are cheaper or equal. A sort by hand, because std::sort of plans is slow to
  /// compile.
  [[gnu::cold]] void enlist(planned&& plan) {
    found.push_back(std::move(plan));
    for (std::size_t k = found.size() - 1; k > 0 && is_cheaper(found[k].cost, found[k - 1].cost, work_); --k)
      std::swap(found[k], found[k - 1]);
  }

  /// Tries plans with leaves of one length.
  template <class Maker>
  [[gnu::cold]] void try_leaf(plan_contest& so_far, planner by, step_index leaf) {
    Maker const make{steps_, leaf};
    plan_parameters const with{.leaf = leaf, .free_initial = by == planner::revolve};
    if (so_far.try_widest(by, with, make) && memory_costs(work_)) so_far.try_narrower(by, with, make);
  }
  /// Whether a sweep can have a helper that is of use; see `parallel`.
  [[nodiscard]] bool helped() const {
    return options_.threads > 1 && !work_.form.snapshots && is_worth_a_helper(work_.step_seconds, steps_) &&
           !(work_.form.adjoint == adjoint_form::recorded && work_.verify == replay_check::every_step);
  }
  /// Tries plans with leaves of one length and a helper: slots and states ahead share the budget.
  template <class Maker>
  [[gnu::cold]] void try_ahead(plan_contest& so_far, planner by, step_index leaf) {
    Maker const make{steps_, leaf};
    plan_parameters with{.leaf = leaf, .free_initial = by == planner::revolve};
    slot_fit const alone = most_slots_within(budget_, work_, make);
    if (!alone.fits) return;
    workload helped = work_;
    std::optional<planned> made;
    auto const plan_with = [&](slot_index frames) {
      with.ahead = helped.form.ahead = frames;
      slot_fit const fit = most_slots_within(budget_, helped, make);
      if (fit.fits) with.slots = fit.slots, made = plan_of(make(fit.slots), helped, by, with);
      return fit.fits;
    };
    double const least = so_far.has_plan() ? so_far.best().cost.seconds : (std::numeric_limits<double>::max)();
    slot_index const best =
        best_ahead(alone.slots - make.least() + 1, work_.state_bytes, least, [&](slot_index frames) {
          if (!plan_with(frames) || least_overlapped(made->cost, helped) >= least) return least;
          return overlapped_seconds(made->schedule, made->cost, helped, {});
        });
    if (best == 0 || !plan_with(best)) return;
    made->cost.seconds = overlapped_seconds(made->schedule, made->cost, helped, {});
    so_far.enter(std::move(*made));
  }
  /// Tries the leaf lengths that fit: every length up to 64 steps, above that a selection, and then all lengths near
  /// the best one.   \param says_why  whether a planner without a plan is told
  [[gnu::cold]] void in_memory(planner by, void (plan_search::*try_one)(plan_contest&, planner, step_index),
                               bool says_why = true) {
    if (!is_wanted(by)) return;
    plan_contest so_far{work_, budget_};
    auto const with_leaf = [&](step_index leaf) { (this->*try_one)(so_far, by, leaf); };
    step_index const longest = steps_ < 1 ? 1 : steps_;
    if (options_.leaf || !is_leaf_form()) {
      with_leaf(options_.leaf ? lesser(*options_.leaf, longest) : 1);
      if (says_why || so_far.has_plan()) close(std::move(so_far), by);
      return;
    }
    auto const tape_fits = [&](step_index leaf) { return leaf == 1 || tape_of_leaf(work_, leaf) <= budget_.count(); };
    for (step_index leaf = 1; leaf < longest && tape_fits(leaf); leaf = next_candidate(leaf, 64, 16)) with_leaf(leaf);
    if (tape_fits(longest)) with_leaf(longest);
    if (so_far.has_plan()) {
      step_index const best = so_far.best().with.leaf, around = lesser<step_index>(best / 16, 100);
      for (step_index leaf = greater<step_index>(65, best - around);
           best > 64 && leaf <= lesser(best + around, longest) && tape_fits(leaf); ++leaf)
        with_leaf(leaf);
    }
    if (says_why || so_far.has_plan()) close(std::move(so_far), by);
  }

  /// The most slots of a table over all steps; 0 if no table is allowed.
  [[nodiscard]] slot_index most_in_table() const {
    wide const rows = options_.most_table_cells / wide(greater<step_index>(steps_, 1));
    return slot_index(lesser(rows, wide(useful_slots(steps_))));
  }
  [[nodiscard]] bool is_walkable() const { return steps_ <= most_walked_steps; }
  /// The plan of one planner by a table with the most slots in memory, given this many slots elsewhere. Fewer slots
  /// elsewhere leave more memory for slots there.
  [[gnu::cold]] void try_table(plan_contest& so_far, planner by, slot_index elsewhere, workload const& work) {
    plan_parameters const with{.far_slots = elsewhere};
    wide const allowed = options_.most_table_bytes;
    if (by == planner::hrevolve) {
      slot_index const most = greater<slot_index>(most_in_table() - elsewhere, 1);
      so_far.try_widest(by, with, hrevolve_factory{work, steps_, most, elsewhere, allowed, options_.limit});
    } else if (by == planner::multistage) {
      so_far.try_widest(by, with,
                        multistage_factory{steps_, elsewhere, useful_slots(steps_), allowed, options_.limit});
    } else {
      so_far.try_widest(by, with, disk_revolve_factory{work, steps_, allowed, options_.limit});
    }
  }
  /// The best plan of one planner by a table; none if the table would be too large.
  [[gnu::cold]] void by_table(planner by, slot_index most_far) {
    plan_contest so_far{far_, budget_, behind()};
    skip_reason reason = skip_reason::budget;
    for (slot_index elsewhere = most_far;; elsewhere /= 4) {
      try {
        try_table(so_far, by, elsewhere, work_);
        // Tables count transfers as waited for: with a store behind the sweep, a plan with more of them may be faster.
        for (double share = 0.25; behind() != nullptr && by != planner::multistage && share > 0.01; share /= 4)
          try_table(so_far, by, elsewhere, with_transfers(work_, share));
      } catch (invalid_plan const&) {
        reason = skip_reason::table;
      } catch (too_much_work const&) {
        reason = skip_reason::work;
      }
      if (elsewhere < 16 || elsewhere == unlimited_slots) break;
    }
    close(std::move(so_far), by, reason);
  }

  /// Plans in units: a unit is a state, and a tape takes as many units as it needs.
  [[gnu::cold]] void by_units() {
    if (work_.form.adjoint != adjoint_form::recorded || work_.form.keeps_run || work_.form.snapshots ||
        !is_wanted(planner::mixed))
      return;
    if (!is_walkable()) return skipped.push_back({planner::mixed, skip_reason::length});
    wide const share = work_.state_bytes > 0 ? (work_.tape_bytes + work_.state_bytes - 1) / work_.state_bytes : 1;
    auto const tape_units = slot_index(lesser<wide>(greater<wide>(share, 1), wide{1} << 31));
    plan_parameters with{.tape_units = wide(tape_units), .free_initial = true};
    plan_contest so_far{work_, budget_};
    auto const make = [&](slot_index most) {
      return mixed_factory{steps_, tape_units, most, work_.tapes_restart, options_.most_table_bytes, options_.limit};
    };
    auto const all = slot_index(lesser<wide>(wide(steps_) * wide(tape_units), wide{1} << 40));
    if (wide(steps_) * work_.tape_bytes <= budget_.count())
      enter_units(so_far, with, make(all), all);  // keeping the tapes of all steps needs no table
    unit_rules const rules{.tape_units = tape_units, .restarts = work_.tapes_restart, .holds_initial = true};
    slot_index const rows =
        most_within(options_.most_table_bytes, 0, most_in_table(),
                    [&](slot_index units) { return unit_table::row_bytes(steps_, units, rules); }).slots;
    skip_reason reason = rows > 0 ? skip_reason::budget : skip_reason::table;
    if (!so_far.has_plan() && rows > 0) {
      try {
        auto const widest = make(lesser(rows, all));
        slot_fit const fit = so_far.widest(any_factory{widest});
        if (fit.fits) enter_units(so_far, with, make(rows), fit.slots);
      } catch (too_much_work const&) {
        reason = skip_reason::work;
      }
    }
    close(std::move(so_far), planner::mixed, reason);
  }
  [[gnu::cold]] void enter_units(plan_contest& so_far, plan_parameters with, mixed_factory const& make,
                                 slot_index units) {
    with.units = wide(units);
    try {
      so_far.enter(plan_of(make(units), work_, planner::mixed, with));
    } catch (invalid_plan const&) {
      // The table for this many units is too large.
    }
  }

  /// Segments that run backwards, for an adjoint of one step.
  [[gnu::cold]] void backwards() {
    if (!work_.reversible || work_.form.adjoint == adjoint_form::recorded || is_leaf_form() ||
        !is_wanted(planner::segments) || options_.leaf.value_or(2) < 2)
      return;
    auto const bytes = bytes_of_segments(work_);
    best_segments const of{budget_.count(), steps_, work_.reversible->longest, bytes};
    plan_contest so_far{work_, budget_};
    if (!of.best) return skipped.push_back({planner::segments, skip_reason::budget, of.least_bytes()});
    if (!is_walkable() && !of.best->is_counted()) return skipped.push_back({planner::segments, skip_reason::length});
    plan_parameters const with{.slots = of.best->slots(), .leaf = of.best->leaf()};
    so_far.enter(plan_of(segments{*of.best}, work_, planner::segments, with));
    close(std::move(so_far), planner::segments);
  }

  [[gnu::cold]] void on_tiers() {
    bool elsewhere = false;
    for (tier const where : all_tiers) elsewhere = elsewhere || (where != tier::memory && work_.tiers[where].bytes > 0);
    elsewhere = elsewhere && other_tiers_;
    if (is_leaf_form() && options_.leaf.value_or(1) > 1) return;
    if (elsewhere) two_levels();
    if (elsewhere || (memory_costs(work_) && !options_.only)) tables(elsewhere);
  }
  [[gnu::cold]] void tables(bool elsewhere) {
    slot_index const rows = most_in_table();
    auto const refused = [&](planner by) {
      if (!is_wanted(by)) return true;
      bool const walks = is_walkable();
      if (walks && rows > 0) return false;
      skipped.push_back({by, walks ? skip_reason::table : skip_reason::length});
      return true;
    };
    slot_index const half = elsewhere ? (rows + 1) / 2 : 0;
    if (!refused(planner::hrevolve)) by_table(planner::hrevolve, half);
    if (!elsewhere || work_.tiers.disk.bytes == 0) return;
    if (!refused(planner::multistage))
      by_table(planner::multistage, slot_index(states_on(work_, tier::disk, wide(half))));
    if (!refused(planner::disk_revolve)) by_table(planner::disk_revolve, unlimited_slots);
  }

  /// Tries periods from the shortest whose first states fit, each with as many states inside as fit.
  [[gnu::cold]] void two_levels() {
    if (!is_wanted(planner::two_level)) return;
    plan_contest so_far{far_, budget_, behind()};
    for (tier const where : all_tiers) {
      if (where == tier::memory || steps_ < 1) continue;
      wide const starts = states_on(work_, where, wide(steps_));
      if (starts < 1) continue;
      auto const shortest = step_index((wide(steps_) + starts - 1) / starts);
      two_level_factory const one_period{steps_, steps_, where};
      slot_fit const fit = so_far.widest(any_factory{one_period});
      if (!fit.fits) continue;
      auto const seconds = [&](step_index period) {
        auto const counts = two_level_factory{steps_, period, where}.as_is(fit.slots).counts();
        if (!has_times(work_)) return double(step_calls(counts, work_.form.adjoint));
        cost sum;
        sum.counts = counts, sum.seconds = seconds_of(counts, work_, wide(counts.on(tier::memory).peak));
        return behind() != nullptr ? least_overlapped(sum, work_) : sum.seconds;
      };
      step_index best = shortest;
      double least = seconds(best);
      for (step_index period = shortest; period < steps_; period = next_candidate(period, 64, 8)) {
        double const now = seconds(period);
        if (now < least) least = now, best = period;
      }
      while (!so_far.try_widest(planner::two_level, {.far_slots = leaves_in(steps_, best), .period = best},
                                two_level_factory{steps_, best, where}) &&
             best < steps_)
        best = best > steps_ / 2 ? steps_ : 2 * best;  // halves the slots on the other tier, and so the table of slots
    }
    close(std::move(so_far), planner::two_level);
  }

  [[nodiscard]] behind_options const* behind() const { return options_.behind ? &*options_.behind : nullptr; }

  workload const& work_;
  workload far_;  // with the states of a store behind the sweep
  step_index steps_;
  byte_size budget_;
  planning_options const& options_;
  bool other_tiers_;
};

/// The plan that takes the least memory of all.
[[nodiscard, gnu::cold]] inline planned smallest_plan(workload const& work, char const* who) {
  step_index const steps = steps_of(work, who);
  auto const made = [&](planner by, plan_parameters with, any_factory make) {
    with.slots = make.least();
    return plan_of(make(with.slots), work, by, with);
  };
  planned least = made(planner::revolve, {.free_initial = true}, revolve_factory{steps});
  auto const compare = [&](planned&& other) {
    if (other.cost.memory_bytes < least.cost.memory_bytes) least = std::move(other);
  };
  compare(made(planner::uniform, {}, uniform_factory{steps}));
  if (work.form.adjoint == adjoint_form::leaf && steps > 1)
    compare(made(planner::revolve, {.leaf = steps, .free_initial = true}, revolve_factory{steps, steps}));
  for (tier const where : all_tiers) {
    if (where == tier::memory || steps < 1 || states_on(work, where, wide(steps)) < 1) continue;
    compare(made(planner::two_level, {.far_slots = 1, .period = steps}, two_level_factory{steps, steps, where}));
  }
  return least;
}

/// All that may overlap does so in the bound of the time.
[[nodiscard, gnu::cold]] inline planned certified(planned plan, workload const& work,
                                                  planning_options const& options = {}) {
  plan.proof = certify(plan.cost, options.behind ? with_transfers(work, 0) : work);
  double const once = work.form.adjoint == adjoint_form::recorded ? record_seconds(work) : work.step_seconds;
  if (options.threads > 1) plan.proof.least_seconds = double(plan.cost.steps) * (once + work.adjoint_seconds);
  return plan;
}

/// \param least  the fewest bytes of the planners that were tried
[[noreturn, gnu::cold]] inline void refuse_budget(char const* who, workload const& work, byte_size budget, wide least) {
  throw infeasible_budget{who,
                          "no plan fits the budget",
                          {{"budget", budget.count()}, {"least bytes", least}, {"state bytes", work.state_bytes}},
                          "give the least bytes, or more; cairn::why_infeasible says what they are for"};
}
/// The fewest bytes of the planners that were tried.   \throws too_much_work   if a planner was skipped for its work:
/// it might have had a plan
[[nodiscard, gnu::cold]] inline wide least_asked(plan_search const& search, workload const& work, char const* who) {
  wide least = ~wide{0};
  for (auto const& skipped : search.skipped)
    if (skipped.reason == skip_reason::work)
      throw too_much_work{who,
                          "no plan was found with the work that is allowed",
                          {{"state bytes", work.state_bytes}},
                          "allow more by planning_options::limit, or give a larger budget"};
  for (auto const& skipped : search.skipped)
    if (skipped.reason == skip_reason::budget && skipped.least_bytes < least) least = skipped.least_bytes;
  return least != ~wide{0} ? least : smallest_plan(work, who).cost.memory_bytes;
}

}  // namespace cairn::detail
