// SPDX-License-Identifier: Apache-2.0
// LibTorch's settings for a while, and dynamic loss scaling against its written rules.
#include "support/torch.hpp"
#include <cairn/adapt/torch/compat/loss_scaler.hpp>
#include <cairn/adapt/torch/compat/settings.hpp>
#include <limits>
#include <sstream>

namespace settings_tests {

using at::Tensor;
using cl::LossScaler;
using cl::LossScalerOptions;
using cl::settings_guard;
using cl::TorchSettings;

struct all_settings {
  at::ScalarType dtype = c10::get_default_dtype_as_scalartype();
  bool algorithms = at::globalContext().deterministicAlgorithms(),
       warn_only = at::globalContext().deterministicAlgorithmsWarnOnly(),
       cudnn = at::globalContext().deterministicCuDNN(), benchmark = at::globalContext().benchmarkCuDNN();
  int threads = at::get_num_threads();
  bool autocast = cl::detail::autocast_is_on(at::kCPU);
  at::ScalarType cast_type = cl::detail::autocast_type(at::kCPU);
  friend bool operator==(all_settings const&, all_settings const&) = default;
};

TEST_CASE("settings hold in their scope and what was before is back after it", "[torch][settings]") {
  all_settings const before;
  {
    settings_guard const outer{TorchSettings()
                                   .dtype(torch::kDouble)
                                   .deterministic(true)
                                   .benchmark(true)
                                   .threads(2)
                                   .autocast(torch::kBFloat16)};
    CHECK(torch::ones({1}).scalar_type() == torch::kDouble);
    CHECK(at::globalContext().deterministicAlgorithms());
    CHECK(at::globalContext().benchmarkCuDNN());
    CHECK(at::get_num_threads() == 2);
    CHECK(torch::mm(torch::ones({2, 2}, torch::kFloat), torch::ones({2, 2}, torch::kFloat)).scalar_type() ==
          torch::kBFloat16);
    all_settings const within;
    {
      settings_guard const inner{TorchSettings().dtype(torch::kHalf).deterministic(false).benchmark(false).threads(1)};
      CHECK(torch::empty({1}).scalar_type() == torch::kHalf);
      CHECK(!at::globalContext().deterministicAlgorithms());
      CHECK(all_settings{}.autocast);
    }
    CHECK(all_settings{} == within);
    {
      settings_guard const nothing{TorchSettings()};
      CHECK(all_settings{} == within);
    }
  }
  CHECK(all_settings{} == before);
}

TEST_CASE("settings are put back when an exception leaves their scope", "[torch][settings]") {
  all_settings const before;
  try {
    settings_guard const guard{TorchSettings().dtype(torch::kDouble).deterministic(true).autocast(torch::kBFloat16)};
    throw 1;
  } catch (int) {
  }
  CHECK(all_settings{} == before);
}

TEST_CASE("settings that cannot be are refused before any is changed", "[torch][settings]") {
  all_settings const before;
  CHECK_THROWS_AS(settings_guard{TorchSettings().benchmark(true).dtype(torch::kInt)}, cairn::invalid_call);
  CHECK_THROWS_AS(settings_guard{TorchSettings().dtype(torch::kDouble).autocast(torch::kDouble)}, cairn::invalid_call);
  CHECK_THROWS_AS(settings_guard{TorchSettings().dtype(torch::kDouble).threads(0)}, cairn::invalid_call);
  if (!torch::cuda::is_available())
    CHECK_THROWS_AS((settings_guard{TorchSettings().dtype(torch::kDouble).device(torch::kCUDA)}), cairn::device_error);
  CHECK(all_settings{} == before);
}

TEST_CASE("settings say what new tensors are", "[torch][settings]") {
  auto const half = torch::zeros({2}, TorchSettings().dtype(torch::kHalf).requires_grad(true).tensor_options());
  CHECK(half.scalar_type() == torch::kHalf);
  CHECK(half.requires_grad());
  CHECK(half.device().is_cpu());
  CHECK(torch::zeros({2}, TorchSettings().tensor_options()).scalar_type() == c10::get_default_dtype_as_scalartype());
}

TEST_CASE("casts that were cached in a scope of automatic casts do not outlive it", "[torch][settings]") {
  auto w = torch::ones({2, 2}, at::TensorOptions().requires_grad(true));
  auto const product = [&] {
    settings_guard const guard{TorchSettings().autocast(torch::kBFloat16)};
    return torch::mm(w, torch::eye(2)).sum().item<float>();
  };
  CHECK(product() == 4);
  {
    at::NoGradGuard const no_grad;
    w.fill_(3);
  }
  CHECK(product() == 12);
}

/// One parameter whose gradient is set by hand, and plain gradient descent with a rate of 1.
struct toy {
  Tensor w;
  torch::optim::SGD optimizer;
  explicit toy(Tensor value) : w{std::move(value)}, optimizer{{w}, torch::optim::SGDOptions(1.)} {}
  explicit toy(float value = 0) : toy{torch::full({2}, value, at::TensorOptions().requires_grad(true))} {}
  void set_grad(float a, float b) { w.mutable_grad() = torch::tensor({a, b}); }
};
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("the scale grows after an interval of finite gradients and backs off at each that is not",
          "[torch][scaler]") {
  // The rules as LibTorch's Python side writes them, run as a model beside the scaler.
  LossScaler scaler{LossScalerOptions().init_scale(8).growth_factor(4).backoff_factor(0.25).growth_interval(3)};
  double scale = 8;
  std::int64_t good = 0;
  toy one;
  for (int k = 0; k < 200; ++k) {
    bool const bad = k % 7 == 4 || k % 11 == 0 || k == 21;
    auto const before = one.w.detach().clone();
    one.set_grad(float(scale), bad ? (k % 2 != 0 ? inf : nan) : float(2 * scale));
    CHECK(scaler.scale() == scale);
    CHECK(scaler.step(one.optimizer) == !bad);
    auto const moved = before - one.w.detach();
    CHECK(support::same_bits(moved, bad ? torch::zeros({2}) : torch::tensor({1.f, 2.f})));
    scaler.update();
    if (bad) scale *= 0.25, good = 0;
    else if (++good == 3) scale *= 4, good = 0;
    CHECK(scaler.good_updates() == good);
  }
  CHECK(scaler.scale() == scale);
}

TEST_CASE("the scale stops growing where a float ends", "[torch][scaler]") {
  LossScaler scaler{LossScalerOptions().init_scale(1e38).growth_interval(1)};
  toy one;
  for (int k = 0; k < 5; ++k) {
    one.set_grad(0, 0);
    scaler.step(one.optimizer);
    scaler.update();
  }
  CHECK(scaler.scale() == 2e38);
}

TEST_CASE("a scaled training is the unscaled one bit by bit when the scale is a power of two", "[torch][scaler]") {
  support::seeded const seed{7};
  auto const x = torch::randn({16, 4}), y = torch::randn({16, 1});
  auto const start = torch::randn({4, 1});
  auto const train = [&](bool enabled) {
    toy net{start.clone().requires_grad_()};
    LossScaler scaler{LossScalerOptions().enabled(enabled).growth_interval(5)};
    for (int k = 0; k < 12; ++k) {
      net.optimizer.zero_grad();
      scaler.scale(0.01 * (torch::mm(x, net.w) - y).pow(2).sum()).backward();
      CHECK(scaler.step(net.optimizer));
      scaler.update();
    }
    CHECK(scaler.scale() == (enabled ? 65536 * 4 : 1));
    return net.w.detach();
  };
  CHECK(support::same_bits(train(true), train(false)));
}

TEST_CASE("scaling keeps gradients that would vanish in half precision", "[torch][scaler]") {
  auto const gradient = [](bool enabled) {
    toy net{torch::ones({2}, at::TensorOptions().requires_grad(true))};
    LossScaler scaler{LossScalerOptions().enabled(enabled)};
    auto const loss = (net.w.to(torch::kHalf) * 1e-4).to(torch::kFloat).sum() * 1e-5;  // 1e-9 is nothing in half
    scaler.scale(loss).backward();
    scaler.unscale_(net.optimizer);
    return net.w.grad()[0].item<float>();
  };
  CHECK(gradient(false) == 0);
  CHECK(gradient(true) == Approx(1e-9).epsilon(2e-3));
}

TEST_CASE("gradients are unscaled once, by hand or by the step", "[torch][scaler]") {
  LossScaler scaler{LossScalerOptions().init_scale(4)};
  toy one, other;
  CHECK_THROWS_AS(scaler.update(), cairn::invalid_call);
  one.set_grad(4, 8);
  other.set_grad(inf, 8);
  scaler.unscale_(one.optimizer);
  CHECK(support::same_bits(one.w.grad(), torch::tensor({1.f, 2.f})));
  CHECK_THROWS_AS(scaler.unscale_(one.optimizer), cairn::invalid_call);
  CHECK(scaler.step(one.optimizer));
  CHECK_THROWS_AS(scaler.step(one.optimizer), cairn::invalid_call);
  CHECK_THROWS_AS(scaler.unscale_(one.optimizer), cairn::invalid_call);
  CHECK(!scaler.step(other.optimizer));  // each for itself
  scaler.update();
  CHECK(scaler.scale() == 2);  // one that is not finite is enough
}

TEST_CASE("parameters without gradients, sparse gradients and mixed types are unscaled", "[torch][scaler]") {
  auto const need = at::TensorOptions().requires_grad(true);
  auto const none = torch::ones({2}, need), half = torch::ones({2}, need.dtype(torch::kHalf)),
             sparse = torch::zeros({3}, need);
  torch::optim::SGD optimizer{{none, half, sparse}, torch::optim::SGDOptions(1.)};
  LossScaler scaler{LossScalerOptions().init_scale(2)};
  half.mutable_grad() = torch::full({2}, 6, torch::kHalf);
  auto const twice = torch::tensor({1, 1}).view({1, 2});
  sparse.mutable_grad() = torch::sparse_coo_tensor(twice, torch::tensor({4.f, 6.f}), {3});
  scaler.unscale_(optimizer);
  CHECK(half.grad()[0].item<float>() == 3);
  CHECK(sparse.grad().to_dense()[1].item<float>() == 5);
  CHECK(!none.grad().defined());
  scaler.update();
  sparse.mutable_grad() =
      torch::sparse_coo_tensor(twice, torch::tensor({3e38f, 3e38f}), {3});  // both are finite, their sum is not
  CHECK(!scaler.step(optimizer));
  scaler.update();
  toy empty;
  CHECK(scaler.step(empty.optimizer));
  scaler.update();
}

TEST_CASE("a scaler goes on from what was saved", "[torch][scaler]") {
  LossScaler scaler{LossScalerOptions().init_scale(16).growth_factor(8).growth_interval(2)};
  toy one;
  auto const update = [&](LossScaler& s, float value) {
    one.set_grad(value, 0);
    s.step(one.optimizer);
    s.update();
  };
  for (float const value : {0.f, 0.f, inf, 0.f}) update(scaler, value);
  std::stringstream stream;
  torch::save(scaler, stream);
  LossScaler read;
  torch::load(read, stream);
  CHECK(read.scale() == 64);
  CHECK(read.good_updates() == 1);
  update(scaler, 0);
  update(read, 0);
  CHECK(read.scale() == 512);
  CHECK(read.scale() == scaler.scale());

  std::stringstream other;
  torch::save(torch::ones({1}), other);
  CHECK_THROWS_AS(torch::load(read, other), cairn::invalid_call);
  CHECK(read.scale() == 512);
}

TEST_CASE("scalers of impossible numbers are refused", "[torch][scaler]") {
  for (auto const& options : {LossScalerOptions().init_scale(0), LossScalerOptions().init_scale(inf),
                              LossScalerOptions().init_scale(1e39), LossScalerOptions().init_scale(nan),
                              LossScalerOptions().growth_factor(1), LossScalerOptions().backoff_factor(1),
                              LossScalerOptions().backoff_factor(0), LossScalerOptions().growth_interval(0)})
    CHECK_THROWS_AS(LossScaler{options}, cairn::invalid_call);
  LossScaler const off{LossScalerOptions().enabled(false)};
  CHECK(!off.scale(Tensor()).defined());
  CHECK(!LossScaler{}.scale(Tensor()).defined());
}

}  // namespace settings_tests
