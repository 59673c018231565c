// SPDX-License-Identifier: Apache-2.0
// Replay checks see structure that has no bytes: lengths, what optionals hold, alternatives, keys and distributions.
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <variant>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {

struct loose {
  double x = 1;
  std::optional<std::vector<double>> note;
  std::vector<std::string> words{"a", ""};
  std::optional<std::optional<std::string>> nested = std::optional<std::string>{};
  std::variant<std::vector<int>, std::string> either;
  std::map<int, std::vector<int>> names{{0, {}}};
  std::vector<bool> bits{true};
  std::normal_distribution<double> draws;
};
/// The same behind `save` and `restore`.
struct solver {
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] loose save() const { return inside; }
  void restore(loose const& from) { inside = from; }
  loose inside;
};

std::vector<std::function<void(loose&)>> const faults{
    [](loose&) {},
    [](loose& s) { s.note.emplace(); },
    [](loose& s) { std::swap(s.words[0], s.words[1]); },
    [](loose& s) { s.words.emplace_back(); },
    [](loose& s) { s.nested.reset(); },
    [](loose& s) { s.nested.emplace(""); },
    [](loose& s) { s.either = std::string{}; },
    [](loose& s) { s.names.clear(); },
    [](loose& s) { s.names = {{1, {}}}; },
    [](loose& s) { s.bits.push_back(false); },
    [](loose& s) { s.draws.param(decltype(s.draws)::param_type{0, 2}); },
    [](loose& s) { std::mt19937 random{1}; (void)s.draws(random); },
};
constexpr step_index length = 9, bad = 1;

/// Runs the loop's step, which from its second run on has a fault at step `bad`.
struct moody {
  std::size_t fault;
  int runs = 0;
  void operator()(loose& s, step_index i) {
    s.x *= 1 + 0.1 * double(s.words.size());
    if (i == bad && runs++ > 0) faults[fault](s);
  }
};
template <class Sweep>
void found(Sweep sweep) {
  for (auto const mode : {replay_check::checkpoints, replay_check::every_step})
    for (std::size_t fault = 0; fault < faults.size(); ++fault) {
      CAPTURE(fault, int(mode));
      moody step{fault};
      if (fault == 0) CHECK_NOTHROW(sweep(step, sweep_options{mode}));
      else CHECK_THROWS_AS(sweep(step, sweep_options{mode}), nondeterminism_error);
      CHECK(step.runs > 1);
    }
}
struct part {
  moody* step;
  loose forward(loose s, step_index i) {
    (*step)(s, i);
    return s;
  }
  static double backward(loose const& s, double bar, step_index) { return bar * (1 + 0.1 * double(s.words.size())); }
};
template <step_index I>
struct stage_at : part {
  loose forward(loose const& s) { return part::forward(s, I); }
  static double backward(loose const& s, double bar) { return part::backward(s, bar, I); }
};
/// Runs stages 0..7 twice: once for the turn, once for each adjoint.
std::vector<action> plan_of_chain() {
  using namespace chain_actions;
  std::vector<action> plan;
  for (step_index i = 0; i < length; ++i) plan.push_back(advance(i));
  plan.push_back(turn(length));
  for (step_index i = length; i-- > 0;) {
    for (step_index k = 0; k < i; ++k) plan.push_back(advance(k));
    plan.push_back(record(i)), plan.push_back(reverse(i));
  }
  return plan;
}

}  // namespace

TEST_CASE("a loop whose state differs only in structure when it is run again is found") {
  auto const adjoint = [](loose const& s, double& bar) { bar *= 1 + 0.1 * double(s.words.size()); };
  found([&](moody& step, sweep_options options) {
    return gradient(step, loose{}, revolve{length, 2}, 1.0, adjoint, options);
  });
  auto const of_solver = [&](solver const& s, double& bar) { adjoint(s.inside, bar); };
  found([&](moody& step, sweep_options options) {
    solver s;
    auto const run = [&](solver& x, step_index i) { step(x.inside, i); };
    return gradient(run, s, revolve{length, 2}, 1.0, of_solver, options);
  });
}

TEST_CASE("a chain whose states differ only in structure when they are made again is found") {
  auto const plan = plan_of_chain();
  found([&](moody& step, sweep_options options) {
    return chain_gradient(indexed_stages{int(length), part{&step}}, loose{}, plan, 1.0, options);
  });
  found([&](moody& step, sweep_options options) {
    std::tuple stages{stage_at<0>{{&step}}, stage_at<1>{{&step}}, stage_at<2>{{&step}},
                      stage_at<3>{{&step}}, stage_at<4>{{&step}}, stage_at<5>{{&step}},
                      stage_at<6>{{&step}}, stage_at<7>{{&step}}, stage_at<8>{{&step}}};
    return chain_gradient(stages, loose{}, plan, 1.0, options);
  });
  found([&](moody& step, sweep_options options) {
    std::vector<any_stage> stages;
    for (step_index i = 0; i < length; ++i) {
      struct one {
        part inner;
        step_index at;
        loose forward(loose const& s) { return inner.forward(s, at); }
        double backward(loose const& s, double bar) const { return part::backward(s, bar, at); }
      };
      stages.push_back(any_stage::taking<loose, double>(one{{&step}, i}));
    }
    return chain_gradient(stages, loose{}, plan, 1.0, options).get<double>();
  });
}
