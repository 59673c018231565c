// SPDX-License-Identifier: Apache-2.0
// What grows within a budget: states of kept runs, adjoints of another type than the state, tapes. The budget is kept
// by giving slots up, or the sweep stops at the first byte beyond.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/profile/measured.hpp>
#include "support/catch.hpp"
#include "support/growing.hpp"
#include "support/heap.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

using field = std::vector<double>;
constexpr step_index n = 100;
long long calls = 0;

/// Each state has `more` numbers more than the one before, in the three forms of a step.
constexpr std::size_t more = 20;
struct growing {
  field operator()(field const& x, step_index i) const {
    ++calls;
    return grown(x, i, more);
  }
};
struct growing_there {
  void operator()(field& x, step_index i) const { x = growing{}(x, i); }
};
struct growing_elsewhere {
  void operator()(field const& x, field& y, step_index i) const { y = growing{}(x, i); }
};
auto const ones = [](field const& x) { return field(x.size(), 1.0); };
auto const pull = [](field const& x, field& bar, step_index) {
  pull_grown(x, bar);
};
auto const pull_end = [](field const& x, field const&, field& bar, step_index i) { pull(x, bar, i); };
auto const pull_value = [](field const& x, field const& bar, step_index) {
  field next(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) next[k] = 0.999 * bar[k];
  return next;
};
field const x0(100, 0.5);

/// Calls run(report); says whether it went through. The heap beside what the caller holds stays within the budget.
/// \param slack  a step, or the adjoint of one, shows how much it has grown only afterwards   \param probed  steps that
///   run before the sweep
template <class Run>
bool keeps(std::int64_t bytes, Run run, std::int64_t slack = 200, long long probed = 0) {
  sweep_report report;
  calls = 0;
  bool whole = true;
  INFO(bytes << " bytes");
  heap::mark const heap;
  try {
    run(report);
    CHECK((long long)report.step_calls + probed == calls);
  } catch (infeasible_budget const& e) {
    whole = false;
    CHECK_THAT(e.what(), ContainsSubstring("budget = " + std::to_string(bytes)) && ContainsSubstring("bytes = "));
  }
  CHECK(std::int64_t(heap.rise() + bytes_of(x0)) <= bytes + slack);
  return whole;
}

}  // namespace

TEST_CASE("a kept run whose states grow gives slots up, in every reverse", "[run][bytes]") {
  auto const right = gradient(growing{}, x0, store_all(n), ones, pull);
  auto const of = [&](auto const& step, auto const& adjoint, auto... options) {
    INFO(typeid(step).name() << typeid(adjoint).name());
    int whole = 0;
    for (std::int64_t const bytes : {20'000, 60'000, 120'000, 300'000, 1'000'000, 10'000'000})
      whole += keeps(bytes, [&](sweep_report& report) {
        auto run = checkpointed_loop(step, x0, budget_of{n, bytes}, report, options...);
        for (int again = 0; again < 3; ++again) {
          auto moved = std::move(run);
          run = std::move(moved);
          auto const found = run.reverse(ones, adjoint);
          CHECK(found == right);
          CHECK(run.final_state().size() == 100 + more * n);
        }
      }, std::is_same_v<std::remove_cvref_t<decltype(step)>, growing> ? 200 : 20'000);  // others hold a state for a while
    CHECK(whole >= 3);
    CHECK(whole < 6);
  };
  of(growing{}, pull);
  of(growing_there{}, pull);
  of(growing_elsewhere{}, pull);
  of(growing{}, pull_end);
  of(growing_there{}, pull_end);
  of(growing{}, pull_value);
  of(growing_there{}, pull, sweep_options{replay_check::checkpoints});
  of(growing_elsewhere{}, pull, sweep_options{replay_check::every_step});
}

TEST_CASE("a kept run whose states grow is walked backwards within its budget", "[run][bytes]") {
  auto const right = gradient(growing{}, x0, store_all(n), ones, pull);
  keeps(300'000, [&](sweep_report& report) {
    auto run = checkpointed_loop(growing{}, x0, budget_of{n, 300'000}, report);
    for (int again = 0; again < 2; ++again) {
      step_index seen = n;
      for (auto const& [i, x] : run.backward()) {
        CHECK(i == seen--);
        CHECK(x.size() == 100 + more * std::size_t(i));
      }
      CHECK(seen == -1);
    }
    auto const found = run.reverse(ones, pull);
    CHECK(found == right);
  });
}

TEST_CASE("an adjoint that grows gives slots up, or stops the sweep where there are none", "[run][bytes]") {
  auto const step = [](field& x) {
    ++calls;
    for (double& v : x) v *= 0.999;
  };
  using list = std::vector<float>;
  auto const collects = [](field const& x, list& bar) {
    list longer;
    longer.reserve(bar.size() + 80);
    longer.assign(bar.begin(), bar.end());
    longer.resize(bar.size() + 80, float(x[0]));
    bar = std::move(longer);
  };
  list const seed(1, 1.0f);
  auto const right = gradient(step, x0, store_all(n), seed, collects);
  int whole = 0;
  for (std::int64_t const bytes : {20'000, 60'000, 100'000, 400'000})
    whole += keeps(bytes, [&](sweep_report& report) {
      auto const found = gradient(step, x0, budget_of{n, bytes}, seed, collects, report);
      CHECK(found == right);
    }, 33'000);  // the adjoint holds its old numbers while it grows
  CHECK(whole >= 2);
  auto const flat_step = [](double& x) {
    ++calls;
    x *= 0.999;
  };
  auto const flat = [](double x, list& bar) { bar.resize(bar.size() + 80, float(x)); };
  CHECK_THROWS_WITH(gradient(flat_step, 0.5, budget_of{n, 20'000}, seed, flat),
                    ContainsSubstring("have grown") && ContainsSubstring("budget = 20000"));
  auto run = checkpointed_loop(flat_step, 0.5, budget_of{n, 20'000});
  CHECK_THROWS_WITH(run.reverse(seed, flat), ContainsSubstring("have grown") && ContainsSubstring("budget = 20000"));
  CHECK_NOTHROW(run.reverse(1.0, [](double, double& bar) { bar *= 0.999; }));
}

TEST_CASE("tapes that grow are given up, and then slots", "[run][bytes]") {
  struct taped_step {
    field before;
  };
  auto const step = [](field& x, step_index) {
    ++calls;
    for (double& v : x) v *= 0.999;
  };
  auto const record = [](field& x, step_index i) {  // later steps have longer tapes
    ++calls;
    taped_step kept{field(100 + 40 * std::size_t(i), x[0])};
    for (double& v : x) v *= 0.999;
    return kept;
  };
  auto const reverse = [](taped_step const& kept, field& bar) {
    for (double& v : bar) v *= 0.999 + 1e-9 * kept.before.back();
  };
  recorded const adjoint{record, reverse};
  field const seed(100, 1.0);
  auto const right = gradient(step, x0, store_all(n), seed, adjoint);
  int whole = 0;
  for (std::int64_t const bytes : {20'000, 60'000, 100'000, 200'000, 400'000, 1'000'000, 10'000'000})
    whole += keeps(bytes, [&](sweep_report& report) {
      auto const found = gradient(step, x0, measured{budget_of{n, bytes}}, seed, adjoint, report);
      CHECK(found == right);
    }, 40'000, n / 16);  // a tape shows its bytes when it is there
  CHECK(whole >= 5);
}

namespace {

/// What a map of weights is during a sweep: each step has its own.
using by_step = std::map<step_index, field>;
constexpr std::size_t per_step = 50;  // numbers of each
auto const note = [](by_step& dp, double x, step_index i) { dp.emplace(i, field(per_step, x)); };
/// Runs use(bytes, dp, report) within budgets, of which some are enough. The sum by p is that of storing all.
template <class Use>
void each_budget(by_step const& right, Use const& use) {
  int whole = 0;
  for (std::int64_t const bytes : {20'000, 60'000, 200'000, 300'000, 500'000, 10'000'000})
    whole += keeps(bytes, [&](sweep_report& report) {
      by_step dp;
      use(bytes, dp, report);
      CHECK(dp == right);
      CHECK(report.counted.gradient == bytes_of(dp));
    }, 480 + 800 + 1'000);  // a step shows its weights afterwards; an object lies on the heap, too; text of the error
  CHECK(whole >= 2);
  CHECK(whole < 6);
}
struct counter {
  field numbers = x0;
  counter() = default;
  counter(counter const&) = delete;
  [[nodiscard]] field save() const { return numbers; }
  void restore(field const& kept) { numbers = kept; }
};

}  // namespace

TEST_CASE("a gradient by p that grows gives slots up, or stops the sweep where there are none", "[run][bytes]") {
  double const p = 0.999;
  auto const step = [](field& x, double by, step_index) {
    ++calls;
    for (double& v : x) v *= by;
  };
  auto const adjoint = [](field const& x, field& bar, double by, by_step& dp, step_index i) {
    note(dp, x[0], i);
    for (double& v : bar) v *= by;
  };
  field const seed(100, 1.0);
  by_step right;
  auto const bar = gradient(step, x0, store_all(n), seed, adjoint, wrt{p, right});
  CHECK(bytes_of(right) > n * per_step * sizeof(double));
  each_budget(right, [&](std::int64_t bytes, by_step& dp, sweep_report& report) {
          auto const found = gradient(step, x0, budget_of{n, bytes}, seed, adjoint, wrt{p, dp}, report);
          CHECK(found == bar);
        });
  each_budget(right, [&](std::int64_t bytes, by_step& dp, sweep_report& report) {
          auto run = checkpointed_loop(step, x0, budget_of{n, bytes}, wrt{p, dp}, report);
          for (int again = 0; again < 2; ++again) {
            dp.clear();
            auto const found = run.reverse(seed, adjoint);
            CHECK(found == bar);
          }
        });

  // Numbers have their slots in one piece, and snapshots are asked for again: these sweeps stop.
  auto const flat_step = [](double& x, double by) {
    ++calls;
    x *= by;
  };
  auto const flat = [](double x, double& b, double by, by_step& dp, step_index i) {
    note(dp, x, i);
    b *= by;
  };
  right.clear();
  (void)gradient(flat_step, 0.5, store_all(n), 1.0, flat, wrt{p, right});
  each_budget(right, [&](std::int64_t bytes, by_step& dp, sweep_report& report) {
          (void)gradient(flat_step, 0.5, budget_of{n, bytes}, 1.0, flat, wrt{p, dp}, report);
        });
  auto const object_step = [&](counter& x, double by, step_index i) { step(x.numbers, by, i); };
  auto const of_object = [&](counter const& x, field& b, double by, by_step& dp, step_index i) {
    adjoint(x.numbers, b, by, dp, i);
  };
  right.clear();
  counter first;
  (void)gradient(object_step, first, store_all(n), seed, of_object, wrt{p, right});
  each_budget(right, [&](std::int64_t bytes, by_step& dp, sweep_report& report) {
          counter x;
          (void)gradient(object_step, x, budget_of{n, bytes}, seed, of_object, wrt{p, dp}, report);
        });
}

namespace {

/// The adjoint of a tool whose recordings grow along the way back, and keep their memory.
struct tool {
  field& tape;
  void operator()(field const& x, field& bar, step_index first, step_index last) const {
    if (std::size_t const needed = 10 * std::size_t(n - first + 10); tape.size() < needed) {
      tape = field();
      tape.resize(needed);
    }
    for (step_index i = first; i < last; ++i)
      for (double& v : bar) v *= 0.999 + 0 * x[0];
  }
  [[nodiscard]] std::size_t leaf_bytes(field const&, step_index, step_index) const { return 800; }
  [[nodiscard]] std::size_t leaf_held() const { return tape.capacity() * sizeof(double); }
};

}  // namespace

TEST_CASE("the tape of a tool that grows gives slots up, or stops the sweep", "[run][bytes]") {
  auto const step = [](field& x) {
    ++calls;
    for (double& v : x) v *= 0.999;
  };
  field const seed(100, 1.0);
  field tape;
  auto const right = gradient(step, x0, store_all(n), seed, leaf(tool{tape}));
  int whole = 0;
  for (std::int64_t const bytes : {6'000, 20'000, 35'000, 60'000, 100'000, 400'000})
    whole += keeps(bytes, [&](sweep_report& report) {
      field own;
      auto const found = gradient(step, x0, budget_of{n, bytes}, seed, leaf(tool{own}), report);
      CHECK(found == right);
      CHECK(report.counted.tapes == own.capacity() * sizeof(double));
    }, 200);
  CHECK(whole >= 3);
  CHECK(whole < 6);
}
