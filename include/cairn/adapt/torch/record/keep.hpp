// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file keep.hpp  Parts of a recorded call whose results are held.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <string_view>
#include <type_traits>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/layer_watch.hpp>
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

/// During its lifetime, what operators of the region make is held.
class kept_part {
 public:
  explicit kept_part(call_record& of) : of_{of} { of_.in_force.in_kept_part = true; }
  kept_part(kept_part const&) = delete;
  kept_part& operator=(kept_part const&) = delete;
  ~kept_part() { of_.in_force.in_kept_part = false; }

 private:
  call_record& of_;
};

/// Calls the part that is to be kept.   \param name  null if it has none
template <class Fn>
auto keep_part(Fn&& f, std::string_view const* name = nullptr) {
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
    if (!at::GradMode::is_enabled()) return result(f());
    auto* const record = call_record::of_call();
    if (record == nullptr || !record->drops_parts()) return result(f());
    auto const& rules = record->in_force;
    bool const is_left_out = name != nullptr && rules.names != nullptr && !is_among(*rules.names, *name);
    if (rules.in_kept_part || is_left_out) return result(f());
    kept_part const part{*record};
    auto made = result(f());
    for (auto const& t : tensors_of(made)) record->keep(t);
    return made;
  }
}

}  // namespace detail

/// Calls `f()` inside a region or a block of an `HCModule`: its result, and what autograd saves in it, are held as in
/// the plain call, and not made again. Useful for the part that takes the most time and saves the least, such as a
/// product of large matrices. Elsewhere, and without grad mode, it is the plain call. A region around this one drops
/// them, and makes them again once for this one.
/// \param f  called without arguments; for its possible results see `tensor_state`
/// Cost: the bytes of the result and of what f saves
template <class Fn>
auto keep(Fn&& f) {
  return detail::keep_part(f);
}
/// The same for a named part: it is kept if `CheckpointOptions::kept_names` of the region has the name or is not set;
/// otherwise it is a plain part of the function.
template <class Fn>
auto keep(std::string_view name, Fn&& f) {
  return detail::keep_part(f, &name);
}

/// Says that something which is no operator has written to a tensor: a raw pointer, a kernel of another library. In a
/// region, and in a call within a limit or by blocks, what the tensor holds is held until backward, and not made again.
/// Call it after the write. Outside of such calls it does nothing.   \returns the tensor
inline at::Tensor pin(at::Tensor t) {
  if (auto* const record = detail::call_record::of_call(); record != nullptr) record->pin(t);
  return t;
}

}  // namespace cairn::libtorch
