// SPDX-License-Identifier: Apache-2.0
// Diffusion in one dimension, periodic: u <- u + c (u_left - 2 u + u_right), 4,096 floats, 10^4 steps; the gradient of
// sum u^2 with respect to c.
#include "beside.hpp"
#include "peer.hpp"

namespace {

using cairn::step_index;
constexpr std::size_t cells = 4096,
                      edge = 16;  // one cell beyond each end may be read, for the sake of a loop without exceptions
constexpr step_index steps = 10'000;

/// `edge` unused floats on both sides.
using field = std::vector<float>;

[[gnu::noinline]] void diffuse(float const* __restrict u, float const* __restrict c, float* __restrict u1) {
  for (std::size_t k = edge; k < edge + cells; ++k) u1[k] = u[k] + c[k] * (u[k - 1] - 2 * u[k] + u[k + 1]);
  constexpr std::size_t first = edge, last = edge + cells - 1;
  u1[first] = u[first] + c[first] * (u[last] - 2 * u[first] + u[first + 1]);
  u1[last] = u[last] + c[last] * (u[last - 1] - 2 * u[last] + u[first]);
}
/// The products c bar are ready in `weighted` for this step, and on return for the one before.
[[gnu::noinline]] void diffuse_back(float const* __restrict u, float const* __restrict c, float* __restrict bar,
                                    float* __restrict sum) {
  constexpr std::size_t first = edge, last = edge + cells - 1;
  alignas(64) static float weighted[cells + 2 * edge];
  for (std::size_t k = edge; k < edge + cells; ++k) weighted[k] = c[k] * bar[k];
  float const sum_first = sum[first] + bar[first] * (u[last] - 2 * u[first] + u[first + 1]);
  float const sum_last = sum[last] + bar[last] * (u[last - 1] - 2 * u[last] + u[first]);
  weighted[first - 1] = weighted[last];
  weighted[last + 1] = weighted[first];
  for (std::size_t k = edge; k < edge + cells; ++k) {
    sum[k] += bar[k] * (u[k - 1] - 2 * u[k] + u[k + 1]);
    bar[k] += weighted[k - 1] - 2 * weighted[k] + weighted[k + 1];
  }
  sum[first] = sum_first;
  sum[last] = sum_last;
}

struct problem {
  field u0 = field(cells + 2 * edge), c = field(cells + 2 * edge, 0.1f);
  problem() {
    for (std::size_t k = 0; k < cells; ++k) u0[edge + k] = 2 * peer::noise(std::uint32_t(k));
  }
};

/// \param adjoint_of  makes the adjoint that adds to a field   \param last  make the last arguments of a gradient
template <class Plan, class MakeAdjoint, class... Last>
peer::method way(char const* name, problem const& given, Plan const& plan, cairn::adjoint_form form,
                 cairn::wide tape_bytes, MakeAdjoint adjoint_of, Last... last) {
  cairn::wide const state = cairn::bytes_of(given.u0);
  auto const cost = cairn::estimate(plan, {.state_bytes = state,
                                           .state_inline_bytes = sizeof(field),
                                           .initial_bytes = 0,
                                           .adjoint_bytes = state,
                                           .tape_bytes = tape_bytes,
                                           .form = {cairn::step_form::out_of_place, form}});
  return {name, sizeof...(Last) == 0 ? cost.peak_bytes : 0, [=, &given]() mutable {
            field sum(cells + 2 * edge);
            auto const step = [&](field const& u, field& u1) { diffuse(u.data(), given.c.data(), u1.data()); };
            auto const seed = [](field const& u) {
              field bar = u;
              for (float& v : bar) v *= 2;
              return bar;
            };
            auto adjoint = adjoint_of(sum);
            cairn::gradient(cairn::concurrent(step), given.u0, plan, seed, adjoint, last()...);
            return field(sum.begin() + edge, sum.end() - edge);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  problem const given;
  auto const one = [&](field& sum) {
    return [&](field const& u, field& bar) { diffuse_back(u.data(), given.c.data(), bar.data(), sum.data()); };
  };
  constexpr step_index leaf_steps = 20;
  auto const leaves = [&](field& sum) {
    return [&, states = std::vector<field>(leaf_steps - 1, field(cells + 2 * edge))](
               field const& u, field& bar, step_index first, step_index last) mutable {
      auto const state = [&](step_index i) -> field const& {
        return i == first ? u : states[std::size_t(i - first - 1)];
      };
      for (step_index i = first; i + 1 < last; ++i)
        diffuse(state(i).data(), given.c.data(), states[std::size_t(i - first)].data());
      for (step_index i = last; i-- > first;) diffuse_back(state(i).data(), given.c.data(), bar.data(), sum.data());
    };
  };
  cairn::wide const state = cairn::bytes_of(given.u0);
  using enum cairn::adjoint_form;
  return peer::serve(argc, argv,
                     {way("store_all", given, cairn::store_all(steps), one_step, 0, one),
                      way("uniform", given, cairn::uniform{steps}, one_step, 0, one),
                      way("revolve", given, cairn::revolve{steps, 50}, one_step, 0, one),
                      way("threads", given, cairn::revolve{steps, 38}, one_step, 0, one, peer::helper(12)),
                      way("disk", given, cairn::multistage{steps, 25, 25}, one_step, 0, one,
                          peer::files(argc > 2 ? argv[2] : "")),
                      way("leaf", given, cairn::leaves{steps, leaf_steps, cairn::revolve{steps / leaf_steps, 31}}, leaf,
                          (leaf_steps - 1) * state, leaves)});
}
