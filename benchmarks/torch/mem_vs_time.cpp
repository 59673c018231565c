// SPDX-License-Identifier: Apache-2.0
// One row of mem_vs_time.py: training steps of a model, in one of several ways.
//     mem_vs_time MODEL MODE FILE BATCH SIZE
// MODEL is resnet18, resnet50, resnet152 on pictures of SIZE x SIZE, or gpt on texts of SIZE tokens. MODE is
//     naive          the plain call
//     checkpoint     its blocks in about sqrt(n) regions
//     blocks:BYTES   as few blocks in a region each as keep within BYTES; larger regions where all are not enough
//     tiny:BYTES     by checkpoint_module within BYTES
// FILE gets the outputs of two steps, and the gradients and buffers after them. Questions and answers are those of
// benchmarks/peers/peer.hpp.
#include "../../examples/support/json.hpp"
#include "../../examples/torch/models/gpt.hpp"
#include "../../examples/torch/models/resnet.hpp"
#include "allocation_log.hpp"
#include "noise.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <vector>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/version.hpp>

#ifndef CAIRN_BENCHMARK_FLAGS
#define CAIRN_BENCHMARK_FLAGS "as a test"
#endif

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

/// A way to call a model, and what it is, reported after the first call.
struct way {
  std::function<Tensor()> forward;
  std::function<std::string()> words;
};

/// A model, and the ways to call it.
struct workload {
  std::shared_ptr<torch::nn::Module> module;
  std::size_t blocks;
  std::function<Tensor()> plain;
  std::function<Tensor(std::size_t checkpointed, std::size_t segment)> in_regions;
  std::function<way(std::int64_t limit)> within;
};

/// The first `checkpointed` blocks in regions of `segment` each, the others as they are.
template <class Net>
Tensor in_regions(Net net, Tensor const& x, std::size_t checkpointed, std::size_t segment) {
  auto y = net->before_blocks(x);
  auto const blocks = net->blocks();
  for (std::size_t first = 0; first < blocks.size();) {
    auto const last = first < checkpointed ? std::min(first + segment, checkpointed) : blocks.size();
    std::vector part(blocks.begin() + std::ptrdiff_t(first), blocks.begin() + std::ptrdiff_t(last));
    auto run = [part](Tensor z) mutable {
      for (auto& block : part) z = block->forward(z);
      return z;
    };
    y = first < checkpointed ? cl::checkpoint(run, y) : run(y);
    first = last;
  }
  return net->after_blocks(y);
}

/// What a step did.
std::string words_of(cl::RecordReport const& report) {
  auto const calls = std::int64_t(std::max<std::uint64_t>(report.calls, 1));
  char words[160];
  std::snprintf(words, sizeof words, "%lld operators, %lld ran again; %.2f MB at most%s",
                static_cast<long long>(report.operators / calls), static_cast<long long>(report.again / calls),
                double(report.peak) / 1e6, report.least > 0 ? ", above the limit" : "");
  return words;
}

template <class Net>
workload workload_of(Net net, Tensor const& input) {
  return {net.ptr(), net->blocks().size(), [net, input]() mutable { return net->forward(input); },
          [net, input](std::size_t regions, std::size_t segment) { return in_regions(net, input, regions, segment); },
          [net, input](std::int64_t limit) -> way {
            auto const within = cl::checkpoint_module(net, cairn::byte_size{cairn::wide(limit)});
            return {[within, input] { return within(input); }, [within] { return words_of(within.report()); }};
          }};
}

/// Weights that Python makes, too, with He's variance up to a power of two; biases are 0.
void fill(torch::nn::Module& module) {
  torch::NoGradGuard const off;
  std::int64_t numbers = 0;
  for (auto const& named : module.named_parameters()) {
    Tensor parameter = named.value();
    if (named.key().ends_with("bias")) parameter.zero_();
    if (parameter.dim() < 2) continue;
    double scale = 1;
    while (scale * scale * double(parameter.numel() / parameter.size(0)) > 24) scale /= 2;
    parameter.copy_(benchmark::noise(numbers, parameter.sizes()) * scale);
    numbers += parameter.numel();
  }
}

workload workload_of(std::string const& model, std::int64_t batch, std::int64_t size) {
  auto const pictures = [&] { return 4 * benchmark::noise(1, {batch, 3, size, size}); };
  auto made = [&] {
    if (model == "resnet18") return workload_of(models::resnet18(), pictures());
    if (model == "resnet50") return workload_of(models::resnet50(), pictures());
    if (model == "resnet152") return workload_of(models::resnet152(), pictures());
    if (model != "gpt") throw std::runtime_error{"no such model: " + model};
    models::gpt_sizes const sizes{.length = size};
    auto const tokens = (benchmark::noise(1, {batch, size}) + 0.5) * double(sizes.tokens);
    return workload_of(models::GPT(sizes), tokens.to(torch::kLong));
  }();
  fill(*made.module);
  return made;
}

/// Training steps of one way to call a model.
class training {
 public:
  training(workload const& work, std::function<Tensor()> forward)
      : parameters_{work.module->parameters()}, buffers_{work.module->buffers()}, forward_{std::move(forward)} {
    at::NoGradGuard const off;
    for (Tensor const& buffer : buffers_) before_.push_back(buffer.clone());
    seed_ = benchmark::noise(2, work.plain().sizes());
    put_back();
  }

  Tensor step() {
    forget();
    Tensor y = forward_();
    y.backward(seed_);
    return y;
  }
  void forget() {
    for (Tensor const& parameter : parameters_) parameter.mutable_grad() = Tensor{};
  }
  /// Bytes of a step at its peak, beside gradients of parameters; with them; and what stays when forward has ended.
  struct counted {
    std::int64_t beside_gradients, all, kept;
  };
  counted count() {
    forget();
    benchmark::allocation_log const log;
    Tensor const y = forward_();
    auto const kept = log.events().held();
    y.backward(seed_);
    std::vector<void const*> gradients;
    for (Tensor const& parameter : parameters_) gradients.push_back(parameter.grad().storage().data_ptr().get());
    return {log.events().peak(gradients), log.events().peak(), kept};
  }
  /// The buffers as they were at first.
  void put_back() {
    at::NoGradGuard const off;
    for (std::size_t k = 0; k < buffers_.size(); ++k) buffers_[k].copy_(before_[k]);
  }
  void write(char const* file, Tensor const& first, Tensor const& second) const {
    std::ofstream stream{file, std::ios::binary};
    auto const put = [&](Tensor const& tensor) {
      auto const dense = tensor.detach().contiguous();
      stream.write(static_cast<char const*>(dense.data_ptr()), std::streamsize(dense.nbytes()));
    };
    put(first);
    put(second);
    for (Tensor const& parameter : parameters_) put(parameter.grad());
    for (Tensor const& buffer : buffers_) put(buffer);
    if (!stream.flush()) throw std::runtime_error{std::string{"cannot write "} + file};
  }

 private:
  std::vector<Tensor> parameters_, buffers_, before_;
  std::function<Tensor()> forward_;
  Tensor seed_;
};

std::function<std::string()> regions_of(std::size_t blocks, std::size_t all, std::size_t segment) {
  return [=] {
    return std::to_string(blocks) + " of " + std::to_string(all) + " blocks in regions of " + std::to_string(segment);
  };
}

/// As few blocks in regions as keep within the limit, and as small regions.
way blocks_within(workload const& work, std::int64_t limit) {
  auto const at = [&](std::size_t checkpointed, std::size_t segment) {
    return [&work, checkpointed, segment] { return work.in_regions(checkpointed, segment); };
  };
  auto const fits = [&](std::size_t checkpointed, std::size_t segment) {
    training steps(work, at(checkpointed, segment));
    bool const within = steps.count().beside_gradients <= limit;
    steps.put_back();
    return within;
  };
  for (std::size_t segment = 1; segment <= work.blocks; ++segment) {
    if (!fits(work.blocks, segment)) continue;
    std::size_t few = 0, enough = work.blocks;  // more regions, fewer bytes
    while (segment == 1 && few < enough)
      if (auto const middle = (few + enough) / 2; fits(middle, 1)) enough = middle;
      else few = middle + 1;
    return {at(enough, segment), regions_of(enough, work.blocks, segment)};
  }
  throw std::runtime_error{"no regions of blocks keep within " + std::to_string(limit) + " bytes"};
}

way way_of(workload const& work, std::string const& mode) {
  auto const colon = mode.find(':');
  std::string const name = mode.substr(0, colon);
  auto const limit = colon == std::string::npos ? 0 : std::strtoll(mode.c_str() + colon + 1, nullptr, 10);
  if (mode == "naive") return {work.plain, [] { return std::string{"all is kept"}; }};
  if (mode == "checkpoint") {
    auto const segment = std::size_t(std::ceil(std::sqrt(double(work.blocks))));
    return {[&work, segment] { return work.in_regions(work.blocks, segment); },
            regions_of(work.blocks, work.blocks, segment)};
  }
  if (name == "blocks" && limit > 0) return blocks_within(work, limit);
  if (name == "tiny" && limit > 0) return work.within(limit);
  throw std::runtime_error{"no such mode: " + mode};
}

double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
}

int serve(std::string const& model, std::string const& mode, char const* file, std::int64_t batch, std::int64_t size) {
  torch::set_num_threads(1);
  auto const work = workload_of(model, batch, size);
  auto const chosen = way_of(work, mode);
  training steps(work, chosen.forward);
  Tensor const first = steps.step().detach();
  steps.forget();
  malloc_trim(0);
  auto const resident = std::int64_t(cl::process_memory().resident);
  std::ofstream{"/proc/self/clear_refs"} << "5";  // the greatest resident size is that of now
  Tensor const second = steps.step().detach();
  auto const rise = std::int64_t(cl::process_memory().peak) - resident;
  steps.write(file, first, second);
  auto const bytes = steps.count();
  support::json_object answer;
  answer.add("rss_bytes", rise).add("bytes", bytes.beside_gradients).add("bytes_with_gradients", bytes.all);
  answer.add("kept_bytes", bytes.kept).add("words", chosen.words()).add("bytes_are", "tensors");
  answer.add("version", "cairn " CAIRN_VERSION_STRING ", LibTorch " TORCH_VERSION ", " CAIRN_BENCHMARK_FLAGS);
  std::printf("%s\n", answer.text().c_str());
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    double const before = user_seconds();
    for (int k = std::atoi(line); k > 0; --k) (void)steps.step();
    std::printf("%.9f\n", user_seconds() - before);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s MODEL MODE FILE BATCH SIZE\n", argv[0]);
    return 2;
  }
  try {
    return serve(argv[1], argv[2], argv[3], std::atoll(argv[4]), std::atoll(argv[5]));
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
    return 1;
  }
}
