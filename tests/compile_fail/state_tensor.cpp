// error: include <cairn/adapt/torch.hpp>
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct tensor {  // as at::Tensor looks to the core
  void* unsafeGetTensorImpl() const { return impl; }
  long use_count() const { return 1; }
  void* impl = nullptr;
};
#ifdef CAIRN_FIXED
double x0 = 1;
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#else
tensor x0;
auto const step = [](tensor&) {};
auto const adjoint = [](tensor const&, double&) {};
#endif
int main() {
  double const g = cairn::gradient(step, x0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
