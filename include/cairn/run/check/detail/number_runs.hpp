// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file number_runs.hpp  The floating-point numbers of a value, without the type of the value: what the checks compute
/// from them is compiled once, not for each state, step and adjoint.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/buffers.hpp>

namespace cairn::detail {

[[nodiscard]] constexpr double magnitude(double x) noexcept { return x < 0 ? -x : x; }
[[nodiscard]] constexpr bool finite(double x) noexcept { return x - x == 0; }
[[nodiscard]] constexpr double power_of_two(int exponent) noexcept {
  double x = 1;
  for (; exponent < 0; ++exponent) x /= 2;
  for (; exponent > 0; --exponent) x *= 2;
  return x;
}
/// The exponent of the largest power of two that is at most x. \pre 0 < x and finite
[[nodiscard]] constexpr int exponent_of(double x) noexcept {
  int exponent = 0;
  for (int bit = 512; bit > 0; bit /= 2) {
    for (; x >= power_of_two(bit); exponent += bit) x *= power_of_two(-bit);
    for (; x < power_of_two(1 - bit); exponent -= bit) x *= power_of_two(bit);
  }
  return exponent;
}

/// Refers to a function, which must outlive it. Code that takes a call_ref is compiled once for all functions.
template <class Signature>
class call_ref;
template <class R, class... A>
class call_ref<R(A...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, call_ref>)
  call_ref(F&& f) noexcept
      : function_{const_cast<void*>(static_cast<void const*>(&f))}, call_{[](void* function, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(function))(std::forward<A>(args)...);
        }} {}
  R operator()(A... args) const { return call_(function_, std::forward<A>(args)...); }

 private:
  void* function_;
  R (*call_)(void*, A...);
};

/// The absolute error that arithmetic may have besides its relative error, however small the result is. A subnormal
/// number has no bits below the smallest one; a processor set to flush to zero, as by -ffast-math, replaces results
/// below the smallest normal number by 0.
template <class T>
[[nodiscard]] double underflow_of() noexcept {
  using narrow = std::conditional_t<(std::numeric_limits<T>::digits < std::numeric_limits<double>::digits), T,
                                    double>;  // wider numbers are read as doubles
  narrow const volatile least = (std::numeric_limits<narrow>::min)();
  narrow const volatile half = least / 2;
  return double(half > 0 ? std::numeric_limits<narrow>::denorm_min() : (std::numeric_limits<narrow>::min)());
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
    value_bytes<T>(),
    std::numeric_limits<T>::digits < std::numeric_limits<double>::digits ? std::numeric_limits<T>::digits
                                                                         : std::numeric_limits<double>::digits,
    std::numeric_limits<T>::max_exponent,
    std::numeric_limits<T>::max_exponent < std::numeric_limits<double>::max_exponent
        ? double((std::numeric_limits<T>::max)())
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
template <class X, class Which>
void visit_runs(X& x, Which const& which, run_visitor f) {
  which(x, [f](auto* run, std::size_t count) {
    using T = std::remove_cvref_t<decltype(*run)>;
    f({reinterpret_cast<unsigned char*>(const_cast<T*>(run)), count, &number_kind_of<T>});
  });
}

[[nodiscard]] inline std::size_t count_of(numbers_view x) {
  std::size_t sum = 0;
  x([&](number_run const& run) { sum += run.count; });
  return sum;
}
[[nodiscard]] inline std::vector<double> numbers_of(numbers_view x) {
  std::vector<double> all;
  x([&](number_run const& run) {
    for (std::size_t k = 0; k < run.count; ++k) all.push_back(run[k]);
  });
  return all;
}
/// Sets the first values.size() numbers of x to `values`, rounded to the numbers' type and clamped to its range; writes
/// the results back to `values`.
inline void set_numbers(numbers_view x, std::vector<double>& values) {
  std::size_t next = 0;
  x([&](number_run const& run) {
    double const most = run.kind->most;
    for (std::size_t k = 0; k < run.count && next < values.size(); ++k, ++next) {
      double const value = values[next] > most ? most : values[next] < -most ? -most : values[next];
      values[next] = run.kind->write(run.at(k), value);
    }
  });
}
/// The magnitude by which each number may be varied: the geometric mean, in powers of two, of its own magnitude and the
/// largest of its run, because one run may hold quantities of several units. If the number is 0, the largest of its
/// run; if all of the run are 0, 1.
[[nodiscard]] inline std::vector<double> scales_of(numbers_view x) {
  std::vector<double> all;
  x([&](number_run const& run) {
    double most = 0;
    for (std::size_t k = 0; k < run.count; ++k) most = magnitude(run[k]) > most ? magnitude(run[k]) : most;
    int const top = most > 0 && finite(most) ? exponent_of(most) : 0;
    for (std::size_t k = 0; k < run.count; ++k) {
      double const size = magnitude(run[k]);
      all.push_back(power_of_two(size > 0 && finite(size) ? (exponent_of(size) + top) / 2 : top));
    }
  });
  return all;
}
/// `underflow_of` for the type of each number.
[[nodiscard]] inline std::vector<double> underflows_of(numbers_view x) {
  std::vector<double> all;
  x([&](number_run const& run) { all.resize(all.size() + run.count, run.kind->underflow()); });
  return all;
}
/// Binary digits of the least precise number of x, at most those of double.
[[nodiscard]] inline int bits_of(numbers_view x) {
  int bits = std::numeric_limits<double>::digits;
  x([&](number_run const& run) { bits = run.kind->digits < bits ? run.kind->digits : bits; });
  return bits;
}

/// The address and size of a number, to identify it and to compare its bits.
struct number_at {
  void const* at;
  std::size_t bytes;
};
[[nodiscard]] inline std::vector<number_at> numbers_at(numbers_view x) {
  std::vector<number_at> all;
  x([&](number_run const& run) {
    for (std::size_t k = 0; k < run.count; ++k) all.push_back({run.at(k), run.kind->value_size});
  });
  return all;
}
/// The index of the first number in which two states differ in bits; -1 if there is none. If one state has more numbers
/// and the shared ones are equal, the number of shared ones.
[[nodiscard]] inline std::int64_t first_other_number(numbers_view a, numbers_view b) {
  auto const ours = numbers_at(a), theirs = numbers_at(b);
  std::size_t const shared = ours.size() < theirs.size() ? ours.size() : theirs.size();
  for (std::size_t k = 0; k < shared; ++k)
    if (std::memcmp(ours[k].at, theirs[k].at, ours[k].bytes) != 0) return std::int64_t(k);
  return ours.size() == theirs.size() ? -1 : std::int64_t(shared);
}
/// The positions of chosen numbers among all numbers of a value.
[[nodiscard]] inline std::vector<std::int64_t> places_of(numbers_view chosen_ones, numbers_view all) {
  auto const chosen = numbers_at(chosen_ones), those = numbers_at(all);
  std::vector<std::int64_t> places;
  for (std::size_t k = 0; k < those.size() && places.size() < chosen.size(); ++k)
    if (those[k].at == chosen[places.size()].at) places.push_back(std::int64_t(k));
  return places;
}

[[nodiscard]] inline double sum_of_terms(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < b.size(); ++k) sum += magnitude(a[k] * b[k]);
  return sum;
}
[[nodiscard]] inline double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < b.size(); ++k) sum += a[k] * b[k];
  return sum;
}
/// from + h * direction
[[nodiscard]] inline std::vector<double> moved(std::vector<double> const& from, double h,
                                               std::vector<double> const& direction) {
  std::vector<double> to(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = from[k] + h * direction[k];
  return to;
}
[[nodiscard]] inline std::vector<double> less(std::vector<double> a, std::vector<double> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] -= b[k];
  return a;
}

}  // namespace cairn::detail
