// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>

namespace hc_module_tests {

using at::Tensor;
using cl::HCConfig;
using cl::HCModule;
using support::same_bits;
using support::seeded;
using support::take_grads;
namespace nn = torch::nn;

struct ToyImpl : nn::Module {
  nn::Linear first{8, 16}, second{16, 8};
  ToyImpl() {
    register_module("first", first);
    register_module("second", second);
  }
  Tensor forward(Tensor const& x) { return second(torch::gelu(first(x))); }
};
TORCH_MODULE(Toy);

nn::Sequential layers(int count) {
  nn::Sequential net;
  for (int k = 0; k < count; ++k) {
    if (k % 3 == 0) net->push_back(nn::Linear(8, 8));
    else if (k % 3 == 1) net->push_back(nn::Dropout(0.3));
    else net->push_back(nn::Tanh());
  }
  return net;
}
std::vector<Tensor> grads(nn::Module& module, auto&& output) {
  torch::manual_seed(3);
  output().pow(2).sum().backward();
  return take_grads(module.parameters());
}

TEST_CASE("an HCModule has the gradients of its model for every block size", "[torch][hc_module]") {
  seeded const seed{1};
  auto const count = GENERATE(1, 2, 3, 10);
  auto net = layers(count);
  auto const x = torch::randn({4, 8});
  auto const plain = grads(*net, [&] { return net->forward(x); });
  for (int size = 0; size <= count + 1; ++size) {
    HCModule model(net, HCConfig().block_size(size).verify(true));
    CHECK(same_bits(plain, grads(*model, [&] { return model->forward(x); })));
    auto const& meta = model->executor().checkpoint_plan().meta();
    auto const wanted = size > 0 ? size : int(std::ceil(std::sqrt(double(count))));
    CHECK(meta.num_blocks == (count + wanted - 1) / wanted);
    CHECK(meta.largest == std::min(wanted, count));
    CHECK(meta.peak_bytes);
    CHECK(model->executor().work().stages() == count);
  }
}

TEST_CASE("an HCModule tells its callbacks what is run again and reversed", "[torch][hc_module]") {
  auto net = layers(7);
  auto const x = torch::randn({4, 8});
  HCModule model(net, HCConfig().block_size(3));
  std::string events;
  auto const note = [&](char const* what, cairn::step_index first, cairn::step_index last) {
    events += what + std::to_string(first) + '-' + std::to_string(last) + ' ';
  };
  cairn::execution_callbacks const callbacks{.run_forward = [&](auto first, auto last) { note("f", first, last); },
                                             .run_backward = [&](auto first, auto last) { note("b", first, last); }};
  auto const loss = model->forward(x).sum();
  CHECK(events.empty());
  model->backward(loss, callbacks);
  CHECK(events == "b6-7 f3-6 b3-6 f0-3 b0-3 ");
  events.clear();
  model->backward(model->forward(x).sum());
  CHECK(events.empty());
  auto const failing = model->forward(x).sum();
  CHECK_THROWS_AS(model->backward(failing, {.run_forward = [](auto, auto) { throw std::length_error{"mine"}; },
                                            .run_backward = {}}),
                  std::length_error);
  model->backward(model->forward(x).sum());
}

TEST_CASE("an HCModule plans once, and again when the model or its input changes or it is told to",
          "[torch][hc_module]") {
  auto net = layers(9);
  HCModule model(net);
  CHECK_THROWS_AS(model->executor(), cairn::invalid_call);
  auto const x = torch::randn({4, 8});
  CHECK(model->configure_executor(x).plans_made() == 1);
  (void)model->forward(x);
  CHECK(model->executor().plans_made() == 1);
  CHECK(model->executor().checkpoint_plan().meta().num_blocks == 3);
  (void)model->configure_executor(x);
  CHECK(model->executor().plans_made() == 2);
  for (int k = 0; k < 7; ++k) net->push_back(nn::Linear(8, 8));
  (void)model->forward(x);
  CHECK(model->executor().plans_made() == 3);
  CHECK(model->executor().checkpoint_plan().meta().num_blocks == 4);
  (void)model->forward(torch::randn({5, 8}));
  CHECK(model->executor().plans_made() == 4);
  {
    torch::NoGradGuard const off;
    (void)model->forward(torch::randn({6, 8}));
  }
  CHECK(model->executor().plans_made() == 4);
}

TEST_CASE("an HCModule asks a planner of the user's, and says why where that finds none", "[torch][hc_module]") {
  auto net = layers(6);
  auto const x = torch::randn({4, 8});
  auto const plain = grads(*net, [&] { return net->forward(x); });
  std::int64_t seen = 0;
  HCModule mine(net, HCConfig().planner([&](cairn::chain const& work) {
    seen = work.stages();
    return cairn::block_plan::balanced(work.stages(), 2);
  }));
  CHECK(same_bits(plain, grads(*mine, [&] { return mine->forward(x); })));
  CHECK(seen == 6);
  CHECK(mine->executor().checkpoint_plan().meta().by == cairn::block_method::user_planner);
  std::string notice;
  HCModule none(net, HCConfig()
                         .planner([](cairn::chain const&) -> cairn::block_plan {
                           throw cairn::infeasible_budget{"mine", "there is none", {}, ""};
                         })
                         .notice([&](char const* text) { notice = text; }));
  CHECK(same_bits(plain, grads(*none, [&] { return none->forward(x); })));
  CHECK(notice.find("no plan could be made, so everything is stored: mine: there is none") == 0);
  HCModule wrong(net, HCConfig()
                          .planner([](cairn::chain const&) { return cairn::block_plan::balanced(2, 2); })
                          .notice([&](char const* text) { notice = text; }));
  CHECK_THROWS_AS(wrong->forward(x), cairn::invalid_plan);
}

TEST_CASE("errors of an HCModule's blocks have its name, and a planner's exceptions pass and leave it usable",
          "[torch][hc_module]") {
  auto const bad = [](cairn::chain const&) { return cairn::block_plan::balanced(1000, 2); };
  bool throws = true;
  auto const moody = [&](cairn::chain const& work) {
    if (throws) throw std::out_of_range{"mine"};
    return cairn::block_plan::balanced(work.stages(), 2);
  };
  nn::Sequential const net(nn::Linear(4, 4), nn::Tanh(), nn::Linear(4, 4));
  auto const x = torch::randn({2, 4}).requires_grad_();
  auto const wanted = torch::autograd::grad({nn::Sequential(net)->forward(x).sum()}, {x});
  for (bool const by_operations : {false, true}) {
    auto const model_by = [&](auto const& planner) {
      auto const config = HCConfig().planner(planner);
      auto const f = [net](Tensor const& t) { return nn::Sequential(net)->forward(t); };
      return by_operations ? HCModule(nn::AnyModule(nn::Functional(f)), config) : HCModule(net, config);
    };
    auto refused = model_by(bad);
    CHECK(support::message_of([&] { (void)refused->forward(x); }).find("cairn::libtorch::HCModule: ") == 0);
    auto model = model_by(moody);
    for (throws = true; throws; throws = false) CHECK_THROWS_AS(model->forward(x), std::out_of_range);
    for (int k = 0; k < 2; ++k)
      CHECK(support::same_bits(torch::autograd::grad({model->forward(x).sum()}, {x}), wanted));
  }
}

TEST_CASE("an HCModule plans a model with a forward of its own",
          "[torch][hc_module]") {
  seeded const seed{2};
  Toy toy;
  auto const x = torch::randn({4, 8});
  auto const plain = grads(*toy, [&] { return toy->forward(x); });
  int told = 0;
  HCModule model(nn::AnyModule(toy), HCConfig().notice([&](char const*) { ++told; }));
  for (int k = 0; k < 3; ++k) CHECK(same_bits(plain, grads(*toy, [&] { return model->forward(x); })));
  CHECK(told == 0);
  CHECK(std::string{model->executor().notice()}.empty());
  CHECK(model->executor().plans_made() == 1);
  auto const operations = model->executor().work().stages();
  auto const root = std::int64_t(std::ceil(std::sqrt(double(operations))));
  CHECK(model->executor().checkpoint_plan().meta().num_blocks == (operations + root - 1) / root);
  CHECK(model->named_parameters().keys() == std::vector<std::string>{"module.first.weight", "module.first.bias",
                                                                     "module.second.weight", "module.second.bias"});
}

/// Of two inputs and two results, deep enough that blocks save something.
struct TwoWaysImpl : nn::Module {
  nn::ModuleList layers;
  explicit TwoWaysImpl(int count) {
    for (int k = 0; k < count; ++k) layers->push_back(nn::Linear(64, 64));
    register_module("layers", layers);
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor const& y) {
    for (std::size_t k = 0; k < layers->size(); ++k)
      x = torch::tanh(layers->ptr<nn::LinearImpl>(k)->forward(x)) * y + x;
    return {x, x.mean(1)};
  }
};
TORCH_MODULE(TwoWays);

TEST_CASE("an HCModule takes a model of several inputs, in fewer bytes",
          "[torch][hc_module]") {
  seeded const seed{4};
  TwoWays net(12);
  auto const x = torch::randn({512, 64}).requires_grad_(), y = torch::randn({512, 64}).requires_grad_();
  using both = std::tuple<Tensor, Tensor>;
  auto const train = [&](auto const& call) {
    auto const [a, b] = call();
    (a.pow(2).sum() + b.sum()).backward();
    auto all = net->parameters();
    all.insert(all.end(), {x, y});
    auto found = take_grads(all);
    found.insert(found.end(), {a.detach(), b.detach()});
    return found;
  };
  auto const metered = [&](std::vector<Tensor> const& plain, auto const& call) {
    CHECK(same_bits(plain, train(call)));
    cl::byte_meter const meter;
    CHECK(same_bits(plain, train(call)));
    return meter.peak();
  };
  auto const plain = train([&] { return net->forward(x, y); });
  auto const most = metered(plain, [&] { return net->forward(x, y); });
  HCModule blocks(nn::AnyModule(net), HCConfig().block_size(6));
  CHECK(metered(plain, [&] { return blocks->call<both>(x, y); }) < most * 3 / 4);
  CHECK(blocks->executor().checkpoint_plan().meta().largest == 6);
  CHECK(blocks->executor().report().again > 0);
  CHECK(blocks->executor().report().limit == 0);
  net->layers->push_back(nn::Linear(64, 64));
  auto const longer = train([&] { return net->forward(x, y); });
  CHECK(same_bits(longer, train([&] { return blocks->call<both>(x, y); })));
  CHECK(blocks->executor().plans_made() == 2);
}

TEST_CASE("an HCModule of operators tells its callbacks each block in order, and an exception ends the pass",
          "[torch][hc_module]") {
  seeded const seed{5};
  Toy toy;
  auto const x = torch::randn({4, 8});
  auto const plain = grads(*toy, [&] { return toy->forward(x); });
  std::int64_t seen = 0;
  HCModule mine(nn::AnyModule(toy), HCConfig().planner([&](cairn::chain const& work) {
    seen = work.stages();
    return cairn::block_plan::balanced(work.stages(), 3);
  }));
  std::string events;
  cairn::execution_callbacks const callbacks{
      .run_forward = [&](auto first, auto) { events += "f" + std::to_string(first) + ' '; },
      .run_backward = [&](auto first, auto) { events += "b" + std::to_string(first) + ' '; }};
  auto const loss = mine->forward(x).pow(2).sum();
  mine->backward(loss, callbacks);
  CHECK(same_bits(plain, take_grads(toy->parameters())));
  REQUIRE(seen == 3);
  CHECK(events == "b2 b1 b0 ");  // all that passes between operators is kept
  TwoWays net(6);
  auto const y = torch::randn({4, 64});
  using both = std::tuple<Tensor, Tensor>;
  std::get<0>(net->forward(y, y)).sum().backward();
  auto const wanted = take_grads(net->parameters());
  HCModule deep(nn::AnyModule(net), HCConfig().block_size(5));
  for (int call = 0; call < 2; ++call) {
    events.clear();
    deep->backward(std::get<0>(deep->call<both>(y, y)).sum(), callbacks);
    auto const& blocks = deep->executor().checkpoint_plan();
    std::string expected;
    for (auto j = blocks.size(); j-- > 0;) {
      auto const first = std::to_string(blocks[j].first) + ' ';
      expected += (j + 1 < blocks.size() ? 'f' + first : std::string{}) + 'b' + first;
    }
    CHECK(events == expected);
    CHECK(same_bits(take_grads(net->parameters()), wanted));
  }
  events.clear();
  auto const kept = std::get<0>(deep->call<both>(y, y)).sum();
  kept.backward({}, true);
  CHECK(events.empty());
  take_grads(net->parameters());
  deep->backward(kept, callbacks);  // a second pass finds all that the first one made
  CHECK(same_bits(take_grads(net->parameters()), wanted));
  CHECK(std::count(events.begin(), events.end(), 'f') == 0);
  CHECK(std::count(events.begin(), events.end(), 'b') == deep->executor().checkpoint_plan().size());
  auto const failing = std::get<0>(deep->call<both>(y, y)).sum();
  CHECK_THROWS_AS(deep->backward(failing, {.run_forward = [](auto, auto) { throw std::length_error{"mine"}; },
                                           .run_backward = {}}),
                  std::length_error);
  take_grads(net->parameters());
  deep->backward(std::get<0>(deep->call<both>(y, y)).sum());
  CHECK(same_bits(take_grads(net->parameters()), wanted));
}

/// Takes another way by a value, counts its calls, and draws.
struct AskingImpl : nn::Module {
  int calls = 0;
  Tensor w = register_parameter("w", torch::randn({8, 8}) / 3), mean = register_buffer("mean", torch::zeros({8}));
  Tensor forward(Tensor x) {
    ++calls;
    int const rounds = x.sum().item<float>() > 0 ? 9 : 6;
    for (int k = 0; k < rounds; ++k) x = torch::dropout(torch::tanh(x.mm(w)), 0.2, true);
    torch::NoGradGuard const off;
    mean.mul_(0.9).add_(x.mean(0), 0.1);
    return x;
  }
};
TORCH_MODULE(Asking);

TEST_CASE("an HCModule runs its model once a call, whatever it does, and plans each kind of call once",
          "[torch][hc_module]") {
  Asking net;
  auto const up = torch::ones({4, 8}), down = -up;
  auto const step = [&](Tensor const& x, auto const& call) {
    torch::NoGradGuard const off;
    net->mean.zero_();
    torch::manual_seed(1);
    torch::AutoGradMode const on{true};
    call(x).sum().backward();
    auto found = take_grads(net->parameters());
    found.push_back(net->mean.clone());
    found.push_back(torch::rand({1}));
    return found;
  };
  std::vector<std::string> told;
  HCModule model(nn::AnyModule(net), HCConfig()
                                         .block_size(4)
                                         .verify(true)
                                         .notice([&](char const* text) { told.emplace_back(text); }));
  for (auto const& x : {up, down, up, down, up}) {
    auto const plain = step(x, [&](Tensor const& in) { return net->forward(in); });
    net->calls = 0;
    CHECK(same_bits(plain, step(x, [&](Tensor const& in) { return model->forward(in); })));
    CHECK(net->calls == 1);
  }
  CHECK(model->executor().plans_made() == 2);
  CHECK(told.empty());
  CHECK(model->executor().report().again > 0);

  auto const state = at::detail::getDefaultCPUGenerator().get_state();
  auto const mean = net->mean.clone();
  auto const version = net->mean._version();
  net->calls = 0;
  CHECK(model->configure_executor(up).plans_made() == 3);
  CHECK(net->calls == 1);
  CHECK(same_bits(mean, net->mean));
  CHECK(net->mean._version() == version);
  CHECK(same_bits(at::detail::getDefaultCPUGenerator().get_state(), state));
  (void)model->forward(up);
  CHECK(model->executor().plans_made() == 3);
}

/// Each layer keeps what it makes for its adjoint.
struct RowImpl : nn::Module {
  Tensor w = register_parameter("w", torch::randn({64, 64}) / 8);
  int count;
  explicit RowImpl(int layers) : count{layers} {}
  Tensor forward(Tensor x) {
    for (int k = 0; k < count; ++k) x = torch::tanh(x.mm(w)) * 0.5 + torch::sin(x);
    return x;
  }
};
TORCH_MODULE(Row);

TEST_CASE("blocks of operators take about the bytes that their plan predicts", "[torch][hc_module]") {
  seeded const seed{7};
  Row net(16);
  auto const x = torch::randn({256, 64});
  auto const peak = [&](auto const& call) {
    take_grads(net->parameters());
    cl::byte_meter const meter;
    call(x).sum().backward();
    return meter.peak();
  };
  auto const plain = peak([&](Tensor const& in) { return net->forward(in); });
  for (int const size : {0, 5, 20}) {
    HCModule model(nn::AnyModule(net), HCConfig().block_size(size));
    (void)model->configure_executor(x);
    auto const predicted = *model->executor().checkpoint_plan().meta().peak_bytes;
    auto const found = peak([&](Tensor const& in) { return model->forward(in); });
    CAPTURE(size, predicted, found, plain);
    CHECK(found < plain * 2 / 3);
    CHECK(double(found) < double(predicted) * 1.25);
    CHECK(double(predicted) < double(found) * 1.25);
  }
}

TEST_CASE("an HCModule of a Sequential runs by blocks, whatever the limit of the process", "[torch][hc_module]") {
  seeded const seed{6};
  struct at_end {
    ~at_end() { cl::clear_memory_limit(); }
  } const clear;
  auto net = layers(9);
  auto const x = torch::randn({64, 8});
  auto const plain = grads(*net, [&] { return net->forward(x); });
  cl::set_memory_limit("2MB");
  HCModule blocks(net, HCConfig().block_size(2)), held(net, HCConfig().policy(cl::save_operators({"aten::addmm"})));
  for (auto model : {blocks, held}) CHECK(same_bits(plain, grads(*net, [&] { return model->forward(x); })));
  CHECK(blocks->executor().checkpoint_plan().meta().largest == 2);
  CHECK(held->executor().report().limit == 0);
}

}  // namespace hc_module_tests
