// SPDX-License-Identifier: Apache-2.0
// Eigen's matrices as states and parameters of models that a tool differentiates.
#include <array>
#include <cmath>
#include <Eigen/Core>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/codipack.hpp>
#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>
#include "adapt/ad/cases.hpp"
#include "support/catch.hpp"

using cairn::step_index;
namespace {

template <class T>
using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using matrix = Eigen::Matrix<T, 2, 2>;
template <class T>
using block = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
struct ocean {
  vector<T> height;
  block<T> flow;
  int rows = 2;
};
/// x <- A x, and each flow times the first height.
struct linear {
  template <class T>
  void operator()(ocean<T>& x, matrix<T> const& a, step_index) const {
    vector<T> next(2);
    for (int k = 0; k < x.rows; ++k) next[k] = a(k, 0) * x.height[0] + a(k, 1) * x.height[1];
    for (Eigen::Index k = 0; k < x.flow.size(); ++k) x.flow.data()[k] = x.flow.data()[k] * x.height[0];
    x.height = next;
  }
};

}  // namespace

TEST_CASE("matrices of Eigen are differentiated, of fixed and of dynamic size", "[ad]") {
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<Eigen::VectorXd, float>, Eigen::VectorXf>);
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<Eigen::Array33d, float>, Eigen::Array33f>);
  constexpr step_index n = 6;
  auto const sum = []<class T>(ocean<T> const& x) -> T {
    T all = x.height[0] + 2.0 * x.height[1];
    for (Eigen::Index k = 0; k < x.flow.size(); ++k) all += double(k + 1) * x.flow.data()[k];
    return all;
  };
  ocean<double> x0;
  x0.height = vector<double>{{0.9, 1.1}};
  x0.flow = block<double>::Constant(2, 3, 0.5);
  matrix<double> const a{{0.9, 0.2}, {-0.1, 1.05}};
  auto const value = [&](ocean<double> x, matrix<double> const& at) {
    for (step_index i = 0; i < n; ++i) linear{}(x, at, i);
    return sum(x);
  };
  auto const found = cairn::differentiate(cairn::codipack_tape<>{}, linear{}, x0, a, cairn::revolve{n, 2}, sum);
  CHECK(found.value == value(x0, a));
  double const h = 1e-6;
  for (int k = 0; k < 2; ++k) {
    auto more = x0, less = x0;
    more.height[k] += h;
    less.height[k] -= h;
    CHECK(std::abs(found.state.height[k] - (value(more, a) - value(less, a)) / (2 * h)) < 1e-7);
    auto a_more = a, a_less = a;
    a_more(1, k) += h;
    a_less(1, k) -= h;
    CHECK(std::abs(found.params(1, k) - (value(x0, a_more) - value(x0, a_less)) / (2 * h)) < 1e-7);
  }
  auto more = x0;
  more.flow(1, 2) += 1;
  CHECK(ad_test::near_to(found.state.flow(1, 2), value(more, a) - value(x0, a), 1e-10));
  CHECK(found.state.rows == 2);
  auto const longer = cairn::differentiate(cairn::codipack_tape<>{}, linear{}, x0, a, ad_test::in_leaves(n, 4, 1), sum);
  CHECK(longer.state.height == found.state.height);
  CHECK(longer.params == found.params);
}
