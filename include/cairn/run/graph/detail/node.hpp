// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file node.hpp  The user's operations and views as objects with virtual functions.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/rules/detail/stage_boxes.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/graph/adjoint.hpp>

namespace cairn::detail {

/// A value as an operation reads it: a kept one, or a view made for this call.
struct graph_operand {
  stage_view seen;
  stage_value made;
};

/// Bytes of a value of type T; sizeof(T) if they are unknown.
template <class T>
[[nodiscard]] std::int64_t bytes_within(stage_value const& value) {
  if constexpr (sized_state<T>) return std::int64_t(bytes_of(value.get<T>()));
  else return std::int64_t(sizeof(T));
}

/// The bytes that an operation makes and keeps, before anything has run.
struct graph_sizes {
  std::int64_t value, tape, adjoint;
};

/// One operation.
struct graph_node {
  virtual ~graph_node() = default;
  /// Makes its value. \param tape  where its tape goes; null if none is kept   \param boxes  as in
  ///   `stage_value::made_by`
  [[nodiscard]] virtual stage_value run(graph_operand const* inputs, stage_value* tape, stage_boxes* boxes) = 0;
  /// Adds to the adjoints of its inputs, each in its place. \param inputs  an input that the adjoint does not read is
  ///   empty
  virtual void pull(graph_operand const* inputs, stage_view value, stage_value const& tape, stage_value const& bar,
                    stage_value* const* bars, stage_boxes* boxes) = 0;
  [[nodiscard]] virtual std::int64_t value_bytes(stage_value const& value) const = 0;
  [[nodiscard]] virtual std::int64_t tape_bytes(stage_value const& tape) const = 0;
  [[nodiscard]] virtual std::int64_t bar_bytes(stage_value const& bar) const = 0;
  [[nodiscard]] virtual graph_sizes least_sizes() const noexcept = 0;
};

template <class Fn, class Tape, class... In>
struct forward_of { using type = std::invoke_result<Fn&, In const&..., Tape*>; };
template <class Fn, class... In>
struct forward_of<Fn, void, In...> { using type = std::invoke_result<Fn&, In const&...>; };

template <class... Args>
struct argument_list {};
template <class... Args, class... BarOf>
argument_list<Args..., BarOf...> operator+(argument_list<Args...>, argument_list<BarOf...>);
template <bool Is, class... Args>
using arguments_if = std::conditional_t<Is, argument_list<Args...>, argument_list<>>;
template <class Fn, class List> inline constexpr bool takes_list = false;
template <class Fn, class... Args>
inline constexpr bool takes_list<Fn, argument_list<Args...>> = std::is_invocable_v<Fn&, Args...>;

/// Whether the last `count` parameters are references to non-const: what is added to a copy would be lost.
template <class List>
[[nodiscard]] consteval bool ends_in_references(std::type_identity<List>, std::size_t) { return true; }
template <class... Args>
[[nodiscard]] consteval bool ends_in_references(std::type_identity<arguments<Args...>>, std::size_t count) {
  bool all = true;
  std::size_t left = sizeof...(Args);
  ((all = all && (left-- > count ||
                  (std::is_lvalue_reference_v<Args> && !std::is_const_v<std::remove_reference_t<Args>>))), ...);
  return all;
}
/// The same for a function of the user's; true if it is generic or overloaded, because its parameters are then unknown.
template <class Fn, std::size_t Count>
inline constexpr bool adds_in_place = ends_in_references(parameters_of<Fn>(), Count);

/// Whether each input that an adjoint reads is one of `Count` inputs. \tparam Reads  as in `adjoint_reads`
template <class Reads, std::size_t Count>
inline constexpr bool inputs_are_there = Count >= 64 || Reads::inputs_read == decltype(Reads::inputs_read)(-1) ||
                                         (Reads::inputs_read >> (Count < 64 ? Count : 0)) == 0;
/// The inputs that an adjoint reads, as `operation_graph` describes them.
template <class Reads, std::size_t... Place>
[[nodiscard]] needed_inputs inputs_read(std::index_sequence<Place...>) {
  return needed_inputs(std::vector<bool>{Reads::reads_input(Place)...});
}
/// The arguments of an adjoint that are inputs.
template <class Reads, class... In, std::size_t... Place>
auto input_arguments(std::index_sequence<Place...>)
    -> decltype((argument_list<>{} + ... + arguments_if<Reads::reads_input(Place), In const&>{}));

/// Whether the adjoint of an operation can be called.
template <class Reads, class Adjoint, class Value, class Bar, class Ins, class Bars>
inline constexpr bool pulls_back = false;
template <class Reads, class Adjoint, class Value, class Bar, class... In, class... InBar>
requires(!std::is_void_v<Value>) inline constexpr bool
    pulls_back<Reads, Adjoint, Value, Bar, std::tuple<In...>, std::tuple<InBar...>> =
        takes_list<Adjoint, decltype(input_arguments<Reads, In...>(std::index_sequence_for<In...>{}) +
                                     arguments_if<Reads::reads_output, Value const&>{} +
                                     arguments_if<!std::is_void_v<typename Reads::tape_type>,
                                                  std::add_lvalue_reference_t<typename Reads::tape_type const>>{} +
                                     argument_list<Bar const&, graph_adjoint<InBar>&...>{})>&&
            adds_in_place<Adjoint, sizeof...(InBar)>;

/// \tparam Reads  as in `adjoint_reads`   \tparam Ins, Bars  tuples of the inputs' types and their adjoints'
template <class Reads, class Fn, class Adjoint, class Value, class Bar, class Ins, class Bars>
class graph_node_of;
template <class Reads, class Fn, class Adjoint, class Value, class Bar, class... In, class... InBar>
class graph_node_of<Reads, Fn, Adjoint, Value, Bar, std::tuple<In...>, std::tuple<InBar...>> final : public graph_node {
  using tape_type = typename Reads::tape_type;
  static constexpr bool is_taped = !std::is_void_v<tape_type>;
  using places = std::index_sequence_for<In...>;

 public:
  template <class GivenF, class GivenAdjoint>
  graph_node_of(GivenF&& forward, GivenAdjoint&& adjoint)
      : forward_(std::forward<GivenF>(forward)), adjoint_(std::forward<GivenAdjoint>(adjoint)) {}

  stage_value run(graph_operand const* inputs, [[maybe_unused]] stage_value* tape, stage_boxes* boxes) override {
    [[maybe_unused]] auto into = [&] {
      if constexpr (is_taped) {
        if (tape != nullptr) *tape = stage_value::made_by([] { return tape_type{}; }, boxes);
        return tape != nullptr ? &tape->get<tape_type>() : nullptr;
      } else return nullptr;
    }();
    auto const make = [&]() -> Value {
      return [&]<std::size_t... Place>(std::index_sequence<Place...>) -> Value {
        if constexpr (is_taped) return forward_(inputs[Place].seen.template get<In>()..., into);
        else return forward_(inputs[Place].seen.template get<In>()...);
      }(places{});
    };
    return stage_value::made_by(make, boxes);
  }
  void pull([[maybe_unused]] graph_operand const* inputs, [[maybe_unused]] stage_view value,
            [[maybe_unused]] stage_value const& tape, stage_value const& bar, stage_value* const* bars,
            [[maybe_unused]] stage_boxes* boxes) override {
    auto const read_inputs = [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      return std::tuple_cat(read<Place, In>(inputs)...);
    }(places{});
    auto const read_value = [&] {
      if constexpr (Reads::reads_output) return std::tuple<Value const&>{value.template get<Value>()};
      else return std::tuple<>{};
    }();
    auto const read_tape = [&] {
      if constexpr (is_taped) return std::tuple<tape_type const&>{tape.template get<tape_type>()};
      else return std::tuple<>{};
    }();
    [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      std::tuple<graph_adjoint<InBar>...> sums{adjoint_place{*bars[Place], boxes}...};
      std::apply(adjoint_, std::tuple_cat(read_inputs, read_value, read_tape, std::tuple<Bar const&>{bar.get<Bar>()},
                                          std::tuple<graph_adjoint<InBar>&...>{std::get<Place>(sums)...}));
    }(places{});
  }
  std::int64_t value_bytes(stage_value const& value) const override { return bytes_within<Value>(value); }
  std::int64_t tape_bytes(stage_value const& tape) const override {
    return bytes_within<std::conditional_t<is_taped, tape_type, std::byte>>(tape);  // asked with a tape only
  }
  std::int64_t bar_bytes(stage_value const& bar) const override { return bytes_within<Bar>(bar); }
  graph_sizes least_sizes() const noexcept override {
    graph_sizes sizes{std::int64_t(sizeof(Value)), 0, std::int64_t(sizeof(Bar))};
    if constexpr (is_taped) sizes.tape = std::int64_t(sizeof(tape_type));
    return sizes;
  }

 private:
  /// One input, if the adjoint reads it.
  template <std::size_t Place, class One>
  [[nodiscard]] static auto read([[maybe_unused]] graph_operand const* inputs) {
    if constexpr (Reads::reads_input(Place)) return std::tuple<One const&>{inputs[Place].seen.template get<One>()};
    else return std::tuple<>{};
  }

  Fn forward_;
  Adjoint adjoint_;
};

/// An object outside the graph that operations change or read.
struct graph_outside {
  virtual ~graph_outside() = default;
  [[nodiscard]] virtual stage_value save() const = 0;
  virtual void restore(stage_value const& copy) = 0;
  [[nodiscard]] virtual std::int64_t bytes(stage_value const& copy) const = 0;
};
template <class T>
class graph_outside_of final : public graph_outside {
 public:
  explicit graph_outside_of(T& object) noexcept : at_(object) {}
  stage_value save() const override {
    if constexpr (copied_state<T>) return stage_value::made_by([&]() -> T { return copy_of(at_); });
    else return stage_value::made_by([&]() -> kept { return taken_snapshot(at_); });
  }
  void restore(stage_value const& copy) override {
    if constexpr (copied_state<T>) copy_state(copy.get<T>(), at_);
    else restore_state(at_, copy.get<kept>());
  }
  std::int64_t bytes(stage_value const& copy) const override { return bytes_within<kept>(copy); }

 private:
  using kept = typename kept_of<T>::type;
  T& at_;
};

/// A view of a value: its readers read it in place of the value.
struct graph_view {
  virtual ~graph_view() = default;
  [[nodiscard]] virtual stage_value view(stage_view of, stage_boxes* boxes) = 0;
  /// Adds the adjoint of the view to that of the value.
  virtual void pull(stage_value const& bar, adjoint_place into) = 0;
  [[nodiscard]] virtual std::int64_t bar_bytes(stage_value const& bar) const = 0;
};
template <class View, class Pull, class Of, class OfBar, class Seen, class Bar>
class graph_view_of final : public graph_view {
 public:
  template <class GivenView, class GivenPull>
  graph_view_of(GivenView&& view, GivenPull&& pull)
      : view_(std::forward<GivenView>(view)), pull_(std::forward<GivenPull>(pull)) {}
  stage_value view(stage_view of, stage_boxes* boxes) override {
    return stage_value::made_by([&]() -> Seen { return view_(of.get<Of>()); }, boxes);
  }
  void pull(stage_value const& bar, adjoint_place into) override {
    graph_adjoint<OfBar> sum{into};
    pull_(bar.get<Bar>(), sum);
  }
  std::int64_t bar_bytes(stage_value const& bar) const override { return bytes_within<Bar>(bar); }

 private:
  View view_;
  Pull pull_;
};

}  // namespace cairn::detail
