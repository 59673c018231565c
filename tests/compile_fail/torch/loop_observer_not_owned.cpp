// error: the observer of a loop over tensors must be callable with an `event const&`, and live until backward
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <utility>

inline auto watch = [](cairn::event const&) {};
#ifdef CAIRN_FIXED
auto const options = cairn::libtorch::LoopOptions().observer(std::move(watch));
#else
auto const options = cairn::libtorch::LoopOptions().observer(watch);
#endif
