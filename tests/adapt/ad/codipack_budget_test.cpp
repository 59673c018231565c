// SPDX-License-Identifier: Apache-2.0
// CoDiPack within a budget, over a stand-in that allocates by chunks, as CoDiPack does. This program counts operator
// new.
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <utility>
#include <cairn/adapt/codipack.hpp>
#include <cairn/profile/measured.hpp>

TEST_CASE("a gradient by CoDiPack's interface keeps its budget, whole chunks included", "[ad]") {
  ad_test::keeps_budgets<cairn::codipack_tape<>, ad_test::advect>();
  ad_test::keeps_budgets<cairn::codipack_tape<>, ad_test::advect, ad_test::late>();
}

namespace {

/// Each state has ten numbers more than the one before.
struct widening {
  template <class T>
  void operator()(ad_test::vec<T>& x, T const& a) const {
    ad_test::advect{}(x, a);
    for (int k = 0; k < 10; ++k) x.push_back(a * x[0]);
  }
};

}  // namespace

TEST_CASE("states that grow under a tool keep the budget, or are refused", "[ad]") {
  ad_test::vec<double> const x0(100, 0.7);
  auto const within = [&](auto const& place) {
    return cairn::differentiate(cairn::codipack_tape<>{}, widening{}, x0, 0.01, place, ad_test::sum_of_squares{});
  };
  auto const right = ad_test::apart([&](ad_test::taken& of) { of.value = within(cairn::store_all(400)).value; }).value;
  int kept = 0, refused = 0;
  for (std::int64_t const budget : {900'000, 2'400'000, 10'000'000, 20'000'000, 40'000'000}) {
    CAPTURE(budget);
    auto const found = ad_test::apart([&](ad_test::taken& of) {
      heap::mark const now;
      try {
        of.value = within(cairn::budget_of{400, budget}).value;
      } catch (cairn::infeasible_budget const&) {
        of.least = 1;
      }
      of.heap = std::int64_t(now.rise());
    });
    ++(found.least > 0 ? refused : kept);
    CHECK((found.least > 0 || (found.value == right && found.heap <= budget)));  // a tape is seen when it is there
  }
  CHECK(kept > 1);
  CHECK(refused > 0);
}

namespace {

/// By its type alone, for terms and derivatives by hand.
template <class Model>
struct by_itself {
  template <class T>
  void operator()(ad_test::vec<T>& x) const { Model{}(x, T(0.01)); }
};
/// Few operations on a large state, so that states of terms are more than its tape.
struct touch {
  template <class T>
  void operator()(ad_test::vec<T>& x, T const& a) const { x[0] = x[0] * (1.0 - a) + x[1]; }
};
int with_terms = 0;
template <class Model, class Terms>
void terms_by_hand(Terms const& terms, std::int64_t budget) {
  auto const found = ad_test::apart([&](ad_test::taken& of) {
    cairn::taped loop{cairn::codipack_tape<>{}, by_itself<Model>{}};
    ad_test::vec<double> const x0(4'096, 0.7);
    cairn::sweep_report report;
    heap::mark const now;
    bool begun = false;
    std::size_t weighing = 0;
    auto const sweeps = [&](cairn::event const&) {  // weighing may take longer leaves than the plan has
      if (!std::exchange(begun, true)) weighing = now.rise(), heap::peak = heap::held;
    };
    (void)cairn::differentiate(cairn::model{loop.step, loop.adjoint}, x0, cairn::measured{{150, budget}}, terms, report,
                               sweeps);
    of.heap = std::int64_t(now.rise() + cairn::bytes_of(x0));
    of.resident = std::int64_t((std::max)(weighing, now.rise()) + cairn::bytes_of(x0));
    of.predicted = std::int64_t(report.predicted_bytes);
    of.leaf = std::int64_t(report.counted.terms);
  });
  CAPTURE(budget, found.heap, found.predicted, found.leaf);
  CHECK(found.heap <= found.predicted);
  CHECK(double(found.predicted) <= 1.01 * double(found.heap));
  CHECK(found.resident <= budget);
  with_terms += found.leaf > 0 ? 1 : 0;
}

}  // namespace

// A tool keeps the tape of one leaf while the states for the terms of the next one are made.
TEST_CASE("the tape of a tool and states for terms by hand are held at once, as they are predicted",
          "[ad][long]") {
  auto const f = [](ad_test::vec<double> const& x) { return x[0]; };
  auto const df = [](ad_test::vec<double> const&, ad_test::vec<double>& bar) { bar[0] += 1; };
  auto const each = [&](auto const& terms) {
    for (std::int64_t const budget : {3'000'000, 5'000'000, 8'000'000, 30'000'000}) {
      terms_by_hand<ad_test::advect>(terms, budget);
      terms_by_hand<touch>(terms, budget);
    }
  };
  each(cairn::at_every(1, f, df));
  each(cairn::at_every(3, f, df));
  each(cairn::at_states({3, 4, 5, 6, 7, 8, 101, 133}, f, df));
  CHECK(with_terms > 3);
}
