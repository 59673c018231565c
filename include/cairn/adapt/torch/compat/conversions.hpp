// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file conversions.hpp  Eigen's matrices as tensors and tensors as Eigen's maps, without a copy if the layouts agree.
/// Needs no header of Eigen.
#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/ATen.h>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {
namespace detail {

/// The type that LibTorch uses for a C++ number.
template <class T>
struct torch_number { using type = T; };
template <class Real>
struct torch_number<std::complex<Real>> { using type = c10::complex<Real>; };
template <class T>
using scalar_type_of = c10::CppTypeToScalarType<typename torch_number<std::remove_const_t<T>>::type>;

/// C++ numbers that tensors can hold.
template <class T>
concept tensor_number = requires { scalar_type_of<T>::value; };

/// Eigen's Matrix, Array, Map and Ref and Block, and similar types: numbers in memory with two strides.
template <class Matrix>
concept dense_matrix = requires(Matrix& m) {
  *m.data();
  { m.rows() } -> std::convertible_to<std::int64_t>;
  { m.cols() } -> std::convertible_to<std::int64_t>;
  { m.innerStride() } -> std::convertible_to<std::int64_t>;
  { m.outerStride() } -> std::convertible_to<std::int64_t>;
  { bool(std::remove_cvref_t<Matrix>::IsRowMajor) };
  { bool(std::remove_cvref_t<Matrix>::IsVectorAtCompileTime) };
} && tensor_number<std::remove_pointer_t<decltype(std::declval<Matrix&>().data())>>;

template <class Matrix>
using matrix_number = std::remove_pointer_t<decltype(std::declval<Matrix&>().data())>;
/// Whether the numbers move with the object: true for a Matrix, false for a Map.
template <class Matrix>
inline constexpr bool owning_matrix = std::is_same_v<typename Matrix::PlainObject, Matrix>;

struct tensor_shape {
  std::vector<std::int64_t> sizes, strides;
};
/// One dimension if the type is a vector, otherwise rows and columns.
template <class Matrix>
[[nodiscard]] tensor_shape shape_of(Matrix const& m) {
  std::int64_t const inner = m.innerStride(), outer = m.outerStride();
  if (Matrix::IsVectorAtCompileTime) return {{std::int64_t(m.rows()) * std::int64_t(m.cols())}, {inner}};
  return {{m.rows(), m.cols()}, Matrix::IsRowMajor ? std::vector{outer, inner} : std::vector{inner, outer}};
}
/// \param end  called with the address when the last tensor that uses it is destroyed
template <class Matrix, class End>
[[nodiscard]] at::Tensor tensor_over(Matrix& m, End end) {
  using number = std::remove_const_t<matrix_number<Matrix>>;
  auto const options = at::TensorOptions().dtype(scalar_type_of<number>::value);
  auto const shape = shape_of(m);
  if (m.rows() == 0 || m.cols() == 0) return end(nullptr), at::empty(shape.sizes, options);  // no address to own
  return at::from_blob(const_cast<number*>(m.data()), shape.sizes, shape.strides, std::move(end), options);
}

/// Checks that a tensor can hold the numbers of an M.
template <class Matrix>
[[nodiscard]] consteval bool check_matrix() {
  constexpr bool is_matrix = dense_matrix<Matrix>;
  static_assert(
      is_matrix,
      "cairn: a tensor can view Eigen matrices, arrays, maps, refs and blocks of numbers that tensors can hold");
  return is_matrix;
}
/// Checks that the numbers of an M may be written, as those of a tensor always may.
template <class Matrix>
[[nodiscard]] consteval bool check_writable() {
  constexpr bool writable = !std::is_const_v<matrix_number<Matrix>>;
  static_assert(
      writable,
      "cairn: a tensor over const numbers could be written to; copy them with cairn::libtorch::to_tensor(matrix)");
  return writable;
}

}  // namespace detail

/// A tensor over the numbers of a matrix, which you must keep alive and in place as long as the tensor and its views.
/// Each sees what the other writes. Vectors become tensors with one dimension; matrices with rows and columns, and the
/// strides of the matrix.
/// \param matrix  an Eigen Matrix, Array, Map, Ref or Block of float, double, an integer, bool or std::complex. Refused
///   at compile time: const objects, and a temporary Matrix (pass it by std::move to `to_tensor`)
template <class Matrix>
[[nodiscard]] at::Tensor tensor_view(Matrix&& matrix) {
  using plain = std::remove_cvref_t<Matrix>;
  if constexpr (!detail::check_matrix<plain>()) return {};
  else {
    constexpr bool writable = detail::check_writable<std::remove_reference_t<Matrix>>();
    constexpr bool lasting = std::is_lvalue_reference_v<Matrix> || !detail::owning_matrix<plain>;
    static_assert(lasting,
                  "cairn: the matrix would be destroyed before the tensor; move it with "
                  "cairn::libtorch::to_tensor(std::move(matrix))");
    if constexpr (writable && lasting) return detail::tensor_over(matrix, [](void*) {});
    else return {};
  }
}

/// A tensor over the numbers of a shared matrix, which it keeps alive.   \throws invalid_call  for a null pointer
template <class Matrix>
[[nodiscard]] at::Tensor tensor_view(std::shared_ptr<Matrix> matrix) {
  if constexpr (!detail::check_matrix<Matrix>()) return {};
  else {
    if constexpr (!detail::check_writable<Matrix>()) return {};
    if (matrix == nullptr)
      throw invalid_call{"cairn::libtorch::tensor_view", "there is no matrix", {}, "give a pointer to one"};
    auto& numbers = *matrix;
    return detail::tensor_over(numbers, [kept = std::move(matrix)](void*) mutable { kept.reset(); });
  }
}

/// A tensor that owns its numbers: those of a matrix passed by std::move, without a copy if they are outside the
/// object; otherwise a copy, in the same layout if it has no gaps.
template <class Matrix>
[[nodiscard]] at::Tensor to_tensor(Matrix&& matrix) {
  using plain = std::remove_cvref_t<Matrix>;
  if constexpr (!detail::check_matrix<plain>()) return {};
  else if constexpr (!std::is_reference_v<Matrix> && !std::is_const_v<Matrix> && detail::owning_matrix<plain>)
    return tensor_view(std::make_shared<plain>(std::move(matrix)));
  else return detail::tensor_over(matrix, [](void*) {}).clone();
}

namespace detail {

/// The template arguments of an Eigen::Map, without a header of Eigen.
template <class Map>
struct map_parts {};
template <template <class, int, class> class Map, class Plain, int Options, class Stride>
struct map_parts<Map<Plain, Options, Stride>> {
  static constexpr std::uintptr_t alignment = std::uintptr_t(Options);
  static constexpr bool read_only = std::is_const_v<Plain>;
  using stride = Stride;
  using plain = std::remove_const_t<Plain>;
};

/// A stride of Eigen's type; only its dynamic parts are set.
template <class Stride, class Index>
[[nodiscard]] Stride make_stride(Index outer, Index inner) {
  constexpr bool any_outer = int(Stride::OuterStrideAtCompileTime) == -1,
                 any_inner = int(Stride::InnerStrideAtCompileTime) == -1;
  if constexpr (any_outer && any_inner) return Stride(outer, inner);
  else if constexpr (any_outer) return Stride(outer);
  else if constexpr (any_inner) return Stride(inner);
  else return Stride();
}

template <class Map>
[[nodiscard]] Map map_over(at::Tensor const& tensor) {
  using parts = map_parts<Map>;
  using number = typename parts::plain::Scalar;
  auto const refuse = [](char const* problem, char const* advice) {
    throw invalid_call{"cairn::libtorch::eigen_map", problem, {}, advice};
  };
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.device().is_cpu())
    refuse("the tensor is undefined, sparse or on a device", "give a strided one in host memory");
  if (tensor.scalar_type() != scalar_type_of<number>::value)
    refuse("the tensor holds a different type of number from the map", "convert it with tensor.to(type)");
  if (tensor.is_conj() || tensor.is_neg())
    refuse("the tensor is conjugated or negated when it is read", "give tensor.resolve_conj().resolve_neg()");
  if (tensor.dim() > 2)
    throw invalid_call{"cairn::libtorch::eigen_map",
                       "a matrix has two dimensions",
                       {{"dimensions", tensor.dim()}},
                       "choose a part with tensor.select()"};
  if (!parts::read_only && tensor.requires_grad())
    refuse("autograd would not see what is written to the map", "give tensor.detach(), or map a const matrix");

  std::array<std::int64_t, 2> size{1, 1}, stride{1, 1};  // of rows and of columns
  std::size_t const first = tensor.dim() == 1 && int(parts::plain::RowsAtCompileTime) == 1 ? 1 : 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    size[first + std::size_t(d)] = tensor.size(d);
    stride[first + std::size_t(d)] = tensor.stride(d);
    if (!parts::read_only && tensor.stride(d) == 0 && tensor.size(d) > 1)
      refuse("numbers of the tensor overlap", "give tensor.contiguous(), or map a const matrix");
  }
  auto const fits = [](int fixed, std::int64_t given) { return fixed == -1 || fixed == given; };
  if (!fits(parts::plain::RowsAtCompileTime, size[0]) || !fits(parts::plain::ColsAtCompileTime, size[1]))
    throw invalid_call{"cairn::libtorch::eigen_map",
                       "the map is for other sizes",
                       {{"rows", size[0]}, {"columns", size[1]}},
                       "give a tensor of its sizes"};

  using index = typename Map::Index;
  constexpr bool row_major = bool(Map::IsRowMajor);
  if (tensor.dim() < 2 || size[0] == 1 || size[1] == 1) {  // a dimension of size 1 has whatever stride the map needs
    constexpr std::size_t outer = row_major ? 0 : 1, inner = 1 - outer;
    if (size[inner] <= 1) stride[inner] = 1;
    if (size[outer] <= 1) stride[outer] = size[inner] * stride[inner];
  }
  auto* const data = static_cast<number*>(tensor.data_ptr());
  if (parts::alignment > 1 && reinterpret_cast<std::uintptr_t>(data) % parts::alignment != 0)
    refuse("the numbers are not aligned as the map wants", "take an unaligned map");
  auto const outer = index(stride[row_major ? 0 : 1]), inner = index(stride[row_major ? 1 : 0]);
  Map map{data, index(size[0]), index(size[1]), make_stride<typename parts::stride>(outer, inner)};
  bool const agrees = map.size() == 0 || ((map.innerSize() <= 1 || map.innerStride() == inner) &&
                                          (map.outerSize() <= 1 || map.outerStride() == outer));
  if (!agrees)
    throw invalid_call{"cairn::libtorch::eigen_map",
                       "the map cannot have the strides of the tensor",
                       {{"outer", outer}, {"inner", inner}},
                       "give the map Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>, or tensor.contiguous()"};
  return map;
}

}  // namespace detail

/// Eigen's view of the numbers of a tensor, which you must keep alive as long as the map.
/// `eigen_map<Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>>(t)` fits every tensor of
/// floats with up to two dimensions; `Eigen::Map<Eigen::VectorXf>` every contiguous one with one dimension;
/// `Eigen::Map<RowMajorMatrix>` contiguous ones with two. One dimension becomes a column, or a row if the type is a
/// row.
/// \tparam Map  an Eigen::Map; a map of a const matrix only reads
/// \throws invalid_call  for another type or device, for layouts and sizes that the map cannot have, and, unless it
///   only reads, for a tensor that requires a gradient (autograd would not see what is written) or whose numbers
///   overlap (an expanded one)
template <class Map>
[[nodiscard]] auto eigen_map(at::Tensor const& tensor) {
  constexpr bool is_map = requires { typename detail::map_parts<Map>::plain; };
  static_assert(
      is_map, "cairn: a tensor is seen by an Eigen::Map; name one, as eigen_map<Eigen::Map<Eigen::VectorXf>>(tensor)");
  if constexpr (!is_map) return cairn::detail::refuse<typename cairn::detail::first_returned<Map>::type>();
  else {
    constexpr bool is_number = detail::tensor_number<typename Map::Scalar>;
    static_assert(is_number, "cairn: tensors cannot hold the numbers of this map");
    if constexpr (!is_number) return cairn::detail::refuse<typename cairn::detail::first_returned<Map>::type>();
    else return detail::map_over<Map>(tensor);
  }
}

}  // namespace cairn::libtorch
