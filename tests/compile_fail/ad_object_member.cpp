// error: each\(f\) of a taped_object passes numbers of the tool, counters, flags
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <cairn/adapt/ad.hpp>

struct number {
  number(double from = 0) : v{from} {}
  double value() const { return v; }
  double v;
};
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
struct part {
  number mass;
} one;
int main() {
#ifdef CAIRN_FIXED
  auto const each = [](auto const& f) { f(one.mass); };
#else
  auto const each = [](auto const& f) { f(one); };
#endif
  cairn::taped_object loop{tool{}, each, [] { one.mass.v += 1; }};
  return int(loop.save().values.size());
}
