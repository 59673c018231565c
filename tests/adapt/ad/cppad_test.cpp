// CppAD's tape.
#include <cmath>
#include <vector>
#include <cairn/adapt/cppad.hpp>
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/second_order.hpp"
#include "support/catch.hpp"

namespace {

using tape = cairn::cppad_tape;
using cairn::step_index;
template <class T>
using vec = std::vector<T>;

/// The trap's step by its index, and by the one number that it makes of it.
struct by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    for (auto& v : x) v = v + a * std::cos(0.1 * double(i)) * v * v;
  }
};
struct by_data {
  double at(step_index i) const { return std::cos(0.1 * double(i)); }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& wave) const {
    for (auto& v : x) v = v + a * wave * v * v;
  }
};
/// A step that turns around at 1.
struct branching {
  double at(step_index i) const { return 0.1 * double(i % 5 + 1); }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& size) const {
    if (x[0] > 1.0) x[0] = x[0] - a * size * x[0] * x[0];
    else x[0] = x[0] + a * size;
  }
};

}  // namespace

TEST_CASE("CppAD keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("CppAD adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("a step that reads its index has the right adjoint by CppAD", "[ad]") { ad_test::time_dependent_trap<tape>(); }
TEST_CASE("Burgers has the adjoint that is known by CppAD", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by CppAD", "[ad]") { ad_test::lotka_volterra_case<tape>(); }
TEST_CASE("CppAD over numbers with a slope gives products of the Hessian", "[ad]") { ad_test::hessian_products<tape>(); }
TEST_CASE("a model over a ring of states is differentiated by CppAD", "[ad]") { ad_test::rings<tape>(); }
TEST_CASE("a model whose state jumps is differentiated by CppAD", "[ad]") { ad_test::jumps<tape>(); }

TEST_CASE("one recording of CppAD serves all leaves of a loop whose steps name their numbers", "[ad]") {
  vec<double> const x0{0.7, 0.2};
  auto const sum = []<class T>(vec<T> const& x) -> T { return x[0] * x[1]; };
  cairn::taped by_tape{tape{}, by_index{}, 0.01, cairn::at_end{sum}};
  cairn::taped by_replay{tape{}, by_data{}, 0.01, cairn::at_end{sum}};
  for (step_index const leaf : {1, 5, 30}) {
    auto const plan = ad_test::in_leaves(100, leaf, 3);
    auto const known = cairn::differentiate(by_tape, x0, plan);
    auto const before = by_replay.tool().recordings();
    auto const found = cairn::differentiate(by_replay, x0, plan);
    CHECK(by_replay.tool().recordings() - before == 2u + (leaf == 30 ? 1 : 0));  // the seed's, the leaves', and that of the last, shorter one
    CHECK(found.value == known.value);
    CHECK(ad_test::near_to(found.params, known.params, 1e-13));
    CHECK(ad_test::near_to(found.state[0], known.state[0], 1e-13));
    CHECK(ad_test::near_to(found.state[1], known.state[1], 1e-13));
  }
  // terms are recorded where they are
  auto const terms = cairn::at_every{7, []<class T>(vec<T> const& x, T const&, step_index i) -> T { return double(i) * x[0]; }};
  auto const known = cairn::differentiate(tape{}, by_index{}, x0, 0.01, cairn::revolve{100, 3}, terms);
  auto const found = cairn::differentiate(tape{}, by_data{}, x0, 0.01, cairn::revolve{100, 3}, terms);
  CHECK(ad_test::near_to(found.value, known.value));
  CHECK(ad_test::near_to(found.params, known.params));
  CHECK(ad_test::near_to(found.state[0], known.state[0]));
}

TEST_CASE("a comparison that comes out otherwise is recorded anew", "[ad]") {
  auto const last = []<class T>(vec<T> const& x) -> T { return x[0]; };
  auto const found = cairn::differentiate(tape{}, branching{}, vec<double>{0.2}, 0.9, cairn::revolve{60, 4}, last);
  double x = 0.2, by_x = 1, by_a = 0;
  for (step_index i = 0; i < 60; ++i) {
    double const size = branching{}.at(i);
    if (x > 1) {
      by_a = by_a * (1 - 2 * 0.9 * size * x) - size * x * x;
      by_x *= 1 - 2 * 0.9 * size * x;
      x = x - 0.9 * size * x * x;
    } else {
      by_a += size;
      x = x + 0.9 * size;
    }
  }
  CHECK(ad_test::near_to(found.value, x));
  CHECK(ad_test::near_to(found.params, by_a, 1e-11));
  CHECK(std::abs(found.state[0] - by_x) < 1e-12);
}
