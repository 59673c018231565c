// SPDX-License-Identifier: Apache-2.0
// Pairs of runs in one folder that are the same, or differ in exactly one thing: the second one has the gradient of a
// run alone, uses what may be used, and says why where it uses nothing. One process after another is played by one call
// after another; see verbs_test.cpp. What only another process shows is in code_test.cpp.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/run/with/nested.hpp>
#include "support/catch.hpp"
#include "support/temporary.hpp"

using cairn::disk;
using cairn::disk_use;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

using numbers = std::vector<double>;
struct stopped {};
long calls = 0, stop_at = -1;
void tick() {
  if (++calls == stop_at) throw stopped{};
}
/// What may differ, by names of one letter or two; v is read in every step, w in those from the middle on.
struct world {
  double v = 1.1, w = 0.2;
  numbers forcing = numbers(24, 0.01);
  step_index jump = 7, end = 24;
  double tolerance = 1e-3;
};
constexpr step_index n = 24;
void move(numbers& x, double a, double b) {
  tick();
  for (double& v : x) v = std::sin(a * v) + b;
}
void pull(numbers const& x, numbers& bar, double a) {
  tick();
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= a * std::cos(a * x[k]);
}
auto const plan = [] { return cairn::multistage{n, 2, 6}; };
numbers const x0{0.3, -0.4}, ones{1, 2};
auto const back_of = [](double a) { return [a](numbers const& x, numbers& bar) { pull(x, bar, a); }; };
cairn::disk_options const often{.commit_every = 1};

/// One program: its result in a world, with what stands in the store's place.
struct program {
  char const* name;
  bool seen;  ///< all of it can be seen, or is named: the same program goes on
  std::function<numbers(world const&, disk const*)> run;
  std::function<void(world&)> change;  ///< the one thing
  long calls_of_first = 1;             ///< of step 0, which is run for the name
};
template <class Call>
auto with(disk const* on, Call const& call) {
  if (on == nullptr) return call(cairn::in_memory{plan()});
  return call(plan(), *on);
}
/// The adjoint of a loop from x0.
template <class Step, class Seed, class Adjoint>
numbers swept(disk const* on, Step&& step, Seed const& seed, Adjoint const& back) {
  return with(on, [&](auto const& by, auto const&... last) {
    return cairn::gradient(step, x0, by, seed, back, last...);
  });
}
/// A step whose members have names.
struct named_step {
  numbers forcing;
  double v;
  void operator()(numbers& x, step_index i) const { move(x, v, forcing[std::size_t(i)]); }
};
struct step_by_reference {
  numbers const& forcing;
  double v;
  void operator()(numbers& x, step_index i) const { move(x, v, forcing[std::size_t(i)]); }
};
/// A model with functions and data of its own.
struct whole_model {
  numbers forcing;
  double v;
  void step(numbers& x, double const& p, step_index i) const { move(x, p * v, forcing[std::size_t(i)]); }
  void adjoint(numbers const& x, numbers& bar, double const& p, double& dp, step_index) const {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k) {
      double const c = bar[k] * std::cos(p * v * x[k]) * v;
      dp += c * x[k];
      bar[k] = c * p;
    }
  }
};
double static_number = 1.1;

std::vector<program> const& programs() {
  auto const forcing = [](world& of) { of.forcing[15] += 0.1; };  // not at step 0
  auto const v = [](world& of) { of.v += 0.01; };
  auto const w = [](world& of) { of.w += 0.01; };
  static std::vector<program> const all{
      {"a number captured by value", true,
       [](world const& of, disk const* on) {
         auto const step = [a = of.v](numbers& x, step_index) { move(x, a, 0.01); };
         return swept(on, step, ones, back_of(1.1));
       },
       v},
      {"a number that only late steps read", true,
       [](world const& of, disk const* on) {
         auto const step = [b = of.w](numbers& x, step_index i) { move(x, 1.1, i > 12 ? b : 0.01); };
         return swept(on, step, ones, back_of(1.1));
       },
       w},
      {"what a function object holds", true,
       [](world const& of, disk const* on) {
         named_step const step{of.forcing, of.v};
         return swept(on, step, ones, back_of(of.v));
       },
       forcing},
      {"what a function object refers to", false,
       [](world const& of, disk const* on) {
         step_by_reference const step{of.forcing, of.v};
         return swept(on, step, ones, back_of(of.v));
       },
       forcing},
      {"a vector captured by reference", false,
       [](world const& of, disk const* on) {
         auto const step = [&of](numbers& x, step_index i) { move(x, 1.1, of.forcing[std::size_t(i)]); };
         return swept(on, step, ones, back_of(1.1));
       },
       forcing},
      {"a vector captured by value", false,
       [](world const& of, disk const* on) {
         auto const step = [f = of.forcing](numbers& x, step_index i) { move(x, 1.1, f[std::size_t(i)]); };
         return swept(on, step, ones, back_of(1.1));
       },
       forcing},
      {"a pointer", false,
       [](world const& of, disk const* on) {
         auto const step = [f = of.forcing.data()](numbers& x, step_index i) { move(x, 1.1, f[i]); };
         return swept(on, step, ones, back_of(1.1));
       },
       forcing},
      {"what reads_only names", true,
       [](world const& of, disk const* on) {
         auto const reads = [&of](numbers& x, step_index i) { move(x, 1.1, of.forcing[std::size_t(i)]); };
         auto const step = cairn::reads_only(reads, of.forcing);
         return swept(on, step, ones, back_of(1.1));
       },
       forcing},
      {"what an adjoint holds", true,
       [](world const& of, disk const* on) {
         auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         return swept(on, step, ones, back_of(of.v));
       },
       v},
      {"the reverse of a recording adjoint", true,
       [](world const& of, disk const* on) {
         auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const record = [](numbers& x) {
           numbers tape = x;
           move(x, 1.1, 0.01);
           return tape;
         };
         cairn::recorded const back{record, [a = of.v](numbers const& tape, numbers& bar) { pull(tape, bar, a); }};
         return swept(on, step, ones, back);
       },
       v},
      {"a hook", true,
       [](world const& of, disk const* on) {
         auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const hook = [b = of.w](numbers const&, numbers& bar, step_index i) { bar[0] += i == 3 ? b : 0; };
         auto const back = cairn::hooked(back_of(1.1), hook);
         return swept(on, step, ones, back);
       },
       w},
      {"a seed", true,
       [](world const& of, disk const* on) {
         auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const seed = [b = of.w](numbers const& x) { return numbers{b * x[0], 1}; };
         return swept(on, step, seed, back_of(1.1));
       },
       w},
      {"the time of a jump", true,
       [](world const& of, disk const* on) {
         auto const inner = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const jump = [](numbers& x) { x[0] += 0.3; };
         auto const no = [](numbers const&, numbers&) {};
         cairn::with_jumps const loop{inner, back_of(1.1), cairn::jump_at(of.jump, jump, no)};
         return swept(on, loop.step, ones, loop.adjoint);
       },
       [](world& of) { ++of.jump; }},
      {"what a jump holds", true,
       [](world const& of, disk const* on) {
         auto const inner = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const jump = [b = of.w](numbers& x) { x[0] += b; };
         auto const no = [](numbers const&, numbers&) {};
         auto const when = [](numbers const& x) { return x[0] > 0.9; };
         cairn::with_jumps const loop{inner, back_of(1.1), cairn::jump_when(when, jump, no),
                                      cairn::jump_after(5, jump, no)};
         return swept(on, loop.step, ones, loop.adjoint);
       },
       w},
      {"an inner step", true,
       [](world const& of, disk const* on) {
         auto const inner = [b = of.w](numbers& x, step_index i) { move(x, 1.1, i > 30 ? b : 0.01); };
         cairn::nested const loop{cairn::revolve{2, 1}, inner, back_of(1.1)};
         return swept(on, loop.step, ones, loop.adjoint);
       },
       w, 2},
      {"the tolerance of steps that choose", true,
       [](world const& of, disk const* on) {
         auto const first = [tolerance = of.tolerance](numbers& x, step_index i) {
           double const h = i > 4 ? 1 + tolerance : 1.0;
           move(x, h, 0.01);
           return h;
         };
         auto const again = [](numbers& x, step_index, double h) { move(x, h, 0.01); };
         cairn::adaptive loop{first, again};
         auto const undo = [](numbers const& x, numbers& bar, step_index, double h) { pull(x, bar, h); };
         auto const back = loop.with_record(undo);
         return swept(on, loop.step(), ones, back);
       },
       [](world& of) { of.tolerance = 2e-3; }},
      {"terms of an objective", true,
       [](world const& of, disk const* on) {
         cairn::model const m{[](numbers& x, step_index) { move(x, 1.1, 0.01); }, back_of(1.1)};
         auto const f = cairn::at_every(5, [b = of.w](numbers const& x) { return b * x[0]; },
                                        [b = of.w](numbers const&, numbers& bar) { bar[0] += b; });
         return with(on, [&](auto const& by, auto const&... last) {
           auto got = cairn::differentiate(m, x0, by, f, last...);
           got.state.push_back(got.value);
           return got.state;
         });
       },
       w},
      {"a model with members", true,
       [](world const& of, disk const* on) {
         whole_model const m{of.forcing, of.v};
         cairn::at_end const end{[](numbers const& x) { return x[0]; }, [](numbers const&, numbers& bar) { bar[0] += 1; }};
         return with(on, [&](auto const& by, auto const&... last) {
           auto got = cairn::differentiate(m, x0, 0.9, by, end, last...);
           got.state.push_back(got.params);
           return got.state;
         });
       },
       forcing},
      {"the end of a loop of unknown length", true,
       [](world const& of, disk const* on) {
         auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
         auto const until = [end = of.end](numbers const&, step_index i) { return i < end; };
         auto const go = [&](auto const&... last) {
           return cairn::checkpointed_while(step, x0, until, cairn::online{5}, last...).reverse(ones, back_of(1.1));
         };
         return on == nullptr ? go() : go(*on);
       },
       [](world& of) { of.end -= 3; }},
      {"a kept run", true,
       [](world const& of, disk const* on) {
         auto const go = [&](auto const& by, auto const&... last) {
           auto run = cairn::checkpointed_loop(named_step{of.forcing, of.v}, x0, by, last...);
           return run.reverse(ones, back_of(of.v));
         };
         return on == nullptr ? go(cairn::in_memory{plan()}) : go(plan(), *on);
       },
       forcing},
      {"a kept run with parameters", true,
       [](world const& of, disk const* on) {
         struct step_of {
           numbers forcing;
           void operator()(numbers& x, double const& p, step_index i) const { move(x, p, forcing[std::size_t(i)]); }
         };
         auto const adjoint = [](numbers const& x, numbers& bar, double const& p, double& dp) {
           dp += bar[0] * x[0];
           pull(x, bar, p);
         };
         double const p = 1.1;
         double dp = 0;
         auto const go = [&](auto const& by, auto const&... last) {
           auto run = cairn::checkpointed_loop(step_of{of.forcing}, x0, by, cairn::wrt{p, dp}, last...);
           auto bar = run.reverse(ones, adjoint);
           bar.push_back(dp);
           return bar;
         };
         return on == nullptr ? go(cairn::in_memory{plan()}) : go(plan(), *on);
       },
       forcing},
      {"a stage of a chain", true,
       [](world const& of, disk const* on) {
         struct layer {
           double a, b;
           double forward(double x) const { return tick(), std::sin(a * x) + b; }
           double backward(double x, double bar) const { return tick(), bar * a * std::cos(a * x); }
         };
         std::vector<layer> net(6, {1.1, 0.01});
         net[4].b = of.w;
         cairn::chain const sizes{
             .x = {8, 8, 8, 8, 8, 8, 8}, .s = {8, 8, 8, 8, 8, 8}, .u = {1, 1, 1, 1, 1, 1}};
         cairn::chain_planner planner{sizes,
                                      {.by = cairn::chain_method::tiers, .tiers = {{.where = cairn::tier::disk}}}};
         auto const by = planner.plan(planner.least_bytes());
         return numbers{on == nullptr ? cairn::chain_gradient(net, 0.4, by, 1.0, disk{support::temporary{}.run()})
                                      : cairn::chain_gradient(net, 0.4, by, 1.0, *on)};
       },
       w},
      {"a static variable", true,
       [](world const& of, disk const* on) {
         static_number = of.v;
         auto const step = [](numbers& x, step_index) { move(x, static_number, 0.01); };
         return swept(on, step, ones, back_of(1.1));
       },
       v},
      {"a key", false,
       [](world const& of, disk const* on) {
         auto const step = [&of](numbers& x, step_index i) { move(x, 1.1, of.forcing[std::size_t(i)]); };
         if (on == nullptr) return cairn::gradient(step, x0, cairn::in_memory{plan()}, ones, back_of(1.1));
         disk const keyed{on->path(), {.key = cairn::key_of(of.forcing, of.v), .commit_every = 1}};
         return cairn::gradient(step, x0, plan(), ones, back_of(1.1), keyed);
       },
       forcing},
  };
  return all;
}

/// How many calls a run alone takes.
long calls_of(program const& of, world const& in) {
  support::temporary const here;
  disk const run{here.run(), often};
  calls = 0, stop_at = -1;
  (void)of.run(in, &run);
  return calls;
}

/// A run in the one world, stopped somewhere or finished, and then one in the other world, or in the same, in the same
/// folder. The folder may hold runs of others before.
struct pair_of_runs {
  long used = 0, anew = 0;
  void operator()(program const& of, bool differs, std::mt19937_64& draw) {
    world first, second;
    if (differs) of.change(second);
    if (draw() % 2 == 0) std::swap(first, second);
    long const all = calls_of(of, first);
    support::temporary const here;
    disk const run{here.run(), often};
    stop_at = -1;
    numbers const alone = of.run(second, nullptr), alone_first = of.run(first, nullptr);
    bool const finishes = draw() % 4 == 0;
    long const named = of.calls_of_first;  // a run that stops before it has a name leaves none
    long const at = finishes ? -1 : 1 + named + long(draw() % std::uint64_t(all - named));
    INFO(of.name << (differs ? ", differs" : ", the same") << ", stopped at call " << at << " of " << all);
    calls = 0, stop_at = at;
    try {
      numbers const found = of.run(first, &run);
      CHECK(found == alone_first);
    } catch (stopped const&) {
    }
    calls = 0, stop_at = -1;
    numbers const found = of.run(second, &run);
    CHECK(found == alone);
    auto const& report = run.report();
    if (std::string{of.name} == "a key") return;  // it has a report of its own
    if (differs) {
      CHECK(report.used == disk_use::nothing);
      CHECK_FALSE(std::string{report.why}.empty());
    } else {
      bool const worked = at < 0 || at > all / 2;
      if (of.seen && worked) CHECK(report.used != disk_use::nothing);
      if (!of.seen) CHECK(report.used == disk_use::nothing);
    }
    ++(report.used == disk_use::nothing ? anew : used);
  }
};

}  // namespace

TEST_CASE("of two runs that differ in exactly one thing none gets anything of the other, and says why") {
  std::mt19937_64 draw{7};
  pair_of_runs pair;
  for (int times = 0; times < 6; ++times)
    for (auto const& one : programs()) pair(one, true, draw);
  CHECK(pair.used == 0);
}
TEST_CASE("the same run goes on from whatever it left, if its functions can be seen") {
  std::mt19937_64 draw{8};
  pair_of_runs pair;
  for (int times = 0; times < 6; ++times)
    for (auto const& one : programs()) pair(one, false, draw);
  CHECK(pair.used > 60);
}
TEST_CASE("so it is for 10,000 pairs", "[.soak]") {
  std::mt19937_64 draw{std::random_device{}()};
  pair_of_runs pair;
  for (int times = 0; times < 10'000; ++times)
    pair(programs()[draw() % programs().size()], draw() % 2 == 0, draw);
}
TEST_CASE("what a function holds and changes is not believed: nothing of its sweep is kept") {
  struct counting {
    numbers sums;
    void operator()(numbers const& x, numbers& bar) {
      sums[0] += bar[0];
      pull(x, bar, 1.1);
    }
  };
  auto const step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
  counting alone{{0}};
  numbers const right = cairn::gradient(step, x0, cairn::in_memory{plan()}, ones, alone);
  support::temporary const here;
  disk const run{here.run(), often};
  for (long const at : {60L, 75L, -1L}) {
    counting sums{{0}};
    calls = 0, stop_at = at;
    try {
      (void)cairn::gradient(step, x0, plan(), ones, sums, run);
    } catch (stopped const&) {
    }
    CHECK_THAT(run.report().why, ContainsSubstring("what a function holds"));
    stop_at = -1;
    counting again{{0}};
    CHECK(cairn::gradient(step, x0, plan(), ones, again, run) == right);
    CHECK(again.sums == alone.sums);
    CHECK(run.report().used != disk_use::record);
  }
}
TEST_CASE("a step that changes what it holds leaves no states") {
  struct drifting {
    double a;
    void operator()(numbers& x, step_index) { move(x, a += 1e-3, 0.01); }
  };
  support::temporary const here;
  disk const run{here.run(), often};
  calls = 0, stop_at = 30;
  drifting step{1.1};
  CHECK_THROWS_AS(cairn::gradient(step, x0, plan(), ones, back_of(1.1), run), stopped);
  stop_at = -1;
  drifting again{1.1};
  (void)cairn::gradient(again, x0, plan(), ones, back_of(1.1), run);
  CHECK(run.report().used == disk_use::nothing);
}
TEST_CASE("parameters that change leave nothing: neither records nor states") {
  static double p = 1.1;
  static step_index changes_at = 0;
  auto const step = [](numbers& x, double const& q, step_index i) {
    if (i == changes_at) p = 1.3;
    move(x, q, 0.01);
  };
  auto const adjoint = [](numbers const& x, numbers& bar, double const& q, double& dq, step_index) {
    dq += bar[0] * x[0];
    pull(x, bar, q);
  };
  double dp = 0;
  support::temporary const here;
  disk const run{here.run(), often};
  auto const once = [&](auto const& by, auto const&... last) {
    p = 1.1;
    return cairn::gradient(step, x0, by, ones, adjoint, cairn::wrt{p, dp}, last...);
  };
  changes_at = -1;
  numbers const right = once(cairn::in_memory{plan()});
  double const right_dp = dp;
  for (step_index const at : {3, 12, 20})
    for (long const stops : {-1L, 30L, 60L}) {
      here.remove_runs();
      changes_at = at, calls = 0, stop_at = stops;
      CHECK_THROWS(once(plan(), run));
      changes_at = -1, stop_at = -1;
      CHECK(once(plan(), run) == right);
      CHECK(dp == right_dp);
    }
}
TEST_CASE("closures are seen through: padding is not looked at, pointers are not believed") {
  int k = 3;
  double d = 0.5;
  char c = 'x';
  auto const padded = [c, d, k] { return double(c) + d + k; };
  auto const refers = [&d, c] { return d + c; };
  auto const points = [p = &d] { return *p; };
  auto const owns = [v = numbers{1}] { return v[0]; };
  using cairn::detail::is_plain;
  CHECK(is_plain<std::remove_const_t<decltype(padded)>>());
  CHECK_FALSE(is_plain<std::remove_const_t<decltype(refers)>>());
  CHECK_FALSE(is_plain<std::remove_const_t<decltype(points)>>());
  CHECK_FALSE(is_plain<std::remove_const_t<decltype(owns)>>());
  auto const hash_with = [&](unsigned char fill) {  // in memory that was full of something
    using closure = std::remove_const_t<decltype(padded)>;
    alignas(closure) unsigned char memory[sizeof(closure)];
    std::fill(std::begin(memory), std::end(memory), fill);
    auto* const made = ::new (memory) closure(padded);
    cairn::detail::id_sum sum;
    cairn::detail::contents<cairn::detail::id_sum> all{sum};
    all.add(*made);
    CHECK(all.whole());
    return sum.value();
  };
  CHECK(hash_with(0) == hash_with(0xff));
#if __has_builtin(__builtin_clear_padding)
  struct bits {
    int a : 3, b : 7;
  };
  auto const hash_of_bits = [](bits const& of) {
    cairn::detail::id_sum sum;
    cairn::detail::contents<cairn::detail::id_sum> all{sum};
    all.add(of);
    return sum.value();
  };
  CHECK_FALSE(hash_of_bits({1, 2}) == hash_of_bits({1, 2 + 32}));  // a bit of the second byte
#endif
}
namespace {
struct metres { double v = 0; };
struct feet { double v = 0; };
double in_metres(metres const& of) { return of.v; }
double in_metres(feet const& of) { return 0.3048 * of.v; }
template <int Factor>
void back_by(numbers const& x, numbers& bar) {
  pull(x, bar, 1.1);
  for (double& v : bar) v *= Factor;
}
}  // namespace
TEST_CASE("parameters and seeds of other types with the same bytes are other ones, though the same functions take them") {
  auto const step = [](numbers& x, auto const& p, step_index i) { move(x, i < 3 ? 1.1 : in_metres(p), 0.01); };
  auto const back = [](numbers const& x, numbers& bar, auto const& p, auto& dp, step_index i) {
    double const a = i < 3 ? 1.1 : in_metres(p);
    dp.v += bar[0] * x[0] * a;
    pull(x, bar, a);
  };
  support::temporary const here;
  disk const run{here.run(), often};
  auto const once = [&]<class P>(P const& p, auto const& by, auto const&... last) {
    P dp;
    auto found = cairn::gradient(step, x0, by, ones, back, cairn::wrt{p, dp}, last...);
    found.push_back(dp.v);
    return found;
  };
  stop_at = -1;
  (void)once(metres{1.1}, plan(), run);
  CHECK(once(feet{1.1}, plan(), run) == once(feet{1.1}, cairn::in_memory{plan()}));
}
namespace {
/// At rest until a source moves it, so that its speed shows in late states only. A snapshot does not hold that.
struct wave {
  numbers u{0, 0};
  double speed;
  explicit wave(double of) : speed{of} {}
  wave(wave const&) = delete;
  [[nodiscard]] numbers save() const { return u; }
  void restore(numbers const& old) { u = old; }
};
struct told_wave : wave {
  using wave::wave;
  void write_state(auto& sink) const { cairn::write_state(u, sink), cairn::write_state(speed, sink); }
  void read_state(auto& source) { cairn::read_state(u, source), cairn::read_state(speed, source); }
};
/// The gradient over a wave, in one call or kept.
template <class Wave, bool Kept>
numbers moved(double speed, auto const& by, auto const&... last) {
  auto const step = [](Wave& w, step_index i) {
    tick();
    if (i == 5) w.u[0] += 1;
    w.u[1] += w.speed * w.u[0], w.u[0] -= 0.1 * w.speed * w.u[1];
  };
  auto const back = [](Wave const& w, numbers& bar) {
    bar[1] -= 0.1 * w.speed * bar[0];
    bar[0] += w.speed * bar[1];
  };
  Wave w{speed};
  if constexpr (Kept) return cairn::checkpointed_loop(step, w, by, last...).reverse(ones, back);
  else return cairn::gradient(step, w, by, ones, back, last...);
}
/// A run is stopped at its call `at`, or finished; then comes one of another wave, and then the same again.
template <class Wave, bool Kept>
void uses_no_other_wave(bool used, char const* key) {
  auto const alone = [](double speed) { return moved<Wave, Kept>(speed, cairn::in_memory{plan()}); };
  stop_at = -1;
  numbers const right = alone(1.0), other_right = alone(1.5);
  for (long const at : {-1L, 12L, 20L, 30L, 40L}) {
    CAPTURE(at, used, key);
    support::temporary const here;
    disk const run{here.run(), {.key = key, .commit_every = 1}};
    disk const other{here.run(), {.key = *key != '\0' ? "another" : "", .commit_every = 1}};
    calls = 0, stop_at = at;
    try {
      (void)moved<Wave, Kept>(1.0, plan(), run);
    } catch (stopped const&) {
    }
    stop_at = -1;
    CHECK(moved<Wave, Kept>(1.5, plan(), other) == other_right);
    CHECK(moved<Wave, Kept>(1.0, plan(), run) == right);
    CHECK((run.report().used != disk_use::nothing) == used);
    CHECK(std::string{run.report().why}.empty() == used);
  }
}
}  // namespace
TEST_CASE("of a run over an object that holds more than its snapshots nothing is used unless it says what, or has a key") {
  uses_no_other_wave<wave, false>(false, "");
  uses_no_other_wave<wave, true>(false, "");
  uses_no_other_wave<wave, false>(true, "one");
  uses_no_other_wave<wave, true>(true, "one");
  uses_no_other_wave<told_wave, false>(true, "");
  uses_no_other_wave<told_wave, true>(true, "");
}
namespace {
/// The same run goes on after another one; of what is not known to be the same nothing is used; reverses of a kept run
/// have its states in common.
enum class again { goes_on, begins_anew, has_states };
/// A run is stopped somewhere, or finished; then comes another one, and then the same again.
template <class First, class Second>
void are_two_runs(char const* what, again then, First const& first, Second const& second) {
  stop_at = -1;
  numbers const right = second(nullptr), first_right = first(nullptr);
  for (long const at : {-1L, 40L, 60L}) {
    INFO(what << ", stopped at call " << at);
    support::temporary const here;
    disk const run{here.run(), often};
    calls = 0, stop_at = at;
    try {
      (void)first(&run);
    } catch (stopped const&) {
    }
    stop_at = -1;
    CHECK(second(&run) == right);
    CHECK(run.report().used != disk_use::record);
    if (then != again::has_states) CHECK(run.report().used == disk_use::nothing);
    if (then != again::has_states) CHECK_FALSE(std::string{run.report().why}.empty());
    CHECK(first(&run) == first_right);
    CHECK((run.report().used == disk_use::record) == (then == again::goes_on));
  }
}
/// Numbers of two kinds by their names; their places are not the same.
struct east_north { double east = 0, north = 0; };
struct north_east { double north = 0, east = 0; };
auto const plain_step = [](numbers& x, step_index) { move(x, 1.1, 0.01); };
auto const pull_two = [](numbers const& x, auto& bar) {
  tick();
  bar.east *= 1.1 * std::cos(1.1 * x[0]), bar.north *= 1.2 * std::cos(1.1 * x[1]);
};
auto const scaled_step = [](numbers& x, double const& p, step_index) { move(x, p, 0.01); };
auto const sum_two = [](numbers const& x, numbers& bar, double const& p, auto& dp, step_index i) {
  dp.east += bar[0] * x[0], dp.north += double(i % 2) * bar[1];
  pull(x, bar, p);
};
auto const sum_many = [](numbers const& x, numbers& bar, double const& p, numbers& dp, step_index i) {
  dp[std::size_t(i) % dp.size()] += bar[0] * x[0];
  pull(x, bar, p);
};
numbers with_two(numbers all, auto const& dp) {
  if constexpr (requires { dp.east; }) all.push_back(dp.east), all.push_back(dp.north);
  else all.insert(all.end(), dp.begin(), dp.end());
  return all;
}
template <bool Kept>
auto sums_in(auto const& back, auto const& empty) {
  return [&back, empty](disk const* on) {
    double const p = 1.1;
    auto dp = empty;
    auto const go = [&](auto const& by, auto const&... last) {
      if constexpr (Kept)
        return cairn::checkpointed_loop(scaled_step, x0, by, cairn::wrt{p, dp}, last...).reverse(ones, back);
      else return cairn::gradient(scaled_step, x0, by, ones, back, cairn::wrt{p, dp}, last...);
    };
    return with_two(with(on, go), dp);
  };
}
auto const value_of_two = [](numbers const& x) { return x[0] * x[0] / 2 + 3 * x[1]; };
auto const add_to_two = [](numbers const& x, auto& bar) { bar.east += x[0], bar.north += 3; };
template <class Bar>
numbers with_adjoint_of(disk const* on) {
  cairn::model const m{plain_step, pull_two, [](numbers const&) { return Bar{}; }};
  return with(on, [&](auto const& by, auto const&... last) {
    return with_two({}, cairn::differentiate(m, x0, by, cairn::at_end{value_of_two, add_to_two}, last...).state);
  });
}
auto const pull_any = back_of(1.1);
auto const add_to_first = [](numbers const&, numbers& bar) { bar[0] += 1; };
/// The adjoint is longer than the state.
auto with_more(std::size_t more) {
  return [more](disk const* on) {
    cairn::model const m{plain_step, pull_any, [more](numbers const& x) { return numbers(x.size() + more); }};
    return with(on, [&](auto const& by, auto const&... last) {
      return cairn::differentiate(m, x0, by, cairn::at_end{value_of_two, add_to_first}, last...).state;
    });
  };
}
template <class Bar>
numbers reversed_from(disk const* on) {
  Bar seed;
  seed.east = seed.north = 1;
  return with(on, [&](auto const& by, auto const&... last) {
    return with_two({}, cairn::checkpointed_loop(plain_step, x0, by, last...).reverse(seed, pull_two));
  });
}
}  // namespace
TEST_CASE("adjoints and sums of other types or sizes are of other runs, though the same functions take them") {
  are_two_runs("type of dp", again::goes_on,
               sums_in<false>(sum_two, east_north{}), sums_in<false>(sum_two, north_east{}));
  are_two_runs("type of dp, kept", again::has_states,
               sums_in<true>(sum_two, east_north{}), sums_in<true>(sum_two, north_east{}));
  are_two_runs("size of dp", again::goes_on,
               sums_in<false>(sum_many, numbers(3)), sums_in<false>(sum_many, numbers(5)));
  are_two_runs("size of dp, kept", again::has_states,
               sums_in<true>(sum_many, numbers(3)), sums_in<true>(sum_many, numbers(5)));
  are_two_runs("type of bar", again::goes_on, with_adjoint_of<east_north>, with_adjoint_of<north_east>);
  are_two_runs("what makes bar", again::goes_on, with_more(0), with_more(1));
  are_two_runs("type of a seed, kept", again::has_states, reversed_from<east_north>, reversed_from<north_east>);
}
namespace {
/// Steps, and objects of a loop, that are called by their base.
struct any_mover {
  double a = 1.1;
  virtual ~any_mover() = default;
  virtual double source(step_index) const { return 0.01; }
  void operator()(numbers& x, step_index i) const { move(x, a, source(i)); }
  void write_state(auto& sink) const { cairn::write_state(a, sink); }
  void read_state(auto& from) { cairn::read_state(a, from); }
};
struct late_mover : any_mover {
  double source(step_index i) const override { return i > 3 ? 0.02 : 0.01; }
};
struct any_medium : any_mover {
  numbers u = x0;
  any_medium() = default;
  any_medium(any_medium const&) = delete;
  [[nodiscard]] numbers save() const { return u; }
  void restore(numbers const& old) { u = old; }
  void write_state(auto& sink) const { cairn::write_state(u, sink), cairn::write_state(a, sink); }
  void read_state(auto& from) { cairn::read_state(u, from), cairn::read_state(a, from); }
};
struct late_medium : any_medium {
  double source(step_index i) const override { return i > 3 ? 0.02 : 0.01; }
};
numbers moved_by(any_mover const& given, disk const* on) { return swept(on, given, ones, back_of(1.1)); }
numbers moved_by_named(any_mover const& given, disk const* on) {
  auto const step = cairn::reads_only([&given](numbers& x, step_index i) { given(x, i); }, given);
  return swept(on, step, ones, back_of(1.1));
}
numbers moved_in(any_medium& given, disk const* on) {
  auto const step = [](any_medium& w, step_index i) { w(w.u, i); };
  auto const back = [](any_medium const& w, numbers& bar) { pull(w.u, bar, w.a); };
  return with(on, [&](auto const& by, auto const&... last) {
    return cairn::gradient(step, given, by, ones, back, last...);
  });
}
/// One function for objects of two classes.
template <class Made, class Given>
auto by_base(numbers (*run)(Given&, disk const*)) {
  return [run](disk const* on) {
    Made own;
    return run(own, on);
  };
}
/// Members of a base do not know what is added to it.
struct told {
  numbers a{1.1};
  void write_state(auto& sink) const { cairn::write_state(a, sink); }
  void read_state(auto& from) { cairn::read_state(a, from); }
};
struct shown {
  numbers a{1.1};
  void visit_buffers(auto&& visit) { visit(a.data(), a.size() * sizeof(double)); }
  void visit_buffers(auto&& visit) const { visit(a.data(), a.size() * sizeof(double)); }
};
template <class Base>
struct with_source : Base {
  numbers source{0.01};
  void operator()(numbers& x, step_index i) const { move(x, 1.1, i > 3 ? source[0] : 0.01); }
};
struct same_told : told {};
struct flagged {  // with room in its padding
  void write_state(auto& sink) const { cairn::write_state(a, sink), cairn::write_state(k, sink); }
  void read_state(auto& from) { cairn::read_state(a, from), cairn::read_state(k, from); }
  numbers a{1.1};
  int k = 0;
};
struct with_flag : flagged { int more = 0; };
using named_step_of_library = decltype(cairn::reads_only(plain_step, 1.1));
struct more_than_named : named_step_of_library {
  double source;
  explicit more_than_named(double of) : named_step_of_library{plain_step, 1.1}, source{of} {}
  void operator()(numbers& x, step_index i) const { move(x, 1.1, i > 3 ? source : 0.01); }
};
template <class Step>
auto of_source(double source) {
  return [source](disk const* on) {
    if constexpr (std::is_constructible_v<Step, double>) return swept(on, Step{source}, ones, back_of(1.1));
    else {
      Step step;
      step.source[0] = source;
      return swept(on, step, ones, back_of(1.1));
    }
  };
}
}  // namespace
TEST_CASE("what is given by its base, or says by its base what it holds, may hold more and is not known") {
  are_two_runs("a step by its base", again::begins_anew, by_base<late_mover>(moved_by), by_base<any_mover>(moved_by));
  are_two_runs("a step that is no more", again::goes_on, by_base<any_mover>(moved_by), by_base<late_mover>(moved_by));
  are_two_runs("a value that is named", again::begins_anew,
               by_base<late_mover>(moved_by_named), by_base<any_mover>(moved_by_named));
  are_two_runs("an object of the loop", again::begins_anew,
               by_base<late_medium>(moved_in), by_base<any_medium>(moved_in));
  late_mover const late;
  any_mover const other;
  CHECK(cairn::key_of<any_mover>(late) != cairn::key_of<any_mover>(other));

  are_two_runs("write_state of a base", again::begins_anew,
               of_source<with_source<told>>(0.01), of_source<with_source<told>>(0.02));
  are_two_runs("visit_buffers of a base", again::begins_anew,
               of_source<with_source<shown>>(0.01), of_source<with_source<shown>>(0.02));
  are_two_runs("a class that is derived from one of the library", again::begins_anew, of_source<more_than_named>(0.01),
               of_source<more_than_named>(0.02));
  using cairn::detail::seen_whole, cairn::detail::written_whole;
  CHECK(seen_whole<told>());
  CHECK(seen_whole<same_told>());
  CHECK_FALSE(seen_whole<with_flag>());
  CHECK_FALSE(written_whole<with_flag>());
  CHECK_FALSE(written_whole<std::vector<with_source<shown>>>());
  CHECK(written_whole<std::vector<same_told>>());
}
TEST_CASE("a name of the code does not stand for functions that are given by their addresses") {
  auto const step = [](numbers& x) { move(x, 1.1, 0.01); };
  support::temporary const here;
  disk const run{here.run(), {.code = "version 1", .commit_every = 1}};
  auto const once = [&](auto& back, auto const& by, auto const&... last) {
    return cairn::gradient(step, x0, by, ones, back, last...);
  };
  stop_at = -1;
  (void)once(back_by<1>, plan(), run);
  CHECK(once(back_by<2>, plan(), run) == once(back_by<2>, cairn::in_memory{plan()}));
  CHECK(once(back_by<2>, plan(), run) == once(back_by<2>, cairn::in_memory{plan()}));
  CHECK(run.report().finished);
}
TEST_CASE("the part in which the nearest run differs is named") {
  support::temporary const here;
  disk const run{here.run()};
  auto const step = [](numbers& x, double const& p, step_index) { move(x, p, 0.01); };
  auto const back = [](numbers const& x, numbers& bar, double const& p, double& dp) {
    dp += bar[0] * x[0];
    pull(x, bar, p);
  };
  auto const once = [&](numbers const& from, double p, auto const& by, cairn::disk_options const& options) {
    double dp = 0;
    disk const on{here.run(), options};
    (void)cairn::gradient(step, from, by, ones, back, cairn::wrt{p, dp}, on);
    return std::pair{std::string{on.report().why}, on.report().differs};
  };
  using said = std::pair<std::string, std::string>;
  CHECK(once(x0, 1.1, plan(), {}) == said{});
  CHECK(once(x0, 1.2, plan(), {}).second == "p, state 1");
  CHECK(once({0.3, 0.4}, 1.2, plan(), {}).second == "x0, state 1");
  CHECK_THAT(once(x0, 1.2, cairn::multistage{n, 3, 6}, {}).first, ContainsSubstring("another plan"));
  CHECK_THAT(once(x0, 1.2, plan(), {.key = "another"}).first, ContainsSubstring("another key"));
  CHECK_THAT(once(x0, 1.2, plan(), {.code = "version 2"}).first, ContainsSubstring("another build"));
  CHECK(once(x0, 1.3, plan(), {.key = "another"}).second == "p, state 1");
  CHECK(once(x0, 1.1, plan(), {}) == said{});  // it was finished before
}
