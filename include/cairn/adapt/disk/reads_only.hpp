// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reads_only.hpp  What functions read, named by the user: then runs on disk know it.
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/contents.hpp>

namespace cairn {

/// The word of a function's author that it changes nothing outside of its arguments, and reads nothing that may differ
/// from process to process but the values that are named here: `reads_only(f, observations, dt)` in the place of f.
/// A run on disk is known by the values, as they are when the verb is called. Lvalues are kept by reference, and must
/// outlive the object.
/// \tparam Named  references, and values of rvalues
template <class Fn, class... Named>
class reads_only : public Fn {
  static constexpr bool seen = (detail::seen_whole<std::remove_cvref_t<Named>>() && ...);
  static_assert(seen,
                "cairn: a value that reads_only names must be known by its bytes: numbers, containers of them, classes "
                "without pointers, or with members write_state(sink) const and read_state(source)");

 public:
  /// \param f  a function object, which is copied   \param named  all that it reads and that may differ
  template <class... Values>
  explicit constexpr reads_only(Fn f, Values&&... named) : Fn{std::move(f)}, named_{std::forward<Values>(named)...} {}
  /// Calls look with the values.
  template <class Look>
  void each_function(Look const& look) const {
    std::apply([&look](auto const&... one) { (look(one), ...); }, named_);
  }
  /// The function that was given.
  [[nodiscard]] Fn const& function() const noexcept { return *this; }

 private:
  [[no_unique_address]] std::tuple<Named...> named_;
};
/// Lvalues are kept by reference.
template <class Fn, class... Values> reads_only(Fn, Values&&...) -> reads_only<Fn, Values...>;

/// A text for `disk_options::key` that is another one if one of the values is: `{.key = cairn::key_of(observations, dt,
/// shot)}`.
/// \param values  known by their bytes, as for `reads_only`
template <class... T>
[[nodiscard]] std::string key_of(T const&... values) {
  constexpr bool seen = (detail::seen_whole<T>() && ...);
  static_assert(seen,
                "cairn: a value of a key must be known by its bytes: numbers, containers of them, classes without "
                "pointers, or with members write_state(sink) const and read_state(source)");
  detail::id_sum sum;
  if constexpr (seen) (detail::contents<detail::id_sum>{sum}.add(values), ...);
  return detail::name_of(sum.value());
}

}  // namespace cairn
