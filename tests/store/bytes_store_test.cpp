// SPDX-License-Identifier: Apache-2.0
// Sweeps over a store that keeps bytes, of states whose shape changes from step to step.
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/core/state_bytes.hpp>
#include "support/catch.hpp"
#include "support/memory_bytes.hpp"

namespace {

struct state {
  std::vector<double> x;
  std::unordered_map<int, double> weights;
  std::map<int, std::vector<std::string>> names;
  std::optional<std::variant<int, std::vector<bool>>> maybe;
};
/// The sum in the order of the container: in another order it has other bits.
double sum(state const& s) {
  double all = 0;
  for (auto const& [key, weight] : s.weights) all += weight;
  return all;
}
void step(state& s, cairn::step_index i) {
  s.x[0] = std::sin(s.x[0] * sum(s)) + double(s.names.size());
  s.x.resize(std::size_t(1 + i % 5), 0.5);
  s.weights[int(i * 37 % 101)] = 1.0 / double(1 + i * i % 77);
  if (i % 3 == 0) s.weights.erase(s.weights.begin());
  s.names[int(i % 4)].push_back(std::string(std::size_t(i), 'n'));
  if (i % 7 == 0) s.names.clear();
  if (i % 2 == 0) s.maybe = std::vector<bool>(std::size_t(i), true);
  else s.maybe.reset();
}
void adjoint(state const& s, double& bar, cairn::step_index) { bar *= std::cos(s.x[0] * sum(s)) * sum(s); }

/// Keeps each state as bytes, and reads it into the old state of a frame.
struct bytes_store {
  std::map<cairn::slot_index, std::string> slots;
  std::size_t reused = 0;
  void begin(cairn::slot_index) { slots.clear(); }
  void save(auto& frames, cairn::place where, cairn::step_index, cairn::frame_id frame) {
    slots[where.slot] = memory_bytes::written(std::as_const(frames).state(frame));
  }
  cairn::frame_id load(auto& frames, cairn::place where, cairn::step_index) {
    cairn::frame_id const k = frames.take();
    if (frames.reusable(k) == nullptr) frames.emplace(k, state{});
    else ++reused;
    memory_bytes::read(*frames.reusable(k), slots.at(where.slot));
    return k;
  }
  void drop(auto&, cairn::place where) { slots.erase(where.slot); }
};

}  // namespace

TEST_CASE("states of changing shape come out of bytes with the bits of storing everything") {
  state const x0{{0.3}, {{1, 0.7}, {2, 1e-9}, {3, 0.1}}, {}, {}};
  for (cairn::step_index const n : {1, 7, 40}) {
    double const all = cairn::gradient(step, x0, cairn::store_all(n), 1.0, adjoint);
    for (cairn::slot_index const slots : {1, 2, 5}) {
      bytes_store store;
      cairn::sweep_options const checked{.verify = cairn::replay_check::every_step};
      CHECK(cairn::gradient(step, x0, cairn::revolve{n, slots}, 1.0, adjoint, store) == all);
      CHECK(cairn::gradient(step, x0, cairn::revolve{n, slots}, 1.0, adjoint, store, checked) == all);
      CHECK((n < 40 || store.reused > 0));
    }
  }
}
