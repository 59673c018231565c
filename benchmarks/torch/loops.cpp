// SPDX-License-Identifier: Apache-2.0
// One side of loops.py and versus.py: the cases lstm, wave and fisher of benchmarks/peers in LibTorch, as a plain loop
// and checkpointed, and the cases tiny and gpt of regions.hpp.
//     loops CASE METHOD FILE
// METHOD is plain, CHECKPOINTSxBLOCK, e.g. 32x32, or for tiny and gpt region: each step in one;
// region_returned: the same with large freed blocks returned to the system; forward_first: plain after a forward run
// without a graph. Of gpt also within_MB, such as within_100, a Sequential within that limit. Of tiny the forward run
// is timed. Questions and answers are those of benchmarks/peers/peer.hpp.
#include <sys/resource.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <torch/torch.h>
#include <torch/version.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/version.hpp>
#include "noise.hpp"
#include "regions.hpp"
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cl = cairn::libtorch;

namespace {

using benchmark::noise;
using torch::Tensor;
using state = std::tuple<Tensor, Tensor>;

/// A loop, and what is differentiated.
struct problem {
  std::int64_t steps;
  state start;
  std::function<state(state const&, std::int64_t)> step;
  std::vector<Tensor> parameters;
  bool transposed;  ///< the reference has the parameters the other way round
  /// The step of just the first tensor, if there is one.
  std::function<Tensor(Tensor const&, std::int64_t)> in_region = {};
  std::function<torch::nn::Sequential()> as_sequential = {};  ///< the steps of the first tensor, where there is one
  bool times_forward = false;  ///< whether the backward pass is left out of timings
};

problem lstm() {
  constexpr std::int64_t steps = 1000, batch = 16, inputs = 64, units = 256, gates = 4 * units;
  torch::nn::LSTMCell cell(inputs, units);
  {
    torch::NoGradGuard const off;
    cell->weight_ih.copy_((noise(0, {inputs, gates}) / 8).t());
    cell->weight_hh.copy_((noise(gates * inputs, {units, gates}) / 8).t());
    cell->bias_ih.copy_(noise(gates * (inputs + units), {gates}) / 8);
    cell->bias_hh.zero_();
  }
  Tensor const x = 4 * noise(1'000'000, {steps, batch, inputs});
  return {steps,
          {torch::zeros({batch, units}), torch::zeros({batch, units})},
          [cell, x](state const& s, std::int64_t i) mutable { return cell(x[i], s); },
          {cell->weight_ih, cell->weight_hh, cell->bias_ih},
          true};
}

problem wave() {
  Tensor const speed = torch::full({64, 64}, 0.1f).requires_grad_();
  Tensor start = torch::zeros({64, 64});
  start[32][32] = 1;
  return {10'000, {start, start.clone()}, [speed](state const& s, std::int64_t) -> state {
            auto const& [u, before] = s;
            auto const laplacian =
                torch::roll(u, 1, 0) + torch::roll(u, -1, 0) + torch::roll(u, 1, 1) + torch::roll(u, -1, 1) - 4 * u;
            return {2 * u - before + speed * laplacian, u};
          }, {speed}, false};
}

/// Of side x side doubles; the second tensor of the state holds nothing.
problem fisher(std::int64_t side, std::int64_t steps) {
  Tensor const blocks = noise(0, {8, 8}).to(torch::kFloat64) + 0.5;
  Tensor const start =
      blocks.repeat_interleave(side / 8, 0).repeat_interleave(side / 8, 1).contiguous().requires_grad_();
  return {steps, {start, torch::empty({0}, torch::kFloat64)}, [](state const& s, std::int64_t) -> state {
            auto const& [u, nothing] = s;
            auto const around =
                torch::roll(u, 1, 0) + torch::roll(u, -1, 0) + torch::roll(u, 1, 1) + torch::roll(u, -1, 1);
            return {u + 0.2 * (around - 4 * u) + 0.005 * (u - u * u), nothing};
          }, {start}, false};
}

problem tiny() {
  regions::tiny const f{noise(0, {8, 8}).requires_grad_(), noise(64, {8}).requires_grad_()};
  Tensor const start = noise(1000, {8, 8});
  return {regions::tiny::steps,
          {start, start},
          [f](state const& s, std::int64_t) -> state {
            return {f(std::get<0>(s)), std::get<1>(s)};
          },
          {f.w, f.b},
          false,
          [f](Tensor const& x, std::int64_t) { return cl::checkpoint(f, x); },
          {},
          true};
}

/// A block as a module, whose parameters can be counted.
struct block_module : torch::nn::Module {
  explicit block_module(regions::block of) : f{std::move(of)} {
    register_parameter("mix", f.mix);
    register_parameter("join", f.join);
    register_parameter("widen", f.widen);
    register_parameter("narrow", f.narrow);
  }
  Tensor forward(Tensor const& x) { return f(x); }
  regions::block f;
};

problem gpt() {
  using regions::block;
  constexpr std::int64_t width = block::width;
  std::vector<block> all;
  std::vector<Tensor> parameters;
  std::int64_t numbers = 0;
  auto const weight = [&](std::int64_t inputs, std::int64_t outputs) {
    parameters.push_back((noise(numbers, {inputs, outputs}) / 8).requires_grad_());
    numbers += inputs * outputs;
    return parameters.back();
  };
  for (std::int64_t k = 0; k < regions::blocks; ++k)
    all.push_back({weight(width, 3 * width), weight(width, width), weight(width, 4 * width), weight(4 * width, width)});
  Tensor const start = noise(1'000'000, {block::batch, block::length, width});
  auto const step = [all](state const& s, std::int64_t i) -> state {
    return {all[std::size_t(i)](std::get<0>(s)), std::get<1>(s)};
  };
  return {regions::blocks, {start, start}, step, parameters, false,
          [all](Tensor const& x, std::int64_t i) { return cl::checkpoint(all[std::size_t(i)], x); },
          [all] {
            torch::nn::Sequential net;
            for (auto const& one : all) net->push_back(std::make_shared<block_module>(one));
            return net;
          }};
}

bool is_region(std::string const& method) { return method == "region" || method == "region_returned"; }

state plain_loop(problem const& p) {
  state s = p.start;
  for (std::int64_t i = 0; i < p.steps; ++i) s = p.step(s, i);
  return s;
}

/// The whole loop, by a method.
std::function<state(problem const&)> loop_of(std::string const& method) {
  if (method == "plain") return plain_loop;
  if (method == "forward_first")
    return [](problem const& p) {
      {
        at::NoGradGuard const without_graph;
        (void)plain_loop(p);
      }
      return plain_loop(p);
    };
  if (is_region(method))
    return [](problem const& p) {
      state s = p.start;
      for (std::int64_t i = 0; i < p.steps; ++i) std::get<0>(s) = p.in_region(std::get<0>(s), i);
      return s;
    };
  if (long long limit = 0; std::sscanf(method.c_str(), "within_%lld", &limit) == 1)
    return [limit, net = cl::CheckpointedSequential{nullptr}](problem const& p) mutable {
      if (net.is_empty())
        net = cl::CheckpointedSequential(
            p.as_sequential(), cl::CheckpointedSequentialOptions().memory_limit(cairn::byte_size(limit * 1'000'000)));
      return state{net->forward(std::get<0>(p.start)), std::get<1>(p.start)};
    };
  long long checkpoints = 0, block = 0;
  if (std::sscanf(method.c_str(), "%lldx%lld", &checkpoints, &block) != 2)
    throw std::runtime_error{"no such method: " + method};
  return [=](problem const& p) {
    return cl::checkpointed_loop(p.step, p.start, p.steps,
                                 cl::LoopOptions().checkpoints(checkpoints).block_size(block));
  };
}

double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
}
/// A line of /proc/self/status in bytes; 0 where there is none.
std::int64_t status_bytes(char const* field) {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;)
    if (std::int64_t kibibytes = 0; word == field && status >> kibibytes) return 1024 * kibibytes;
  return 0;
}

void write(char const* file, problem const& p) {
  std::ofstream stream{file, std::ios::binary};
  for (Tensor const& parameter : p.parameters) {
    auto const dense = (p.transposed && parameter.dim() == 2 ? parameter.grad().t() : parameter.grad()).contiguous();
    stream.write(static_cast<char const*>(dense.data_ptr()), std::streamsize(dense.nbytes()));
  }
  if (!stream.flush()) throw std::runtime_error{std::string{"cannot write "} + file};
}

problem problem_of(std::string const& which) {
  if (which == "lstm") return lstm();
  if (which == "wave") return wave();
  if (which == "fisher") return fisher(256, 1000);
  if (which == "fisher_small") return fisher(16, 60);
  if (which == "tiny") return tiny();
  if (which == "gpt") return gpt();
  throw std::runtime_error{"no such case: " + which};
}

/// Blocks of 128 KiB and more go back to the system when they are freed, as with MALLOC_MMAP_THRESHOLD_.
bool returns_large_blocks() {
#if defined(__GLIBC__)
  return mallopt(M_MMAP_THRESHOLD, 128 << 10) != 0 && mallopt(M_TRIM_THRESHOLD, 128 << 10) != 0 && malloc_trim(0) >= 0;
#else
  return false;
#endif
}

int serve(std::string const& which, std::string const& method, char const* file) {
  torch::set_num_threads(1);
  problem const p = problem_of(which);
  if (method == "region_returned" && !returns_large_blocks())
    throw std::runtime_error{"the C library has no such setting"};
  if (is_region(method) && !p.in_region) throw std::runtime_error{"no regions in case " + which};
  auto const loop = loop_of(method);
  auto const forget = [&] {
    for (Tensor const& parameter : p.parameters) parameter.mutable_grad() = Tensor{};
  };
  auto const gradient = [&] {
    forget();
    std::get<0>(loop(p)).pow(2).sum().backward();
  };
  std::get<0>(p.step(p.step(p.start, 0), 1)).sum().backward();  // what LibTorch makes once is not the loop's
  forget();

  std::int64_t const resident = status_bytes("VmRSS:");
  std::ofstream{"/proc/self/clear_refs"} << "5";  // the greatest resident size is that of now
  gradient();
  std::int64_t const greatest = status_bytes("VmHWM:");
  std::int64_t tensors = 0;
  write(file, p);
  forget();
  {
    cl::byte_meter const meter;  // in a second gradient, since its table takes memory, too
    gradient();
    tensors = meter.peak();
  }
  std::printf("{\"rss_bytes\": %lld, \"peak_rss_bytes\": %lld, \"bytes\": %lld, \"bytes_are\": \"tensors\", ",
              static_cast<long long>(greatest - resident), static_cast<long long>(greatest),
              static_cast<long long>(tensors));
  std::printf("\"version\": \"cairn %s, %s, LibTorch %s\"}\n", CAIRN_VERSION_STRING, CAIRN_BENCHMARK_FLAGS,
              TORCH_VERSION);
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    double const before = user_seconds();
    auto const began = std::chrono::steady_clock::now();
    for (int k = std::atoi(line); k > 0; --k)
      if (p.times_forward) (void)loop(p);
      else gradient();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - began;
    std::printf("%.9f %.9f\n", user_seconds() - before, passed.count());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CASE METHOD FILE\n", argv[0]);
    return 2;
  }
  try {
    return serve(argv[1], argv[2], argv[3]);
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
    return 1;
  }
}
