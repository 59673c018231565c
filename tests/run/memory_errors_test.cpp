// SPDX-License-Identifier: Apache-2.0
// Objects that are gone, stores that break their word, and types that overload `&`: a typed error, or the right answer.
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/chain.hpp>
#include "support/catch.hpp"

using cairn::frame_id;
using cairn::place;
using cairn::revolve;
using cairn::slot_index;
using cairn::step_index;
using vec = std::vector<double>;

namespace {

constexpr step_index n = 20;
auto const step = [](vec& x) { x[0] = std::sin(x[0]); };
auto const adjoint = [](vec const& x, vec& bar) { bar[0] *= std::cos(x[0]); };
/// Every state of x = sin x, stored.
vec states() {
  vec all{2.1};
  for (step_index i = 0; i < n; ++i) all.push_back(std::sin(all.back()));
  return all;
}
double derivative() {
  double bar = 1;
  vec const all = states();
  for (step_index i = n; i-- > 0;) bar *= std::cos(all[std::size_t(i)]);
  return bar;
}

/// Loses the k-th state that is asked for, and does not say that it may.
template <bool KeepsFrames>
struct forgetful {
  static constexpr bool keeps_frames = KeepsFrames;
  int left = 0;
  std::vector<frame_id> frames_kept;
  std::vector<vec> copies;
  void begin(slot_index slots) {
    frames_kept.assign(std::size_t(slots), cairn::no_frame);
    copies.assign(std::size_t(slots), {});
  }
  [[nodiscard]] frame_id frame(slot_index slot) const { return frames_kept[std::size_t(slot)]; }
  template <class Frames>
  void save(Frames& frames, place where, step_index, frame_id k) {
    if constexpr (KeepsFrames) {
      frames.keep(k);
      frames_kept[std::size_t(where.slot)] = k;
    } else copies[std::size_t(where.slot)] = frames.state(k);
  }
  template <class Frames>
  frame_id load(Frames& frames, place where, step_index) {
    if (left-- == 0) return cairn::no_frame;
    if constexpr (KeepsFrames) {
      frames.keep(frame(where.slot));
      return frame(where.slot);
    } else {
      frame_id const k = frames.take();
      frames.emplace(k, vec{copies[std::size_t(where.slot)]});
      return k;
    }
  }
  template <class Frames>
  void drop(Frames& frames, place where) {
    if constexpr (KeepsFrames) frames.release(std::exchange(frames_kept[std::size_t(where.slot)], cairn::no_frame));
  }
};

struct solver {
  vec x{2.1};
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] vec save() const { return x; }
  void restore(vec const& kept) { x = kept; }
};

/// Nobody gets its address by `&`.
struct guarded {
  double x = 0;
  guarded* operator&() = delete;
  guarded const* operator&() const = delete;
};
struct guarded_solver {
  double x = 2.1;
  guarded_solver() = default;
  guarded_solver(guarded_solver const&) = delete;
  guarded_solver* operator&() = delete;
  guarded_solver const* operator&() const = delete;
  [[nodiscard]] guarded save() const { return guarded{x}; }
  void restore(guarded const& kept) { x = kept.x; }
};
struct guarded_store : cairn::memory_store {
  guarded_store* operator&() = delete;
  guarded_store const* operator&() const = delete;
};
struct guarded_stage {
  guarded forward(guarded const& x) const { return {std::sin(x.x)}; }
  void backward(guarded const& x, guarded& bar) const { bar.x *= std::cos(x.x); }
  guarded_stage* operator&() = delete;
  guarded_stage const* operator&() const = delete;
};
struct guarded_taped_stage : guarded_stage {
  struct tape {
    guarded x, y;
  };
  tape record(guarded const& x) const { return {x, forward(x)}; }
  guarded const& output(tape const& kept) const { return kept.y; }
  void backward(guarded const& x, tape& kept, guarded& bar) const { bar.x *= x.x == kept.x.x ? std::cos(x.x) : 1e300; }
};

}  // namespace

TEST_CASE("a walk over a temporary run keeps it") {
  vec const all = states();
  for (slot_index const slots : {1, 4, 30}) {
    step_index next = n;
    for (auto const [i, x] : cairn::checkpointed_loop(step, vec{2.1}, revolve{n, slots}).backward()) {
      CHECK(i == next--);
      CHECK(x[0] == all[std::size_t(i)]);
    }
    CHECK(next == -1);
  }
  auto work = cairn::workspace_for<vec>(revolve{n, 4});
  step_index seen = 0;
  auto keeps = cairn::checkpointed_loop(step, vec{2.1}, revolve{n, 4}, cairn::workspace_for<vec>(revolve{n, 4}));
  for (int k = 0; k < 2; ++k) CHECK(keeps.reverse(vec{1}, adjoint)[0] == derivative());
  for (auto const [i, x] : cairn::checkpointed_loop(step, vec{2.1}, revolve{n, 4}, work).backward())
    seen += x[0] == all[std::size_t(i)];
  CHECK(seen == n + 1);
  auto walk = cairn::checkpointed_while(
                  step, vec{2.1}, [](vec const&, step_index i) { return i < n; }, cairn::online{4})
                  .backward();
  for (int k = 0; k < 2; ++k) {
    seen = 0;
    for (auto const [i, x] : walk) seen += x[0] == all[std::size_t(i)];
    CHECK(seen == n + 1);
  }
}

TEST_CASE("a run can be moved, and what it was moved from says so") {
  auto const moved_away = [](auto call) {
    try {
      call();
      FAIL("nothing was thrown");
    } catch (cairn::invalid_call const& e) {
      CHECK(std::string{e.what()}.find(
                "this run has been moved to another object; use the object that it was moved to") != std::string::npos);
    }
  };
  vec const all = states();
  auto first = cairn::checkpointed_loop(step, vec{2.1}, revolve{n, 4});
  auto second = std::move(first);
  moved_away([&] { (void)first.final_state(); });
  moved_away([&] { (void)first.checkpoints(); });
  moved_away([&] { (void)first.at(3); });
  moved_away([&] { (void)first.reverse(vec{1}, adjoint); });
  moved_away([&] { for (auto const [i, x] : first.backward()) (void)i, (void)x; });
  moved_away([&] { (void)first.get<0>(); });
  CHECK(first.steps() == n);
  for (int k = 0; k < 2; ++k) CHECK(second.reverse(vec{1}, adjoint)[0] == derivative());
  auto walk = second.backward();
  auto at = walk.begin();
  auto third = std::move(second);
  moved_away([&] { (void)*at; });
  moved_away([&] { ++at; });
  CHECK(third.final_state()[0] == all.back());
  for (step_index i = 0; i <= n; ++i) CHECK(third.at(i)[0] == all[std::size_t(i)]);
  CHECK(third.reverse(vec{1}, adjoint)[0] == derivative());
  first = std::move(third);
  CHECK(first.reverse(vec{1}, adjoint)[0] == derivative());

  solver s;
  auto run = cairn::checkpointed_loop([](solver& x) { step(x.x); }, s, revolve{n, 4});
  auto other = std::move(run);
  auto const back = [](solver const& x, vec& bar) { adjoint(x.x, bar); };
  moved_away([&] { (void)run.reverse(vec{1}, back); });
  CHECK(other.reverse(vec{1}, back)[0] == derivative());
}

TEMPLATE_TEST_CASE("a store that loses a state without may_lose is an error", "", forgetful<true>,
                   forgetful<false>) {
  auto const told = [](auto call) {
    try {
      call();
    } catch (cairn::invalid_call const& e) {
      CHECK(std::string{e.what()}.find("the store has lost a state, and does not declare that it may") !=
            std::string::npos);
      CHECK(std::string{e.advice()}.find("static constexpr bool may_lose = true") != std::string::npos);
      return true;
    }
    return false;
  };
  for (int k = 0;; ++k) {
    TestType store, solvers_store;
    store.left = solvers_store.left = k;
    auto work = cairn::workspace_for<vec>(revolve{n, 3}, store);
    double g = 0;
    bool const lost = told([&] { g = cairn::gradient(step, vec{2.1}, revolve{n, 3}, vec{1}, adjoint, work)[0]; });
    solver s;
    double h = 0;
    bool const lost_too = told([&] {
      h = cairn::gradient([](solver& x) { step(x.x); }, s, revolve{n, 3}, vec{1},
                          [](solver const& x, vec& bar) { adjoint(x.x, bar); }, solvers_store)[0];
    });
    CHECK(lost == lost_too);
    if (!lost) {
      CHECK(k > 5);
      CHECK(g == derivative());
      CHECK(h == derivative());
      break;
    }
    store.left = 1000;
    CHECK(cairn::gradient(step, vec{2.1}, revolve{n, 3}, vec{1}, adjoint, work)[0] == derivative());
  }
}

TEST_CASE("a type may overload &") {
  auto const move = [](guarded& x) { x.x = std::sin(x.x); };
  auto const pull = [](guarded const& x, guarded& bar) { bar.x *= std::cos(x.x); };
  auto const pull_two = [](guarded const& x, guarded const& x1, guarded& bar, step_index) {
    bar.x *= x1.x == std::sin(x.x) ? std::cos(x.x) : 1e300;
  };
  guarded const seed{1}, x0{2.1};
  guarded_store store;
  long seen = 0;
  auto const watch = [&](cairn::event const& e) {
    e.each_buffer([&](void const*, std::size_t bytes) { seen += long(bytes); });
  };
  for (slot_index const slots : {1, 4}) {
    CHECK(cairn::gradient(move, x0, revolve{n, slots}, seed, pull, store, watch).x == derivative());
    CHECK(cairn::gradient(move, x0, revolve{n, slots}, seed, pull_two).x == derivative());
    CHECK(
        cairn::gradient([](guarded const& x) { return guarded{std::sin(x.x)}; }, x0, revolve{n, slots}, seed, pull).x ==
        derivative());
    auto run = cairn::checkpointed_loop(move, x0, revolve{n, slots});
    for (auto const [position, x] : run.checkpoints()) CHECK(x.x == states()[std::size_t(position)]);
    for (auto const [i, x] : run.backward()) CHECK(x.x == states()[std::size_t(i)]);
    CHECK(run.reverse(seed, pull).x == derivative());
    guarded_solver s;
    CHECK(cairn::gradient([](guarded_solver& x) { x.x = std::sin(x.x); }, s, revolve{n, slots}, seed,
                          [](guarded_solver const& x, guarded& bar) { bar.x *= std::cos(x.x); }, store)
              .x == derivative());
  }
  CHECK(seen > 0);

  using namespace cairn::chain_actions;
  std::vector<cairn::action> const plan{record(0), record(1), turn(2), reverse(1), reverse(0)};
  double const expected = std::cos(2.1) * std::cos(std::sin(2.1));
  auto const by_list = [&](auto&& stages) { return cairn::chain_gradient(stages, x0, plan, seed, watch); };
  CHECK(by_list(std::vector<guarded_stage>(2)).x == expected);
  CHECK(by_list(std::vector<guarded_taped_stage>(2)).x == expected);
  CHECK(by_list(std::tuple<guarded_stage, guarded_taped_stage>{}).x == expected);
  std::vector<cairn::any_stage> any;
  any.emplace_back(guarded_stage{});
  any.push_back(cairn::any_stage::taking<guarded>(guarded_taped_stage{}));
  CHECK(by_list(any).get<guarded>().x == expected);
  CHECK(any[0].get<guarded_stage>().forward(x0).x == std::sin(2.1));
}
