// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reversible.hpp  Steps that run backwards: a state is made from the one after it and a little that was kept.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/door/model.hpp>
#include <cairn/run/with/detail/reversible_parts.hpp>
#include <cairn/run/with/reversal_report.hpp>

namespace cairn {

/// A step and its inverse, in the step's place of a model: `model{reversible{step, keep, back}, adjoint}`. Its members
/// `step` and `adjoint` are for any verb and plan.
///
/// A plan with leaves, such as `segments`, has *segments*: runs of steps of which only the first state is held. The
/// adjoint of a segment goes to its last state, and from there back: before the adjoint of each step `back` makes state i
/// from state i + 1. The first segment to be reversed, the last of the loop, has been kept in the forward run, so that
/// none of its steps runs again; those of other segments run once more. A plan
/// without leaves never calls `back`.
///
/// - `kept = keep(x, p, i)` is called before step i, and its value held until the step has gone back: a strip of the
///   boundary, a source, the bits that rounding lost. `reversible{step, back}` keeps nothing
/// - `back(x, kept, p, i)`, or `back(x, p, i)`, turns state i + 1 into state i in place; of an object it restores the
///   members. What it leaves as it is must be as it was
/// - p and i may be left out, and p is there only in a loop that has parameters
///
/// At the end of a segment the state that was made is compared with the one that is held, which replaces it: see
/// `reversal_report`. A made state has rounding, so the gradient has the bits of another plan only if the inverse is
/// exact. It has the same bits in each run of the same plan, whatever is run again or resumed.
///
/// The adjoint is one of a step, `(x, bar, i)`, `(x, x1, bar, i)` or `(x, bar, first, last)`, with p and dp if there are
/// parameters; of a recording adjoint the tape would be made by running the step once more, so it is refused. The terms of
/// an objective are added state by state. The step has any form; the outer one is out of place like it, or else in place.
/// An object is in state i when the adjoint is called, and in the segment's first state afterwards.
///
/// Memory of a segment of k steps: k kept parts and one state, two if the step is out of place or the adjoint takes x1;
/// of an object three snapshots, four if the adjoint moves it. Lvalues are kept by reference, see `hooked`; of rvalues
/// step and adjoint have copies. One model serves one loop at a time; a copy has memory of its own.
/// \throws reversal_error   by the sweep, if a state that was made differs by more than `reversible_options` allow
template <class Step, class Keep, class Back>
class reversible {
 public:
  /// \param step, keep, back  as above   \param options  how far a made state may be from the one that is held
  template <class StepArg, class KeepArg, class BackArg>
    requires(std::is_same_v<detail::kept_as<StepArg>, Step> && std::is_same_v<detail::kept_as<KeepArg>, Keep> &&
             std::is_same_v<detail::kept_as<BackArg>, Back>)
  reversible(StepArg&& step, KeepArg&& keep, BackArg&& back, reversible_options options = {})
      : parts_{std::forward<StepArg>(step), std::forward<KeepArg>(keep), std::forward<BackArg>(back), options} {}
  /// Without anything kept.
  template <class StepArg, class BackArg>
    requires(std::is_same_v<detail::kept_as<StepArg>, Step> && std::is_same_v<detail::kept_as<BackArg>, Back> &&
             std::is_same_v<Keep, keep_nothing_t>)
  reversible(StepArg&& step, BackArg&& back, reversible_options options = {})
      : parts_{std::forward<StepArg>(step), keep_nothing_t{}, std::forward<BackArg>(back), options} {}

 private:
  template <class, class, class> friend struct model;
  detail::reversible_functions<Step, Keep, Back> parts_;
};
/// Deduces how the functions are kept.
template <class Step, class Keep, class Back>
  requires(!std::is_same_v<std::remove_cvref_t<Back>, reversible_options>)
reversible(Step&&, Keep&&, Back&&)
    -> reversible<detail::kept_as<Step>, detail::kept_as<Keep>, detail::kept_as<Back>>;
/// The same with options.
template <class Step, class Keep, class Back>
reversible(Step&&, Keep&&, Back&&, reversible_options)
    -> reversible<detail::kept_as<Step>, detail::kept_as<Keep>, detail::kept_as<Back>>;
/// Without anything kept.
template <class Step, class Back>
reversible(Step&&, Back&&) -> reversible<detail::kept_as<Step>, keep_nothing_t, detail::kept_as<Back>>;
/// The same with options.
template <class Step, class Back>
reversible(Step&&, Back&&, reversible_options)
    -> reversible<detail::kept_as<Step>, keep_nothing_t, detail::kept_as<Back>>;

/// A model whose step runs backwards.
template <class Step, class Keep, class Back, class Adjoint, class Bar>
struct model<reversible<Step, Keep, Back>, Adjoint, Bar> {
  static constexpr bool by_states = !detail::recorder<Adjoint>;  ///< the adjoint takes states, and records none
  static_assert(by_states,
                "cairn: a step that runs backwards makes the states for an adjoint `adjoint(x, bar, i)`, `adjoint(x, x1, "
                "bar, i)` or `adjoint(x, bar, first, last)`; of cairn::recorded the tape would be made by running the step "
                "once more");
  detail::reversible_step<Step, Keep, Back> step;                 ///< `step(x, p, i)`, which keeps what `back` needs
  detail::reversible_adjoint<Step, Keep, Back, Adjoint> adjoint;  ///< the adjoint of a segment
  [[no_unique_address]] Bar bar{};                                ///< `bar(x)`

  /// \param of  the step and its inverse   \param back  the adjoint of the step   \param make  `bar(x)`
  model(reversible<Step, Keep, Back> const& of, Adjoint back, Bar make = {})
      : step{of.parts_}, adjoint{of.parts_, std::move(back), &step.memory}, bar{std::move(make)} {}
  /// A copy has memory of its own.
  model(model const& other)
      : step{other.step.of}, adjoint{other.step.of, *other.adjoint.adjoint, &step.memory}, bar{other.bar} {}
};

}  // namespace cairn
