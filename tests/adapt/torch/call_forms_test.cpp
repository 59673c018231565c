// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>

namespace call_forms_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::same_bits;
using support::seeded;
namespace nn = torch::nn;

/// A layer with a mask that may be left out, a number and a flag.
struct MaskedImpl : nn::Module {
  nn::Linear inside{nullptr};
  nn::BatchNorm1d norm{nullptr};
  MaskedImpl() {
    inside = register_module("inside", nn::Linear(6, 6));
    norm = register_module("norm", nn::BatchNorm1d(6));
  }
  Tensor forward(Tensor const& x, torch::optional<Tensor> const& mask = {}, double scale = 1, bool squared = false) {
    auto y = norm(torch::tanh(inside(x)));
    if (mask) y = y * *mask;
    y = (torch::dropout(y, 0.2, is_training()) * scale).exp();
    return squared ? y.square() : y;
  }
};
TORCH_MODULE(Masked);

/// The output, the gradients of the leaves and the buffers, with generators as they were before.
template <class Call>
std::vector<Tensor> results(std::vector<Tensor> leaves, nn::Module* module, Call&& call) {
  seeded const seed{3};
  std::vector<Tensor> before;
  if (module != nullptr) {
    for (auto const& p : module->parameters()) leaves.push_back(p);
    for (auto const& b : module->buffers()) before.push_back(b.clone());
  }
  Tensor const y = call();
  y.pow(2).sum().backward();
  auto all = support::take_grads(leaves);
  all.push_back(y.detach());
  if (module != nullptr) {
    torch::NoGradGuard const off;
    auto const buffers = module->buffers();
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      all.push_back(buffers[k].clone());
      buffers[k].copy_(before[k]);
    }
  }
  return all;
}

TEST_CASE("a region calls a module with what its forward takes, and changes its buffers once", "[torch][region]") {
  seeded const seed{1};
  Masked layer;
  auto const x = torch::randn({5, 6}).requires_grad_(), mask = torch::rand({5, 6}).requires_grad_();
  torch::optional<Tensor> const maybe = mask, none;
  auto const same = [&](auto&& plain, auto&& ours) {
    CHECK(same_bits(results({x, mask}, layer.get(), plain), results({x, mask}, layer.get(), ours)));
  };
  same([&] { return layer(x); }, [&] { return checkpoint(layer, x); });
  same([&] { return layer(x, mask); }, [&] { return checkpoint(layer, x, mask); });
  same([&] { return layer(x, maybe, 0.5, true); }, [&] { return checkpoint(layer, x, maybe, 0.5, true); });
  same([&] { return layer(x, none, 2); },
       [&] { return checkpoint(layer, x, none, 2, CheckpointOptions().verify(true)); });
  same([&] { return layer(x, torch::nullopt, 2); }, [&] { return checkpoint(layer, x, torch::nullopt, 2); });
  same([&] { return layer(x, mask); }, [&] { return checkpoint(layer.ptr(), x, mask, CheckpointOptions()); });
  same([&] { return layer(x, mask); }, [&] { return checkpoint(layer, std::tuple{x, mask}); });
  same([&] { return layer->inside(x); }, [&] { return checkpoint(nn::AnyModule(layer->inside), x); });
  nn::Sequential net(layer->inside, nn::Tanh(), layer->norm, nn::Dropout(0.3));
  same([&] { return net->forward(x); }, [&] { return checkpoint(net, x); });
  torch::NoGradGuard const off;
  layer->eval();
  CHECK(same_bits(checkpoint(layer, x, mask, 2), layer(x, mask, 2)));
}

TEST_CASE("a region takes several arguments plainly, tensors and what is none", "[torch][region]") {
  auto const x = torch::randn({4, 6}).requires_grad_(), z = torch::randn({4, 6}).requires_grad_();
  enum class way { up, down };
  auto const f = [](Tensor const& a, std::optional<Tensor> const& b, int power, way direction, std::string const& name,
                    at::Scalar const& factor, std::vector<Tensor> const& more, std::optional<double> shift) {
    auto y = a.exp().pow(power) * factor + shift.value_or(0);
    if (b) y = y * b->sin();
    if (direction == way::down) y = -y;
    for (auto const& one : more) y = y + one.cos();
    return name == "twice" ? y * 2 : y;
  };
  auto const same = [&](auto const&... arguments) {
    CHECK(same_bits(results({x, z}, nullptr, [&] { return f(arguments...); }),
                    results({x, z}, nullptr, [&] { return checkpoint(f, arguments...); })));
    CHECK(same_bits(results({x, z}, nullptr, [&] { return f(arguments...); }), results({x, z}, nullptr, [&] {
                      return checkpoint(f, arguments..., CheckpointOptions().verify(true));
                    })));
  };
  same(x, std::optional<Tensor>{z}, 3, way::up, std::string{"twice"}, at::Scalar{0.5}, std::vector{x, z},
       std::optional<double>{0.25});
  same(x, std::optional<Tensor>{}, 2, way::down, std::string{}, at::Scalar{2}, std::vector<Tensor>{},
       std::optional<double>{});
  same(x, std::nullopt, 2, way::down, std::string{}, at::Scalar{2}, std::vector{z}, std::nullopt);
  auto const pairs = [](std::pair<Tensor, Tensor> const& a, bool second) {
    return second ? a.second.exp() : a.first.exp();
  };
  CHECK(same_bits(results({x, z}, nullptr, [&] { return z.exp(); }), results({x, z}, nullptr, [&] {
                    return checkpoint(pairs, std::pair{x, z}, true);
                  })));
}

TEST_CASE("a region passes the gradient of an optional tensor on to what made it", "[torch][region]") {
  auto const x = torch::randn({64, 64}).requires_grad_();
  Tensor y;
  {
    auto const made = x.sin();
    y = checkpoint([](Tensor const& a, std::optional<Tensor> const& b) {
      auto const middle = b->exp();
      return (a * middle).exp().sum();
    }, x, std::optional<Tensor>{made});
  }
  y.backward();
  auto const got = x.grad().clone();
  x.mutable_grad() = Tensor{};
  (x * x.sin().exp()).exp().sum().backward();
  CHECK(same_bits(got, x.grad()));
}

TEST_CASE("a region moves a function that cannot be copied, and calls one that changes itself once",
          "[torch][region]") {
  auto const x = torch::randn({4, 6}).requires_grad_();
  auto const plain = results({x}, nullptr, [&] { return x.exp().sin() * 3; });
  auto owned = [factor = std::make_unique<double>(3)](Tensor const& a) { return a.exp().sin() * *factor; };
  CHECK(same_bits(plain, results({x}, nullptr, [&] { return checkpoint(std::move(owned), x); })));
  auto counting = [calls = 0](Tensor const& a) mutable { return ++calls == 1 ? a.exp().sin() * 3 : a; };
  CHECK(same_bits(plain, results({x}, nullptr, [&] { return checkpoint(counting, x); })));
  std::function<Tensor(Tensor const&)> const function = [](Tensor const& a) { return a.exp().sin() * 3; };
  CHECK(same_bits(plain, results({x}, nullptr, [&] { return checkpoint(function, x); })));
  auto* const pointer = +[](Tensor const& a) { return a.exp().sin() * 3; };
  CHECK(same_bits(plain, results({x}, nullptr, [&] { return checkpoint(pointer, x); })));
}

TEST_CASE("errors come through autograd as they were thrown, ours and LibTorch's", "[torch]") {
  auto const x = torch::ones({4}).requires_grad_();
  auto shift = torch::zeros({4});
  auto const changed = [&] {
    auto y = checkpoint([&](Tensor const& a) { return (a + shift).exp(); }, x).sum();
    shift.add_(1);
    return y;
  };
  CHECK_THROWS_AS(changed().backward(), cairn::invalid_call);
  CHECK_THROWS_AS(changed().backward(), std::exception);
  auto const other = changed();
  bool by_torch = false, by_ours = false;
  try {
    other.backward();
  } catch (c10::Error const&) {
    by_torch = true;
  } catch (cairn::error const&) {
    by_ours = true;
  }
  CHECK_FALSE(by_torch);
  CHECK(by_ours);
  auto const f = [&](Tensor const& a) {
    TORCH_CHECK(a.dim() > 1, "the function's own");
    return a.exp();
  };
  CHECK_THROWS_AS(checkpoint(f, x), c10::Error);
}
/// Why ours are not derived from c10::Error as well: std::exception would be a base twice, and no handler for it would
/// catch them.
struct both_errors : cairn::invalid_call, c10::Error {};
static_assert(!std::is_convertible_v<both_errors*, std::exception*>);
static_assert(std::is_convertible_v<cairn::invalid_call*, std::exception*> &&
              std::is_convertible_v<c10::Error*, std::exception*>);

}  // namespace call_forms_tests
