#pragma once
/// \file saved_tensors_hooks.hpp  Functions that decide what stands for the tensors that autograd saves.
#include <utility>
#include <cairn/adapt/torch/checkpoint/detail/packed_tensor.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>

namespace cairn::libtorch {
namespace detail {

template <class Pack, class Unpack>
[[nodiscard]] consteval bool unpacks_what_is_packed() {
  if constexpr (packs_tensor<Pack>) return unpacks_tensor<Unpack, typename result_of_pack<Pack>::type>;
  else return true;
}
/// Refuses functions that are no such pair, at the place of the call: a constructor's body comes behind all else.
template <class Pack, class Unpack>
struct hooks_check {
  static constexpr bool packs = packs_tensor<Pack>, unpacks = unpacks_what_is_packed<Pack, Unpack>();
  static_assert(packs, "cairn: the pack function must take a tensor and return what stands for it until backward");
  static_assert(unpacks, "cairn: the unpack function must take what the pack function returns, and return the tensor");
};

}  // namespace detail

/// While it lives, each tensor that an operation of this thread saves for backward goes through `pack`, and what that
/// returns is kept in its place; when backward wants the tensor, `unpack` makes it again. Scopes nest, and the
/// innermost one alone counts; a region in a scope keeps its inputs by it. What was saved in the scope stays with its
/// two functions for as long as the graph lives. It ends in the thread that made it, the last made first.
class saved_tensors_hooks {
 public:
  /// \param pack  takes a tensor without a history, which it must not change, and returns what is kept: a tensor, a
  ///        path, anything that can be moved. Where that is a tensor, or tensors, in the memory of the one that was
  ///        saved, a change in place before backward is an error
  /// \param unpack  takes a const reference to that, and returns a tensor of the same sizes, type and device. It may be
  ///        called several times, and by all threads that run backward passes. While one of the two runs, grad mode is
  ///        off and there are no hooks. What they throw passes through the operation or through backward
  /// \throws invalid_call  under an engine that is not LibTorch's own
  template <class Pack, class Unpack>
  saved_tensors_hooks(Pack pack, Unpack unpack, detail::hooks_check<Pack, Unpack> = {})
      : scope_{detail::packing_maker(std::move(pack), std::move(unpack))} {}
  saved_tensors_hooks(saved_tensors_hooks const&) = delete;
  saved_tensors_hooks& operator=(saved_tensors_hooks const&) = delete;

 private:
  detail::saved_hooks_scope scope_;
};

}  // namespace cairn::libtorch
