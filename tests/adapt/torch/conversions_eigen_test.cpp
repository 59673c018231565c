// SPDX-License-Identifier: Apache-2.0
// Eigen's matrices as tensors and back, without a copy where that can be.
#include "support/torch.hpp"
#include <Eigen/Core>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/compat/conversions.hpp>

namespace conversions_tests {

using cl::eigen_map;
using cl::tensor_view;
using cl::to_tensor;
using any_stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class M>
bool same_numbers(at::Tensor const& t, M const& m) {
  if (t.dim() == 1) {
    if (t.size(0) != m.size()) return false;
    for (Eigen::Index k = 0; k < m.size(); ++k)
      if (t[k].item<double>() != double(m(k / m.cols(), k % m.cols()))) return false;
    return true;
  }
  if (t.size(0) != m.rows() || t.size(1) != m.cols()) return false;
  for (Eigen::Index r = 0; r < m.rows(); ++r)
    for (Eigen::Index c = 0; c < m.cols(); ++c) if (t[r][c].item<double>() != double(m(r, c))) return false;
  return true;
}

TEST_CASE("a tensor over a matrix is the same memory in the matrix's layout", "[torch][eigen]") {
  Eigen::MatrixXd columns = Eigen::MatrixXd::Random(3, 4);
  row_major rows = row_major::Random(3, 4);
  auto const t = tensor_view(columns), u = tensor_view(rows);
  CHECK(t.data_ptr() == columns.data());
  CHECK(u.data_ptr() == rows.data());
  CHECK(t.strides() == at::IntArrayRef{1, 3});
  CHECK(u.strides() == at::IntArrayRef{4, 1});
  CHECK(same_numbers(t, columns));
  CHECK(same_numbers(u, rows));
  t[1][2].fill_(7);
  CHECK(columns(1, 2) == 7);
  rows(2, 3) = 5;
  CHECK(u[2][3].item<double>() == 5);
}

TEST_CASE("vectors, arrays, fixed sizes, blocks, maps and other numbers have tensors", "[torch][eigen]") {
  Eigen::VectorXf v = Eigen::VectorXf::Random(5);
  Eigen::RowVectorXd r = Eigen::RowVectorXd::Random(4);
  Eigen::Matrix3i fixed = Eigen::Matrix3i::Random();
  Eigen::ArrayXXf array = Eigen::ArrayXXf::Random(2, 3);
  Eigen::MatrixXcd complex = Eigen::MatrixXcd::Random(2, 2);
  Eigen::MatrixXd m = Eigen::MatrixXd::Random(6, 6);
  CHECK(same_numbers(tensor_view(v), v));
  CHECK(tensor_view(v).dim() == 1);
  CHECK(same_numbers(tensor_view(r), r));
  CHECK(same_numbers(tensor_view(fixed), fixed));
  CHECK(tensor_view(fixed).scalar_type() == torch::kInt);
  CHECK(same_numbers(tensor_view(array), array));
  CHECK(tensor_view(complex).scalar_type() == torch::kComplexDouble);
  CHECK(same_numbers(tensor_view(m.block(1, 2, 3, 4)), m.block(1, 2, 3, 4)));
  CHECK(same_numbers(tensor_view(m.row(2)), m.row(2)));
  CHECK(tensor_view(m.row(2)).stride(0) == 6);
  CHECK(same_numbers(tensor_view(Eigen::Map<Eigen::MatrixXd, 0, any_stride>{m.data(), 3, 2, any_stride{12, 2}}),
                     m(Eigen::seq(0, 4, 2), Eigen::seq(0, 2, 2))));
}

TEST_CASE("matrices without numbers have tensors without numbers", "[torch][eigen]") {
  Eigen::MatrixXd none, wide(0, 3);
  Eigen::VectorXd vector(0);
  CHECK(tensor_view(none).sizes() == at::IntArrayRef{0, 0});
  CHECK(tensor_view(wide).sizes() == at::IntArrayRef{0, 3});
  CHECK(tensor_view(vector).sizes() == at::IntArrayRef{0});
  CHECK(to_tensor(Eigen::MatrixXd(2, 0)).sizes() == at::IntArrayRef{2, 0});
  auto const empty = torch::empty({0, 3}, torch::kDouble);
  auto const map = eigen_map<Eigen::Map<Eigen::MatrixXd>>(empty);
  CHECK(map.rows() == 0);
  CHECK(map.cols() == 3);
}

TEST_CASE("a matrix that is given away or shared lives as long as its tensor", "[torch][eigen]") {
  Eigen::MatrixXd m = Eigen::MatrixXd::Random(3, 2);
  auto const copy = m;
  auto const* const address = m.data();
  auto t = to_tensor(std::move(m));
  CHECK(t.data_ptr() == address);
  auto view = t[1];
  t.reset();
  CHECK(view[1].item<double>() == copy(1, 1));

  auto shared = std::make_shared<Eigen::VectorXd>(Eigen::VectorXd::Random(3));
  std::weak_ptr<Eigen::VectorXd> const watch = shared;
  auto u = tensor_view(std::move(shared));
  CHECK(!watch.expired());
  u.reset();
  CHECK(watch.expired());
  auto hollow = std::make_shared<Eigen::MatrixXd>();
  auto const none = tensor_view(hollow);
  CHECK(hollow.use_count() == 1);
  CHECK_THROWS_AS(tensor_view(std::shared_ptr<Eigen::VectorXd>{}), cairn::invalid_call);
}

TEST_CASE("to_tensor copies what it cannot take", "[torch][eigen]") {
  Eigen::MatrixXd const m = Eigen::MatrixXd::Random(3, 2);
  auto const t = to_tensor(m);
  CHECK(t.data_ptr() != m.data());
  CHECK(same_numbers(t, m));
  auto const u = to_tensor(m.block(0, 0, 2, 2));
  CHECK(same_numbers(u, m.block(0, 0, 2, 2)));
  CHECK(same_numbers(to_tensor(Eigen::Map<Eigen::VectorXd const>{m.data(), 6}),
                     Eigen::Map<Eigen::VectorXd const>{m.data(), 6}));
}

TEST_CASE("a map over a tensor is the same memory, with any strides", "[torch][eigen]") {
  auto const t = torch::arange(24, torch::kDouble).view({4, 6});
  using map = Eigen::Map<Eigen::MatrixXd, 0, any_stride>;
  for (auto const& part : {t, t.t(), t.narrow(0, 1, 2), t.narrow(1, 2, 3), t.slice(1, 0, 6, 2), t.slice(0, 0, 4, 3).t(),
                           t.narrow(0, 2, 1), t.narrow(1, 3, 1)}) {
    CHECK(same_numbers(part, eigen_map<map>(part)));
    CHECK(same_numbers(part, eigen_map<Eigen::Map<row_major, 0, any_stride>>(part)));
  }
  eigen_map<map>(t)(1, 1) = -1;
  CHECK(t[1][1].item<double>() == -1);
  CHECK(same_numbers(t, eigen_map<Eigen::Map<row_major>>(t)));
  CHECK(same_numbers(t.t(), eigen_map<Eigen::Map<Eigen::MatrixXd>>(t.t())));
  CHECK(same_numbers(t[2], eigen_map<Eigen::Map<Eigen::VectorXd>>(t[2])));
  CHECK(same_numbers(t[2], eigen_map<Eigen::Map<Eigen::RowVectorXd>>(t[2])));
  CHECK(same_numbers(t.select(1, 2), eigen_map<Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>>>(t.select(1, 2))));
  CHECK(same_numbers(t.narrow(1, 1, 3), eigen_map<Eigen::Map<row_major, 0, Eigen::OuterStride<>>>(t.narrow(1, 1, 3))));
  CHECK(eigen_map<Eigen::Map<Eigen::MatrixXd>>(t[3][4])(0, 0) == 22);  // no dimension: one number
  Eigen::MatrixXd m = Eigen::MatrixXd::Random(3, 2);
  CHECK(eigen_map<Eigen::Map<Eigen::MatrixXd>>(tensor_view(m)) == m);
}

TEST_CASE("maps that cannot be are refused", "[torch][eigen]") {
  auto const t = torch::arange(24, torch::kDouble).view({4, 6});
  using dense = Eigen::Map<Eigen::MatrixXd>;
  using reading = Eigen::Map<Eigen::MatrixXd const, 0, any_stride>;
  using writing = Eigen::Map<Eigen::MatrixXd, 0, any_stride>;
  CHECK_THROWS_AS(eigen_map<dense>(t), cairn::invalid_call);  // by rows
  CHECK_THROWS_AS(eigen_map<dense>(t.t().slice(1, 0, 4, 2)), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<Eigen::Map<Eigen::VectorXd>>(t.select(1, 2)), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<Eigen::Map<Eigen::VectorXd>>(t), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<Eigen::Map<Eigen::Matrix3d>>(t.t()), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<dense>(t.to(torch::kFloat)), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<dense>(t.view({2, 3, 4})), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<dense>(at::Tensor()), cairn::invalid_call);
  CHECK_THROWS_AS(eigen_map<dense>(torch::ones({2, 2}, torch::kDouble).to_sparse()), cairn::invalid_call);
  auto const spread = torch::ones({1, 3}, torch::kDouble).expand({4, 3});
  CHECK_THROWS_AS(eigen_map<writing>(spread), cairn::invalid_call);
  CHECK(same_numbers(spread, eigen_map<reading>(spread)));
  auto const w = torch::ones({2, 2}, torch::TensorOptions(torch::kDouble).requires_grad(true));
  CHECK_THROWS_AS(eigen_map<writing>(w), cairn::invalid_call);
  CHECK(same_numbers(w, eigen_map<reading>(w)));
  auto const odd = torch::ones({9}, torch::kDouble).narrow(0, 1, 8);
  bool const aligned = reinterpret_cast<std::uintptr_t>(odd.data_ptr()) % 16 == 0;
  if (!aligned) CHECK_THROWS_AS((eigen_map<Eigen::Map<Eigen::VectorXd, Eigen::Aligned16>>(odd)), cairn::invalid_call);
}

}  // namespace conversions_tests
