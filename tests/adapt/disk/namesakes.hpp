// SPDX-License-Identifier: Apache-2.0
#pragma once
// A gradient whose step is one for all source files, and whose adjoint is a file's own.
#include <tuple>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/planning.hpp>

namespace namesakes {

using numbers = std::vector<double>;
inline cairn::multistage plan() { return {20, 2, 4}; }

struct step_of_all {
  void operator()(numbers& x) const { x[0] *= 1.01; }
};
numbers gradient_by(auto const& back, cairn::disk const& run) {
  return cairn::gradient(step_of_all{}, numbers{0.3}, plan(), numbers{1.0}, back, run);
}
struct step_of_members {
  void operator()(auto& x) const { x.u[0] *= 1.01; }
};
struct back_of_members {
  void operator()(auto const& x, auto& bar) const { x.back(bar.u); }
};
/// The same of a state whose members are what its functions call.
template <class State>
numbers gradient_of_members(cairn::disk const& run) {
  return cairn::gradient(step_of_members{}, State{{0.3}}, plan(), State{{1.0}}, back_of_members{}, run).u;
}
struct stage_of_members {
  auto forward(auto x) const { return step_of_members{}(x), x; }
  auto backward(auto const& x, auto bar) const { return x.back(bar.u), bar; }
};
struct stage_to_numbers {
  numbers forward(auto const& x) const { return x.u; }
  template <class State>
  State backward(State const& x, numbers bar) const { return x.back(bar), State{bar}; }
};
/// And of a chain, which ends with numbers.
template <class State>
numbers gradient_of_stages(cairn::disk const& run) {
  std::tuple<stage_of_members, stage_of_members, stage_of_members, stage_to_numbers> const stages;
  cairn::chain const sizes{.x = {8, 8, 8, 8, 8}, .s = {8, 8, 8, 8}, .u = {1, 1, 1, 1}};
  cairn::chain_planner planner{sizes, {.by = cairn::chain_method::tiers, .tiers = {{.where = cairn::tier::disk}}}};
  return cairn::chain_gradient(stages, State{{0.3}}, planner.plan(planner.least_bytes()), numbers{1.0}, run).u;
}
/// By the other file's class, its closure, its state.
numbers by_class_elsewhere(cairn::disk const& run);
numbers by_closure_elsewhere(cairn::disk const& run);
numbers by_state_elsewhere(cairn::disk const& run);
numbers by_stages_elsewhere(cairn::disk const& run);

}  // namespace namesakes
