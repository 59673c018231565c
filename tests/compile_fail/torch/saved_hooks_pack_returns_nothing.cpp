// error: the pack function must take a tensor and return what represents it until backward
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
cairn::libtorch::saved_tensors_hooks const hooks{[](at::Tensor const& t) { return t; },
                                                 [](at::Tensor const& t) { return t; }};
#else
cairn::libtorch::saved_tensors_hooks const hooks{[](at::Tensor const&) {}, [](at::Tensor const& t) { return t; }};
#endif
