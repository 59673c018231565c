// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain.hpp  A chain of different stages: the bytes and the time of each, and the rules of its plans.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/detail/place_walk.hpp>

namespace cairn {

/// L stages 0..L-1 and a loss, stage L. Stage i leads from state i to state i+1; its tape is what its adjoint needs
/// besides state i. The letters are those of the literature (Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova 2019,
/// section 3). All numbers are >= 0; sizes are in bytes, times in any one unit, such as nanoseconds. State 0 and its
/// adjoint belong to the caller and are not counted; neither is what lives through the whole sweep, such as parameters.
struct chain {
  std::vector<std::int64_t> x;  ///< bytes of state i, 0..L; there are L+1
  std::vector<std::int64_t> g = {};  ///< bytes of the adjoint of state i, 0..L; same as `x` if empty
  std::vector<std::int64_t> s;  ///< bytes of the tape of stage i, 0..L-1, including its output, state i+1
  std::vector<std::int64_t> f = {};  ///< temporary bytes while stage i runs, 0..L-1; all 0 if empty
  std::vector<std::int64_t> b = {};  ///< temporary bytes while the adjoint of stage i runs, 0..L, including its new
                                     ///< adjoint if the old one still lives; all 0 if empty
  std::vector<std::int64_t> u;  ///< time of stage i, 0..L-1
  std::vector<std::int64_t> v = {};  ///< time of the adjoint of stage i, 0..L, the loss last; all 0 if empty
  bool self_contained_tape = false;  ///< the adjoint of a stage needs only its tape, not state i

  [[nodiscard]] step_index stages() const noexcept { return step_index(x.size()) - 1; }  ///< L
  friend bool operator==(chain const&, chain const&) = default;
};

/// A place for states besides working memory, such as a disk or the host of an accelerator.
struct chain_tier {
  tier where = tier::disk;  ///< its name; each tier at most once, never `memory`
  std::int64_t bytes = -1;  ///< its capacity; unlimited if negative
  std::vector<std::int64_t> write = {};  ///< time to save state i there, 0..L; all 0 if empty
  std::vector<std::int64_t> read = {};   ///< time to load state i from there, 0..L; all 0 if empty
};

/// The actions of plans for chains. Each state and each tape of a chain has a place of its own, because they differ in
/// size. It stays there until it is dropped; there is no live state. State i > 0 can be used while it is kept in memory
/// or while tape i-1 lives; state 0 belongs to the caller and can always be used. In each action `from` is the number
/// of the stage or state; the loss has number L.
namespace chain_actions {

/// Run stage i on state i, which stays; makes state i+1 and records nothing.
[[nodiscard]] constexpr action advance(step_index i) noexcept {
  return {action_kind::advance, tier::memory, content::state, no_slot, i, i + 1};
}
/// Run stage i on state i, which stays, and keep its tape; state i+1 lives inside the tape.
[[nodiscard]] constexpr action record(step_index i) noexcept {
  return {action_kind::record, tier::memory, content::tape, i, i, i + 1};
}
/// Free state i on tier `where`.
[[nodiscard]] constexpr action drop(step_index i, tier where = tier::memory) noexcept {
  return {action_kind::drop, where, content::state, i, i, 0};
}
/// Free the tape of stage i.
[[nodiscard]] constexpr action drop_tape(step_index i) noexcept {
  return {action_kind::drop, tier::memory, content::tape, i, i, 0};
}
/// The loss: make the adjoint of state L from state L, and free state L.
[[nodiscard]] constexpr action turn(step_index stages) noexcept {
  return {action_kind::turn, tier::memory, content::state, no_slot, stages, stages};
}
/// Make the adjoint of state i from the adjoint of state i+1, tape i and, unless tapes are self-contained, state i.
/// Frees tape i, state i+1 and adjoint i+1.
[[nodiscard]] constexpr action reverse(step_index i) noexcept {
  return {action_kind::reverse, tier::memory, content::tape, i, i, i + 1};
}
/// Copy state i to tier `where`.
[[nodiscard]] constexpr action save(step_index i, tier where) noexcept {
  return {action_kind::save, where, content::state, i, i, 0};
}
/// Copy state i from tier `where` to memory.
[[nodiscard]] constexpr action load(step_index i, tier where) noexcept {
  return {action_kind::load, where, content::state, i, i, 0};
}

}  // namespace chain_actions

namespace detail {

/// \throws invalid_plan   if lengths do not match, a number is negative, or a tape is smaller than the output it holds
/// \throws overflow_error   if sums could exceed 2^62
[[gnu::cold]] inline void check_chain(chain const& c, char const* who) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  auto const invalid = [who](char const* problem, std::initializer_list<named_value> values, char const* advice) {
    throw invalid_plan{who, problem, values, advice};
  };
  if (c.x.empty())
    invalid("the chain has no state", {{"sizes in x", std::size_t{0}}},
            "give x, the bytes of states 0..L: one for a chain of no stages");
  std::size_t const stages = c.x.size() - 1;
  auto const sized = [&](std::vector<std::int64_t> const& list, std::size_t wanted, bool optional,
                         char const* problem) {
    if (list.size() != wanted && !(optional && list.empty()))
      invalid(problem, {{"stages", stages}, {"numbers given", list.size()}, {"wanted", wanted}},
              "x says how many stages there are: one less than it has numbers");
  };
  sized(c.g, stages + 1, true, "the adjoints' bytes g differ in length from x");
  sized(c.s, stages, false, "the tapes' bytes s are not one per stage");
  sized(c.f, stages, true, "the stages' working bytes f are not one per stage");
  sized(c.b, stages + 1, true, "the adjoints' working bytes b are not one per stage and one for the loss");
  sized(c.u, stages, false, "the stages' times u are not one per stage");
  sized(c.v, stages + 1, true, "the adjoints' times v are not one per stage and one for the loss");
  wide bytes = 0, times = 0;
  auto const add = [&](std::vector<std::int64_t> const& list, wide& sum, char const* problem) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] < 0) invalid(problem, {{"stage", i}, {"value", list[i]}}, "give numbers of 0 or more");
      sum += wide(list[i]);
    }
  };
  add(c.x, bytes, "a size in x is negative");
  add(c.g.empty() ? c.x : c.g, bytes, "a size in g is negative");
  add(c.s, bytes, "a size in s is negative");
  add(c.f, bytes, "a size in f is negative");
  add(c.b, bytes, "a size in b is negative");
  add(c.u, times, "a time in u is negative");
  times *= wide(stages) + 1;
  add(c.v, times, "a time in v is negative");
  if (bytes > wide(most) || times > wide(most))
    throw overflow_error{who,
                         "the sums of this chain exceed 2^62",
                         {{"all bytes", bytes}, {"stages times all times", times}},
                         "give times in a larger unit, or sizes in KiB"};
  for (std::size_t i = 0; i < stages; ++i)
    if (c.s[i] < c.x[i + 1])
      invalid("a tape is smaller than the stage's output, which it holds",
              {{"stage", i}, {"s", c.s[i]}, {"output's bytes in x", c.x[i + 1]}},
              "give s with the output included: what the adjoint needs, and x[i+1]");
}

/// The set of tiers that a plan may name; always includes memory.
class named_tiers {
 public:
  constexpr named_tiers() = default;
  constexpr void add(tier where) noexcept { bits_ |= bit(where); }
  [[nodiscard]] constexpr bool holds(tier where) const noexcept { return (bits_ & bit(where)) != 0; }
  [[nodiscard]] static constexpr named_tiers every() noexcept {
    named_tiers all;
    for (std::size_t k = 0; k < tier_count; ++k) all.add(tier(k));
    return all;
  }
  [[nodiscard]] static constexpr unsigned bit(tier where) noexcept {
    return std::size_t(where) < tier_count ? 1u << unsigned(where) : 0;
  }

 private:
  unsigned bits_ = bit(tier::memory);
};

/// Whether `a` runs a stage forward.
[[nodiscard]] constexpr bool runs_stage(action const& a) noexcept {
  return a.kind == action_kind::advance || a.kind == action_kind::record;
}
/// Whether `a` frees a state that is kept in memory.
[[nodiscard]] constexpr bool drops_state(action const& a) noexcept {
  return a.kind == action_kind::drop && a.what == content::state && a.where == tier::memory;
}

/// The action of `chain_actions` that has the kind, number and tier of `a`; `done` if chains have none of that kind.
[[nodiscard]] constexpr action as_chain_action(action const& a) noexcept {
  switch (a.kind) {
    case action_kind::advance: return chain_actions::advance(a.from);
    case action_kind::record: return chain_actions::record(a.from);
    case action_kind::drop:
      return a.what == content::tape ? chain_actions::drop_tape(a.from) : chain_actions::drop(a.from, a.where);
    case action_kind::turn: return chain_actions::turn(a.from);
    case action_kind::reverse: return chain_actions::reverse(a.from);
    case action_kind::save: return chain_actions::save(a.from, a.where);
    case action_kind::load: return chain_actions::load(a.from, a.where);
    case action_kind::done: break;
  }
  return {action_kind::done, tier::memory, content::state, no_slot, -1, -1};
}

/// The rules of `chain_actions`, in terms of numbers only. Call `check(a)` and `check_state(a)`, then `apply(a)` for each
/// action, then `finish()`. State 0 in memory is the caller's and always there.   Cost: O(1) per action.
class chain_walk : public place_walk {
 public:
  /// \param elsewhere  the tiers that saves and loads may name   \param who  the public name that refuses, with static
  /// storage
  chain_walk(step_index stages, named_tiers elsewhere, char const* who)
      : place_walk{stages, "stage", who}, far_{elsewhere} {}

  /// \throws invalid_schedule   if `a` needs something that does not exist, but for the state of an adjoint
  void check(action const& a) const {
    using enum action_kind;
    bool const of_stage = runs_stage(a) || a.kind == reverse || (a.kind == drop && a.what == content::tape);
    need(a.from >= 0 && a.from <= count() - (of_stage ? 1 : 0), "an action names a stage that is not there", a);
    need_own(a, as_chain_action(a), "an action is not one that a chain has", "make it by cairn::chain_actions");
    bool const elsewhere = a.kind == save || a.kind == load || (a.kind == drop && a.where != tier::memory);
    need(!elsewhere || (a.where != tier::memory && far_.holds(a.where)), "an action names a tier that is not there", a);
    step_index const i = a.from;
    switch (a.kind) {
      case advance: need(at_hand(i), "a stage is run on a state that is not at hand", a); break;
      case record:
        need(at_hand(i), "a stage is recorded on a state that is not at hand", a);
        need(!holds_tape(i), "a stage is recorded whose tape is kept", a);
        break;
      case drop:
        if (a.what == content::tape) {
          need(holds_tape(i), "a tape is dropped that is not kept", a);
          break;
        }
        need(elsewhere || i > 0, "state 0, which is the caller's, is dropped", a);
        need(holds_state(i, a.where),
             elsewhere ? "a state is dropped that is not kept on that tier" : "a state is dropped that is not kept", a);
        break;
      case turn:
        need(i == count(), "the loss is not the last stage", a);
        need(remaining() == count() + 1, "the loss is run twice", a);
        need(at_hand(i), "the loss is run without its state", a);
        break;
      case reverse:
        need(remaining() == i + 1, "an adjoint is run out of order", a);
        need(holds_tape(i), "an adjoint is run without its tape", a);
        break;
      case save:
        need(at_hand(i), "a state is saved that is not at hand", a);
        need(!holds_state(i, a.where), "a state is saved twice on one tier", a);
        break;
      case load: need(holds_state(i, a.where), "a state is loaded that is not kept on that tier", a); break;
      case done: break;
    }
  }
  /// The same for an adjoint that needs the state of its stage as well as its tape.   \pre check(a) has not thrown
  void check_state(action const& a) const {
    need(a.kind != action_kind::reverse || at_hand(a.from), "an adjoint is run without its state", a);
  }
  /// \pre check(a) has not thrown
  void apply(action const& a) noexcept {
    using enum action_kind;
    step_index const i = a.from;
    switch (a.kind) {
      case advance: set(i + 1, kept); break;
      case record:
        set(i, taped);
        clear(i + 1, kept);
        break;
      case drop: clear(i, a.what == content::tape ? taped : named_tiers::bit(a.where)); break;
      case turn: clear(i, kept); break;
      case reverse:
        clear(i, taped);
        clear(i + 1, kept);
        break;
      case save: set(i, named_tiers::bit(a.where)); break;
      case load: set(i, kept); break;
      case done: break;
    }
    pass(a);
  }
  /// \throws invalid_schedule   if an adjoint is missing
  void finish() const { need_end("the plan ends before the adjoint of state 0 is made", "open adjoints"); }

  [[nodiscard]] bool holds_state(step_index i, tier where = tier::memory) const noexcept {
    return (i == 0 && where == tier::memory) || holds(i, named_tiers::bit(where));
  }
  [[nodiscard]] bool at_hand(step_index i) const noexcept { return holds_state(i) || (i > 0 && holds_tape(i - 1)); }

 private:
  named_tiers far_;
};

}  // namespace detail
}  // namespace cairn
