// SPDX-License-Identifier: Apache-2.0
// Gradients of parameters and outputs of children, looked at by name.
#include "support/torch.hpp"
#include <cairn/adapt/torch/compat/debug_hooks.hpp>
#include <cairn/adapt/torch/loop/step_callbacks.hpp>
#include <map>
#include <stdexcept>

namespace debug_hooks_tests {

using cl::register_gradient_hooks;
using cl::with_output_hooks;
using tensors = std::map<std::string, at::Tensor>;

torch::nn::Sequential small_net() {
  torch::nn::Sequential net;
  net->push_back("in", torch::nn::Linear(3, 4));
  net->push_back("act", torch::nn::Tanh());
  net->push_back("drop", torch::nn::Dropout(0.5));
  net->push_back("out", torch::nn::Linear(4, 2));
  return net;
}

TEST_CASE("names match patterns with stars", "[torch][hooks]") {
  using cl::detail::name_matches;
  for (auto const* const yes : {"*", "a.b.weight", "a.*", "*.weight", "a*b*t", "**", "*a.b.weight*", "a.b.*ght"})
    CHECK(name_matches(yes, "a.b.weight"));
  for (auto const* const no : {"", "a", "a.b.weight.", "*.bias", "b*", "a*c*t", "a.b.weightx", "*.weigh"})
    CHECK(!name_matches(no, "a.b.weight"));
  CHECK(name_matches("", ""));
  CHECK(name_matches("*", ""));
}

TEST_CASE("watched gradients are those that backward adds, by name", "[torch][hooks]") {
  auto net = small_net();
  net->eval();
  auto const x = torch::randn({5, 3});
  tensors seen;
  auto hooks = register_gradient_hooks(
      *net, "out.*", [&](std::string const& name, at::Tensor const& grad) { seen[name] = grad.clone(); });
  CHECK(hooks.size() == 2);
  for (int k = 0; k < 2; ++k) {
    seen.clear();
    auto const before = k == 0 ? torch::zeros({4}) : net->named_parameters()["out.weight"].grad().clone();
    net->forward(x).sum().backward();
    CHECK(seen.size() == 2);
    auto const sum = net->named_parameters()["out.weight"].grad();
    CHECK(torch::equal(k == 0 ? seen["out.weight"] : seen["out.weight"] + before, sum));
  }
  auto moved = std::move(hooks);
  CHECK(hooks.size() == 0);
  seen.clear();
  moved.remove();
  moved.remove();
  net->forward(x).sum().backward();
  CHECK(seen.empty());
}

TEST_CASE("several watchers of one parameter end in any order", "[torch][hooks]") {
  auto net = small_net();
  auto const x = torch::randn({5, 3});
  int calls[2] = {0, 0};
  auto first = register_gradient_hooks(*net, "*", [&](auto&, auto&) { ++calls[0]; });
  auto const second = register_gradient_hooks(*net, "*.bias", [&](auto&, auto&) { ++calls[1]; });
  net->forward(x).sum().backward();
  first = {};
  net->forward(x).sum().backward();
  CHECK(calls[0] == 4);
  CHECK(calls[1] == 4);
}

TEST_CASE("a gradient watcher that throws ends the backward with its own exception", "[torch][hooks]") {
  auto net = small_net();
  auto const hooks = register_gradient_hooks(*net, "in.bias", [](auto&, auto&) { throw std::domain_error{"mine"}; });
  CHECK_THROWS_AS(net->forward(torch::randn({5, 3})).sum().backward(), std::domain_error);
}

TEST_CASE("watched outputs are those of the children, and the net is the same", "[torch][hooks]") {
  support::seeded const seed{3};
  auto net = small_net();
  auto const x = torch::randn({5, 3});
  tensors seen;
  auto watched =
      with_output_hooks(net, "*", [&](std::string const& name, at::Tensor const& y) { seen[name] = y.detach(); });
  CHECK(watched->size() == 4);
  auto const run = [&](torch::nn::Sequential& which) {
    support::seeded const dropout{11};
    auto const y = which->forward(x);
    y.sum().backward();
    return y;
  };
  auto const plain = run(net);
  auto const grads = support::take_grads(net->parameters());
  auto const same = run(watched);
  CHECK(support::same_bits(plain, same));
  CHECK(support::same_bits(grads, support::take_grads(net->parameters())));
  CHECK(seen.size() == 4);
  CHECK(support::same_bits(seen["out"], same.detach()));
  CHECK(support::same_bits(seen["act"], torch::tanh(seen["in"])));
  net->eval();  // the children are shared
  (void)watched->forward(x);
  CHECK(support::same_bits(seen["drop"], seen["act"]));

  seen.clear();
  (void)with_output_hooks(net, "a*", [&](std::string const& name, at::Tensor const& y) { seen[name] = y; })->forward(x);
  CHECK(seen.size() == 1);
}

TEST_CASE("names that nothing has and watchers that are none are refused", "[torch][hooks]") {
  auto net = small_net();
  auto const look = [](std::string const&, at::Tensor const&) {};
  CHECK_THROWS_AS(register_gradient_hooks(*net, "hidden.*", look), cairn::invalid_call);
  CHECK_THROWS_AS(register_gradient_hooks(*net, "*", {}), cairn::invalid_call);
  CHECK_THROWS_AS(with_output_hooks(net, "hidden", look), cairn::invalid_call);
  CHECK_THROWS_AS(with_output_hooks(net, "*", {}), cairn::invalid_call);
  CHECK_THROWS_AS(with_output_hooks(torch::nn::Sequential(), "*", look), cairn::invalid_call);
  for (auto& parameter : net->parameters()) parameter.set_requires_grad(false);
  CHECK_THROWS_AS(register_gradient_hooks(*net, "*", look), cairn::invalid_call);
}

}  // namespace debug_hooks_tests
