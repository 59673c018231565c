// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file non_persistent_rules.hpp  How segments of a chain are reversed if states may be dropped early, and the bytes
/// that takes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// How a segment begins and ends. Bit 1: it owns its first state and drops it before its end. Bit 0: the tape of its
/// last stage exists already, and the state of that stage does not.
enum class segment_kind : std::uint8_t { pinned = 0, pinned_pending = 1, released = 2, released_pending = 3 };

/// Whether the first state is dropped before the end.
[[nodiscard]] constexpr bool is_released(segment_kind of) noexcept { return (int(of) & 2) != 0; }
/// Whether the tape of the last stage exists already.
[[nodiscard]] constexpr bool is_pending(segment_kind of) noexcept { return (int(of) & 1) != 0; }
/// The kind with these two properties.
[[nodiscard]] constexpr segment_kind kind_of(bool released, bool pending) noexcept {
  return segment_kind((released ? 2 : 0) + (pending ? 1 : 0));
}

/// Stages from..to, reversed from the adjoint of state to+1, which exists, to that of state `from`, which is made.
/// State `from` exists at the beginning. A `pinned` state `from` belongs to the caller, by itself or in a tape, and is
/// still there at the end. A `released` one is dropped before the end. If tapes are not self-contained, the released
/// segment then stops one adjoint earlier and leaves the tape of stage `from` to a `pending` segment.
struct segment {
  segment_kind kind = segment_kind::pinned;  ///< how it begins and ends
  std::int64_t from = 0, to = 0;             ///< its stages, both included
};

/// The first thing that a plan does with a segment.
struct segment_choice {
  enum class what : std::uint8_t {
    last,    ///< one stage is left: record it and run its adjoint
    record,  ///< record stage `from`, then reverse the segment that begins at the next stage
    keep,    ///< run to state k, reverse from it as `pinned`, drop it, then reverse from..k-1
    release  ///< run to state k, reverse from it as `released`, then reverse the rest: up to k-1, or up to k with its
             ///< tape pending
  };
  what does = what::last;  ///< what is done
  std::int64_t k = 0;      ///< the state at which the run ends, for `keep` and `release`
};

/// The recurrences of plans that may drop states early, in bytes (extends Beaumont, Eyraud-Dubois, Herrmann, Joly,
/// Shilova 2019, section 4, by released first states and pending tapes). There are four kinds of segments; if tapes are
/// self-contained, only the two that are not pending. The budget of a segment pays for the adjoint at its right end, a
/// pending tape and a released first state, but not for a pinned one. The time of a segment is that of forward runs
/// beyond the one of each stage that it records; for a split it is time(from..k) + the times of the two parts.
class non_persistent_rules {
 public:
  /// \param model  must outlive the rules
  explicit non_persistent_rules(chain_model const& model) noexcept : model_{model} {}

  [[nodiscard]] chain_model const& model() const noexcept { return model_; }  ///< the chain
  /// The whole chain; the loss is its last stage.
  [[nodiscard]] segment whole() const noexcept { return {segment_kind::pinned, 0, model_.stages}; }

  /// Whether such a segment can occur: state 0 is never released, the loss has no tape, and a pending stage is not
  /// recorded again.
  [[nodiscard]] bool exists(segment const& of) const noexcept {
    if (is_released(of.kind) && (of.from == 0 || (!model_.self_contained_tape && of.from == model_.stages)))
      return false;
    return !is_pending(of.kind) ||
           (!model_.self_contained_tape && of.to < model_.stages && !(is_released(of.kind) && of.from == of.to));
  }
  /// Bytes of a first state for which the segment's budget pays.
  [[nodiscard]] std::int64_t held(segment const& of) const noexcept { return is_released(of.kind) ? x(of.from) : 0; }
  /// Least budget of a segment of one stage, which takes no extra time.   \pre from == to
  [[nodiscard]] std::int64_t last_need(segment const& of) const noexcept {
    if (of.from == model_.stages) return held(of) + b(of.from);
    std::int64_t const forward = held(of) + f(of.from), backward = runs_adjoint(of) ? b(of.from) : 0;
    return right_end(of) + (is_pending(of.kind) ? backward : s(of.from) + (std::max)(forward, backward));
  }
  /// Least budget for recording the first stage and for its adjoint; the rest of the segment has what its tape leaves
  /// free.
  /// \pre from < to
  [[nodiscard]] std::int64_t record_need(segment const& of) const noexcept {
    std::int64_t const forward = right_end(of) + held(of) + s(of.from) + f(of.from);
    return runs_adjoint(of) ? (std::max)(forward, model_.g[std::size_t(of.from) + 1] + s(of.from) + b(of.from))
                            : forward;
  }
  /// Bytes that a run from state `from` to state k = from + 1 needs besides `forward_base`; `further_need` goes on from
  /// there step by step.
  [[nodiscard]] std::int64_t first_need(segment const& of) const noexcept { return x(of.from + 1) + f(of.from); }
  /// Bytes for the run to state k, given the need of the run to state k-1.
  [[nodiscard]] std::int64_t further_need(std::int64_t need, std::int64_t k) const noexcept {
    return (std::max)(need, x(k - 1) + x(k) + f(k - 1));
  }
  /// Bytes held during such a run: the adjoint at the right end, a pending tape, a released first state.
  [[nodiscard]] std::int64_t forward_base(segment const& of) const noexcept { return right_end(of) + held(of); }

  /// The segment left after recording the first stage; `b` free bytes become b + held - s.
  [[nodiscard]] static segment rest(segment const& of) noexcept {
    return {kind_of(false, is_pending(of.kind)), of.from + 1, of.to};
  }
  /// The two parts of a split, the right one first. The left part has all bytes. The right part has those that the
  /// first state leaves free, and state k, too, unless that is released.
  [[nodiscard]] std::pair<segment, segment> parts(segment const& of, segment_choice const& by) const noexcept {
    bool const gives_up = by.does == segment_choice::what::release, pending = is_pending(of.kind),
               leaves_tape = gives_up && !model_.self_contained_tape;
    return {{kind_of(gives_up, pending), by.k, of.to},
            {kind_of(is_released(of.kind), leaves_tape), of.from, leaves_tape ? by.k : by.k - 1}};
  }
  /// Whether a split of this sort exists at k. With self-contained tapes every split releases, which is never worse.
  [[nodiscard]] bool may_split(segment const& of, segment_choice const& by) const noexcept {
    return model_.self_contained_tape ? by.does == segment_choice::what::release
                                      : by.does == segment_choice::what::keep || by.k < of.to;
  }

 private:
  [[nodiscard]] std::int64_t x(std::int64_t i) const noexcept { return model_.x[std::size_t(i)]; }
  [[nodiscard]] std::int64_t s(std::int64_t i) const noexcept { return model_.s[std::size_t(i)]; }
  [[nodiscard]] std::int64_t f(std::int64_t i) const noexcept { return model_.f[std::size_t(i)]; }
  [[nodiscard]] std::int64_t b(std::int64_t i) const noexcept { return model_.b[std::size_t(i)]; }
  [[nodiscard]] std::int64_t right_end(segment const& of) const noexcept {
    return model_.g[std::size_t(of.to) + 1] + (is_pending(of.kind) ? s(of.to) : 0);
  }
  /// Whether the segment runs the adjoint of stage `from`, instead of leaving it to a pending segment.
  [[nodiscard]] bool runs_adjoint(segment const& of) const noexcept {
    return model_.self_contained_tape || !is_released(of.kind);
  }

  chain_model const& model_;
};

/// The sizes by which budgets of segments shrink: bytes, or slots of some unit.
struct held_sizes {
  value_list<std::int64_t> x, s;  ///< of states 0..L and tapes 0..L; the tape of the loss is 0

  /// The budget, besides a first state that the segment owns, of the segment left after recording the first stage.
  [[nodiscard]] std::int64_t after_record(segment const& of, std::int64_t free) const noexcept {
    return free + (is_released(of.kind) ? x[std::size_t(of.from)] : 0) - s[std::size_t(of.from)];
  }
  /// The budget, besides state k, of the right part of a split.
  [[nodiscard]] std::int64_t after_run(std::int64_t k, std::int64_t free) const noexcept {
    return free - x[std::size_t(k)];
  }
};

/// Writes the plan of a segment.
/// \param choose  called as choose(segment, free) with the budget besides the first state; returns the segment_choice
template <class Choose>
[[gnu::cold]] void write_plan(non_persistent_rules const& rules, held_sizes const& sizes, segment const& of,
                              std::int64_t free, Choose const& choose, std::vector<action>& plan) {
  chain_model const& model = rules.model();
  bool const released = is_released(of.kind), runs_adjoint = model.self_contained_tape || !released;
  segment_choice const by = choose(of, free);
  switch (by.does) {
    case segment_choice::what::last:
      if (of.from == model.stages) return plan.push_back(chain_actions::turn(of.from));
      if (!is_pending(of.kind)) plan.push_back(chain_actions::record(of.from));
      if (released) plan.push_back(chain_actions::drop(of.from));
      if (runs_adjoint) plan.push_back(chain_actions::reverse(of.from));
      return;
    case segment_choice::what::record:
      plan.push_back(chain_actions::record(of.from));
      if (released) plan.push_back(chain_actions::drop(of.from));
      write_plan(rules, sizes, rules.rest(of), sizes.after_record(of, free), choose, plan);
      if (runs_adjoint) plan.push_back(chain_actions::reverse(of.from));
      return;
    case segment_choice::what::keep:
    case segment_choice::what::release:
      append_run(plan, of.from, by.k);
      auto const [right, left] = rules.parts(of, by);
      write_plan(rules, sizes, right, sizes.after_run(by.k, free), choose, plan);
      if (by.does == segment_choice::what::keep && by.k < model.stages)  // the loss drops its state itself
        plan.push_back(chain_actions::drop(by.k));
      return write_plan(rules, sizes, left, free, choose, plan);
  }
}

}  // namespace cairn::detail
