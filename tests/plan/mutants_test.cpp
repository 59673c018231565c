// Schedules broken at random: the interpreter agrees with a second one that knows nothing of it, and never hangs.
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <cairn/plan/verify.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;

namespace {

/// Whether the actions are a schedule, by the book and with no care for time or memory.
bool is_schedule(listed const& plan) {
  using range = std::pair<step_index, step_index>;
  std::map<slot_index, std::pair<step_index, tier>> states;
  std::map<slot_index, std::pair<range, tier>> tapes;
  bool alive = true;
  step_index live = 0;
  auto const lives = [&](step_index i) { return alive && live == i; };
  step_index const n = plan.steps();
  step_index open = n;
  bool turned = false;
  for (action const& a : actions_of(plan)) {
    range const steps{a.from, a.to};
    step_index const length = a.from >= 0 && a.to > a.from ? a.to - a.from : 0;
    bool const state_slot = a.slot >= 0 && a.slot < plan.slots(), tape_slot = a.slot >= 0 && a.slot < plan.tapes();
    switch (a.kind) {
      case action_kind::advance:
        if (!lives(a.from) || length < 1 || a.to > (turned ? open - 1 : n)) return false;
        live = a.to;
        break;
      case action_kind::save:
        if (!lives(a.from) || !state_slot || !states.insert({a.slot, {a.from, a.where}}).second) return false;
        break;
      case action_kind::load:
        if (a.slot == no_slot ? !plan.initial_is_free() || a.from != 0
                              : !state_slot || states.count(a.slot) == 0 || states[a.slot] != std::pair{a.from, a.where}) return false;
        live = a.from;
        alive = true;
        break;
      case action_kind::drop:
        if (a.what == content::state) {
          if (!state_slot || states.count(a.slot) == 0 || states[a.slot].second != a.where) return false;
          states.erase(a.slot);
        } else {
          if (!tape_slot || tapes.count(a.slot) == 0 || tapes[a.slot].second != a.where) return false;
          tapes.erase(a.slot);
        }
        break;
      case action_kind::record:
        if (!lives(a.from) || length < 1 || length > plan.leaf() || a.to > open || !tape_slot ||
            !tapes.insert({a.slot, {steps, a.where}}).second)
          return false;
        live = a.to;
        break;
      case action_kind::turn:
        if (turned || !lives(a.from) || a.to != n) return false;
        turned = true;
        break;
      case action_kind::reverse:
        if (!turned || a.to != open || length < 1 || length > plan.leaf()) return false;
        if (a.what == content::tape ? !tape_slot || tapes.count(a.slot) == 0 || tapes[a.slot] != std::pair{steps, a.where} : !lives(a.from))
          return false;
        if (a.what == content::state) alive = false;
        open = a.from;
        break;
      case action_kind::done: return turned && open == 0 && states.empty() && tapes.empty();
    }
  }
  return false;
}

class breaker {
 public:
  explicit breaker(unsigned seed) : random_{seed} {}
  /// One to three changes of actions, of their order, or of the plan's numbers.
  listed broken(listed const& plan) {
    auto all = actions_of(plan);
    all.pop_back();
    listed_options options{plan.leaf(), plan.tapes(), plan.initial_is_free()};
    slot_index slots = plan.slots();
    for (unsigned k = 1 + below(3); k-- > 0 && !all.empty();) {
      auto const at = all.begin() + below(unsigned(all.size()));
      switch (below(12)) {
        case 0: all.erase(at); break;
        case 1: all.insert(at, *at); break;
        case 2: std::swap(*at, all[below(unsigned(all.size()))]); break;
        case 3: at->kind = action_kind(below(7)); break;
        case 4: nudge(at->slot); break;
        case 5: nudge(at->from); break;
        case 6: nudge(at->to); break;
        case 7: at->what = at->what == content::state ? content::tape : content::state; break;
        case 8: at->where = tier(below(4)); break;
        case 9: options.free_initial = !options.free_initial; break;
        case 10: slots += slots > 0 && below(2) == 0 ? -1 : 1; break;
        case 11: at->from = below(2) == 0 ? std::numeric_limits<step_index>::max() : std::numeric_limits<step_index>::min(); break;
      }
    }
    return {plan.steps(), slots, all.data(), all.size(), options};
  }

 private:
  /// Up to two more or less, around the corner at the largest number.
  void nudge(step_index& number) { number = step_index(std::uint64_t(number) + below(5) - 2); }
  unsigned below(unsigned count) { return unsigned(random_() % count); }
  std::mt19937 random_;
};

/// Of `count` mutants, how many the interpreter accepted; fails where the second one disagrees.
int accepted_mutants(unsigned seed, int count) {
  std::vector<listed> sound;
  for (step_index const n : {0, 1, 2, 3, 5, 8, 12})
    for (listed const& plan : {listed_from(revolve{n, 3}), listed_from(uniform{n}), all_tapes(n), listed_from(leaves{n, 2, revolve{(n + 1) / 2, 2}}),
                               listed_from(revolve{n, 1, {.free_initial = true}}), listed_from(leaves{n, 3, all_tapes((n + 2) / 3)})})
      sound.push_back(plan);
  for (auto const& plan : sound) REQUIRE(is_schedule(plan));
  breaker change{seed};
  int accepted = 0;
  for (int k = 0; k < count; ++k) {
    listed const mutant = change.broken(sound[std::size_t(k) % sound.size()]);
    auto const found = check(mutant);
    if (bool(found) != is_schedule(mutant)) {
      std::string text;
      for (auto const& a : actions_of(mutant)) text += text_of(a) + "\n";
      FAIL("mutant " << k << ": " << describe(found.reason) << " at action " << text_of(found.number) << "\n" << text);
    }
    accepted += found ? 1 : 0;
  }
  return accepted;
}

}  // namespace

TEST_CASE("two interpreters agree on schedules broken at random", "[plan][verify][mutants]") {
  int const accepted = accepted_mutants(7, 100'000);
  CHECK(accepted > 1000);      // some changes do no harm
  CHECK(accepted < 60'000);
}

TEST_CASE("two interpreters agree on a million schedules broken at random", "[plan][verify][mutants][.soak]") {
  CHECK(accepted_mutants(11, 1'000'000) > 0);
}
