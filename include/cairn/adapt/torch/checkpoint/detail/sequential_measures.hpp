// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_measures.hpp  The sizes and times of the stages of a chain of tensors, as a chain for planners.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cairn/adapt/torch/checkpoint/detail/sequential_probe.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::libtorch::detail {

/// Measurements of all stages.
struct stage_measures {
  chain
      work;  ///< bytes, and times in nanoseconds; the last state and its adjoint belong to the caller and count 0
  std::vector<std::int64_t> bare;       ///< for each stage: temporary bytes besides its output, if nothing is recorded;
                                        ///< `work.f` has the larger of this and `recording`
  std::vector<std::int64_t> recording;  ///< for each stage: temporary bytes besides its tape, while it is recorded
  std::vector<std::int64_t> changing;   ///< for each stage: bytes of buffers kept as they were
  std::vector<bool> joins;  ///< for each stage: its input cannot be kept as a state, because the stage changes it in
                            ///< place or its output shares its memory
  std::int64_t plain_peak = 0;  ///< bytes of the plain call
  std::int64_t generator = 0;  ///< bytes of one state of the generators
  std::int64_t measuring_peak = 0;  ///< bytes that measuring takes, also in later calls if each call measures
};

/// Bytes of one generator state for the device of x.
[[nodiscard]] inline std::int64_t generator_bytes(at::Tensor const& x, Rng rng) {
  return rng == Rng::Preserve && x.is_cpu() ? std::int64_t(at::detail::getDefaultCPUGenerator().get_state().nbytes())
                                            : 0;
}

/// The most bytes of the plain call, in which a state is freed after the next stage unless autograd refers to it.
[[nodiscard]] inline std::int64_t peak_of_plain_call(chain const& work, std::vector<measured_stage> const& stages) {
  auto const unsaved = [&](std::size_t state) {
    bool const stays =
        state == 0 || state == stages.size() || stages[state - 1].saves_output || stages[state].saves_input;
    return stays ? 0 : work.x[state];
  };
  std::int64_t live = 0, peak = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    live += work.s[i];
    peak = (std::max)(peak, live + stages[i].running);
    live -= unsaved(i);
  }
  for (std::size_t i = stages.size(); i-- > 0;) {
    peak = (std::max)(peak, live + work.g[i + 1] + work.b[i]);
    live -= work.s[i] - unsaved(i + 1);
  }
  return peak;
}

/// Runs each stage forward twice and backward once, see `stage_probe`.   \param rng  with Preserve, generators are
/// restored afterwards
[[nodiscard]] inline stage_measures measure_stages(std::vector<tensor_stage> const& stages, at::Tensor const& x,
                                                   Rng rng) {
  stage_measures found;
  found.generator = generator_bytes(x, rng);  // before the guard: it makes a state
  generator_use const drawing{rng};
  rng_autocast_guard const around{{x}, rng, drawing};
  at::AutoGradMode const on{true};
  auto& work = found.work;
  std::vector<measured_stage> all;
  std::int64_t copying = 0;
  work.x.push_back(std::int64_t(x.storage().nbytes()));
  stage_probe probe{x, stages.size()};
  for (auto const& stage : stages) {
    auto const one = all.emplace_back(probe.next(stage));
    work.x.push_back(one.output);
    work.g.push_back(one.adjoint);
    work.s.push_back(one.tape);
    found.bare.push_back(one.running_bare + one.restoring);
    found.recording.push_back(one.running + one.restoring);
    work.f.push_back((std::max)(found.bare.back(), found.recording.back()));
    work.b.push_back(one.reversing);
    for (auto const& [before, bytes] : one.repeated)
      work.b[before] += 2 * bytes;  // its part of a gradient, and the sum, besides the gradient from the later stage
    work.u.push_back(one.time);
    work.v.push_back(one.back_time);
    found.changing.push_back(one.changing);
    found.joins.push_back(one.changes_input || one.views_input);
    copying = (std::max)(copying, one.copying);
  }
  work.s.back() -= std::exchange(work.x.back(), 0);
  work.g.push_back(0);
  for (std::size_t i = stages.size(); i-- > 0;)
    if (all[i].passes_adjoint) work.g[i] = work.g[i + 1];
  work.b.front() -= (std::min)(work.b.front(), work.g.front());  // the gradient of x belongs to the caller
  work.b.push_back(0);
  work.v.push_back(0);
  found.plain_peak = peak_of_plain_call(work, all);
  found.measuring_peak = copying;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    std::int64_t const recorded =
        work.s[i] + (std::max)(found.recording[i], all[i].seed + all[i].restoring + all[i].reversing);
    found.measuring_peak =
        (std::max)(found.measuring_peak, (i > 0 ? work.x[i] : 0) + found.changing[i] +
                                             (std::max)(recorded, work.x[i + 1] + found.bare[i]));
  }
  found.measuring_peak += found.generator;
  return found;
}

}  // namespace cairn::libtorch::detail
