// error: restore\(snapshot\) takes a number of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <memory>
template <class Snapshot>
struct solver {
  double at = 1;
  std::unique_ptr<int> own{};
  double save() const { return at; }
  void restore(Snapshot s) { at = double(s); }
};
#ifdef CAIRN_FIXED
solver<double> x;
#else
solver<float> x;
#endif
auto run = cairn::checkpointed_loop([](decltype(x)& s) { s.at *= 2; }, x, 10);
