// SPDX-License-Identifier: Apache-2.0
// Modules and functions captured into graphs of operations: the bits of the plain call, what is refused and why, and
// when a capture is made.
#include "support/torch.hpp"
#include "models/captured_models.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>
#include <torch/jit.h>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/graph/detail/capture.hpp>
#include <cairn/adapt/torch/graph/detail/capture_cache.hpp>

namespace graph_capture_tests {

using at::Tensor;
using cl::tensor_list;
using cl::detail::call_capture;
using cl::detail::capture_cache;
using cl::detail::captured_call;
using cl::detail::captured_graph;
using cl::detail::tensor_call;
using support::same_bits;
using support::seeded;
using support::take_grads;
using Catch::Matchers::ContainsSubstring;
namespace models = captured_models;

/// Runs the operations one by one, all of it recorded by autograd.
tensor_list replay(captured_graph const& graph, tensor_list const& inputs) {
  std::vector<tensor_list> values;
  auto const of = [&](cl::detail::tensor_source source) {
    auto const place = std::size_t(source.output);
    if (source.operation >= 0) return values[std::size_t(source.operation)][place];
    return place < graph.inputs ? inputs[place] : graph.leaves[place];
  };
  for (auto const& one : graph.operations) {
    tensor_list taken;
    for (auto const source : one.inputs) taken.push_back(of(source));
    values.push_back(one.run(taken));
    if (std::int32_t(values.back().size()) != one.results) throw std::logic_error("other results than promised");
  }
  tensor_list results;
  for (auto const source : graph.results) results.push_back(of(source));
  return results;
}

template <class Module>
tensor_call call_of(Module module) {
  return [module](tensor_list const& in) mutable -> tensor_list {
    if constexpr (requires { module->forward(in[0], in[1]); }) {
      auto const [a, b] = module->forward(in[0], in[1]);
      return {a, b};
    } else return {module->forward(in[0])};
  };
}
captured_call capture(tensor_call const& call, tensor_list const& inputs, torch::nn::Module const* module = nullptr) {
  return call_capture::make(call, inputs, module);
}
std::string refusal(tensor_call const& call, tensor_list const& inputs, torch::nn::Module const* module = nullptr) {
  auto const made = capture(call, inputs, module);
  CHECK(made.graph == nullptr);
  CHECK_FALSE(torch::jit::tracer::isTracing());
  return made.refused;
}

struct outcome {
  tensor_list results, gradients, buffers;
  Tensor random;
};
/// One training step: results, gradients of inputs and parameters, buffers, and the next random number.
outcome step(std::function<tensor_list(tensor_list const&)> const& run, tensor_list const& inputs,
             torch::nn::Module& module, tensor_list const& buffers_before) {
  seeded const seed{7};
  torch::NoGradGuard const off;
  auto const buffers = module.buffers();
  for (std::size_t k = 0; k < buffers.size(); ++k) buffers[k].copy_(buffers_before[k]);
  tensor_list leaves, all = module.parameters();
  for (auto const& t : inputs) leaves.push_back(t.detach().clone().requires_grad_(t.is_floating_point()));
  for (auto const& t : leaves) if (t.requires_grad()) all.push_back(t);
  at::AutoGradMode const on{true};
  outcome found;
  tensor_list taken;
  for (auto const& t : leaves) taken.push_back(t.requires_grad() ? t * 1 : t);
  found.results = run(taken);
  Tensor loss = torch::zeros({});
  for (auto const& t : found.results) loss = loss + (t * torch::linspace(0.5, 1.5, t.numel()).view(t.sizes())).sum();
  loss.backward();
  found.gradients = take_grads(all);
  for (auto const& t : buffers) found.buffers.push_back(t.detach().clone());
  found.random = torch::rand({3});
  return found;
}
/// Captures the module, replays it on other inputs, and holds a training step against the plain one.
template <class Module>
std::shared_ptr<captured_graph const> check_like_plain(Module module, tensor_list const& inputs,
                                                       tensor_list const& others) {
  tensor_list before;
  for (auto const& t : module->buffers()) before.push_back(t.detach().clone());
  auto const call = call_of(module);
  Tensor const random_before = [] { seeded const seed{9}; return torch::rand({2}); }();
  captured_call made;
  tensor_list asked;
  for (auto const& t : inputs) asked.push_back(t.detach().clone().requires_grad_(t.is_floating_point()));
  {
    seeded const seed{9};
    made = capture(call, asked, module.get());
    CHECK(same_bits(torch::rand({2}), random_before));  // as if nothing had run
  }
  CAPTURE(made.refused);
  REQUIRE(made.graph != nullptr);
  CHECK(same_bits(module->buffers(), before));
  auto const graph = made.graph;
  for (auto const& in : {inputs, others}) {
    auto const plain = step(call, in, *module, before);
    auto const again = step([&](tensor_list const& x) { return replay(*graph, x); }, in, *module, before);
    CHECK(same_bits(plain.results, again.results));
    CHECK(same_bits(plain.gradients, again.gradients));
    CHECK(same_bits(plain.buffers, again.buffers));
    CHECK(same_bits(plain.random, again.random));
  }
  return graph;
}
std::string names_of(captured_graph const& graph) {
  std::string text;
  for (auto const& one : graph.operations) text += one.name + "\n";
  return text;
}

TEST_CASE("a residual network is captured as it is, batch norms, changes in place and all", "[torch][graph]") {
  torch::manual_seed(1);
  models::ResNet net(3);
  auto const graph = check_like_plain(net, {torch::randn({2, 3, 16, 16})}, {torch::randn({2, 3, 16, 16})});
  INFO(names_of(*graph));
  CHECK(graph->operations.size() <= 26);
  std::size_t changing = 0;
  for (auto const& one : graph->operations) changing += one.changing.size();
  CHECK(changing == 8 * 3);  // means, variances and counts of eight batch norms
  net->eval();
  auto const other = check_like_plain(net, {torch::randn({2, 3, 16, 16})}, {torch::randn({2, 3, 16, 16})});
  for (auto const& one : other->operations) CHECK(one.changing.empty());
}

TEST_CASE("a language model is captured as it is, views, dropout, embeddings and a weight used twice",
          "[torch][graph]") {
  torch::manual_seed(2);
  double const dropped = GENERATE(0.0, 0.1);
  models::LanguageModel net(11, 16, 2, 8, 2, dropped);
  auto const graph =
      check_like_plain(net, {torch::randint(11, {2, 8}, torch::kLong)}, {torch::randint(11, {2, 8}, torch::kLong)});
  INFO(names_of(*graph));
  CHECK(graph->operations.size() <= 2 * 11 + 6);
  bool draws = false;
  for (auto const& one : graph->operations) draws = draws || one.draws;
  CHECK(draws == (dropped > 0));
}

TEST_CASE("a network that goes down and up is captured as it is, with what it reads twice", "[torch][graph]") {
  torch::manual_seed(3);
  models::UNet net;
  auto const graph = check_like_plain(net, {torch::randn({2, 3, 8, 8})}, {torch::randn({2, 3, 8, 8})});
  INFO(names_of(*graph));
  CHECK(graph->operations.size() <= 8);
}

TEST_CASE("two inputs, two results and weights that are used twice", "[torch][graph]") {
  torch::manual_seed(4);
  models::Pairs net;
  auto const graph =
      check_like_plain(net, {torch::randn({8, 8}), torch::randn({8, 8})}, {torch::randn({8, 8}), torch::randn({8, 8})});
  INFO(names_of(*graph));
  CHECK(graph->results.size() == 2);
  CHECK(graph->inputs == 2);
}

TEST_CASE("no result lies in the memory of what it reads, and each tensor is read once by an operation",
          "[torch][graph]") {
  torch::manual_seed(5);
  models::LanguageModel net(11, 16, 2, 8, 1, 0.1);
  tensor_list const inputs{torch::randint(11, {2, 8}, torch::kLong)};
  auto const graph = capture(call_of(net), inputs, net.get()).graph;
  REQUIRE(graph != nullptr);
  std::vector<tensor_list> values;
  for (auto const& one : graph->operations) {
    tensor_list taken;
    for (auto const source : one.inputs) {
      auto const place = std::size_t(source.output);
      taken.push_back(source.operation >= 0 ? values[std::size_t(source.operation)][place]
                      : place < graph->inputs ? inputs[place] : graph->leaves[place]);
    }
    for (std::size_t k = 0; k < taken.size(); ++k)
      for (std::size_t j = 0; j < k; ++j) CHECK_FALSE(taken[k].is_same(taken[j]));
    values.push_back(one.run(taken));
    for (auto const& result : values.back()) for (auto const& t : taken) CHECK_FALSE(result.is_alias_of(t));
  }
}

TEST_CASE("what no graph can say is refused with the reason, and the tracer is off again", "[torch][graph]") {
  torch::manual_seed(6);
  auto const w = torch::randn({4, 4}).requires_grad_();
  auto const x = torch::randn({4, 4});
  auto const one = [](auto f) { return [f](tensor_list const& in) { return tensor_list{f(in[0])}; }; };
  auto const says = [&](auto f, char const* text) { CHECK_THAT(refusal(one(f), {x}), ContainsSubstring(text)); };

  says([&](Tensor const& t) { return t.sum().item<float>() > 0 ? t.mm(w) : t + w; },
       "reads a value of a tensor by aten::item");
  says([&](Tensor const& t) { return torch::equal(t, w) ? t.mm(w) : t + w; },
       "reads a value of a tensor by aten::equal");
  says([&](Tensor const& t) { return t.masked_select(t > 0).sum() * w; }, "sizes of results depend on values");
  says([&](Tensor const& t) { return t.index({t > 0}).sum() * w; }, "sizes of results depend on values");
  says(
      [&](Tensor const& t) {
        return w * torch::tensor({1.f, 2.f, 3.f, t.data_ptr<float>()[0]});
      },
      "makes a tensor around LibTorch's operators");
  says([&](Tensor const& t) { return t.view({2, 8}); }, "a result lies in the memory of an input or a parameter");
  says([&](Tensor t) { return t.add_(1).mm(w); }, "changes an input");
  says(
      [&](Tensor const& t) {
        {
          at::NoGradGuard const off;
          w.mul_(1);
        }
        return t.mm(w);
      },
      "changes a parameter in place");
  says(
      [&](Tensor const& t) {
        auto y = t.mm(w);
        y.register_hook([](Tensor const& g) { return g; });
        return y.exp();
      },
      "has a hook");
  says([&](Tensor const&) -> Tensor { throw std::runtime_error("the user's own"); },
       "error while it was traced: the user's own");
  says([&](Tensor const&) -> Tensor { throw 3; }, "exception while it was traced");
  says(
      [&](Tensor const& t) {
        return capture(one([&](Tensor const& a) { return a.mm(w); }), {t}).graph ? t : t.mm(Tensor{});
      },
      "while it was traced");
  auto const history = w * 2;
  says([&](Tensor const& t) { return t.mm(history); }, "a tensor with a history that is not one of its inputs");
  says([&](Tensor const& t) {
    Tensor y;
    std::thread([&] { y = t.exp() * 2; }).join();
    return y.mm(w);
  }, "makes a tensor around LibTorch's operators");
  auto own = at::detail::createCPUGenerator(3);
  auto const stood = own.get_state();
  says([&](Tensor const& t) { return t.sigmoid().bernoulli(own).mm(w); }, "names the generator");
  CHECK(torch::equal(own.get_state(), stood));
  CHECK_THAT(refusal(
                 [&](tensor_list const& in) {
                   return tensor_list{in[0].mm(w), Tensor{}};
                 },
                 {x}),
             ContainsSubstring("undefined"));
  CHECK_THAT(refusal(one([&](Tensor const& t) { return t * 2; }), {x.to_sparse()}),
             ContainsSubstring("no memory of its own"));
}

/// A sum whose adjoint is twice what it should be.
struct TwiceBack : torch::autograd::Function<TwiceBack> {
  static Tensor forward(torch::autograd::AutogradContext*, Tensor const& x) { return x.exp(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list g) {
    return {g[0] * 2};
  }
};

TEST_CASE("adjoints of one's own are refused, and parts without gradients are captured", "[torch][graph]") {
  torch::manual_seed(7);
  auto const w = torch::randn({4, 4}).requires_grad_();
  auto const x = torch::randn({4, 4});
  CHECK_THAT(refusal([&](tensor_list const& in) { return tensor_list{TwiceBack::apply(in[0].mm(w))}; }, {x}),
             ContainsSubstring("autograd"));

  auto const part = [&](tensor_list const& in) {
    auto const y = in[0].mm(w).exp();
    Tensor scale;
    {
      at::NoGradGuard const off;
      scale = y.mm(w).norm();
    }
    return tensor_list{y / scale + y.detach()};
  };
  auto const made = capture(part, {x});
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const gradient = [&](tensor_list const& y) {
    y[0].sum().backward();
    return take_grads({w})[0];
  };
  CHECK(same_bits(gradient(part({x})), gradient(replay(*made.graph, {x}))));
}

TEST_CASE("views move only where sums of gradients keep their order", "[torch][graph]") {
  torch::manual_seed(8);
  auto const w = (torch::randn({6, 6}) * 3).requires_grad_();
  // Three and more readers of one tensor, with views between them: 1/3 + 1/7 + 1/11 rounds by its order.
  auto const call = [&](tensor_list const& in) -> tensor_list {
    auto const y = in[0].mm(w);
    auto const a = y.sin();
    auto const b = y.view({36});
    auto const c = (y / 3).exp();
    auto const d = b.cos();
    auto const e = y.t();
    auto const f = (b / 7).tanh(), g = e / 11;
    auto const h = y.chunk(2, 1);
    auto const k = w.t(), m = w.view({36});
    return {a + c + g * k, d * f + m, h[0] * h[1], e.mm(k), (w / 5).exp()};
  };
  auto const x = torch::randn({6, 6});
  auto const made = capture(call, {x});
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const gradient = [&](tensor_list const& y) {
    Tensor loss = torch::zeros({});
    for (auto const& t : y) loss = loss + (t * torch::linspace(0.1, 1.7, t.numel()).view(t.sizes())).sum();
    loss.backward();
    return take_grads({w})[0];
  };
  CHECK(same_bits(gradient(call({x})), gradient(replay(*made.graph, {x}))));
}

TEST_CASE("changes in place through views are part of the operation that made the memory", "[torch][graph]") {
  torch::manual_seed(9);
  auto const w = torch::randn({6, 6}).requires_grad_();
  auto const call = [&](tensor_list const& in) -> tensor_list {
    auto y = in[0].mm(w);
    auto const z = w.exp();
    y.select(0, 1).mul_(3);
    y.slice(1, 0, 2).copy_(z.slice(1, 2, 4));
    auto out = torch::empty({6, 6});
    {
      at::NoGradGuard const off;
      torch::add_out(out, z, 1);
    }
    return {y.exp() * out, z.sigmoid()};
  };
  auto const x = torch::randn({6, 6});
  auto const made = capture(call, {x});
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const gradient = [&](tensor_list const& y) {
    (y[0].sum() + y[1].sum()).backward();
    return take_grads({w})[0];
  };
  auto const plain = call({x}), again = replay(*made.graph, {x});
  CHECK(same_bits(plain, again));
  CHECK(same_bits(gradient(plain), gradient(again)));
}

TEST_CASE("a capture is made once for each kind of call", "[torch][graph]") {
  torch::manual_seed(10);
  models::Pairs net;
  auto const call = call_of(net);
  capture_cache cache{3};
  auto const x = torch::randn({4, 8}), y = torch::randn({4, 8});
  auto const first = cache.of(call, {x, y}, net.get());
  CHECK(cache.of(call, {y, x}, net.get()) == first);
  CHECK(cache.captures() == 1);
  auto const is_new = [&](tensor_list const& in) {
    auto const before = cache.captures();
    (void)cache.of(call, in, net.get());
    CHECK(cache.size() <= 3);
    return cache.captures() == before + 1;
  };
  CHECK(is_new({torch::randn({5, 8}), torch::randn({5, 8})}));
  CHECK(is_new({x, x}));
  CHECK(is_new({x.clone().requires_grad_(), y}));
  CHECK(is_new({torch::randn({8, 4}).t(), y}));
  CHECK(is_new({x, y}));  // the bound let it go
  CHECK_FALSE(is_new({x, y}));
  net->eval();
  CHECK(is_new({x, y}));
  net->train();
  CHECK_FALSE(is_new({x, y}));
  net->shared->eval();
  CHECK(is_new({x, y}));
  net->shared->train();
  net->shared->weight.requires_grad_(false);
  CHECK(is_new({x, y}));
  net->shared->weight.requires_grad_(true);
  net->to(torch::kDouble);
  CHECK(is_new({x.to(torch::kDouble), y.to(torch::kDouble)}));
}

/// Reads its parameter late and its input early, and adds its input to a buffer if it counts.
struct OwnInputImpl : torch::nn::Module {
  Tensor w = register_parameter("w", torch::rand({64, 64})), v = register_parameter("v", torch::rand({64, 1}));
  Tensor sum = register_buffer("sum", torch::rand({64, 64}));
  bool counts = false;
  Tensor forward(Tensor const& x) {
    torch::NoGradGuard const off;
    if (counts) x.add_(1);
    at::AutoGradMode const on{true};
    return x.mm(v).tanh().t().mm(w) + sum.sum();
  }
};
TORCH_MODULE(OwnInput);

TEST_CASE("an input that is a parameter or a buffer of the module is one leaf, and such a call has its own capture",
          "[torch][graph]") {
  torch::manual_seed(14);
  OwnInput net;
  auto const call = call_of(net);
  auto const x = torch::rand({64, 64}).requires_grad_();
  for (bool const begins_with_own : {false, true}) {
    capture_cache cache;
    auto const first = cache.of(call, {begins_with_own ? net->w : x}, net.get());
    auto const second = cache.of(call, {begins_with_own ? x : net->w}, net.get());
    CHECK(first != second);
    CHECK(cache.captures() == 2);
    auto const& own = begins_with_own ? first : second;
    auto const& other = begins_with_own ? second : first;
    CHECK(cache.of(call, {net->w}, net.get()) == own);
    CHECK(cache.of(call, {x.detach().clone().requires_grad_()}, net.get()) == other);
    CHECK(cache.captures() == 2);
    REQUIRE(own->graph);
    REQUIRE(other->graph);
    CHECK(own->graph->leaves.size() + 1 == other->graph->leaves.size());
    auto const results = replay(*own->graph, {net->w});
    CHECK(same_bits(results.front(), net->forward(net->w)));
  }
  capture_cache cache;
  auto const numbers = torch::rand({64, 64});
  auto const of_buffer = cache.of(call, {net->sum}, net.get());
  CHECK(cache.of(call, {numbers}, net.get()) != of_buffer);
  REQUIRE(of_buffer->graph);
  CHECK(of_buffer->graph->leaves.size() == 3);
  net->counts = true;
  for (auto const& own : {net->sum, net->w}) {
    auto const before = own.detach().clone();
    CHECK_THAT(refusal(call, {own}, net.get()), ContainsSubstring("changes an input in place"));
    CHECK(same_bits(own, before));
  }
}

TEST_CASE("a function's parameters count by what they are, too", "[torch][graph]") {
  torch::manual_seed(13);
  auto const w = torch::randn({4, 4}).requires_grad_();
  auto const call = [&](tensor_list const& in) -> tensor_list { return {2.5 - in[0].mm(w)}; };
  capture_cache cache;
  auto const x = torch::randn({4, 4});
  auto const first = cache.of(call, {x}, nullptr);
  CHECK(cache.of(call, {x}, nullptr) == first);
  w.requires_grad_(false);
  CHECK(cache.of(call, {x}, nullptr) != first);
  CHECK(cache.captures() == 2);
}

template <class Module, class... Extra>
void check_function(Module module, tensor_list const& inputs,
                    std::function<tensor_list(Module&, tensor_list const&)> f) {
  tensor_list before;
  for (auto const& t : module->buffers()) before.push_back(t.detach().clone());
  auto const call = [&](tensor_list const& in) { return f(module, in); };
  auto const made = capture(call, inputs, module.get());
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const plain = step(call, inputs, *module, before);
  auto const again = step([&](tensor_list const& x) { return replay(*made.graph, x); }, inputs, *module, before);
  CHECK(same_bits(plain.results, again.results));
  CHECK(same_bits(plain.gradients, again.gradients));
  CHECK(same_bits(plain.buffers, again.buffers));
  CHECK(same_bits(plain.random, again.random));
}

TEST_CASE("modules of LibTorch are captured as they are", "[torch][graph]") {
  torch::manual_seed(14);
  namespace nn = torch::nn;
  auto const image = torch::randn({2, 4, 6, 6}).requires_grad_(), series = torch::randn({5, 2, 8}).requires_grad_();
  auto const plainly = [](auto& module, tensor_list const& in) -> tensor_list { return {module->forward(in[0])}; };
  check_function<nn::GroupNorm>(nn::GroupNorm(2, 4), {image}, plainly);
  check_function<nn::InstanceNorm2d>(
      nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true).track_running_stats(true)), {image}, plainly);
  check_function<nn::Upsample>(
      nn::Upsample(
          nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kBilinear).align_corners(false)),
      {image}, plainly);
  check_function<nn::PixelShuffle>(nn::PixelShuffle(2), {image * 1},
                                   [](auto& m, tensor_list const& in) { return tensor_list{m->forward(in[0]) * 2}; });
  check_function<nn::Dropout2d>(nn::Dropout2d(0.5), {image}, plainly);
  check_function<nn::Conv2d>(nn::Conv2d(nn::Conv2dOptions(4, 4, 3).padding(1).padding_mode(torch::kReflect).groups(2)),
                             {image}, plainly);
  check_function<nn::Conv2d>(nn::Conv2d(nn::Conv2dOptions(4, 4, 3).padding(torch::kSame)), {image}, plainly);
  check_function<nn::PReLU>(nn::PReLU(), {image}, plainly);
  check_function<nn::LSTM>(nn::LSTM(nn::LSTMOptions(8, 4).num_layers(2).dropout(0.3).bidirectional(true)), {series},
                           [](auto& m, tensor_list const& in) {
                             auto const [y, last] = m->forward(in[0]);
                             return tensor_list{y, std::get<0>(last), std::get<1>(last)};
                           });
  check_function<nn::GRUCell>(nn::GRUCell(8, 4), {series}, [](auto& m, tensor_list const& in) {
    Tensor h;
    for (int i = 0; i < 3; ++i) h = m->forward(in[0].select(0, i), h);
    return tensor_list{h};
  });
  check_function<nn::MultiheadAttention>(nn::MultiheadAttention(nn::MultiheadAttentionOptions(8, 2).dropout(0.2)),
                                         {series}, [](auto& m, tensor_list const& in) {
                                           auto const [y, weights] = m->forward(in[0], in[0], in[0]);
                                           return tensor_list{y, weights};
                                         });
  check_function<nn::TransformerEncoderLayer>(
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16)), {series}, plainly);
  check_function<nn::Bilinear>(nn::Bilinear(8, 8, 3), {series}, [](auto& m, tensor_list const& in) {
    return tensor_list{m->forward(in[0], in[0].flip(0))};
  });
  check_function<nn::EmbeddingBag>(nn::EmbeddingBag(nn::EmbeddingBagOptions(7, 3).mode(torch::kMean)),
                                   {torch::randint(7, {3, 4}, torch::kLong)}, plainly);
}

TEST_CASE("a mask that a function holds is read anew, and one that it lets go is captured anew", "[torch][graph]") {
  torch::manual_seed(11);
  auto const w = torch::randn({4, 4}).requires_grad_();
  auto mask = torch::ones({4, 4});
  auto const call = [&](tensor_list const& in) -> tensor_list { return {in[0].mm(w) * mask}; };
  capture_cache cache;
  auto const x = torch::randn({4, 4});
  auto const first = cache.of(call, {x}, nullptr);
  REQUIRE(first->graph);
  captured_graph const copy = *first->graph;
  mask.mul_(2);
  CHECK(same_bits(replay(*cache.of(call, {x}, nullptr)->graph, {x}), call({x})));
  CHECK(cache.captures() == 1);
  mask = torch::full({4, 4}, 3.f);
  CHECK(same_bits(replay(*cache.of(call, {x}, nullptr)->graph, {x}), call({x})));
  CHECK(cache.captures() == 2);
  CHECK(copy.leaves.size() == 3);
}

TEST_CASE("a module is captured in several threads at once", "[torch][graph]") {
  torch::manual_seed(15);
  models::ResNet net(2);
  net->eval();
  auto const call = call_of(net);
  auto const x = torch::randn({2, 3, 8, 8});
  auto const plain = call({x});
  capture_cache cache;
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<captured_call const>> made(3);
  for (std::size_t k = 0; k < made.size(); ++k)
    threads.emplace_back([&, k] {
      auto const own = capture(call, {x}, net.get());
      made[k] = cache.of(call, {x}, net.get());
      if (own.graph && made[k]->graph) made[k] = same_bits(replay(*own.graph, {x}), plain) ? made[k] : nullptr;
    });
  for (auto& one : threads) one.join();
  CHECK(cache.captures() == 1);
  for (auto const& one : made) REQUIRE(one);
  CHECK(same_bits(replay(*made[0]->graph, {x}), plain));
}

TEST_CASE("a region within the call is captured as what it runs", "[torch][graph]") {
  torch::manual_seed(16);
  auto const w = torch::randn({4, 4}).requires_grad_();
  auto const call = [&](tensor_list const& in) -> tensor_list {
    auto const y = cl::checkpoint(
        [](Tensor const& a, Tensor const& b) { return torch::dropout(a.mm(b).exp(), 0.5, true); }, in[0], w);
    return {y.sin() * in[0]};
  };
  auto const x = torch::randn({4, 4});
  auto const made = capture(call, {x});
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const gradient = [&](auto const& run) {
    seeded const seed{3};
    run({x})[0].sum().backward();
    return take_grads({w})[0];
  };
  CHECK(same_bits(gradient(call), gradient([&](tensor_list const& in) { return replay(*made.graph, in); })));
}

TEST_CASE("automatic casts are operators of the graph", "[torch][graph]") {
  torch::manual_seed(12);
  models::Pairs net;
  auto const call = call_of(net);
  cl::detail::autocast_scope const casts{[] {
    auto const before = cl::detail::autocast_state::now();
    cl::detail::switch_autocast(at::kCPU, true);
    cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
    auto const on = cl::detail::autocast_state::now();
    before.restore();
    return on;
  }()};
  auto const x = torch::randn({8, 8}), y = torch::randn({8, 8});
  auto const made = capture(call, {x, y}, net.get());
  CAPTURE(made.refused);
  REQUIRE(made.graph);
  auto const plain = call({x, y}), again = replay(*made.graph, {x, y});
  CHECK(same_bits(plain, again));
  auto const gradient = [&](tensor_list const& t) {
    at::autocast::clear_cache();
    (t[0].sum() + t[1].to(torch::kFloat).sum()).backward();
    return take_grads(net->parameters());
  };
  CHECK(same_bits(gradient(plain), gradient(again)));
}

TEST_CASE("TorchScript is refused", "[torch][graph]") {
  auto const unit = torch::jit::compile("def f(x):\n  return x.exp() + 1\n");
  auto const call = [&](tensor_list const& in) -> tensor_list { return {unit->run_method("f", in[0]).toTensor()}; };
  CHECK_THAT(refusal(call, {torch::randn({3})}), ContainsSubstring("TorchScript"));
}

}  // namespace graph_capture_tests
