// SPDX-License-Identifier: Apache-2.0
// Loops whose steps run backwards, for tests: one whose inverse is exact, one of a wave, one of a pendulum.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/run/with/reversible.hpp>

namespace reversible_loops {

using cairn::step_index;

/// A step that mixes integers, which an inverse restores exactly, and numbers, of which it keeps the bits that a sum
/// loses.
struct mixed {
  std::uint64_t a = 1, b = 2;
  double y = 0.3, z = -0.2;
  friend bool operator==(mixed const&, mixed const&) = default;
};
inline long steps = 0, backs = 0, kept = 0;

[[gnu::noinline]] inline double push(mixed const& x, double p, step_index i) {
  return 0.1 * std::sin(p * x.z + double(x.a % 7) + 0.01 * double(i));
}
inline void mixed_step(mixed& x, double const& p, step_index i) {
  ++steps;
  x.y += push(x, p, i);
  std::swap(x.y, x.z);
  x.b = x.b * 2862933555777941757u + x.a + std::uint64_t(i);
  x.a ^= x.b >> 7;
}
/// y, because a sum cannot be taken back to the bit, and b, of which a product by an odd number could be.
struct lost {
  double y;
};
inline lost mixed_keep(mixed const& x, double const&, step_index) { return ++kept, lost{x.y}; }
inline void mixed_back(mixed& x, lost const& from, double const&, step_index i) {
  ++backs;
  x.a ^= x.b >> 7;
  std::uint64_t inverse = 1;  // of the odd factor, by Newton's rule
  for (int k = 0; k < 6; ++k) inverse *= 2 - 2862933555777941757u * inverse;
  x.b = (x.b - x.a - std::uint64_t(i)) * inverse;
  std::swap(x.y, x.z);
  x.y = from.y;
}
inline void mixed_adjoint(mixed const& x, mixed& bar, double const& p, double& dp, step_index i) {
  std::swap(bar.y, bar.z);
  double const slope = 0.1 * std::cos(p * x.z + double(x.a % 7) + 0.01 * double(i)) * bar.y;
  bar.z += slope * p;
  dp += slope * x.z;
}
inline auto mixed_model(cairn::reversible_options const& options = {}) {
  return cairn::model{cairn::reversible{&mixed_step, &mixed_keep, &mixed_back, options}, &mixed_adjoint};
}
inline auto mixed_plain() { return cairn::model{&mixed_step, &mixed_adjoint}; }

/// Terms of such a loop.
inline auto const value = [](mixed const& x, double const& p) { return x.y * x.y + p * x.z; };
inline auto const slope = [](mixed const& x, mixed& bar, double const& p, double& dp) {
  bar.y += 2 * x.y, bar.z += p, dp += x.z;
};
struct nothing_counted {
  nothing_counted() { steps = backs = kept = 0; }
};
template <class A, class B>
bool same_bits(A const& a, B const& b) {
  return a.value == b.value && a.state.y == b.state.y && a.state.z == b.state.z && a.params == b.params;
}

/// A wave on a line with layers at both ends that damp it; the inverse needs what these have lost.
struct wave {
  std::vector<double> before, now;
};
struct wave_line {
  std::size_t cells = 200, rim = 12;
  std::vector<double> damping;
  explicit wave_line(std::size_t count = 200, std::size_t damped = 12) : cells{count}, rim{damped}, damping(count, 1.0) {
    for (std::size_t k = 0; k < rim; ++k) {
      double const depth = 0.6 * double(rim - k) / double(rim);
      damping[k] = damping[count - 1 - k] = std::exp(-depth * depth);
    }
  }
  [[nodiscard]] static double source(step_index i) {
    double const t = 0.1 * (double(i) - 30);
    return std::exp(-t * t) * (1 - 2 * t * t);
  }
  [[nodiscard]] wave silence() const { return {std::vector<double>(cells), std::vector<double>(cells)}; }
  [[nodiscard]] double curve(std::vector<double> const& u, std::size_t k) const { return u[k - 1] - 2 * u[k] + u[k + 1]; }
  /// \param m  the square of the Courant number of each cell
  void step(wave& x, std::vector<double> const& m, step_index i) const {
    for (std::size_t k = 1; k + 1 < cells; ++k)
      x.before[k] = damping[k] * (2 * x.now[k] + m[k] * curve(x.now, k) - damping[k] * x.before[k]);
    x.before[cells / 3] += source(i);
    x.before.swap(x.now);
  }
  /// The older pressure where it is damped.
  [[nodiscard]] std::vector<double> keep(wave const& x) const {
    std::vector<double> strip;
    strip.reserve(2 * rim);
    for (std::size_t k = 0; k < rim; ++k) strip.push_back(x.before[k]), strip.push_back(x.before[cells - 1 - k]);
    return strip;
  }
  void back(wave& x, std::vector<double> const& strip, std::vector<double> const& m, step_index i) const {
    x.before.swap(x.now);
    x.before[cells / 3] -= source(i);
    for (std::size_t k = rim; k + rim < cells; ++k) x.before[k] = 2 * x.now[k] + m[k] * curve(x.now, k) - x.before[k];
    for (std::size_t k = 0; k < rim; ++k) x.before[k] = strip[2 * k], x.before[cells - 1 - k] = strip[2 * k + 1];
  }
  /// The same without a strip: divides by the damping, and makes rounding grow.
  void back_without(wave& x, std::vector<double> const& m, step_index i) const {
    x.before.swap(x.now);
    x.before[cells / 3] -= source(i);
    for (std::size_t k = 1; k + 1 < cells; ++k)
      x.before[k] = (2 * x.now[k] + m[k] * curve(x.now, k) - x.before[k] / damping[k]) / damping[k];
  }
  void adjoint(wave const& x, wave& bar, std::vector<double> const& m, std::vector<double>& dm, step_index) const {
    bar.before.swap(bar.now);  // now: of x.now, before: of the new pressure
    for (std::size_t k = 1; k + 1 < cells; ++k) {
      double const q = damping[k] * bar.before[k];
      dm[k] += q * curve(x.now, k);
      bar.now[k] += 2 * q - 2 * m[k] * q;
      bar.now[k - 1] += m[k] * q, bar.now[k + 1] += m[k] * q;
      bar.before[k] = -damping[k] * q;
    }
  }
};

}  // namespace reversible_loops
