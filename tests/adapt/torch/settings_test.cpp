// SPDX-License-Identifier: Apache-2.0
// LibTorch's settings for a while.
#include "support/torch.hpp"
#include <cairn/adapt/torch/compat/settings.hpp>

namespace settings_tests {

using at::Tensor;
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
                                   .autocast(torch::kBFloat16)};
    CHECK(torch::ones({1}).scalar_type() == torch::kDouble);
    CHECK(at::globalContext().deterministicAlgorithms());
    CHECK(at::globalContext().benchmarkCuDNN());
    CHECK(torch::mm(torch::ones({2, 2}, torch::kFloat), torch::ones({2, 2}, torch::kFloat)).scalar_type() ==
          torch::kBFloat16);
    all_settings const within;
    {
      settings_guard const inner{TorchSettings().dtype(torch::kHalf).deterministic(false).benchmark(false)};
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

}  // namespace settings_tests
