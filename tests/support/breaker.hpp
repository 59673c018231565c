// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes sound schedules at random: some changes do no harm, some do harm blindly, and some aim at one flaw.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/plan/loop/flaw.hpp>

/// A schedule all of whose numbers may be changed, sound or not.
struct loose_plan {
  cairn::step_index n = 0, longest = 1;
  cairn::slot_index state_slots = 0, tape_slots = 0;
  bool free = false, restart = false;
  cairn::unit_budget budget;
  bool says_tiers = false;
  std::vector<cairn::tier> lies;  ///< where slots lie; memory for those after its end
  std::vector<cairn::action> actions;

  struct cursor {
    cairn::action const* at;
    cairn::action const* end;
    [[nodiscard]] cairn::action next() { return at == end ? cairn::action{} : *at++; }
  };
  [[nodiscard]] cairn::step_index steps() const { return n; }
  [[nodiscard]] cairn::slot_index slots() const { return state_slots; }
  [[nodiscard]] cairn::step_index leaf() const { return longest; }
  [[nodiscard]] cairn::slot_index tapes() const { return tape_slots; }
  [[nodiscard]] bool initial_is_free() const { return free; }
  [[nodiscard]] bool tapes_restart() const { return restart; }
  [[nodiscard]] cairn::wide units() const { return budget.units; }
  [[nodiscard]] cairn::wide tape_units() const { return budget.tape_units; }
  [[nodiscard]] bool has_slot_tiers() const { return says_tiers; }
  [[nodiscard]] cairn::tier slot_tier(cairn::slot_index slot) const {
    return slot >= 0 && std::size_t(slot) < lies.size() ? lies[std::size_t(slot)] : cairn::tier::memory;
  }
  [[nodiscard]] cursor walk() const { return {actions.data(), actions.data() + actions.size()}; }
};

/// The plan as a loose one, without its `done`.
template <cairn::schedule Plan>
loose_plan loose(Plan const& plan) {
  loose_plan copy{plan.steps(),
                  plan.leaf(),
                  plan.slots(),
                  cairn::tapes_of(plan),
                  cairn::initial_is_free(plan),
                  cairn::tapes_restart(plan),
                  cairn::units_of(plan),
                  cairn::has_slot_tiers(plan),
                  {},
                  {}};
  for (cairn::slot_index slot = 0; copy.says_tiers && slot < plan.slots(); ++slot)
    copy.lies.push_back(cairn::slot_tier(plan, slot));
  cairn::cursor_of<Plan> cursor = plan.walk();
  for (cairn::action a = cursor.next(); a.kind != cairn::action_kind::done; a = cursor.next())
    copy.actions.push_back(a);
  return copy;
}

class breaker {
  using kind = cairn::action_kind;
  using content = cairn::content;
  using tier = cairn::tier;
  using step_index = cairn::step_index;

 public:
  explicit breaker(unsigned seed) : random_{seed} {}

  /// One mutant: unharmed in about a third of the cases, else changed blindly or with an aim.
  loose_plan changed(loose_plan plan) {
    unsigned const how = below(100);
    for (unsigned k = below(3); k-- > 0;) harmless(plan);
    if (how >= 35 && how < 60) for (unsigned k = 1 + below(3); k-- > 0;) blind(plan);
    if (how >= 60) aim(plan, cairn::flaw(1 + below(unsigned(cairn::flaw::no_progress))));
    return plan;
  }

 private:
  unsigned below(unsigned count) { return unsigned(random_() % count); }
  /// Up to two more or less, around the corner at the largest number.
  void nudge(step_index& number) { number = step_index(std::uint64_t(number) + below(5) - 2); }
  void nudge_for_sure(step_index& number) {
    number = step_index(std::uint64_t(number) + (below(2) == 0 ? 1 : ~std::uint64_t{0}));
  }
  /// A random action for which is(a) holds, or the end.
  template <class Is>
  std::size_t some(loose_plan const& plan, Is is) {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < plan.actions.size(); ++k)
      if (is(plan.actions[k])) found.push_back(k);
    return found.empty() ? plan.actions.size() : found[below(unsigned(found.size()))];
  }
  std::size_t some(loose_plan const& plan, kind of) {
    return some(plan, [of](auto const& a) { return a.kind == of; });
  }
  static auto at(loose_plan& plan, std::size_t k) { return plan.actions.begin() + std::ptrdiff_t(k); }

  /// Changes that leave a sound schedule sound.
  void harmless(loose_plan& plan) {
    auto& all = plan.actions;
    switch (below(10)) {
      case 0:  // an advance in two
        if (auto const k = some(plan, [](auto const& a) { return a.kind == kind::advance && a.to - a.from > 1; });
            k < all.size()) {
          auto second = all[k];
          second.from = all[k].to =
              all[k].from + 1 + below(unsigned(std::min<step_index>(all[k].to - all[k].from - 1, 1000)));
          all.insert(at(plan, k + 1), second);
        }
        break;
      case 1:  // the same load twice
        if (auto const k = some(plan, kind::load); k < all.size()) all.insert(at(plan, k), cairn::action{all[k]});
        break;
      case 2:  // kept for nothing, in a slot more
        if (auto const k = some(plan, kind::advance); k < all.size()) {
          tier const where = plan.says_tiers ? plan.slot_tier(plan.state_slots) : tier(below(4));
          cairn::slot_index const slot = plan.state_slots++;
          cairn::action const kept{kind::save, where, content::state, slot, all[k].from, 0},
              gone{kind::drop, where, content::state, slot, 0, 0};
          all.insert(at(plan, k), {kept, gone});
          if (plan.budget.units < ~cairn::wide{0}) ++plan.budget.units;
        }
        break;
      case 3: plan.state_slots += below(3); break;
      case 4: plan.tape_slots += below(3); break;
      case 5: plan.longest += below(3); break;
      case 6: plan.free = true; break;
      case 7: plan.restart = true; break;
      case 8:  // slots by other numbers
        if (plan.state_slots > 1) {
          auto const a = cairn::slot_index(below(unsigned(plan.state_slots))),
                     b = cairn::slot_index(below(unsigned(plan.state_slots)));
          for (auto& one : all)
            if (one.what == content::state &&
                (one.kind == kind::save || one.kind == kind::load || one.kind == kind::drop))
              one.slot = one.slot == a ? b : one.slot == b ? a : one.slot;
          if (plan.says_tiers) {
            plan.lies.resize(std::size_t(plan.state_slots), tier::memory);
            std::swap(plan.lies[std::size_t(a)], plan.lies[std::size_t(b)]);
          }
        }
        break;
      case 9: move_slot(plan); break;
    }
  }
  /// One state slot lies elsewhere, and the plan says so.
  void move_slot(loose_plan& plan) {
    if (plan.state_slots < 1) return;
    auto const slot = cairn::slot_index(below(unsigned(plan.state_slots)));
    tier const where = tier(below(4));
    if (!plan.says_tiers) {
      plan.lies.assign(std::size_t(plan.state_slots), tier::memory);
      for (auto const& a : plan.actions)
        if (a.kind == kind::save) {
          for (auto const& b : plan.actions)
            if (b.kind == kind::save && b.slot == a.slot && b.where != a.where) return;  // lies nowhere for sure
          plan.lies[std::size_t(a.slot)] = a.where;
        }
      plan.says_tiers = true;
    }
    plan.lies.resize(std::size_t(plan.state_slots), tier::memory);
    plan.lies[std::size_t(slot)] = where;
    for (auto& a : plan.actions)
      if (a.slot == slot && a.what == content::state &&
          (a.kind == kind::save || a.kind == kind::load || a.kind == kind::drop))
        a.where = where;
  }

  void blind(loose_plan& plan) {
    auto& all = plan.actions;
    if (all.empty()) return;
    std::size_t const k = below(unsigned(all.size()));
    auto& a = all[k];
    switch (below(14)) {
      case 0: all.erase(at(plan, k)); break;
      case 1: all.insert(at(plan, k), cairn::action{a}); break;
      case 2: std::swap(a, all[below(unsigned(all.size()))]); break;
      case 3: a.kind = kind(below(7)); break;
      case 4: nudge(a.slot); break;
      case 5: nudge(a.from); break;
      case 6: nudge(a.to); break;
      case 7: a.what = a.what == content::state ? content::tape : content::state; break;
      case 8: a.where = tier(below(4)); break;
      case 9: plan.free = !plan.free; break;
      case 10: plan.state_slots += plan.state_slots > 0 && below(2) == 0 ? -1 : 1; break;
      case 11:
        a.from = below(2) == 0 ? std::numeric_limits<step_index>::max() : std::numeric_limits<step_index>::min();
        break;
      case 12:
        a.to = below(2) == 0 ? std::numeric_limits<step_index>::max() : std::numeric_limits<step_index>::min();
        break;
      case 13: plan.restart = !plan.restart; break;
    }
  }

  /// Does what should bring this flaw about, if the plan has the action for it.
  void aim(loose_plan& plan, cairn::flaw reason) {
    using cairn::flaw;
    auto& all = plan.actions;
    auto const uses_live = [](auto const& a) {
      return a.kind == kind::advance || a.kind == kind::save || a.kind == kind::record || a.kind == kind::turn;
    };
    auto const uses_slot = [](auto const& a) {
      return a.kind == kind::save || a.kind == kind::load || a.kind == kind::drop || a.kind == kind::record;
    };
    auto const change = [&](auto is, auto how) {
      if (auto const k = some(plan, is); k < all.size()) how(k);
    };
    auto const is = [](kind of) { return [of](auto const& a) { return a.kind == of; }; };
    switch (reason) {
      case flaw::none: break;
      case flaw::impossible_plan:
        switch (below(4)) {
          case 0: plan.n = -1 - step_index(below(3)); break;
          case 1: plan.state_slots = -1 - step_index(below(3)); break;
          case 2: plan.tape_slots = -1 - step_index(below(3)); break;
          default: plan.longest = -step_index(below(3));
        }
        break;
      case flaw::unknown_action:
        if (below(2) == 0)
          change([](auto const&) { return true; }, [&](std::size_t k) { all[k].kind = kind(8 + below(248)); });
        else
          change([](auto const& a) { return a.kind == kind::load || a.kind == kind::drop || a.kind == kind::reverse; },
                 [&](std::size_t k) { all[k].what = content(2 + below(254)); });
        break;
      case flaw::nothing_live:  // after a reverse from a state
        change([](auto const& a) { return a.kind == kind::reverse && a.what == content::state; }, [&](std::size_t k) {
          cairn::action const again{kind(below(2)), tier::memory, content::state, 0, all[k].from, all[k].to};
          all.insert(at(plan, k + 1), again);
        });
        break;
      case flaw::wrong_live: change(uses_live, [&](std::size_t k) { nudge_for_sure(all[k].from); }); break;
      case flaw::empty_range:
        change(
            [](auto const& a) { return a.kind == kind::advance || a.kind == kind::record || a.kind == kind::reverse; },
            [&](std::size_t k) {
              if (all[k].kind == kind::reverse) all[k].from = all[k].to + step_index(below(2));
              else all[k].to = all[k].from - step_index(below(2));
            });
        break;
      case flaw::past_the_end:
        change(
            [](auto const& a) { return a.kind == kind::advance || a.kind == kind::record || a.kind == kind::reverse; },
            [&](std::size_t k) {
              if (all[k].kind == kind::reverse) all[k].from = -1 - step_index(below(3));
              else all[k].to = plan.n + 1 + below(2);
            });
        break;
      case flaw::longer_than_leaf:
        if (plan.longest > 1 && below(2) == 0) plan.longest = 1;
        else
          change([&](auto const& a) { return a.kind == kind::reverse && a.to > plan.longest; },
                 [&](std::size_t k) { all[k].from = all[k].to - plan.longest - 1; });
        break;
      case flaw::no_such_slot:
        change(uses_slot, [&](std::size_t k) {
          all[k].slot =
              below(2) == 0 ? -2 - step_index(below(3)) : std::max(plan.state_slots, plan.tape_slots) + below(3);
        });
        break;
      case flaw::slot_taken:
        change(is(kind::save), [&](std::size_t k) { all.insert(at(plan, k), cairn::action{all[k]}); });
        break;
      case flaw::slot_empty:
        change(is(kind::drop), [&](std::size_t k) { all.insert(at(plan, k), cairn::action{all[k]}); });
        break;
      case flaw::unknown_tier:
        change([&](auto const& a) { return uses_slot(a) && a.kind != kind::drop; },
               [&](std::size_t k) { all[k].where = tier(4 + below(252)); });
        break;
      case flaw::wrong_tier:
        move_slot(plan);
        change(is(kind::save), [&](std::size_t k) {
          auto const slot = std::size_t(all[k].slot);
          if (plan.says_tiers && all[k].slot >= 0 && slot < plan.lies.size())
            plan.lies[slot] = tier((std::size_t(plan.lies[slot]) + 1 + below(3)) % 4);
        });
        break;
      case flaw::cannot_restart:
        plan.restart = false;
        change([](auto const& a) { return a.kind == kind::load; }, [&](std::size_t k) { all[k].what = content::tape; });
        break;
      case flaw::over_budget: plan.budget = {below(unsigned(2 + plan.state_slots / 2)), 1 + below(4)}; break;
      case flaw::wrong_content:
        if (below(2) == 0) change(is(kind::load), [&](std::size_t k) { nudge_for_sure(all[k].from); });
        else
          change([](auto const& a) { return (a.kind == kind::load && a.slot >= 0) || a.kind == kind::drop; },
                 [&](std::size_t k) { all[k].where = tier((std::size_t(all[k].where) + 1 + below(3)) % 4); });
        break;
      case flaw::second_turn:
        change(is(kind::turn), [&](std::size_t k) {
          all.insert(at(plan, k + 1 + below(unsigned(all.size() - k))), cairn::action{all[k]});
        });
        break;
      case flaw::turn_not_to_the_end: change(is(kind::turn), [&](std::size_t k) { nudge_for_sure(all[k].to); }); break;
      case flaw::reverse_before_turn: change(is(kind::turn), [&](std::size_t k) { all.erase(at(plan, k)); }); break;
      case flaw::reverse_out_of_order:
        change(is(kind::reverse), [&](std::size_t k) {
          if (below(2) == 0) nudge_for_sure(all[k].to);
          else all.erase(at(plan, k));
        });
        break;
      case flaw::done_before_turn:
        change(is(kind::turn), [&](std::size_t k) { all.resize(below(unsigned(k + 1))); });
        break;
      case flaw::done_with_steps_open: change(is(kind::reverse), [&](std::size_t k) { all.resize(k); }); break;
      case flaw::done_with_slots_full:
        for (auto k = all.size(); k-- > 0;)
          if (all[k].kind == kind::drop) {
            all.erase(at(plan, k));
            break;
          }
        break;
      case flaw::no_progress:
        change(is(kind::load), [&](std::size_t k) {
          auto const same = all[k];
          all.insert(at(plan, k), std::size_t(8 * (plan.n + plan.state_slots + plan.tape_slots) + 60 + below(10)),
                     same);
        });
        break;
    }
  }

  std::mt19937 random_;
};
