// SPDX-License-Identifier: Apache-2.0
// What users of PyTorch's checkpoint rely on, held by regions and Sequentials: what runs how often, and what it leaves
// behind.
#include "support/torch.hpp"
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/generated/Functions.h>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>

namespace checkpoint_semantics_tests {

using at::Tensor;
using cl::byte_meter;
using cl::checkpoint;
using cl::checkpoint_sequential;
using cl::CheckpointOptions;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;

/// Three linear layers with a ReLU after each.
torch::nn::Sequential three_layers() {
  return torch::nn::Sequential(torch::nn::Linear(100, 50), torch::nn::ReLU(), torch::nn::Linear(50, 20),
                               torch::nn::ReLU(), torch::nn::Linear(20, 5), torch::nn::ReLU());
}
/// Doubles its input, and counts how often it is called.
struct counting_module : torch::nn::Module {
  int calls = 0;
  Tensor forward(Tensor const& x) {
    ++calls;
    return x * torch::full({}, 2.0);
  }
};

TEST_CASE("children of a checkpointed Sequential run once", "[torch][checkpoint]") {
  std::vector<std::shared_ptr<counting_module>> modules;
  torch::nn::Sequential net;
  for (int k = 0; k < 10; ++k) {
    modules.push_back(std::make_shared<counting_module>());
    net->push_back(modules.back());
  }
  auto const x = torch::randn({3, 4}).requires_grad_(true);
  auto const y = checkpoint_sequential(net, 2, x);
  for (auto const& one : modules) CHECK(one->calls == 1);
  y.sum().backward();
  for (auto const& one : modules) CHECK(one->calls == 1);
}

TEST_CASE("a Sequential in two segments has the plain output and the plain gradients", "[torch][checkpoint]") {
  seeded const seed{1};
  auto net = three_layers();
  auto const x = torch::randn({1, 100}).requires_grad_(true);
  auto all = net->parameters();
  all.push_back(x);
  auto const run = [&](auto forward) {
    auto const y = forward();
    y.sum().backward();
    auto left = take_grads(all);
    left.push_back(y.detach());
    return left;
  };
  CHECK(same_bits(run([&] { return net->forward(x); }), run([&] { return checkpoint_sequential(net, 2, x); })));
}

TEST_CASE("autograd::grad of a Sequential in segments builds the plain graph of gradients", "[torch][checkpoint]") {
  seeded const seed{2};
  auto net = three_layers();
  auto const x = torch::randn({1, 100}).requires_grad_(true);
  auto const gradient = [&](Tensor const& y) {
    return torch::autograd::grad({y}, {x}, {torch::ones({1, 5})}, true, true)[0];
  };
  auto const plain = net->forward(x), again = checkpoint_sequential(net, 2, x);
  CHECK(same_bits(plain, again));
  auto const expected = gradient(plain), actual = gradient(again);
  CHECK(same_bits(expected, actual));
  CHECK(actual.requires_grad());
  expected.pow(2).sum().backward();
  auto const twice = take_grads(net->parameters());
  actual.pow(2).sum().backward();
  CHECK(same_bits(twice, take_grads(net->parameters())));
}

template <class... Inputs>
concept sequential_takes = requires(torch::nn::Sequential const& net, Inputs const&... inputs) {
  checkpoint_sequential(net, 1, inputs...);
};
static_assert(sequential_takes<Tensor>);
static_assert(!sequential_takes<>, "a Sequential needs an input");
static_assert(!sequential_takes<Tensor, Tensor>, "a Sequential has one input");

TEST_CASE("dropout in a region draws the numbers of its first run, after dropout outside", "[torch][checkpoint]") {
  seeded const seed{3};
  torch::nn::Dropout outside(0.5), inside(0.5);
  for (int round = 0; round < 5; ++round) {
    auto const x = torch::randn({20'000}).requires_grad_(true);
    auto generator = at::detail::getDefaultCPUGenerator();
    auto const before = generator.get_state();
    checkpoint([&](Tensor const& a) { return inside(a); }, outside(x)).sum().backward();
    auto const gradient = take_grads({x});
    auto const after = generator.get_state();
    generator.set_state(before);
    inside(outside(x)).sum().backward();
    CHECK(same_bits(gradient, take_grads({x})));
    CHECK(same_bits(after, generator.get_state()));
  }
}

TEST_CASE("an argument of a region may be an undefined tensor", "[torch][checkpoint]") {
  auto const x = torch::randn({1, 100}).requires_grad_(true);
  auto const f = [](Tensor const& a, Tensor const& b) { return b.defined() ? a + b : a; };
  checkpoint(f, std::tuple{x, Tensor{}}).sum().backward();
  CHECK(same_bits(take_grads({x})[0], torch::ones({1, 100})));
}

using mixed_result = std::tuple<int, Tensor, std::optional<Tensor>, bool, Tensor, std::string, Tensor>;

TEST_CASE("a region returns what its function returns, numbers and text between the tensors", "[torch][checkpoint]") {
  seeded const seed{4};
  auto const a = torch::rand({10}).requires_grad_(true), b = torch::rand({10}).requires_grad_(true),
             c = torch::rand({10});
  int const scale = 7;
  auto const f = [&](Tensor const& x, Tensor const& y, Tensor const& z) {
    auto sum = x + y * z, product = x * y + z;
    sum.mul_(scale);
    product.mul_(scale);
    return mixed_result{scale, sum, std::nullopt, true, product, "text", x};
  };
  auto const [number, sum, nothing, yes, product, text, input] = checkpoint(f, std::tuple{a, b, c});
  CHECK(number == scale);
  CHECK(same_bits(sum, ((a + b * c) * scale).detach()));
  CHECK_FALSE(nothing);
  CHECK(yes);
  CHECK(same_bits(product, ((a * b + c) * scale).detach()));
  CHECK(text == "text");
  CHECK(input.is_same(a));

  sum.sum().backward({}, true);
  product.sum().backward({}, true);
  auto const loss = input.sum();
  loss.backward();
  auto const gradients = take_grads({a, b});
  product.sum().backward();
  CHECK(message_of([&] { product.sum().backward(); }).find("second time") != std::string::npos);
  (void)take_grads({a, b});
  auto const plain = f(a, b, c);
  std::get<1>(plain).sum().backward({}, true);
  std::get<4>(plain).sum().backward({}, true);
  std::get<6>(plain).sum().backward();
  CHECK(same_bits(gradients, take_grads({a, b})));
}

TEST_CASE("a region without a tensor calls its function once", "[torch][checkpoint]") {
  int calls = 0;
  auto const [number, text] = checkpoint(
      [&] {
        ++calls;
        return std::pair{0.25 + 0.5 * 2, std::string{"text"}};
      },
      std::tuple<>{});
  CHECK(number == 1.25);
  CHECK(text == "text");
  CHECK(calls == 1);
}

TEST_CASE("a region may return an input that needs no gradient beside one that does", "[torch][checkpoint]") {
  auto const x = torch::randn({1, 4}).requires_grad_(true), other = torch::randn({1, 4});
  auto const [first, second] = checkpoint(
      [](Tensor const& a, Tensor const& b) {
        return std::pair{a, b};
      },
      std::tuple{x, other});
  CHECK_FALSE(second.requires_grad());
  first.sum().backward();
  CHECK(same_bits(take_grads({x})[0], torch::ones({1, 4})));
  auto const alone = checkpoint([](Tensor const& a, Tensor const&) { return a; }, std::tuple{other, x});
  CHECK_FALSE(alone.requires_grad());
}

/// Bytes that tensors hold whenever backward reaches one of three places in a chain of squares, the last place first.
std::vector<std::int64_t> bytes_along_backward(bool region, bool retain) {
  std::vector<std::int64_t> bytes;
  auto const x = torch::zeros({1 << 12}).requires_grad_(true);
  x.mutable_grad() = torch::zeros_like(x);
  byte_meter const meter;
  auto const look = [&](Tensor const& t) {
    t.register_hook([&](Tensor const&) { bytes.push_back(meter.allocated()); });
  };
  auto const f = [&](Tensor const& a) {
    auto const b = a.pow(2);
    look(b);
    auto const c = b.pow(2);
    look(c);
    auto const d = c.pow(2);
    look(d);
    return d.pow(2).sum();
  };
  (region ? checkpoint(f, x) : f(x)).backward({}, retain);
  return bytes;
}
TEST_CASE("a region gives its tensors back one by one during backward, also where the graph is kept",
          "[torch][checkpoint]") {
  auto const falls = [](std::vector<std::int64_t> const& bytes) {
    return bytes.size() == 3 && bytes[0] > bytes[1] && bytes[1] > bytes[2];
  };
  CHECK(falls(bytes_along_backward(false, false)));
  CHECK_FALSE(falls(bytes_along_backward(false, true)));
  CHECK(falls(bytes_along_backward(true, false)));
  CHECK(falls(bytes_along_backward(true, true)));
}

TEST_CASE("a region runs on tensors without data", "[torch][checkpoint]") {
  auto const x = torch::rand({10}, torch::kMeta).requires_grad_(true);
  auto const y = checkpoint([](Tensor const& a) { return a.sin().exp(); }, x);
  CHECK(y.is_meta());
  y.sum().backward();
  CHECK(x.grad().is_meta());
  CHECK(x.grad().sizes() == x.sizes());
}

TEST_CASE("many regions over one small network have the plain gradients, whether the inputs need one or not",
          "[torch][checkpoint]") {
  bool const inputs_too = GENERATE(true, false);
  seeded const seed{5};
  torch::nn::Sequential net(torch::nn::Linear(10, 100), torch::nn::ReLU(), torch::nn::Linear(100, 10));
  auto all = net->parameters();
  std::vector<Tensor> inputs;
  for (int k = 0; k < 200; ++k) inputs.push_back(torch::rand({1, 10}).requires_grad_(inputs_too));
  if (inputs_too) all.insert(all.end(), inputs.begin(), inputs.end());
  auto const gradients = [&](auto run) {
    std::vector<Tensor> results;
    for (auto const& x : inputs) results.push_back(run(x));
    torch::stack(results).mean().backward();
    return take_grads(all);
  };
  auto const f = [net = net.ptr()](Tensor const& x) { return net->forward<Tensor>(x); };
  CHECK(same_bits(gradients(f), gradients([&](Tensor const& x) { return checkpoint(f, x); })));
}

TEST_CASE("a region is made again in the type of its automatic casts, or without them", "[torch][checkpoint]") {
  bool const on = GENERATE(true, false);
  auto const x = torch::randn({3, 3}).requires_grad_(true), y = torch::randn({3, 3}).requires_grad_(true),
             z = torch::randn({3, 3}).requires_grad_(true);
  std::vector<at::ScalarType> types;
  auto const f = [&](Tensor const& a, Tensor const& b, Tensor const& c) {
    auto const product = torch::mm(torch::mm(a, b), c);
    types.push_back(product.scalar_type());
    return torch::mm(product, c).to(at::kFloat).sum();
  };
  auto const gradients = [&](bool plain) {
    auto const before = cl::detail::autocast_state{};
    cl::detail::switch_autocast(at::kCPU, on);
    cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
    auto const loss = plain ? f(x, y, z) : checkpoint(f, std::tuple{x, y, z}, CheckpointOptions().verify(true));
    at::autocast::clear_cache();
    before.set();
    loss.backward();
    return take_grads({x, y, z});
  };
  CHECK(same_bits(gradients(true), gradients(false)));
  auto const expected = on ? at::kBFloat16 : at::kFloat;
  CHECK(types == std::vector<at::ScalarType>{expected, expected});
}

TEST_CASE("a model with a region for each block needs less memory than the plain model", "[torch][checkpoint]") {
  seeded const seed{6};
  std::vector<torch::nn::Sequential> blocks;
  for (int k = 0; k < 8; ++k)
    blocks.emplace_back(torch::nn::Linear(64, 64), torch::nn::Linear(64, 64), torch::nn::Linear(64, 64));
  for (auto const& block : blocks)
    for (auto& p : block->parameters()) p.mutable_grad() = torch::zeros_like(p);
  auto const held = [&](bool regions) {
    byte_meter const meter;
    auto x = torch::randn({100, 64}).requires_grad_(true);
    for (auto const& block : blocks) {
      auto const f = [net = block.ptr()](Tensor const& a) { return net->forward<Tensor>(a); };
      x = regions ? checkpoint(f, x) : f(x);
    }
    auto const after_forward = meter.allocated();
    x.sum().backward();
    return std::pair{after_forward, meter.peak()};
  };
  auto const [plain, plain_peak] = held(false);
  auto const [checkpointed, checkpointed_peak] = held(true);
  CHECK(checkpointed * 2 < plain);
  CHECK(checkpointed_peak < plain_peak);
}

/// Saves inputs, a result of its own and what it computed in between, and reads them twice in backward.
struct product_function : torch::autograd::Function<product_function> {
  static Tensor forward(torch::autograd::AutogradContext* context, Tensor const& x, Tensor const& y, Tensor const& z) {
    auto const w = x * y * z, out = w + w;
    context->save_for_backward({x, y, z, w, out});
    return out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list const& grads) {
    auto const first = context->get_saved_variables(), second = context->get_saved_variables();
    read_twice_the_same = same_bits(first, second);
    auto const g = grads[0] * 2;
    return {g * first[1] * first[2], g * second[0] * first[2], g * first[0] * second[1]};
  }
  static inline bool read_twice_the_same = false;
};
TEST_CASE("a function of one's own that reads what it saved twice has the plain gradients in a region",
          "[torch][checkpoint]") {
  auto const x = torch::full({}, 1.0).requires_grad_(true), y = torch::full({}, 2.0).requires_grad_(true),
             z = torch::full({}, 3.0).requires_grad_(true);
  auto const f = [](Tensor const& a, Tensor const& b, Tensor const& c) {
    return product_function::apply(a * b * c, b * b * c, c * c);
  };
  f(x, y, z).backward();
  auto const plain = take_grads({x, y, z});
  product_function::read_twice_the_same = false;
  checkpoint(f, std::tuple{x, y, z}).backward();
  CHECK(same_bits(plain, take_grads({x, y, z})));
  CHECK(product_function::read_twice_the_same);
}

/// Saves its second input, and keeps what it reads in backward.
struct keeping_function : torch::autograd::Function<keeping_function> {
  static Tensor forward(torch::autograd::AutogradContext* context, Tensor const& x, Tensor const& y) {
    context->save_for_backward({y});
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list const& grads) {
    read = context->get_saved_variables()[0];
    return {grads[0], Tensor{}};
  }
  static inline Tensor read;
};
TEST_CASE("an input without gradient that a function of one's own saved is read from its own memory",
          "[torch][checkpoint]") {
  auto const a = torch::ones({4}).requires_grad_(true), b = torch::ones({4});
  checkpoint([](Tensor const& x, Tensor const& y) { return keeping_function::apply(x, y); }, std::tuple{a, b})
      .sum()
      .backward();
  REQUIRE(keeping_function::read.defined());
  CHECK(keeping_function::read.data_ptr() == b.data_ptr());
  CHECK_FALSE(keeping_function::read.requires_grad());
  keeping_function::read = Tensor{};
}

TEST_CASE("what a region saved can be read outside of backward, which makes it again each time",
          "[torch][checkpoint]") {
  auto const& again = cl::detail::region_totals()->again;
  auto const x = torch::randn({5}).requires_grad_(true);
  auto const y = checkpoint(
      [](Tensor const& a) {
        auto const b = a * a;
        (void)(a * b);
        return torch::exp(a) * 1;
      },
      x);
  auto const node =
      std::dynamic_pointer_cast<torch::autograd::generated::ExpBackward0>(y.grad_fn()->next_edge(0).function);
  REQUIRE(node);
  auto const before = again.load();
  CHECK(same_bits(node->result_.unpack(node), y.detach()));
  CHECK(again == before + 1);
  CHECK(same_bits(node->result_.unpack(node), y.detach()));
  CHECK(again == before + 2);
  y.sum().backward();
  CHECK(again == before + 3);
  CHECK(same_bits(take_grads({x})[0], y.detach()));
  CHECK_FALSE(message_of([&] { (void)node->result_.unpack(node); }).empty());
}

TEST_CASE("a backward that failed leaves the next region as it is", "[torch][checkpoint]") {
  auto const x = torch::randn({2, 2}).requires_grad_(true), shift = torch::zeros({2, 2});
  auto const fails = checkpoint([&](Tensor const& a) { return (a + shift).exp(); }, x).sum();
  shift.add_(1);
  CHECK_FALSE(message_of([&] { (void)torch::autograd::grad({fails}, {x}); }).empty());
  checkpoint([](Tensor const& a) { return a.exp(); }, x).sum().backward();
  CHECK(same_bits(take_grads({x})[0], x.exp().detach()));
}

TEST_CASE("a region whose function switches gradients off is a constant", "[torch][checkpoint]") {
  torch::nn::Linear first(2, 2), second(2, 2);
  auto const x = torch::randn({2, 2}).requires_grad_(true);
  auto const f = [&](Tensor const& a) {
    torch::NoGradGuard const off;
    return second(first(a));
  };
  for (int round = 0; round < 3; ++round) {
    auto const y = checkpoint(f, x);
    CHECK_FALSE(y.requires_grad());
    (y + x).sum().backward();
    CHECK(same_bits(take_grads({x})[0], torch::ones({2, 2})));
  }
}

TEST_CASE("backward and autograd::grad of a region have the plain bits", "[torch][checkpoint]") {
  auto const x = torch::randn({2, 2}).requires_grad_(true);
  auto const f = [](Tensor const& a) { return torch::exp(a); };
  f(x).sum().backward();
  auto const plain = take_grads({x})[0];
  checkpoint(f, x).sum().backward();
  CHECK(same_bits(plain, take_grads({x})[0]));
  CHECK(same_bits(plain, torch::autograd::grad({checkpoint(f, x).sum()}, {x})[0]));
}

TEST_CASE("a hook on a weight that is used in and outside of a region fires once, on the whole gradient",
          "[torch][checkpoint]") {
  auto const w = torch::randn({10, 10}).requires_grad_(true), x = torch::rand({10, 10}).requires_grad_(true);
  int fired = 0;
  Tensor seen;
  w.register_hook([&](Tensor const& g) {
    ++fired;
    seen = g.clone();
  });
  checkpoint([&](Tensor const& a) { return w * a; }, w * x).sum().backward();
  CHECK(fired == 1);
  CHECK(same_bits(seen, take_grads({w})[0]));
}

TEST_CASE("a region takes a dictionary and gives one", "[torch][checkpoint]") {
  using dictionary = torch::OrderedDict<std::string, Tensor>;
  torch::nn::Linear layer(torch::nn::LinearOptions(5, 5).bias(false));
  dictionary inputs;
  inputs.insert("tensor", torch::randn({5, 5}));
  auto const f = [&](dictionary const& in) {
    dictionary out;
    out.insert("result", layer(in["tensor"]));
    return out;
  };
  auto const plain = f(inputs)["result"].sum(), again = checkpoint(f, inputs)["result"].sum();
  CHECK(same_bits(plain.detach(), again.detach()));
  plain.backward();
  auto const expected = take_grads(layer->parameters());
  again.backward();
  CHECK(same_bits(expected, take_grads(layer->parameters())));
}

}  // namespace checkpoint_semantics_tests
