// SPDX-License-Identifier: Apache-2.0
#include "../../../benchmarks/torch/allocation_log.hpp"
#include "adapt/torch/models/whole_models.hpp"
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>

namespace checkpoint_module_tests {

using at::Tensor;
using support::same_bits;
using support::seeded;
using support::take_grads;
using tensors = std::vector<Tensor>;
namespace models = whole_models;
namespace nn = torch::nn;

/// One training step: the result, gradients of parameters and inputs, buffers and random numbers afterwards.
struct step_outcome {
  tensors results, gradients, buffers;
  Tensor random;
};
bool same(step_outcome const& a, step_outcome const& b) {
  return same_bits(a.results, b.results) && same_bits(a.gradients, b.gradients) && same_bits(a.buffers, b.buffers) &&
         same_bits(a.random, b.random);
}

template <class Module, class Call>
step_outcome step(Module const& module, tensors const& leaves, tensors const& buffers, Call const& call) {
  {
    torch::NoGradGuard const off;
    auto const now = module->buffers();
    for (std::size_t k = 0; k < now.size(); ++k) now[k].copy_(buffers[k]);
  }
  torch::manual_seed(3);
  step_outcome done;
  done.results = call();
  Tensor loss;
  for (auto const& t : done.results) loss = loss.defined() ? loss + t.pow(2).sum() : t.pow(2).sum();
  loss.backward();
  auto all = module->parameters();
  all.insert(all.end(), leaves.begin(), leaves.end());
  done.gradients = take_grads(all);
  for (auto& t : done.results) t = t.detach();
  for (auto const& t : module->buffers()) done.buffers.push_back(t.clone());
  done.random = torch::rand({2});
  return done;
}
tensors copies(tensors const& all) {
  tensors made;
  for (auto const& t : all) made.push_back(t.detach().clone());
  return made;
}
std::int64_t bytes_of(tensors const& all) {
  std::int64_t sum = 0;
  for (auto const& t : all)
    if (t.defined()) sum += std::int64_t(t.nbytes());
  return sum;
}
cl::ModuleOptions silent() {
  return cl::ModuleOptions().notice([](std::string const&) {});
}

template <class Module, class... Inputs>
void check(bool many, Module module, tensors const& leaves, Inputs const&... inputs) {
  auto const buffers = copies(module->buffers());
  auto const by = [&](auto const& call) {
    return step(module, leaves, buffers, [&] { return cl::detail::tensors_of(call(inputs...)); });
  };
  auto const plain = step(module, leaves, buffers, [&] { return cl::detail::tensors_of(module->forward(inputs...)); });
  auto const lean = cl::checkpoint_module(module, 1, silent());
  CHECK(same(plain, by(lean)));
  auto const least = lean.report().least;
  auto const all = cl::checkpoint_module(module, std::int64_t{1} << 40);
  CHECK(same(plain, by(all)));
  auto const most = all.report().peak;
  CHECK(all.report().again == 0);
  CHECK(least <= most);
  if (many) CHECK(least < most * 9 / 10);
  std::int64_t again = 0, gradient = 0;
  for (auto const& t : plain.gradients) gradient = (std::max)(gradient, std::int64_t(t.nbytes()));
  for (int part = 1; part <= 4; ++part) {  // not the least: other choices on the way may take a little more
    // What becomes a gradient counts until it is there: then a limit of the most bytes is enough for all.
    auto const limit = least + (most - least) * part / 4 + (part == 4 ? gradient : 0);
    auto const limited = cl::checkpoint_module(module, limit, cl::ModuleOptions().verify(part % 2 == 0));
    CHECK(same(plain, by(limited)));
    cl::byte_meter const meter;
    CHECK(same(plain, by(limited)));
    auto const report = limited.report();
    CAPTURE(part, limit, least, most, meter.peak(), report.peak, report.least);
    CHECK(meter.peak() - bytes_of(plain.gradients) <= limit);
    CHECK(report.peak <= limit);
    CHECK(report.least == 0);
    CHECK(report.kept.empty());
    CHECK(report.calls == 2);
    if (part == 1) again = report.again;
    if (part == 4) CHECK(report.again == 0);
    if (part == 4 && many) CHECK(again > 0);
  }
}

TEST_CASE("models with a forward of their own have the bits of their plain calls within every limit",
          "[torch][record]") {
  seeded const seed{1};
  auto const x = torch::randn({8, 3, 16, 16}).requires_grad_();
  check(true, models::ResNet(12), {x}, x);
  check(true, models::LanguageModel(20, 16, 2, 12, 2, 0.2), {}, torch::randint(20, {4, 12}, torch::kLong));
  check(false, models::UNet(), {x}, x);
  auto const a = torch::randn({8, 8}).requires_grad_(), b = torch::randn({8, 8}).requires_grad_();
  check(false, models::Pairs(), {a, b}, a, b);
  check(false, models::Pairs(), {a}, a, a);
}

/// Bytes of a step at once, beside the gradients of parameters, whenever those are made.
template <class Module, class Call>
std::int64_t counted(Module const& module, Tensor const& seed, Call const& call) {
  for (auto& t : module->parameters()) t.mutable_grad() = Tensor{};
  benchmark::allocation_log const log;
  auto const y = call();
  y.backward(seed);
  std::vector<void const*> gradients;
  for (auto const& t : module->parameters()) gradients.push_back(t.grad().storage().data_ptr().get());
  return log.events().peak(gradients);
}
template <class Module>
void check_bytes(Module module, Tensor const& x) {
  auto const seed = torch::randn_like(module->forward(x));
  auto const lean = cl::checkpoint_module(module, 1, silent());
  lean(x).backward(seed);
  auto const least = lean.report().least;
  auto const plain = counted(module, seed, [&] { return module->forward(x); });
  std::int64_t gradient = 0;  // counts until it is there
  for (auto const& t : module->parameters()) gradient = (std::max)(gradient, std::int64_t(t.nbytes()));
  CHECK(double(least) <= 1.05 * double(plain) + double(gradient));
  auto const most = plain + gradient;
  for (int part = 1; part <= 2; ++part) {
    auto const limit = least + (most - least) * part / 2;
    auto const limited = cl::checkpoint_module(module, limit);
    for (int call = 0; call < 2; ++call) {  // the first one, too
      auto const bytes = counted(module, seed, [&] { return limited(x); });
      CAPTURE(part, call, least, plain, limit, bytes, limited.report().peak);
      CHECK(bytes <= limit);
    }
  }
}

TEST_CASE("no moment of a step counts more bytes than the limit", "[torch][record]") {
  seeded const seed{4};
  auto const x = torch::randn({2, 3, 16, 16});
  check_bytes(models::ResNet(6), x);
  check_bytes(models::LanguageModel(300, 32, 2, 12, 3, 0.2), torch::randint(300, {4, 12}, torch::kLong));
  check_bytes(models::UNet(), x);
}

/// Multiplies its input by a vector, and what becomes of that by a matrix that may be the input.
struct MatrixOfItsOwnImpl : nn::Module {
  Tensor w = register_parameter("w", torch::randn({64, 64})), v = register_parameter("v", torch::randn({64, 1}));
  Tensor forward(Tensor const& x) { return x.mm(v).tanh().t().mm(w); }
};
TORCH_MODULE(MatrixOfItsOwn);

TEST_CASE("a parameter given as the input counts its two gradients before they are one", "[torch][record]") {
  seeded const seed{7};
  MatrixOfItsOwn const net;
  auto const x = torch::randn({64, 64}).requires_grad_();
  auto const both = cl::checkpoint_module(net, "1MiB");
  for (auto const& one : {x, net->w, x, net->w})
    CHECK(same(step(net, {x}, {}, [&] { return tensors{net.ptr()->forward(one)}; }),
               step(net, {x}, {}, [&] { return tensors{both(one)}; })));
  check_bytes(net, net->w);
  check_bytes(net, x.detach());
}

TEST_CASE("without a limit and without gradients a checkpointed module is the plain one", "[torch][record]") {
  seeded const seed{2};
  models::ResNet net(2);
  auto const x = torch::randn({2, 3, 16, 16});
  auto const free = cl::checkpoint_module(net);
  (void)free(x);
  CHECK(free.report().calls == 0);
  net->eval();
  auto const limited = cl::checkpoint_module(net, "1MiB");
  {
    torch::NoGradGuard const off;
    CHECK(same_bits(limited(x), net->forward(x)));
  }
  CHECK(limited.report().calls == 0);
  CHECK(same_bits(limited.forward(x), net->forward(x)));
  CHECK(limited.report().calls == 1);
}

TEST_CASE("lengths in turn, numbers among the arguments and results of any type", "[torch][record]") {
  seeded const seed{3};
  struct result {
    Tensor y;
    int calls;
  };
  auto const w = torch::randn({16, 16}).requires_grad_();
  int calls = 0;
  auto const f = [&](Tensor const& t, int times) {
    Tensor h = t;
    for (int k = 0; k < times; ++k) h = torch::tanh(h.mm(w));
    return result{h, ++calls};
  };
  auto const limited = cl::checkpoint_module(f, 3'000, silent());
  for (int k = 0; k < 24; ++k) {
    auto const x = torch::randn({4 + k % 12, 16});
    auto const wanted = torch::autograd::grad({f(x, 3 + k % 5).y.sum()}, {w});
    auto const found = limited(x, 3 + k % 5);
    CHECK(found.calls == 2 * k + 2);
    CHECK(same_bits(torch::autograd::grad({found.y.sum()}, {w}), wanted));
  }
  CHECK(limited.report().again > 0);
}

TEST_CASE("a limit of the process holds where none is given", "[torch][record]") {
  seeded const seed{4};
  struct at_end {
    ~at_end() { cl::clear_memory_limit(); }
  } const clear;
  models::ResNet net(2);
  auto const x = torch::randn({8, 3, 16, 16});
  auto const of_process = cl::checkpoint_module(net, cl::ModuleOptions().strict(true)),
             own = cl::checkpoint_module(net, "64MiB");
  cl::set_memory_limit(1);
  CHECK_THROWS_AS(of_process(x), cairn::infeasible_budget);
  (void)own(x);
  cl::set_memory_limit("64MB");
  CHECK(cl::memory_limit() == cairn::byte_size{64'000'000});
  (void)of_process(x);
  CHECK(of_process.report().limit == 64'000'000);
}

TEST_CASE("a call that reads values of tensors runs within its limit", "[torch][record]") {
  seeded const seed{5};
  auto const w = torch::randn({64, 64}).requires_grad_();
  auto const f = [w](Tensor const& x) {
    auto h = x;
    while (h.sum().item<float>() > -1e9f && h.pow(2).mean().item<float>() > 0.01f) h = torch::tanh(h.mm(w) * 0.1) * 0.9;
    return h;
  };
  auto const x = torch::randn({64, 64}).requires_grad_();
  auto const wanted = torch::autograd::grad({f(x).sum()}, {x, w});
  auto const free = cl::checkpoint_module(f, std::int64_t{1} << 40);
  CHECK(same_bits(torch::autograd::grad({free(x).sum()}, {x, w}), wanted));
  auto const limited = cl::checkpoint_module(f, free.report().peak * 3 / 5, cl::ModuleOptions().strict(true));
  for (int k = 0; k < 3; ++k) CHECK(same_bits(torch::autograd::grad({limited(x).sum()}, {x, w}), wanted));
  CHECK(limited.report().peak <= free.report().peak * 3 / 5);
  CHECK(limited.report().again > 0);
}

TEST_CASE("automatic casts are those of the call, and none are left behind", "[torch][record]") {
  seeded const seed{6};
  models::LanguageModel net(20, 16, 2, 12, 1, 0.0);
  auto const tokens = torch::randint(20, {4, 12}, torch::kLong);
  auto const train = [&](auto const& call) {
    Tensor y;
    {
      cl::detail::autocast_scope const back{cl::detail::autocast_state{}};
      cl::detail::switch_autocast(at::kCPU, true);
      y = call();
      at::autocast::clear_cache();
    }
    y.to(torch::kFloat).pow(2).sum().backward();
    auto all = take_grads(net->parameters());
    all.push_back(y.detach());
    return all;
  };
  auto const plain = train([&] { return net->forward(tokens); });
  auto const lean = cl::checkpoint_module(net, 1, silent());
  CHECK(same_bits(plain, train([&] { return lean(tokens); })));
  auto const limited = cl::checkpoint_module(net, lean.report().least * 5 / 4, cl::ModuleOptions().strict(true));
  CHECK(same_bits(plain, train([&] { return limited(tokens); })));
  CHECK(same_bits(plain, train([&] { return limited(tokens); })));
}

TEST_CASE("a checkpointed module within another is a part of its call, and has its own limit outside of it",
          "[torch][record]") {
  seeded const seed{8};
  auto const w = torch::randn({8, 8}).requires_grad_();
  auto const inner = cl::checkpoint_module([w](Tensor const& x) { return torch::tanh(x.mm(w)); }, "1MiB");
  auto const f = [inner, w](Tensor const& x) { return inner(inner(x)) * x; };
  auto const outer = cl::checkpoint_module(f, "1MiB");
  auto const x = torch::randn({8, 8}).requires_grad_();
  auto const grads = [&](auto const& call) { return torch::autograd::grad({call(x).sum()}, {x, w}); };
  auto const wanted = grads([&](Tensor const& in) { return torch::tanh(torch::tanh(in.mm(w)).mm(w)) * in; });
  CHECK(same_bits(grads(outer), wanted));
  CHECK(outer.report().calls == 1);
  CHECK(inner.report().calls == 0);
  CHECK(same_bits(grads(f), wanted));
  CHECK(inner.report().calls > 0);
}

TEST_CASE("regions, Sequentials, policies and loops within a call keep their gradients", "[torch][record]") {
  seeded const seed{9};
  torch::nn::Sequential net;
  for (int k = 0; k < 4; ++k) net->push_back(torch::nn::Linear(8, 8)), net->push_back(torch::nn::Tanh());
  auto const x = torch::randn({8, 8}).requires_grad_();
  auto leaves = net->parameters();
  leaves.push_back(x);
  auto const grads = [&](auto const& call) { return torch::autograd::grad({call(x).pow(2).sum()}, leaves); };
  auto const products = cl::CheckpointOptions().policy(cl::save_operators({"aten::addmm"}));
  auto const parts = [&](Tensor const& a) {
    return cl::checkpoint_sequential(net, 2, a) + cl::checkpoint([](Tensor const& t) { return t.sin() * 1; }, a * 2) +
           cl::checkpoint([&](Tensor const& t) { return net->forward(t).cos(); }, a.exp(), products);
  };
  auto const step = [&](Tensor const& a) { return torch::tanh(a.mm(leaves[0])); };
  auto const loop = [&](Tensor const& a) { return cl::checkpointed_loop(step, net->forward(a), 5, cl::LoopOptions()); };
  auto const check = [&](auto const& f) {
    auto const wanted = grads(f);
    for (auto const limit : {std::int64_t{1}, std::int64_t{2000}, std::int64_t{1} << 40})
      CHECK(same_bits(grads(cl::checkpoint_module(f, limit, silent())), wanted));
  };
  check(parts);
  check(loop);
}

TEST_CASE("a tensor that leaves a call by a capture has its gradient", "[torch][record]") {
  seeded const seed{10};
  auto const w = torch::randn({8, 8}).requires_grad_(), x = torch::randn({8, 8}).requires_grad_();
  Tensor aside;
  auto const f = [&](Tensor const& a) {
    aside = torch::sigmoid(a.mm(w));
    return torch::tanh(aside.mm(w));
  };
  auto const grads = [&](auto const& call) {
    auto const y = call(x);
    return torch::autograd::grad({y.sum() + aside.pow(2).sum()}, {x, w});
  };
  auto const wanted = grads(f);
  auto const limited = cl::checkpoint_module(f, 1, silent());
  for (int k = 0; k < 3; ++k) CHECK(same_bits(grads(limited), wanted));
}

TEST_CASE("what a module throws comes through", "[torch][record]") {
  bool throws = true;
  auto const f = cl::checkpoint_module(
      [&](Tensor const& x) {
        if (throws) throw std::length_error{"mine"};
        return x.sin();
      },
      "1MiB", cl::ModuleOptions().notice([](std::string const&) {}));
  auto const x = torch::randn({8, 8}).requires_grad_();
  CHECK_THROWS_AS(f(x), std::length_error);
  throws = false;
  CHECK(same_bits(f(x), x.sin()));
}

TEST_CASE("hooks see the outputs of layers by name, once a call, whatever runs again", "[torch][record]") {
  seeded const seed{8};
  models::ResNet net(3);
  auto const x = torch::randn({2, 3, 16, 16});
  auto const block = net->body->ptr<models::BasicBlockImpl>(1);
  std::vector<std::pair<std::string, Tensor>> wanted;
  {
    torch::NoGradGuard const off;
    auto const buffers = tensors{net->buffers()};
    auto const before = copies(buffers);
    auto const y = net->norm(net->stem(x));
    wanted.emplace_back("norm", y);
    auto const in = net->body->ptr<models::BasicBlockImpl>(0)->forward(torch::max_pool2d(torch::relu(y), 2));
    wanted.emplace_back("body.1.first", block->first(in));
    wanted.emplace_back("body.1.norm2", block->norm2(block->second(block->norm1(block->first(in)).relu_())));
    for (std::size_t k = 0; k < buffers.size(); ++k) buffers[k].copy_(before[k]);
  }
  wanted.insert(wanted.begin() + 2, {"head", net->forward(x).detach()});
  std::sort(wanted.begin(), wanted.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  for (auto const limit : {std::int64_t{1}, std::int64_t{1} << 40}) {
    auto const run = cl::checkpoint_module(net, limit, silent());
    auto const plain = step(net, {}, copies(net->buffers()), [&] { return tensors{run(x)}; });
    std::vector<std::pair<std::string, Tensor>> seen;
    auto const see = [&](std::string const& layer, Tensor const& y) {
      CHECK_FALSE(y.requires_grad());
      seen.emplace_back(layer, y.clone());
    };
    {
      std::vector<cl::output_hook_handle> hooks;
      for (auto const* const name : {"norm", "head", "body.1.first", "*.1.norm2"})
        hooks.push_back(run.register_hook(name, see));
      auto const y = run(x);
      y.sum().backward();
      hooks.clear();
    }
    (void)take_grads(net->parameters());
    (void)run(x);  // the hooks are gone
    std::sort(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    REQUIRE(seen.size() == wanted.size());
    for (std::size_t k = 0; k < seen.size(); ++k) {
      INFO(wanted[k].first);
      CHECK(seen[k].first == wanted[k].first);
      CHECK(same_bits(seen[k].second, wanted[k].second));
    }
  }
  auto const run = cl::checkpoint_module(net, "1MiB");
  auto const nothing = [](std::string const&, Tensor const&) {};
  CHECK(support::said<cairn::invalid_call>([&] { (void)run.register_hook("hidden", nothing); }).find("no layer") !=
        std::string::npos);
  int shown = 0;
  auto const by_value = cl::checkpoint_module([&](Tensor const& t) { return net(t * t.sum().item<float>()); }, "1MiB",
                                              cl::ModuleOptions().module(net.ptr()));
  auto const hook = by_value.register_hook("norm", [&](std::string const&, Tensor const&) { ++shown; });
  (void)by_value(x);
  CHECK(shown == 1);
}

TEST_CASE("several threads train one checkpointed module", "[torch][record]") {
  seeded const seed{7};
  models::LanguageModel net(20, 16, 2, 12, 1, 0.0);
  auto const limited = cl::checkpoint_module(net, 1, silent());
  std::vector<Tensor> tokens;
  std::vector<tensors> wanted, found(3);
  auto const grads = [&](Tensor const& y) { return torch::autograd::grad({y.pow(2).sum()}, net->parameters()); };
  for (int k = 0; k < 3; ++k) {
    tokens.push_back(torch::randint(20, {4, 12}, torch::kLong));
    wanted.push_back(grads(net->forward(tokens.back())));
  }
  std::vector<std::thread> all;
  for (std::size_t k = 0; k < 3; ++k) all.emplace_back([&, k] { found[k] = grads(limited(tokens[k])); });
  for (auto& one : all) one.join();
  for (std::size_t k = 0; k < 3; ++k) CHECK(same_bits(found[k], wanted[k]));
}

}  // namespace checkpoint_module_tests
