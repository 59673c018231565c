// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/memory_curve.hpp>

namespace cairn {

CAIRN_DECL memory_curve detail::curve_of(std::vector<action> const& actions, curve_measures const& by) {
  auto const& [counted, form, needs, sizes] = by;
  memory_curve curve;
  curve.in_bytes = (sizes.state | sizes.initial | sizes.adjoint | sizes.tape) != 0;
  frame_counter counter{form, counted};
  wide in_slots = 0;
  for (action const& a : actions) {
    counter.obey(a);
    if (a.kind == action_kind::save) ++in_slots;
    if (a.kind == action_kind::drop && a.what == content::state) --in_slots;
    wide held = wide(counter.standing());
    if (curve.in_bytes) {
      curve.parts.push_back(needs.tapes > 0  // frames keep their memory while tapes come and go
                                ? sweep_parts_of(needs, form, sizes, counter.peak(), counter.standing_tapes())
                                : sweep_parts_of(needs, form, sizes, counter.standing(), needs.calls_adjoint ? 1 : 0));
      held = curve.parts.back().total();
    }
    if (held > curve.peak) curve.peak = held, curve.summit = curve.held.size();
    curve.held.push_back(held);
    curve.kept.push_back(curve.in_bytes ? in_slots * sizes.state : in_slots);
  }
  return curve;
}

CAIRN_DECL std::vector<memory_sample> samples_of(memory_curve const& curve) {
  if (curve.peak > wide((std::numeric_limits<std::int64_t>::max)()))
    throw overflow_error{"cairn::samples_of", "does not fit 64 bits", {{"bytes", curve.peak}}, ""};
  std::vector<memory_sample> samples;
  samples.reserve(curve.held.size());
  for (wide const bytes : curve.held) {
    auto const number = std::int64_t(samples.size());
    samples.push_back({number, number + 1, std::int64_t(bytes)});
  }
  return samples;
}

}  // namespace cairn
