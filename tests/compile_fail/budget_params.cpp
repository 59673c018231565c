// error: a budget counts the bytes of the parameters and of their gradient
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
class weight {
  double* at_ = nullptr;

 public:
  weight() = default;
  explicit weight(double& v) : at_{&v} {}
  weight(weight const&) = default;
  weight& operator=(weight const&) = default;
  ~weight() {}
  double operator()() const { return *at_; }
  template <class Fn>
  void visit_buffers(Fn& f) const { f(static_cast<void const*>(at_), sizeof *at_); }
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return sizeof *this + sizeof *at_; }
#endif
};
auto const step = [](double& x, weight const& p) { x *= p(); };
auto const adjoint = [](double x, double& bar, weight const& p, double& dp) { dp += bar * x, bar *= p(); };
double v = 2, dp = 0;
weight const p{v};
auto const g = cairn::gradient(step, 1.0, cairn::budget_of{10, 1000}, 1.0, adjoint, cairn::wrt{p, dp});
