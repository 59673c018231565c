// SPDX-License-Identifier: Apache-2.0
// What memory buys for three chains that were measured: two networks of PyTorch, and the LSTM of the demo, measured
// here.
//
//     cairn_chains             prints a table for each
//     cairn_chains --out DIR   writes each as NAME.json there, and the lines that draw makespan over memory, and memory
//                              over time within a quarter of what storing everything takes
//
// Answers 0 where every plan keeps within its budget, takes the time that it says, and takes no less than is proven.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/adapt/eigen.hpp>
#include <cairn/adapt/nlohmann_json/chain.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/run/probe.hpp>

#include "../demo/lstm.hpp"
#include "../demo/text.hpp"

namespace {

std::string read(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw std::runtime_error{path + " cannot be read"};
  return {std::istreambuf_iterator<char>{file}, {}};
}
void write(std::string const& path, std::string const& text) {
  std::ofstream file{path, std::ios::binary};
  if (!(file << text << std::flush)) throw std::runtime_error{path + " cannot be written"};
}

/// The demo's LSTM over a whole novel, as a chain whose stages are leaves of 64 characters a stream: the last one is
/// shorter. A step's time, and that of its adjoint, are those of the machine that this runs on; the adjoint of the demo
/// runs the step again, which the tape of a chain spares it.
cairn::chain measured_lstm() {
  constexpr Eigen::Index hidden = 64;
  constexpr std::int64_t leaf = 64, tried = 64;
  demo::streams const text{read(CAIRN_SOURCE_DIR "/examples/data/pride_and_prejudice.txt"), 32};
  auto const weights = demo::random_weights<float>(hidden, Eigen::Index(text.alphabet().size()));
  demo::objective<float> total{{hidden, weights.symbols()}};
  demo::lstm_step<float> step{weights, text};
  demo::lstm_adjoint<float> adjoint{weights, text, total, 1};
  demo::matrix<float> const zero = demo::matrix<float>::Zero(hidden, text.count());
  demo::lstm_state<float> const x0{zero, zero};
  auto const work =
      cairn::probe<std::chrono::steady_clock>(cairn::out_of_place(step), x0, text.steps(), x0, adjoint, tried);

  auto const nanoseconds = [](double seconds) { return std::int64_t(seconds * 1e9 + 0.5); };
  std::int64_t const state = std::int64_t(work.state_bytes),
                     tape = std::int64_t(demo::activations<float>::bytes(hidden, text.count()));
  std::int64_t const forward = nanoseconds(work.step_seconds),
                     reverse = nanoseconds(std::max(0.0, work.adjoint_seconds - work.step_seconds));
  std::int64_t const adjoint_work =
      std::int64_t(demo::lstm_adjoint<float>::bytes(hidden, weights.symbols(), text.count(), 1)) - tape;
  cairn::chain c{.x = {state}, .s = {}, .u = {}};
  for (std::int64_t at = 0; at < text.steps(); at += leaf) {
    std::int64_t const steps = std::min(leaf, text.steps() - at);
    c.x.push_back(state);
    c.s.push_back(steps * tape + state);
    c.f.push_back(tape);  // one step at a time
    c.b.push_back(adjoint_work);
    c.u.push_back(steps * forward);
    c.v.push_back(steps * reverse);
  }
  c.b.push_back(0);
  c.v.push_back(0);
  return c;
}

/// \returns whether all plans are what they say
bool show(std::string const& name, cairn::chain const& work, std::string const& directory) {
  cairn::chain_planner planner{work};
  auto const front = planner.pareto(16);
  std::printf("%s: %lld stages\n%s\n", name.c_str(), (long long)work.stages(),
              cairn::chain_pareto_text(front, work.x[0]).c_str());
  bool good = !front.empty() && front.back().cost.extra_forward == 0;
  for (auto const& plan : front) {
    auto const cost = cairn::replay(work, plan.actions);
    good = good && cost == plan.cost && cost.peak <= plan.budget && cost.makespan >= plan.bound() &&
           cost.peak >= plan.proof.lower_bound_peak;
  }
  if (!directory.empty()) {
    std::string const file = directory + "/" + name;
    write(file + ".json", cairn::chain_json(work).dump());
    auto const quarter = std::max(planner.least_bytes(), planner.store_all_peak() / 4) + work.x[0];  // with state 0
    std::printf("cairn chain %s.json --pareto --points 16 --title '%s: what memory buys' --pareto-svg %s.pareto.svg\n"
                "cairn chain %s.json --memory %lldB --title '%s: memory over time' --svg %s.memory.svg\n\n",
                file.c_str(), name.c_str(), file.c_str(), file.c_str(), (long long)quarter, name.c_str(), file.c_str());
  }
  return good;
}

}  // namespace

int main(int count, char** words) {
  try {
    std::string directory;
    if (count == 3 && std::string{words[1]} == "--out") std::filesystem::create_directories(directory = words[2]);
    else if (count != 1) throw std::runtime_error{"give nothing, or --out and a directory"};
    bool good = true;
    for (std::string const name : {"real_gpt12x2_b2_t128_d256", "real_lstm64_b16_h128"})
      good =
          show(name.substr(0, name.find("_b")),
               cairn::read_chain_json(read(CAIRN_SOURCE_DIR "/tests/oracles/chains/" + name + ".json")), directory) &&
          good;
    return show("demo_lstm", measured_lstm(), directory) && good ? 0 : 1;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "cairn_chains: %s\n", problem.what());
    return 2;
  }
}
