// error: this class template cannot be taken apart to find its scalars
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
template <class T> class hidden {
 public:
  explicit hidden(T from = 1.0) : v_{from} {}
  T const& at() const { return v_; }

 private:
  T v_;
};
struct of_hidden {
  template <class T> void operator()(hidden<T>& x, T const& a, cairn::step_index) const { x = hidden<T>{a * x.at()}; }
};
auto const inside = []<class T>(hidden<T> const& x) -> T { return x.at(); };
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, of_hidden{}, hidden<double>{2}, 1.5, 10, inside);
#endif
  return found.value > 0 ? 0 : 1;
}
