// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradients by a tool that are kept on disk: what goes on after a stop has the bits of an undisturbed run, in value and
// gradients, and a budget of memory and files is kept, tape included.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include "adapt/ad/budget.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

namespace ad_test {

using cairn::disk_use;

/// Calls of the model over double, of which one may be the last.
inline long calls = 0, last_call = -1;
struct stopped {};
template <class T>
void call() {
  if constexpr (std::is_same_v<T, double>)
    if (++calls == last_call) throw stopped{};
}
/// The recordings, of which one may be the last.
inline long recordings = 0, last_recording = -1;

/// Advection whose calls are counted.
struct drift {
  template <class T>
  void operator()(vec<T>& x, T const& a) const {
    call<T>();
    if constexpr (!std::is_same_v<T, double>)
      if (++recordings == last_recording) throw stopped{};
    advect{}(x, a);
  }
};
struct drift_by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    drift{}(x, a);
    x[0] = x[0] * (1.0 + 1e-3 * double(i % 3));
  }
};
struct late_drift {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    if (i > 0) drift{}(x, a);
  }
};
struct drift_alone {
  template <class T>
  void operator()(vec<T>& x, step_index i) const { drift_by_index{}(x, T(0.01), i); }
};
struct controlled_drift {
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& u, step_index) const {
    drift{}(x, a);
    x[1] = x[1] + u * x[0];
  }
};
struct first_number {
  template <class T>
  T operator()(vec<T> const& x) const { return x[0] * x[0]; }
};

/// The adjoint of a step, which sums something that it captures.
template <class Loop>
struct summing_adjoint {
  Loop& loop;
  double& sum;
  void operator()(vec<double> const& x, cairn::state_and_params<vec<double>, double>& bar, step_index i) const {
    sum += x[0];
    loop.step_adjoint(x, bar, i);
  }
};

inline vec<double> start(std::size_t size) {
  vec<double> x(size);
  for (std::size_t k = 0; k < size; ++k) x[k] = 1 + 0.001 * double(k % 100);
  return x;
}

/// Whether all bits are the same.
template <class Found>
bool same(Found const& a, Found const& b) {
  bool const states = a.value == b.value && a.state == b.state;
  if constexpr (requires { a.params.controls; })
    return states && a.params.params == b.params.params && a.params.controls == b.params.controls;
  else if constexpr (requires { a.params == b.params; }) return states && a.params == b.params;
  else return states;
}
/// Stops a gradient at calls of its model, over double and recorded, and lets it go on.
/// \param by  by(plan, last...) is the gradient
template <class Plan, class By>
void goes_on(Plan const& plan, By by, disk_use most = disk_use::record) {
  calls = recordings = 0;
  auto const right = by(cairn::in_memory{plan});
  long const all = calls, all_recordings = recordings;
  bool from_states = false, from_record = false;
  auto const check = [&](long at, long recording) {
    support::temporary const here;
    CAPTURE(at, recording);
    calls = recordings = 0;
    last_call = at;
    last_recording = recording;
    cairn::disk_options const often{.commit_every = 1};
    CHECK_THROWS_AS(by(plan, cairn::disk{here.run(), often}), stopped);
    last_call = last_recording = -1;
    cairn::disk const again{here.run(), often};
    calls = 0;
    CHECK(same(by(plan, again), right));
    CHECK(calls <= all + 3);  // two to compare, and one before a state of the process that stopped
    auto const used = again.report().used;
    from_states = from_states || used == disk_use::states;
    from_record = from_record || used == disk_use::record;
    CHECK(int(used) <= int(most));
    calls = 0;
    cairn::disk const last{here.run(), often};
    CHECK(same(by(plan, last), right));
    if (most == disk_use::record) CHECK(last.report().resumed_at == 0);
  };
  for (long at = 2; at <= all; at += 3) check(at, -1);
  for (long at = 1; at <= all_recordings; at += 3) check(-1, at);
  CHECK(from_states == (most >= disk_use::states));
  CHECK(from_record == (most >= disk_use::record));
}

template <class Tape>
void gradients_go_on() {
  constexpr step_index n = 20;
  auto const x0 = start(5);
  auto const f = cairn::at_every{3, first_number{}} + cairn::at_end{first_number{}};
  cairn::leaves const in_leaves{n, 2, cairn::two_level{10, 3, 1}};
  cairn::multistage const tiers{n, 1, 3};
  goes_on(in_leaves, [&](auto const& plan, auto&&... on) {
    return cairn::differentiate(cairn::by_tool(Tape{}, drift_by_index{}), x0, 0.01, plan, f, on...);
  });
  goes_on(tiers, [&](auto const& plan, auto&&... on) {
    return cairn::differentiate(cairn::by_tool(Tape{}, drift{}), x0, 0.01, plan, cairn::at_end{first_number{}}, on...);
  });
  goes_on(tiers, [&](auto const& plan, auto&&... on) {
    return cairn::differentiate(cairn::by_tool(Tape{}, drift_alone{}), x0, plan, f, on...);
  });
  cairn::with_controls<double, double> const at{0.01, vec<double>(n, 0.02)};
  goes_on(tiers, [&](auto const& plan, auto&&... on) {
    return cairn::differentiate(cairn::by_tool(Tape{}, controlled_drift{}), x0, at, plan, f, on...);
  });
  goes_on(tiers, [&](auto const& plan, auto&&... on) {
    cairn::taped by{Tape{}, drift_by_index{}, 0.01, f};
    auto run = cairn::checkpointed_loop(by.step, x0, plan, on...);
    auto const bar = run.reverse(by.seed(), by.adjoint);
    return cairn::derivatives<vec<double>, double>{by.value(), bar.state, bar.params};
  });
  // A sum that an adjoint captures is whole.
  goes_on(tiers, [&](auto const& plan, auto&&... on) {
    cairn::taped by{Tape{}, drift_by_index{}, 0.01, f};
    double sum = 0;
    summing_adjoint<decltype(by)> const back{by, sum};
    auto const bar = cairn::gradient(by.step, x0, plan, by.seed(), back, on...);
    return cairn::derivatives<vec<double>, double>{by.value() + sum, bar.state, bar.params};
  }, disk_use::states);
  // One object for several sweeps: what an earlier one has summed does not count.
  cairn::taped loop{Tape{}, drift_by_index{}, 0.01, f};
  goes_on(in_leaves, [&](auto const& plan, auto&&... on) {
    long const stop = std::exchange(last_call, -1), recording = std::exchange(last_recording, -1);
    loop.params() = 0.3;
    (void)cairn::differentiate(loop, x0, cairn::in_memory{plan});
    loop.params() = 0.01;
    calls = recordings = 0;
    last_call = stop, last_recording = recording;
    return cairn::differentiate(loop, x0, plan, on...);
  });
  // Parameters are a part of the run's name, also where step 0 does not show them.
  support::temporary const here;
  for (double const p : {0.01, 0.02}) {
    auto const by = [&](auto const& plan, auto&&... on) {
      return cairn::differentiate(cairn::by_tool(Tape{}, late_drift{}), x0, p, plan, f, on...);
    };
    CHECK(same(by(tiers, cairn::disk{here.run()}), by(cairn::in_memory{tiers})));
  }
}

/// A program whose numbers are a tool's, and all global; its steps are counted as calls.
template <class T>
struct program {
  vec<T> x = {2.0, 1.0};
  T rate = 0.7;
  template <class F>
  void each(F const& f) { f(x), f(rate); }
  void advance() {
    if (++calls == last_call) throw stopped{};
    for (auto& v : x) v -= 0.01 * rate * v * v;
  }
};
template <class T> inline program<T> domain;
template <class T>
void begin() {
  domain<T>.x[0] = 2.0, domain<T>.x[1] = 1.0, domain<T>.rate = 0.7;
}
template <class Tape>
struct objects {
  using number = typename Tape::scalar;
  static auto loop() {
    begin<number>();
    return cairn::taped_object{Tape{}, [](auto const& f) { domain<number>.each(f); }, [] { domain<number>.advance(); }};
  }
  struct half_square {
    number operator()() const { return domain<number>.x[0] * domain<number>.x[0] / 2.0; }
  };
};

/// The value that a seed has found stands in the record, also of a run that is finished.
template <class Tape>
void taped_objects_go_on() {
  using of = objects<Tape>;
  cairn::multistage const tiers{20, 1, 3};
  goes_on(tiers, [](auto const& plan, auto&&... on) {
    auto loop = of::loop();
    auto const bar =
        cairn::gradient(loop.step, loop, plan, loop.seed(typename of::half_square{}), loop.adjoint, on...);
    return cairn::derivatives<vec<double>>{loop.value(), bar};
  });
  goes_on(tiers, [](auto const& plan, auto&&... on) {
    auto loop = of::loop();
    auto run = cairn::checkpointed_loop(loop.step, loop, plan, on...);
    auto const bar = run.reverse(loop.seed(typename of::half_square{}), loop.adjoint);
    return cairn::derivatives<vec<double>>{loop.value(), bar};
  });
}

/// What a run on disk uses of one that is finished, whose functions were others.
template <class Tape>
void functions_of_taped_objects_count() {
  using number = typename Tape::scalar;
  constexpr step_index n = 6;
  auto const pass = [](auto const& f) { domain<number>.each(f); };
  struct found {
    vec<double> bar;
    disk_use used;
    std::string why;
  };
  auto const run = [&](std::string const& folder, auto each, auto one_step, auto make_seed, std::string key = {}) {
    begin<number>();
    cairn::taped_object loop{Tape{}, each, one_step};
    cairn::disk const files{folder, {.key = std::move(key)}};
    auto bar = cairn::gradient(loop.step, loop, cairn::revolve{n, 2}, make_seed(loop), loop.adjoint, files);
    return found{std::move(bar), files.report().used, files.report().why};
  };
  auto const advance = [] { domain<number>.advance(); };
  auto const by_half = [&](auto& loop) { return loop.seed(typename objects<Tape>::half_square{}); };
  support::temporary const here;
  (void)run(here.run(), pass, advance, by_half);
  CHECK(run(here.run(), pass, advance, by_half).used == disk_use::record);
  // Another seed is another run; so is another value that is the seed, also under a key.
  auto const by_first = [](auto& loop) { return loop.seed([] { return domain<number>.x[0]; }); };
  CHECK(run(here.run(), pass, advance, by_first).used == disk_use::nothing);
  auto const by_value = [](double first) { return [first](auto&) { return vec<double>{first, 0, 0}; }; };
  for (char const* const key : {"", "k"}) {
    vec<double> const once = run(here.run(), pass, advance, by_value(1), key).bar;
    CHECK(run(here.run(), pass, advance, by_value(2), key).bar[0] == 2 * once[0]);
    CHECK(run(here.run(), pass, advance, by_value(1), key).used == disk_use::record);
  }
  // What captures something is not known.
  double factor = 1;
  auto const by_captured = [&](auto& loop) { return loop.seed([&] { return factor * domain<number>.x[0]; }); };
  auto const captured = [&factor] { domain<number>.advance(), domain<number>.rate *= factor; };
  auto const passed = [&factor](auto const& f) { domain<number>.each(f), f(factor); };
  for (bool const again : {false, true}) {
    CAPTURE(again);
    CHECK(run(here.run(), pass, advance, by_captured).why.substr(0, 8) == "the seed");
    auto const step = run(here.run(), pass, captured, by_half);
    CHECK(step.why.substr(0, 8) == "the step");
    CHECK(step.used == disk_use::nothing);
    CHECK(run(here.run(), passed, advance, by_half).used == disk_use::nothing);
  }
}

/// What a gradient within a budget of memory and files has taken.
struct taken_on_disk {
  std::int64_t heap = 0, resident = 0, least = 0, files = 0, predicted = 0, step_calls = 0, leaf = 0;
  double value = 0;
  disk_use used = disk_use::nothing;
};

template <class Tape, class Model>
class budget_on_disk {
 public:
  static constexpr step_index steps = 60;
  std::string folder;

  [[nodiscard]] static std::int64_t file() { return std::int64_t(cairn::file_bytes(x0())); }
  /// \param stop_at  a recording that does not end, or -1   \param limit  of the files, or -1
  [[nodiscard]] taken_on_disk within(std::int64_t bytes, std::int64_t limit, long stop_at = -1) const {
    return apart<taken_on_disk>([&](taken_on_disk& found) {
      support::temporary const warm;
      for (char const* const small : {"1kB", "1MB"}) try {  // the code is in memory then
          cairn::disk const run{warm.run()};
          (void)cairn::differentiate(cairn::by_tool(Tape{}, Model{}), start(16), 0.01,
                                     cairn::budget_of{40, small, run, "2kB"}, sum_of_squares{}, run);
        } catch (cairn::infeasible_budget const&) {
        }
      vec<double> const x = x0();
      cairn::disk const run{folder, {.commit_every = 1}};
      auto const memory = cairn::byte_size{std::uint64_t(bytes)};
      cairn::budget_of const budget =
          limit < 0 ? cairn::budget_of{steps, memory, run}
                    : cairn::budget_of{steps, memory, run, cairn::byte_size{std::uint64_t(limit)}};
      try {
        cairn::taped loop{Tape{}, Model{}, 0.01, sum_of_squares{}};
        auto const plan = cairn::plan_for(loop, x, budget);
        found.step_calls = std::int64_t(plan.cost.step_calls);
        found.leaf = plan.schedule.leaf();
        found.predicted = std::int64_t(plan.cost.counts.on(cairn::tier::disk).peak) * file();
      } catch (cairn::infeasible_budget const& refused) {
        found.least = std::int64_t(refused.value(1).magnitude);
        return;
      }
      auto const watch = [&](cairn::event const& e) {
        found.files = std::max(found.files, std::int64_t(e.bytes_held(cairn::tier::disk)));
      };
      long seen = 0;
      auto const stops = [&](cairn::event const& e) {
        watch(e);
        if (e.what().kind == cairn::action_kind::reverse && ++seen == stop_at) throw stopped{};
      };
      if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w"); file != nullptr) {
        std::fputs("5", file);  // the peak begins here
        std::fclose(file);
      }
      std::int64_t const before = of_process("VmRSS:");
      heap::mark const now;
      try {
        found.value =
            cairn::differentiate(cairn::by_tool(Tape{}, Model{}), x, 0.01, budget, sum_of_squares{}, run, stops).value;
      } catch (stopped const&) {
      }
      found.heap = std::int64_t(now.rise());
      found.resident = of_process("VmHWM:") - before;
      found.used = run.report().used;
    });
  }

 private:
  static vec<double> x0() { return start(4'096); }
};

template <class Tape, class Model>
void keeps_budgets_on_disk() {
  support::temporary const here;
  budget_on_disk<Tape, Model> const one{here.run()};
  auto const file = one.file();
  double const known = cairn::differentiate(cairn::by_tool(Tape{}, Model{}), start(4'096), 0.01,
                                            cairn::revolve{one.steps, 20}, sum_of_squares{}).value;
  auto const least = one.within(1'000, 9 * file).least;
  REQUIRE(least > 500'000);
  CHECK(one.within(least - 1, 9 * file).least == least);
  std::vector<std::int64_t> calls_before(2, 0);
  long leaf = 0;
  for (std::int64_t const limit : {std::int64_t(0), 12 * file, std::int64_t(-1)}) {
    std::int64_t before = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      auto const bytes = (least + file) * std::int64_t(1 + 2 * k);
      CAPTURE(limit / file, bytes);
      here.remove_runs();
      auto const found = one.within(bytes, limit);
      if (limit == 0 && found.least > 0) continue;
      CHECK(found.value == known);
      CHECK(found.heap <= bytes);
      CHECK(found.resident <= bytes);
      CHECK(found.files == found.predicted);
      if (limit >= 0) CHECK(found.files <= limit);
      CHECK((before == 0 || found.step_calls <= before));
      if (limit >= 0) CHECK((calls_before[k] == 0 || found.step_calls <= calls_before[k]));
      before = found.step_calls;
      if (limit >= 0) calls_before[k] = before;
      leaf = std::max(leaf, long(found.leaf));
      // Stopped in the middle of the way back: the plan is the same, and so is the run that goes on.
      here.remove_runs();
      (void)one.within(bytes, limit, 5);
      auto const again = one.within(bytes, limit);
      CHECK(again.used == disk_use::record);
      CHECK(again.step_calls == found.step_calls);
      CHECK(again.value == known);
      CHECK(again.heap <= bytes);
      CHECK(again.resident <= bytes);
      CHECK(again.files <= found.files);
    }
  }
  CHECK(leaf > 1);
}

}  // namespace ad_test
