// SPDX-License-Identifier: Apache-2.0
// A Sequential under checkpoints whose children keep the results of some operators, or are run again once for several
// backward passes.
#include "support/torch.hpp"
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_group.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/checkpointed_sequential.hpp>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/checkpoint/keep.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>
#include <cairn/adapt/torch/checkpoint/sequential_forms.hpp>

namespace sequential_policy_tests {

namespace nn = torch::nn;
using at::Tensor;
using cl::checkpoint_group_guard;
using cl::checkpoint_sequential;
using cl::CheckpointedSequential;
using cl::CheckpointedSequentialOptions;
using cl::CheckpointGroup;
using cl::CheckpointPolicy;
using cl::save_operators;
using Catch::Matchers::ContainsSubstring;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;
using tensors = std::vector<Tensor>;
using function = std::function<Tensor(Tensor const&)>;

/// Children with a product, a change in place after it, and random numbers.
nn::Sequential net_of(std::int64_t children) {
  nn::Sequential net;
  for (std::int64_t k = 0; k < children; ++k) {
    nn::Linear layer(16, 16);
    net->push_back(nn::Functional([layer](Tensor const& x) mutable {
      return torch::dropout(layer->forward(x).relu_().sigmoid(), 0.25, true);
    }));
    net->register_module("layer " + std::to_string(k), layer.ptr());
  }
  return net;
}
/// Counts the products that it is asked of.
cl::checkpoint_policy counting(int& products, CheckpointPolicy said) {
  return [&products, said](std::string_view operation) {
    if (operation != "aten::addmm") return CheckpointPolicy::PreferRecompute;
    return ++products, said;
  };
}

TEST_CASE("a chain keeps what its policy says in the children that run again, with the bits of the plain call",
          "[torch][sequential][policy]") {
  seeded const seed{1};
  auto const net = net_of(6);
  auto const x = torch::randn({8, 16}).requires_grad_();
  auto wanted = net->parameters();
  wanted.push_back(x);
  auto const run = [&](auto const& forward, int passes) {
    torch::manual_seed(3);
    Tensor const y = forward();
    tensors all{torch::rand({2})};
    for (int k = 1; k <= passes; ++k) {
      y.sum().backward({}, k < passes);
      for (auto const& one : take_grads(wanted)) all.push_back(one);
    }
    return all;
  };
  auto const passes = GENERATE(1, 2);
  auto const plain = run([&] { return nn::Sequential(net)->forward(x); }, passes);
  for (auto const said : {CheckpointPolicy::MustSave, CheckpointPolicy::PreferSave, CheckpointPolicy::MustRecompute}) {
    for (auto const check : {cl::Check::Metadata, cl::Check::Bits}) {
      int products = 0;
      auto const policy = counting(products, said);
      auto const options = CheckpointedSequentialOptions().policy(policy).determinism(check);
      CHECK(same_bits(run([&] { return checkpoint_sequential(net, 3, x, options); }, passes), plain));
      CHECK(products == 4);  // two segments of two children each; the last segment is not run again
      CheckpointedSequential module(net, CheckpointedSequentialOptions(options).segments(6));
      CHECK(same_bits(run([&] { return module->forward(x); }, passes), plain));
      CHECK(products == 9);
      cl::HCModule blocks(net, cl::HCConfig().block_size(2).policy(policy).determinism(check));
      CHECK(same_bits(run([&] { return blocks->forward(x); }, passes), plain));
      CHECK(products == 13);
    }
  }
}

TEST_CASE("what a policy keeps in a chain is not run again, takes its bytes, and goes child by child",
          "[torch][sequential][policy]") {
  seeded const seed{2};
  auto const w = torch::randn({64, 64}).requires_grad_(), x = torch::randn({64, 64}).requires_grad_();
  auto const bytes = std::int64_t(x.nbytes());
  int kept_runs = 0, runs = 0;
  std::vector<std::int64_t> standing;
  std::optional<cl::byte_meter> meter;
  function const child = [&](Tensor const& a) {
    ++runs;
    if (runs > 8) standing.push_back(meter->allocated());
    auto const part = cl::keep([&] { return ++kept_runs, a.sin(); });
    return torch::tanh(part.mm(w)).cos();
  };
  std::vector<function> const chain(8, child);
  auto const keeps = [&](CheckpointedSequentialOptions const& options) {
    runs = kept_runs = 0;
    standing.clear();
    meter.emplace();
    auto const y = checkpoint_sequential(chain, 8, x, options);
    auto const now = meter->allocated();
    y.sum().backward();
    return now;
  };
  auto const least = keeps(CheckpointedSequentialOptions());
  auto const expected = take_grads({x, w});
  auto const without = standing;
  CHECK(runs == 15);
  CHECK(kept_runs == 15);  // without a policy `keep` is the plain call
  auto const most = keeps(CheckpointedSequentialOptions().policy(save_operators({"aten::mm"})));
  CHECK(same_bits(take_grads({x, w}), expected));
  CHECK(runs == 15);
  CHECK(kept_runs == 8);
  CHECK(most >= least + 7 * bytes);  // the products
  REQUIRE(standing.size() == 7);
  CHECK(standing.back() - without.back() <=
        standing.front() - without.front() - 5 * bytes);  // those of the later children are gone
}

TEST_CASE("a policy is refused beside a memory limit, and in a chain with a kept plan, too",
          "[torch][sequential][policy]") {
  nn::Sequential net(nn::Linear(4, 4), nn::Tanh());
  auto const x = torch::randn({2, 4}).requires_grad_();
  auto const limit = CheckpointedSequentialOptions().memory_limit("1MB");
  (void)checkpoint_sequential(net, 0, x, limit);
  auto const both = CheckpointedSequentialOptions(limit).policy(save_operators({"aten::addmm"}));
  CHECK_THAT(message_of([&] { (void)checkpoint_sequential(net, 0, x, both); }),
             ContainsSubstring("a policy and a memory limit are given"));
  CheckpointedSequential module(net, both);
  CHECK_THAT(message_of([&] { (void)module->forward(x); }), ContainsSubstring("a policy and a memory limit are given"));
}

/// Children that give out their first results, so that passes can go through single ones.
struct open_chain {
  tensors w, results;
  int runs = 0;
  explicit open_chain(std::size_t children) {
    while (w.size() < children) w.push_back(torch::randn({4, 4}).requires_grad_());
  }
  [[nodiscard]] std::vector<function> children() {
    std::vector<function> all;
    for (auto const& one : w)
      all.push_back([this, one](Tensor const& x) {
        ++runs;
        auto y = torch::dropout(x.mm(one).tanh(), 0.5, true);
        if (results.size() < w.size()) results.push_back(y);
        return y;
      });
    return all;
  }
  void start() {
    torch::manual_seed(6);
    results.clear();
    runs = 0;
  }
  [[nodiscard]] tensors in_passes(Tensor const& x, std::vector<std::size_t> cuts) const {
    return support::grads_in_passes(results, x, w, std::move(cuts));
  }
};

TEST_CASE("the passes of a group run the children of a chain again once, and have the plain bits",
          "[torch][sequential][checkpoint]") {
  seeded const seed{3};
  std::mt19937 random{9};
  auto const x = torch::randn({4, 4}).requires_grad_();
  for (int trial = 0; trial < 16; ++trial) {
    open_chain net{2 + random() % 6};
    std::vector<std::size_t> cuts;
    for (std::size_t k = 1; k < net.w.size(); ++k) if (random() % 2 == 0) cuts.push_back(k);
    auto const children = net.children();
    auto const options = CheckpointedSequentialOptions().determinism(cl::Check::Bits);
    auto const segments = 1 + std::int64_t(random() % net.w.size());
    net.start();
    Tensor y = x;
    for (auto const& one : children) y = one(y);
    auto const plain = net.in_passes(x, cuts);
    auto const all = int(net.w.size());
    net.start();
    (void)checkpoint_sequential(children, segments, x, options);
    int const forward = net.runs;
    CHECK(forward == all);
    CHECK(same_bits(net.in_passes(x, cuts), plain));
    int const again = net.runs - forward;  // nodes of different children: no pass wants what an earlier one has taken
    {
      CheckpointGroup const group;
      net.start();
      (void)checkpoint_sequential(children, segments, x, options);
      checkpoint_group_guard const in{group};
      CHECK(same_bits(net.in_passes(x, cuts), plain));
      CHECK(net.runs == all + again);
    }
    {  // the chain is of the group; its passes have no guard, and are in another thread
      CheckpointGroup const group;
      std::optional<checkpoint_group_guard> in{group};
      net.start();
      (void)checkpoint_sequential(children, segments, x, options);
      in.reset();
      tensors found;
      std::thread([&] { found = net.in_passes(x, cuts); }).join();
      CHECK(same_bits(found, plain));
      CHECK(net.runs == all + again);
    }
  }
}

/// Two branches, so that a pass can go through one of them and a later pass through the other.
struct forked {
  Tensor w = torch::randn({4, 4}).requires_grad_(), v = torch::randn({4, 4}).requires_grad_();
  tensors left, right, out;
  int runs = 0;
  [[nodiscard]] Tensor operator()(Tensor const& x, bool first) {
    ++runs;
    auto const l = torch::dropout(x.mm(w), 0.5, true).tanh(), r = x.sin().mm(v).sigmoid();
    auto y = l + r;
    if (first) left.push_back(l), right.push_back(r), out.push_back(y);
    return y;
  }
};

TEST_CASE(
    "passes of a group through branches of the same children share one run, and a pass between takes nothing from them",
    "[torch][sequential][checkpoint]") {
  seeded const seed{4};
  constexpr std::size_t n = 5;
  auto const x = torch::randn({4, 4}).requires_grad_();
  std::vector<forked> forks(n);
  std::vector<function> children;
  for (auto& one : forks) children.push_back([&one](Tensor const& a) { return one(a, one.left.empty()); });
  auto const start = [&] {
    torch::manual_seed(8);
    for (auto& one : forks) one.left.clear(), one.right.clear(), one.out.clear(), one.runs = 0;
  };
  auto const runs = [&] {
    int all = 0;
    for (auto const& one : forks) all += one.runs;
    return all;
  };
  // One branch of each child, and then the other: they share no node but the sum, which saves nothing.
  auto const pass = [&](bool by_left, std::size_t stride = 1, std::size_t first = 0) {
    tensors found;
    for (std::size_t k = n; k-- > 0;) {
      if (k % stride != first) continue;
      auto const& y_k = forks[k].out[0];
      auto const grads =
          torch::autograd::grad({y_k}, {by_left ? forks[k].w : forks[k].v}, {torch::ones_like(y_k)}, true);
      found.push_back(grads[0]);
    }
    return found;
  };
  start();
  Tensor y = x;
  for (auto const& one : children) y = one(y);
  auto const lefts = pass(true), rights = pass(false);
  auto const between = torch::autograd::grad({y}, {x, forks[0].w}, {torch::ones_like(y)}, true);

  start();
  y = checkpoint_sequential(children, std::int64_t(n), x);
  CHECK(same_bits(pass(true), lefts));
  CHECK(same_bits(pass(false), rights));
  auto const apart = runs();
  {
    start();
    CheckpointGroup group;
    y = checkpoint_sequential(children, std::int64_t(n), x);
    {
      checkpoint_group_guard const in{group};
      CHECK(same_bits(pass(true), lefts));
    }
    auto const once = runs();
    CHECK(once == int(n) + int(n) - 1);
    {
      checkpoint_group_guard const in{group};
      CHECK(same_bits(pass(false), rights));
    }
    CHECK(runs() == once);
    CHECK(apart > once);
  }
  {  // the second pass wants the children that the first one left out
    start();
    CheckpointGroup const group;
    y = checkpoint_sequential(children, std::int64_t(n), x);
    checkpoint_group_guard const in{group};
    auto const even = pass(true, 2, 0), odd = pass(true, 2, 1);
    CHECK(same_bits({even[0], odd[0], even[1], odd[1], even[2]}, lefts));
    CHECK(runs() == int(n) + int(n) - 1);
  }
  {
    start();
    CheckpointGroup group;
    y = checkpoint_sequential(children, std::int64_t(n), x);
    {
      checkpoint_group_guard const in{group};
      CHECK(same_bits(pass(true), lefts));
    }
    CHECK(same_bits(torch::autograd::grad({y}, {x, forks[0].w}, {torch::ones_like(y)}, true), between));
    auto const before = runs();
    checkpoint_group_guard const in{group};
    CHECK(same_bits(pass(false), rights));
    CHECK(runs() == before);
    CHECK_THAT(message_of([&] { (void)pass(true); }),
               ContainsSubstring("needs a saved tensor that another pass of its group has taken"));
    group.end();
    CHECK_THAT(message_of([&] { (void)pass(false); }), ContainsSubstring("the group has ended"));
  }
}

TEST_CASE("the passes of a group run the nodes of an HCModule again once, for every block size",
          "[torch][hc_module][checkpoint]") {
  seeded const seed{5};
  constexpr std::size_t n = 5;
  auto const x = torch::randn({4, 4}).requires_grad_();
  std::vector<forked> forks(n);
  nn::Sequential net;
  for (auto& one : forks)
    net->push_back(nn::Functional([&one](Tensor const& a) { return one(a, one.left.empty()); }));
  auto const start = [&] {
    torch::manual_seed(8);
    for (auto& one : forks) one.left.clear(), one.right.clear(), one.out.clear(), one.runs = 0;
  };
  auto const runs = [&] {
    int all = 0;
    for (auto const& one : forks) all += one.runs;
    return all;
  };
  // One branch of each node, the last node first.
  auto const pass = [&](bool by_left) {
    tensors found;
    for (std::size_t k = n; k-- > 0;) {
      auto const& y = forks[k].out[0];
      found.push_back(torch::autograd::grad({y}, {by_left ? forks[k].w : forks[k].v}, {torch::ones_like(y)}, true)[0]);
    }
    return found;
  };
  start();
  (void)net->forward(x);
  auto const lefts = pass(true), rights = pass(false);
  for (int size = 1; size <= int(n); ++size) {
    cl::HCModule model(net, cl::HCConfig().block_size(size).determinism(cl::Check::Bits));
    model->configure_executor(x);  // measuring runs the nodes, too
    start();
    auto y = model->forward(x);
    int const forward = runs();
    CHECK(same_bits(pass(true), lefts));
    int const once = runs();
    CHECK(once == forward + int(n) - 1 - (int(n) - 1) % size);  // the last block has its tapes
    CHECK(same_bits(pass(false), rights));
    int const apart = runs();
    CheckpointGroup group;
    start();
    y = model->forward(x);
    for (bool const by_left : {true, false}) {
      checkpoint_group_guard const in{group};
      CHECK(same_bits(pass(by_left), by_left ? lefts : rights));
      CHECK(runs() == once);
    }
    CHECK((size == int(n) || apart > once));
    group.end();
    CHECK((size == int(n) || message_of([&] {
             checkpoint_group_guard const in{group};
             (void)pass(true);
           }).find("the group has ended") != std::string::npos));
    start();
    y = Tensor{};
  }
}

TEST_CASE("what a group holds of a chain goes at its end, and with the graph", "[torch][sequential][checkpoint]") {
  auto const x = torch::randn({64, 64}).requires_grad_();
  auto const bytes = std::int64_t(x.nbytes());
  std::vector<forked> forks(4);
  for (auto& one : forks) {
    one.w = torch::randn({64, 64}).requires_grad_();
    one.v = torch::randn({64, 64}).requires_grad_();
  }
  bool const by_graph = GENERATE(true, false);
  std::vector<function> children;
  for (auto& one : forks) children.push_back([&one](Tensor const& a) { return one(a, one.left.empty()); });
  CheckpointGroup group;
  cl::byte_meter const meter;
  auto y = checkpoint_sequential(children, 4, x);
  auto const before = meter.allocated();
  {
    checkpoint_group_guard const in{group};
    for (std::size_t k = 4; k-- > 0;)
      (void)torch::autograd::grad({forks[k].left[0]}, {forks[k].w}, {torch::ones_like(x)}, true);
  }
  CHECK(meter.allocated() > before + 4 * bytes);
  if (by_graph) {
    y = Tensor{};
    for (auto& one : forks) one.left.clear(), one.right.clear(), one.out.clear();
    CHECK(meter.allocated() < bytes);
  } else {
    group.end();
    CHECK(meter.allocated() <= before + 2 * bytes);  // the input of the last children is kept with this plan
  }
}

}  // namespace sequential_policy_tests
