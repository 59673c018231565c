// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool's tape of a whole loop costs, against the same gradient by `differentiate`: 10,000 steps of Burgers on
// 100 cells, each side a process of its own, user and system CPU and peak memory as the kernel counts them.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cairn/adapt/ad.hpp>
#include <cairn/cairn.hpp>

constexpr std::size_t cells = 100;
constexpr cairn::step_index length = 10'000;
constexpr double dt = 1e-3, dx = 1.0 / cells, viscosity = 0.01;

template <class T>
struct state {
  std::array<T, cells> u{};
  T sum{};
};
struct burgers {
  template <class T>
  void operator()(state<T>& x, T const& nu, cairn::step_index i) const {
    forced(x, nu, 0.5 * std::sin(0.01 * double(i)));
  }
  template <class T, class Force>
  static void forced(state<T>& x, T const& nu, Force const& force) {
    std::array<T, cells> v{};
    auto const& u = x.u;
    for (std::size_t k = 0; k < cells; ++k) {
      std::size_t const left = (k + cells - 1) % cells, right = (k + 1) % cells;
      v[k] = u[k] - (dt / (4 * dx)) * (u[right] * u[right] - u[left] * u[left]) +
             (nu * (dt / (dx * dx))) * (u[right] - 2.0 * u[k] + u[left]);
    }
    v[0] += dt * force;
    x.sum += dt * v[cells / 2] * v[cells / 2];
    x.u = v;
  }
};
/// The same for tools that replay a recording.
struct burgers_by_data {
  double at(cairn::step_index i) const { return 0.5 * std::sin(0.01 * double(i)); }
  template <class T>
  void operator()(state<T>& x, T const& nu, T const& force) const { burgers::forced(x, nu, force); }
};
inline state<double> start() {
  state<double> x;
  for (std::size_t k = 0; k < cells; ++k)
    x.u[k] = 1 + 0.5 * std::sin(2 * 3.14159265358979323846 * (double(k) + 0.5) / double(cells));
  return x;
}
struct final_sum {
  template <class T>
  T operator()(state<T> const& x) const { return x.sum; }
};

struct used {
  double seconds = 0, megabytes = 0, system = 0;
};
/// Runs f in a process of its own. It returns the derivative by the viscosity, which is known.
template <class F>
used alone(F f) {
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    double const found = f();
    _exit(std::abs(found + 3.809702311369) < 1e-9 ? 0 : 1);
  }
  int status = 0;
  rusage use{};
  wait4(child, &status, 0, &use);
  if (status != 0) {
    std::fprintf(stderr, "wrong derivative\n");
    std::exit(1);
  }
  return {double(use.ru_utime.tv_sec) + 1e-6 * double(use.ru_utime.tv_usec), double(use.ru_maxrss) / 1024,
          double(use.ru_stime.tv_sec) + 1e-6 * double(use.ru_stime.tv_usec)};
}
inline used nothing() {
  return alone([] { return -3.809702311369; });
}

/// Five rounds, side by side, smallest times and largest memory.
template <class Model = burgers, class Full, class Tool>
void compare(char const* called, Full full, Tool make) {
  used const base = nothing();
  used whole{1e9, 0, 1e9}, leaves = whole, one = whole;
  auto const keep = [](used& best, used now) {
    if (now.seconds < best.seconds) best.seconds = now.seconds;
    if (now.megabytes > best.megabytes) best.megabytes = now.megabytes;
    if (now.system < best.system) best.system = now.system;
  };
  for (int round = 0; round < 5; ++round) {
    keep(whole, alone(full));
    keep(leaves, alone([&] {
           return cairn::differentiate(make(), Model{}, start(), viscosity, cairn::budget_of{length, "8MB"},
                                       final_sum{})
               .params;
         }));
    keep(one, alone([&] {
           return cairn::differentiate(make(), Model{}, start(), viscosity, cairn::revolve{length, 22}, final_sum{})
               .params;
         }));
  }
  auto const line = [&](char const* how, used const& at) {
    std::printf("%-9s %-17s user %5.2f s (%.2f)  user and system %5.2f s (%.2f)  %7.1f MB (1/%.0f)  [%s]\n", called,
                how, at.seconds, at.seconds / whole.seconds, at.seconds + at.system,
                (at.seconds + at.system) / (whole.seconds + whole.system), at.megabytes - base.megabytes,
                (whole.megabytes - base.megabytes) / (at.megabytes - base.megabytes), CAIRN_BENCHMARK_FLAGS);
  };
  line("full tape", whole);
  line("budget of 8 MB", leaves);
  line("revolve, 22 slots", one);
}
