// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rebuilt_states.hpp  Whether a state that is rebuilt from its tensors is all of it.
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/ordered_dict.h>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/recompute_mismatch.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::libtorch::detail {

/// Whether the user's `tensor_traits` say what a state, or a part of it, is made of. Those of this library leave out
/// nothing.
template <class State> inline constexpr bool has_own_traits = true;
template <> inline constexpr bool has_own_traits<at::Tensor> = false;
template <class... Part> inline constexpr bool has_own_traits<std::tuple<Part...>> = (has_own_traits<Part> || ...);
template <class First, class Second>
inline constexpr bool has_own_traits<std::pair<First, Second>> = has_own_traits<First> || has_own_traits<Second>;
template <class Part, std::size_t Count>
inline constexpr bool has_own_traits<std::array<Part, Count>> = has_own_traits<Part>;
template <class Part> inline constexpr bool has_own_traits<std::vector<Part>> = has_own_traits<Part>;
template <class Key, class Part>
inline constexpr bool has_own_traits<torch::OrderedDict<Key, Part>> = has_own_traits<Part>;
template <optional_value Optional>
inline constexpr bool has_own_traits<Optional> = has_own_traits<typename Optional::value_type>;

/// Whether a loop with these options compares bits, and its states may lack something.
template <class State>
[[nodiscard]] bool checks_rebuilt(LoopOptions const& options) {
  return has_own_traits<State> && (options.determinism() == Check::Bits || options.verify() != replay_check::off);
}
/// Each step of a loop begins with a state that is rebuilt from its tensors, on the way forward, too: what they lack is
/// missing everywhere alike, and no recomputation shows it. This runs step 1 on what step 0 returned, and on what is
/// rebuilt from that. These calls leave generators and buffers as they were, and are not counted.
/// \param step  `x1 = step(x, i)`, a copy of the user's   \param goes_on  called for state 1, whether step 1 follows
/// \throws recompute_mismatch
template <class State, class Step, class Question>
void check_rebuilt([[maybe_unused]] char const* who, [[maybe_unused]] Step step, [[maybe_unused]] State const& x0,
                   [[maybe_unused]] LoopOptions const& options, [[maybe_unused]] Question goes_on) {
  if constexpr (has_own_traits<State>) {
    at::NoGradGuard const no_grad;
    autocast_scope const casts{autocast_state::now().without_cache()};
    generator_use const drawing{options.rng()};
    auto const run = [&](State const& x, step_index i, write_log& changes) {
      read_tracker const tracker{&changes};
      State x1 = step(x, i);
      changes.end();
      return x1;
    };
    auto const generators = generator_states::now(tensors_of(x0));
    undone_writes at_first;
    State const x1 = run(own_state(x0), 0, at_first.log);  // as in the loop: x0 may share what the step changes
    auto const parts = tensors_of(x1);
    if (goes_on(parts)) {
      auto const second = generator_states::now(parts);
      auto const results = [&](State const& x) {
        undone_writes undone;
        drawing.put_back(second);
        std::vector<tensor_metadata> all;
        for (auto const& part : tensors_of(run(x, 1, undone.log))) all.push_back(tensor_metadata::of(part, true));
        return all;
      };
      auto const whole = results(x1), rebuilt = results(state_of(x0, parts));
      for (std::size_t k = 0; k < whole.size() && k < rebuilt.size(); ++k)
        if (!whole[k].is_like(rebuilt[k]) || whole[k].bits != rebuilt[k].bits)
          throw recompute_mismatch{
              who,
              "a state that was rebuilt from its tensors and run on is not what the step made of it at first",
              {{"step", 1}, {"part", k}},
              "let flatten() of its tensor_traits give, and unflatten() bring back, every tensor that the step reads "
              "and changes, and make a tensor of every number that it changes; let the step read nothing else that "
              "changes"};
    }
    drawing.put_back(generators);
  }
}

}  // namespace cairn::libtorch::detail
