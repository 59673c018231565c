// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_steps.hpp  Marks the operators that a loop runs again, and counts the steps of the loop in a trace.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <algorithm>
#include <cstdint>
#include <memory>
#include <cairn/adapt/torch/loop/step_callbacks.hpp>
#include <cairn/adapt/torch/trace/operator_trace.hpp>
#include <cairn/trace/trace_writer.hpp>

namespace cairn::libtorch {

/// Callbacks for the options of one loop: `LoopOptions().callbacks(trace_steps(log))`. Operators of steps that the loop
/// runs again have the category "recompute", and the counter "steps" (category "counter") shows how many steps have run
/// forward, again and backward.
/// \param log  outlives the loop and its backward pass
[[nodiscard]] inline StepCallbacks trace_steps(trace_writer& log) {
  struct counts {
    std::int64_t furthest = 0, forward = 0, again = 0, reverse = 0;
  };
  auto const seen = std::make_shared<counts>();
  auto const show = [&log, seen] {
    log.count("steps", {{"forward", seen->forward}, {"recompute", seen->again}, {"reverse", seen->reverse}});
  };
  StepCallbacks made;
  made.run_forward = [seen, show](std::int64_t begin, std::int64_t end) {
    bool const again = begin < seen->furthest;
    (again ? seen->again : seen->forward) += end - begin;
    seen->furthest = (std::max)(seen->furthest, end);
    detail::operators_around.recomputing = again;
    show();
  };
  made.run_backward = [seen, show](std::int64_t begin, std::int64_t end) {
    seen->reverse += end - begin;
    detail::operators_around.recomputing = false;
    show();
  };
  return made;
}

}  // namespace cairn::libtorch
