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

/// A solver's state that says what is stored of it; its guess is no part of the value, and its padding is unknown.
class solved {
 public:
  explicit solved(double x = 0) : x_{x} {}
  [[nodiscard]] double x() const { return x_; }
  void advance(double by) { x_ = std::sin(x_ + by), guess_ = guess_ / 2 + x_; }
  void write_state(auto& sink) const { cairn::write_state(x_, sink); }
  void read_state(auto& source) { cairn::read_state(x_, source); }

 private:
  double x_;
  double guess_ = 0;
  bool fresh_ = true;
};

/// Keeps each state as bytes, and reads it into the old state of a frame.
template <class State>
struct bytes_store {
  std::map<cairn::slot_index, std::string> slots;
  std::size_t reused = 0;
  void begin(cairn::slot_index) { slots.clear(); }
  void save(auto& frames, cairn::place where, cairn::step_index, cairn::frame_id frame) {
    slots[where.slot] = memory_bytes::written(std::as_const(frames).state(frame));
  }
  cairn::frame_id load(auto& frames, cairn::place where, cairn::step_index) {
    cairn::frame_id const k = frames.take();
    if (frames.reusable(k) == nullptr) frames.emplace(k, State{});
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
      bytes_store<state> store;
      cairn::sweep_options const checked{.verify = cairn::replay_check::every_step};
      CHECK(cairn::gradient(step, x0, cairn::revolve{n, slots}, 1.0, adjoint, store) == all);
      CHECK(cairn::gradient(step, x0, cairn::revolve{n, slots}, 1.0, adjoint, store, checked) == all);
      CHECK((n < 40 || store.reused > 0));
    }
  }
}

TEST_CASE("a state that says what is stored of it is checked by that") {
  auto const same = [](solved& s) { s.advance(0.25); };
  auto const back = [](solved const& s, double& bar) { bar *= std::cos(s.x() + 0.25); };
  for (auto const mode : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    cairn::sweep_options const checked{.verify = mode};
    bytes_store<solved> store;
    double const all = cairn::gradient(same, solved{0.3}, cairn::store_all(30), 1.0, back);
    CHECK(cairn::gradient(same, solved{0.3}, cairn::revolve{30, 3}, 1.0, back, checked) == all);
    CHECK(cairn::gradient(same, solved{0.3}, cairn::revolve{30, 3}, 1.0, back, store, checked) == all);
    int calls = 0;
    auto const other = [&](solved& s) { s.advance(++calls > 40 ? 0.26 : 0.25); };
    CHECK_THROWS_AS(cairn::gradient(other, solved{0.3}, cairn::revolve{30, 3}, 1.0, back, store, checked),
                    cairn::nondeterminism_error);
  }
}
