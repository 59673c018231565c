// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <vector>

#include <Eigen/Geometry>
#include <Eigen/Sparse>
#include <unsupported/Eigen/CXX11/Tensor>
#include <cairn/adapt/eigen.hpp>

#include "array_type.hpp"

namespace {
using tensor = Eigen::Tensor<double, 3>;
using fixed_tensor = Eigen::TensorFixedSize<double, Eigen::Sizes<4, 10>>;
template <class T, unsigned Known = all>
void check_by_data(std::size_t count, auto... sizes) {
  check_array_type<T, Known>([=] { return T(sizes...); }, [](auto& x, std::size_t k) -> auto& { return x.data()[k]; }, count);
}
/// With a row of three of each 10 columns, in compressed form or with room between the columns.
template <class T>
T sparse(bool compressed) {
  T x(20, 10);
  for (int column = 0; column < 10; ++column)
    for (int row = column; row < column + 3; ++row) x.insert(row, column) = 1;
  if (compressed) x.makeCompressed();
  else x.reserve(Eigen::VectorXi::Constant(10, 7));
  return x;
}
auto const by_rows = [](auto& x, std::size_t k) -> auto& {
  return x.valuePtr()[x.outerIndexPtr()[k / 3] + int(k % 3)];
};
}  // namespace
template <>
struct cairn::state_traits<tensor> : cairn::flat<tensor> {};
template <>
struct cairn::state_traits<fixed_tensor> : cairn::flat<fixed_tensor> {};

TEST_CASE("dense matrices and arrays of Eigen", "[arrays]") {
  check_by_data<Eigen::VectorXd>(1'000, 1'000);
  check_by_data<Eigen::MatrixXd>(1'000, 20, 50);
  check_by_data<Eigen::ArrayXXd>(1'000, 20, 50);
  check_by_data<Eigen::Matrix<float, 10, 10>>(100);
  check_by_data<Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 64, 1>>(40, 40);
  check_array_type<Eigen::VectorXcd>([] { return Eigen::VectorXcd(20); }, [](auto& x, std::size_t k) -> auto& {
    return reinterpret_cast<std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(x)>>, double const, double>*>(x.data())[k];
  }, 40);
  using blocks = std::vector<Eigen::Vector4d, Eigen::aligned_allocator<Eigen::Vector4d>>;
  check_array_type<blocks>([] { return blocks(10); }, [](auto& x, std::size_t k) -> auto& { return x[k / 4][long(k % 4)]; }, 40);
}
TEST_CASE("sparse matrices, geometry and tensors of Eigen", "[arrays]") {
  using sparse_matrix = Eigen::SparseMatrix<double>;
  for (bool const compressed : {true, false})
    check_array_type<sparse_matrix>([=] { return sparse<sparse_matrix>(compressed); }, by_rows, 30);
  using by_row = Eigen::SparseMatrix<double, Eigen::RowMajor, long>;
  check_array_type<by_row>([] { return by_row(sparse<sparse_matrix>(true).transpose()); }, by_rows, 30);
  using sparse_vector = Eigen::SparseVector<double>;
  check_array_type<sparse_vector>([] { return sparse_vector(sparse<sparse_matrix>(true).col(4)); },
                                  [](auto& x, std::size_t k) -> auto& { return x.valuePtr()[k]; }, 3);
  check_array_type<Eigen::Quaterniond>([] { return Eigen::Quaterniond(1, 0, 0, 0); },
                                       [](auto& x, std::size_t k) -> auto& { return x.coeffs()[long(k)]; }, 4);
  check_array_type<Eigen::Affine3d>([] { return Eigen::Affine3d(Eigen::Affine3d::Identity()); },
                                    [](auto& x, std::size_t k) -> auto& { return x.matrix().data()[k]; }, 16);
  check_by_data<tensor, all & ~shape>(1'000, 10, 10, 10);
  check_by_data<fixed_tensor>(40);
}
TEST_CASE("views and expressions of Eigen are no states", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<Eigen::Map<Eigen::VectorXd>>);
  CHECK_FALSE(cairn::copied_state<Eigen::Ref<Eigen::VectorXd>>);
  CHECK_FALSE(cairn::copied_state<Eigen::Block<Eigen::MatrixXd>>);
  CHECK_FALSE(cairn::copied_state<decltype(Eigen::VectorXd() + Eigen::VectorXd())>);
  CHECK_FALSE(cairn::copied_state<Eigen::TensorMap<tensor>>);
  CHECK_FALSE(cairn::copied_state<Eigen::Map<Eigen::Quaterniond>>);
}
