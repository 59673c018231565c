// SPDX-License-Identifier: Apache-2.0
// Waves on a torus, leapfrog: next = 2 u - before + c laplace(u), 64 x 64 floats, 10^4 steps; the gradient of sum u^2
// with respect to c.
#include <utility>
#include "beside.hpp"
#include "peer.hpp"

namespace {

using cairn::step_index;
constexpr std::size_t side = 64, cells = side * side,
                      edge = 16;  // one cell beyond each end may be read, for the sake of rows without exceptions
constexpr step_index steps = 10'000;

/// `edge` unused floats on both sides.
using field = std::vector<float>;
field empty_field() { return field(cells + 2 * edge); }

[[gnu::always_inline]] inline float laplace(float const* u, std::size_t k, std::size_t left, std::size_t right,
                                            std::size_t up, std::size_t down) {
  return u[left] + u[right] + u[up] + u[down] - 4 * u[k];
}

/// `next` may be `before`.
[[gnu::noinline]] void swing(float const* u, float const* before, float const* c, float* next) {
  for (std::size_t row = 0; row < side; ++row) {
    std::size_t const begin = edge + row * side, end = begin + side - 1, up = edge + (row + side - 1) % side * side,
                      down = edge + (row + 1) % side * side;
    float const first = 2 * u[begin] - before[begin] + c[begin] * laplace(u, begin, end, begin + 1, up, down);
    float const last =
        2 * u[end] - before[end] + c[end] * laplace(u, end, end - 1, begin, up + side - 1, down + side - 1);
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t k = 0; k < side; ++k)
      next[begin + k] = 2 * u[begin + k] - before[begin + k] +
                        c[begin + k] * laplace(u, begin + k, begin + k - 1, begin + k + 1, up + k, down + k);
    next[begin] = first;
    next[end] = last;
  }
}
/// The adjoint is a leapfrog, too: bar of u is `a`, that of `before` is -d; afterwards d holds the new a, and a is the
/// new d.
[[gnu::noinline]] void swing_back(float const* u, float const* c, float const* a, float* d, float* sum) {
  alignas(64) static float weighted[cells + 2 * edge];
  for (std::size_t k = edge; k < edge + cells; ++k) weighted[k] = c[k] * a[k];
  for (std::size_t row = 0; row < side; ++row) {
    std::size_t const begin = edge + row * side, end = begin + side - 1, up = edge + (row + side - 1) % side * side,
                      down = edge + (row + 1) % side * side;
    float const sum_first = sum[begin] + a[begin] * laplace(u, begin, end, begin + 1, up, down);
    float const sum_last = sum[end] + a[end] * laplace(u, end, end - 1, begin, up + side - 1, down + side - 1);
    float const first = 2 * a[begin] - d[begin] + laplace(weighted, begin, end, begin + 1, up, down);
    float const last = 2 * a[end] - d[end] + laplace(weighted, end, end - 1, begin, up + side - 1, down + side - 1);
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t k = 0; k < side; ++k) {
      sum[begin + k] += a[begin + k] * laplace(u, begin + k, begin + k - 1, begin + k + 1, up + k, down + k);
      d[begin + k] = 2 * a[begin + k] - d[begin + k] +
                     laplace(weighted, begin + k, begin + k - 1, begin + k + 1, up + k, down + k);
    }
    sum[begin] = sum_first;
    sum[end] = sum_last;
    d[begin] = first;
    d[end] = last;
  }
}

struct wave {
  field u, before;
};
struct wave_bar {
  field a, d;
};

/// Advances in place: the new field takes the memory of the one that is no longer needed.
void step(wave& w, field const& c) {
  swing(w.u.data(), w.before.data(), c.data(), w.before.data());
  w.u.swap(w.before);
}
void back(float const* u, wave_bar& bar, field const& c, field& sum) {
  swing_back(u, c.data(), bar.a.data(), bar.d.data(), sum.data());
  bar.a.swap(bar.d);
}

struct problem {
  wave start{empty_field(), empty_field()};
  field c = field(cells + 2 * edge, 0.1f);
  problem() { start.u[edge + side / 2 * side + side / 2] = start.before[edge + side / 2 * side + side / 2] = 1; }
};

/// \param adjoint_of  makes the adjoint that adds to a field   \param last  make the last arguments of a gradient
template <class Plan, class MakeAdjoint, class... Last>
peer::method way(char const* name, problem const& given, Plan const& plan, cairn::adjoint_form form,
                 cairn::wide tape_bytes, MakeAdjoint adjoint_of, Last... last) {
  cairn::wide const state = cairn::bytes_of(given.start.u) + cairn::bytes_of(given.start.before);
  auto const cost = cairn::estimate(plan, {.state_bytes = state,
                                           .state_inline_bytes = sizeof(wave),
                                           .initial_bytes = 0,
                                           .adjoint_bytes = state,
                                           .tape_bytes = tape_bytes,
                                           .form = {cairn::step_form::in_place, form}});
  return {name, sizeof...(Last) == 0 ? cost.peak_bytes : 0, [=, &given]() mutable {
            field sum = empty_field();
            auto const advance = [&](wave& w, step_index) { step(w, given.c); };
            auto const seed = [](wave const& w) {
              wave_bar bar{w.u, empty_field()};
              for (float& v : bar.a) v *= 2;
              return bar;
            };
            auto adjoint = adjoint_of(sum);
            cairn::gradient(cairn::concurrent(advance), given.start, plan, seed, adjoint, last()...);
            return field(sum.begin() + edge, sum.end() - edge);
          }};
}

}  // namespace

int main(int argc, char** argv) {
  problem const given;
  auto const one = [&](field& sum) {
    return [&](wave const& w, wave_bar& bar) { back(w.u.data(), bar, given.c, sum); };
  };
  // Inside a leaf, states in a row share a field, and so take half the memory of checkpoints.
  constexpr step_index leaf_steps = 25;
  auto const leaves = [&](field& sum) {
    return [&, inner = std::vector<field>(leaf_steps - 1, empty_field())](wave const& w, wave_bar& bar,
                                                                          step_index first, step_index last) mutable {
      auto const at = [&](step_index i) {
        return i < first ? w.before.data() : i == first ? w.u.data() : inner[std::size_t(i - first - 1)].data();
      };
      for (step_index i = first; i + 1 < last; ++i)
        swing(at(i), at(i - 1), given.c.data(), inner[std::size_t(i - first)].data());
      for (step_index i = last; i-- > first;) back(at(i), bar, given.c, sum);
    };
  };
  cairn::wide const one_field = cairn::bytes_of(given.c);
  using enum cairn::adjoint_form;
  return peer::serve(argc, argv,
                     {way("store_all", given, cairn::store_all(steps), one_step, 0, one),
                      way("uniform", given, cairn::uniform{steps}, one_step, 0, one),
                      way("revolve", given, cairn::revolve{steps, 100}, one_step, 0, one),
                      way("threads", given, cairn::revolve{steps, 75}, one_step, 0, one, peer::helper(25)),
                      way("disk", given, cairn::multistage{steps, 50, 50}, one_step, 0, one,
                          peer::files(argc > 2 ? argv[2] : "")),
                      way("leaf", given, cairn::leaves{steps, leaf_steps, cairn::revolve{steps / leaf_steps, 27}}, leaf,
                          (leaf_steps - 1) * one_field, leaves)});
}
