// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file thrust.hpp  Vectors of Thrust in device memory as states, and as parts of states.
/// Works with every device system of Thrust: CUDA, and with a plain host compiler CPP, OMP and TBB.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <type_traits>
#include <thrust/device_vector.h>
#include <thrust/iterator/iterator_traits.h>
#include <cairn/adapt/thrust/detail/device_copies.hpp>
#include <cairn/adapt/thrust/on_stream.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

/// A vector of Thrust's device system, but not a class derived from one, which may hold more. Vectors of Thrust's other
/// systems are in host memory, and `=` copies them like any container.
template <class Vector, class T, class Allocator>
concept device_vector_of = requires(Vector& x) {
  requires std::is_same_v<typename Vector::value_type, T> && std::is_same_v<typename Vector::allocator_type, Allocator>;
  typename decltype(x.data())::raw_pointer;
  requires std::is_convertible_v<typename thrust::iterator_system<typename Vector::iterator>::type,
                                 thrust::device_system_tag>;
};

}  // namespace detail

/// thrust::device_vector and thrust::universal_vector of any element type. The core finds their bytes without Thrust.
/// The allocator must be default-constructible, because new copies are made empty and then copied into.
template <template <class, class> class Vector, class T, class Allocator>
  requires detail::device_vector_of<Vector<T, Allocator>, T, Allocator>
struct state_traits<Vector<T, Allocator>> {
  using vector = Vector<T, Allocator>;  ///< the state

  /// Copies on the stream of `on_stream`, in order with the steps there and without waiting. If sizes differ it
  /// allocates and waits: once for each frame.
  static void copy(vector const& from, vector& into) {
    auto const& here = detail::copies_of_states();
    if constexpr (std::is_trivially_copyable_v<T>)
      if (from.size() == into.size()) return here.copy(from.data(), into.data(), from.size());
    here.finish();
    into = from;  // copies into new memory, which resize would fill first
    here.finish_of_thrust();
  }
};

}  // namespace cairn
