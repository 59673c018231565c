// error: after the adjoint of a tape there is no state
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <cairn/cairn.hpp>

int main() {
  auto const step = [](float& x) { x *= 1.5f; };
  auto const record = [](float& x) {
    double const before = x;
    x *= 1.5f;
    return std::pair{before, x};
  };
  auto const reverse = [](std::pair<double, float> const&, float& bar) { bar *= 1.5f; };
#ifdef CAIRN_FIXED
  auto const hook = [](float& bar, cairn::step_index) { bar += 1; };
#else
  auto const hook = [](float const&, float& bar, cairn::step_index) { bar += 1; };
#endif
  return cairn::gradient(step, 1.0f, 10, 1.0f, cairn::hooked(cairn::recorded{record, reverse}, hook)) > 0 ? 0 : 1;
}
