// error: the model takes only numbers of type double
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

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
struct plain {
  void operator()(vec<double>& x, double const& a, cairn::step_index) const { x[0] *= a; }
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, plain{}, vec<double>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
