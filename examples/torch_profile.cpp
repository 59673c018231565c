// SPDX-License-Identifier: Apache-2.0
// Batch analysis of a training step: time, memory and what the memory is made of, for several batch sizes. Each batch
// is profiled operation by operation; the tables go into a folder, and `cairn profile --draw FOLDER` draws them.
//   torch_profile [--model resnet152|resnet18|lstm] [--batches 4,8,16] [--image 32] [--limit SIZE] [--out reports]
// With --limit, the largest batch also runs within that many bytes beside parameters and their gradients, and a plan
// for its graph says what that takes at best.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/profile/step_profiler.hpp>
#include <cairn/plan/graph/graph_planner.hpp>

#include "support/environment.hpp"
#include "support/program.hpp"
#include "torch/models/resnet.hpp"

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

struct options {
  std::string model = "resnet18";
  std::vector<std::int64_t> batches{2, 4};
  std::int64_t image = 32;
  std::optional<cairn::byte_size> limit;
  std::filesystem::path out = "reports";
  bool help = false;
};
constexpr char const* usage =
    "torch_profile [--model resnet152|resnet18|lstm] [--batches 4,8,16] [--image 32] [--limit SIZE] [--out reports]\n"
    "Profiles training steps by batch size, and writes tables into a folder, which `cairn profile --draw` draws.\n"
    "CAIRN_BUDGET=SIZE and CAIRN_PROFILE=FOLDER say --limit and --out in the environment.\n";

options parse(int count, char const* const* words) {
  options chosen;
  constexpr std::string_view obeyed[] = {"CAIRN_BUDGET", "CAIRN_PROFILE"};
  auto const around = support::environment_of("torch_profile", obeyed);
  chosen.limit = around.budget;
  if (around.profile) chosen.out = *around.profile;
  for (int k = 1; k < count; ++k) {
    std::string const flag = words[k];
    if (flag == "--help") {
      chosen.help = true;
      return chosen;
    }
    if (k + 1 == count) throw support::wrong_usage{flag + " needs a value; --help shows the flags"};
    std::string const word = words[++k];
    if (flag == "--model") chosen.model = word;
    else if (flag == "--image") chosen.image = support::parse_number<std::int64_t>(flag, word, 8, 512);
    else if (flag == "--limit") chosen.limit = support::parse_size(flag, word);
    else if (flag == "--out") chosen.out = word;
    else if (flag == "--batches") {
      chosen.batches.clear();
      for (std::size_t at = 0; at <= word.size();) {
        std::size_t const comma = std::min(word.find(',', at), word.size());
        chosen.batches.push_back(support::parse_number<std::int64_t>(flag, word.substr(at, comma - at), 1, 4096));
        at = comma + 1;
      }
    } else throw support::wrong_usage{flag + " is no flag of this program; --help shows them"};
  }
  if (chosen.model != "resnet152" && chosen.model != "resnet18" && chosen.model != "lstm")
    throw support::wrong_usage{"--model got \"" + chosen.model + "\"; give resnet152, resnet18 or lstm"};
  return chosen;
}

/// Reads a sequence of characters, (length, batch), and scores the next of each.
struct ReaderImpl : torch::nn::Module {
  static constexpr std::int64_t symbols = 64, width = 24, hidden = 64, length = 32;
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(symbols, width));
  torch::nn::LSTMCell cell = register_module("cell", torch::nn::LSTMCell(width, hidden));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(hidden, symbols));

  Tensor forward(Tensor const& read) {
    auto h = torch::zeros({read.size(1), hidden}), c = torch::zeros({read.size(1), hidden});
    std::vector<Tensor> scores;
    for (std::int64_t i = 0; i < read.size(0); ++i) {
      std::tie(h, c) = cell(embedding(read[i]), std::make_tuple(h, c));
      scores.push_back(head(h));
    }
    return torch::cat(scores);
  }
};
TORCH_MODULE(Reader);

/// A model with a batch for it, and the loss of a step.
struct task {
  std::shared_ptr<torch::nn::Module> module;
  cl::tensor_list batch;
  std::function<Tensor(cl::tensor_list const&)> loss;
};
task make_task(options const& chosen, std::int64_t batch) {
  torch::manual_seed(1);
  if (chosen.model == "lstm") {
    Reader net;
    auto const text = torch::randint(ReaderImpl::symbols, {ReaderImpl::length + 1, batch}, torch::kLong);
    return {net.ptr(), {text.slice(0, 0, -1).contiguous(), text.slice(0, 1).reshape(-1).contiguous()},
            [net](cl::tensor_list const& in) mutable { return torch::cross_entropy_loss(net->forward(in[0]), in[1]); }};
  }
  auto net = chosen.model == "resnet152" ? models::resnet152() : models::resnet18();
  return {net.ptr(),
          {torch::randn({batch, 3, chosen.image, chosen.image}), torch::randint(1000, {batch}, torch::kLong)},
          [net](cl::tensor_list const& in) mutable { return torch::cross_entropy_loss(net->forward(in[0]), in[1]); }};
}

void write(std::filesystem::path const& file, std::string const& text) {
  std::ofstream stream{file, std::ios::binary};
  if (!(stream << text).flush()) throw std::runtime_error{file.string() + " cannot be written"};
}
double megabytes(std::int64_t bytes) { return double(bytes) / 1e6; }

/// Runs a step within the limit. Tells whether it held the limit, but for what autograd itself keeps.
bool runs_within(cairn::operation_graph const& graph, task const& of, std::int64_t limit) {
  auto const plan = cairn::graph_planner{graph}.plan(limit);
  auto const within = cl::checkpoint_module(of.loss, limit);
  std::int64_t gradients = 0, peak = 0;
  for (auto const& p : of.module->parameters()) gradients += std::int64_t(p.nbytes());
  {
    cl::byte_meter const meter;
    within(of.batch).backward();
    peak = meter.peak();
  }
  for (auto const& p : of.module->parameters()) p.mutable_grad() = Tensor{};
  std::printf("within %.2f MB: a plan takes %.2f MB and %.3f times the plain time; counted %.2f MB, %.2f MB of them "
              "gradients of parameters at most\n",
              megabytes(limit), megabytes(plan.cost.peak),
              double(plan.cost.makespan) / double(plan.cost.makespan - plan.cost.extra_forward), megabytes(peak),
              megabytes(gradients));
  return plan.cost.peak <= limit && peak <= limit + gradients;
}

bool run(options const& chosen) {
  torch::set_num_threads(1);
  std::filesystem::create_directories(chosen.out);
  std::string table =
      "batch,latency_s,counted_peak_bytes,predicted_peak_bytes,resident_peak_bytes,param_bytes,act_bytes,grad_bytes,"
      "opt_state_bytes,other_bytes,plain_runs_s,profiled_runs_s\n";
  bool holds = true;
  std::printf("%s: %6s %10s %12s %12s %9s %9s %14s\n", chosen.model.c_str(), "batch", "step s", "counted MB",
              "predicted MB", "act MB", "grad MB", "profile/plain");
  for (std::int64_t const batch : chosen.batches) {
    auto const of = make_task(chosen, batch);
    torch::optim::SGD optimizer(of.module->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9));
    cl::StepProfiler profiler;
    auto const graph = profiler.run(*of.module, of.loss, of.batch, optimizer);
    std::string const prefix = chosen.model + "_batch_" + std::to_string(batch);
    profiler.save_stats_to_csv(chosen.out, prefix);
    auto const& report = profiler.report();
    auto const& parts = report.counted;
    table += std::to_string(batch) + "," + std::to_string(report.step_seconds);
    auto const resident = std::int64_t(cl::process_memory().peak);
    for (std::int64_t const bytes : {report.counted_peak, report.predicted_peak, resident})
      table += "," + std::to_string(bytes);
    for (std::int64_t const bytes : parts.bytes) table += "," + std::to_string(bytes);
    table += "," + std::to_string(report.plain_seconds) + "," + std::to_string(report.profile_seconds) + "\n";
    std::printf("%*s  %6d %10.4f %12.2f %12.2f %9.2f %9.2f %14.2f\n", int(chosen.model.size()), "", int(batch),
                report.step_seconds, megabytes(report.counted_peak), megabytes(report.predicted_peak),
                megabytes(parts[cairn::node_type::act]), megabytes(parts[cairn::node_type::grad]),
                report.profile_seconds / report.plain_seconds);
    auto tabled = graph;  // tables hold no buffers that operations change, as those of a BatchNorm
    for (auto& one : tabled.operations) one.states_changed.clear(), one.states_read.clear(), one.copy_bytes = 0;
    holds = holds && cairn::graph_of(cairn::read_stats_csv(chosen.out, prefix)) == tabled;
    if (chosen.limit && batch == chosen.batches.back())
      holds = runs_within(graph, of, std::int64_t(chosen.limit->count())) && holds;
  }
  write(chosen.out / (chosen.model + "_batches.csv"), table);
  std::printf("tables are in %s; cairn profile --draw draws them\n", chosen.out.string().c_str());
  return holds;
}

}  // namespace

int main(int argc, char** argv) { return support::run_program("torch_profile", usage, argc, argv, parse, run); }
