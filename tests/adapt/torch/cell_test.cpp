// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <memory>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>

namespace cell_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;

/// The plain loop over a cell: the last state, and the outputs [T, ...].
template <class Cell, class State>
std::pair<State, Tensor> plain(Cell& cell, Tensor const& xs, State s) {
  std::vector<Tensor> ys;
  for (auto const& x : xs.unbind(0)) {
    s = cell->forward(x, s);
    ys.push_back(cl::detail::tensors_of(s).front());
  }
  return {s, torch::stack(ys)};
}
/// The gradients of a number that is made of all results, and the results.
template <class State>
std::vector<Tensor> differentiated(std::pair<State, Tensor> const& results, std::vector<Tensor> const& leaves) {
  auto const& ys = results.second;
  auto total = (ys * torch::linspace(-1, 1, ys.numel()).view_as(ys)).sum();
  for (auto const& t : cl::detail::tensors_of(results.first)) total = total + t.pow(2).sum();
  total.backward({}, true);
  auto all = support::take_grads(leaves);
  all.push_back(ys.detach());
  return all;
}
template <class Cell, class State>
void check_cell(Cell cell, State const& start) {
  auto const xs = torch::randn({11, 3, 5}).requires_grad_(true);
  auto leaves = cell->parameters();
  leaves.push_back(xs);
  torch::manual_seed(5);
  auto const want = differentiated(plain(cell, xs, start), leaves);
  for (int const slots : {1, 2, 4})
    for (int const size : {1, 3, 20}) {
      CAPTURE(slots, size);
      auto const how = LoopOptions().checkpoints(slots).block_size(size);
      torch::manual_seed(5);
      CHECK(same_bits(want, differentiated(cl::checkpointed_scan(cell, start, xs, how), leaves)));
    }
}

/// A cell of one's own: with a child, dropout, a buffer, and a state that is more than its output.
struct OwnCellImpl : torch::nn::Module {
  OwnCellImpl() {
    inside = register_module("inside", torch::nn::Linear{9, 4});
    norm = register_module("norm", torch::nn::BatchNorm1d{4});
    scale = register_parameter("scale", torch::full({4}, 0.5));
    shift = register_buffer("shift", torch::full({4}, 0.25));
  }
  std::tuple<Tensor, std::vector<Tensor>> forward(Tensor const& x, std::tuple<Tensor, std::vector<Tensor>> const& s) {
    auto const h = torch::dropout(torch::tanh(norm->forward(inside->forward(torch::cat({x, std::get<0>(s)}, 1)))), 0.3,
                                  is_training()) *
                       scale +
                   shift;
    return {h, {std::get<1>(s)[0] + h}};
  }
  torch::nn::Linear inside{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  Tensor scale, shift;
};
TORCH_MODULE(OwnCell);

TEST_CASE("a scan by a cell has the bits of the plain loop over it", "[torch]") {
  auto const h = torch::randn({3, 4}), c = torch::randn({3, 4});
  check_cell(torch::nn::LSTMCell{5, 4}, std::tuple{h, c});
  check_cell(torch::nn::GRUCell{5, 4}, h);
  check_cell(torch::nn::RNNCell{torch::nn::RNNCellOptions(5, 4).bias(false).nonlinearity(torch::kReLU)}, h);
}

TEST_CASE("a scan by a cell of one's own changes its buffers once", "[torch]") {
  OwnCell cell;
  std::tuple const start{torch::randn({3, 4}), std::vector{torch::zeros({3, 4})}};
  auto const xs = torch::randn({7, 3, 5}).requires_grad_(true);
  auto leaves = cell->parameters();
  leaves.push_back(xs);
  torch::manual_seed(5);
  auto want = differentiated(plain(cell, xs, start), leaves);
  want.push_back(cell->norm->running_mean.clone());
  cell->norm->reset_running_stats();
  torch::manual_seed(5);
  auto got = differentiated(cl::checkpointed_scan(cell, start, xs, LoopOptions().checkpoints(2)), leaves);
  got.push_back(cell->norm->running_mean.clone());
  CHECK(same_bits(want, got));
  CHECK(cell->norm->num_batches_tracked.item<std::int64_t>() == 7);
  at::NoGradGuard const no_grad;
  cell->eval();
  auto const of_vector = cl::checkpointed_scan(cell, start, xs.unbind(0), LoopOptions()).second;
  CHECK(same_bits(torch::stack(of_vector), plain(cell, xs, start).second));
}

TEST_CASE("a scan by a cell is estimated, and measured once within a memory limit", "[torch]") {
  torch::nn::LSTMCell cell{5, 4};
  auto const xs = torch::randn({40, 3, 5}).requires_grad_(true);
  std::tuple const start{torch::zeros({3, 4}), torch::zeros({3, 4})};
  auto leaves = cell->parameters();
  leaves.push_back(xs);
  auto const stats = std::make_shared<cl::StepStats>();
  auto const plans = std::make_shared<cl::LoopPlans>();
  auto const how = LoopOptions().stats(stats).memory_limit("24kB").plans(plans);
  auto const want = differentiated(plain(cell, xs, start), leaves);
  for (int const times : {1, 2}) {
    CHECK(same_bits(want, differentiated(cl::checkpointed_scan(cell, start, xs, how), leaves)));
    CHECK(stats->forward == 40 * times);
    CHECK(plans->made() == 1);
  }
  CHECK(stats->recompute > 0);
  auto const e = cl::estimate(cell, start, xs, how);
  CHECK(e.forward == 40);
  CHECK(e.fits());
  CHECK(e.caller_bytes == 40 * 3 * (4 + 5) * 4);
  CHECK_THROWS_AS(cl::checkpointed_scan(cell, start, xs, LoopOptions().memory_limit(100)), cairn::infeasible_budget);
}

}  // namespace cell_tests
