// SPDX-License-Identifier: Apache-2.0
// No plan of any kind goes below the bounds of a certificate.
#include <limits>
#include <random>
#include <cairn/planning.hpp>
#include "support/catch.hpp"
#include "support/plans.hpp"

using namespace cairn;

namespace {

std::size_t plans = 0;

/// A plan that keeps to what it promises, within its own bytes and within more.
void check_bounds(any_schedule const& plan, workload const& work) {
  auto const sum = estimate(plan, work);
  for (tier const where : {tier::device, tier::host, tier::disk})
    if (sum.tier_bytes[std::size_t(where)] > work.tiers[where].bytes) return;
  ++plans;
  CAPTURE(plan.steps(), plan.slots(), plan.leaf(), int(work.form.adjoint), int(work.form.step));
  for (wide const within : {sum.memory_bytes, sum.memory_bytes + work.state_bytes + 3, 2 * sum.memory_bytes}) {
    auto const proof = certify(sum, work, within);
    CHECK(proof.least_step_calls <= sum.step_calls);
    CHECK(proof.least_seconds <= sum.seconds * (1 + 1e-12));
    CHECK(proof.least_bytes <= sum.memory_bytes);
  }
}

void check_states_only(step_index n, workload const& work) {
  each_as_any(n, [&](std::string const&, auto const& plan) {
    bool const fits = (plan.leaf() == 1 || work.form.adjoint == adjoint_form::leaf) &&
                      (tapes_of(plan) == 0 || work.form.adjoint == adjoint_form::recorded);
    if (fits) check_bounds(plan, work);
  });
  for (slot_index slots = 1; slots <= n + 1; ++slots) {
    check_bounds(revolve{n, slots}, work);
    check_bounds(revolve{n, slots - 1, {.free_initial = true}}, work);
    check_bounds(multistage{n, slots, slots}, work);
    check_bounds(disk_revolve{n, slots, {.disk_write = 2, .disk_read = 1}}, work);
    check_bounds(hrevolve{n, {{slots, 0, 0}, {3, 1, 1}}}, work);
    check_bounds(two_level{n, slots, slots / 2}, work);
    check_bounds(two_level{n, slots, slots / 2, {.periods_on = tier::memory}}, work);
  }
}

void check_tapes(step_index n, workload const& work) {
  for (slot_index units = 1; units <= 2 * n + 1; ++units) {
    for (slot_index const tape : {1, 2, 3}) {
      for (bool const free : {false, true})
        check_bounds(mixed{n, units, {.tape_units = tape, .tapes_restart = work.tapes_restart, .free_initial = free}},
                     work);
      if (work.tapes_restart)
        for (auto const keep : {bptt_keep::states, bptt_keep::tapes, bptt_keep::both})
          check_bounds(bptt{n, units, {.tape_units = tape, .keep = keep}}, work);
    }
  }
}

}  // namespace

TEST_CASE("no plan has fewer step calls, seconds or bytes than the bound", "[plan][certificate]") {
  std::mt19937 random{3};
  for (int round = 0; round < 60; ++round) {
    workload work;
    work.state_bytes = 1 + random() % 2000;
    work.state_inline_bytes = random() % 2 == 0 ? 0 : work.state_bytes / 2;
    if (random() % 4 == 0) work.initial_bytes = 0;
    work.adjoint_bytes = random() % 3000;
    work.tape_bytes = random() % 3000;
    work.tape_step_bytes = random() % 500;
    work.step_seconds = 1 + double(random() % 3);
    if (random() % 2 == 0) work.record_seconds = double(random() % 5);
    work.adjoint_seconds = double(random() % 4);
    adjoint_form const forms[] = {adjoint_form::one_step, adjoint_form::with_next, adjoint_form::leaf,
                                  adjoint_form::recorded};
    work.form = {random() % 2 == 0 ? step_form::in_place : step_form::by_value, forms[random() % 4], random() % 2 == 0,
                 random() % 5 == 0};
    work.form.snapshots = random() % 6 == 0;
    work.tapes_restart = random() % 2 == 0;
    if (random() % 2 == 0)
      work.tiers.disk = {double(random() % 4), double(random() % 4),
                         random() % 2 == 0 ? unlimited_bytes : 5 * work.state_bytes};
    auto const n = step_index(random() % 14);
    check_states_only(n, work);
    if (work.form.adjoint == adjoint_form::recorded && !work.form.keeps_run && !work.form.snapshots)
      check_tapes(n, work);
  }
  CHECK(plans > 4000);
}

TEST_CASE("the bound is reached where Revolve has as many states as fit", "[plan][certificate]") {
  workload const work{.steps = 1000, .state_bytes = 1'000'000, .adjoint_bytes = 8};
  auto const plan = plan_within("20MB", work);
  CHECK(plan.proof.step_calls_gap() < 0.02);
  CHECK(plan.proof.bytes_gap() < 0.1);
  auto const all = plan_within("2GB", work);
  CHECK(all.proof.step_calls_gap() == 0);
  CHECK(all.proof.least_step_calls == 1000);
}

TEST_CASE("gaps are shares of the bound", "[plan][certificate]") {
  certificate proof;
  CHECK(proof.step_calls_gap() == 0);
  proof.step_calls = 110;
  proof.least_step_calls = 100;
  CHECK(proof.step_calls_gap() == Approx(0.1));
  proof.seconds = 1;
  CHECK(proof.seconds_gap() > 1e300);
}

TEST_CASE("certificates are made for loops of up to 2^63-1 steps", "[plan][certificate]") {
  for (step_index const n :
       {step_index{0}, step_index{1}, step_index{2}, step_index{1} << 32, std::numeric_limits<step_index>::max()}) {
    workload work{.steps = n, .state_bytes = 1000, .adjoint_bytes = 1000, .tape_step_bytes = 10, .step_seconds = 1e-3};
    for (auto const form : {adjoint_form::one_step, adjoint_form::leaf, adjoint_form::recorded}) {
      work.form.adjoint = form;
      for (wide const disk : {wide{0}, unlimited_bytes}) {
        work.tiers.disk.bytes = disk;
        any_schedule const plan = revolve{n, 20, {.free_initial = true}};
        auto const sum = estimate(plan, work);
        auto const proof = certify(sum, work);
        CHECK(proof.least_step_calls <= sum.step_calls);
        CHECK(proof.least_step_calls >= wide(n));
        CHECK(proof.least_seconds <= sum.seconds);
      }
    }
  }
}
