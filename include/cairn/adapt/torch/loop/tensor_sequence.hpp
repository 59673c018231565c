// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_sequence.hpp  What a scan takes as its inputs.
#include <cairn/adapt/torch/loop/detail/sequence_traits.hpp>

namespace cairn::libtorch {

/// An input of `checkpointed_scan`: a tensor [T, ...], a vector of T tensors or of T states, or a tuple or pair of such
/// sequences.
template <class Sequence>
concept tensor_sequence = requires { typename detail::sequence_traits<Sequence>::element; };

}  // namespace cairn::libtorch
