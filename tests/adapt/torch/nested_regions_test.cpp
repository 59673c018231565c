// SPDX-License-Identifier: Apache-2.0
// Regions in regions, in gradients of gradients and in hooks: what they compute, and that their graphs end with their
// results.
#include "support/torch.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/memory_stats.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace nested_regions_tests {

using at::Tensor;
using cl::checkpoint;
using support::same_bits;
using support::seeded;
using support::take_grads;
using function = std::function<Tensor(Tensor const&)>;

/// x -> df/dx of a scalar f, with a graph of its own.
function gradient_of(function f) {
  return [f = std::move(f)](Tensor const& x) {
    at::AutoGradMode const on{true};
    return torch::autograd::grad({f(x)}, {x}, {}, true, true)[0];
  };
}
function sum_of(function f) {
  return [f = std::move(f)](Tensor const& x) { return f(x).sum(); };
}
function region_of(function f) {
  return [f = std::move(f)](Tensor const& x) { return checkpoint(f, x); };
}

/// How many nodes of the graph of f(x) live on when its result and x are gone.
std::size_t nodes_left(function const& f, at::IntArrayRef sizes) {
  std::vector<std::weak_ptr<torch::autograd::Node>> nodes;
  {
    auto const y = f(torch::randn(sizes).requires_grad_(true));
    std::vector<std::shared_ptr<torch::autograd::Node>> waiting{y.grad_fn()};
    std::unordered_set<torch::autograd::Node*> seen;
    while (!waiting.empty()) {
      auto const node = waiting.back();
      waiting.pop_back();
      if (!node || !seen.insert(node.get()).second) continue;
      nodes.emplace_back(node);
      for (auto const& edge : node->next_edges()) waiting.push_back(edge.function);
    }
  }
  std::size_t left = 0;
  for (auto const& node : nodes) left += node.expired() ? 0U : 1U;
  return left;
}

TEST_CASE("derivatives up to the third are the plain ones wherever regions stand in them, and their graphs end",
          "[torch][checkpoint]") {
  seeded const seed{1};
  auto const c = [&](function f) { return region_of(std::move(f)); };
  auto const d = [](function f) { return gradient_of(std::move(f)); };
  function const f = [](Tensor const& x) { return x.sin().exp().sin(); };
  function const g = [](Tensor const& x) {  // it differentiates two values inside, and needs neither
    auto const a = x.sin().exp().sin(), b = x.sin().exp().sin();
    (void)torch::autograd::grad({a}, {x});
    (void)torch::autograd::grad({b}, {x});
    return x.sin();
  };
  for (auto const& one : {f, g}) {
    std::vector<std::pair<function, std::vector<function>>> const cases{
        {one, {c(one), c(c(one))}},
        {d(one), {d(c(one)), d(c(c(one)))}},
        {d(d(one)), {d(c(d(one))), c(d(d(c(one)))), d(c(d(c(one))))}},
        {d(d(d(one))), {d(c(d(d(c(one))))), d(c(d(c(d(c(one))))))}}};
    auto const x = torch::randn({}).requires_grad_(true);
    for (auto const& [plain, nested] : cases) {
      auto const expected = plain(x);
      for (auto const& actual : nested) {
        CHECK(torch::allclose(expected, actual(x)));
        CHECK(nodes_left(actual, {}) == 0);
      }
    }
  }
}

TEST_CASE("two regions in a region have the plain second derivative, and their graphs end", "[torch][checkpoint]") {
  seeded const seed{2};
  auto const c = [&](function f) { return region_of(std::move(f)); };
  auto const d = [](function f) { return gradient_of(sum_of(std::move(f))); };
  function const f = [](Tensor const& x) { return x.sin().exp().sin(); };
  function const g = [](Tensor const& x) { return x.cos().sin().exp(); };
  function const plain = [&](Tensor const& x) { return g(f(x)); };
  function const parts = [&](Tensor const& x) { return c(g)(c(f)(x)); };
  auto const x = torch::randn({3, 3}).requires_grad_(true);
  auto const expected = d(d(plain))(x);
  CHECK(torch::allclose(expected, d(d(c(parts)))(x)));
  CHECK(torch::allclose(expected, d(c(d(c(parts))))(x)));
  CHECK(nodes_left(d(c(parts)), {3, 3}) == 0);
  CHECK(nodes_left(d(d(c(parts))), {3, 3}) == 0);
  CHECK(nodes_left(d(c(d(c(parts)))), {3, 3}) == 0);
}

TEST_CASE("a number and a function may be captured, and stand beside the result", "[torch][checkpoint]") {
  auto const a = torch::full({}, 2.0).requires_grad_(true), b = torch::full({}, 3.0).requires_grad_(true);
  int const k = 3;
  function const inside = [](Tensor const& x) { return x.sin(); };
  auto const f = [=](Tensor const& x, Tensor const& y) {
    return std::tuple{inside(k * x * y.exp()), 1, std::string{"text"}};
  };
  auto const again = std::get<0>(checkpoint(f, std::tuple{a, b}));
  auto const actual = torch::autograd::grad({again}, {a, b});
  CHECK(same_bits(torch::autograd::grad({std::get<0>(f(a, b))}, {a, b}), actual));
}

TEST_CASE("an argument that is left out and one that is given have the plain gradients", "[torch][checkpoint]") {
  bool const given = GENERATE(true, false);
  auto const a = torch::full({}, 2.0).requires_grad_(true), b = torch::full({}, 3.0).requires_grad_(true);
  auto const f = [](Tensor const& x, Tensor const& factor) {
    auto const y = x.sin().exp();
    return (factor.defined() ? y * factor : y).sin().exp();
  };
  auto const factor = given ? b : Tensor{};
  std::vector<Tensor> const wanted = given ? std::vector<Tensor>{a, b} : std::vector<Tensor>{a};
  auto const actual =
      torch::autograd::grad({checkpoint(f, std::tuple{a, factor})}, wanted);
  CHECK(same_bits(torch::autograd::grad({f(a, factor)}, wanted), actual));
}

/// Counts how often backward passes a node.
struct counting_hook final : torch::autograd::FunctionPostHook {
  explicit counting_hook(std::function<void()> what) : called{std::move(what)} {}
  torch::autograd::variable_list operator()(torch::autograd::variable_list const& outputs,
                                            torch::autograd::variable_list const&) override {
    called();
    return outputs;
  }
  std::function<void()> called;
};

TEST_CASE("backward runs on the graph of the first run, where hooks of its nodes are called", "[torch][checkpoint]") {
  int called = 0;
  auto const a = torch::full({}, 1.0).requires_grad_(true);
  auto const y =
      checkpoint([](Tensor const& x) { return x.sin().cos().sin(); }, a);
  y.grad_fn()->next_edge(0).function->add_post_hook(std::make_unique<counting_hook>([&] { ++called; }));
  y.backward();
  CHECK(called == 1);
}

TEST_CASE("a hook in the backward pass of a region may run a backward pass through the same region",
          "[torch][checkpoint]") {
  auto const a = torch::full({}, 1.0).requires_grad_(true);
  auto const run = [&](bool plain) {
    auto const f = [](Tensor const& x) {
      auto const y = x.sin().cos();
      return std::pair{y, y.sin()};
    };
    auto const [part, whole] = plain ? f(a) : checkpoint(f, a);
    whole.grad_fn()->add_post_hook(std::make_unique<counting_hook>([inner = part] { inner.backward({}, true); }));
    whole.backward({}, true);
    return take_grads({a});
  };
  CHECK(same_bits(run(true), run(false)));
}

/// How often blocks of that size are taken from the heap while f runs.
int blocks_of(std::int64_t bytes, std::function<void()> const& f) {
  int blocks = 0;
  auto const hook = cl::register_memory_hook(
      [&](c10::Device, std::int64_t allocated, std::int64_t) { blocks += allocated >= bytes; });
  f();
  return blocks;
}

TEST_CASE("a region whose only saved tensor is its input computes nothing again", "[torch][checkpoint]") {
  auto const a = torch::ones({1 << 12}).requires_grad_(true);
  auto const backward = [&](bool plain) {
    auto const f = [](Tensor const& x) { return x.sin(); };
    auto const y = (plain ? f(a) : checkpoint(f, a)).sum();
    auto const blocks = blocks_of(std::int64_t(a.nbytes()), [&] { y.backward(); });
    CHECK(same_bits(take_grads({a})[0], a.cos().detach()));
    return blocks;
  };
  CHECK(backward(false) == backward(true));
}

/// The most bytes at once of a step of a chain of blocks: each block of several operators, in regions or not.
struct blocks_of_layers {
  std::vector<Tensor> w;
  Tensor x = torch::randn({64, 64}).requires_grad_(true);
  explicit blocks_of_layers(std::size_t blocks) {
    for (std::size_t k = 0; k < blocks; ++k) w.push_back((torch::randn({64, 64}) / 8).requires_grad_(true));
    for (auto const& one : w) one.mutable_grad() = torch::zeros_like(one);
    x.mutable_grad() = torch::zeros_like(x);
  }
  [[nodiscard]] static Tensor block(Tensor const& h, Tensor const& by) {
    auto y = h;
    for (int k = 0; k < 4; ++k) y = torch::tanh(y.mm(by)).sin();
    return y;
  }
  static constexpr std::int64_t size = 64 * 64 * 4;
  /// Results of tanh and sine that a block saves, in tensors of `size`.
  static constexpr std::int64_t saved = 4 * 2;
  template <class Run>
  [[nodiscard]] std::int64_t peak(Run const& run) const {
    cl::byte_meter const meter;
    run().sum().backward();
    return meter.peak() / size;
  }
};

TEST_CASE("regions in a row, and regions in regions, hold what one block of each depth takes", "[torch][checkpoint]") {
  seeded const seed{8};
  constexpr std::int64_t blocks = 16, per_outer = 4;
  blocks_of_layers const of{std::size_t(blocks)};
  auto const row = [&](std::size_t from, std::size_t to, Tensor h, bool regions) {
    for (auto k = from; k < to; ++k) {
      auto const f = [&w = of.w[k]](Tensor const& a) { return blocks_of_layers::block(a, w); };
      h = regions ? checkpoint(f, h) : f(h);
    }
    return h;
  };
  auto const plain = of.peak([&] { return row(0, std::size_t(blocks), of.x, false); });
  CHECK(plain >= blocks * blocks_of_layers::saved);
  auto const in_a_row = of.peak([&] { return row(0, std::size_t(blocks), of.x, true); });
  CHECK(in_a_row <= blocks + blocks_of_layers::saved + 4);  // inputs, one block, and gradients on their way
  auto const nested = of.peak([&] {
    auto h = of.x;
    for (std::int64_t k = 0; k < blocks; k += per_outer)
      h = checkpoint([&, k](Tensor const& a) { return row(std::size_t(k), std::size_t(k + per_outer), a, true); }, h);
    return h;
  });
  CHECK(nested <= blocks / per_outer + per_outer + blocks_of_layers::saved + 4);
}

TEST_CASE("regions in a call within a limit drop what is in them, and the limit drops the rest",
          "[torch][checkpoint][record]") {
  seeded const seed{9};
  constexpr std::size_t blocks = 12;
  blocks_of_layers const of{blocks};
  auto const row = [&](Tensor const& x, bool regions) {
    auto h = x;
    for (auto const& w : of.w) {
      auto const f = [&](Tensor const& a) { return torch::dropout(blocks_of_layers::block(a, w), 0.1, true); };
      h = (regions ? checkpoint(f, h) : f(h)).sin();
    }
    return h;
  };
  auto const step = [&](auto const& run) {
    torch::manual_seed(3);
    for (auto const& w : of.w) w.mutable_grad() = Tensor{};
    of.x.mutable_grad() = Tensor{};
    auto const y = run(of.x);
    y.sum().backward({}, true);
    y.sum().backward();
    auto left = take_grads(of.w);
    left.push_back(of.x.grad());
    left.push_back(torch::rand({2}));
    return left;
  };
  auto const expected = step([&](Tensor const& x) { return row(x, false); });
  auto const size = blocks_of_layers::size;
  for (std::int64_t const limit : {1000 * size, 30 * size, 22 * size}) {
    auto const within = cl::checkpoint_module([&](Tensor const& x) { return row(x, true); }, limit,
                                              cl::ModuleOptions().verify(true));
    CHECK(same_bits(expected, step(within)));
    CAPTURE(limit / size, within.report().peak / size);
    CHECK(within.report().peak <= limit);
    if (limit == 1000 * size) {
      // A block's input, which is the result of a sine, and what the sine saves; one block, twice, and gradients.
      CHECK(within.report().peak <= (2 * std::int64_t(blocks) + 2 * blocks_of_layers::saved) * size);
      CHECK(within.report().dropped == 0);
    }
  }
}

}  // namespace nested_regions_tests
