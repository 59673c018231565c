// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file value.hpp  Handles of a graph's values, and the inputs and seeds of a run.
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/graph/adjoint.hpp>

namespace cairn {
namespace detail {

/// What a seed is made from: a copy of the caller's adjoint or callable if it is small, otherwise its address.
class seed_source {
 public:
  seed_source() = default;
  template <class Seed>
  explicit seed_source(Seed const& from) noexcept {
    if constexpr (is_copied<Seed>()) ::new (static_cast<void*>(bytes_)) Seed(from);
    else ::new (static_cast<void*>(bytes_)) Seed const*(address_of(from));
  }
  /// \pre made from a Seed   \returns a reference that is valid as long as this object and, if it is not small, the
  ///   caller's
  template <class Seed>
  [[nodiscard]] Seed const& get() const noexcept {
    if constexpr (is_copied<Seed>()) return *std::launder(reinterpret_cast<Seed const*>(bytes_));
    else return **std::launder(reinterpret_cast<Seed const* const*>(bytes_));
  }

 private:
  static constexpr std::size_t inline_bytes = 16;
  template <class Seed>
  [[nodiscard]] static consteval bool is_copied() noexcept {
    return std::is_trivially_copyable_v<Seed> && std::is_trivially_copy_constructible_v<Seed> &&
           !std::is_array_v<Seed> && sizeof(Seed) <= inline_bytes;
  }

  alignas(inline_bytes) std::byte bytes_[inline_bytes]{};
};

}  // namespace detail

class graph_builder;

/// An object outside a graph that operations change or read, such as a generator or a buffer. It is a number and is
/// copied freely. Made by `graph_builder::state`.
class graph_state {
  friend class graph_builder;
  explicit graph_state(std::int32_t number) noexcept : number_{number} {}
  std::int32_t number_;
};

/// An input of a graph and its value in a run. Refers to that value. Made by `graph_value::is`.
struct graph_binding {
  std::int32_t number;     ///< of the input
  detail::type_mark type;  ///< of the input
  stage_view value;        ///< the caller's value
};

/// An output of a graph and the adjoint with which a run begins there. Holds a small source and refers to a larger one.
/// Made by `graph_value::seed`.
struct graph_seed {
  std::int32_t number;       ///< of the output
  detail::type_mark type;    ///< of the output
  detail::seed_source from;  ///< the caller's adjoint, or the callable that makes it
  /// Adds the adjoint to the sum so far.
  void (*add)(detail::seed_source const& from, stage_view output, detail::adjoint_place into);
};

/// A value of type T in a graph that is being built: an input, the value of an operation, or a view. It is a number and
/// is copied freely.   \tparam Bar  the type of its adjoint
template <class T, class Bar = T>
class graph_value {
 public:
  using value_type = T;      ///< of the value
  using adjoint_type = Bar;  ///< of its adjoint

  /// For an input: its value is x. Valid as long as x.
  [[nodiscard]] graph_binding is(T const& x) const noexcept { return {number_, detail::mark_of<T>(), stage_view{x}}; }
  /// For an output: its adjoint is `bar`, or the result of bar(value), called once. A trivially copyable bar of at most
  /// 16 bytes, such as a number or a lambda without captures, is copied, and the seed may be kept in a variable. To any
  /// other bar the seed refers, and is valid as long as the bar. If the bar is a temporary, that is until the end of
  /// the expression in which it is made.
  template <class Seed>
  [[nodiscard]] graph_seed seed(Seed const& bar) const noexcept {
    constexpr bool makes = std::is_invocable_r_v<Bar, Seed const&, T const&> || std::is_convertible_v<Seed const&, Bar>;
    static_assert(makes,
                  "cairn: the seed of an output must be its adjoint, or a function of the output that returns it");
    if constexpr (!makes) return {};
    else return {number_, detail::mark_of<T>(), detail::seed_source{bar}, &add<Seed>};
  }
  /// Its number in the graph that is being built.
  [[nodiscard]] std::int32_t number() const noexcept { return number_; }

 private:
  friend class graph_builder;
  explicit graph_value(std::int32_t number) noexcept : number_{number} {}

  template <class Seed>
  static void add(detail::seed_source const& from, [[maybe_unused]] stage_view output, detail::adjoint_place into) {
    Seed const& bar = from.get<Seed>();
    auto const make = [&]() -> Bar {
      if constexpr (std::is_invocable_v<Seed const&, T const&>) return bar(output.get<T>());
      else if constexpr (std::is_same_v<Seed, Bar>) return detail::copy_of(bar);
      else return static_cast<Bar>(bar);
    };
    if (!into.value.has_value()) into.value = stage_value::made_by(make, into.boxes);
    else if constexpr (detail::can_add<Bar>) detail::add_to(into.value.get<Bar>(), make());
    else
      throw invalid_call{"cairn::graph_gradient",
                         "two seeds are given for one output, whose adjoints cannot be added",
                         {},
                         "give one, or an operator+="};
  }

  std::int32_t number_;
};

}  // namespace cairn
