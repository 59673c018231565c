#include "support/torch.hpp"
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_module.hpp>

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
    HCModule model(net, HCConfig().block_size(size).determinism(cl::Check::Bits));
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
  auto const note = [&](char const* what, cairn::step_index first, cairn::step_index last) { events += what + std::to_string(first) + '-' + std::to_string(last) + ' '; };
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
  CHECK_THROWS_AS(model->backward(failing, {.run_forward = [](auto, auto) { throw std::length_error{"mine"}; }, .run_backward = {}}), std::length_error);
  model->backward(model->forward(x).sum());
}

TEST_CASE("an HCModule plans once, and again when the model or its input changes or it is told to", "[torch][hc_module]") {
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
  CHECK(mine->executor().checkpoint_plan().meta().by == cairn::block_method::custom);
  std::string notice;
  HCModule none(net, HCConfig().planner([](cairn::chain const&) -> cairn::block_plan { throw cairn::infeasible_budget{"mine", "there is none", {}, ""}; }).notice([&](char const* text) { notice = text; }));
  CHECK(same_bits(plain, grads(*none, [&] { return none->forward(x); })));
  CHECK(notice.find("no plan could be made, so everything is stored: mine: there is none") == 0);
  HCModule wrong(net, HCConfig().planner([](cairn::chain const&) { return cairn::block_plan::balanced(2, 2); }).notice([&](char const* text) { notice = text; }));
  CHECK_THROWS_AS(wrong->forward(x), cairn::invalid_plan);
}

TEST_CASE("an HCModule runs a model that it cannot look into as it is, and by its nodes where these are given", "[torch][hc_module]") {
  seeded const seed{2};
  Toy toy;
  auto const x = torch::randn({4, 8});
  auto const plain = grads(*toy, [&] { return toy->forward(x); });
  int told = 0;
  std::string notice;
  HCModule opaque(nn::AnyModule(toy), HCConfig().notice([&](char const* text) {
    notice = text;
    ++told;
  }));
  for (int k = 0; k < 3; ++k) CHECK(same_bits(plain, grads(*toy, [&] { return opaque->forward(x); })));
  CHECK(told == 1);
  CHECK(notice == "the model is no Sequential and no list of its nodes was given, so it runs without checkpoints");
  CHECK(opaque->executor().checkpoint_plan().meta().num_blocks == 0);
  std::vector<nn::AnyModule> const nodes{nn::AnyModule(toy->first), nn::AnyModule(nn::GELU()), nn::AnyModule(toy->second)};
  HCModule listed(nn::AnyModule(toy), nodes, HCConfig().block_size(1));
  CHECK(same_bits(plain, grads(*listed, [&] { return listed->forward(x); })));
  CHECK(listed->executor().checkpoint_plan().meta().num_blocks == 3);
  CHECK(listed->named_parameters().keys() == std::vector<std::string>{"module.first.weight", "module.first.bias", "module.second.weight", "module.second.bias"});
}

}  // namespace hc_module_tests
