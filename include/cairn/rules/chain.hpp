// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain.hpp  A chain of different stages: the bytes and the time of each.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

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

}  // namespace detail
}  // namespace cairn
