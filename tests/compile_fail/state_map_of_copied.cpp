// error: parts that state_traits copies may be in vectors
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <map>
#include <vector>

struct handle {
  double* x = nullptr;
};
template <>
struct cairn::state_traits<handle> {
  static void copy(handle const& from, handle& into) {
    if (into.x == nullptr) into.x = new double;
    *into.x = *from.x;
  }
};
#ifdef CAIRN_FIXED
using handles = std::vector<handle>;
#else
using handles = std::map<int, handle>;
#endif
auto const step = [](handles&) {};
auto const adjoint = [](handles const&, double&) {};
int main() {
  double const g = cairn::gradient(step, handles{}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
