// SPDX-License-Identifier: Apache-2.0
// The adapter behind examples/c_loop: the same bits as from C++, memory as predicted, and every way in which a callback
// may fail.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include <cairn/cairn.hpp>

#include <cairn/c/cairn_loop.cpp>
#include "support/catch.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using state = std::array<double, 3>;

/// The step and its adjoint, for both languages; out of line, so that both call the same machine code.
[[gnu::noinline]] void turn(state& x, std::int64_t i) {
  state const old = x;
  for (std::size_t k = 0; k < 3; ++k) x[k] = 0.9 * old[k] + 0.1 * std::sin(old[(k + 1) % 3] + 0.01 * double(i % 1'000));
}
[[gnu::noinline]] void turn_back(state const& x, state& bar, std::int64_t i) {
  state const after = bar;
  for (std::size_t k = 0; k < 3; ++k) bar[k] = 0.9 * after[k];
  for (std::size_t k = 0; k < 3; ++k)
    bar[(k + 1) % 3] += 0.1 * std::cos(x[(k + 1) % 3] + 0.01 * double(i % 1'000)) * after[k];
}

/// What the callbacks are to do, and what they saw.
struct witness {
  std::int64_t step_fails_at = -1, adjoint_fails_at = -1;
  bool seed_fails = false, step_throws = false, wrong = false;
  int create_fails_after = std::numeric_limits<int>::max(), copy_fails_after = std::numeric_limits<int>::max();
  std::uint64_t step_calls = 0, adjoint_calls = 0;
  int created = 0, alive = 0, most_alive = 0, copies = 0;
  bool user_memory_mixed_up = false;
};
witness& of(void* user) { return *static_cast<witness*>(user); }

extern "C" {
int c_turn(void* x, std::int64_t i, void* user) {
  ++of(user).step_calls;
  if (of(user).step_throws) throw std::runtime_error{"thrown in a callback"};
  if (i == of(user).step_fails_at) return -7;
  turn(*static_cast<state*>(x), i);
  return 0;
}
int c_turn_back(void const* x, void* bar, std::int64_t i, void* user) {
  ++of(user).adjoint_calls;
  if (i == of(user).adjoint_fails_at) return 42;
  turn_back(*static_cast<state const*>(x), *static_cast<state*>(bar), i);
  if (of(user).wrong && i == 3) (*static_cast<state*>(bar))[1] *= 1.01;
  return 0;
}
int c_seed_of(void const* x, void* bar, void* user) {
  if (of(user).seed_fails) return 9;
  std::memcpy(bar, x, sizeof(state));
  return 0;
}

// States that only their owner can copy: the numbers are behind a pointer, and a mark says whose they are.
struct owned {
  witness* owner;
  state* numbers;
};
void* c_create(void* user) {
  auto& w = of(user);
  if (w.created++ >= w.create_fails_after) return nullptr;
  w.most_alive = std::max(w.most_alive, ++w.alive);
  return new owned{&w, new state{}};
}
int c_copy(void const* from, void* into, void* user) {
  auto& w = of(user);
  if (w.copies++ >= w.copy_fails_after) return 5;
  if (static_cast<owned*>(into)->owner != &w) w.user_memory_mixed_up = true;
  *static_cast<owned*>(into)->numbers = *static_cast<owned const*>(from)->numbers;
  return 0;
}
void c_destroy(void* x, void* user) {
  if (static_cast<owned*>(x)->owner != user) of(user).user_memory_mixed_up = true;
  --of(user).alive;
  delete static_cast<owned*>(x)->numbers;
  delete static_cast<owned*>(x);
}
int c_turn_owned(void* x, std::int64_t i, void* user) { return c_turn(static_cast<owned*>(x)->numbers, i, user); }
int c_turn_back_owned(void const* x, void* bar, std::int64_t i, void* user) {
  return c_turn_back(static_cast<owned const*>(x)->numbers, bar, i, user);
}
int c_seed_of_owned(void const* x, void* bar, void* user) {
  return c_seed_of(static_cast<owned const*>(x)->numbers, bar, user);
}
}  // extern "C"

cairn_loop plain_loop(witness& w, std::int64_t n, std::int64_t slots) {
  cairn_loop loop{};
  loop.steps = n;
  loop.slots = slots;
  loop.state_bytes = sizeof(state);
  loop.step = c_turn;
  loop.adjoint = c_turn_back;
  loop.seed = c_seed_of;
  loop.user = &w;
  return loop;
}
cairn_loop owned_loop(witness& w, std::int64_t n, std::int64_t slots) {
  cairn_loop loop = plain_loop(w, n, slots);
  loop.step = c_turn_owned;
  loop.adjoint = c_turn_back_owned;
  loop.seed = c_seed_of_owned;
  loop.bar_bytes = sizeof(state);
  loop.create = c_create;
  loop.copy = c_copy;
  loop.destroy = c_destroy;
  return loop;
}

constexpr state x0{0.3, -0.2, 0.9};

state from_cpp(std::int64_t n) {
  return cairn::gradient([](state& x, cairn::step_index i) { turn(x, i); }, x0, cairn::store_all(n),
                         [](state const& x) { return x; },
                         [](state const& x, state& bar, cairn::step_index i) { turn_back(x, bar, i); });
}

/// The gradient by a loop on plain bytes or on states of the caller's own, which are all gone afterwards.
int run(cairn_loop const& loop, state& bar, cairn_report* report = nullptr) {
  if (loop.create == nullptr) return cairn_gradient(&loop, &x0, &bar, report);
  state numbers = x0;
  owned const start{nullptr, &numbers};
  int const status = cairn_gradient(&loop, &start, &bar, report);
  CHECK(numbers == x0);
  CHECK(of(loop.user).alive == 0);
  CHECK_FALSE(of(loop.user).user_memory_mixed_up);
  return status;
}

/// A call that must fail, and what its report says.
cairn_report failure_of(cairn_loop const& loop, int status) {
  cairn_report report;
  state bar{};
  CHECK(run(loop, bar, &report) == status);
  CHECK(report.status == status);
  return report;
}

}  // namespace

TEST_CASE(
    "a loop in C has the gradient of the same loop in C++, bit for bit, for plain bytes and for states of its own") {
  for (std::int64_t const n : {0, 1, 2, 3, 50, 1'000})
    for (std::int64_t const slots : {1, 2, 7, 2'000})
      for (bool const owns : {false, true}) {
        CAPTURE(n, slots, owns);
        if (n == 1'000 && slots == 1) continue;
        witness w;
        auto const loop = owns ? owned_loop(w, n, slots) : plain_loop(w, n, slots);
        state bar{};
        cairn_report report;
        REQUIRE(run(loop, bar, &report) == CAIRN_OK);
        CHECK(bar == from_cpp(n));
        CHECK(report.message == std::string{});
        CHECK(report.step == -1);
        cairn_cost cost;
        REQUIRE(cairn_estimate(&loop, &cost, nullptr) == CAIRN_OK);
        CHECK(w.step_calls == cost.step_calls);
        CHECK(w.adjoint_calls == std::uint64_t(n));
        if (owns) CHECK(w.most_alive == cost.peak_states);
      }
}

TEST_CASE("a million steps run with 15 states, and 2^60 are estimated") {
  witness w;
  state bar{};
  REQUIRE(run(plain_loop(w, 1'000'000, 15), bar) == CAIRN_OK);
  CHECK(bar == from_cpp(1'000'000));

  cairn_cost cost;
  auto loop = plain_loop(w, std::int64_t{1} << 60, 10'000);
  REQUIRE(cairn_estimate(&loop, &cost, nullptr) == CAIRN_OK);
  CHECK(cost.step_calls > std::uint64_t(loop.steps));
  cairn_report report;
  loop.slots = 1;  // about n^2/2 calls
  CHECK(cairn_estimate(&loop, &cost, &report) == CAIRN_BAD_ARGUMENT);
  CHECK_THAT(report.message, ContainsSubstring("does not fit 64 bits"));
}

TEST_CASE("the adjoint of the final state may be there already") {
  witness w;
  auto loop = plain_loop(w, 30, 4);
  loop.seed = nullptr;
  state const seed{1, 2, 3};
  state bar = seed;
  REQUIRE(run(loop, bar) == CAIRN_OK);
  CHECK(bar == cairn::gradient([](state& x, cairn::step_index i) { turn(x, i); }, x0, cairn::store_all(30), seed,
                               [](state const& x, state& b, cairn::step_index i) { turn_back(x, b, i); }));
}

TEST_CASE("a budget of memory gives the most slots that fit, and one too small says how much would do") {
  witness w;
  auto loop = plain_loop(w, 500, 0);
  loop.state_bytes = 4'096;
  loop.memory_bytes = 1;
  cairn_cost cost;
  cairn_report report;
  REQUIRE(cairn_estimate(&loop, &cost, &report) == CAIRN_BAD_ARGUMENT);
  std::string const words = report.message;
  auto const at = words.find("least = ");
  REQUIRE(at != std::string::npos);
  auto const least = std::stoull(words.substr(at + 8));

  loop.memory_bytes = least - 1;
  CHECK(cairn_estimate(&loop, &cost, nullptr) == CAIRN_BAD_ARGUMENT);
  for (std::uint64_t const budget :
       {std::uint64_t{least}, std::uint64_t{100'000}, std::uint64_t{1'000'000}, std::uint64_t{100'000'000}}) {
    loop.memory_bytes = budget;
    loop.slots = 0;
    REQUIRE(cairn_estimate(&loop, &cost, nullptr) == CAIRN_OK);
    CHECK(cost.peak_bytes <= budget);
    loop.memory_bytes = 0;
    loop.slots = cost.slots + 1;  // one more would not fit, or would be of no use
    cairn_cost more;
    REQUIRE(cairn_estimate(&loop, &more, nullptr) == CAIRN_OK);
    CHECK((more.peak_bytes > budget || more.step_calls == 500));
  }
  // A sweep within a budget is the same sweep.
  loop = plain_loop(w, 500, 0);
  loop.memory_bytes = 2'000;
  state bar{};
  REQUIRE(run(loop, bar) == CAIRN_OK);
  CHECK(bar == from_cpp(500));
}

TEST_CASE("what cannot be done is refused before any callback runs") {
  witness w;
  state bar{};
  auto const refused = [&](cairn_loop const& loop, char const* words) {
    auto const report = failure_of(loop, CAIRN_BAD_ARGUMENT);
    CHECK_THAT(report.message, ContainsSubstring(words));
    CHECK(report.step == -1);
    CHECK(report.phase == std::string{});
    CHECK(w.step_calls + w.adjoint_calls == 0);
    CHECK(w.created == 0);
  };
  auto const good = plain_loop(w, 10, 3);
  auto loop = good;
  loop.step = nullptr;
  refused(loop, "loop->step is NULL");
  loop = good;
  loop.adjoint = nullptr;
  refused(loop, "loop->adjoint is NULL");
  loop = good;
  loop.steps = -1;
  refused(loop, "steps = -1");
  loop = good;
  loop.slots = -2;
  refused(loop, "slots = -2");
  loop = good;
  loop.slots = 0;
  refused(loop, "one of slots and memory_bytes");
  loop.slots = 1, loop.memory_bytes = 1'000;
  refused(loop, "one of slots and memory_bytes");
  loop = good;
  loop.state_bytes = 0;
  refused(loop, "state_bytes = 0");
  loop = good;
  loop.copy = c_copy;
  refused(loop, "only some of create, copy and destroy");

  cairn_report report;
  cairn_cost cost;
  CHECK(cairn_gradient(nullptr, &x0, &bar, &report) == CAIRN_BAD_ARGUMENT);
  CHECK_THAT(report.message, ContainsSubstring("the loop is NULL"));
  CHECK(cairn_gradient(&good, nullptr, &bar, &report) == CAIRN_BAD_ARGUMENT);
  CHECK_THAT(report.message, ContainsSubstring("the initial state is NULL"));
  CHECK(cairn_gradient(&good, &x0, nullptr, &report) == CAIRN_BAD_ARGUMENT);
  CHECK_THAT(report.message, ContainsSubstring("the adjoint is NULL"));
  CHECK(cairn_estimate(nullptr, &cost, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_estimate(&good, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(cairn_check(&good, nullptr, nullptr) == CAIRN_BAD_ARGUMENT);
  CHECK(w.step_calls + w.adjoint_calls == 0);
}

TEST_CASE("a callback that fails ends the sweep with its code, the step and the phase, and the loop can be run again") {
  for (bool const owns : {false, true}) {
    CAPTURE(owns);
    witness w;
    auto const loop = owns ? owned_loop(w, 40, 3) : plain_loop(w, 40, 3);
    for (std::int64_t const k : {0, 1, 17, 38, 39}) {
      CAPTURE(k);
      w.step_fails_at = k;
      auto const by_step = failure_of(loop, CAIRN_STEP_FAILED);
      CHECK(by_step.callback_code == -7);
      CHECK(by_step.step == k);
      CHECK(by_step.phase == std::string{"forward"});
      CHECK(by_step.message == "cairn_gradient: loop->step returned -7 in step " + std::to_string(k) + " (forward)");
      w.step_fails_at = -1;
      w.adjoint_fails_at = k;
      auto const by_adjoint = failure_of(loop, CAIRN_ADJOINT_FAILED);
      CHECK(by_adjoint.callback_code == 42);
      CHECK(by_adjoint.step == k);
      CHECK(by_adjoint.phase == std::string{"reverse"});
      w.adjoint_fails_at = -1;
    }
    w.seed_fails = true;
    auto const by_seed = failure_of(loop, CAIRN_SEED_FAILED);
    CHECK(by_seed.callback_code == 9);
    CHECK(by_seed.step == 40);
    CHECK(by_seed.phase == std::string{"reverse"});
    w.seed_fails = false;

    state bar{};
    REQUIRE(run(loop, bar) == CAIRN_OK);
    CHECK(bar == from_cpp(40));
  }
}

TEST_CASE("a step that fails only when it is run again says so") {
  struct second_time {
    int left = 0;
  } calls;
  witness w;
  auto loop = plain_loop(w, 40, 3);
  loop.user = &calls;
  loop.step = [](void* x, std::int64_t i, void* user) {
    if (i == 5 && static_cast<second_time*>(user)->left++ == 1) return 3;
    turn(*static_cast<state*>(x), i);
    return 0;
  };
  loop.adjoint = [](void const* x, void* bar, std::int64_t i, void*) {
    turn_back(*static_cast<state const*>(x), *static_cast<state*>(bar), i);
    return 0;
  };
  loop.seed = nullptr;
  auto const report = failure_of(loop, CAIRN_STEP_FAILED);
  CHECK(report.step == 5);
  CHECK(report.phase == std::string{"recompute"});
}

TEST_CASE("copies that fail anywhere in a sweep lose nothing") {
  witness counting;
  state bar{};
  REQUIRE(run(owned_loop(counting, 20, 3), bar) == CAIRN_OK);
  REQUIRE(counting.copies > 10);
  REQUIRE(counting.created >= 4);
  for (int k = 0; k < counting.copies; ++k) {
    CAPTURE(k);
    witness w;
    w.copy_fails_after = k;
    auto const report = failure_of(owned_loop(w, 20, 3), CAIRN_COPY_FAILED);
    CHECK(report.callback_code == 5);
    CHECK(report.step >= 0);
    CHECK_THAT(report.message, ContainsSubstring("loop->copy returned 5"));
  }
  for (int k = 0; k < counting.created; ++k) {
    CAPTURE(k);
    witness w;
    w.create_fails_after = k;
    auto const report = failure_of(owned_loop(w, 20, 3), CAIRN_NO_MEMORY);
    CHECK(report.callback_code == 0);
    CHECK_THAT(report.message, ContainsSubstring("not enough memory"));
  }
}

TEST_CASE("exceptions of callbacks written in C++ do not cross into C") {
  witness w;
  w.step_throws = true;
  auto const report = failure_of(plain_loop(w, 10, 3), CAIRN_INTERNAL);
  CHECK_THAT(report.message, ContainsSubstring("thrown in a callback"));
  CHECK(report.step == 0);
  state bar{};
  CHECK(run(plain_loop(w, 10, 3), bar) == CAIRN_INTERNAL);  // without a report
}

TEST_CASE("cairn_check finds the one wrong step of an adjoint in C") {
  witness w;
  auto loop = plain_loop(w, 30, 3);
  cairn_report report;
  CHECK(cairn_check(&loop, &x0, &report) == CAIRN_OK);
  CHECK_THAT(report.message, ContainsSubstring("agrees"));
  w.wrong = true;
  CHECK(cairn_check(&loop, &x0, &report) == CAIRN_WRONG_ADJOINT);
  CHECK(report.status == CAIRN_WRONG_ADJOINT);
  CHECK_THAT(report.message, ContainsSubstring("step 3"));
  loop.state_bytes = sizeof(state) - 1;
  CHECK(cairn_check(&loop, &x0, &report) == CAIRN_BAD_ARGUMENT);
  loop = owned_loop(w, 30, 3);
  CHECK(cairn_check(&loop, &x0, &report) == CAIRN_BAD_ARGUMENT);
}
