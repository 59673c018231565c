// error: the record that `first` returns is a pointer, a view or an expression of data that changes later
// SPDX-License-Identifier: Apache-2.0
// flags: -DEIGEN_NO_CUDA
#include <Eigen/Core>
#include <cairn/run/adaptive.hpp>

using field = Eigen::ArrayXd;
#ifdef CAIRN_FIXED
using record = field;
#else
using record = decltype(std::declval<field const&>().cos());
#endif
auto const first = [](field& x) {
  record slope = std::as_const(x).cos();
  x = x.sin().eval();
  return slope;
};
cairn::adaptive loop{first, [](field& x, record const&) { x = x.sin().eval(); }};
