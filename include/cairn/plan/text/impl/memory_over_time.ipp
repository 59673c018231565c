// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {
namespace detail {

inline void add_moment(memory_over_time& curve, memory_moment at, std::int64_t time) {
  at.begin = curve.moments.empty() ? 0 : curve.moments.back().end;
  at.end = at.begin + wide(time);
  if (curve.moments.empty() || at.held > curve.peak) curve.peak = at.held, curve.summit = curve.moments.size();
  curve.moments.push_back(at);
}

}  // namespace detail

CAIRN_DECL memory_over_time chain_memory_over(chain const& work, std::span<action const> actions,
                                              std::span<chain_tier const> elsewhere) {
  using enum action_kind;
  constexpr char const* who = "cairn::chain_memory_over";
  detail::chain_model const model{work, who};
  detail::chain_interpreter player{model, elsewhere, who};
  auto const time_there = [&](action const& a) {
    for (auto const& place : elsewhere)
      if (auto const& times = a.kind == save ? place.write : place.read; place.where == a.where && !times.empty())
        return times[std::size_t(a.from)];
    return std::int64_t{0};
  };
  memory_over_time curve;
  std::int64_t adjoint = 0;
  for (action const& a : actions) {
    std::int64_t const before = player.live(), standing = before - adjoint;
    player.obey(a);  // refuses stages that do not exist
    std::size_t const i = std::size_t(a.from);
    bool const runs = detail::runs_stage(a), reverses = a.kind == turn || a.kind == reverse;
    std::int64_t const held =
        (std::max)({before, player.live(), runs ? player.live() + model.f[i] : 0, reverses ? before + model.b[i] : 0});
    if (reverses) adjoint = i > 0 ? model.g[i] : 0;
    std::int64_t const time = runs                               ? model.u[i]
                              : reverses                         ? model.v[i]
                              : a.kind == save || a.kind == load ? time_there(a)
                                                                 : 0;
    detail::add_moment(curve, {.held = held, .standing = standing, .action = curve.moments.size()}, time);
  }
  (void)player.finish();
  return curve;
}

CAIRN_DECL memory_over_time graph_memory_over(operation_graph const& graph, std::span<action const> actions) {
  constexpr char const* who = "cairn::graph_memory_over";
  detail::graph_model const model{graph, who};
  detail::graph_interpreter interpreter{model, actions, who};
  memory_over_time curve;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    action const& a = actions[k];
    std::int64_t const standing = interpreter.kept();
    interpreter.obey(a);
    if (a.kind == action_kind::drop) continue;
    bool const reverses = a.kind == action_kind::turn || a.kind == action_kind::reverse;
    detail::add_moment(curve, {.held = interpreter.bytes_at_last_run(), .standing = standing, .action = k},
                       (reverses ? model.adjoint_time : model.time)[std::size_t(a.from)]);
  }
  (void)interpreter.finish();
  return curve;
}

CAIRN_DECL std::vector<memory_sample> samples_of(memory_over_time const& curve) {
  std::vector<memory_sample> samples;
  samples.reserve(curve.moments.size());
  for (auto const& at : curve.moments) samples.push_back({std::int64_t(at.begin), std::int64_t(at.end), at.held});
  return samples;
}

}  // namespace cairn
