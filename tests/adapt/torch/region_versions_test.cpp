// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/record/sequential.hpp>

namespace region_versions_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::message_of;
using support::same_bits;
using support::take_grads;

void change(Tensor const& t) {
  torch::NoGradGuard const off;
  t.fill_(3);
}
constexpr char const* sentence = "a tensor that was read was changed in place before backward";

TEST_CASE("a region refuses what it read and did not save, when that was changed in place",
          "[torch][region][versions]") {
  bool const nested = GENERATE(true, false);
  auto const leaf = torch::ones({4}).requires_grad_(true), x = torch::ones({4}).requires_grad_(true);
  auto const weight = torch::ones({4}).requires_grad_(true), data = torch::ones({4});
  auto const result = leaf * 1;
  torch::nn::BatchNorm1d norm(4);
  norm->eval();
  std::vector<std::pair<Tensor, std::function<Tensor(Tensor const&)>>> const reads{
      {weight, [&](Tensor const& a) { return (a + weight).exp(); }},
      {data, [&](Tensor const& a) { return (a + data).exp(); }},
      {result, [&](Tensor const& a) { return (a + result).exp(); }},
      {data,
       [&](Tensor const& a) {
         return torch::stack({a, data}).exp();
       }},
      {norm->running_mean,
       [&](Tensor const& a) {
         return (norm->forward(a.reshape({1, 4})) + norm->running_mean).exp();
       }},
      {data, [&](Tensor const& a) {
         return (a + data.view({2, 2}).t().reshape({4})).exp();
       }}};
  for (auto const& [changed, f] : reads) {
    auto const run = [&, &of = f] {
      auto const options = CheckpointOptions();
      if (!nested) return checkpoint(of, x, options).sum();
      return checkpoint([&of, options](Tensor const& a) { return checkpoint(of, a.sin(), options).cos(); }, x, options)
          .sum();
    };
    CHECK(message_of([&] { run().backward(); }) == "");
    auto const y = run();
    change(changed);
    auto const said = message_of([&] { y.backward(); });
    bool const is_saved = changed.is_same(norm->running_mean);  // then it is LibTorch's own sentence
    CHECK(said.find(is_saved ? "modified by an inplace operation" : sentence) != std::string::npos);
  }
}

TEST_CASE("a region takes changes in place of what it made, of what it does not read and of what it changes itself",
          "[torch][region][versions]") {
  auto const x = torch::ones({4}).requires_grad_(true), unread = torch::ones({4}), count = torch::zeros({1});
  torch::nn::BatchNorm1d norm(4);
  auto const f = [&](Tensor const& a) {
    auto const h = a + 1;
    auto const constant = torch::ones({4}).add(2);
    count.add_(1);
    return std::vector<Tensor>{h, constant, (h + constant).sin(), norm->forward(torch::stack({a, h}))};
  };
  auto const gradient = [&](bool plain) {
    auto const y = plain ? f(x) : checkpoint(f, x);
    auto const again = plain ? f(x) : checkpoint(f, x);
    change(y[0]);
    change(y[1]);
    change(unread);
    (y[2].sum() + y[3].pow(2).sum() + again[2].sum()).backward();
    return take_grads({x});
  };
  CHECK(same_bits(gradient(true), gradient(false)));
}

TEST_CASE("a Sequential refuses what a child read and did not save, when that was changed in place",
          "[torch][sequential][versions]") {
  auto const shift = torch::ones({4});
  auto const x = torch::ones({2, 4}).requires_grad_(true);
  torch::nn::Sequential net;
  for (int k = 0; k < 4; ++k) {
    net->push_back(torch::nn::Functional([shift](Tensor const& a) { return a + shift; }));
    net->push_back(torch::nn::Tanh());
  }
  net->forward(x).sum().backward();
  auto const plain = take_grads({x});
  cl::checkpoint_sequential(net, 3, x).sum().backward();
  CHECK(same_bits(plain, take_grads({x})));
  auto const y = cl::checkpoint_sequential(net, 3, x).sum();
  change(shift);
  CHECK(message_of([&] { y.backward(); }).find(sentence) != std::string::npos);
}

}  // namespace region_versions_tests
