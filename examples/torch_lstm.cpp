// SPDX-License-Identifier: Apache-2.0
// A character LSTM learns to read a novel: truncated back-propagation through 200 characters, Adam with a falling rate,
// LibTorch's own data loader, dropout. Trained once with every step's graph kept and once with a checkpointed loop,
// each in a process of its own: losses and weights have to be the same bits. What differs is one statement, marked
// below, and the memory. CAIRN_SLOTS in the environment is how many checkpoints that loop keeps, CAIRN_VERIFY whether
// it compares states that are run again.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <cairn/adapt/torch.hpp>

#include "demo/text.hpp"
#include "support/environment.hpp"
#include "torch/measured.hpp"

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

constexpr std::int64_t batch_size = 16, batches = 8, width = 24, hidden = 64;

/// Sequence k is characters [k * length, (k + 1) * length) of the text; what is to be predicted lies one character
/// further.
class sequences : public torch::data::datasets::Dataset<sequences> {
 public:
  sequences(demo::streams text, std::int64_t length, std::size_t count)
      : text_{std::move(text)}, length_{length}, count_{count} {}

  torch::data::Example<> get(std::size_t k) override {
    Tensor read = torch::empty(length_, torch::kLong), next = torch::empty(length_, torch::kLong);
    for (std::int64_t i = 0; i < length_; ++i) {
      auto const at = std::int64_t(k) * length_ + i;
      read.data_ptr<std::int64_t>()[i] = text_.input(at, 0);
      next.data_ptr<std::int64_t>()[i] = text_.target(at, 0);
    }
    return {read, next};
  }
  torch::optional<std::size_t> size() const override { return count_; }

 private:
  demo::streams text_;
  std::int64_t length_;
  std::size_t count_;
};

/// h, c and the loss so far.
using state = std::tuple<Tensor, Tensor, Tensor>;

struct ReaderImpl : torch::nn::Module {
  explicit ReaderImpl(std::int64_t symbols)
      : embedding{register_module("embedding", torch::nn::Embedding(symbols, width))},
        cell{register_module("cell", torch::nn::LSTMCell(width, hidden))},
        dropout{register_module("dropout", torch::nn::Dropout(0.1))},
        head{register_module("head", torch::nn::Linear(hidden, symbols))} {}

  /// Reads one character of each sequence, and adds the loss of predicting the next.
  state forward(state const& before, Tensor const& read, Tensor const& next) {
    auto const& [h, c, loss] = before;
    auto const [h1, c1] = cell(embedding(read), std::make_tuple(h, c));
    return {h1, c1, loss + torch::nn::functional::cross_entropy(head(dropout(h1)), next)};
  }

  torch::nn::Embedding embedding;
  torch::nn::LSTMCell cell;
  torch::nn::Dropout dropout;
  torch::nn::Linear head;
};
TORCH_MODULE(Reader);

demo::streams read_text(char const* file) {
  std::ifstream stream{file};
  std::string const text{std::istreambuf_iterator<char>{stream}, {}};
  if (text.empty()) throw std::runtime_error{std::string{"cannot read "} + file};
  return {text, 1};
}

enum class memory { of_every_step, of_a_few };

/// \param options  of checkpointed loops   \returns the losses, then the weights
std::vector<Tensor> train(demo::streams const& text, std::int64_t length, memory kept,
                          cl::LoopOptions const& options = {}) {
  torch::manual_seed(1);
  Reader reader(std::int64_t(text.alphabet().size()));
  torch::optim::Adam adam(reader->parameters(), torch::optim::AdamOptions(0.01));
  torch::optim::StepLR rate(adam, /*step_size=*/4, /*gamma=*/0.5);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      sequences(text, length, std::size_t(batches * batch_size)).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(batch_size));

  std::vector<Tensor> made;
  for (auto& batch : *loader) {
    auto const step = [&](state const& s, std::int64_t i) {
      return reader(s, batch.data.select(1, i), batch.target.select(1, i));
    };
    state s{torch::zeros({batch_size, hidden}), torch::zeros({batch_size, hidden}), torch::zeros({})};

    if (kept == memory::of_every_step)
      for (std::int64_t i = 0; i < length; ++i) s = step(s, i);
    else
      s = cl::checkpointed_loop(step, s, length, options);  // the edit

    Tensor const loss = std::get<2>(s) / length;
    adam.zero_grad();
    loss.backward();
    adam.step();
    rate.step();
    made.push_back(loss.detach());
  }
  for (Tensor const& weight : reader->parameters()) made.push_back(weight.detach());
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto const text = read_text(argc > 1 ? argv[1] : CAIRN_SOURCE_DIR "/examples/data/pride_and_prejudice.txt");
    constexpr std::int64_t length = 200;
    constexpr std::string_view obeyed[] = {"CAIRN_SLOTS", "CAIRN_VERIFY"};
    auto const around = support::environment_of("torch_lstm", obeyed);
    auto const options = cl::LoopOptions()
                             .checkpoints(around.slots.value_or(14))
                             .block_size(5)
                             .verify(around.verify.value_or(cairn::replay_check::off));
    auto const warm_up = [&] { return train(text, 2, memory::of_every_step); };
    auto const plain = support::measure(warm_up, [&] { return train(text, length, memory::of_every_step); });
    auto const checkpointed = support::measure(warm_up, [&] {
      auto const report = std::make_shared<cl::StepStats>();
      auto made = train(text, length, memory::of_a_few, cl::LoopOptions{options}.stats(report));
      support::print(*report);
      return made;
    });

    bool const same = plain.made == checkpointed.made;
    float losses[batches];
    std::memcpy(losses, plain.made.data(), sizeof losses);
    std::printf("%d sequences of %d characters, loss %.4f -> %.4f\n", int(batches * batch_size), int(length),
                double(losses[0]), double(losses[batches - 1]));
    support::print("every step:", plain.memory);
    support::print("checkpointed:", checkpointed.memory);
    std::printf("losses and weights: %s\n", same ? "the same bits" : "DIFFERENT");
    bool const smaller = checkpointed.memory.tensor_bytes * 5 <= plain.memory.tensor_bytes;
    if (!smaller) std::printf("the checkpointed run takes MORE than a fifth\n");
    return same && smaller && losses[batches - 1] < losses[0] ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "torch_lstm: %s\n", problem.what());
    return 1;
  }
}
