// error: a budget with a folder counts no tapes of a tool; give cairn::budget_of.n, budget. without the folder
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/schedule/any.hpp>

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
struct on_disk {
  struct keeps_runs { using plans = cairn::any_schedule; };
};
int main() {
  cairn::taped loop{tool{}, model{}, 1.5, cairn::at_end{last}};
#ifdef CAIRN_FIXED
  cairn::budget_of const budget{10, "1MB"};
#else
  cairn::budget_of const budget{10, "1MB", on_disk{}};
#endif
  auto const found = cairn::differentiate(loop, vec<double>{2}, budget);
  return found.value > 0 ? 0 : 1;
}
