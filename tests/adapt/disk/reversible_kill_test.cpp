// SPDX-License-Identifier: Apache-2.0
// Loops whose steps run backwards, with checkpoints on disk and a process that is killed anywhere: what is kept of a
// segment is lost with the process, the segment runs again, and the bits are those of an undisturbed sweep.
#include <cstdlib>
#include <random>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>
#include "adapt/disk/kill_everywhere.hpp"

namespace {

/// Adds to each number what its neighbour gives: its inverse subtracts it, within rounding.
struct couple {
  void operator()(numbers& x, numbers const& by, step_index i) const {
    killed::tick();
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] += 0.1 * std::sin(by[0] * x[(k + 1) % x.size()] + by[1]) + 0.001 * double(i % 7);
  }
};
struct uncouple {
  void operator()(numbers& x, numbers const& by, step_index i) const {
    killed::tick();
    for (std::size_t k = x.size(); k-- > 0;)
      x[k] -= 0.1 * std::sin(by[0] * x[(k + 1) % x.size()] + by[1]) + 0.001 * double(i % 7);
  }
};
/// The same to the bit: keeps what a sum loses.
struct keep_all_numbers {
  numbers operator()(numbers const& x) const { return killed::tick(), x; }
};
struct put_back {
  void operator()(numbers& x, numbers const& before) const { killed::tick(), x = before; }
};
struct coupled_back {
  void operator()(numbers const& x, numbers& bar, numbers const& by, numbers& sum, step_index i) const {
    killed::tick();
    numbers y = x;  // as the step leaves it
    couple step;
    step(y, by, i);
    for (std::size_t k = x.size(); k-- > 0;) {
      double const next = k + 1 < x.size() ? x[k + 1] : y[0];
      double const c = 0.1 * std::cos(by[0] * next + by[1]) * bar[k];
      sum[0] += c * next, sum[1] += c;
      bar[(k + 1) % x.size()] += c * by[0];
    }
  }
};

template <bool Exact>
struct backwards {
  static auto model() {
    if constexpr (Exact)
      return cairn::model{cairn::reversible{couple{}, keep_all_numbers{}, put_back{}, {.exact = true}}, coupled_back{}};
    else return cairn::model{cairn::reversible{couple{}, uncouple{}, {.drift = 1e-13}}, coupled_back{}};
  }
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    answer found{{}, {7, 7}};
    auto m = model();
    found.bar = cairn::gradient(m.step, start<numbers>(), plan, numbers(5, 1.0), m.adjoint, wrt{p, found.dp}, last...);
    return found;
  }
};
/// The same with terms along the way.
template <bool Exact>
struct backwards_with_terms {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    auto const f = cairn::at_every(4, misfit, misfit_back) + cairn::at_end(misfit, misfit_back);
    auto const found = cairn::differentiate(backwards<Exact>::model(), start<numbers>(), p, plan, f, last...);
    return {found.state, found.params, found.value};
  }
};

}  // namespace

TEST_CASE("a loop that goes backwards and is killed anywhere has the bits of an undisturbed one") {
  kill_everywhere<backwards<false>>(cairn::leaves{30, 5, cairn::hrevolve{6, two_tiers}}, 23);
  kill_everywhere<backwards_with_terms<false>>(cairn::leaves{30, 4, cairn::multistage{8, 2, 4}}, 23);
}
TEST_CASE("so has one that goes backwards to the bit, and it has those of storing everything") {
  kill_everywhere<backwards<true>>(cairn::leaves{30, 7, cairn::two_level{5, 2, 2}}, 23);
  numbers sum(2);
  auto const stored = cairn::gradient(couple{}, start<numbers>(), cairn::store_all(30), numbers(5, 1.0), coupled_back{},
                                      wrt{p, sum});
  auto const found = backwards<true>::of(cairn::segments{30, {.length = 7, .slots = 2}});
  CHECK(found.bar == stored);
  CHECK(found.dp == sum);
}
TEST_CASE("random programs, plans and kills, exact and with rounding", "[.soak]") {
  char const* const asked = std::getenv("CAIRN_FUZZ_PROGRAMS");
  long const programs = asked != nullptr ? std::atol(asked) : 400;
  std::mt19937_64 draw{20'261'130};
  for (long k = 0; k < programs; k += 8) {
    CAPTURE(k);
    auto const length = step_index(1 + draw() % 12), slots = step_index(1 + draw() % 4), n = step_index(2 + draw() % 40);
    auto const count = (n + length - 1) / length;
    kill_at_random<backwards<true>>(cairn::leaves{n, length, cairn::multistage{count, slots, 4}}, draw, 2);
    kill_at_random<backwards<false>>(cairn::leaves{n, length, cairn::hrevolve{count, two_tiers}}, draw, 2);
    kill_at_random<backwards_with_terms<true>>(cairn::leaves{n, length, cairn::multistage{count, slots, 2}}, draw, 2);
    kill_at_random<backwards_with_terms<false>>(cairn::leaves{n, length, cairn::two_level{count, 3, 2}}, draw, 2);
  }
}
