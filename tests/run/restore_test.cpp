// SPDX-License-Identifier: Apache-2.0
// With a replay check, the first state that is brought back is run on for one step: what it makes shows whether a
// snapshot, or the bytes in a store, lack something. No plan has to run anything again for that.
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/check/check_plans.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/while.hpp>
#include <cairn/run/with/nested.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {

constexpr replay_check modes[] = {replay_check::checkpoints, replay_check::every_step};
constexpr step_index n = 9;

struct kept {
  std::vector<double> u;
  double t = 0;
};
/// An object with a member that changes with every step.
template <bool Complete>
struct solver {
  solver() = default;
  solver(solver const&) = delete;
  kept now{{0.7, 0.4}, 0};
  double speed = 1;
  int calls = 0;
  struct snapshot {
    double begin;
    kept inside;
    double speed;
  };
  [[nodiscard]] snapshot save() const { return {1, now, Complete ? speed : 0}; }
  void restore(snapshot const& from) {
    now = from.inside;
    if (Complete) speed = from.speed;
  }
  void step() {
    ++calls;
    for (double& u : now.u) u = std::sin(speed * u);
    now.t += 1, speed *= 0.99;
  }
};
template <class Solver>
struct loop_of {
  static void step(Solver& x) { x.step(); }
  static void adjoint(Solver const& x, double& bar) { bar *= x.speed * std::cos(x.speed * x.now.u[0]); }
  struct tape {
    double factor;
    typename Solver::snapshot after;
  };
  static tape record(Solver& x) {
    double const factor = x.speed * std::cos(x.speed * x.now.u[0]);
    x.step();
    return {factor, x.save()};
  }
  static void reverse(tape const& at, double& bar) { bar *= at.factor; }
};
/// What the check of a sweep says.
template <class Sweep>
std::optional<nondeterminism_error> found(Sweep sweep) {
  try {
    (void)sweep();
  } catch (nondeterminism_error const& e) { return e; }
  return {};
}

}  // namespace

TEST_CASE("a snapshot that lacks a member is found by plans that run nothing again, and the member that differs named") {
  auto const each_plan = [](auto check) {
    for (auto const mode : modes) {
      check(mode, any_schedule{store_all(n)});
      check(mode, any_schedule{revolve{n, n - 1}});
      check(mode, any_schedule{revolve{n, n}});
      check(mode, any_schedule{revolve{n, 1}});
      check(mode, any_schedule{uniform{n, {.checkpoints = 3}}});
    }
  };
  each_plan([](replay_check mode, any_schedule const& plan) {
    using lacking = solver<false>;
    using loop = loop_of<lacking>;
    lacking x;
    auto const e = found([&] { return gradient(loop::step, x, plan, 1.0, loop::adjoint, sweep_options{mode}); });
    REQUIRE(e);
    CHECK(e->found.state == n);
    CHECK(e->found.last_step == n - 1);
    CHECK(e->found.member == 1);  // the speed that the snapshot lacks makes another `inside`
    CHECK(std::string{e->what()}.find("member") != std::string::npos);
    lacking kept;
    CHECK(found([&] { return checkpointed_loop(loop::step, kept, plan, sweep_options{mode}); }));
  });
  each_plan([](replay_check mode, any_schedule const& plan) {
    using loop = loop_of<solver<true>>;
    solver<true> x, plain;
    double const expected = gradient(loop::step, plain, plan, 1.0, loop::adjoint);
    CHECK(gradient(loop::step, x, plan, 1.0, loop::adjoint, sweep_options{mode}) == expected);
    // From state n - 1 and from state 0 at the turn; then, twice, the former and of what is restored the 2nd, 4th and
    // 8th, or each.
    CHECK(x.calls >= plain.calls + 4);
    CHECK(x.calls <= plain.calls + (mode == replay_check::checkpoints ? 10 : 4 + 2 * (n + n * n / 2)));
    CHECK(x.save().inside.u == plain.save().inside.u);
  });
}

namespace {
/// An object with many members that each step reads and that change now and then; its snapshot lacks one of them.
struct many {
  static constexpr int members = 25;
  static constexpr step_index steps = 40;
  int lacks = -1;
  double u = 0.7;
  std::array<double, members> m{};
  many() = default;
  many(many const&) = delete;
  struct snapshot {
    double u;
    std::array<double, members> m;
  };
  [[nodiscard]] snapshot save() const {
    snapshot now{u, m};
    if (lacks >= 0) now.m[std::size_t(lacks)] = 0;
    return now;
  }
  void restore(snapshot const& from) {
    u = from.u;
    for (int k = 0; k < members; ++k)
      if (k != lacks) m[std::size_t(k)] = from.m[std::size_t(k)];
  }
  /// Whether member k changes in step i: each at its own time, from the first step to the last, three several times;
  /// the last five change back soon.
  [[nodiscard]] static bool changes(int k, step_index i) {
    if (k >= 20) return i == 7 * (k - 20) + 1 || i == 7 * (k - 20) + 6;
    return i == steps - 1 - 39 * k / 19 || (k == 5 && i % 4 == 0) || (k == 9 && i % 2 == 0) || k == 13;
  }
  [[nodiscard]] double factor() const {
    double sum = 1;
    for (double one : m) sum += one / 1024;
    return sum;
  }
  void step(step_index i) {
    u = std::sin(factor() * u);
    for (int k = 0; k < members; ++k)
      if (changes(k, i)) m[std::size_t(k)] = k < 20 ? m[std::size_t(k)] + 1 : 1 - m[std::size_t(k)];
  }
};
}  // namespace
TEST_CASE("any one member that a snapshot lacks is found in any plan, whenever it changes") {
  step_index const steps = many::steps;
  auto const step = [](many& x, step_index i) { x.step(i); };
  auto const back = [](many const& x, double& bar) { bar *= x.factor() * std::cos(x.factor() * x.u); };
  any_schedule const plans[] = {store_all(steps), revolve{steps, steps - 1}, revolve{steps, 30}, uniform{steps},
                                revolve{steps, 3}};
  for (any_schedule const& plan : plans)
    for (auto const mode : modes) {
      many x, y;
      CHECK(gradient(step, x, plan, 1.0, back, sweep_options{mode}) == gradient(step, y, plan, 1.0, back));
    }
  int by_mode[2] = {}, by_plans = 0, changed_back = 0;
  for (int lacks = 0; lacks < many::members; ++lacks) {
    bool const comes_back = lacks >= 20;  // the object's value is then that of most snapshots
    for (any_schedule const& plan : plans)
      for (auto const mode : modes) {
        if (comes_back && mode == replay_check::checkpoints) continue;
        many x;
        x.lacks = lacks;
        bool const seen(found([&] { return gradient(step, x, plan, 1.0, back, sweep_options{mode}); }));
        (comes_back ? changed_back : by_mode[int(mode == replay_check::every_step)]) += seen;
      }
    many x;
    x.lacks = lacks;
    by_plans += !check_plans(step, x, steps, 1.0, back).passed();
  }
  CHECK(by_mode[0] == 100);
  CHECK(by_mode[1] == 100);
  CHECK(changed_back == 25);
  CHECK(by_plans == many::members);
}

namespace {
/// A number that each step reads, and that is changed after some of them; snapshots lack it, or not.
struct hidden {
  std::vector<step_index> const* when;
  bool complete, back;  // back: it goes to and fro, otherwise up
  double u = 0.7, m = 0;
  hidden(std::vector<step_index> const& at, bool whole, bool to_and_fro)
      : when{&at}, complete{whole}, back{to_and_fro} {}
  hidden(hidden const&) = delete;
  struct snapshot {
    double u, m;
  };
  [[nodiscard]] snapshot save() const { return {u, complete ? m : 0}; }
  void restore(snapshot const& from) {
    u = from.u;
    if (complete) m = from.m;
  }
  [[nodiscard]] double factor() const { return 1 + m / 1024; }
  [[nodiscard]] double slope() const { return factor() * std::cos(factor() * u); }
  void step(step_index i) {
    u = std::sin(factor() * u);
    for (step_index const at : *when)
      if (at == i) m = back ? 1 - m : m + 1;
  }
};
/// Each form of adjoint, each kind of plan: what the snapshot lacks is found, or the gradient is right.
void random_lacks(std::uint64_t random, int programs) {
  auto const any = [&](step_index least, step_index most) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return least + step_index((random >> 33) % std::uint64_t(most - least + 1));
  };
  auto const step = [](hidden& x, step_index i) { x.step(i); };
  auto const reads = [](hidden const& x, double& bar) { bar *= x.slope(); };
  auto const moves = [](hidden& x, double& bar, step_index i) {
    bar *= x.slope();
    x.step(i);
  };
  auto const leaf = [](hidden& x, double& bar, step_index first, step_index last) {
    double product = 1;
    for (; first < last; ++first) product = x.slope() * product, x.step(first);
    bar *= product;
  };
  recorded const tape{[](hidden& x, step_index i) {
                        double const slope = x.slope();
                        x.step(i);
                        return slope;
                      },
                      [](double slope, double& bar) { bar *= slope; }};
  int seen = 0;
  for (; programs > 0; --programs) {
    step_index const steps = any(2, 40), slots = any(1, steps), length = any(1, steps);
    bool const back = any(0, 1) == 1;
    std::vector<step_index> when(std::size_t(any(1, 6)));
    for (auto& each : when) each = any(0, 2) == 0 ? steps - 1 : any(0, 2) == 0 ? 0 : any(0, steps - 1);
    auto const with = [&](auto run) {
      hidden whole{when, true, back};
      double const right = run(whole, sweep_options{});
      for (auto const mode : modes) {
        if (back && mode == replay_check::checkpoints) continue;
        try {
          hidden x{when, false, back};
          double const by = run(x, sweep_options{mode});
          if (std::abs(by - right) > 1e-13 * std::abs(right))
            FAIL(steps << " steps, " << slots << " slots, leaves of " << length << ": " << by << ", right " << right);
        } catch (nondeterminism_error const&) { ++seen; }
      }
    };
    auto const each_form = [&](auto const& plan) {
      with([&](hidden& x, sweep_options how) { return gradient(step, x, plan, 1.0, reads, how); });
      with([&](hidden& x, sweep_options how) { return gradient(step, x, plan, 1.0, moves, how); });
      with([&](hidden& x, sweep_options how) { return gradient(step, x, plan, 1.0, tape, how); });
      with([&](hidden& x, sweep_options how) {
        auto run = checkpointed_loop(step, x, plan, how);
        double const once = run.reverse(1.0, reads);
        return once == run.reverse(1.0, reads) ? once : 0;
      });
    };
    each_form(store_all(steps)), each_form(revolve{steps, slots}), each_form(uniform{steps});
    step_index const count = (steps + length - 1) / length;
    with([&](hidden& x, sweep_options how) {
      return gradient(step, x, leaves{steps, length, revolve{count, any(1, count)}}, 1.0, leaf, how);
    });
  }
  CHECK(seen > 0);
}
}  // namespace
TEST_CASE("a number that a snapshot lacks is found, or the gradient is right, in random loops over objects") {
  random_lacks(1, 60);
}
TEST_CASE("so it is in many of them", "[.soak]") { random_lacks(2, 20'000); }

TEST_CASE("a snapshot that lacks a member is found where the adjoint records, and where the last leaf is the turn") {
  for (auto const mode : modes) {
    using loop = loop_of<solver<false>>;
    auto const recording = [] { return recorded{loop::record, loop::reverse}; };
    solver<false> y, z;
    for (step_index const few : {step_index{2}, n}) {
      solver<false> now;
      CHECK(found([&] { return gradient(loop::step, now, store_all(few), 1.0, recording(), sweep_options{mode}); }));
    }
    auto const leaf = [](solver<false> const& at, double& bar, step_index first, step_index last) {
      for (; first < last; ++first) bar *= at.speed;
    };
    CHECK(found([&] { return gradient(loop::step, y, leaves{n, n, revolve{1, 1}}, 1.0, leaf, sweep_options{mode}); }));
    auto const goes_on = [](solver<false> const& at) { return at.now.t < 6.5; };
    CHECK(found([&] {
      auto run = checkpointed_while(loop::step, z, goes_on, online{20}, sweep_options{mode});
      return run.reverse(1.0, loop::adjoint);
    }));
    using right = loop_of<solver<true>>;
    solver<true> a, b;
    CHECK(gradient(right::step, a, store_all(n), 1.0, recorded{right::record, right::reverse}, sweep_options{mode}) ==
          gradient(right::step, b, store_all(n), 1.0, recorded{right::record, right::reverse}));
  }
}

namespace {
/// A value whose bytes in a store lack a member.
class half_told {
 public:
  double u = 0.7, speed = 1;
  void visit_buffers(auto& f) const { cairn::visit_buffers(u, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(u, f); }
};
/// A store of bytes.
struct in_bytes {
  std::map<slot_index, std::vector<unsigned char>> slots;
  void begin(slot_index) { slots.clear(); }
  void save(auto& frames, place where, step_index, frame_id frame) {
    auto& into = slots[where.slot];
    into.clear();
    visit_buffers(std::as_const(frames).state(frame), [&](void const* from, std::size_t size) {
      auto const* const at = static_cast<unsigned char const*>(from);
      into.insert(into.end(), at, at + size);
    });
  }
  frame_id load(auto& frames, place where, step_index) {
    frame_id const k = frames.take();
    using state = std::remove_cvref_t<decltype(frames.state(k))>;
    if (frames.reusable(k) == nullptr) frames.emplace(k, state{});
    auto const* at = slots.at(where.slot).data();
    visit_buffers(*frames.reusable(k), [&](void* into, std::size_t size) {
      std::memcpy(into, at, size);
      at += size;
    });
    return k;
  }
  void drop(auto&, place where) { slots.erase(where.slot); }
};
}  // namespace
TEST_CASE("bytes in a store that lack a member are found, though the store gives back all that it was given") {
  auto const step = [](half_told& x) { x.u = std::sin(x.speed * x.u), x.speed *= 0.99; };
  int calls = 0;
  auto const counted = [&](half_told& x) { ++calls, step(x); };
  auto const adjoint = [](half_told const& x, double& bar) { bar *= x.speed * std::cos(x.speed * x.u); };
  for (auto const mode : modes)
    for (any_schedule const& plan : {any_schedule{store_all(n)}, any_schedule{revolve{n, n}}}) {
      in_bytes store;
      auto const e =
          found([&] { return gradient(step, half_told{}, plan, 1.0, adjoint, store, sweep_options{mode}); });
      REQUIRE(e);
      CHECK(e->found.state == n - 1);  // made from state n - 2, the first that is loaded
      // Frames keep the whole value, and nothing runs twice.
      calls = 0;
      CHECK_FALSE(found([&] { return gradient(counted, half_told{}, plan, 1.0, adjoint, sweep_options{mode}); }));
      CHECK(calls == n);
    }
}

TEST_CASE("a whole value in a store is run on now and then, or each time, with any form of step, and the bits stay") {
  struct number {
    double u = 0.7, speed = 1;
  };
  int calls = 0;
  auto const move = [&](number x) { return ++calls, number{std::sin(x.speed * x.u), x.speed * 0.99}; };
  auto const adjoint = [](number const& x, number const& x1, double& bar, step_index) {
    bar *= x1.speed * std::cos(x.speed * x.u);
  };
  auto const check = [&](auto const& step) {
    for (auto const mode : modes)
      for (any_schedule const& plan : {any_schedule{store_all(n)}, any_schedule{revolve{n, 2}}}) {
        in_bytes one, other;
        calls = 0;
        double const expected = gradient(step, number{}, plan, 1.0, adjoint, one);
        int const plain = std::exchange(calls, 0);
        CHECK(gradient(step, number{}, plan, 1.0, adjoint, other, sweep_options{mode}) == expected);
        CHECK(calls >= plain);
        CHECK(calls <= plain + (mode == replay_check::checkpoints ? 4 : n));
      }
  };
  check([&](number& x) { x = move(x); });
  check([&](number const& x) { return move(x); });
  check([&](number const& x, number& x1) { x1 = move(x); });
}

namespace {
/// An object with a disk of its own; `Where` says what a snapshot is.
enum class snapshot_is { one_name, one_number, the_bytes, numbers };
template <snapshot_is Where>
struct on_disk {
  on_disk() = default;
  on_disk(on_disk const&) = delete;
  double u = 0.7;
  mutable std::map<std::string, double> files;
  [[nodiscard]] auto save() const {
    if constexpr (Where == snapshot_is::one_name) return write("ck.bin");
    else if constexpr (Where == snapshot_is::one_number) return write("0"), 0;
    else if constexpr (Where == snapshot_is::the_bytes) return std::string(reinterpret_cast<char const*>(&u), sizeof u);
    else return u;
  }
  void restore(auto const& from) {
    if constexpr (Where == snapshot_is::the_bytes) std::memcpy(&u, from.data(), sizeof u);
    else if constexpr (Where == snapshot_is::numbers) u = from;
    else if constexpr (Where == snapshot_is::one_number) u = files.at("0");
    else u = files.at(from);
  }
  std::string write(std::string name) const { return files[name] = u, name; }
};
template <snapshot_is Where>
std::optional<nondeterminism_error> said(any_schedule const& plan, replay_check mode, double start = 0.7) {
  on_disk<Where> x;
  x.u = start;
  auto const step = [](on_disk<Where>& at) { at.u = std::sin(at.u); };
  auto const adjoint = [](on_disk<Where> const& at, double& bar) { bar *= std::cos(at.u); };
  if (auto const e = found([&] { return gradient(step, x, plan, 1.0, adjoint, sweep_options{mode}); })) return e;
  x.u = start;
  struct tape {
    double u;
  };
  auto const record = [&](on_disk<Where>& at) {
    tape const made{at.u};
    step(at);
    return made;
  };
  return found([&] {
    return gradient(step, x, plan, 1.0, recorded{record, [](tape const& at, double& bar) { bar *= std::cos(at.u); }},
                    sweep_options{mode});
  });
}
}  // namespace
TEST_CASE("snapshots that are all equal, such as a file's name, are refused and the reason is said") {
  for (auto const mode : modes)
    for (any_schedule const& plan :
         {any_schedule{store_all(n)}, any_schedule{revolve{n, 1}}, any_schedule{revolve{n, 3}}, any_schedule{uniform{2}}}) {
      auto const name = said<snapshot_is::one_name>(plan, mode), number = said<snapshot_is::one_number>(plan, mode);
      REQUIRE((name && number));
      CHECK(std::string{name->what()}.find("the snapshots of all states are equal") != std::string::npos);
      CHECK(name->found.state == plan.steps());
      CHECK_FALSE(said<snapshot_is::the_bytes>(plan, mode));
      CHECK_FALSE(said<snapshot_is::numbers>(plan, mode));
      CHECK_FALSE(said<snapshot_is::numbers>(plan, mode, 0.0));  // at rest
    }
  CHECK_FALSE(said<snapshot_is::one_name>(any_schedule{uniform{0}}, replay_check::every_step));
}

namespace {
/// An object that is a handle: const does not protect what is behind it.
struct handle {
  handle() = default;
  handle(handle const&) = delete;
  std::unique_ptr<double> u = std::make_unique<double>(0.7);
  [[nodiscard]] double save() const { return *u; }
  void restore(double from) { *u = from; }
};
}  // namespace
TEST_CASE("an adjoint that takes an object by const& and moves what is behind a handle is found") {
  auto const step = [](handle& x) { *x.u = std::sin(*x.u); };
  auto const moves = [&](handle const& x, double& bar) { bar *= std::cos(*x.u), *x.u = std::sin(*x.u); };
  auto const reads = [&](handle const& x, double& bar) { bar *= std::cos(*x.u); };
  auto const says_so = [&](handle& x, double& bar) { moves(x, bar); };
  for (auto const mode : modes) {
    handle x, y, z;
    CHECK(found([&] { return gradient(step, x, revolve{n, 3}, 1.0, moves, sweep_options{mode}); }));
    double const expected = gradient(step, y, revolve{n, 3}, 1.0, reads, sweep_options{mode});
    CHECK(gradient(step, z, revolve{n, 3}, 1.0, says_so, sweep_options{mode}) == expected);
    handle w;
    auto run = checkpointed_loop(step, w, store_all(n), sweep_options{mode});
    CHECK(found([&] { return run.reverse(1.0, moves); }));
  }
}
