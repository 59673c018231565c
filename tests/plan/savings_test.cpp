// SPDX-License-Identifier: Apache-2.0
// The names and numbers of the guide that this library starts from.
#include <limits>
#include <cairn/plan/loop/savings.hpp>
#include <cairn/plan/loop/verify.hpp>
#include "support/catch.hpp"
#include "support/schedule_text.hpp"

using namespace cairn;
using Catch::Matchers::WithinAbs;

TEST_CASE("checkpoints of 1000 steps are at 31, 62, 93, 124", "[plan][savings][seed]") {
  auto const positions = compute_checkpoint_positions(1000, 31);
  REQUIRE(positions.size() == 31);
  for (std::size_t k = 0; k < 4; ++k) CHECK(positions[k] == step_index(31 * (k + 1)));
  CHECK(compute_checkpoint_positions(1000) == positions);
}

TEST_CASE("31 checkpoints of 1000 save 96.9 percent", "[plan][savings][seed]") {
  auto const stats = get_memory_savings(1000);
  CHECK(stats.without_checkpointing == 1000);
  CHECK(stats.with_checkpointing == 31);
  CHECK(stats.num_checkpoints == 31);
  CHECK(stats.savings_percent == 96.9);
  CHECK_THAT(stats.savings_ratio, WithinAbs(32.3, 0.05));
  CHECK_THAT(stats.recomputation_factor, WithinAbs(32.3, 0.05));
}

TEST_CASE("what a sweep over 1000 steps really runs and keeps is shown beside it", "[plan][savings]") {
  auto const stats = get_memory_savings(1000);
  CHECK(stats.forward_evaluations_per_step == 1.937);
  CHECK(stats.peak_states == 62);
  CHECK(stats.peak_savings_percent == 93.8);
  auto const walked = verify(uniform{1000});
  CHECK(walked.advances + walked.turned == 1937);
  CHECK(walked.peak_slots == 62);
}

TEST_CASE("the table of savings is that of the guide", "[plan][savings][seed]") {
  struct row { step_index n, k; double percent; };
  for (auto const& [n, k, percent] :
       {row{100, 10, 90.0}, row{500, 22, 95.6}, row{1000, 31, 96.9}, row{5000, 70, 98.6}}) {
    auto const stats = estimate_checkpoint_savings(n);
    CHECK(stats.num_checkpoints == k);
    CHECK_THAT(stats.savings_percent, WithinAbs(percent, 0.05));
  }
}

TEST_CASE("more checkpoints save less", "[plan][savings][seed]") {
  struct row { step_index k; double percent, factor; };
  for (auto const& [k, percent, factor] :
       {row{10, 99.0, 100}, row{20, 98.0, 50}, row{50, 95.0, 20}, row{100, 90.0, 10}}) {
    auto const stats = get_memory_savings(1000, k);
    CHECK(stats.num_checkpoints == k);
    CHECK(stats.savings_percent == percent);
    CHECK(stats.recomputation_factor == factor);
    CHECK(stats.peak_states == uniform{1000, {.checkpoints = k}}.slots());
    CHECK(compute_checkpoint_positions(1000, k).size() == std::size_t(k));
  }
}

TEST_CASE("the shortest loops have figures too", "[plan][savings]") {
  struct row { step_index n, k; double percent; slot_index peak; };
  for (auto const& [n, k, percent, peak] :
       {row{0, 0, 0, 0}, row{1, 1, 0, 0}, row{2, 1, 50, 1}, row{3, 1, 200.0 / 3, 2}, row{4, 2, 50, 3}}) {
    INFO(n << " steps");
    auto const stats = get_memory_savings(n);
    CHECK(stats.num_checkpoints == k);
    CHECK_THAT(stats.savings_percent, WithinAbs(percent, 1e-12));
    CHECK(stats.peak_states == peak);
    CHECK(stats.peak_states == verify(uniform{n}).peak_slots);
  }
  CHECK(compute_checkpoint_positions(0).empty());
  CHECK(compute_checkpoint_positions(1).empty());
  CHECK(compute_checkpoint_positions(2) == std::vector<step_index>{1});
  CHECK(compute_checkpoint_positions(3) == std::vector<step_index>{1});
  CHECK(compute_checkpoint_positions(4) == std::vector<step_index>{1, 2});
  CHECK(compute_checkpoint_positions(4, 4) == std::vector<step_index>{1, 2, 3});
  CHECK(get_memory_savings(7, 0).savings_percent == 100);
  CHECK(get_memory_savings(7, 0).savings_ratio == std::numeric_limits<double>::infinity());
  CHECK(get_memory_savings(0).savings_ratio == 1);
}

TEST_CASE("given the size of a state savings are in bytes", "[plan][savings]") {
  auto const stats = get_memory_savings(1000, {}, 4096);
  CHECK(stats.without_checkpointing == 4'096'000);
  CHECK(stats.with_checkpointing == 31 * 4096);
  CHECK(stats.savings_percent == 96.9);
  CHECK(estimate_checkpoint_savings(100, 8).without_checkpointing == 800);
  auto const longest = std::numeric_limits<step_index>::max();
  CHECK(get_memory_savings(longest, longest, (wide{1} << 62) - 1).without_checkpointing ==
        wide(longest) * ((wide{1} << 62) - 1));
  CHECK_THROWS_AS(get_memory_savings(10, {}, wide{1} << 62), overflow_error);
}

TEST_CASE("should_checkpoint compares the share that is saved", "[plan][savings][seed]") {
  CHECK(should_checkpoint(1000));
  CHECK(should_checkpoint(100));
  CHECK(should_checkpoint(4));
  CHECK_FALSE(should_checkpoint(0));
  CHECK_FALSE(should_checkpoint(1));
  CHECK(should_checkpoint(2));
  CHECK(should_checkpoint(1000, 0.969));
  CHECK_FALSE(should_checkpoint(1000, 0.97));
  CHECK_FALSE(should_checkpoint(1000, 1));
  CHECK(should_checkpoint(1, 0));
  for (double const threshold : {-0.1, 1.1, 50.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(should_checkpoint(1000, threshold), invalid_plan);
}

TEST_CASE("checkpoints that no loop has are refused", "[plan][savings]") {
  CHECK_THROWS_AS(compute_checkpoint_positions(10, 11), invalid_plan);
  CHECK_THROWS_AS(compute_checkpoint_positions(-1), invalid_plan);
  CHECK_THROWS_AS(get_memory_savings(10, -1), invalid_plan);
  CHECK_THROWS_AS(get_memory_savings(-10), invalid_plan);
  CHECK_THROWS_AS(should_checkpoint(-1), invalid_plan);
}
