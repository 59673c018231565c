// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/checkpointed_cell.hpp>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace checkpointed_cell_tests {

using at::Tensor;
using cl::CheckpointedCellOptions;
using support::same_bits;

/// The plain loop over a cell: outputs [T, ...] and the last state.
template <class Cell, class State>
std::tuple<Tensor, State> plain(Cell& cell, Tensor const& xs, State s) {
  std::vector<Tensor> ys;
  for (auto const& x : xs.unbind(0)) {
    s = cell->forward(x, s);
    ys.push_back(cl::detail::tensors_of(s).front());
  }
  return {torch::stack(ys), s};
}
/// The gradients of a number that is made of all results, and the results.
template <class State>
std::vector<Tensor> differentiated(std::tuple<Tensor, State> const& results, std::vector<Tensor> const& leaves) {
  auto const& ys = std::get<0>(results);
  auto total = (ys * torch::linspace(-1, 1, ys.numel()).view_as(ys)).sum();
  for (auto const& t : cl::detail::tensors_of(std::get<1>(results))) total = total + t.pow(2).sum();
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
      auto const how = cl::LoopOptions().checkpoints(slots).block_size(size);
      cl::CheckpointedCell rnn{cell, CheckpointedCellOptions().loop(how)};
      torch::manual_seed(5);
      CHECK(same_bits(want, differentiated(rnn->forward(xs, start), leaves)));
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

std::vector<std::string> names_of(torch::nn::Module const& module) {
  auto names = module.named_parameters().keys();
  auto const buffers = module.named_buffers().keys();
  names.insert(names.end(), buffers.begin(), buffers.end());
  return names;
}

TEST_CASE("a cell under checkpoints has the bits of the plain loop over it", "[torch]") {
  auto const h = torch::randn({3, 4}), c = torch::randn({3, 4});
  check_cell(torch::nn::LSTMCell{5, 4}, std::tuple{h, c});
  check_cell(torch::nn::GRUCell{5, 4}, h);
  check_cell(torch::nn::RNNCell{torch::nn::RNNCellOptions(5, 4).bias(false).nonlinearity(torch::kReLU)}, h);
}

TEST_CASE("a cell under checkpoints runs a cell of one's own, and changes its buffers once", "[torch]") {
  OwnCell cell;
  std::tuple const start{torch::randn({3, 4}), std::vector{torch::zeros({3, 4})}};
  auto const xs = torch::randn({7, 3, 5}).requires_grad_(true);
  auto leaves = cell->parameters();
  leaves.push_back(xs);
  torch::manual_seed(5);
  auto want = differentiated(plain(cell, xs, start), leaves);
  want.push_back(cell->norm->running_mean.clone());
  cell->norm->reset_running_stats();
  cl::CheckpointedCell rnn{cell, CheckpointedCellOptions().loop(cl::LoopOptions().checkpoints(2))};
  CHECK(names_of(*rnn) == names_of(*cell));
  torch::manual_seed(5);
  auto got = differentiated(rnn->forward(xs, start), leaves);
  got.push_back(cell->norm->running_mean.clone());
  CHECK(same_bits(want, got));
  CHECK(cell->norm->num_batches_tracked.item<std::int64_t>() == 7);
  rnn->eval();
  CHECK_FALSE(cell->is_training());
  CHECK_FALSE(cell->norm->is_training());
  auto const again = std::get<0>(rnn(xs, start));
  CHECK(same_bits(again, std::get<0>(rnn(xs, start))));
  CHECK(cell->norm->num_batches_tracked.item<std::int64_t>() == 7);
}

TEST_CASE("a cell under checkpoints within a memory limit has the same bits", "[torch]") {
  torch::nn::LSTMCell cell{5, 4};
  auto const xs = torch::randn({40, 3, 5}).requires_grad_(true);
  auto leaves = cell->parameters();
  leaves.push_back(xs);
  auto const stats = std::make_shared<cl::StepStats>();
  auto const want = differentiated(cl::CheckpointedCell{cell}->forward(xs), leaves);
  auto const options = CheckpointedCellOptions().loop(cl::LoopOptions().stats(stats).memory_limit("24kB"));
  CHECK(same_bits(want, differentiated(cl::CheckpointedCell{cell, options}->forward(xs), leaves)));
  CHECK(stats->forward == 40);
  CHECK(stats->recompute > 0);
  auto const too_little = CheckpointedCellOptions().loop(cl::LoopOptions().memory_limit(100));
  CHECK_THROWS_AS(cl::CheckpointedCell(cell, too_little)->forward(xs), cairn::infeasible_budget);
}

TEST_CASE(
    "a cell under checkpoints begins at zero where no state is given, may have the batch first, and may be given "
    "nothing",
    "[torch]") {
  torch::nn::LSTMCell cell{5, 4};
  auto const xs = torch::randn({6, 3, 5});
  cl::CheckpointedCell rnn{cell}, batch_first{cell, CheckpointedCellOptions().batch_first(true)};
  auto const [ys, last] = rnn->forward(xs);
  auto const [want, want_last] = plain(cell, xs, std::tuple{torch::zeros({3, 4}), torch::zeros({3, 4})});
  CHECK(same_bits(ys, want));
  CHECK(same_bits(std::get<1>(last), std::get<1>(want_last)));
  auto const [rows, last_rows] = batch_first->forward(xs.transpose(0, 1));
  CHECK(same_bits(rows, want.transpose(0, 1)));
  CHECK(same_bits(std::get<0>(last_rows), std::get<0>(want_last)));
  auto const start = torch::randn({3, 4});
  auto const [none, state] = rnn->forward(xs.slice(0, 0, 0), std::tuple{start, start});
  CHECK(none.sizes() == at::IntArrayRef{0, 3, 4});
  CHECK(std::get<0>(state).is_same(start));
  CHECK(std::get<0>(batch_first->forward(xs.slice(0, 0, 0).transpose(0, 1), std::tuple{start, start})).sizes() ==
        at::IntArrayRef{3, 0, 4});
  {
    at::NoGradGuard const no_grad;
    CHECK(same_bits(std::get<0>(rnn->forward(xs)), want));
  }
  auto const said = [](auto& module, Tensor const& input) {
    return support::said<cairn::invalid_call>([&] { (void)module->forward(input); });
  };
  cl::CheckpointedCell own{OwnCell{}};
  CHECK(said(own, xs) ==
        "cairn::libtorch::CheckpointedCell: the cell does not say how large its state is; give the initial state");
  CHECK(said(rnn, torch::ones({4})) ==
        "cairn::libtorch::CheckpointedCell: the input is not a sequence of vectors (dimensions = 1); give [T, batch, "
        "features], or [batch, T, features] with batch_first(true)");
}

TEST_CASE("a cell under checkpoints is a module: saved and loaded as its cell, cloned, moved to another type",
          "[torch]") {
  torch::nn::GRUCell cell{5, 4};
  cl::CheckpointedCell rnn{torch::nn::GRUCell{5, 4}, CheckpointedCellOptions().loop(cl::LoopOptions().checkpoints(2))};
  auto const xs = torch::randn({6, 3, 5});
  std::stringstream file;
  torch::save(cell, file);
  torch::load(rnn, file);
  CHECK(same_bits(rnn->parameters(), cell->parameters()));
  std::stringstream back;
  torch::save(rnn, back);
  torch::nn::GRUCell other{5, 4};
  torch::load(other, back);
  CHECK(same_bits(other->parameters(), cell->parameters()));

  auto const copy = std::dynamic_pointer_cast<cl::CheckpointedCellImpl<torch::nn::GRUCell>>(rnn->clone());
  REQUIRE(copy != nullptr);
  auto const before = std::get<0>(copy->forward(xs));
  CHECK(same_bits(before, std::get<0>(rnn->forward(xs))));
  {
    at::NoGradGuard const no_grad;
    rnn->parameters()[0].add_(1);
  }
  CHECK(same_bits(before, std::get<0>(copy->forward(xs))));
  CHECK_FALSE(same_bits(before, std::get<0>(rnn->forward(xs))));

  rnn->to(at::kDouble);
  auto const ys = std::get<0>(rnn->forward(xs.to(at::kDouble)));
  CHECK(ys.scalar_type() == at::kDouble);
  ys.sum().backward();
  for (auto const& p : rnn->parameters()) CHECK(p.grad().scalar_type() == at::kDouble);
  rnn->zero_grad();
  for (auto const& p : rnn->cell()->parameters())
    CHECK((!p.grad().defined() || p.grad().abs().max().item<double>() == 0));
  std::stringstream name;
  name << *rnn;
  CHECK(name.str().find("cairn::libtorch::CheckpointedCell(torch::nn::GRUCell") != std::string::npos);
}

/// A module whose cell is a member that the constructor fills.
struct ReaderImpl : torch::nn::Module {
  cl::CheckpointedCell<torch::nn::LSTMCell> rnn{nullptr};
  ReaderImpl() { rnn = register_module("rnn", cl::CheckpointedCell<torch::nn::LSTMCell>(torch::nn::LSTMCell(5, 4))); }
  Tensor forward(Tensor const& xs) { return std::get<0>(rnn->forward(xs)); }
};
TEST_CASE("a cell under checkpoints is a member that is empty at first", "[torch]") {
  cl::CheckpointedCell<torch::nn::GRUCell> none = nullptr;
  CHECK_FALSE(none);
  ReaderImpl reader;
  reader.forward(torch::randn({6, 3, 5})).sum().backward();
  CHECK(reader.named_parameters().keys().front() == "rnn.weight_ih");
  for (auto const& p : reader.parameters()) CHECK(p.grad().defined());
}

}  // namespace checkpointed_cell_tests
