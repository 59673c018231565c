// SPDX-License-Identifier: Apache-2.0
// Files that are behind the sweep, and a helper that is ahead of it: the bits and the promises of one that waits for both.
#include "adapt/disk/ahead_by.hpp"
#include "adapt/disk/kept_verbs.hpp"

namespace {

struct by_differentiate {
  template <class Plan, class... Last>
  static answer of(Plan const& plan, Last const&... last) {
    auto const f = cairn::at_every(4, misfit, misfit_back) + cairn::at_end(misfit, misfit_back);
    auto const found = cairn::differentiate(cairn::model{step<numbers>{}, adjoint<numbers>{}}, start<numbers>(), p, plan,
                                            f, last...);
    return {found.state, found.params, found.value};
  }
};
/// While it exists, processes write behind.
struct writes_behind {
  explicit writes_behind(cairn::behind_options const& how = {}) { behind = how; }
  ~writes_behind() { behind = {0, 0}; }
};
cairn::disk_options behind_by(int saves, int loads) {
  return {.resume = cairn::resume_rule::never, .behind = {saves, loads}};
}
template <class Verb, class Plan>
void all_shapes(Plan const& plan) {
  auto const right = Verb::of(cairn::in_memory{plan});
  support::temporary const folder;
  for (auto const& [saves, loads] : {std::pair{1, 0}, {0, 1}, {2, 2}, {5, 3}}) {
    CAPTURE(saves, loads);
    CHECK(Verb::of(plan, cairn::disk{folder.run(), behind_by(saves, loads)}) == right);
  }
}

}  // namespace

TEST_CASE("files behind the sweep change no bit, for every kind of plan, states that grow, and objects") {
  step_index const n = 60;
  using verb = by_gradient<numbers>;
  all_shapes<verb>(cairn::hrevolve{n, two_tiers});
  all_shapes<verb>(cairn::multistage{n, 2, 6});
  all_shapes<verb>(cairn::disk_revolve{n, 3, {.disk_write = 5, .disk_read = 5}});
  all_shapes<verb>(cairn::two_level{n, 10, 3});
  all_shapes<by_gradient<noted>>(cairn::two_level{n, 7, 2});
  all_shapes<by_gradient<solver>>(cairn::hrevolve{n, two_tiers});
  all_shapes<by_differentiate>(cairn::hrevolve{n, two_tiers});
}

TEST_CASE("a kept run whose files are behind can be reversed twice, walked and asked for states") {
  cairn::two_level const plan{60, 10, 3};
  auto const once = [&](auto const&... last) {
    numbers dp{0, 0};
    std::vector<numbers> all;
    auto run = cairn::checkpointed_loop(step<numbers>{}, start<numbers>(), plan, wrt{p, dp}, last...);
    for (int k = 0; k < 2; ++k) all.push_back(run.reverse(numbers(5, 1.0), adjoint<numbers>{})), all.push_back(dp);
    for (auto [i, x] : run.backward()) all.push_back(x);
    for (step_index i = 0; i <= 60; i += 7) all.push_back(run.at(i));
    return all;
  };
  support::temporary const folder;
  auto const waits = once(cairn::disk{folder.run(), {.resume = cairn::resume_rule::never}});
  CHECK(once(cairn::disk{folder.run(), behind_by(2, 2)}) == waits);
  CHECK(once(cairn::disk{folder.run(), behind_by(1, 0)}) == waits);
}

TEST_CASE("a run whose files are behind and that is killed anywhere goes on with the bits of an undisturbed one") {
  writes_behind const all;
  kill_everywhere<by_gradient<numbers>>(cairn::hrevolve{30, two_tiers}, 17);
  kill_everywhere<by_gradient<numbers>>(cairn::two_level{30, 5, 3}, 23);
  kill_everywhere<by_differentiate>(cairn::multistage{30, 2, 4}, 23);
}
TEST_CASE("so does one that is killed at random, and by processes that wait") {
  std::mt19937_64 draw{5};
  for (auto const& how : {cairn::behind_options{2, 2}, cairn::behind_options{4, 1}}) {
    writes_behind const all{how};
    kill_at_random<by_gradient<noted>>(cairn::hrevolve{30, two_tiers}, draw, 8);
    kill_at_random<by_differentiate>(cairn::two_level{30, 5, 3}, draw, 8);
  }
}
TEST_CASE("1,000 runs killed at random, files behind the sweep", "[long]") {
  std::mt19937_64 draw{6};
  writes_behind const all;
  kill_at_random<by_gradient<numbers>>(cairn::hrevolve{30, two_tiers}, draw, 500);
  kill_at_random<by_differentiate>(cairn::two_level{30, 5, 3}, draw, 500);
}
TEST_CASE("10,000 runs killed at random, files behind the sweep", "[.soak]") {
  std::mt19937_64 draw{7};
  writes_behind const all;
  kill_at_random<by_gradient<noted>>(cairn::disk_revolve{30, 3, {.disk_write = 5, .disk_read = 5}}, draw, 5'000);
  kill_at_random<by_differentiate>(cairn::hrevolve{30, two_tiers}, draw, 5'000);
}

TEST_CASE("a state that could not be written behind the sweep is made again, and its slot is given up") {
  using verb = by_gradient<numbers>;
  cairn::two_level const plan{60, 10, 3};
  auto const right = verb::of(cairn::in_memory{plan});
  support::temporary const folder;
  for (long from = 6; from < 60; from += 5) {
    CAPTURE(from);
    killed::operations = 0;
    killed::no_room_from = from;
    cairn::disk const run{folder.run(), behind_by(2, 2)};
    CHECK(verb::of(plan, run) == right);
    killed::no_room_from = -1;
  }
}

TEST_CASE("states behind the sweep are in budgets and reports") {
  numbers dp{7, 7};
  auto const taken = [&](cairn::behind_options const& how) {
    support::temporary const folder;
    cairn::disk const run{folder.run(), {.behind = how}};
    cairn::sweep_report report;
    cairn::gradient(step<numbers>{}, start<numbers>(), cairn::two_level{60, 10, 3}, numbers(5, 1.0), adjoint<numbers>{},
                    wrt{p, dp}, run, report);
    CHECK(report.counted.states <= report.predicted.states + report.predicted.files);
    return report.predicted;
  };
  auto const without = taken({0, 0}), with = taken({2, 3});
  cairn::wide const state = cairn::bytes_of(start<numbers>());
  CHECK(with.states >= without.states + 6 * state);
  CHECK(with.files >= without.files + 65'536);
  support::temporary const folder;
  cairn::disk const waits{folder.run(), {}}, ahead{folder.run(), {.behind = {}}};
  numbers const seed(5, 1.0);
  auto const calls = [&](cairn::disk const& run, char const* bytes, auto const&... last) {
    cairn::sweep_report report;
    cairn::gradient(step<numbers>{}, start<numbers>(), cairn::budget_of{1'000, bytes, run}, seed, adjoint<numbers>{},
                    wrt{p, dp}, run, report, last...);
    CHECK(report.predicted_bytes <= cairn::byte_size{bytes}.count());
    CHECK(report.counted.total() <= report.predicted.total());
    CHECK(std::string{report.serial != nullptr ? report.serial : ""} == "");
    return report.step_calls;
  };
  CHECK(calls(ahead, "150kB") >= calls(waits, "150kB"));
  calls(waits, "110kB", ahead::eager{.adjoint_over_step = 3});
  calls(ahead, "180kB", ahead::eager{.adjoint_over_step = 3});
}

TEST_CASE("a number of states behind that is negative is refused") {
  support::temporary const folder;
  CHECK_THROWS_AS(by_gradient<numbers>::of(cairn::two_level{9, 3, 3}, cairn::disk{folder.run(), behind_by(-1, 2)}),
                  cairn::invalid_call);
}

TEST_CASE("a helper ahead of the records of a run changes no bit, whether files are behind the sweep or not") {
  killed::started = 0;
  for (long const every : {1, 3, 1'000})
    for (auto const& how : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
      CAPTURE(every, how.saves);
      auto const same = [&](auto verb, auto const& plan) {
        support::temporary const folder;
        cairn::disk_options const options{.commit_every = every, .behind = how};
        CHECK(decltype(verb)::of(plan, cairn::disk{folder.run(), options}) == decltype(verb)::of(plan));
      };
      same(ahead_by<by_gradient<numbers>>{}, cairn::revolve{60, 4});
      same(ahead_by<by_gradient<noted>>{}, cairn::in_memory{cairn::two_level{60, 10, 3}});
      same(ahead_by<by_choices>{}, five);
    }
  cairn::sweep_report report;
  support::temporary const folder;
  numbers const x0 = start<numbers>();
  numbers dp{7, 7};
  cairn::disk const run{folder.run()};
  (void)cairn::gradient(step<numbers>{}, x0, cairn::two_level{60, 10, 3}, numbers(5, 1.0), adjoint<numbers>{}, wrt{p, dp},
                        run, report, ahead::eager{});
  CHECK(report.serial == nullptr);
  CHECK(report.counted.states <= report.predicted.states + report.predicted.files);
  auto kept = cairn::checkpointed_loop(step<numbers>{}, x0, cairn::two_level{60, 10, 3}, wrt{p, dp}, run, report,
                                       ahead::eager{});
  for (int k = 0; k < 2; ++k) {
    CHECK(kept.reverse(numbers(5, 1.0), adjoint<numbers>{}) == by_gradient<numbers>::of(cairn::revolve{60, 9}).bar);
    CHECK(std::string{report.serial != nullptr ? report.serial : ""} == "");
  }
}
TEST_CASE("runs with a helper that are killed at random go on with and without one") {
  std::mt19937_64 draw{8};
  for (auto const& how : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
    writes_behind const all{how};
    kill_at_random<ahead_by<by_gradient<noted>>>(cairn::hrevolve{30, two_tiers}, draw, 8);
    kill_at_random<ahead_by<by_differentiate>>(cairn::two_level{30, 5, 3}, draw, 8);
    kill_at_random<ahead_by<by_two_reverses>>(tiers, draw, 4);
  }
}
void killed_with_helper(std::uint64_t seed, long runs) {
  std::mt19937_64 draw{seed};
  for (auto const& how : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
    writes_behind const all{how};
    kill_at_random<ahead_by<by_gradient<noted>>>(cairn::hrevolve{30, two_tiers}, draw, runs / 10);
    kill_at_random<ahead_by<by_differentiate>>(cairn::two_level{30, 5, 3}, draw, runs / 5);
    kill_at_random<ahead_by<by_two_reverses>>(tiers, draw, runs / 10);
    kill_at_random<ahead_by<by_choices>>(five, draw, runs / 10);
  }
}
TEST_CASE("1,000 runs with a helper, killed at random", "[long]") { killed_with_helper(9, 1'000); }
TEST_CASE("10,000 runs with a helper, killed at random", "[.soak]") { killed_with_helper(10, 10'000); }

TEST_CASE("what is thrown on either thread, or finds no room on the disk, changes no bit of who goes on") {
  using verb = ahead_by<by_gradient<numbers>>;
  program<verb, cairn::hrevolve> const of{cairn::hrevolve{30, two_tiers}, 3};
  for (long at = 31; at <= of.calls; at += 3)
    for (auto const& how : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
      CAPTURE(at, how.saves);
      of.folder.remove_runs();
      cairn::disk const run{of.folder.run(), {.commit_every = 3, .behind = how}};
      killed::started = at, killed::calls = 0, killed::throws_at = at;
      CHECK_THROWS_AS(verb::of(of.plan, run), killed::thrown);
      killed::throws_at = -1, ++killed::started;
      CHECK(verb::of(of.plan, run) == of.right);
      of.folder.remove_runs();
      killed::operations = 0, killed::no_room_from = at;
      CHECK(verb::of(of.plan, run) == of.right);
      killed::no_room_from = -1;
    }
}

namespace {
/// A step with a static variable, which no run sees, and of which step 0 shows nothing.
struct drifting {
  static constexpr bool concurrent = true;
  static inline double drift = 0;
  void operator()(numbers& x, numbers const& q, step_index i) const {
    killed::tick();
    for (double& v : x) v = std::sin(q[0] * v) + (i > 0 ? drift : 0);
  }
};
struct pulls_leaf {
  static constexpr bool concurrent = true;
  void operator()(numbers const& x, numbers& bar, numbers const& q, numbers& dq, step_index first, step_index last) const {
    std::vector<numbers> all{x};
    for (step_index i = first + 1; i < last; ++i) all.push_back(all.back()), drifting{}(all.back(), q, i - 1);
    for (step_index i = last; i-- > first;) adjoint<numbers>{}(all[std::size_t(i - first)], bar, q, dq, i);
  }
};
}  // namespace

TEST_CASE("a helper finds the other arithmetic of an earlier process where a sweep on one thread does") {
  auto const begins_anew = [](auto const& plan, auto const& back) {
    auto const by = [&](auto const& of, auto const&... last) {
      answer found{{}, {7, 7}};
      found.bar = cairn::gradient(drifting{}, start<numbers>(), of, numbers(5, 1.0), back, wrt{p, found.dp}, last...);
      return found;
    };
    support::temporary const folder;
    for (long at = 45; at < 75; at += 4) {
      CAPTURE(at);
      folder.remove_runs();
      cairn::disk const run{folder.run(), {.commit_every = 2}};
      drifting::drift = 0, killed::calls = 0, killed::throws_at = at;
      CHECK_THROWS_AS(by(plan, run, ahead::eager{}), killed::thrown);
      killed::throws_at = -1, drifting::drift = 1e-9;
      if (at % 8 < 4) folder.remove_files("s0");  // then only the hash in the record tells
      auto const found = by(plan, run, ahead::eager{.ahead = 5});
      CHECK(run.report().used == cairn::disk_use::nothing);
      CHECK(found == by(cairn::in_memory{plan}));
      drifting::drift = 0;
    }
  };
  begins_anew(cairn::two_level{30, 5, 2}, adjoint<numbers>{});
  begins_anew(cairn::hrevolve{30, two_tiers}, adjoint<numbers>{});
  begins_anew(cairn::leaves{30, 3, cairn::two_level{10, 3, 1}}, pulls_leaf{});
}

TEST_CASE("an adjoint that sums in itself does so while a helper writes") {
  struct sums {
    std::vector<double> all;
    void operator()(numbers const& x, numbers& bar, step_index) {
      all.push_back(x[0]);
      for (double& v : bar) v *= 1 + 0.01 * x[1];
    }
  } back;
  cairn::two_level const plan{200, 5, 2};
  auto const step = cairn::concurrent([](numbers& x) {
    for (double& v : x) v = std::sin(v);
  });
  auto const right = cairn::gradient(step, start<numbers>(), cairn::in_memory{plan}, numbers(5, 1.0), back);
  for (auto const& how : {cairn::behind_options{0, 0}, cairn::behind_options{2, 2}}) {
    support::temporary const folder;
    cairn::disk const run{folder.run(), {.commit_every = 7, .behind = how}};
    CHECK(cairn::gradient(step, start<numbers>(), plan, numbers(5, 1.0), back, run, ahead::eager{}) == right);
    CHECK(std::string{run.report().why} != "");
  }
  CHECK(back.all.size() == 600);
}
