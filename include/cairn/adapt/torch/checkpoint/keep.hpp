// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file keep.hpp  Parts of a region that are not run again.
#include <any>
#include <string_view>
#include <type_traits>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {
namespace detail {

/// The result type of f, or the likely one if f is refused.
template <class Fn>
struct kept_call : result_said<std::decay_t<Fn>> {};
template <class Fn>
  requires std::is_invocable_v<Fn&>
struct kept_call<Fn> : std::invoke_result<Fn&> {};

/// Calls the part that is to be kept.   \param is_wanted  returns whether the region keeps this part
template <class Fn, class Wanted>
auto keep_part(Fn&& f, Wanted const& is_wanted) {
  using result = std::remove_cvref_t<typename kept_call<Fn>::type>;
  constexpr bool is_called = std::is_invocable_v<Fn&>;
  static_assert(is_called,
                "cairn: keep takes a function without arguments that captures what it reads; a tensor has already been "
                "computed");
  constexpr bool is_state = tensor_state<result>;
  static_assert(!is_called || is_state,
                "cairn: what is kept must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::libtorch::tensor_traits");
  constexpr bool is_right = is_called && is_state;
  if constexpr (!is_right)
    return cairn::detail::refuse<typename cairn::detail::first_returned<result, at::Tensor>::type>();
  else {
    auto* const now = active_region::innermost();
    if (now == nullptr || !at::GradMode::is_enabled() || !is_wanted(*now)) return result(f());
    if (auto const* const before = now->next()) {
      dispatch_mode_scope const no_mode{false};
      tensor_list parts;
      for (auto const& one : before->parts) {
        auto const leaf = one.leaf("cairn::libtorch::keep", parts.size());
        parts.push_back(leaf.defined() ? result_tensor(leaf, leaf.requires_grad()) : leaf);
        now->origins().leave_out(parts.back());
      }
      before->generators.restore();
      return state_of(std::any_cast<result const&>(before->like), parts);
    }
    if (now->again()) return result(f());  // a recomputation requested before the first run reached this part
    auto made = [&] {
      active_region::outside const unkept{*now};
      return result(f());
    }();
    dispatch_mode_scope const no_mode{false};
    auto const parts = tensors_of(made);
    kept_result entry{state_of(made, tensor_list(parts.size())), {}, {}};
    {
      active_region::outside const unkept{*now};
      for (auto const& t : parts) entry.parts.emplace_back(t);
    }
    for (auto const& t : parts) now->origins().leave_out(t);
    if (now->rng() == Rng::Preserve) entry.generators = generator_states::now(parts);
    now->kept().push_back(std::move(entry));
    return made;
  }
}

}  // namespace detail

/// Calls `f()` inside a region: its result, and what autograd saves in it, are kept as without the region, and the
/// recomputation uses the result instead of calling f. Useful for the part that takes the most time and saves the
/// least, such as a product of large matrices. Outside regions, and without grad mode, it is the plain call. The result
/// of f must not be changed in place, nor be differentiated inside the region with respect to what f reads.
/// \param f  called without arguments; for its possible results see `tensor_state`
/// Cost: the bytes of the result and of what f saves, and 5 KB if random numbers are to be the same
template <class Fn>
auto keep(Fn&& f) {
  return detail::keep_part(f, [](detail::active_region const&) { return true; });
}
/// The same for a named part: it is kept if `CheckpointOptions::kept_names` of the region has the name or is not set;
/// otherwise it is a plain part of the function.
template <class Fn>
auto keep(std::string_view name, Fn&& f) {
  return detail::keep_part(f, [name](detail::active_region const& region) { return region.keeps(name); });
}

}  // namespace cairn::libtorch
