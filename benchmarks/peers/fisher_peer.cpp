// SPDX-License-Identifier: Apache-2.0
// Fisher's equation with an adjoint by hand: METHOD is store_all or revolve:CHECKPOINTS; threads:CHECKPOINTS with a
// second core, of which a quarter are states ahead; disk:CHECKPOINTS with half of them in files.
#include "beside.hpp"
#include "fisher.hpp"

namespace {

using field = std::vector<double>;

/// \param last  make the last arguments of a gradient
template <class Plan, class... Last>
peer::method_of<double> way(std::string const& name, peer::fisher const& given, Plan const& plan, Last... last) {
  cairn::wide const state = given.cells() * sizeof(double) + sizeof(field);
  auto const cost =
      cairn::estimate(plan, {.state_bytes = state,
                             .state_inline_bytes = sizeof(field),
                             .initial_bytes = 0,
                             .adjoint_bytes = state,
                             .form = {cairn::step_form::out_of_place, cairn::adjoint_form::one_step}});
  return {name, sizeof...(Last) == 0 ? cost.peak_bytes : 0, [=]() mutable {
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
            return cairn::gradient(cairn::concurrent(step), given.start(), plan, seed, adjoint, last()...);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  auto const given = peer::fisher_of(argc > 3 ? argv[3] : "fisher");
  std::vector methods{way("store_all", given, cairn::store_all(given.steps))};
  if (auto const checkpoints = peer::checkpoints_of(name); argc > 2 && checkpoints > 0) {
    cairn::slot_index const quarter = checkpoints / 4, half = checkpoints / 2;
    methods.push_back(way(peer::with_checkpoints("revolve", checkpoints), given,
                          cairn::revolve{given.steps, checkpoints}));
    methods.push_back(way(peer::with_checkpoints("threads", checkpoints), given,
                          cairn::revolve{given.steps, checkpoints - quarter}, peer::helper(quarter)));
    methods.push_back(way(peer::with_checkpoints("disk", checkpoints), given,
                          cairn::multistage{given.steps, checkpoints - half, half}, peer::files(argv[2])));
  }
  return peer::serve(argc, argv, methods);
}
