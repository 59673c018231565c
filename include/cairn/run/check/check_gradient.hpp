#pragma once
/// \file check_gradient.hpp  The Taylor test of a gradient, however it was computed.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/run/check/differentiated.hpp>
#include <cairn/run/check/report.hpp>

namespace cairn {
namespace detail {

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
/// \pre 0 < x and finite
[[nodiscard]] constexpr double log2_of(double x) noexcept {
  int const exponent = exponent_of(x);
  double whole = exponent, bit = 1;
  x *= power_of_two(-exponent);
  for (int k = 0; k < 30; ++k) {
    x *= x;
    bit /= 2;
    if (x >= 2) whole += bit, x /= 2;
  }
  return whole;
}

/// Random numbers for directions, the same on every machine (Steele, Lea & Flood 2014: SplitMix).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept : at_{seed} {}
  /// A number of magnitude 1/2 to 1, of either sign, so that no component of a direction is nearly lost.
  [[nodiscard]] double next() noexcept {
    std::uint64_t z = at_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    double const size = 0.5 + double(z >> 12) * power_of_two(-53);
    return (z & 1) != 0 ? size : -size;
  }

 private:
  std::uint64_t at_;
};

template <class X, class Which = every_number>
[[nodiscard]] std::vector<double> numbers_of(X const& x, Which const& which = {}) {
  std::vector<double> all;
  which(x, [&](auto const* run, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) all.push_back(double(run[k]));
  });
  return all;
}
/// Sets the first values.size() numbers of x to `values`, rounded to the numbers' type and clamped to its range; writes
/// the results back to `values`.
template <class X, class Which = every_number>
void set_numbers(X& x, std::vector<double>& values, Which const& which = {}) {
  std::size_t next = 0;
  which(x, [&](auto* run, std::size_t count) {
    using T = std::remove_cvref_t<decltype(*run)>;
    constexpr double most = std::numeric_limits<T>::max_exponent < std::numeric_limits<double>::max_exponent
                                ? double((std::numeric_limits<T>::max)())
                                : (std::numeric_limits<double>::max)();
    for (std::size_t k = 0; k < count && next < values.size(); ++k, ++next) {
      double const value = values[next] > most ? most : values[next] < -most ? -most : values[next];
      values[next] = double(run[k] = T(value));
    }
  });
}
/// The magnitude by which each number may be varied: the geometric mean, in powers of two, of its own magnitude and the
/// largest of its run, because one run may hold quantities of several units. If the number is 0, the largest of its
/// run; if all of the run are 0, 1.
template <class X, class Which = every_number>
[[nodiscard]] std::vector<double> scales_of(X const& x, Which const& which = {}) {
  std::vector<double> all;
  which(x, [&](auto const* run, std::size_t count) {
    double most = 0;
    for (std::size_t k = 0; k < count; ++k) most = magnitude(double(run[k])) > most ? magnitude(double(run[k])) : most;
    int const top = most > 0 && finite(most) ? exponent_of(most) : 0;
    for (std::size_t k = 0; k < count; ++k) {
      double const size = magnitude(double(run[k]));
      all.push_back(power_of_two(size > 0 && finite(size) ? (exponent_of(size) + top) / 2 : top));
    }
  });
  return all;
}
/// The absolute error that arithmetic may have beside its relative error, however small the result is. A subnormal
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
/// `underflow_of` the type of each number.
template <class X, class Which = every_number>
[[nodiscard]] std::vector<double> underflows_of(X const& x, Which const& which = {}) {
  std::vector<double> all;
  which(x, [&](auto const* run, std::size_t count) {
    all.resize(all.size() + count, underflow_of<std::remove_cvref_t<decltype(*run)>>());
  });
  return all;
}
/// Binary digits of the least precise number of x.
template <class X, class Which = every_number>
[[nodiscard]] int bits_of(X const& x, Which const& which = {}) {
  int bits = std::numeric_limits<double>::digits;
  which(x, [&](auto const* run, std::size_t) {
    constexpr int digits = std::numeric_limits<std::remove_cvref_t<decltype(*run)>>::digits;
    bits = digits < bits ? digits : bits;
  });
  return bits;
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
[[nodiscard]] inline std::vector<double> random_direction(random_numbers& random, std::vector<double> scales) {
  for (double& s : scales) s *= random.next();
  return scales;
}

/// Divides the distance by four each time and follows the remainder |J(x + h v) - J(x) - h <g, v>| until rounding
/// dominates; the shorter half of the distances shows how large rounding is.
/// Errors of the gradient below the square root of the machine precision are ignored, because in rounding there are
/// slopes of every kind.
/// \param remainder  the remainder at a distance h   \param rounding  the least rounding to expect of the terms of J
/// \param rate  errors of <g, v> up to this are ignored
template <class Remainder>
void taylor_test(adjoint_report& report, int bits, double rounding, double rate, Remainder&& remainder) {
  std::vector<double> at;
  for (int level = bits / 6; level < bits; level += 2) {
    at.push_back(remainder(power_of_two(-level)));
    if (!finite(at.back())) return void(report.fault = adjoint_fault::not_finite);
  }
  double noise = rounding;
  for (std::size_t k = at.size() / 2; k < at.size(); ++k) noise = at[k] > noise ? at[k] : noise;
  double per_distance = 0;
  for (;;) {
    std::size_t clear = 0;  // number of remainders that are clear of rounding
    while (clear < at.size() && at[clear] > 32 * noise) ++clear;
    if (clear < 2) return void(report.linear = true);
    report.slope = log2_of(at[clear - 2] / at[clear - 1]) / 2;
    if (clear > 2) {  // a remainder dips where it changes its sign
      double const wider = log2_of(at[clear - 3] / at[clear - 1]) / 4;
      report.slope = wider > report.slope ? wider : report.slope;
    }
    per_distance = at[clear - 1] * power_of_two(bits / 6 + 2 * int(clear - 1));
    if (report.slope > 0.5) break;
    noise = at[clear - 1];  // the remainder of any gradient falls, right or wrong, so this is noise
    report.slope = 0;
  }
  if (report.slope >= 1.5) return;
  if (per_distance > rate) report.fault = adjoint_fault::wrong_gradient;
  else report.linear = true, report.slope = 0;
}

}  // namespace detail

/// Checks whether `gradient` is the derivative of `objective` at p: the Taylor remainder along a random direction must
/// fall with the square of the distance. For gradients with respect to anything: parameters, controls, the initial
/// state.
/// \param objective  `objective(p)` returns a floating-point number; called about 20 times for doubles and 9 for floats
/// \param p  the point   \param gradient  as many floating-point numbers as p has, in the same order
/// \throws invalid_call   if p has no floating-point numbers, or gradient has not as many; and what objective throws
/// \ingroup start
template <class Objective, class P, class G>
[[nodiscard]] adjoint_report check_gradient(Objective&& objective, P const& p, G const& gradient,
                                            std::uint64_t random_seed = 1) {
  adjoint_report report;
  auto const from = detail::numbers_of(p), slope = detail::numbers_of(gradient);
  if (from.empty() || slope.size() != from.size())
    throw invalid_call{"cairn::check_gradient",
                       "the gradient must have as many floating-point numbers as the point, and at least one",
                       {{"gradient", slope.size()}, {"point", from.size()}},
                       ""};
  detail::random_numbers random{random_seed};
  auto const direction = detail::random_direction(random, detail::scales_of(p));
  using value = std::remove_cvref_t<decltype(objective(p))>;
  static_assert(std::is_floating_point_v<value>, "cairn: the objective must give a floating-point number");
  double const start = double(detail::call_lending(objective, p));
  int bits = detail::bits_of(p) < detail::bits_of(gradient) ? detail::bits_of(p) : detail::bits_of(gradient);
  if (std::numeric_limits<value>::digits < bits) bits = std::numeric_limits<value>::digits;
  double const rounding = detail::magnitude(start) * detail::power_of_two(1 - bits) + 2 * detail::underflow_of<value>();
  double const rate = detail::sum_of_terms(slope, direction) * detail::power_of_two(-bits / 2) +
                      2 * detail::sum_of_terms(detail::underflows_of(gradient), direction);
  detail::taylor_test(report, bits, rounding, rate, [&](double h) {
    P moved = detail::copy_of(p);
    auto to = detail::moved(from, h, direction);
    detail::set_numbers(moved, to);
    return detail::magnitude(double(detail::call_lending(objective, std::as_const(moved))) - start -
                             detail::dot(slope, detail::less(std::move(to), from)));
  });
  report.put_in_words("cairn::check_gradient");
  return report;
}

}  // namespace cairn
