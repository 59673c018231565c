// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xview.hpp>

int main() {
  xt::xarray<double> all;
#ifdef CAIRN_FIXED
  xt::xarray<double> const x0 = all;
#else
  auto const x0 = xt::view(all, 0);
#endif
  auto const step = [](auto& x) { x *= 2; };
  (void)cairn::gradient(step, x0, 20, [](auto const& x) { return x; }, [](auto const&, auto& bar) { bar *= 2; });
}
