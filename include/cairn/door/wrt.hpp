// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file wrt.hpp  The parameters of a loop, and the place for the gradient with respect to them.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {

/// The model has no parameters: it is called as `model(x, i)`.
struct no_params {};

/// "With respect to": parameters p of a loop, and dp, to which its adjoint adds. Both are referred to, not copied.
///
/// As one of the last arguments of a verb it gives step and adjoint p, and the adjoint dp, before the index: `step(x, p,
/// i)`, `adjoint(x, bar, p, dp, i)`. dp is set to zero when the adjoints of a sweep begin, and is complete when they
/// end. If dp has the type of p, it first becomes a copy of p, so that it has p's sizes; otherwise its sizes are the
/// caller's. p must not change before the last sweep of the loop ends: it is hashed at the beginning, at the seed and
/// at the end; in a kept run also by `at`, and where `backward` runs steps again. A p that was changed and changed back
/// in between is found by a replay check, where a state that is made again differs.
/// Cost: three hashes of p per sweep, and no allocation if dp has its size already.
/// \throws invalid_call   if p and dp are one object, or p has changed
/// \ingroup start
template <class Params, class DP>
struct wrt {
  Params const& p;  ///< the parameters
  DP& dp;      ///< the gradient with respect to them

  /// \param params, gradient  must outlive the sweeps
  constexpr wrt(Params const& params, DP& gradient) : p{params}, dp{gradient} {
    if constexpr (std::same_as<Params, DP>)
      if (__builtin_addressof(params) == __builtin_addressof(gradient))
        throw invalid_call{"cairn::wrt", "the parameters and their gradient are one object", {}, "give two objects"};
  }
  /// Refused: a temporary.
  template <class Temporary>
    requires std::is_same_v<std::remove_const_t<Temporary>, Params>
  constexpr wrt(Temporary&& params, DP& gradient) : p{params}, dp{gradient} {
    constexpr bool stays = std::is_void_v<Temporary>;
    static_assert(stays,
                  "cairn: the parameters of cairn::wrt would be gone before the sweep; give it a variable, which is "
                  "referred to");
  }
  /// Refused: the gradient needs a place.
  template <class Same>
    requires(std::is_same_v<Same, DP> && std::is_same_v<Params, DP>)
  constexpr explicit wrt(Same& params) : p{params}, dp{params} {
    constexpr bool placed = std::is_void_v<Same>;
    static_assert(placed,
                  "cairn: cairn::wrt{p, dp} needs the place of the gradient, too: a variable dp, which becomes a copy of "
                  "p with zeros if it has p's type");
  }
};
/// The types are those of the arguments.
template <class Params, class DP> wrt(Params const&, DP&) -> wrt<Params, DP>;
/// Refused: the gradient needs a place.
template <class Params> wrt(Params&) -> wrt<Params, Params>;

namespace detail {

/// Whether p stands for no parameters.
template <class Params> inline constexpr bool no_p = std::is_same_v<std::remove_const_t<Params>, no_params>;
inline constexpr no_params no_parameters{};
inline no_params no_gradient;
/// The verb was given no `wrt`.
struct no_wrt {};
template <class T> inline constexpr bool is_wrt_itself = false;
template <class Params, class DP> inline constexpr bool is_wrt_itself<wrt<Params, DP>> = true;
template <class T> inline constexpr bool is_wrt = is_wrt_itself<std::remove_cvref_t<T>>;

template <class Wrt> struct params_types { using p = double; using dp = double; };
/// p and dp of a `wrt`, or what stands for none.
template <class Params, class DP>
[[nodiscard]] constexpr wrt<Params, DP> const& params_of(wrt<Params, DP> const& by) noexcept { return by; }
struct nothing_given {
  no_params const& p;
  no_params& dp;
};
inline constexpr nothing_given by_nothing{no_parameters, no_gradient};
[[nodiscard]] constexpr nothing_given const& params_of(no_wrt const&) noexcept { return by_nothing; }
template <class Params, class DP> struct params_types<wrt<Params, DP>> { using p = Params; using dp = DP; };

/// Whether parameters and their gradient can be used: p can be hashed, dp holds numbers.
template <class Wrt>
consteval bool check_wrt() {
  using Params = typename params_types<Wrt>::p;
  using DP = typename params_types<Wrt>::dp;
  constexpr bool hashed = hashable<Params>, constant = std::is_const_v<DP>, listed = constant || numbered<DP>;
  constexpr bool numbers = [] {
    if constexpr (numbered<DP>) return may_hold_numbers<DP>();
    else return true;
  }();
  static_assert(hashed,
                "cairn: the parameters p of cairn::wrt{p, dp} are hashed, to detect that they change, but their bytes "
                "are not all known; give them a member visit_buffers(f) or specialise cairn::state_traits with "
                "visit_buffers(p, f)");
  static_assert(!constant, "cairn: the adjoint adds to the dp of cairn::wrt{p, dp}, so it must not be const");
  static_assert(
      listed,
      "cairn: the dp of cairn::wrt{p, dp} is set to zero, but its floating-point numbers cannot be found; give "
      "it a member visit_numbers(f) or specialise cairn::state_traits with visit_numbers(dp, f)");
  static_assert(numbers,
                "cairn: the dp of cairn::wrt{p, dp} holds no floating-point number, so no gradient can be added to it");
  return hashed && !constant && listed && numbers;
}

/// The floating-point numbers of dp become 0. If dp has the type of p, it first becomes a copy of p.
template <class Params, class DP>
void set_zero(Params const& p, DP& dp) {
  if constexpr (!no_p<Params>) {
    if constexpr (std::same_as<Params, DP> && copied_state<Params>) copy_state(p, dp);
    visit_numbers(dp, [](auto* at, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k) at[k] = 0;
    });
  }
}

/// Parameters whose bytes are compared during a loop.
template <class Params>
class watched_params {
 public:
  explicit watched_params(Params const& p) : p_{&p}, hash_{hash_of(p)} {}
  /// \throws invalid_call   if they have changed
  void check(char const* operation) const {
    if (hash_of(*p_) != hash_)
      throw invalid_call{operation,
                         "the parameters p of cairn::wrt have changed since the loop began",
                         {},
                         "keep p as it is until the last sweep of the loop has ended, or run the loop again"};
  }
  /// Runs f. If a state that f makes again differs, p is looked at first: it would be the cause.
  template <class Fn>
  auto blamed(char const* operation, Fn f) const {
    try {
      return f();
    } catch (nondeterminism_error const&) {
      check(operation);
      throw;
    }
  }
  /// The same, and p is looked at when f has ended, too.
  template <class Fn>
  auto during(char const* operation, Fn f) const {
    auto result = blamed(operation, f);
    check(operation);
    return result;
  }
  [[nodiscard]] Params const& params() const noexcept { return *p_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  Params const* p_;
  std::uint64_t hash_;
};

/// No parameters cannot change.
template <>
class watched_params<no_params> {
 public:
  constexpr explicit watched_params(no_params const&) noexcept {}
  constexpr void check(char const*) const noexcept {}
  [[nodiscard]] constexpr std::uint64_t hash() const noexcept { return 0; }
};

/// The same parameters with another place for their gradient.
template <class Wrt, class DP> struct with_gradient;
template <class Params, class Old, class DP>
struct with_gradient<wrt<Params, Old>, DP> {
  using type = wrt<Params, DP>;
};
template <class Wrt, class DP> using other_gradient = typename with_gradient<Wrt, DP>::type;

/// A `wrt` as a run keeps it.
template <class Wrt>
struct kept_wrt {
  explicit constexpr kept_wrt(Wrt const&) noexcept {}
  static constexpr void check(char const*) noexcept {}
  template <class Fn>
  static auto blamed(char const*, Fn f) {
    return f();
  }
  [[nodiscard]] static constexpr std::uint64_t hash() noexcept { return 0; }
};
template <class Params, class DP>
class kept_wrt<wrt<Params, DP>> : public watched_params<Params> {
 public:
  explicit kept_wrt(wrt<Params, DP> const& by) : watched_params<Params>{by.p}, dp_{&by.dp} {}
  [[nodiscard]] DP& gradient() const noexcept { return *dp_; }

 private:
  DP* dp_;
};

}  // namespace detail
}  // namespace cairn
