// SPDX-License-Identifier: Apache-2.0
// Fisher's equation with an adjoint by hand: METHOD is store_all or revolve:CHECKPOINTS.
#include "fisher.hpp"

namespace {

using field = std::vector<double>;

template <class Plan>
peer::method_of<double> way(std::string const& name, peer::fisher const& given, Plan const& plan) {
  cairn::wide const state = given.cells() * sizeof(double) + sizeof(field);
  auto const cost =
      cairn::estimate(plan, {.state_bytes = state,
                             .state_inline_bytes = sizeof(field),
                             .initial_bytes = 0,
                             .adjoint_bytes = state,
                             .form = {cairn::step_form::out_of_place, cairn::adjoint_form::one_step}});
  return {name, cost.peak_bytes, [given, plan] {
            std::size_t const side = given.side;
            auto const step = [&](field const& u, field& u1) { peer::react(u.data(), u1.data(), side); };
            auto const seed = [](field const& u) {
              field bar = u;
              for (double& v : bar) v *= 2;
              return bar;
            };
            auto adjoint = [&, before = field(given.cells())](field const& u, field& bar) mutable {
              peer::react_back(u.data(), bar.data(), before.data(), side);
              bar.swap(before);
            };
            return cairn::gradient(step, given.start(), plan, seed, adjoint);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  auto const given = peer::fisher_of(argc > 3 ? argv[3] : "fisher");
  std::vector methods{way("store_all", given, cairn::store_all(given.steps))};
  if (auto const checkpoints = peer::checkpoints_of(name); checkpoints > 0)
    methods.push_back(way(peer::with_checkpoints("revolve", checkpoints), given,
                          cairn::revolve{given.steps, checkpoints}));
  return peer::serve(argc, argv, methods);
}
