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
#include <cairn/core/detail/refused.hpp>

namespace cairn::libtorch {
namespace detail {

/// What f returns, or would, as far as that is known.
template <class F>
struct kept_call : result_said<std::decay_t<F>> {};
template <class F>
  requires std::is_invocable_v<F&>
struct kept_call<F> : std::invoke_result<F&> {};

/// Calls what is to be kept.   \param is_wanted  says of the region whether it keeps this part
template <class F, class Wanted>
auto keep_part(F&& f, Wanted const& is_wanted) {
  using result = std::remove_cvref_t<typename kept_call<F>::type>;
  constexpr bool is_called = std::is_invocable_v<F&>;
  static_assert(is_called,
                "cairn: what is kept is a function without arguments; it captures what it reads, and a tensor has been "
                "computed already");
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
    if (now->again()) return result(f());  // asked for in the middle of the first run, which was not there yet
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

/// Calls `f()` inside a region: what it returns, and what autograd saves in it, stays as without the region, and the
/// second run takes the result instead of calling f. For the part that takes the most time and saves the least, such as
/// a product of large matrices. Outside of regions, and without grad mode, it is the plain call. What f returns must
/// not be changed in place, nor be differentiated inside the region with respect to what f reads.
/// \param f  called without arguments; see `tensor_state` for what it may return
/// Cost: the bytes of the result and of what f saves, and 5 KB where random numbers are drawn again
template <class F>
auto keep(F&& f) {
  return detail::keep_part(f, [](detail::active_region const&) { return true; });
}
/// The same for a part that has a name: it is kept where the region's `CheckpointOptions::kept_names` has the name or
/// is left out, and is a plain part of the function elsewhere.
template <class F>
auto keep(std::string_view name, F&& f) {
  return detail::keep_part(f, [name](detail::active_region const& region) { return region.keeps(name); });
}

}  // namespace cairn::libtorch
