// SPDX-License-Identifier: Apache-2.0
// A budget of memory and of files in the place of a plan: neither is exceeded, counts alone decide, and the plan is the
// same when another process goes on.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/statvfs.h>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/profile/measured.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

namespace {
std::uint64_t free_bytes = std::uint64_t{1} << 40;
}
// The library's calls come here first.
extern "C" int fstatvfs(int, struct statvfs* into) noexcept {
  *into = {};
  into->f_bavail = free_bytes;
  into->f_frsize = 1;
  return 0;
}

using cairn::step_index;
using cairn::tier;
using Catch::Matchers::ContainsSubstring;

namespace {

using vec = std::vector<double>;
long long calls = 0;
step_index stop_at = -1;
struct stopped {};

struct step {
  void operator()(vec& x, double const& p) const {
    ++calls;
    for (double& v : x) v = std::sin(p * v);
  }
};
struct back {
  void operator()(vec const& x, vec& bar, double const& p, double& dp, step_index i) const {
    if (i == stop_at) throw stopped{};
    for (std::size_t k = 0; k < x.size(); ++k) {
      double const c = bar[k] * std::cos(p * x[k]);
      dp += c * x[k];
      bar[k] = c * p;
    }
  }
};
cairn::model const loop{step{}, back{}};
auto const objective =
    cairn::at_every(1, [](vec const& x) { return x[0]; }, [](vec const&, vec& bar) { bar[0] += 1; });
double const p = 0.9;

/// The value of this name that a budget is refused with; 0 if it is not.
template <class Budget>
std::int64_t refused_with(std::string const& name, vec const& x0, Budget const& budget, cairn::disk const& run) {
  calls = 0;
  try {
    (void)cairn::differentiate(loop, x0, p, budget, objective, run);
  } catch (cairn::infeasible_budget const& e) {
    CHECK(calls == 0);
    for (std::size_t k = 0; k < e.value_count(); ++k)
      if (e.value(k).name == name) return std::int64_t(e.value(k).magnitude);
  }
  return 0;
}
template <class Budget>
cairn::any_schedule plan_of(Budget const& budget, vec const& x0) {
  double dp = 0;
  auto const step = [](vec&) {};
  cairn::detail::adjoint_later const adjoint{step, p};
  return cairn::detail::values_for<vec>(step, x0, x0, adjoint, cairn::wrt{p, dp}, cairn::no_options{}, {})
      .plan_from(budget, cairn::no_options{});
}
std::uint64_t bytes_of_checkpoints(cairn::disk const& run) {
  std::uint64_t sum = 0;
  for (auto const& file : std::filesystem::directory_iterator{run.report().folder})
    if (file.path().filename().string()[0] == 's') sum += file.file_size();
  return sum;
}

struct seen {
  long long calls = 0;
  cairn::derivatives<vec, double> found;
};
/// One sweep that is not exceeded, and takes the bytes that were predicted.
template <class Budget>
seen within(Budget const& budget, vec const& x0, support::temporary const& here) {
  here.remove_runs();
  cairn::disk const run{here.run()};
  cairn::sweep_report report;
  std::size_t held = 0, files = 0;
  auto const watch = [&](cairn::event const& e) {
    held = (std::max)(held, e.bytes_held(tier::disk));
    if (files == 0 && e.what().kind == cairn::action_kind::turn) files = bytes_of_checkpoints(run);
  };
  calls = 0;
  heap::mark const heap;
  seen one{0, cairn::differentiate(loop, x0, p, budget, objective, run, report, watch)};
  std::size_t const most = heap.rise() + cairn::bytes_of(x0) + sizeof p;
  one.calls = calls - (budget.steps > 0 ? 1 : 0);  // that of step 0, which says which run it is
  auto const plan = plan_of(budget, x0);
  auto const counts = cairn::estimate(plan).counts;
  auto const predicted = std::uint64_t(counts.on(tier::disk).peak) * cairn::file_bytes(x0);
  INFO(x0.size() << " numbers, " << budget.steps << " steps, " << budget.bytes.count() << " bytes, "
                 << budget.on_disk.value_or(0).count() << " on disk");
  CHECK(most <= std::size_t(report.predicted_bytes));
  CHECK(report.predicted_bytes <= budget.bytes.count());
  CHECK(held == predicted);
  CHECK(files == predicted);
  if (budget.on_disk) CHECK(predicted <= budget.on_disk->count());
  CHECK(one.calls == (long long)cairn::step_calls(counts, cairn::adjoint_form::one_step));
  return one;
}

void check(std::size_t size, step_index n) {
  support::temporary const here;
  cairn::disk const run{here.run()};
  vec const x0(size, 0.5);
  auto const right = cairn::differentiate(loop, x0, p, cairn::store_all(n), objective);
  std::uint64_t const file = cairn::file_bytes(x0);
  std::vector<std::uint64_t> const limits{file - 1, file, file * std::uint64_t(n / 3 + 1),
                                          2 * file * std::uint64_t(n + 1)};
  std::vector<long long> before_by_disk(6, -1);
  for (auto const limit : limits) {
    auto const budget = [&](std::int64_t bytes) { return cairn::budget_of{n, bytes, run, limit}; };
    std::int64_t const least = refused_with("least", x0, budget(1), run);
    REQUIRE(least > 0);
    CHECK(refused_with("least", x0, budget(least - 1), run) == least);
    auto const from = within(budget(least), x0, here);
    CHECK(from.found.params == right.params);
    long long before = -1;
    for (std::size_t k = 0; k < before_by_disk.size(); ++k) {  // the same memory for every limit
      auto const bytes = std::int64_t(70'000 + double(size) * 80) * std::int64_t(k + 2) / 2;
      if (bytes < least) continue;
      auto const [made, found] = within(budget(bytes), x0, here);
      CHECK(found.value == right.value);
      CHECK(found.state == right.state);
      CHECK(found.params == right.params);
      if (before >= 0) CHECK(made <= before);  // more memory
      if (before_by_disk[k] >= 0) CHECK(made <= before_by_disk[k]);  // more room on disk
      before_by_disk[k] = before = made;
    }
  }
}

}  // namespace

TEST_CASE("a budget without files holds what a run on disk takes for itself") {
  support::temporary const here;
  vec const x0(500, 0.3);
  auto const holds = [&](auto const& budget, std::int64_t bytes, cairn::behind_options const& behind) {
    here.remove_runs();
    cairn::disk const run{here.run(), {.behind = behind}};
    CAPTURE(bytes, behind.saves);
    cairn::sweep_report report;
    heap::mark const heap;
    (void)cairn::differentiate(loop, x0, p, budget, objective, run, report);
    CHECK(heap.rise() + cairn::bytes_of(x0) + sizeof p <= std::size_t(report.predicted_bytes));
    CHECK(report.predicted_bytes <= cairn::wide(bytes));
    CHECK(report.counted.total() <= cairn::wide(bytes));
    if (behind.saves == 0)  // the rest are two states that a run that goes on compares, and less than a slot
      CHECK(report.predicted_bytes + 16'000 > cairn::wide(bytes));
  };
  for (std::int64_t const bytes : {250'000, 300'000, 400'000})
    for (auto const& behind : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
      holds(cairn::budget_of{1'000, bytes}, bytes, behind);
      holds(cairn::measured{cairn::budget_of{1'000, bytes}}, bytes, behind);
    }
}
TEST_CASE("budgets of memory and files are kept to the predicted byte, and more of either is never more step calls") {
  for (std::size_t const size : {1u, 2000u})
    for (step_index const n : {1, 10, 60}) check(size, n);
}

TEST_CASE("many small states are within a budget of memory, and so is the name of their run") {
  support::temporary const here;
  vec const x0(1, 0.5);
  cairn::disk const run{here.run()};
  for (step_index const n : {3'000, 20'000})
    for (std::int64_t bytes : {75'000, 90'000, 200'000}) {
      (void)within(cairn::budget_of{n, bytes, run, 0}, x0, here);  // in memory alone
      (void)within(cairn::budget_of{n, bytes, run, "1MB"}, x0, here);
    }
}

TEST_CASE("the numbers by which a run knows its plan take no memory but that of the plan's cursor") {
  using cairn::any_schedule;
  std::vector<any_schedule> const plans{cairn::revolve{100'000, 300},
                                        cairn::two_level{100'000, 5'000, 200},
                                        cairn::leaves{100'000, 10, cairn::revolve{10'000, 50}},
                                        cairn::leaves{100'000, 10, cairn::two_level{10'000, 400, 30}},
                                        cairn::uniform{10'000},
                                        cairn::store_all(10'000),
                                        cairn::multistage{2'000, 20, 30},
                                        cairn::hrevolve{200, {{.slots = 5}, {.slots = 9, .write = 2, .read = 1}}},
                                        cairn::disk_revolve{500, 5, {.disk_write = 3, .disk_read = 2}},
                                        cairn::mixed{300, 12, {.tape_units = 2}}};
  for (auto const& plan : plans) {
    std::int64_t sum = 0;
    heap::mark const heap;
    cairn::detail::each_plan_number(plan, [&sum](std::int64_t number) { sum ^= number; });
    CAPTURE(plan.steps(), plan.slots(), sum);
    CHECK(heap.rise() <= std::size_t(plan.table_bytes()) + 2'048);  // and for words
  }
}

TEST_CASE("what is noted of many files is within the budget of memory") {
  support::temporary const here;
  vec const x0(400, 0.5);
  for (std::int64_t bytes = 140'000; bytes < 144'000; bytes += 500)
    (void)within(cairn::budget_of{4000, bytes, cairn::disk{here.run()}, "1GB"}, x0, here);
}

TEST_CASE("without a limit no step runs more than twice, in as few files as that takes") {
  support::temporary const here;
  vec const x0(4000, 0.5);
  for (step_index const n : {0, 1, 40, 200}) {
    cairn::budget_of const budget{n, "600kB", cairn::disk{here.run()}};
    CHECK(within(budget, x0, here).calls <= 2 * n);
    auto const counts = cairn::estimate(plan_of(budget, x0)).counts;
    auto const inside = counts.on(tier::memory).peak, files = counts.on(tier::disk).peak;
    if (files > 0) CHECK(files == (n + inside + 1) / (inside + 2));
    CHECK(bool(files > 0) == (n == 200));
  }
}

TEST_CASE("a killed run with a budget has the same plan when it goes on, although less is free, and stays within it") {
  struct makes {
    vec operator()(vec x, double const& by) const {
      step{}(x, by);
      return x;
    }
  };
  vec const x0(4000, 0.5);
  step_index const n = 60;
  auto const right = cairn::differentiate(loop, x0, p, cairn::store_all(n), objective);
  auto const goes_on = [&](auto const& m, auto const& budget, step_index at) {
    support::temporary const here;
    free_bytes = 2'000'000;
    stop_at = at;
    CHECK_THROWS_AS(cairn::differentiate(m, x0, p, budget, objective, cairn::disk{here.run(), {.commit_every = 1}}),
                    stopped);
    stop_at = -1;
    free_bytes = 1'000;
    cairn::disk const again{here.run()};
    heap::mark const heap;
    auto const found = cairn::differentiate(m, x0, p, budget, objective, again);
    CHECK(heap.rise() + cairn::bytes_of(x0) + sizeof p <= budget.bytes.count());
    free_bytes = std::uint64_t{1} << 40;
    CHECK(again.report().used == cairn::disk_use::record);
    CHECK(again.report().resumed_at == at + 1);
    CHECK(found.state == right.state);
    CHECK(found.params == right.params);
    CHECK(found.value == right.value);
  };
  cairn::disk const any{"anywhere"};
  cairn::model const by_value{makes{}, back{}};
  for (step_index const at : {1, 3, 17, 31, 55}) {
    goes_on(loop, cairn::budget_of{n, "400kB", any}, at);
    goes_on(loop, cairn::budget_of{n, "400kB", any, "500kB"}, at);
    goes_on(by_value, cairn::budget_of{n, "400kB", any, "100kB"}, at);
  }
}

TEST_CASE("a folder without room for the files is an error before the loop runs, and a limit plans within it") {
  support::temporary const here;
  vec const x0(4000, 0.5);
  cairn::disk const run{here.run()};
  free_bytes = 5 * cairn::file_bytes(x0);
  calls = 0;
  CHECK_THROWS_AS(cairn::differentiate(loop, x0, p, cairn::budget_of{400, "400kB", run}, objective, run),
                  cairn::storage_full);
  CHECK(calls == 1);  // that of step 0, which says which run it is
  auto const right = cairn::differentiate(loop, x0, p, cairn::store_all(400), objective);
  auto const found = cairn::differentiate(loop, x0, p, cairn::budget_of{400, "400kB", run, free_bytes}, objective, run);
  CHECK(found.state == right.state);
  free_bytes = std::uint64_t{1} << 40;
}

TEST_CASE("a plan with files is refused where the folder is not given to the verb") {
  calls = 0;
  vec const x0(4000, 0.5);
  cairn::budget_of const budget{400, "400kB", cairn::disk{"nowhere"}};
  CHECK_THROWS_WITH(cairn::differentiate(loop, x0, p, budget, objective),
                    ContainsSubstring("the plan keeps states on disk, and the store of this sweep is memory alone"));
  CHECK(calls == 0);
}

namespace {
/// An object that cannot be copied.
struct solver {
  vec v = vec(4000, 0.5);
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] vec save() const { return v; }
  void restore(vec const& s) { v = s; }
  void write_state(auto& sink) const { cairn::write_state(v, sink); }
  void read_state(auto& source) { cairn::read_state(v, source); }
};
}  // namespace

TEST_CASE("an object is planned by its snapshots") {
  support::temporary const here;
  cairn::disk const run{here.run()};
  auto const forth = [](solver& x) { for (double& v : x.v) v = std::sin(v); };
  auto const return_one = [](solver const& x, vec& bar) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= std::cos(x.v[k]);
  };
  vec const seed(4000, 1.0);
  solver first;
  vec const right = cairn::gradient(forth, first, cairn::store_all(100), seed, return_one);
  solver x;
  cairn::sweep_report report;
  std::size_t held = 0;
  auto const watch = [&](cairn::event const& e) { held = (std::max)(held, e.bytes_held(tier::disk)); };
  CHECK(cairn::gradient(forth, x, cairn::budget_of{100, "500kB", run, "700kB"}, seed, return_one, run, report, watch) ==
        right);
  CHECK(report.predicted_bytes <= 500'000);
  CHECK(held > 0);
  CHECK(held <= 700'000);
}

namespace {
/// A step whose state grows at first, and its tape.
struct grows {
  void operator()(vec& x, double const& q, step_index i) const {
    step{}(x, q);
    if (i < 4) x.resize(x.size() + 800, 0.25);
  }
};
struct grown_tape {
  vec before;
  [[nodiscard]] std::size_t bytes() const { return sizeof(*this) + sizeof(double) * before.capacity(); }
};
auto const record = [](vec& x, double const& q, step_index i) {
  grown_tape kept{x};
  grows{}(x, q, i);
  return kept;
};
auto const reverse = [](grown_tape const& kept, vec& bar, double const& q, double& dp, step_index i) {
  bar.resize(kept.before.size());
  back{}(kept.before, bar, q, dp, i);
};
}  // namespace

TEST_CASE("a measured budget with files is kept by tapes and states that grow, and has one plan when a run goes on") {
  step_index const n = 96;
  vec const x0(400, 0.5);
  cairn::model const m{grows{}, cairn::recorded{record, reverse}};
  auto const last = cairn::at_end([](vec const& x) { return x[0]; }, [](vec const&, vec& bar) { bar[0] += 1; });
  auto const right = cairn::differentiate(m, x0, p, cairn::store_all(n), last);
  bool filed = false;
  for (std::int64_t const memory : {320'000, 500'000})
    for (std::uint64_t const limit : {100'000u, 400'000u, 0u}) {
      support::temporary const here;
      CAPTURE(memory, limit);
      auto const found_within = [&](cairn::disk const& run) {
        std::optional<cairn::byte_size> files;
        if (limit > 0) files = cairn::byte_size{limit};
        std::size_t held = 0;
        auto const watch = [&](cairn::event const& e) { held = (std::max)(held, e.bytes_held(tier::disk)); };
        cairn::measured const budget{cairn::budget_of{n, cairn::byte_size{std::uint64_t(memory)}, run, files}};
        heap::mark const heap;
        auto const found = cairn::differentiate(m, x0, p, budget, last, run, watch);
        CHECK(heap.rise() + cairn::bytes_of(x0) + sizeof p <= std::size_t(memory));
        if (limit > 0) CHECK(held <= limit);
        filed = filed || held > 0;
        CHECK(found.state == right.state);
        CHECK(found.params == right.params);
        CHECK(found.value == right.value);
      };
      cairn::disk_options const often{.commit_every = 1};
      stop_at = 50;
      CHECK_THROWS_AS(found_within(cairn::disk{here.run(), often}), stopped);
      stop_at = -1;
      cairn::disk const again{here.run(), often};
      found_within(again);
      CHECK(again.report().used == cairn::disk_use::record);
      CHECK(again.report().resumed_at == 51);
    }
  CHECK(filed);

  support::temporary const here;  // an object
  cairn::disk const run{here.run()};
  auto const forth = [](solver& x) { for (double& v : x.v) v = std::sin(v); };
  auto const return_one = [](solver const& x, vec& bar) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= std::cos(x.v[k]);
  };
  vec const seed(4000, 1.0);
  solver first, other;
  vec const of_object = cairn::gradient(forth, first, cairn::store_all(100), seed, return_one);
  cairn::measured const budget{cairn::budget_of{100, "500kB", run, "700kB"}};
  CHECK(cairn::gradient(forth, other, budget, seed, return_one, run) == of_object);
}

TEST_CASE("a probe of a folder leaves nothing there, and its room is what advise plans with") {
  support::temporary const here;
  cairn::disk const run{here.run()};
  vec const x0(4000, 0.5);
  std::uint64_t const file = cairn::file_bytes(x0);
  free_bytes = 100 * file;
  auto const all = cairn::probe(run, x0);
  CHECK(all.write_seconds > 0);
  CHECK(all.read_seconds > 0);
  CHECK(bool(all.bytes == 90 * cairn::bytes_of(x0)));
  CHECK(support::temporary::names_in(here.run()).empty());

  step_index const n = 100;
  cairn::workload work{.steps = n, .state_bytes = cairn::bytes_of(x0), .adjoint_bytes = cairn::bytes_of(x0),
                       .step_seconds = 1, .adjoint_seconds = 1};
  work.tiers.disk = cairn::probe(run, x0, 12 * file);
  auto const best = cairn::advise("400kB", work).best.schedule;
  std::size_t held = 0;
  auto const watch = [&](cairn::event const& e) { held = (std::max)(held, e.bytes_held(tier::disk)); };
  auto const found = cairn::differentiate(loop, x0, p, best, objective, run, watch);
  CHECK(held == 12 * file);
  CHECK(found.state == cairn::differentiate(loop, x0, p, cairn::store_all(n), objective).state);

  free_bytes = 10;
  CHECK_THROWS_AS(cairn::probe(run, x0), cairn::storage_full);
  free_bytes = std::uint64_t{1} << 40;
  CHECK(support::temporary::names_in(here.run()).size() == 1);  // the run above
}
