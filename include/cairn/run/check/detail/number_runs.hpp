// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file number_runs.hpp  The floating-point numbers of a value, without the type of the value: what the checks compute
/// from them is compiled once, not for each state, step and adjoint.
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>

namespace cairn::detail {

/// Refers to a function, which must outlive it. Code that takes a call_ref is compiled once for all functions.
template <class Signature>
class call_ref;
template <class Result, class... Args>
class call_ref<Result(Args...)> {
 public:
  template <class Fn>
    requires(!std::is_same_v<std::remove_cvref_t<Fn>, call_ref>)
  call_ref(Fn&& f) noexcept
      : function_{const_cast<void*>(static_cast<void const*>(&f))}, call_{[](void* function, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Fn>*>(function))(std::forward<Args>(args)...);
        }} {}
  Result operator()(Args... args) const { return call_(function_, std::forward<Args>(args)...); }

 private:
  void* function_;
  Result (*call_)(void*, Args...);
};

[[nodiscard]] constexpr double magnitude(double x) noexcept { return x < 0 ? -x : x; }
/// Numbers of a class are seen as double.
template <class T> using number_limits = std::numeric_limits<std::conditional_t<std::is_class_v<T>, double, T>>;
/// The absolute error that arithmetic may have besides its relative error, however small the result is. A subnormal
/// number has no bits below the smallest one; a processor set to flush to zero, as by -ffast-math, replaces results
/// below the smallest normal number by 0.
template <class T>
[[nodiscard]] double underflow_of() noexcept {
  using narrow = std::conditional_t<(number_limits<T>::digits < std::numeric_limits<double>::digits), T,
                                    double>;  // wider numbers are read as doubles
  narrow const volatile least = (std::numeric_limits<narrow>::min)();
  narrow const volatile half = least / 2;
  return double(half == 0 ? (std::numeric_limits<narrow>::min)() : std::numeric_limits<narrow>::denorm_min());
}

/// What is known of one type of numbers, and how they are read and written.
struct number_kind {
  std::size_t size, value_size;  // in memory; of the bytes that hold the value
  int digits;                    // binary ones, at most those of double
  int max_exponent;
  double most;  // the largest number, at most that of double
  double (*underflow)() noexcept;
  double (*read)(void const*);
  double (*write)(void*, double);  // returns what is there afterwards
};
template <class T>
inline constexpr number_kind number_kind_of{
    sizeof(T),
    std::is_class_v<T> ? 0 : value_bytes<T>(),  // bytes of a library's number need not be its value
    number_limits<T>::digits < std::numeric_limits<double>::digits ? number_limits<T>::digits
                                                                         : std::numeric_limits<double>::digits,
    number_limits<T>::max_exponent,
    number_limits<T>::max_exponent < std::numeric_limits<double>::max_exponent
        ? double((number_limits<T>::max)())
        : (std::numeric_limits<double>::max)(),
    &underflow_of<T>,
    [](void const* at) { return double(*static_cast<T const*>(at)); },
    [](void* at, double to) { return double(*static_cast<T*>(at) = T(to)); }};

/// Consecutive numbers of one type.
struct number_run {
  unsigned char* first;  // written to only if the value is not const
  std::size_t count;
  number_kind const* kind;

  [[nodiscard]] unsigned char* at(std::size_t k) const noexcept { return first + k * kind->size; }
  [[nodiscard]] double operator[](std::size_t k) const { return kind->read(at(k)); }
};
using run_visitor = call_ref<void(number_run const&)>;
/// Numbers that can be visited, run by run: of a whole value, or of a part of it.
using numbers_view = call_ref<void(run_visitor)>;

/// Visits the numbers of x that `which` chooses.
template <class State, class Which>
void visit_runs(State& x, Which const& which, run_visitor f) {
  which(x, [f](auto* run, std::size_t count) {
    using T = std::remove_cvref_t<decltype(*run)>;
    f({reinterpret_cast<unsigned char*>(const_cast<T*>(run)), count, &number_kind_of<T>});
  });
}

}  // namespace cairn::detail
