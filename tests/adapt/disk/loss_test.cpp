// SPDX-License-Identifier: Apache-2.0
// A pair of write_state and read_state that loses something is refused before anything that was read so is used.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/adaptive.hpp>
#include "support/catch.hpp"
#include "support/temporary.hpp"

using cairn::disk;
using cairn::disk_use;
using cairn::step_index;
using cairn::wrt;
using Catch::Matchers::ContainsSubstring;

namespace {

using numbers = std::vector<double>;
/// Stores floats in the place of doubles.
struct rounded {
  numbers v;
  void visit_buffers(auto&& f) { f(v.data(), v.size() * sizeof(double)); }
  void visit_buffers(auto&& f) const { f(v.data(), v.size() * sizeof(double)); }
  void write_state(auto& sink) const { cairn::write_state(std::vector<float>(v.begin(), v.end()), sink); }
  void read_state(auto& source) {
    std::vector<float> stored;
    cairn::read_state(stored, source);
    v.assign(stored.begin(), stored.end());
  }
  bool operator==(rounded const&) const = default;
};
numbers& in(numbers& x) { return x; }
numbers& in(rounded& x) { return x.v; }
numbers const& in(numbers const& x) { return x; }
numbers const& in(rounded const& x) { return x.v; }

struct choice {
  double h = 0;
  void visit_buffers(auto&& f) { f(&h, sizeof h); }
  void visit_buffers(auto&& f) const { f(&h, sizeof h); }
  void write_state(auto& sink) const { cairn::write_state(float(h), sink); }
  void read_state(auto& source) {
    float stored = 0;
    cairn::read_state(stored, source);
    h = stored;
  }
};

struct stopped {};
long calls = 0, stop_at = -1;
void tick() {
  if (++calls == stop_at) throw stopped{};
}
template <class State, class Bar, class Params>
struct loop {
  static void step(State& x, Params const& p, step_index i) {
    tick();
    for (double& v : in(x)) v = std::sin(in(p)[0] * v) + 0.01 * double(i % 5);
  }
  static void back(State const& x, Bar& bar, Params const& p, Params& dp) {
    tick();
    for (std::size_t k = 0; k < in(x).size(); ++k) {
      double const c = in(bar)[k] * std::cos(in(p)[0] * in(x)[k]);
      in(dp)[0] += c * in(x)[k];
      in(bar)[k] = c * in(p)[0];
    }
  }
  template <class Plan, class... Last>
  static std::pair<Bar, Params> run(numbers const& from, double by, Plan const& plan, Last const&... last) {
    State const x0{from};
    Params const p{numbers{by}};
    Params dp{numbers{0}};
    Bar bar = cairn::gradient(&step, x0, plan, Bar{numbers(from.size(), 1.0)}, &back, wrt{p, dp}, last...);
    return {std::move(bar), std::move(dp)};
  }
};
numbers const start{0.3, -0.4};
cairn::two_level const periods{30, 7, 2};
cairn::disk_options const often{.commit_every = 1};

/// A first process that is stopped on its way back, and a second one.
template <class Loop>
void refused_after_a_stop(char const* what) {
  support::temporary const here;
  disk const run{here.run(), often};
  calls = 0, stop_at = 80;
  CHECK_THROWS_AS(Loop::run(start, 1.2, periods, run), stopped);
  stop_at = -1;
  CHECK_THROWS_WITH(Loop::run(start, 1.2, periods, run), ContainsSubstring(what));
  CHECK(run.report().used == disk_use::nothing);
}

}  // namespace

TEST_CASE("a state that is stored with loss is refused where it is first read back, by each process") {
  using lossy = loop<rounded, numbers, numbers>;
  support::temporary const here;
  disk const run{here.run(), often};
  for (int process = 0; process < 2; ++process) {
    calls = 0;
    CHECK_THROWS_WITH(lossy::run(start, 1.2, periods, run),
                      ContainsSubstring("a state that is read back is not the one that was written") &&
                          ContainsSubstring("stores nothing with loss"));
    CHECK(calls > 0);
  }
}
TEST_CASE("a pair that loses nothing of these states is as good as any") {
  using other = loop<numbers, numbers, numbers>;
  support::temporary const here;
  disk const run{here.run(), often};
  struct halves {
    static void step(rounded& x) { tick(); for (double& v : x.v) v *= 0.5; }
    static void back(rounded const&, numbers& bar) { tick(); for (double& v : bar) v *= 0.5; }
  };
  auto const once = [&] {
    return cairn::gradient(&halves::step, rounded{{1, 2}}, periods, numbers{1, 1}, &halves::back, run);
  };
  calls = 0, stop_at = 80;
  CHECK_THROWS_AS(once(), stopped);
  stop_at = -1;
  CHECK(once() == numbers(2, std::ldexp(1.0, -30)));
  CHECK(run.report().used == disk_use::record);
  CHECK(other::run(start, 1.2, periods, run) == other::run(start, 1.2, cairn::in_memory{periods}));
}
TEST_CASE("a step that rounds where files stand stores half the bytes, with the bits of the same loop in memory") {
  struct rounds {  // states 0, 7, 14 ... are floats; the adjoint takes their rounding as the identity
    static void step(rounded& x, step_index i) {
      loop<rounded, numbers, numbers>::step(x, numbers{1.2}, i);
      if ((i + 1) % 7 == 0)
        for (double& v : x.v) v = double(float(v));
    }
    static void back(rounded const& x, numbers& bar) {
      numbers none{0};
      loop<rounded, numbers, numbers>::back(x, bar, {1.2}, none);
    }
  };
  numbers x0(1'000, 0.5);
  x0[1] = 0.25;
  auto const sweep = [&](auto const& plan, auto const&... last) {
    return cairn::gradient(&rounds::step, rounded{x0}, plan, numbers(1'000, 1.0), &rounds::back, last...);
  };
  cairn::sweep_options const check{.verify = cairn::replay_check::checkpoints};
  numbers const right = sweep(cairn::in_memory{periods});
  for (long at = 10; at < 100; at += 10) {
    support::temporary const here;
    disk const run{here.run(), often};
    std::size_t most = 0;
    auto const watch = [&](cairn::event const& e) { most = std::max(most, e.bytes_held(cairn::tier::disk)); };
    calls = 0, stop_at = at;
    CHECK_THROWS_AS(sweep(periods, run, check, watch), stopped);
    stop_at = -1;
    CHECK(sweep(periods, run, check, watch) == right);
    CHECK(run.report().used != disk_use::nothing);
    CHECK(most <= 5 * (4'000 + 200));
  }
  auto const exact = loop<numbers, numbers, numbers>::run(x0, 1.2, cairn::in_memory{periods}).first;
  CHECK(right != exact);
  for (std::size_t k = 0; k < right.size(); ++k) CHECK(std::abs(right[k] - exact[k]) <= 1e-5 * std::abs(exact[k]));
}
TEST_CASE("initial states and parameters that differ less than what is stored of them are different runs") {
  using lossy = loop<rounded, numbers, rounded>;
  cairn::revolve const in_memory{30, 4};
  support::temporary const here;
  disk const run{here.run()};
  for (auto const& from : {start, numbers{0.3 + 1e-12, -0.4}})
    for (double const by : {1.2, 1.2 + 1e-12}) {
      CHECK(lossy::run(from, by, in_memory, run) == lossy::run(from, by, in_memory));
      CHECK(run.report().used == disk_use::nothing);
    }
}
TEST_CASE("an adjoint and sums that are stored with loss are refused by the process that reads them") {
  refused_after_a_stop<loop<numbers, rounded, numbers>>("an adjoint that is read back is not the one that was written");
  refused_after_a_stop<loop<numbers, numbers, rounded>>("the adjoint of the parameters that is read back");
}
TEST_CASE("so are the choices of steps") {
  struct chooses {
    choice operator()(numbers& x, step_index) const {
      tick();
      choice const made{0.1 * std::cos(x[0])};
      for (double& v : x) v += made.h * std::cos(v);
      return made;
    }
  };
  struct repeats {
    void operator()(numbers& x, choice const& made) const {
      tick();
      for (double& v : x) v += made.h * std::cos(v);
    }
  };
  struct pulls {
    void operator()(numbers const& x, numbers& bar, choice const& made) const {
      tick();
      for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1 - made.h * std::sin(x[k]);
    }
  };
  support::temporary const here;
  disk const run{here.run(), often};
  auto const once = [&] {
    cairn::adaptive steps{chooses{}, repeats{}};
    return cairn::gradient(steps.step(), start, periods, numbers{1, 1}, steps.with_record(pulls{}), run);
  };
  calls = 0, stop_at = 80;
  CHECK_THROWS_AS(once(), stopped);
  stop_at = -1;
  CHECK_THROWS_WITH(once(), ContainsSubstring("the choices of steps that are read back"));
}
