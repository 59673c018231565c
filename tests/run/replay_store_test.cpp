// SPDX-License-Identifier: Apache-2.0
// A store that keeps the hashes which a replay check gives it: a sweep that is resumed in another process is compared
// with the one that stopped.
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/toy_stores.hpp"

using cairn::replay_check;
using cairn::slot_index;
using cairn::step_index;

namespace {

/// Outlives its sweeps, and keeps hashes beside its states.
struct noting : toys::serialising {
  struct hashes {
    step_index at = -1;
    std::uint64_t own = 0, before = 0;
  };
  std::map<slot_index, hashes> noted;
  hashes next;
  bool wrong = false;

  void note_hash(step_index i, std::uint64_t hash, std::uint64_t before) { next = {i, hash, before}; }
  void save(auto& frames, cairn::place where, step_index i, cairn::frame_id frame) {
    serialising::save(frames, where, i, frame);
    noted[where.slot] = next.at == i ? next : hashes{};
  }
  void each_hash(auto const& f) const {
    for (auto const& [slot, of] : noted)
      if (of.at >= 0 && at(slot) == of.at) f(slot, of.at, of.own, of.before);
  }
  void is_wrong() { wrong = true; }
};

}  // namespace

TEST_CASE("a resumed sweep over a store that keeps hashes is compared with the process that stopped") {
  using numbers = std::vector<double>;
  static step_index differs_at = -1;
  auto const step = [](pendulum::state& x, step_index i) {
    for (double& v : x.v) v = std::sin(1.1 * v) + 0.01 * double(i % 5);
    if (i == differs_at) x.v[0] += 1e-6;
  };
  auto const back = [](pendulum::state const& x, numbers& bar) {
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x.v[k]);
  };
  struct stopped {};
  pendulum::state const x0{{0.3, -0.4}};
  numbers const seed{1, 1};
  cairn::two_level const plan{30, 7, 2};
  numbers const right = cairn::gradient(step, x0, cairn::in_memory{plan}, seed, back);
  long refused = 0;
  for (auto const check : {replay_check::checkpoints, replay_check::every_step})
    for (step_index other = -1; other < 30; ++other) {
      CAPTURE(other);
      noting store;
      cairn::resume_point<numbers> reached{30, seed, 30};
      auto const hooked = cairn::hooked(back, [&](pendulum::state const&, numbers const& bar, step_index i) {
        reached = {i, bar, 30};
        if (i == 17) throw stopped{};
      });
      auto first = cairn::workspace_for<pendulum::state>(plan, store, {.verify = check});
      differs_at = -1;
      CHECK_THROWS_AS(cairn::gradient(step, x0, plan, seed, hooked, first), stopped);
      auto second = cairn::workspace_for<pendulum::state>(plan, store, {.verify = check});
      differs_at = other;
      try {
        numbers const found = cairn::resume(step, x0, plan, reached, back, second);
        CHECK(found == right);
        CHECK(second.states_compared() > 4);
      } catch (cairn::nondeterminism_error const&) {
        CHECK(store.wrong);
        CHECK(other >= 0);
        ++refused;
      }
    }
  CHECK(refused > 20);
}
