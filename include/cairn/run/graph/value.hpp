// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file value.hpp  Handles of a graph's values, and the inputs and seeds of a run.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/stage_value.hpp>
#include <cairn/run/graph/adjoint.hpp>

namespace cairn {

class graph_builder;

/// An input of a graph and its value in a run. Refers to that value. Made by `graph_value::is`.
struct graph_binding {
  std::int32_t number;     ///< of the input
  detail::type_mark type;  ///< of the input
  stage_view value;        ///< the caller's value
};

/// An output of a graph and the adjoint with which a run begins there. Refers to its source. Made by
/// `graph_value::seed`.
struct graph_seed {
  std::int32_t number;       ///< of the output
  detail::type_mark type;    ///< of the output
  void const* of;            ///< the caller's adjoint, or the callable that makes it
  void (*add)(void const* of, stage_view output, detail::adjoint_place into);  ///< adds the adjoint to the sum so far
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
  /// For an output: its adjoint is `bar`, or the result of bar(value), called once. Valid as long as bar.
  template <class Seed>
  [[nodiscard]] graph_seed seed(Seed const& bar) const noexcept {
    constexpr bool makes = std::is_invocable_r_v<Bar, Seed const&, T const&> || std::is_convertible_v<Seed const&, Bar>;
    static_assert(makes,
                  "cairn: the seed of an output must be its adjoint, or a function of the output that returns it");
    if constexpr (!makes) return {};
    else return {number_, detail::mark_of<T>(), detail::address_of(bar), &add<Seed>};
  }
  /// Its number in the graph that is being built.
  [[nodiscard]] std::int32_t number() const noexcept { return number_; }

 private:
  friend class graph_builder;
  explicit graph_value(std::int32_t number) noexcept : number_{number} {}

  template <class Seed>
  static void add(void const* of, [[maybe_unused]] stage_view output, detail::adjoint_place into) {
    Seed const& bar = *static_cast<Seed const*>(of);
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
