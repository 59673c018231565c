// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <memory>
#include <string>
#include <torch/jit.h>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>

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

TEST_CASE("a region with TorchScript has the gradients of the plain call, from its first call on",
          "[torch][region][script]") {
  bool const early = GENERATE(true, false);
  auto const check = GENERATE(cl::Check::Off, cl::Check::Metadata, cl::Check::Bits);
  seeded const seed{1};
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  products_of(x * 2).sum().backward();
  auto const plain = take_grads({x})[0];
  script const f{products};
  for (int call = 0; call < 4; ++call) {
    checkpoint(f, x * 2, CheckpointOptions().early_stop(early).determinism(check)).sum().backward();
    CHECK(torch::allclose(plain, take_grads({x})[0], 1e-4, 1e-6));
  }
}

TEST_CASE("a region whose only run forward was the first call of TorchScript has its gradients",
          "[torch][region][script]") {
  bool const early = GENERATE(true, false);
  seeded const seed{2};
  auto const x = torch::full({1}, 0.5).requires_grad_(true);
  products_of(x).sum().backward();
  auto const plain = take_grads({x})[0];
  script const f{products};
  auto const y = checkpoint(f, x, CheckpointOptions().early_stop(early)).sum();
  y.backward({}, true);
  CHECK(torch::allclose(plain, take_grads({x})[0]));
  y.backward();
  CHECK(torch::allclose(plain, take_grads({x})[0]));
}

TEST_CASE("a region refuses TorchScript that reorders what is saved, and takes it when it is optimised",
          "[torch][region][script]") {
  bool const early = GENERATE(true, false);
  seeded const seed{4};
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  layers_of(x).sum().backward();
  auto const plain = take_grads({x})[0];
  auto const gradient_or_refusal = [&](script const& f) {
    return support::said<cl::recompute_mismatch>(
        [&] { checkpoint(f, x, CheckpointOptions().early_stop(early)).sum().backward(); }, "");
  };
  auto const said = gradient_or_refusal(script{layers});
  CHECK(said.find("Backward0 when it is computed again, and was Float[3, 3] on cpu of ") != std::string::npos);
  CHECK(said.find("call the TorchScript function twice before, so that it has optimised itself") != std::string::npos);
  (void)take_grads({x});
  script const warm{layers};
  for (int call = 0; call < 2; ++call) (void)warm(x);
  CHECK(gradient_or_refusal(warm).empty());
  CHECK(torch::allclose(plain, take_grads({x})[0], 1e-4, 1e-6));
}

TEST_CASE("a region is right or refused where TorchScript has optimised itself between its two runs",
          "[torch][region][script]") {
  bool const early = GENERATE(true, false);
  seeded const seed{3};
  auto const x = torch::full({1}, 0.5).requires_grad_(true);
  products_of(x).sum().backward();
  auto const plain = take_grads({x})[0];
  script const f{products};
  auto const y = checkpoint(f, x, CheckpointOptions().early_stop(early)).sum();
  for (int call = 0; call < 3; ++call) (void)f(x);
  auto const said = support::said<cl::recompute_mismatch>([&] { y.backward(); }, "");
  if (said.empty()) CHECK(torch::allclose(plain, take_grads({x})[0]));
  else CHECK(said.find("DifferentiableGraphBackward") != std::string::npos);
}

TEST_CASE("a Sequential with TorchScript has the gradients of the plain call or refuses, from its first call on",
          "[torch][sequential][script]") {
  auto const segments = GENERATE(0, 2, 3);  // 0: children are measured, and run forward twice, before the first call
  auto const check = GENERATE(cl::Check::Off, cl::Check::Bits);
  seeded const seed{5};
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  auto const options = cl::CheckpointedSequentialOptions().determinism(check);
  auto const reorders = GENERATE(false, true);
  auto const plain_of = reorders ? &layers_of : &products_of;
  plain_of(plain_of(x * 2).sin()).sum().backward();
  auto const plain = take_grads({x})[0];
  script const f{reorders ? layers : products};
  torch::nn::Sequential net(torch::nn::Functional([](Tensor const& a) { return a * 2; }), torch::nn::Functional(f),
                            torch::nn::Functional([](Tensor const& a) { return a.sin(); }), torch::nn::Functional(f));
  int right = 0;
  for (int call = 0; call < 4; ++call) {
    auto const said = support::said<cl::recompute_mismatch>(
        [&] { cl::checkpoint_sequential(net, segments, x, options).sum().backward(); }, "");
    auto const found = x.grad().defined() ? take_grads({x})[0] : Tensor{};
    if (said.empty()) CHECK((++right, torch::allclose(plain, found, 1e-4, 1e-6)));
    else
      CHECK(said.find("call the TorchScript function twice before, so that it has optimised itself") !=
            std::string::npos);
  }
  CHECK(right >= 2);  // once it is optimised
}

}  // namespace region_script_tests
