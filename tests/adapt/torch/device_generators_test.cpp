// SPDX-License-Identifier: Apache-2.0
// The generator of a device, on machines without one: a generator of the CPU's kind is that of the CUDA device 0, and
// an empty tensor is on that device.
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/library.h>
#include <torch/nn/modules/container/functional.h>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/core/error.hpp>

namespace device_generators_tests {

using at::Tensor;
using Catch::Matchers::ContainsSubstring;
using support::drawn_at_once;
using support::said_in_two_threads;
using support::same_bits;

at::Generator const& generator() {
  static auto const one = at::make_generator<at::CPUGeneratorImpl>(std::uint64_t{5});
  return one;
}
struct stand_in final : at::CUDAHooksInterface {
#if TORCH_VERSION_MAJOR < 2
  void initCUDA() const override {}
  at::Generator const& getDefaultCUDAGenerator(at::DeviceIndex) const override { return generator(); }
#else
  void init() const override {}
  at::Generator const& getDefaultGenerator(at::DeviceIndex) const override { return generator(); }
#endif
};
/// An empty tensor on the device. No memory of a device belongs to it.
Tensor on_device() {
  c10::Storage storage{c10::Storage::use_byte_size_t{}, 0, at::DataPtr{nullptr, at::Device{at::kCUDA, 0}}};
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet{c10::DispatchKey::CUDA},
                                                  caffe2::TypeMeta::Make<float>());
}
/// LibTorch asks once for what it knows of CUDA. In a process that has not asked yet, the stand-in answers.
bool stands_in() {
  static bool const is_known = [] {
    at::CUDAHooksRegistry()->Register(
        "CUDAHooks", [](at::CUDAHooksArgs) { return std::make_unique<stand_in>(); }, c10::REGISTRY_PREFERRED);
    return dynamic_cast<stand_in const*>(&at::detail::getCUDAHooks()) != nullptr;
  }();
  return is_known;
}

Tensor mask() { return (torch::rand({64}, generator()) < 0.5).to(at::kFloat); }
Tensor weights() { return torch::ones({64}, torch::requires_grad()); }

enum class within { region, loop };
/// The weights times a mask that is drawn from the device's generator, or times 0.5.
struct masked {
  within where;
  bool draws = true;

  /// \param on_run  called by each run with its number
  [[nodiscard]] Tensor operator()(Tensor const& w, std::function<void(int)> on_run = [](int) {}) const {
    auto const f = [draws = draws, on_run = std::move(on_run), runs = std::make_shared<int>(0)](Tensor const& t) {
      on_run(++*runs);
      return t * (draws ? mask() : torch::full_like(t, 0.5));
    };
    if (where == within::region)
      return cl::checkpoint([f](Tensor const& t, Tensor const&) { return f(t); }, w, on_device());
    auto const step = [f](std::vector<Tensor> const& s, cairn::step_index) { return std::vector{f(s[0]), s[1]}; };
    return cl::checkpointed_loop(step, std::vector{w, on_device()}, 4, cl::LoopOptions().checkpoints(1))[0];
  }
};

TEST_CASE("a second run draws the numbers of a device's generator again", "[torch][region][rng]") {
  if (!stands_in()) CAIRN_SKIP("this process has asked LibTorch for CUDA before");
  auto const where = GENERATE(within::region, within::loop);
  CAPTURE(int(where));
  REQUIRE(cl::get_device_states(on_device()).size() == 2);
  SECTION("and the numbers after it are those of the plain call") {
    auto const before = generator().get_state();
    auto const w = weights();
    auto const y = masked{where}(w);
    auto const next = mask();
    y.sum().backward();
    CHECK(same_bits(w.grad(), y));
    auto const last = mask();

    at::Generator{generator()}.set_state(before);
    auto plain = weights() * mask();
    if (where == within::loop) for (int k = 0; k < 3; ++k) plain = plain * mask();
    CHECK(same_bits(y, plain));
    CHECK(same_bits(next, mask()));
    CHECK(same_bits(last, mask()));
  }
  // The function of a region runs once, and no thread is refused.
  if (where != within::region) SECTION("or is refused in forward, if two threads draw from it at once") {
    std::barrier<> meet{2};
    auto const words = said_in_two_threads<cairn::invalid_call>([&](int) {
      (void)masked{where}(weights(), [&](int run) {
        if (run == 1) meet.arrive_and_wait();
      });
    });
    for (auto const& one : words) CHECK_THAT(one, ContainsSubstring(drawn_at_once));
  }
  if (where != within::region) SECTION("or is refused in backward, which can be called again") {
    constexpr int first_again = 5;
    std::barrier<> meet{2};
    Tensor w[2], y[2];
    for (int k : {0, 1}) {
      w[k] = weights();
      y[k] = masked{where}(w[k], [&](int run) {
        if (run == first_again) meet.arrive_and_wait();
      });
    }
    auto const words = said_in_two_threads<cairn::invalid_call>([&](int k) { y[k].sum().backward({}, true); });
    for (int k : {0, 1}) {
      CHECK_THAT(words[std::size_t(k)], ContainsSubstring(drawn_at_once));
      w[k].mutable_grad() = Tensor{};
      y[k].sum().backward();
      CHECK(same_bits(w[k].grad(), y[k]));
    }
  }
  if (where != within::region)
    SECTION("in backward beside a computation that draws nothing, which does not touch the generator") {
    constexpr int first_again = 5;
    bool const draws_first = GENERATE(true, false);
    Tensor w[2], y[2];
    std::string of_other;
    w[1] = weights(), w[0] = weights();
    y[1] = masked{where, !draws_first}(w[1]);
    y[0] = masked{where, draws_first}(w[0], [&](int run) {
      if (run == first_again)
        std::thread{[&] { of_other = support::message_of([&] { y[1].sum().backward(); }); }}.join();
    });
    y[0].sum().backward();
    CHECK(of_other == "");
    for (int k : {0, 1}) CHECK(same_bits(w[k].grad(), y[k]));
  }
  SECTION("or is refused whenever two threads meet") {
    support::meetings const met{100, [&](int) {
                                  auto const w = weights();
                                  auto const y = masked{where}(w);
                                  y.sum().backward();
                                  return same_bits(w.grad(), y);
                                }};
    CAPTURE(met.right.load(), met.refused.load());
    CHECK(met.wrong == 0);
    CHECK(met.right + met.refused == 200);
    if (where == within::region) CHECK(met.refused == 0);  // its operators draw again from copies of the generator
  }
}

}  // namespace device_generators_tests
