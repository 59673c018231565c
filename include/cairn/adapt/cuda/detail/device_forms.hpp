// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_forms.hpp  The forms in which a step, an adjoint, a seed and an initial state on a device may be
/// written, with parameters and without.
#include <cstddef>
#include <type_traits>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/frames_needed.hpp>

namespace cairn::detail {

/// Whether `f(Before..., x, After...)` can write to x, a State. A trivially copyable state may be a handle, and a copy
/// of it can write.
template <class Fn, class State, class Before, class... After>
inline constexpr bool writes_to =
    std::is_trivially_copyable_v<State> || !only_reads<Fn, void, State, Before, After...> ||
    forwards<Fn, State, Before, After...>;

/// `step(in, out, i, stream)`, or `step(x, i, stream)`, which changes x. A step must return nothing, because its result
/// would be lost.
template <class Step, class State, class Stream>
[[nodiscard]] consteval step_form device_step_form() {
  using index = step_index const&;
  if constexpr (calls_void<Step, State const&, State&, index, Stream>)
    return writes_to<Step, State, arguments<State const&>, index, Stream> ? step_form::out_of_place : step_form::none;
  else if constexpr (calls_void<Step, State&, index, Stream>)
    return writes_to<Step, State, arguments<>, index, Stream> ? step_form::in_place : step_form::none;
  else return step_form::none;
}
template <class Start, class State, class Stream>
[[nodiscard]] consteval bool starts_on_device() {
  if constexpr (std::is_same_v<std::remove_cv_t<Start>, State>) return true;
  else if constexpr (calls_void<Start, State&, Stream>) return writes_to<Start, State, arguments<>, Stream>;
  else return false;
}

/// `step(x, x1, p, i, stream)` or `step(x, p, i, stream)`. A generic step takes p by reference: what it takes by value
/// there is most likely its index.
template <class Step, class State, class Stream, class Params>
[[nodiscard]] consteval step_form device_step_form_with() {
  using index = step_index const&;
  using p = Params const&;
  if constexpr (generic_by_value<Step, 2, State const&, State&, p, index, Stream>) return step_form::none;
  else if constexpr (calls_void<Step, State const&, State&, p, index, Stream>) {
    constexpr bool cuts =
        cuts_params<Step>(arguments<State const&, State&>{}, arguments<p>{}, arguments<index, Stream>{});
    return !cuts && writes_to<Step, State, arguments<State const&>, p, index, Stream> ? step_form::out_of_place
                                                                                      : step_form::none;
  } else if constexpr (generic_by_value<Step, 1, State&, p, index, Stream>) return step_form::none;
  else if constexpr (!reads_one_with<Step, State, Params, step_index, Stream>) return step_form::none;
  else if constexpr (calls_void<Step, State&, p, index, Stream>) {
    constexpr bool cuts = cuts_params<Step>(arguments<State&>{}, arguments<p>{}, arguments<index, Stream>{});
    return !cuts && writes_to<Step, State, arguments<>, p, index, Stream> ? step_form::in_place : step_form::none;
  } else return step_form::none;
}
/// `adjoint(x, bar, p, dp, i, stream)`.
template <class Adjoint, class State, class Bar, class Stream, class Params, class DP>
[[nodiscard]] consteval bool device_adjoint_with() {
  using index = step_index const&;
  using p = Params const&;
  if constexpr (generic_by_value<Adjoint, 2, State const&, Bar&, p, DP&, index, Stream> ||
                generic_by_value<Adjoint, 3, State const&, Bar&, p, DP&, index, Stream>)
    return false;
  else if constexpr (!calls_void<Adjoint, State const&, Bar&, p, DP&, index, Stream>) return false;
  else
    return !cuts_params<Adjoint>(arguments<State const&, Bar&>{}, arguments<p, DP&>{}, arguments<index, Stream>{});
}
/// The functions of a sweep as they are called: with the parameters of a `wrt`, or as without any.
template <class State, class Stream, class Bar, class Wrt>
struct device_functions {
  template <class Step>
  static constexpr step_form form = device_step_form<Step, State, Stream>();
  template <class Seed>
  static constexpr bool seeds = calls_void<Seed, State const&, Bar&, Stream>;
  template <class Adjoint>
  static constexpr bool reverses = calls_void<Adjoint, State const&, Bar&, step_index const&, Stream>;

  /// Calls then(step, seed, adjoint), which take no parameters.
  template <class Step, class Seed, class Adjoint, class Then>
  static decltype(auto) bound(Wrt const&, Step& step, Seed& seed, Adjoint& adjoint, Then const& then) {
    return then(step, seed, adjoint);
  }
};
template <class State, class Stream, class Bar, class Params, class DP>
struct device_functions<State, Stream, Bar, wrt<Params, DP>> {
  template <class Step>
  static constexpr step_form form = device_step_form_with<Step, State, Stream, Params>();
  template <class Seed>
  static constexpr bool sums = calls_void<Seed, State const&, Bar&, Params const&, DP&, Stream>;
  template <class Seed>
  static constexpr bool seeds = sums<Seed> || calls_void<Seed, State const&, Bar&, Stream>;
  template <class Adjoint>
  static constexpr bool reverses = device_adjoint_with<Adjoint, State, Bar, Stream, Params, DP>();

  template <class Step, class Seed, class Adjoint, class Then>
  static decltype(auto) bound(wrt<Params, DP> const& by, Step& step, Seed& seed, Adjoint& adjoint, Then const& then) {
    auto& p = by.p;
    auto& dp = by.dp;
    auto ends = [&](State const& x, Bar& bar, Stream in) {
      if constexpr (sums<Seed>) seed(x, bar, p, dp, in);
      else seed(x, bar, in);
    };
    auto pulls = [&](State const& x, Bar& bar, step_index const i, Stream in) { adjoint(x, bar, p, dp, i, in); };
    if constexpr (form<Step> == step_form::in_place) {
      auto runs = [&](State& x, step_index const i, Stream in) { step(x, p, i, in); };
      return then(runs, ends, pulls);
    } else {
      auto runs = [&](State const& x, State& x1, step_index const i, Stream in) { step(x, x1, p, i, in); };
      return then(runs, ends, pulls);
    }
  }
};
/// Puts into a stream that the device memory of dp becomes 0; what it holds on the host stays.
template <class Runtime, class DP>
void zero_on_device(Runtime& runtime, DP& dp, typename Runtime::stream in) {
  struct visitor {
    Runtime& runtime;
    typename Runtime::stream in;
    void operator()(device_pointer<void> at, std::size_t bytes) const { runtime.zero(at.get(), bytes, in); }
    void operator()(void*, std::size_t) const noexcept {}
  };
  visit_buffers(dp, visitor{runtime, in});
}

/// Whether parameters and their gradient can be used on a device.
template <class Runtime, class Wrt>
[[nodiscard]] consteval bool check_device_params() {
  if constexpr (!is_wrt<Wrt>) return true;
  else {
    constexpr bool zeroes = zeroing_runtime<Runtime>, hashed = hashable<typename params_types<Wrt>::p>,
                   stays = device_buffered<typename params_types<Wrt>::dp>;
    static_assert(zeroes,
                  "cairn: the dp of cairn::wrt{p, dp} is set to zero in the stream, so this runtime must be a "
                  "cairn::zeroing_runtime, with zero(to, bytes, stream)");
    static_assert(hashed,
                  "cairn: the parameters p of cairn::wrt{p, dp} on a device are values of the host whose bytes are all "
                  "known, which are hashed and given to kernels by value; let functions capture what lies on the "
                  "device, and set its gradient to zero in the seed");
    static_assert(stays,
                  "cairn: the dp of cairn::wrt{p, dp} on a device must lie in device memory and say where, like a "
                  "state: adjoints still add to it when the call returns");
    return zeroes && hashed && stays;
  }
}

/// Stands for a missing plan.
struct no_plan {};

/// The error messages for what a loop on a device cannot use.
template <class State, class Stream, class Step, class Start, class Plan, class Seed, class Adjoint, class Bar,
          class Wrt = no_wrt>
[[nodiscard]] consteval bool check_device_sweep() {
  using functions = device_functions<State, Stream, Bar, Wrt>;
  constexpr bool steps = functions::template form<Step> != step_form::none;
  constexpr bool starts = starts_on_device<Start, State, Stream>();
  constexpr bool plans = std::is_same_v<Plan, no_plan> || schedule<Plan>;
  constexpr bool seeds = functions::template seeds<Seed>;
  constexpr bool reverses = functions::template reverses<Adjoint>;
  static_assert(
      steps,
      "cairn: the step on a device must be `step(x, x1, i, stream)` with x const& or, in place, `step(x, i, stream)`; "
      "with cairn::wrt p comes before i");
  static_assert(
      starts,
      "cairn: the initial state on a device must be a state like the frames, or `start(x, stream)` that writes it");
  static_assert(plans, "cairn: the plan must be a schedule with steps(), slots(), leaf() and walk()");
  static_assert(
      seeds,
      "cairn: the seed on a device must be `seed(x, bar, stream)`, which writes bar, the adjoint of the final state x; "
      "with cairn::wrt p and dp may come before the stream");
  static_assert(
      reverses,
      "cairn: the adjoint on a device must be `adjoint(x, bar, i, stream)`, where x is const& and bar is changed; with "
      "cairn::wrt p and `auto& dp` come before i");
  return steps && starts && plans && seeds && reverses;
}

}  // namespace cairn::detail
