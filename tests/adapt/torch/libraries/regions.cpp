// SPDX-License-Identifier: Apache-2.0
// A library with a region in it, built twice with hidden visibility: what one library of a program knows of the other's
// engine is just its name.
#include <functional>
#include <string_view>
#include <ATen/core/Tensor.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/ones_like.h>
#include <cairn/adapt/torch/record/region.hpp>

namespace cl = cairn::libtorch;

extern "C" {

/// Runs `inside` in a region of this library. Counts in `runs` how often.
__attribute__((visibility("default"))) void region_of_library(
    at::Tensor const& x, std::function<at::Tensor(at::Tensor const&)> const& inside, int& runs, at::Tensor& y) {
  y = cl::checkpoint(
      [inside, &runs](at::Tensor const& in) {
        ++runs;
        return inside(in.sin()).exp();
      },
      x);
}

/// Runs a region with a policy of this library.
__attribute__((visibility("default"))) void policy_of_library(at::Tensor const& x, at::Tensor& y) {
  auto const all = [](std::string_view) { return cl::CheckpointPolicy::PreferSave; };
  y = cl::checkpoint([](at::Tensor const& in) { return in.sin().exp(); }, x, cl::CheckpointOptions().policy(all));
}

/// Runs a region that draws a mask. Calls `on_run` in each run.
__attribute__((visibility("default"))) void drawing_region_of_library(at::Tensor const& x,
                                                                      std::function<void()> const& on_run,
                                                                      at::Tensor& y) {
  y = cl::checkpoint(
      [on_run](at::Tensor const& in) {
        on_run();
        return in * at::dropout(at::ones_like(in), 0.5, true);
      },
      x);
}

/// Where this library's own engine is: another one in each library, or the test shows nothing.
__attribute__((visibility("default"))) void const* engine_of_library() { return &cl::detail::hook_engine::instance(); }
}
