// SPDX-License-Identifier: Apache-2.0
// Generic functions with parameters: which form each is read as, mutable or not. What is none of them is refused before
// its body is compiled: each body here compiles for its own reading only.
#include <array>
#include <vector>
#include <cairn/door/detail/adjoint_shape.hpp>
#include "support/catch.hpp"

using cairn::adjoint_form;
using cairn::step_form;

namespace {

using vec = std::vector<double>;
using params = std::array<double, 2>;

template <class State, class Step>
constexpr step_form step(Step) { return cairn::detail::shape_of_step_with<Step, State, params>().form; }
template <class State, class Adjoint>
constexpr adjoint_form adjoint(Adjoint) {
  return cairn::detail::shape_of_adjoint_with<Adjoint, State, State, params, params>().form;
}
void use(long, double = 0) {}

template <class X>
void const_ones() {
  using enum step_form;
  CHECK(step<X>([](auto& x, auto i) { x = X(x), use(i % 7); }) == none);
  CHECK(step<X>([](auto x, auto i) { return use(i % 7), x; }) == none);
  CHECK(step<X>([](auto& x, auto i, auto const& p) { x = X(x), use(i % 7, p[0]); }) == none);
  CHECK(step<X>([](X& x, auto i, params const& p) { x = X(x), use(i % 7, p[0]); }) == none);
  CHECK(step<X>([](auto const& x, auto& x1, auto i) { x1 = x, use(i % 7); }) == none);
  CHECK(step<X>([](auto const& x, auto& x1, auto i, auto const& p) { x1 = x, use(i % 7, p[0]); }) == none);
  CHECK(step<X>([](X const& x, X& x1, auto i, auto const& p) { x1 = x, use(i % 7, p[0]); }) == none);
  CHECK(step<X>([](auto& x, auto const& p, auto i) { x = X(x), use(i % 7, p[0]); }) == in_place);
  CHECK(step<X>([](auto& x, params p, auto i) { x = X(x), use(i % 7, p[0]); }) == in_place);
  CHECK(step<X>([](auto const& x, auto const& p) { return use(0, p[0]), X(x); }) == by_value);
  CHECK(step<X>([](auto const& x, auto& x1, auto const& p, auto i) { x1 = x, use(i % 7, p[0]); }) == out_of_place);
  using adjoint_form::one_step;
  auto const no = adjoint_form::none;
  CHECK(adjoint<X>([](auto const& x, auto& bar, auto i) { bar = x, use(i % 7); }) == no);
  CHECK(adjoint<X>([](auto const& x, auto& bar, auto i, auto const& p, auto& dp) {
          bar = x, use(i % 7), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([](auto const& x, auto& bar, auto const& p, auto i, auto& dp) {
          bar = x, use(i % 7), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([](auto const& x, auto& bar, auto const& p, auto& dp, auto i) {
          bar = x, use(i % 7), dp[0] += p[0];
        }) == one_step);
}

template <class X>
void mutable_ones() {
  using enum step_form;
  int n = 0;
  CHECK(step<X>([n](auto& x, auto i) mutable { x = X(x), use(i % 7 + n); }) == none);
  CHECK(step<X>([n](auto& x, auto i, auto const& p) mutable { x = X(x), use(i % 7 + n, p[0]); }) == none);
  CHECK(step<X>([n](X& x, auto i, auto const& p) mutable { x = X(x), use(i % 7 + n, p[0]); }) == none);
  CHECK(step<X>([n](X& x, auto i, params const& p) mutable { x = X(x), use(i % 7 + n, p[0]); }) == none);
  CHECK(step<X>([n](auto const& x, auto& x1, auto i) mutable { x1 = x, use(i % 7 + n); }) == none);
  CHECK(step<X>([n](auto const& x, auto& x1, auto i, auto const& p) mutable { x1 = x, use(i % 7 + n, p[0]); }) == none);
  CHECK(step<X>([n](X const& x, X& x1, auto i, auto const& p) mutable { x1 = x, use(i % 7 + n, p[0]); }) == none);
  CHECK(step<X>([n](auto& x, auto const& p, auto i) mutable { x = X(x), use(i % 7 + n, p[0]); }) == in_place);
  CHECK(step<X>([n](auto& x, auto&& p, auto i) mutable { x = X(x), use(i % 7 + n, p[0]); }) == in_place);
  CHECK(step<X>([n](auto& x, params p, auto i) mutable { x = X(x), use(i % 7 + n, p[0]); }) == in_place);
  CHECK(step<X>([n](auto& x, auto const& p) mutable { x = X(x), use(n, p[0]); }) == in_place);
  CHECK(step<X>([n](auto const& x, auto const& p) mutable { return use(n, p[0]), X(x); }) == by_value);
  CHECK(step<X>([n](auto const& x, auto& x1, auto const& p, auto i) mutable { x1 = x, use(i % 7 + n, p[0]); }) ==
        out_of_place);
  CHECK(step<X>([n](X const& x, X& x1, params const& p, auto i) mutable { x1 = x, use(i % 7 + n, p[0]); }) ==
        out_of_place);
  CHECK(step<X>([n](auto const& x, auto& x1, auto const& p) mutable { x1 = x, use(n, p[0]); }) == out_of_place);
  using adjoint_form::leaf, adjoint_form::one_step, adjoint_form::with_next;
  auto const no = adjoint_form::none;
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto i) mutable { bar = x, use(i % 7 + n); }) == no);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto first, auto last) mutable {
          bar = x, use(first % 7 + n), use(last % 7);
        }) == no);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto i, auto const& p, auto& dp) mutable {
          bar = x, use(i % 7 + n), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([n](X const& x, X& bar, auto i, params const& p, params& dp) mutable {
          bar = x, use(i % 7 + n), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto const& p, auto i) mutable { bar = x, use(i % 7 + n, p[0]); }) ==
        no);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto const& p, auto i, auto& dp) mutable {
          bar = x, use(i % 7 + n), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([n](auto const& x, auto const& x1, auto& bar, auto i, auto const& p, auto& dp) mutable {
          bar = x, bar = x1, use(i % 7 + n), dp[0] += p[0];
        }) == no);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto const& p, auto& dp, auto i) mutable {
          bar = x, use(i % 7 + n), dp[0] += p[0];
        }) == one_step);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, params p, auto&& dp, auto i) mutable {
          bar = x, use(i % 7 + n), dp[0] += p[0];
        }) == one_step);
  CHECK(adjoint<X>([n](auto const& x, auto bar, auto const& p, auto& dp) mutable {
          use(n), bar = x, dp[0] += p[0];
          return bar;
        }) == one_step);
  CHECK(adjoint<X>([n](auto const& x, auto& bar, auto const& p, auto& dp, auto first, auto last) mutable {
          bar = x, use(first % 7 + n), use(last % 7), dp[0] += p[0];
        }) == leaf);
  CHECK(adjoint<X>([n](auto const& x, auto const& x1, auto& bar, auto const& p, auto& dp, auto i) mutable {
          bar = x, bar = x1, use(i % 7 + n), dp[0] += p[0];
        }) == with_next);
}

}  // namespace

TEST_CASE("generic functions that take p and dp by reference are read, those with an index there refused") {
  const_ones<vec>();
  const_ones<double>();
}
TEST_CASE("mutable generic functions, too") {
  mutable_ones<vec>();
  mutable_ones<double>();
}
