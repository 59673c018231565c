// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpointed_sequential.hpp>
#include <cairn/adapt/torch/compat/hc_module.hpp>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>

namespace sequential_views_tests {

using at::Tensor;
using cl::checkpoint_sequential;
using cl::CheckpointedSequentialOptions;
using support::message_of;
using support::same_bits;
using support::seeded;
namespace nn = torch::nn;

using function = std::function<Tensor(Tensor const&)>;

nn::Sequential chain_of(std::vector<function> const& stages) {
  nn::Sequential net;
  for (auto const& one : stages) net->push_back(nn::Functional(one));
  return net;
}
Tensor sine(Tensor const& t) { return t.sin(); }
Tensor twice(Tensor const& t) { return t * 2; }
Tensor exponential(Tensor const& t) { return t.exp(); }
Tensor same(Tensor const& t) { return t; }
Tensor flat(Tensor const& t) { return t.flatten(); }
Tensor rows(Tensor const& t) { return t.reshape({32, -1}); }
Tensor part(Tensor const& t) { return t.narrow(0, 0, t.size(0) / 2); }
Tensor doubled(Tensor const& t) { return torch::cat({t, t}); }
Tensor plus_one(Tensor const& t) { return t + 1; }  // hands its gradient on as it is
Tensor padded(Tensor const& t) {
  return torch::cat({t, torch::ones({224, t.size(1)})});
}  // its gradient is a part of a larger one
Tensor row_sums(Tensor const& t) { return t.mv(torch::ones({t.size(1)})); }
Tensor heavy(Tensor const& t) { return t.unsqueeze(0).expand({12, -1, -1}).sin().sum(0); }
Tensor turned(Tensor const& t) { return t.t(); }
Tensor first_row(Tensor const& t) { return t.narrow(0, 0, 1); }
Tensor expanded(Tensor const& t) { return t.expand({32, t.size(1)}); }
Tensor in_place(Tensor t) { return t.mul_(0.5); }
Tensor in_place_and_other(Tensor t) { return t.mul_(0.5).cos(); }
Tensor normal(Tensor const& t) { return torch::softmax(t, -1); }
Tensor noisy(Tensor const& t) { return torch::dropout(t, 0.3, true); }

struct run {
  std::int64_t peak = 0, output = 0;
  std::vector<Tensor> made;  ///< output and gradients
};
/// \param seed  the gradient of the output
run differentiate(std::function<Tensor()> const& forward, std::vector<Tensor> const& leaves, Tensor const& seed) {
  torch::manual_seed(5);
  cl::byte_meter const meter;
  run now;
  auto y = forward();
  now.output = std::int64_t(y.storage().nbytes());
  std::vector<Tensor> grads;
  if (y.requires_grad()) grads = torch::autograd::grad({y}, leaves, {seed}, false, false, true);
  now.peak = meter.peak();
  now.made = grads;
  now.made.push_back(y.detach());
  return now;
}

/// Runs the chain within limits from the least to the plain call.
void check_limits(nn::Sequential net, Tensor const& x, int limits) {
  auto leaves = net->parameters();
  if (x.requires_grad()) leaves.push_back(x);
  auto const trial = x.detach().clone();
  Tensor const seed = torch::randn_like(net->forward(trial));
  bool const changes = trial._version() > 0;
  auto const given = [&] { return x.requires_grad() && changes ? x * 1 : x.requires_grad() ? x : x.clone(); };
  std::int64_t gradients = changes ? std::int64_t(x.nbytes()) : 0;
  for (auto const& one : leaves) gradients += std::int64_t(one.nbytes());
  auto const runs_in = [&](std::function<Tensor(Tensor const&)> const& forward) {
    auto const in = given();
    return differentiate([&] { return forward(in); }, leaves, seed);
  };
  auto const plain = runs_in([&](Tensor const& in) { return net->forward(in); });
  cl::detail::measured_stages const measured{cl::detail::stages_of(*net), given(), cl::Rng::Preserve};
  auto const refused = message_of(
      [&] { (void)checkpoint_sequential(net, 0, given(), CheckpointedSequentialOptions().memory_limit(0)); });
  std::int64_t least = 0;
  auto const most = std::max(measured.plain_peak, measured.measuring_peak);
  if (auto const at = refused.find("least = "); at != std::string::npos) least = std::stoll(refused.substr(at + 8));
  CHECK((least > 0 || most == 0));
  CHECK(least <= most);
  if (least > 0)
    CHECK_THROWS_AS(checkpoint_sequential(net, 0, given(), CheckpointedSequentialOptions().memory_limit(least - 1)),
                    cairn::infeasible_budget);
  for (int k = 0; k <= limits; ++k) {
    auto const limit = least + (most - least) * k / limits;
    CAPTURE(limit, least, most);
    auto const ours = runs_in([&](Tensor const& in) {
      return checkpoint_sequential(net, 0, in,
                                   CheckpointedSequentialOptions().memory_limit(limit).determinism(cl::Check::Bits));
    });
    CHECK(same_bits(plain.made, ours.made));
    CHECK(ours.peak <= limit + ours.output + gradients);
  }
}

TEST_CASE("a chain with views fits any feasible limit, from the least to the plain call", "[torch][sequential]") {
  seeded const seed{1};
  std::vector<std::vector<function>> const chains{
      {flat, sine, exponential, sine, twice, sine},
      {same, flat, rows, sine, twice, exponential, sine, exponential, flat},
      {sine, flat, rows, turned, turned, same, exponential, sine, sine, sine},
      {sine, twice, part, sine, exponential, sine, exponential},
      {part, part, sine, exponential, first_row, expanded, sine, exponential, sine, normal},
      {sine, first_row, expanded, turned, sine, twice, sine, exponential},
      {exponential, twice, in_place, flat, in_place, sine, exponential, sine},
      {sine, part, twice, doubled, twice, rows, doubled, part, sine, exponential},
      {heavy, plus_one, padded, row_sums},
      {sine, same, same, same, sine, same, same, sine, sine, same},
      {twice, flat, sine, rows, exponential, turned, normal, noisy, flat, sine, noisy, flat},
      {flat}, {same, same}, {sine}, {sine, flat}};
  bool const requires_grad = GENERATE(true, false);
  for (std::size_t k = 0; k < chains.size(); ++k) {
    CAPTURE(k, requires_grad);
    check_limits(chain_of(chains[k]), torch::randn({32, 32}).requires_grad_(requires_grad), 6);
  }
}

TEST_CASE("random chains with views fit any feasible limit", "[.soak]") {
  std::vector<function> const all{sine,   twice,  exponential, same,     flat,     rows,
                                  part,   turned, first_row,   expanded, in_place, in_place_and_other,
                                  normal, noisy,  doubled,     plus_one, padded};
  std::mt19937 random{7};
  int made = 0;
  while (made < 600) {
    std::vector<function> stages(1 + random() % 9);
    std::string places;
    for (auto& one : stages) {
      auto const k = random() % all.size();
      one = all[k];
      places += std::to_string(k) + ' ';
    }
    auto const net = chain_of(stages);
    auto const x = torch::randn({32, 32}).requires_grad_(random() % 4 != 0);
    try {
      torch::manual_seed(1);
      auto const y = nn::Sequential(net)->forward(x * 1);
      if (y.requires_grad()) (void)torch::autograd::grad({y.sum()}, {x});
    } catch (std::exception const&) {
      continue;  // rows of no row, a flat tensor turned, something changed in place that is saved
    }
    CAPTURE(++made, places);
    check_limits(net, x, 4);
  }
}

TEST_CASE("a chain with views runs nothing again from the bytes on that the plain call takes", "[torch][sequential]") {
  seeded const seed{2};
  std::vector<std::vector<function>> const chains{
      {sine, exponential, sine, exponential},
      {sine, flat, rows, same, exponential, flat, sine, rows, twice, sine},
      {flat, same, rows, sine, turned, exponential, noisy, turned, twice, sine},
      {sine, part, exponential, doubled, same, sine, twice, sine},
      {sine, first_row, exponential, expanded, sine, exponential, twice, sine},
      {exponential, twice, in_place, rows, in_place, sine, exponential, same, sine}};
  for (std::size_t k = 0; k < chains.size(); ++k) {
    CAPTURE(k);
    int runs = 0;
    std::vector<function> stages;
    for (int repetition = 0; repetition < 3; ++repetition)
      for (auto const& one : chains[k])
        stages.push_back([&runs, one](Tensor const& t) {
          ++runs;
          return one(t);
        });
    int const count = int(stages.size());
    stages.push_back(row_sums);  // a small output, which is the caller's
    auto net = chain_of(stages);
    auto const x = torch::randn({64, 64}).requires_grad_(true);
    auto const last = torch::ones({net->forward(x).size(0)});
    auto const plain = differentiate([&] { return net->forward(x); }, {x}, last);
    auto const runs_within = [&](std::int64_t limit) {
      cl::CheckpointedSequential within(net, CheckpointedSequentialOptions().memory_limit(limit).rng(cl::Rng::Ignore));
      (void)within->forward(x);
      runs = 0;
      (void)differentiate([&] { return within->forward(x); }, {x}, last);
      return runs;
    };
    CHECK(runs_within(plain.peak) == count);
    CHECK(runs_within(plain.peak - plain.output - 64) > count);
  }
}

TEST_CASE("measuring changes an input that a chain works on in place no more than the plain call does",
          "[torch][sequential]") {
  seeded const seed{3};
  nn::Sequential net(nn::Flatten(), nn::Dropout(nn::DropoutOptions(0.5).inplace(true)), nn::Linear(64, 8), nn::Tanh());
  auto const x = torch::randn({4, 64});
  auto const a = x.clone(), b = x.clone();
  auto const plain = differentiate([&] { return net->forward(a); }, net->parameters(), torch::ones({4, 8}));
  auto const ours = differentiate(
      [&] { return checkpoint_sequential(net, 0, b, CheckpointedSequentialOptions().memory_limit("1MB")); },
      net->parameters(), torch::ones({4, 8}));
  CHECK(same_bits(plain.made, ours.made));
  CHECK(same_bits(a, b));
}

TEST_CASE("children that give views of their input are one node with the child before", "[torch][sequential]") {
  nn::Sequential net(nn::Linear(8, 8), nn::Identity(), nn::Dropout(0.5), nn::Flatten(), nn::Tanh(),
                     nn::Unflatten(nn::UnflattenOptions(1, {2, 4})), nn::GELU());
  auto const x = torch::randn({4, 8});
  cl::HCModule model(net, cl::HCConfig().block_size(1));
  CHECK(model->configure_executor(x).work().stages() == 4);
  net->eval();
  CHECK(model->configure_executor(x).work().stages() == 3);
  auto const& work = model->executor().work();
  CHECK(work.x == std::vector<std::int64_t>{128, 128, 128, 0});
}

}  // namespace sequential_views_tests
