// SPDX-License-Identifier: Apache-2.0
// What a call within a limit costs: user CPU for each operator where everything is held, and a step of a transformer
// without a limit and within parts of its bytes. Plain and recorded runs in turn; medians of differences and of ratios.
//     g++ -std=c++20 -O2 -Iinclude -Itests -I/usr/include/torch/csrc/api/include benchmarks/torch/record_cost.cpp
//         -ltorch -ltorch_cpu -lc10 -o record_cost
#include "adapt/torch/models/whole_models.hpp"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <torch/torch.h>
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

}  // namespace

int main() {
  torch::set_num_threads(1);
  operators();
  steps();
}
