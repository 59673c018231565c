// SPDX-License-Identifier: Apache-2.0
// What a call within a limit costs:
//     record_cost operators   user CPU for each operator where everything is held
//     record_cost steps       a step of a transformer without a limit and within parts of its bytes
//     record_cost lengths     its steps with texts of twelve lengths in turn, three epochs, the first calls included
//     record_cost least       the least limit of 29 models, beside the bytes of the plain call
// Plain and recorded runs in turn; medians of differences and of ratios.
//     g++ -std=c++20 -O2 -Iinclude -Itests -I/usr/include/torch/csrc/api/include benchmarks/torch/record_cost.cpp
//         -ltorch -ltorch_cpu -lc10 -o record_cost
#include "adapt/torch/models/effect_models.hpp"
#include "adapt/torch/models/whole_models.hpp"
#include "allocation_log.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <torch/torch.h>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>

namespace cl = cairn::libtorch;

namespace {

using torch::Tensor;

template <class Fn>
double seconds_of(Fn const& f) {
  auto const now = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
  };
  double const before = now();
  f();
  return now() - before;
}
double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
  return all[all.size() / 2];
}

void operators() {
  auto const x = torch::randn({8}).requires_grad_(), w = torch::randn({8}).requires_grad_();
  struct kind {
    char const* name;
    int operators;
    std::function<Tensor()> f;
  };
  auto const repeat = [=](int times, auto const& one) {
    return [=] {
      Tensor h = x * 1;
      for (int k = 0; k < times; ++k) h = one(h);
      return h;
    };
  };
  std::vector<kind> const kinds{
      {"a product, which saves two tensors", 3000, repeat(3000, [=](Tensor const& h) { return h * w; })},
      {"tanh, which saves its result", 3000, repeat(3000, [](Tensor const& h) { return torch::tanh(h); })},
      {"a sum, which saves none", 3000, repeat(3000, [=](Tensor const& h) { return h + w; })},
      {"a sum in place", 3000, repeat(3000, [=](Tensor h) { return h.add_(w); })},
      {"a view", 3000, repeat(1500, [](Tensor const& h) { return h.unsqueeze(0).squeeze(0); })},
      {"dropout, one of three draws", 1500, repeat(500, [](Tensor const& h) { return torch::dropout(h, 0.1, true); })}};
  std::printf("%-36s %28s %28s\n", "", "forward: plain, more (ns)", "backward: plain, more (ns)");
  for (auto const& one : kinds) {
    auto const recorded = cl::checkpoint_module([&] { return one.f(); }, std::int64_t{1} << 40);
    std::vector<double> plain[2], more[2];
    for (int round = 0; round < 21; ++round) {
      double taken[2][2];
      for (int const way : {0, 1}) {
        Tensor y;
        taken[way][0] = seconds_of([&] { y = way == 0 ? one.f() : recorded(); });
        taken[way][1] = seconds_of([&] { y.sum().backward(); });
      }
      for (int const half : {0, 1})
        plain[half].push_back(taken[0][half]), more[half].push_back(taken[1][half] - taken[0][half]);
    }
    double const each = 1e9 / one.operators;
    std::printf("%-36s %14.0f %13.0f %14.0f %13.0f\n", one.name, each * median(plain[0]), each * median(more[0]),
                each * median(plain[1]), each * median(more[1]));
  }
}

void steps() {
  torch::manual_seed(1);
  whole_models::LanguageModel net(100, 64, 4, 64, 12, 0.1);
  auto const tokens = torch::randint(100, {4, 64}, torch::kLong);
  auto const step = [&](auto const& call) {
    net->zero_grad();
    return seconds_of([&] { call(tokens).pow(2).mean().backward(); });
  };
  auto const plain = [&](Tensor const& t) { return net->forward(t); };
  std::vector<cl::CheckpointedModule<whole_models::LanguageModel>> ways{
      cl::checkpoint_module(net, std::int64_t{1} << 40)};
  (void)step(plain);
  (void)step(ways[0]);
  auto const all = ways[0].report().peak;
  std::vector<int> const parts{1, 2, 3, 4, 6};
  for (int const part : parts)
    if (part > 1) ways.push_back(cl::checkpoint_module(net, all / part));
  std::vector<double> first(parts.size());
  std::vector<std::vector<double>> ratios(parts.size());
  for (int round = 0; round < 12; ++round) {
    double const taken = step(plain);
    for (std::size_t k = 0; k < ways.size(); ++k) {
      double const here = step(ways[k]);
      if (round == 0) first[k] = here / taken;
      else ratios[k].push_back(here / taken);
    }
  }
  std::printf("a transformer of 12 blocks\n%10s %14s %14s %12s %12s %14s\n", "limit", "limit (kB)", "peak (kB)",
              "first step", "later steps", "ran again");
  for (std::size_t k = 0; k < ways.size(); ++k) {
    auto const report = ways[k].report();
    std::printf("%10s %14.1f %14.1f %12.3f %12.3f %14lld\n",
                k == 0 ? "none" : ("1/" + std::to_string(parts[k])).c_str(), k == 0 ? 0 : double(report.limit) / 1e3,
                double(report.peak) / 1e3, first[k], median(ratios[k]),
                static_cast<long long>(report.again / std::int64_t(report.calls)));
  }
}

/// Twelve lengths, the shortest a quarter of the longest, in another order in each epoch.
void lengths() {
  torch::manual_seed(1);
  whole_models::LanguageModel net(100, 64, 4, 64, 12, 0.1);
  std::vector<Tensor> texts;
  for (int k = 0; k < 12; ++k) texts.push_back(torch::randint(100, {4, 16 + 48 * k / 11}, torch::kLong));
  std::vector<std::size_t> order;
  for (std::size_t epoch = 0; epoch < 3; ++epoch)
    for (std::size_t k = 0; k < 12; ++k) order.push_back((5 * k + 7 * epoch) % 12);
  auto const step = [&](auto const& call, Tensor const& text) {
    net->zero_grad();
    return seconds_of([&] { call(text).pow(2).mean().backward(); });
  };
  auto const plain = [&](Tensor const& t) { return net->forward(t); };
  std::vector<std::int64_t> peaks;
  for (auto const& text : texts) {
    auto const free = cl::checkpoint_module(net, std::int64_t{1} << 40);
    for (int k = 0; k < 2; ++k) (void)step(free, text);
    peaks.push_back(free.report().peak);
  }
  std::printf("twelve lengths in turn, three epochs\n");
  std::vector<double> of_longest, of_each;
  for (int round = 0; round < 3; ++round) {
    auto const longest = cl::checkpoint_module(net, peaks.back() / 2);
    std::vector<cl::CheckpointedModule<whole_models::LanguageModel>> each;
    for (auto const peak : peaks) each.push_back(cl::checkpoint_module(net, peak / 2));
    double taken[3]{};
    for (auto const k : order) {
      taken[0] += step(plain, texts[k]);
      taken[1] += step(longest, texts[k]);
      taken[2] += step(each[k], texts[k]);
    }
    of_longest.push_back(taken[1] / taken[0]);
    of_each.push_back(taken[2] / taken[0]);
  }
  std::printf("within half of what the longest takes: %.3f times plain\n", median(of_longest));
  std::printf("each within half of its own:           %.3f times plain\n", median(of_each));
}

// ---- least limits
namespace nn = torch::nn;
using call = std::function<Tensor(Tensor const&)>;

struct FourOperationsImpl : nn::Module {
  Tensor w = register_parameter("w", torch::randn({32, 32}) * 0.2);
  Tensor forward(Tensor const& x) { return torch::tanh(torch::sin(x.mm(w)) * 2); }
};
TORCH_MODULE(FourOperations);
struct RecurrentImpl : nn::Module {
  RecurrentImpl() { register_module("lstm", lstm), register_module("att", att), register_module("encoder", encoder); }
  Tensor forward(Tensor const& x) {
    auto const h = std::get<0>(lstm(x));
    return encoder(h + std::get<0>(att(h, h, h)));
  }
  nn::LSTM lstm{16, 16};
  nn::MultiheadAttention att{nn::MultiheadAttentionOptions(16, 2)};
  nn::TransformerEncoder encoder{
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(16, 2).dim_feedforward(32).dropout(0.1), 2)};
};
TORCH_MODULE(Recurrent);

struct model {
  std::string name;
  std::shared_ptr<nn::Module> net;
  call plain;
  Tensor x;
};
std::vector<model> all_models() {
  std::vector<model> all;
  auto const add = [&](char const* name, auto net, Tensor const& x) {
    all.push_back({name, net.ptr(), [net](Tensor const& in) mutable { return net->forward(in); }, x});
  };
  auto const image = torch::randn({4, 3, 16, 16});
  add("four operations", FourOperations(), torch::randn({16, 32}));
  add("LSTM, attention, encoder", Recurrent(), torch::randn({12, 4, 16}));
  add("ResNet", whole_models::ResNet(3), image);
  add("U-Net", whole_models::UNet(), image);
  add("language model", whole_models::LanguageModel(11, 32, 2, 16, 2, 0.1),
      torch::randint(11, {4, 16}, torch::kLong));
  for (auto const& one : support::effect_models()) {
    nn::Sequential net;
    for (int k = 0; k < 4; ++k) net->push_back(one.block());
    add(one.name, net, torch::randn({12, 8}));
  }
  return all;
}

/// The most bytes of a step at one time beside gradients of leaves, for gradients of the result that take memory and
/// for those of a sum.
std::int64_t bytes_of(model const& of, call const& run) {
  auto const x = of.x.is_floating_point() ? of.x.clone().requires_grad_() : of.x;
  auto leaves = of.net->parameters();
  leaves.push_back(x);
  auto const forget = [&] {
    for (auto const& t : leaves) t.mutable_grad() = Tensor{};
  };
  Tensor const dense = torch::ones_like(of.plain(x)), spread = torch::ones({}).expand(dense.sizes());
  run(x).backward(dense);  // a first step counts gradients, too
  forget();
  std::int64_t most = 0;
  for (auto const& bar : {dense, spread}) {
    benchmark::allocation_log const log;
    run(x).backward(bar);
    std::vector<void const*> gradients;
    for (auto const& t : leaves)
      if (t.grad().defined()) gradients.push_back(t.grad().storage().data_ptr().get());
    most = (std::max)(most, log.events().peak(gradients));
    forget();
  }
  return most;
}

/// Captured calls, which replayed operators in place of the program, held so much at their least limits. Those with
/// other bytes in LibTorch 2 stand twice.
std::map<std::string, std::int64_t> const before{
    {"four operations", 10'240},
    {"LSTM, attention, encoder", TORCH_VERSION_MAJOR < 2 ? 50'688 : 102'456},
    {"ResNet", 173'216},
    {"U-Net", 296'140},
    {"language model", 117'504},
    {"dropout", 2'304},
    {"noise and dropout, independent of each other", 3'072},
    {"RReLU last", 2'304},
    {"a mixture of experts with noisy gates", 2'784},
    {"stochastic depth", 2'304},
    {"alpha dropout, features too", 2'688},
    {"a sample of a latent variable", TORCH_VERSION_MAJOR < 2 ? 3'840 : 3'468},
    {"batch norm", 3'072},
    {"spectral norm", 3'200},
    {"a moving centre, read before it moves", 3'072},
    {"a moving centre, moved before it is read", 2'432},
    {"batch norm whose running mean is read, too", 2'560},
    {"a counter of calls", 2'320},
    {"a codebook of moving means", TORCH_VERSION_MAJOR < 2 ? 3'552 : 3'360},
    {"a queue of earlier outputs", 3'648},
    {"a scale that the first call sets", 2'112},
    {"a range that follows the largest value", 2'152},
    {"batch renormalisation", 3'776},
    {"batch norm and dropout", 2'560},
    {"spectral norm and noise", 3'200},
    {"a moving centre of what dropout leaves", TORCH_VERSION_MAJOR < 2 ? 3'328 : 2'944},
    {"noise that is kept in a buffer", 2'720},
    {"dropout with a rate that follows the values", 2'336},
    {"RReLU of a spectral norm, with a counter", 2'836}};

void least() {
  torch::manual_seed(1);
  std::printf("%-46s %9s %9s %9s %9s %7s\n", "model", "plain", "inference", "least", "of plain", "before");
  for (auto const& of : all_models()) {
    auto const plain = bytes_of(of, of.plain);
    std::int64_t own = 0;
    {
      torch::NoGradGuard const off;
      benchmark::allocation_log const log;
      (void)of.plain(of.x);
      own = log.events().peak();
    }
    auto const is_held = [&](std::int64_t limit) {
      for (int k = 0; k < 3; ++k) {  // what is dropped depends on measured times
        auto const within =
            cl::checkpoint_module(of.plain, limit, cl::ModuleOptions().notice([](std::string const&) {}));
        if (bytes_of(of, within) > limit) return false;
      }
      return true;
    };
    std::int64_t low = plain / 20, high = plain;
    for (auto limit = low; limit < plain; limit = (std::max)(limit + 4, limit * 201 / 200))
      if (is_held(limit)) {
        high = limit;
        break;
      } else {
        low = limit;
      }
    for (; high - low > 4 && is_held((low + high) / 2); high = (low + high) / 2) {
    }
    std::printf("%-46s %9lld %9lld %9lld %9.3f %7.3f\n", of.name.c_str(), (long long)plain, (long long)own,
                (long long)high, double(high) / double(plain), double(high) / double(before.at(of.name)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(1);
  std::vector<std::pair<std::string_view, void (*)()>> const all{
      {"operators", operators}, {"steps", steps}, {"lengths", lengths}, {"least", least}};
  for (auto const& [name, run] : all)
    if (argc < 2 || name == argv[1]) run();
}
