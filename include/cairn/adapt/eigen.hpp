// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file eigen.hpp  Eigen's matrices, arrays, sparse matrices, quaternions and transforms as states and as parts of
/// states.
/// Copies need nothing from this header: Eigen's `=` allocates only if sizes differ. The core refuses Map, Ref, Block
/// and expressions, because they refer to data of another owner; `x.eval()` is a state.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <Eigen/Core>
#include <cairn/core/buffers.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

/// Matrix and Array, of fixed, bounded or dynamic size, and of any scalar type that is itself a state.
template <class Dense>
struct dense_eigen {
  using scalar = typename Dense::Scalar;
  /// Additional bytes that Eigen allocates for alignment, if malloc does not align as far as its vector instructions
  /// need.
  static constexpr std::size_t to_align =
      EIGEN_MALLOC_ALREADY_ALIGNED || (int(Dense::Options) & int(Eigen::DontAlign)) != 0
          ? 0
          : std::size_t(EIGEN_DEFAULT_ALIGN_BYTES);

  [[nodiscard]] static std::size_t bytes(Dense const& x)
    requires sized_state<scalar>
  {
    std::size_t sum = sizeof(Dense);
    if (Dense::MaxSizeAtCompileTime == Eigen::Dynamic && x.size() > 0)
      sum += std::size_t(x.size()) * sizeof(scalar) + to_align;
    if constexpr (!is_flat<scalar>())
      for (Eigen::Index k = 0; k < x.size(); ++k) sum += heap_of(x.data()[k]);
    return sum;
  }
  template <class State, class Fn>
    requires buffered<scalar>
  static void visit_buffers(State& x, Fn& f) {
    tell_structure(f, std::size_t(x.rows()));
    tell_structure(f, std::size_t(x.cols()));
    if constexpr (is_dense<scalar>()) visit_run(x.data(), std::size_t(x.size()) * sizeof(scalar), f);
    else
      for (Eigen::Index k = 0; k < x.size(); ++k) cairn::visit_buffers(x.data()[k], f);
  }

  static constexpr bool resizes = Dense::SizeAtCompileTime == Eigen::Dynamic;
  template <class Sink>
    requires written_state<scalar>
  static void write(Dense const& x, Sink& sink) {
    if constexpr (resizes) {
      write_length(x.rows(), sink);
      write_length(x.cols(), sink);
    }
    if constexpr (is_dense<scalar>()) sink(static_cast<void const*>(x.data()), std::size_t(x.size()) * sizeof(scalar));
    else
      for (Eigen::Index k = 0; k < x.size(); ++k) write_state(x.data()[k], sink);
  }
  template <class Source>
    requires written_state<scalar>
  static void read(Dense& x, Source& source) {
    if constexpr (resizes) {
      Eigen::Index const rows = read_length(source, x.rows(), Dense::RowsAtCompileTime, Dense::MaxRowsAtCompileTime),
                         columns = read_length(source, x.cols(), Dense::ColsAtCompileTime, Dense::MaxColsAtCompileTime);
      std::uint64_t const most = source.left() / least_bytes<scalar>();
      if (columns > 0 && std::uint64_t(rows) > most / std::uint64_t(columns)) refuse_cut(std::uint64_t(rows), most);
      x.resize(rows, columns);
    }
    if constexpr (is_dense<scalar>() && !std::is_same_v<scalar, bool>)
      source(static_cast<void*>(x.data()), std::size_t(x.size()) * sizeof(scalar));
    else
      for (Eigen::Index k = 0; k < x.size(); ++k) read_state(x.data()[k], source);
  }

 private:
  template <class Sink>
  static void write_length(Eigen::Index length, Sink& sink) {
    if constexpr (takes_structure<Sink>) sink.structure(std::uint64_t(length));
    else write_state(std::uint64_t(length), sink);
  }
  template <class Source>
  [[nodiscard]] static Eigen::Index read_length(Source& source, Eigen::Index has, int fixed, int most) {
    std::uint64_t length = 0;
    read_state(length, source);
    if ((fixed != Eigen::Dynamic && length != std::uint64_t(fixed)) || length > (~std::uint64_t{0} >> 1) ||
        (most != Eigen::Dynamic && length > std::uint64_t(most)))
      refuse_shape(std::uint64_t(has), length);
    return Eigen::Index(length);
  }
};

/// SparseMatrix, SparseVector and similar types, recognised without their header.
template <class T>
concept sparse_eigen = requires(T& x) {
  typename T::PlainObject;
  typename T::StorageIndex;
  *x.valuePtr();
  *x.innerIndexPtr();
  x.outerIndexPtr();
  x.innerNonZeroPtr();
  x.resizeNonZeros(0);  // so it is not a Map
  { x.nonZeros() } -> std::convertible_to<Eigen::Index>;
};

}  // namespace detail

/// Matrices and vectors of fixed, bounded or dynamic size, whose scalars may be any state.
template <class Scalar, int Rows, int Columns, int Options, int MostRows, int MostColumns>
struct state_traits<Eigen::Matrix<Scalar, Rows, Columns, Options, MostRows, MostColumns>>
    : detail::dense_eigen<Eigen::Matrix<Scalar, Rows, Columns, Options, MostRows, MostColumns>> {};
/// The same for arrays.
template <class Scalar, int Rows, int Columns, int Options, int MostRows, int MostColumns>
struct state_traits<Eigen::Array<Scalar, Rows, Columns, Options, MostRows, MostColumns>>
    : detail::dense_eigen<Eigen::Array<Scalar, Rows, Columns, Options, MostRows, MostColumns>> {};

/// Quaternions of <Eigen/Geometry>.
template <class Scalar, int Options>
struct state_traits<Eigen::Quaternion<Scalar, Options>> {
  /// All of it is inside the object.
  [[nodiscard]] static std::size_t bytes(Eigen::Quaternion<Scalar, Options> const& x) { return sizeof(x); }
  /// Its four coefficients.
  template <class State, class Fn>
  static void visit_buffers(State& x, Fn& f) { cairn::visit_buffers(x.coeffs(), f); }
  /// The same.
  template <class State, class Fn>
    requires numbered<Scalar>
  static void visit_numbers(State& x, Fn& f) { cairn::visit_numbers(x.coeffs(), f); }
};
/// Transforms of <Eigen/Geometry>.
template <class Scalar, int Dimension, int Mode, int Options>
struct state_traits<Eigen::Transform<Scalar, Dimension, Mode, Options>> {
  /// All of it is inside the object.
  [[nodiscard]] static std::size_t bytes(Eigen::Transform<Scalar, Dimension, Mode, Options> const& x) {
    return sizeof(x);
  }
  /// The coefficients of its matrix.
  template <class State, class Fn>
  static void visit_buffers(State& x, Fn& f) { cairn::visit_buffers(x.matrix(), f); }
  /// The same.
  template <class State, class Fn>
    requires numbered<Scalar>
  static void visit_numbers(State& x, Fn& f) { cairn::visit_numbers(x.matrix(), f); }
};

/// Sparse matrices and vectors: values, inner and outer indices. A matrix that is read is in compressed form, as Eigen's
/// copies are.
template <detail::sparse_eigen Sparse>
struct state_traits<Sparse> {
  using scalar = typename Sparse::Scalar;  ///< of its values
  using index = typename Sparse::StorageIndex;  ///< of its indices

  /// For SparseVector, which Eigen evaluates to a matrix, so that it looks like an expression.
  static void copy(Sparse const& from, Sparse& into)
    requires detail::expression<Sparse>
  {
    into = from;
  }
  /// Including the spare capacity between columns and after the last one.
  [[nodiscard]] static std::size_t bytes(Sparse const& x) {
    std::size_t const columns = x.outerIndexPtr() != nullptr ? std::size_t(x.outerSize()) : 0;
    std::size_t const indices = (columns > 0 ? columns + 1 : 0) + (x.innerNonZeroPtr() != nullptr ? columns : 0);
    return sizeof(Sparse) + std::size_t(x.data().allocatedSize()) * (sizeof(scalar) + sizeof(index)) +
           indices * sizeof(index);
  }
  /// Indices first, then values.
  template <class State, class Fn>
  static void visit_buffers(State& x, Fn& f) {
    auto const run = [&f](auto* from, Eigen::Index count) {
      detail::visit_run(from, std::size_t(count) * sizeof(*from), f);
    };
    detail::tell_structure(f, std::size_t(x.rows()));
    detail::tell_structure(f, std::size_t(x.cols()));
    detail::tell_structure(f, x.innerNonZeroPtr() == nullptr);
    if (x.outerIndexPtr() != nullptr) run(x.outerIndexPtr(), x.outerSize() + 1);
    if (x.innerNonZeroPtr() == nullptr) {
      run(x.innerIndexPtr(), x.nonZeros());
      run(x.valuePtr(), x.nonZeros());
      return;
    }
    run(x.innerNonZeroPtr(), x.outerSize());
    each_column(x, [&](index from, index count) {  // with free space between them
      run(x.innerIndexPtr() + from, count);
      run(x.valuePtr() + from, count);
    });
  }
  /// The values that are stored, in the order of `visit_buffers`.
  template <class State, class Fn>
    requires numbered<scalar>
  static void visit_numbers(State& x, Fn& f) {
    each_column(x, [&](index from, index count) {
      for (index k = 0; k < count; ++k) detail::list_numbers(x.valuePtr()[from + k], f);
    });
  }
  /// Rows, columns, how many values each column has, and these with their rows.
  template <class Sink>
    requires written_state<scalar>
  static void write(Sparse const& x, Sink& sink) {
    write_state(std::uint64_t(x.rows()), sink);
    write_state(std::uint64_t(x.cols()), sink);
    each_column(x, [&](index, index count) { write_state(std::uint64_t(count), sink); });
    each_column(x, [&](index from, index count) {
      for (index k = from; k < from + count; ++k) write_state(x.innerIndexPtr()[k], sink), write_state(x.valuePtr()[k], sink);
    });
  }
  /// The same into a matrix of any shape; what cannot be read leaves it empty.
  template <class Source>
    requires written_state<scalar>
  static void read(Sparse& x, Source& source) {
    struct emptied {
      Sparse* x;
      ~emptied() { if (x != nullptr) x->setZero(); }
    } unless_whole{&x};
    constexpr std::uint64_t largest = std::uint64_t((std::numeric_limits<index>::max)());
    constexpr bool by_row = bool(Sparse::IsRowMajor), vector = bool(Sparse::IsVectorAtCompileTime);
    std::uint64_t const rows = number(source), columns = number(source), outer = by_row ? rows : columns,
                        inner = by_row ? columns : rows, each = sizeof(index) + detail::least_bytes<scalar>();
    if (outer > source.left() / sizeof outer) detail::refuse_cut(outer, source.left() / sizeof outer);
    if (inner > largest || (vector && outer != 1)) detail::refuse_shape(std::uint64_t(x.innerSize()), inner);
    x.resize(Eigen::Index(rows), Eigen::Index(columns));
    std::uint64_t sum = 0;
    for (std::uint64_t column = 0; column < outer; ++column) {
      std::uint64_t const count = number(source), most = source.left() / each;
      if (count > inner || sum > most || count > most - sum || count > largest - sum) detail::refuse_cut(count, most);
      sum += count;
      if constexpr (!vector) x.outerIndexPtr()[column + 1] = index(sum);
    }
    x.data().clear();
    if (std::uint64_t(x.data().allocatedSize()) > sum) x.data().squeeze();
    x.resizeNonZeros(Eigen::Index(sum));
    each_column(x, [&](index from, index count) {
      for (index k = from, last = -1; k < from + count; ++k) {
        index& row = x.innerIndexPtr()[k];
        read_state(row, source);
        if (row <= last || std::uint64_t(row) >= inner)
          detail::refuse_value("the bytes give a sparse matrix whose indices do not ascend, or go beyond it",
                               std::uint64_t(row));
        last = row;
        read_state(x.valuePtr()[k], source);
      }
    });
    unless_whole.x = nullptr;
  }

 private:
  template <class Source>
  [[nodiscard]] static std::uint64_t number(Source& source) {
    std::uint64_t value = 0;
    read_state(value, source);
    return value;
  }
  /// Calls f(place of the first value, number of values) for each column, or row of a matrix by rows.
  template <class State, class Fn>
  static void each_column(State& x, Fn f) {
    if constexpr (Sparse::IsVectorAtCompileTime) f(index{0}, index(x.nonZeros()));
    else
      for (Eigen::Index column = 0; column < x.outerSize(); ++column) {
        index const from = x.outerIndexPtr()[column], end = x.outerIndexPtr()[column + 1];
        f(from, x.innerNonZeroPtr() != nullptr ? x.innerNonZeroPtr()[column] : index(end - from));
      }
  }
};

}  // namespace cairn
