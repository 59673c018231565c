// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/checkpointed_rnn.hpp>

namespace checkpointed_rnn_tests {

using at::Tensor;
using cl::LoopOptions;
using cl::tensor_list;
using support::same_bits;
using support::seeded;
namespace nn = torch::nn;

// One step of a layer, by the names of its weights, from the state's tensors to the next ones.
struct lstm {
  using Plain = nn::LSTM;
  using Options = nn::LSTMOptions;
  using Checkpointed = cl::CheckpointedLSTM;
  static constexpr std::size_t parts = 2;
  template <class Weights>
  static tensor_list next(Tensor const& x, tensor_list const& s, Weights const& w, Options const& options) {
    if (options.proj_size() == 0) {
      auto const [h, c] = torch::lstm_cell(x, s, w("weight_ih"), w("weight_hh"), w("bias_ih"), w("bias_hh"));
      return {h, c};
    }
    auto const all =
        (torch::linear(x, w("weight_ih"), w("bias_ih")) + torch::linear(s[0], w("weight_hh"), w("bias_hh")))
            .chunk(4, 1);
    auto const c = torch::sigmoid(all[1]) * s[1] + torch::sigmoid(all[0]) * torch::tanh(all[2]);
    return {torch::linear(torch::sigmoid(all[3]) * torch::tanh(c), w("weight_hr")), c};
  }
};
struct gru {
  using Plain = nn::GRU;
  using Options = nn::GRUOptions;
  using Checkpointed = cl::CheckpointedGRU;
  static constexpr std::size_t parts = 1;
  template <class Weights>
  static tensor_list next(Tensor const& x, tensor_list const& s, Weights const& w, Options const&) {
    return {torch::gru_cell(x, s[0], w("weight_ih"), w("weight_hh"), w("bias_ih"), w("bias_hh"))};
  }
};
struct rnn_tanh {
  using Plain = nn::RNN;
  using Options = nn::RNNOptions;
  using Checkpointed = cl::CheckpointedRNN;
  static constexpr std::size_t parts = 1;
  template <class Weights>
  static tensor_list next(Tensor const& x, tensor_list const& s, Weights const& w, Options const&) {
    return {torch::rnn_tanh_cell(x, s[0], w("weight_ih"), w("weight_hh"), w("bias_ih"), w("bias_hh"))};
  }
};
struct rnn_relu : rnn_tanh {
  template <class Weights>
  static tensor_list next(Tensor const& x, tensor_list const& s, Weights const& w, Options const&) {
    return {torch::rnn_relu_cell(x, s[0], w("weight_ih"), w("weight_hh"), w("bias_ih"), w("bias_hh"))};
  }
};

tensor_list parts_of(Tensor const& h) { return {h}; }
tensor_list parts_of(std::tuple<Tensor, Tensor> const& s) { return {std::get<0>(s), std::get<1>(s)}; }

/// The plain loops over cells that a module of these options replaces: the output, and the parts of the last states.
/// Layers of one direction go along the sequence together.
template <class Kind>
std::pair<Tensor, tensor_list> plain(typename Kind::Options const& options, nn::Module const& net, Tensor const& xs,
                                     tensor_list const& start) {
  auto const named = net.named_parameters();
  auto const layers = options.num_layers(), ways = options.bidirectional() ? std::int64_t{2} : std::int64_t{1};
  auto const weights_of = [&](std::int64_t layer, std::int64_t way) {
    return [&named, tail = "_l" + std::to_string(layer) + (way == 1 ? "_reverse" : "")](std::string const& name) {
      auto const* found = named.find(name + tail);
      return found == nullptr ? Tensor{} : *found;
    };
  };
  auto const drops = [&](Tensor const& x) {
    return options.dropout() > 0 && net.is_training() ? torch::dropout(x, options.dropout(), true) : x;
  };
  std::vector<tensor_list> states;
  for (std::int64_t k = 0; k < layers * ways; ++k) {
    tensor_list s;
    for (auto const& part : start) s.push_back(part.unbind(0)[std::size_t(k)]);
    states.push_back(s);
  }
  auto ys = options.batch_first() ? xs.transpose(0, 1) : xs;
  if (ways == 1) {
    tensor_list all;
    for (auto const& row : ys.unbind(0)) {
      auto x = row;
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        auto& s = states[std::size_t(layer)];
        if (layer > 0) x = drops(x);
        s = Kind::next(x, s, weights_of(layer, 0), options);
        x = s.front();
      }
      all.push_back(x);
    }
    ys = torch::stack(all);
  } else {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      tensor_list outputs;
      for (std::int64_t way = 0; way < 2; ++way) {
        auto& s = states[std::size_t(2 * layer + way)];
        tensor_list all;
        for (auto const& x : (way == 1 ? ys.flip(0) : ys).unbind(0)) {
          s = Kind::next(x, s, weights_of(layer, way), options);
          all.push_back(s.front());
        }
        outputs.push_back(way == 1 ? torch::stack(all).flip(0) : torch::stack(all));
      }
      ys = torch::cat(outputs, 2);
      if (layer + 1 < layers) ys = drops(ys);
    }
  }
  tensor_list last;
  for (std::size_t part = 0; part < Kind::parts; ++part) {
    tensor_list rows;
    for (auto const& s : states) rows.push_back(s[part]);
    last.push_back(torch::stack(rows));
  }
  return {options.batch_first() ? ys.transpose(0, 1) : ys, last};
}
/// Output, last states, and the gradients of everything with respect to the leaves.
std::vector<Tensor> differentiated(std::pair<Tensor, tensor_list> const& results, std::vector<Tensor> const& leaves) {
  auto const& [ys, last] = results;
  auto total = (ys * torch::linspace(-1, 1, ys.numel()).view(ys.sizes())).sum();
  for (auto const& part : last) total = total + part.pow(2).sum();
  total.backward({}, true);
  auto all = support::take_grads(leaves);
  all.push_back(ys.detach());
  for (auto const& part : last) all.push_back(part.detach());
  return all;
}
template <class Kind, class Module>
std::pair<Tensor, tensor_list> called(Module& net, Tensor const& xs, tensor_list const& start) {
  if constexpr (Kind::parts == 2) {
    auto const [ys, last] = net->forward(xs, std::tuple{start[0], start[1]});
    return {ys, parts_of(last)};
  } else {
    auto const [ys, last] = net->forward(xs, start[0]);
    return {ys, parts_of(last)};
  }
}
/// Checks one form of a module against the plain loops over cells, to the bit, and against the plain module, to
/// rounding.
template <class Kind>
void check(typename Kind::Options const& options) {
  seeded const seed{4};
  typename Kind::Plain module{options};
  typename Kind::Checkpointed net{module, LoopOptions().checkpoints(2).block_size(2)};  // shares the parameters
  REQUIRE(net->named_parameters().keys() == module->named_parameters().keys());
  std::int64_t const states = options.num_layers() * (options.bidirectional() ? 2 : 1);
  auto const hidden = module->options_base.proj_size() > 0 ? module->options_base.proj_size() : options.hidden_size();
  auto xs = torch::randn({7, 3, options.input_size()}).requires_grad_();
  if (options.batch_first()) xs = xs.detach().transpose(0, 1).contiguous().requires_grad_();
  tensor_list start{torch::randn({states, 3, hidden}).requires_grad_()};
  if (Kind::parts == 2) start.push_back(torch::randn({states, 3, options.hidden_size()}).requires_grad_());
  auto leaves = module->parameters();
  leaves.insert(leaves.end(), {xs, start.front()});
  if (Kind::parts == 2) leaves.push_back(start.back());

  torch::manual_seed(9);
  auto const want = differentiated(plain<Kind>(options, *net, xs, start), leaves);
  torch::manual_seed(9);
  auto const got = differentiated(called<Kind>(net, xs, start), leaves);
  CHECK(same_bits(want, got));
  if (options.dropout() > 0) return;
  auto const theirs = differentiated(called<Kind>(module, xs, start), leaves);
  REQUIRE(theirs.size() == got.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    CHECK(theirs[k].sizes() == got[k].sizes());
    CHECK(torch::allclose(theirs[k], got[k], 1e-4, 1e-5));
  }
}
template <class Kind>
void check_forms() {
  typename Kind::Options const small_layer(5, 4);
  check<Kind>(small_layer);
  check<Kind>(typename Kind::Options(5, 4).bias(false).batch_first(true));
  check<Kind>(typename Kind::Options(5, 4).num_layers(3));
  check<Kind>(typename Kind::Options(5, 4).bidirectional(true));
  check<Kind>(typename Kind::Options(5, 4).num_layers(2).bidirectional(true).batch_first(true));
  check<Kind>(typename Kind::Options(5, 4).num_layers(3).dropout(0.4));
  check<Kind>(typename Kind::Options(5, 4).num_layers(2).dropout(0.4).bidirectional(true));
}

TEST_CASE(
    "layers of LibTorch under checkpoints have the bits of plain loops over their cells, and nearly those of the plain "
    "module",
    "[torch]") {
  check_forms<lstm>();
  check_forms<gru>();
  check_forms<rnn_tanh>();
  check<rnn_relu>(nn::RNNOptions(5, 4).num_layers(2).nonlinearity(torch::kReLU));
  check<lstm>(nn::LSTMOptions(5, 4).proj_size(3));
  check<lstm>(nn::LSTMOptions(5, 4).proj_size(2).num_layers(2).bidirectional(true).bias(false));
}

TEST_CASE("a plain LSTM's file is loaded by one under checkpoints, and the other way round", "[torch]") {
  seeded const seed{5};
  auto const options = nn::LSTMOptions(5, 4).num_layers(2).bidirectional(true);
  nn::LSTM plain_module{options}, back{options};
  cl::CheckpointedLSTM net{options};
  std::stringstream file, other;
  torch::save(plain_module, file);
  torch::load(net, file);
  CHECK(same_bits(net->parameters(), plain_module->parameters()));
  CHECK(net->named_parameters()["weight_hh_l1_reverse"].sizes() == at::IntArrayRef{16, 4});
  auto const xs = torch::randn({6, 3, 5});
  CHECK(torch::allclose(std::get<0>(net->forward(xs)), std::get<0>(plain_module->forward(xs)), 1e-4, 1e-5));
  torch::save(net, other);
  torch::load(back, other);
  CHECK(same_bits(back->parameters(), plain_module->parameters()));
}

TEST_CASE("an LSTM under checkpoints begins at zero where no state is given, and may be given no step", "[torch]") {
  cl::CheckpointedLSTM net{nn::LSTMOptions(5, 4).num_layers(2)};
  auto const xs = torch::randn({6, 3, 5}), zero = torch::zeros({2, 3, 4});
  auto const [ys, last] = net->forward(xs);
  auto const [want, want_last] = net->forward(xs, std::tuple{zero, zero});
  CHECK(same_bits(ys, want));
  CHECK(same_bits(std::get<1>(last), std::get<1>(want_last)));
  auto const start = torch::randn({2, 3, 4});
  auto const [none, state] = net(xs.slice(0, 0, 0), std::tuple{start, start});
  CHECK(none.sizes() == at::IntArrayRef{0, 3, 4});
  CHECK(same_bits(std::get<0>(state), start));
  torch::NoGradGuard const off;
  CHECK(same_bits(std::get<0>(net->forward(xs)), want));
}

TEST_CASE("a stack of layers keeps nothing of the layers between, and keeps within its limit", "[torch]") {
  seeded const seed{6};
  nn::LSTM module{nn::LSTMOptions(16, 16).num_layers(3)};
  auto const xs = torch::randn({256, 4, 16});
  auto const outputs = std::int64_t(256 * 4 * 16 * sizeof(float));
  auto const peak = [&](auto& net) {
    cl::byte_meter const meter;
    auto const ys = std::get<0>(net->forward(xs));
    ys.pow(2).sum().backward();
    return meter.peak();
  };
  auto const report = std::make_shared<cl::StepStats>();
  cl::CheckpointedLSTM within{module, LoopOptions().memory_limit("120kB").stats(report)};
  (void)peak(within);
  CHECK(report->forward == 256);
  CHECK(report->tensor_bytes - outputs <= 120'000);  // the outputs are the caller's
  auto const plain_peak = peak(module);
  CHECK(peak(within) * 4 < plain_peak);
  auto const both = [&](char const* limit) {
    cl::CheckpointedLSTM net{nn::LSTMOptions(16, 16).num_layers(2).bidirectional(true),
                             LoopOptions().memory_limit(limit)};
    (void)peak(net);
  };
  CHECK_NOTHROW(both("400kB"));
  CHECK_THROWS_AS(both("40kB"), cairn::infeasible_budget);
}

TEST_CASE("layers under checkpoints refuse inputs and states of other sizes before anything runs", "[torch]") {
  cl::CheckpointedLSTM net{5, 4};
  cl::CheckpointedGRU both{nn::GRUOptions(5, 4).bidirectional(true)};
  auto const said = [](auto&& call) { return support::said<cairn::invalid_call>(call); };
  CHECK(said([&] {
          (void)net->forward(torch::ones({3, 5}));
        }) ==
        "cairn::libtorch::CheckpointedLSTM: the input is not a sequence of vectors (dimensions = 2); give [T, batch, "
        "features], or [batch, T, features] with batch_first(true)");
  CHECK(said([&] {
          (void)net->forward(torch::ones({3, 2, 6}));
        }) ==
        "cairn::libtorch::CheckpointedLSTM: the input has a different number of features from the module (features = "
        "6, input_size = 5); give [T, batch, features], or [batch, T, features] with batch_first(true)");
  CHECK(said([&] {
          (void)net->forward(torch::ones({3, 2, 5}), std::tuple{torch::ones({1, 2, 4}), torch::ones({1, 3, 4})});
        }) ==
        "cairn::libtorch::CheckpointedLSTM: a part of the initial state is not [layers * directions, batch, size] "
        "(part = 1, layers * directions = 1, batch = 2, size = 4); leave it out to begin at zero");
  CHECK(said([&] {
          (void)both->forward(torch::ones({3, 2, 5}), torch::ones({1, 2, 4}));
        }).find("(part = 0, layers * directions = 2, batch = 2, size = 4)") != std::string::npos);
}

TEST_CASE("layers under checkpoints are printed with the plain module's options", "[torch]") {
  std::stringstream text;
  text << *cl::CheckpointedGRU{5, 4};
  CHECK(text.str() ==
        "cairn::libtorch::CheckpointedGRU(input_size=5, hidden_size=4, num_layers=1, bias=true, batch_first=false, "
        "dropout=0, bidirectional=false)");
}

struct TaggerImpl : nn::Module {
  cl::CheckpointedLSTM rnn{nullptr};
  nn::Linear head{nullptr};
  TaggerImpl() {
    rnn = register_module("rnn",
                          cl::CheckpointedLSTM(nn::LSTMOptions(5, 4).batch_first(true), LoopOptions().checkpoints(3)));
    head = register_module("head", nn::Linear(4, 2));
  }
  Tensor forward(Tensor const& xs) { return head(std::get<0>(rnn->forward(xs))); }
};
TEST_CASE("an LSTM under checkpoints is a member that the constructor fills, and may stand in a Sequential",
          "[torch]") {
  TaggerImpl net;
  net.forward(torch::randn({2, 6, 5})).sum().backward();
  for (auto const& p : net.parameters()) CHECK(p.grad().defined());
  nn::Sequential chain{cl::CheckpointedLSTM(5, 4)};
  auto const given = chain->forward<std::tuple<Tensor, std::tuple<Tensor, Tensor>>>(torch::randn({6, 2, 5}));
  CHECK(std::get<0>(given).sizes() == at::IntArrayRef{6, 2, 4});
}

}  // namespace checkpointed_rnn_tests
