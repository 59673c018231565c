// SPDX-License-Identifier: Apache-2.0
// A small convolutional network is trained, and a trace shows each operator, its layer, and whether it ran forward,
// again or backward: torch_traced_convnet [FILE.pfw]. Open the file at https://ui.perfetto.dev, or ask
// `cairn trace summarize`. The network is not edited: operators are found by LibTorch, layers by their parameters.
// The first half is checkpointed, so that its operators run twice. The traced run has the bits of one without a trace.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/trace/operator_trace.hpp>
#include <cairn/trace/trace_region.hpp>
#include <cairn/trace/trace_writer.hpp>

namespace {

namespace cl = cairn::libtorch;
using torch::Tensor;

constexpr std::int64_t size = 12, batch_size = 16, batches = 1, epochs = 2;

struct ConvNetImpl : torch::nn::Module {
  ConvNetImpl()
      : conv1{register_module("conv1", torch::nn::Conv2d(1, 8, 3))},
        conv2{register_module("conv2", torch::nn::Conv2d(8, 16, 3))},
        fc1{register_module("fc1", torch::nn::Linear(16 * 4 * 4, 32))},
        fc2{register_module("fc2", torch::nn::Linear(32, 2))} {}

  Tensor forward(Tensor const& x) {
    auto const convolved = [this](Tensor const& in) { return torch::relu(conv2(torch::relu(conv1(in)))); };
    auto const seen = cl::checkpoint(convolved, x);
    return fc2(torch::relu(fc1(torch::flatten(torch::max_pool2d(seen, 2), 1))));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(ConvNet);

/// Bars that lie, label 0, or stand, label 1, in noise.
struct pictures {
  Tensor data = torch::rand({batches * batch_size, 1, size, size}) * 0.5;
  Tensor labels = torch::zeros({batches * batch_size}, torch::kLong);
  pictures() {
    for (std::int64_t k = 0; k < data.size(0); ++k) {
      data[k][0].select(k % 2, 1 + k % (size - 2)) += 1;
      labels[k] = k % 2;
    }
  }
};

/// \tparam Log  trace_writer or no_trace   \returns the losses, then the weights
template <class Log>
std::vector<Tensor> train(ConvNet net, pictures const& seen, Log& log) {
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  std::vector<Tensor> made;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    cairn::trace_region const whole{log, "epoch", {{"epoch", epoch}}};
    for (std::int64_t k = 0; k < batches; ++k) {
      cairn::trace_region const step{log, "step", {{"step", k}, {"image_size", {size, size}}}};
      auto const data = seen.data.narrow(0, k * batch_size, batch_size);
      auto const labels = seen.labels.narrow(0, k * batch_size, batch_size);
      sgd.zero_grad();
      auto const loss = torch::nn::functional::cross_entropy(net(data), labels);
      loss.backward();
      made.push_back(loss.detach());
      cairn::trace_region const update{log, "sgd", {}, {.category = "optimizer"}};
      sgd.step();
    }
  }
  for (Tensor const& weight : net->parameters()) made.push_back(weight.detach());
  return made;
}

bool same_bits(std::vector<Tensor> const& a, std::vector<Tensor> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!torch::equal(a[k], b[k])) return false;
  return a.size() == b.size();
}

std::string text_of_file(std::string const& name) {
  std::ifstream file{name, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bool const keep = argc > 1;
    std::string const file =
        keep ? argv[1] : (std::filesystem::temp_directory_path() / "cairn_traced_convnet.pfw").string();
    torch::manual_seed(1);
    pictures const seen;
    cairn::no_trace nothing;
    torch::manual_seed(2);
    auto const plain = train(ConvNet{}, seen, nothing);

    torch::manual_seed(2);
    ConvNet net;
    cairn::trace_writer log{file, {.metadata = false}};  // without names of host and folders: the file is kept
    auto const traced = [&] {
      cl::operator_trace const operators{log, *net};
      return train(net, seen, log);
    }();
    log.finalize();

    std::string const events = text_of_file(file);
    if (keep) std::printf("cairn trace summarize %s\n", file.c_str());
    bool const same = same_bits(plain, traced);
    std::printf("\nlosses and weights of the traced run: %s\n", same ? "the same bits" : "DIFFERENT");
    bool whole = events.find(R"("name":"end","cat":"cairn")") != events.npos;
    whole = whole && events.find(R"("layer":")") != events.npos;
    for (auto const* phase : {"forward", "recompute", "reverse", "optimizer"})
      if (events.find(R"("cat":")" + std::string{phase} + '"') == events.npos) {
        std::printf("nothing is %s\n", phase);
        whole = false;
      }
    auto const last = std::size_t(epochs * batches - 1);
    bool const learned = traced[last].item<double>() < traced[0].item<double>();
    if (!learned) std::printf("the loss did NOT fall\n");
    if (!keep) std::filesystem::remove(file);
    return same && whole && learned ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "torch_traced_convnet: %s\n", problem.what());
    return 1;
  }
}
