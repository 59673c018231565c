// SPDX-License-Identifier: Apache-2.0
#define ARMA_DONT_USE_WRAPPER  // nothing here needs its library
#include <armadillo>

#include "array_type.hpp"

template <class T>
struct cairn::state_traits<arma::Mat<T>> : cairn::flat<arma::Mat<T>> {};
template <class T>
struct cairn::state_traits<arma::Col<T>> : cairn::flat<arma::Col<T>> {};
template <>
struct cairn::state_traits<arma::vec::fixed<12>> : cairn::flat<arma::vec::fixed<12>> {};
template <class T>
struct cairn::state_traits<arma::Cube<T>> : cairn::flat<arma::Cube<T>> {
  static std::size_t bytes(arma::Cube<T> const& x) {  // beyond 4 slices it has a table of their addresses
    return sizeof(x) + x.n_elem * sizeof(T) + (x.n_slices > 4 ? x.n_slices * sizeof(void*) : 0);
  }
};
template <class T>
struct cairn::state_traits<arma::field<T>> : cairn::flat<arma::field<T>> {
  static std::size_t bytes(arma::field<T> const& x) {  // beyond 16 elements it has a table of their addresses
    std::size_t sum = sizeof(x) + (x.n_elem > 16 ? x.n_elem * sizeof(T*) : 0);
    for (std::size_t k = 0; k < x.n_elem; ++k) sum += cairn::bytes_of(x[k]);
    return sum;
  }
};

TEST_CASE("array types of Armadillo", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.memptr()[k]; };
  constexpr unsigned one_shape = all & ~shape;
  check_array_type<arma::vec, one_shape>([] { return arma::vec(1'000); }, at, 1'000);
  check_array_type<arma::fmat, one_shape>([] { return arma::fmat(20, 50); }, at, 1'000);
  check_array_type<arma::vec::fixed<12>>([] { return arma::vec::fixed<12>(); }, at, 12);
  check_array_type<arma::cube, one_shape>([] { return arma::cube(10, 10, 10); }, at, 1'000);
  auto const in_halves = [](auto& x, std::size_t k) -> auto& {  // of complex numbers
    using half = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(x)>>, double const, double>;
    return reinterpret_cast<half*>(x.memptr())[k];
  };
  check_array_type<arma::cx_vec, one_shape>([] { return arma::cx_vec(20); }, in_halves, 40);
  auto const in_field = [](auto& x, std::size_t k) -> auto& { return x[k / 50].memptr()[k % 50]; };
  auto const made = [] {
    arma::field<arma::vec> x(20);
    for (std::size_t k = 0; k < 20; ++k) x[k].set_size(50);
    return x;
  };
  check_array_type<arma::field<arma::vec>, one_shape>(made, in_field, 1'000);
}
TEST_CASE("what Armadillo's types are without a declaration", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.memptr()[k]; };
  check_array_type<arma::rowvec, all & ~bytes>([] { return arma::rowvec(40); }, at, 40);  // its base is declared
  auto const made = [] { return arma::sp_mat(arma::speye(40, 40)); };
  auto const value = [](auto& x, std::size_t k) -> auto& { return const_cast<double&>(x.values[k]); };
  check_array_type<arma::sp_mat, 0>(made, value, 40);
  CHECK_FALSE(cairn::copied_state<arma::subview<double>>);
  CHECK_FALSE(cairn::copied_state<decltype(arma::vec() + arma::vec())>);
}
