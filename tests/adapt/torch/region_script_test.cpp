// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <memory>
#include <string>
#include <torch/jit.h>
#include <cairn/adapt/torch/record/region.hpp>

namespace region_script_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::seeded;
using support::take_grads;

/// A function in TorchScript, compiled anew: its first call is the one that it is measured in.
struct script {
  explicit script(std::string const& source) : unit{torch::jit::compile(source)} {}
  Tensor operator()(Tensor const& x) const { return unit->run_method("f", x).toTensor(); }
  std::shared_ptr<torch::jit::CompilationUnit> unit;
};

constexpr char const* products = R"(
def f(x):
  y = torch.tanh(x) * x.sigmoid()
  return (y + x).relu().exp() * y
)";
constexpr char const* layers = R"(
def f(x):
  h = torch.mm(x, x.t()).softmax(1)
  h = torch.addmm(h, h.sin(), h.cos())
  return torch.mm(h.gelu(), x) * x.tanh()
)";

Tensor products_of(Tensor const& x) {
  auto const y = torch::tanh(x) * x.sigmoid();
  return (y + x).relu().exp() * y;
}
Tensor layers_of(Tensor const& x) {
  auto h = torch::mm(x, x.t()).softmax(1);
  h = torch::addmm(h, h.sin(), h.cos());
  return torch::mm(torch::gelu(h), x) * x.tanh();
}

TEST_CASE("a region with TorchScript has the gradients of the plain call, whenever it optimises itself",
          "[torch][region][script]") {
  bool const reorders = GENERATE(false, true), verify = GENERATE(true, false);
  seeded const seed{1};
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  (reorders ? layers_of(x * 2) : products_of(x * 2)).sum().backward();
  auto const plain = take_grads({x})[0];
  script const f{reorders ? layers : products};
  for (int call = 0; call < 4; ++call) {
    auto const y = checkpoint(f, x * 2, CheckpointOptions().verify(verify)).sum();
    if (call == 1) (void)f(x * 2);  // between forward and backward
    y.backward({}, true);
    CHECK(torch::allclose(plain, take_grads({x})[0], 1e-4, 1e-6));
    y.backward();
    CHECK(torch::allclose(plain, take_grads({x})[0], 1e-4, 1e-6));
  }
}

}  // namespace region_script_tests
