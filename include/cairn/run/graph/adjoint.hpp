// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adjoint.hpp  The adjoint of a value of a graph, to which the adjoints of all its readers add.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/door/stage_value.hpp>

namespace cairn {
namespace detail {

template <class T>
concept adds_itself = requires(T& sum, T const& more) { sum += more; };
template <class T>
concept adds_elements = requires(T& sum, T const& more) {
  more.size();
  sum.data()[0] += more.data()[0];
};
/// Whether an adjoint can be added to another one.
template <class T>
inline constexpr bool can_add = adds_itself<T> || adds_elements<T>;

template <class T>
void add_to(T& sum, T const& more) {
  if constexpr (adds_itself<T>) sum += more;
  else {
    std::size_t const size = std::size_t(more.size());
    if (std::size_t(sum.size()) != size)
      throw invalid_call{"cairn::graph_adjoint",
                         "two contributions to one adjoint have different sizes",
                         {{"size", sum.size()}, {"size added", size}},
                         "give each as many numbers as the value has"};
    for (std::size_t k = 0; k < size; ++k) sum.data()[k] += more.data()[k];
  }
}

/// Where an adjoint is, or will be.
struct adjoint_place {
  stage_value& value;
  stage_boxes* boxes;  ///< as in `stage_value::made_by`
};

}  // namespace detail

/// The sum of the contributions of all readers of a value to its adjoint, as the adjoints of operations receive it. It
/// is empty, and takes no memory, until the first contribution. In every plan the readers contribute from the last one
/// to the first, so sums have the same bits for all plans.
template <class T>
class graph_adjoint {
 public:
  /// Made by executors; refers to `place`.
  explicit graph_adjoint(stage_value& place) noexcept : graph_adjoint{detail::adjoint_place{place, nullptr}} {}
  /// The same, with the boxes that the executor keeps.
  explicit graph_adjoint(detail::adjoint_place place) noexcept : place_{place} {}
  graph_adjoint(graph_adjoint const&) = delete;

  /// Whether there is a contribution.
  [[nodiscard]] bool has_value() const noexcept { return place_.value.has_value(); }
  /// The sum so far. If it is empty, it is first made as T(how...), which has to be zero.
  template <class... How>
  T& or_make(How const&... how) {
    if (!has_value()) make([&]() -> T { return T(how...); });
    return place_.value.template get<T>();
  }
  /// Adds a contribution; the first one becomes the sum. Adds by `+=` of T, or element by element for types with data()
  /// and size().
  /// \throws invalid_call   if the contribution has another number of elements than the sum
  void operator+=(T more) {
    static_assert(detail::can_add<T>,
                  "cairn: adjoints of this type cannot be added; give it an operator+=, or use or_make(...)");
    if (!has_value()) make([&]() -> T { return std::move(more); });
    else if constexpr (detail::can_add<T>) detail::add_to(place_.value.template get<T>(), more);
  }
  /// The sum, which begins as T{}. For parameters `T&` of types whose T{} is zero: numbers, and structures and arrays
  /// of them.
  operator T&()
    requires(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>)
  {
    if (!has_value()) make([] { return T{}; });
    return place_.value.template get<T>();
  }

 private:
  template <class Make>
  void make(Make how) { place_.value = stage_value::made_by(how, place_.boxes); }

  detail::adjoint_place place_;
};

}  // namespace cairn
