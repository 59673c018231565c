// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kokkos.hpp  Kokkos' views as states, parts of states and parameters. A view that the user copies still shares its
/// data; a copy that cairn makes has its own. Kokkos must be initialised for as long as such states live.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <Kokkos_Core.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

template <class View>
inline constexpr bool kokkos_on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;
/// A view as it was allocated: the elements that it shows fill its memory.
template <class View>
void check_whole(View const& x) {
  if (!x.span_is_contiguous())
    throw invalid_call{"cairn::state_traits<Kokkos::View>", "the view has gaps between its elements",
                       {{"elements", std::int64_t(x.size())}, {"span", std::int64_t(x.span())}},
                       "give a view that owns all of its memory, such as a copy by Kokkos::create_mirror"};
}

}  // namespace detail

/// Views of numbers in LayoutLeft or LayoutRight, of any rank and memory space. Bytes in memory that the host does not
/// reach are shown as device memory.
/// \throws invalid_call   for a view with gaps between its elements
template <class Data, class... Properties>
  requires(!Kokkos::View<Data, Properties...>::memory_traits::is_unmanaged &&
           !std::is_const_v<typename Kokkos::View<Data, Properties...>::value_type> &&
           std::is_trivially_copyable_v<typename Kokkos::View<Data, Properties...>::non_const_value_type>)
struct state_traits<Kokkos::View<Data, Properties...>> {
  using view = Kokkos::View<Data, Properties...>;                ///< the state
  using element = typename view::non_const_value_type;           ///< of its numbers
  static constexpr bool in_device_memory = !detail::kokkos_on_host<view>;  ///< where they lie
  static_assert(!std::is_same_v<typename view::array_layout, Kokkos::LayoutStride>,
                "cairn: a Kokkos::View of LayoutStride is a view of another one's memory; give the view that owns it");

  /// Into memory of its own, which is allocated if the shape differs.
  static void copy(view const& from, view& into) {
    detail::check_whole(from);
    shape_as(into, from.layout(), from.size());
    Kokkos::deep_copy(into, from);
  }
  /// The object, its elements, and what Kokkos adds to an allocation.
  [[nodiscard]] static std::size_t bytes(view const& x) {
    return sizeof(view) + (x.data() == nullptr ? 0 : x.span() * sizeof(element) + header_bytes);
  }
  /// One run.
  template <class State, class Fn>
    requires std::is_same_v<std::remove_const_t<State>, view>
  static void visit_buffers(State& x, Fn& f) {
    detail::check_whole(x);
    for (std::size_t k = 0; k < view::rank; ++k) detail::tell_structure(f, x.extent(k));
    using shown = std::conditional_t<std::is_const_v<State>, element const, element>;
    if constexpr (in_device_memory) f(detail::device_run<shown>{x.data()}, x.size() * sizeof(element));
    else detail::visit_run(static_cast<shown*>(x.data()), x.size() * sizeof(element), f);
  }
  /// The floating-point numbers of a view that the host reaches.
  template <class State, class Fn>
    requires(std::is_same_v<std::remove_const_t<State>, view> && !in_device_memory && numbered<element>)
  static void visit_numbers(State& x, Fn& f) {
    detail::check_whole(x);
    using shown = std::conditional_t<std::is_const_v<State>, element const, element>;
    if constexpr (detail::floating<element>) f(static_cast<shown*>(x.data()), x.size());
    else
      for (std::size_t k = 0; k < x.size(); ++k) detail::list_numbers(static_cast<shown*>(x.data())[k], f);
  }
  /// Extents and elements, for stores of bytes.
  template <class Sink>
    requires(!in_device_memory)
  static void write(view const& x, Sink& sink) {
    detail::check_whole(x);
    for (std::size_t k = 0; k < view::rank; ++k) write_state(std::uint64_t(x.extent(k)), sink);
    sink(static_cast<void const*>(x.data()), x.size() * sizeof(element));
  }
  /// The same into a view of any extents.
  template <class Source>
    requires(!in_device_memory)
  static void read(view& x, Source& source) {
    typename view::array_layout layout;
    std::uint64_t count = 1;
    for (std::size_t k = 0; k < view::rank; ++k) {
      std::uint64_t extent = 0;
      read_state(extent, source);
      std::uint64_t const most = source.left() / sizeof(element);
      if (extent > 0 && count > most / extent) detail::refuse_cut(extent, most);
      layout.dimension[k] = std::size_t(extent), count *= extent;
    }
    shape_as(x, layout, std::size_t(count));
    source(static_cast<void*>(x.data()), x.size() * sizeof(element));
  }

 private:
  static constexpr std::size_t header_bytes = 256;  // header, record and alignment of an allocation
  static void shape_as(view& x, typename view::array_layout const& layout, std::size_t count) {
    bool same = x.data() != nullptr || count == 0;
    for (std::size_t k = 0; k < view::rank; ++k) same = same && x.extent(k) == layout.dimension[k];
    if (!same) x = view{}, x = view(Kokkos::view_alloc(Kokkos::WithoutInitializing, "cairn"), layout);
  }
};

}  // namespace cairn
