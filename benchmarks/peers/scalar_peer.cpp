// SPDX-License-Identifier: Apache-2.0
// Overhead: x <- sin(x) on four floats, 10^4 steps; the gradient of their sum with respect to the initial state.
#include <array>
#include <Eigen/Core>
#include "peer.hpp"

namespace {

using cairn::step_index;
constexpr step_index steps = 10'000;
using lanes = std::array<float, 4>;
using view = Eigen::Map<Eigen::Array4f, Eigen::Unaligned>;
using const_view = Eigen::Map<Eigen::Array4f const, Eigen::Unaligned>;

void step(lanes& x) { view(x.data()) = view(x.data()).sin(); }
void back(lanes const& x, lanes& bar) { view(bar.data()) *= const_view(x.data()).cos(); }

template <class Plan, class Adjoint>
peer::method way(char const* name, Plan const& plan, cairn::adjoint_form form, cairn::wide tape_bytes,
                 Adjoint adjoint) {
  auto const cost = cairn::estimate(plan, {.state_bytes = sizeof(lanes),
                                           .state_inline_bytes = sizeof(lanes),
                                           .initial_bytes = 0,
                                           .adjoint_bytes = sizeof(lanes),
                                           .tape_bytes = tape_bytes,
                                           .form = {cairn::step_form::in_place, form}});
  return {name, cost.peak_bytes, [plan, adjoint]() mutable {
            lanes const start = {0.5f, 0.75f, 1.0f, 1.25f}, ones = {1, 1, 1, 1};
            lanes const bar = cairn::gradient([](lanes& x) { step(x); }, start, plan, ones, adjoint);
            return std::vector<float>(bar.begin(), bar.end());
          }};
}

}  // namespace

int main(int argc, char** argv) {
  auto const one = [](lanes const& x, lanes& bar) { back(x, bar); };
  constexpr step_index leaf_steps = 100;
  auto const leaves = [](lanes const& x, lanes& bar, step_index first, step_index last) {
    // The tape is the cosines, made beside the sines: the next state does not wait for them.
    std::array<lanes, std::size_t(leaf_steps)> tape;
    lanes at = x;
    std::size_t const count = std::size_t(last - first);
    for (std::size_t k = 0; k < count; ++k) {
      view(tape[k].data()) = view(at.data()).cos();
      step(at);
    }
    for (std::size_t k = count; k-- > 0;) view(bar.data()) *= view(tape[k].data());
  };
  using enum cairn::adjoint_form;
  return peer::serve(argc, argv,
                     {way("store_all", cairn::store_all(steps), one_step, 0, one),
                      way("uniform", cairn::uniform{steps}, one_step, 0, one),
                      way("revolve", cairn::revolve{steps, 140}, one_step, 0, one),
                      way("leaf", cairn::leaves{steps, leaf_steps, cairn::store_all(steps / leaf_steps)}, leaf,
                          leaf_steps * sizeof(lanes), leaves)});
}
