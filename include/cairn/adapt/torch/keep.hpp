#pragma once
/// \file keep.hpp  Parts of a region that are not run again.
#include <any>
#include <type_traits>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/detail/region_now.hpp>
#include <cairn/adapt/torch/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/tensor_state.hpp>
#include <cairn/core/detail/refused.hpp>

namespace cairn {

/// Calls `f()` inside a region: what it returns, and what autograd saves in it, stays as without the region, and the
/// second run takes the result instead of calling f. For the part that takes the most time and saves the least, such as
/// a product of large matrices. Outside of regions, and without grad mode, it is the plain call. What f returns must
/// not be changed in place, nor be differentiated inside the region with respect to what f reads.
/// \param f  called without arguments; see `tensor_state` for what it may return
/// Cost: the bytes of the result and of what f saves, and 5 KB where random numbers are drawn again
template <class F>
auto keep(F&& f) {
  using result = std::remove_cvref_t<std::invoke_result_t<F&>>;
  constexpr bool is_state = tensor_state<result>;
  static_assert(is_state,
                "cairn: what is kept must be a tensor, tuples, vectors or dictionaries of tensors, or a type with "
                "cairn::tensor_traits");
  if constexpr (!is_state) return detail::refused{};
  else {
    auto* const now = detail::region_now::innermost();
    if (now == nullptr || !at::GradMode::is_enabled()) return result(f());
    if (auto const* const before = now->next()) {
      tensor_list parts;
      for (auto const& one : before->parts) {
        auto const leaf = one.leaf("cairn::keep", parts.size());
        parts.push_back(leaf.defined() ? detail::result_tensor(leaf, leaf.requires_grad()) : leaf);
        now->origins().leave_out(parts.back());
      }
      before->generators.restore();
      return detail::state_of(std::any_cast<result const&>(before->like), parts);
    }
    if (now->again()) return result(f());  // asked for in the middle of the first run, which was not there yet
    auto made = [&] {
      detail::region_now::outside const unkept{*now};
      return result(f());
    }();
    auto const parts = detail::tensors_of(made);
    detail::kept_result entry{detail::state_of(made, tensor_list(parts.size())), {}, {}};
    {
      detail::region_now::outside const unkept{*now};
      for (auto const& t : parts) entry.parts.emplace_back(t);
    }
    for (auto const& t : parts) now->origins().leave_out(t);
    if (now->rng() == Rng::Preserve) entry.generators = detail::generator_states::now(parts);
    now->kept().push_back(std::move(entry));
    return made;
  }
}

}  // namespace cairn
