// SPDX-License-Identifier: Apache-2.0
// States whose containers change their sizes during the loop, while the sum of these stays: what a sweep holds is no
// more than what is predicted.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/dry_run.hpp>
#include <cairn/run/probe.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

constexpr step_index longest = 40;
constexpr std::size_t cells = 6, particles = 240;
using cell = std::vector<double>;
/// Particles sorted into cells.
using swarm = std::vector<cell>;

[[nodiscard]] std::uint64_t mixed_up(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
/// The cell of each particle at step i: most in one, which is another one in each step.
[[nodiscard]] std::size_t cell_of(step_index i, std::size_t particle) {
  auto const random = mixed_up(std::uint64_t(i) * 1000 + particle);
  return random % 4 == 0 ? random / 4 % cells : mixed_up(std::uint64_t(i)) % cells;
}
[[nodiscard]] swarm cells_at(step_index i) {
  std::size_t sizes[cells] = {};
  for (std::size_t p = 0; p < particles; ++p) ++sizes[cell_of(i, p)];
  swarm x(cells);
  for (std::size_t k = 0; k < cells; ++k) x[k].assign(sizes[k], double(i));
  return x;
}
constexpr std::size_t state_bytes = sizeof(swarm) + cells * sizeof(cell) + particles * sizeof(double);

/// All states of the longest loop, made before anything is counted.
[[nodiscard]] swarm const& state_at(step_index i) {
  static std::vector<swarm> const all = [] {
    std::vector<swarm> states;
    for (step_index k = 0; k <= longest; ++k) states.push_back(cells_at(k));
    return states;
  }();
  return all[std::size_t(i)];
}

/// Steps whose result has no spare capacity, and which take no more than it meanwhile.
auto const made_by_value = [](swarm const&, step_index i) -> swarm { return state_at(i + 1); };
auto const made_in_place = [](swarm& x, step_index i) { x = swarm{}, x = swarm(state_at(i + 1)); };
auto const made_out_of_place = [](swarm const&, swarm& x1, step_index i) { x1 = swarm{}, x1 = swarm(state_at(i + 1)); };
/// Steps that leave each cell the most room that it ever had in this object, and take no more than that meanwhile.
void resize(swarm& x, step_index i) {
  for (std::size_t k = 0; k < cells; ++k) {
    if (x[k].capacity() < state_at(i)[k].size()) x[k] = cell{};
    x[k] = state_at(i)[k];
  }
}
auto const resized_in_place = [](swarm& x, step_index i) { resize(x, i + 1); };
auto const resized_out_of_place = [](swarm const&, swarm& x1, step_index i) { resize(x1, i + 1); };
auto const one_step = [](swarm const& x, double& bar, step_index i) { bar += x == state_at(i) ? 1 : 1e9; };
struct adds_steps {
  void operator()(swarm const& x, double& bar, step_index first, step_index last) const {
    bar += x == state_at(first) ? double(last - first) : 1e9;
  }
  [[nodiscard]] std::size_t leaf_bytes(step_index) const { return 0; }
};
auto const leaf_adjoint = leaf(adds_steps{});
auto const with_next_adjoint = [](swarm const& x, swarm const& x1, double& bar, step_index i) {
  bar += x == state_at(i) && x1 == state_at(i + 1) ? 1 : 1e9;
};

[[nodiscard]] workload work_of(sweep_form form, wide bytes) {
  return {.state_bytes = bytes,
          .state_inline_bytes = sizeof(swarm),
          .initial_bytes = 0,
          .adjoint_bytes = sizeof(double),
          .tape_bytes = 0,
          .form = form};
}
template <class Step, class Adjoint>
[[nodiscard]] constexpr sweep_form form_of() {
  return {detail::shape_of_step<Step, swarm>().form, detail::shape_of_adjoint<Adjoint, swarm, double>().form};
}

/// What is predicted of its peak, without the tables that exist before.
[[nodiscard]] std::size_t told(any_schedule const& plan, sweep_form form, std::size_t bytes) {
  auto const predicted = estimate(plan, work_of(form, bytes));
  CHECK(predicted.peak_is_exact);
  return std::size_t(predicted.peak_bytes - shared_table_bytes_of(plan));
}
/// What one gradient takes from the heap, its adjoint included.
template <class Step, class Adjoint>
[[nodiscard]] std::size_t taken_by(any_schedule const& plan, Step step, Adjoint adjoint, sweep_options options = {}) {
  heap::mark const mark;
  double const sum = gradient(step, state_at(0), plan, 0.0, adjoint, options);
  std::size_t const held = mark.rise() + sizeof(double);
  CHECK(sum == double(plan.steps()));
  return held;
}
/// What a dry run says that it takes. \pre all states take state_bytes
[[nodiscard]] std::size_t foreseen(any_schedule const& plan, sweep_form form, sweep_options options) {
  sweep_sizes const rest{.state_inline = sizeof(swarm), .adjoint = sizeof(double)};
  return std::size_t(dry_run(plan, [](step_index) { return state_bytes; }, form, rest, options));
}
/// Calls use(step, adjoint, form) for each step and the adjoints that fit the plan.
template <class Use, class... Step>
void each_form(any_schedule const& plan, Use use, Step... step) {
  auto const with = [&](auto one, auto adjoint) {
    auto const form = form_of<decltype(one), decltype(adjoint)>();
    INFO("step form " << int(form.step) << ", adjoint form " << int(form.adjoint));
    use(one, adjoint, form);
  };
  auto const with_adjoints = [&](auto one) {
    if (plan.leaf() > 1) return with(one, leaf_adjoint);
    with(one, one_step);
    with(one, with_next_adjoint);
  };
  (with_adjoints(step), ...);
}
template <class Use>
void each_plain_plan(Use use) {
  (void)state_at(0);
  for (step_index const n : {0, 1, 2, 7, 18, 31})
    each_in_memory(n, [&](std::string const& name, auto const& made) {
      any_schedule const plan{made};
      if (plan.tapes() > 0 || tapes_restart(plan)) return;
      INFO(name);
      use(plan);
    });
}

}  // namespace

TEST_CASE("states that move sizes between their parts, without spare capacity, take what is predicted, to the byte",
          "[run][bytes][long]") {
  each_plain_plan([](any_schedule const& plan) {
    each_form(plan, [&](auto step, auto adjoint, sweep_form form) {
      CHECK(taken_by(plan, step, adjoint) == told(plan, form, state_bytes));
      CHECK(taken_by(plan, step, adjoint) == foreseen(plan, form, {}));
      for (auto const mode : {replay_check::checkpoints, replay_check::every_step}) {
        CAPTURE(int(mode));
        CHECK(taken_by(plan, step, adjoint, sweep_options{mode}) == foreseen(plan, form, {mode}));
      }
    }, made_by_value, made_in_place, made_out_of_place);
  });
}

TEST_CASE("only states in work have room to spare: what is kept takes its size", "[run][bytes]") {
  std::size_t largest[cells] = {}, most_spare_in_place = 0, most_spare_out_of_place = 0;
  for (step_index i = 0; i <= longest; ++i) {
    std::size_t spare = 0;
    for (std::size_t k = 0; k < cells; ++k) {
      std::size_t const size = state_at(i)[k].size(), next = state_at(std::min(i + 1, longest))[k].size();
      largest[k] = std::max(largest[k], size);
      spare += std::max(size, next) - next;
    }
    most_spare_out_of_place = std::max(most_spare_out_of_place, spare * sizeof(double));
  }
  for (std::size_t const most : largest) most_spare_in_place += most * sizeof(double);
  most_spare_in_place -= particles * sizeof(double);
  REQUIRE(most_spare_in_place > 3 * particles * sizeof(double));
  each_plain_plan([&](any_schedule const& plan) {
    each_form(plan, [&](auto step, auto adjoint, sweep_form form) {
      std::size_t const spare = form.step == step_form::in_place ? most_spare_in_place : most_spare_out_of_place;
      auto const taken = taken_by(plan, step, adjoint);
      CHECK(taken <= told(plan, form, state_bytes) + std::size_t(working_frames(form, plan.leaf())) * spare);
      CHECK(taken <= told(plan, form, state_bytes + spare));
    }, resized_in_place, resized_out_of_place);
  });
}

TEST_CASE("plans for what a probe saw keep a budget in bytes, for all sizes", "[run][bytes]") {
  (void)state_at(0);
  auto const check = [](auto step, auto adjoint) {
    auto work = probe<std::chrono::steady_clock>(step, state_at(0), longest, 0.0, adjoint, longest);
    work.initial_bytes = 0;
    auto const least = byte_size{why_infeasible(byte_size{0}, work)->least_bytes()}.count();
    INFO("step form " << int(work.form.step) << ", adjoint form " << int(work.form.adjoint) << ", bytes of a state "
                      << std::size_t(work.state_bytes));
    CHECK(work.state_bytes >= state_bytes);
    for (auto budget = least; budget < 16 * least; budget += least / 3) {
      auto const plan = plan_within(byte_size{budget}, work);
      CHECK(taken_by(plan.schedule, step, adjoint) <= budget);
    }
  };
  auto const with_adjoints = [&](auto step) {
    check(step, one_step), check(step, with_next_adjoint), check(step, leaf_adjoint);
  };
  with_adjoints(made_by_value);
  with_adjoints(made_in_place);
  with_adjoints(made_out_of_place);
  with_adjoints(resized_in_place);
  with_adjoints(resized_out_of_place);
}

TEST_CASE("a loop over sizes that stay takes no memory in a warm sweep", "[run][bytes]") {
  (void)state_at(0);
  revolve const plan{longest, 4};
  auto const check = [&](auto step) {
    workspace<swarm, revolve> work;
    auto const sweep = [&] {
      (void)gradient(
          step, state_at(0), plan, 0.0, [](swarm const&, double& bar, step_index) { bar += 1; }, work);
    };
    sweep();
    heap::mark const warm;
    sweep();
    CHECK(warm.allocated() == 0);
  };
  check([](swarm& x, step_index) { x[0].assign(x[0].size(), 2); });
  check([](swarm const& x, swarm& x1, step_index) { x1 = x; });
}

namespace {

/// Two arrays behind a wall: it says how much room they have, and its assignment keeps the most.
class walled {
 public:
  walled() = default;
  explicit walled(step_index i) { resize(i); }
  void resize(step_index i) {
    std::size_t const first = std::size_t(i * 37 % 11) * 10;
    set(a_, first);
    set(b_, 100 - first);
  }
  [[nodiscard]] std::size_t bytes() const { return sizeof(*this) + (a_.capacity() + b_.capacity()) * sizeof(double); }

 private:
  static void set(cell& x, std::size_t size) {
    if (x.capacity() != size) x = cell{};
    x.assign(size, 1);
  }
  cell a_, b_;
};

}  // namespace

TEST_CASE("a class that counts its own bytes keeps no more of them in a copy than it says", "[run][bytes]") {
  constexpr std::size_t bytes = sizeof(walled) + 100 * sizeof(double);
  walled const x0{0};
  CHECK(bytes_of(x0) == bytes);
  detail::frames<walled> pool;
  pool.begin(2);
  (void)pool.take(), (void)pool.take();
  for (step_index i = 0; i < longest; ++i) {
    pool.copy_in(walled{i}, i % 2);
    CHECK(bytes_of(std::as_const(pool).state(i % 2)) == bytes);
  }
}
