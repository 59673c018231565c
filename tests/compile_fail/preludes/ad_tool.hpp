// SPDX-License-Identifier: Apache-2.0
// A tool for automatic differentiation of nothing, and a model for it. Included within a namespace, so without #pragma once and without headers.
struct number {
  number(double from = 0) : v{from} {}
  double v;
};
number operator*(number a, number b) { return a.v * b.v; }
struct tool {
  using scalar = number;
  void begin(std::size_t) {}
  void independent(number&, double) {}
  void record() {}
  void dependent(number const&) {}
  void end() {}
  void reverse(double const*, double*) {}
  void abandon() noexcept {}
  void clear() {}
  std::size_t bytes() const { return 0; }
};
template <class T> using vec = std::vector<T>;
struct model {
  template <class T> void operator()(vec<T>& x, T const& a, cairn::step_index) const { x[0] = a * x[0]; }
};
auto const last = []<class T>(vec<T> const& x) -> T { return x[0]; };
