// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/loop/checkpointed_rnn.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>

namespace module_clone_tests {

using at::Tensor;
using support::same_bits;
using support::seeded;
namespace nn = torch::nn;

/// A model of two layers that HCModule cannot look into.
struct ToyImpl : nn::Cloneable<ToyImpl> {
  ToyImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear{5, 16});
    second = register_module("second", nn::Linear{16, 5});
  }
  Tensor forward(Tensor const& x) { return second(torch::tanh(first(x))); }
  nn::Linear first{nullptr}, second{nullptr};
};
TORCH_MODULE(Toy);

// Of each kind of module: how to make one, and what it gives of xs.
template <class Layers, class Options>
struct along_layers {
  using Holder = Layers;
  static Holder make() {
    return Holder{Options(5, 4).num_layers(2).bidirectional(true).dropout(0.25), cl::LoopOptions().checkpoints(2)};
  }
  static Tensor run(Holder& rnn, Tensor const& xs) { return std::get<0>(rnn->forward(xs)); }
  static bool same_options(Holder const& a, Holder const& b) {
    return a->options.num_layers() == b->options.num_layers() &&
           a->options.bidirectional() == b->options.bidirectional() &&
           a->loop().checkpoints() == b->loop().checkpoints();
  }
};
nn::Sequential chain() {
  return nn::Sequential{nn::Linear(5, 6), nn::Tanh(), nn::BatchNorm1d(6), nn::Dropout(0.2), nn::Linear(6, 5)};
}
struct chained {
  using Holder = cl::CheckpointedSequential;
  static Holder make() { return Holder{chain(), cl::CheckpointedSequentialOptions().segments(3)}; }
  static Tensor run(Holder& net, Tensor const& xs) { return net->forward(xs[0]); }
  static bool same_options(Holder const& a, Holder const& b) {
    return a->options().segments() == b->options().segments();
  }
};
struct by_blocks {
  using Holder = cl::HCModule;
  static Holder make() { return Holder{chain(), cl::HCConfig().block_size(2)}; }
  static Tensor run(Holder& net, Tensor const& xs) { return net->forward(xs[0]); }
  static bool same_options(Holder& a, Holder& b) {
    auto const x = torch::ones({4, 5}, a->parameters()[0].options().requires_grad(false));
    return a->configure_executor(x).checkpoint_plan().meta().num_blocks ==
           b->configure_executor(x).checkpoint_plan().meta().num_blocks;
  }
};
struct as_it_is : by_blocks {
  static Holder make() { return Holder{nn::AnyModule(Toy{}), cl::HCConfig().notice([](char const*) {})}; }
};
/// A module around one of ours, as people write it.
template <class Kind>
struct AroundImpl : nn::Cloneable<AroundImpl<Kind>> {
  AroundImpl() { reset(); }
  void reset() override {
    before = this->register_module("before", nn::Linear{5, 5});
    inner = this->register_module("inner", Kind::make());
  }
  Tensor forward(Tensor const& xs) { return Kind::run(inner, before->forward(xs)); }
  nn::Linear before{nullptr};
  typename Kind::Holder inner{nullptr};
};
template <class Kind>
struct around {
  using Holder = nn::ModuleHolder<AroundImpl<Kind>>;
  static Holder make() { return Holder{std::make_shared<AroundImpl<Kind>>()}; }
  static Tensor run(Holder& net, Tensor const& xs) { return net->forward(xs); }
  static bool same_options(Holder& a, Holder& b) { return Kind::same_options(a->inner, b->inner); }
};

template <class Kind>
struct results {
  std::vector<Tensor> all;
  results(typename Kind::Holder& net, Tensor const& xs) {
    (void)support::take_grads(net->parameters());
    seeded const seed{11};
    auto const y = Kind::run(net, xs);
    y.pow(2).sum().backward();
    all = {y.detach()};
    for (auto const& p : net->parameters()) all.push_back(p.grad().clone());
    for (auto const& b : net->buffers()) all.push_back(b.clone());
  }
};
std::vector<bool> modes_of(nn::Module const& net) {
  std::vector<bool> modes;
  for (auto const& one : net.modules()) modes.push_back(one->is_training());
  return modes;
}

template <class Kind>
void check_copy() {
  using Holder = typename Kind::Holder;
  auto net = Kind::make();
  auto const xs = torch::randn({4, 7, 5});
  net->modules().back()->eval();  // one child in another mode than the rest
  Holder copy{std::dynamic_pointer_cast<typename Holder::ContainedType>(net->clone())};
  REQUIRE(copy->named_parameters().keys() == net->named_parameters().keys());
  REQUIRE(copy->named_buffers().keys() == net->named_buffers().keys());
  CHECK(same_bits(copy->parameters(), net->parameters()));
  CHECK(same_bits(copy->buffers(), net->buffers()));
  CHECK(modes_of(*copy) == modes_of(*net));
  CHECK(Kind::same_options(copy, net));
  auto const mine = results<Kind>{net, xs}.all;
  for (auto const& p : copy->parameters()) CHECK_FALSE(p.grad().defined());
  CHECK(same_bits(results<Kind>{copy, xs}.all, mine));

  auto const before = results<Kind>{copy, xs}.all;
  auto const kept = Holder{std::dynamic_pointer_cast<typename Holder::ContainedType>(copy->clone())};
  {
    at::NoGradGuard const off;
    for (auto const& p : net->parameters()) p.add_(1);
    for (auto const& b : net->buffers()) b.add_(1);
  }
  CHECK(same_bits(copy->parameters(), kept->parameters()));
  CHECK(same_bits(copy->buffers(), kept->buffers()));
  CHECK_FALSE(same_bits(results<Kind>{net, xs}.all, before));
}
template <class Kind>
void check_module() {
  using Holder = typename Kind::Holder;
  auto net = Kind::make(), other = Kind::make();
  auto const xs = torch::randn({4, 7, 5});
  (void)results<Kind>{net, xs};  // with running means that are no zeros any more

  std::stringstream file;
  torch::save(net, file);
  torch::load(other, file);
  CHECK(same_bits(net->parameters(), other->parameters()));
  CHECK(same_bits(net->buffers(), other->buffers()));
  auto const mine = results<Kind>{net, xs}.all;
  CHECK(same_bits(results<Kind>{other, xs}.all, mine));
  net->zero_grad();
  for (auto const& p : net->parameters())
    CHECK((!p.grad().defined() || p.grad().abs().max().template item<double>() == 0));

  net->to(at::kDouble);
  auto const doubled = results<Kind>{net, xs.to(at::kDouble)}.all;
  CHECK(doubled.front().scalar_type() == at::kDouble);
  CHECK(doubled.front().sizes() == mine.front().sizes());
  for (auto const& p : net->parameters()) CHECK(p.grad().scalar_type() == at::kDouble);
  net->to(at::Device{at::kCPU}, at::kFloat);
  for (auto const& p : net->parameters()) CHECK(p.scalar_type() == at::kFloat);
  Holder moved{std::dynamic_pointer_cast<typename Holder::ContainedType>(net->clone(at::Device{at::kCPU}))};
  CHECK(same_bits(moved->parameters(), net->parameters()));

  net->eval();
  for (auto const& one : net->modules()) CHECK_FALSE(one->is_training());
  auto const running = net->buffers();
  std::vector<Tensor> held;
  for (auto const& b : running) held.push_back(b.clone());
  CHECK(same_bits(Kind::run(net, xs), Kind::run(net, xs)));  // dropout draws nothing
  CHECK(same_bits(held, net->buffers()));
  net->train();
  for (auto const& one : net->modules()) CHECK(one->is_training());
}

TEMPLATE_TEST_CASE("a module of cairn is copied, saved, loaded and moved as LibTorch's own, by itself and as a child",
                   "[torch]", (along_layers<cl::CheckpointedLSTM, nn::LSTMOptions>),
                   (along_layers<cl::CheckpointedGRU, nn::GRUOptions>),
                   (along_layers<cl::CheckpointedRNN, nn::RNNOptions>), chained, by_blocks, as_it_is) {
  seeded const seed{7};
  check_copy<TestType>();
  check_module<TestType>();
  check_copy<around<TestType>>();
  check_module<around<TestType>>();
}

TEST_CASE("a copied parent plans its own chain", "[torch]") {
  auto blocks = around<by_blocks>::make();
  (void)blocks->forward(torch::randn({4, 7, 5}));
  auto const other = std::dynamic_pointer_cast<AroundImpl<by_blocks>>(blocks->clone());
  CHECK(support::said<cairn::invalid_call>([&] { (void)other->inner->executor(); }).find("nothing is configured") !=
        std::string::npos);
}

}  // namespace module_clone_tests
