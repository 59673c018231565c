// SPDX-License-Identifier: Apache-2.0
// Chains on disk whose process is killed at any call of a stage and at any operation on a file: what goes on has the
// bits of an undisturbed sweep, in the adjoint and in the sums.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include "adapt/disk/chain_runs.hpp"
#include "adapt/disk/killed_program.hpp"
#include "support/catch.hpp"
#include "support/chain_stages.hpp"
#include "support/killed_writes.hpp"
#include "support/temporary.hpp"

namespace {

using namespace chain_runs;

template <class Stages>
struct program {
  Stages stages;
  std::vector<action> plan;
  std::int64_t commit_every;
  answer right{};
  long calls = 0;
  support::temporary folder{};

  program(Stages const& of, std::vector<action> by, std::int64_t every)
      : stages{of}, plan{std::move(by)}, commit_every{every} {
    right = sweep(stages, stored_whole(8));
    killed::calls = 0;
    folder.remove_runs();
    (void)sweep(stages, plan, cairn::disk{folder.run()});
    calls = killed::calls.exchange(0);
  }
  /// One process; it is right unless it is killed.
  int process(long call, long operation = -1, bool half = false) const {
    return killed::run(
        [&] { return sweep(stages, plan, cairn::disk{folder.run(), {.commit_every = commit_every}}) == right; }, call,
        operation, half);
  }
};
template <class Stages>
void kill_everywhere(Stages const& stages, std::vector<action> const& plan, std::int64_t commit_every, long stride) {
  killed::everywhere(program<Stages>{stages, plan, commit_every}, stride, 5);
}
/// All plans of eight stages.
template <class Stages>
void kill_all_plans(Stages const& stages, long stride) {
  kill_everywhere(stages, stored_whole(8), 1, stride);
  kill_everywhere(stages, persistent(8, 3), 2, stride);
  kill_everywhere(stages, nothing_kept(8), 1, stride);
  kill_everywhere(stages, filed(8, 3), 1, stride);
  kill_everywhere(stages, filed(8, 2), 1'000, stride);  // goes on from states
}
/// Asked to stop at every place where it asks, and then going on.
/// \param most  calls that a stop may cost
template <class Stages>
void stop_everywhere(Stages const& stages, std::vector<action> const& plan, long most) {
  program<Stages> of{stages, plan, 1'000};
  long usual = 0;
  bool ended = false;
  for (long at = 0; !ended || at == 1; ++at) {
    CAPTURE(at);
    long asked = 0;
    auto const stop = [&] { return ++asked == at; };
    of.folder.remove_runs();
    killed::calls = 0;
    ended = true;
    answer found;
    try {
      found = sweep(stages, plan, cairn::disk{of.folder.run(), {.commit_every = 1'000, .stop = stop}});
    } catch (cairn::stopped const&) {
      ended = false;
      found = sweep(stages, plan, cairn::disk{of.folder.run(), {.commit_every = 1'000}});
    }
    CHECK(found == of.right);
    if (at == 0) usual = killed::calls;
    CHECK(killed::calls - usual <= most);
  }
  killed::calls = 0;
}
void kill_at_random(std::uint64_t numbers_from, int plans, int times) {
  std::mt19937_64 draw{numbers_from};
  for (int k = 0; k < plans; ++k) {
    program of{tuple_of_types(), chain_stages::wild_plan(8, draw(), 400, false, true), 1};
    for (int time = 0; time < times; ++time) {
      CAPTURE(k, time);
      killed::at_random(of, draw, 4, 40);
    }
  }
}

}  // namespace

TEST_CASE("a chain that is asked to stop anywhere goes on with the bits of an undisturbed sweep, and makes tapes again") {
  auto const stages = tuple_of_types();
  stop_everywhere(stages, nothing_kept(8), 11);  // 3 but between its turn and its first adjoint
  stop_everywhere(stages, filed(8, 3), 5);
  stop_everywhere(stages, persistent(8, 3), 5);
  stop_everywhere(stages, stored_whole(8), 10);  // its tapes
}
TEST_CASE("a chain of several types that is killed anywhere goes on with the bits of an undisturbed one") {
  kill_all_plans(tuple_of_types(), 1);
}
TEST_CASE("so does one of stages in a vector, in each form, and of numbered stages") {
  kill_all_plans(vector_of<taped>(8), 5);
  kill_all_plans(vector_of<self_contained>(8), 7);
  kill_all_plans(vector_of<with_output>(8), 7);
  kill_all_plans(cairn::indexed_stages{8, numbered{}}, 7);
}
TEST_CASE("200 chains, killed at random under any plan") { kill_at_random(1, 40, 5); }
TEST_CASE("10,000 chains, killed at random under any plan", "[.soak]") { kill_at_random(2, 1'000, 10); }
