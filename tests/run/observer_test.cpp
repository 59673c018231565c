// SPDX-License-Identifier: Apache-2.0
// What observers see, shown by three that users would write: a progress bar, a verifier that hashes states, and a trace
// in JSON. All three use only cairn::event.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/core/event.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/asked_state.hpp"
#include "support/catch.hpp"
#include "support/fuse.hpp"
#include "support/json.hpp"
#include "support/kernels.hpp"
#include "support/plans.hpp"

using cairn::action;
using cairn::action_kind;
using cairn::any_schedule;
using cairn::content;
using cairn::event;
using cairn::moment;
using cairn::phase;
using cairn::slot_index;
using cairn::step_index;
using kernels::vec2;

namespace {

constexpr step_index n = 23;

/// A clock that only the user's functions move.
std::int64_t fake_time = 0;
constexpr std::int64_t step_time = 7, adjoint_time = 11;

struct step {
  void operator()(vec2& x, step_index i) const {
    fake_time += step_time;
    kernels::step(x.data(), i);
  }
};
struct by_value_step {
  vec2 operator()(vec2 x, step_index i) const {
    step{}(x, i);
    return x;
  }
};
struct one_step_adjoint {
  void operator()(vec2 const& x, vec2& bar, step_index i) const {
    fake_time += adjoint_time;
    kernels::adjoint(x.data(), bar.data(), i);
  }
};
struct with_next_adjoint {
  void operator()(vec2 const& x, vec2 const&, vec2& bar, step_index i) const { one_step_adjoint{}(x, bar, i); }
};
struct leaf_adjoint {
  void operator()(vec2 const& x, vec2& bar, step_index first, step_index last) const {
    std::vector<vec2> inside{x};
    for (step_index i = first; i + 1 < last; ++i) {
      inside.push_back(inside.back());
      kernels::step(inside.back().data(), i);
    }
    for (step_index i = last; i-- > first; inside.pop_back()) kernels::adjoint(inside.back().data(), bar.data(), i);
  }
};
struct tape {
  vec2 before;
  step_index i;
};
auto recording() {
  return cairn::recorded{[](vec2& x, step_index i) {
                           tape const kept{x, i};
                           step{}(x, i);
                           return kept;
                         },
                         [](tape const& kept, vec2& bar) { one_step_adjoint{}(kept.before, bar, kept.i); }};
}
vec2 seed(vec2 const& last) { return kernels::seed(last.data()); }

std::vector<any_schedule> plans() {
  return {cairn::revolve{n, 1}, cairn::revolve{n, 4},  cairn::revolve{n, 3, {.free_initial = true}},
          cairn::uniform{n},  cairn::store_all(n), cairn::uniform{n, {.block = 6}}};
}
std::vector<any_schedule> leaf_plans() {
  return {cairn::leaves{n, 4, cairn::revolve{6, 2}}, cairn::leaves{n, 5, cairn::store_all(5)},
          cairn::leaves{n, n, cairn::revolve{1, 1}}};
}

/// Calls use(plan, form of the adjoint, gradient) for each plan and each form of adjoint that fits; gradient(observer)
/// is a sweep.
template <class Use>
void each_sweep(Use use) {
  vec2 const x0 = kernels::start;
  auto const with = [&](any_schedule const& plan, cairn::adjoint_form form, auto adjoint) {
    CAPTURE(plan.slots(), plan.leaf(), int(form));
    use(plan, form, [&](auto& observer) { return cairn::gradient(step{}, x0, plan, seed, adjoint, observer); });
    use(plan, form,
        [&](auto& observer) { return cairn::gradient(by_value_step{}, x0, plan, seed, adjoint, observer); });
  };
  for (auto const& plan : plans()) {
    with(plan, cairn::adjoint_form::one_step, one_step_adjoint{});
    with(plan, cairn::adjoint_form::with_next, with_next_adjoint{});
    with(plan, cairn::adjoint_form::recorded, recording());
  }
  with(all_tapes(n), cairn::adjoint_form::recorded, recording());
  for (auto const& plan : leaf_plans()) with(plan, cairn::adjoint_form::leaf, cairn::leaf(leaf_adjoint{}));
}

/// Keeps everything that an event says.
struct listener {
  struct heard {
    action what;
    cairn::phase phase;
    cairn::moment moment;
  };
  std::vector<heard> all;
  void operator()(event const& e) { all.push_back({e.what(), e.phase(), e.moment()}); }
};

/// One before and one after for each action, in the plan's order, with the phases that the turn divides.
void check_heard(std::vector<listener::heard> const& all, std::vector<action> const& actions) {
  REQUIRE(all.size() == 2 * actions.size());
  bool turned = false;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    CAPTURE(k);
    phase const expected = !turned                                   ? phase::forward
                           : actions[k].kind == action_kind::reverse ? phase::reverse
                                                                     : phase::recompute;
    turned = turned || actions[k].kind == action_kind::turn;
    for (auto const when : {moment::before, moment::after}) {
      auto const& one = all[2 * k + (when == moment::after ? 1 : 0)];
      CHECK(one.what == actions[k]);
      CHECK(one.moment == when);
      CHECK(one.phase == expected);
    }
  }
}

/// Which state is live at an event, as far as the event itself shows.
std::optional<step_index> live_state(event const& e) {
  action const& a = e.what();
  bool const before = e.moment() == moment::before;
  switch (a.kind) {
    case action_kind::advance:
    case action_kind::record:
    case action_kind::turn: return before ? a.from : a.to;
    case action_kind::save: return a.from;
    case action_kind::load: return before ? std::nullopt : std::optional{a.from};
    case action_kind::reverse: return before && a.what == content::state ? std::optional{a.from} : std::nullopt;
    case action_kind::drop:
    case action_kind::done: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("an observer is called before and after each action, in the plan's order, with its phase") {
  each_sweep([](any_schedule const& plan, cairn::adjoint_form, auto gradient) {
    listener heard;
    CHECK(gradient(heard) == kernels::gradient(n));
    check_heard(heard.all, actions_of(plan));
  });
}

TEST_CASE("an observer of a loop of no steps hears the turn and the end") {
  listener heard;
  CHECK(cairn::gradient(step{}, kernels::start, cairn::revolve{0, 1}, seed, one_step_adjoint{}, heard) ==
        seed(kernels::start));
  check_heard(heard.all, actions_of(cairn::revolve{0, 1}));
}

TEST_CASE("an observer of a run sees the forward run, and each reverse and each walk backwards after the turn") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    auto const actions = actions_of(plan);
    std::size_t after_turn = 0;
    while (actions[after_turn++].kind != action_kind::turn) {}
    auto const tail = std::vector<action>(actions.begin() + std::ptrdiff_t(after_turn), actions.end());

    listener heard;
    auto run = cairn::checkpointed_loop(step{}, kernels::start, plan, heard);
    CHECK(heard.all.size() == 2 * after_turn);
    (void)run.reverse(seed, one_step_adjoint{});
    check_heard(heard.all, actions);

    for (int repeat = 0; repeat < 2; ++repeat) {
      heard.all.resize(2 * after_turn);
      (void)run.reverse(seed, one_step_adjoint{});
      check_heard(heard.all, actions);
    }

    heard.all.resize(2 * after_turn);
    for ([[maybe_unused]] auto const x : run.backward()) {}
    auto walked = actions;  // the walk is over once x_0 has been seen: nothing asks for the end
    walked.pop_back();
    check_heard(heard.all, walked);
  }
}

namespace {

/// Compares the bytes of the live state with the state that it should be.
struct reader {
  bool may_hide = false;  ///< there may be times when no object is the live state
  std::vector<vec2> const expected = kernels::states(n);
  int sights = 0;
  void operator()(event const& e) {
    auto const i = live_state(e);
    if (!i) return;
    vec2 seen{};
    std::size_t size = 0;
    bool const visible = e.each_buffer([&](void const* bytes, std::size_t length) {
      REQUIRE(size + length <= sizeof seen);
      std::memcpy(reinterpret_cast<unsigned char*>(seen.data()) + size, bytes, length);
      size += length;
    });
    CAPTURE(*i, int(e.what().kind), int(e.moment()));
    if (may_hide && !visible) return;
    CHECK(visible);
    CHECK(size == sizeof seen);
    CHECK(seen == expected[std::size_t(*i)]);
    ++sights;
  }
};

/// Cannot be copied, shows its bytes.
struct solver {
  vec2 numbers = kernels::start;
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] vec2 save() const { return numbers; }
  void restore(vec2 const& saved) { numbers = saved; }
  template <class F>
  void visit_buffers(F& f) const { f(static_cast<void const*>(numbers.data()), sizeof numbers); }
  template <class F>
  void visit_buffers(F& f) { f(static_cast<void*>(numbers.data()), sizeof numbers); }
};
struct solver_step {
  void operator()(solver& x, step_index i) const { step{}(x.numbers, i); }
};
struct solver_adjoint {
  void operator()(solver const& x, vec2& bar, step_index i) const { one_step_adjoint{}(x.numbers, bar, i); }
};
vec2 solver_seed(solver const& last) { return seed(last.numbers); }

}  // namespace

TEST_CASE("an observer sees the bytes of the live state, and of the final state after the turn") {
  each_sweep([](any_schedule const& plan, cairn::adjoint_form, auto gradient) {
    reader reading;
    gradient(reading);
    CHECK(reading.sights > n / plan.leaf());
  });
}

TEST_CASE("an observer is never shown the bytes of another state where the state cannot be copied") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    reader reading{.may_hide = true};
    solver x;
    CHECK(cairn::gradient(solver_step{}, x, plan, solver_seed, solver_adjoint{}, reading) == kernels::gradient(n));
    CHECK(reading.sights > n);
  }
}

TEST_CASE("an observer is shown no bytes if they are not known, and no time without a clock") {
  struct opaque {
    opaque() = default;
    opaque(opaque const& other) : x{other.x} {}
    opaque& operator=(opaque const&) = default;
    double x = 1;

   private:
    [[maybe_unused]] double hidden_ = 0;
  };
  int visits = 0, events = 0;
  auto const look = [&](event const& e) {
    ++events;
    CHECK(!e.each_buffer([&](void const*, std::size_t) { ++visits; }));
    CHECK(e.now() == 0);
  };
  (void)cairn::gradient([](opaque& x) { x.x *= 0.5; }, opaque{}, 5, 1.0, [](opaque const&, double& bar) { bar *= 0.5; },
                        look);
  CHECK(events > 0);
  CHECK(visits == 0);
}

namespace {

/// Counts the bytes of all vectors that use it.
template <class T>
struct counted_allocator {
  using value_type = T;
  counted_allocator() = default;
  template <class U> counted_allocator(counted_allocator<U> const&) {}
  T* allocate(std::size_t count) {
    bytes += count * sizeof(T);
    ++blocks;
    return std::allocator<T>{}.allocate(count);
  }
  void deallocate(T* block, std::size_t count) {
    bytes -= count * sizeof(T);
    --blocks;
    std::allocator<T>{}.deallocate(block, count);
  }
  bool operator==(counted_allocator const&) const = default;
  static inline std::size_t bytes = 0, blocks = 0;
};

}  // namespace

TEST_CASE("the bytes held are those of the states that stand") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    tracked const x0{kernels::start};
    auto const outside = tracked::alive;
    auto const step_in_place = [](tracked& x, step_index i) { kernels::step(x.numbers(), i); };
    auto const step_by_value = [&](tracked const& x, step_index i) {
      tracked y = x;
      step_in_place(y, i);
      return y;
    };
    auto const adjoint = [](tracked const& x, vec2& bar, step_index i) {
      kernels::adjoint(x.numbers(), bar.data(), i);
    };
    std::size_t most = 0;
    auto const look = [&](event const& e) {
      CHECK(e.bytes_held() == std::size_t(tracked::alive - outside) * sizeof(tracked));
      most = std::max(most, e.bytes_held());
    };
    auto const last = [](tracked const& x) { return kernels::seed(x.numbers()); };
    {
      cairn::workspace<tracked, any_schedule> work;
      for (int repeat = 0; repeat < 2; ++repeat)
        CHECK(cairn::gradient(step_in_place, x0, plan, last, adjoint, work, look) == kernels::gradient(n));
    }
    CHECK(most == std::size_t(cairn::estimate(plan).peak_states) * sizeof(tracked));
    CHECK(cairn::gradient(step_by_value, x0, plan, last, adjoint, look) == kernels::gradient(n));
    auto run = cairn::checkpointed_loop(step_in_place, x0, plan, look);
    CHECK(run.reverse(last, adjoint) == kernels::gradient(n));
  }
}

TEST_CASE("the bytes held are counted anew if states grow during the loop") {
  using growing = std::vector<double, counted_allocator<double>>;
  using heap = counted_allocator<double>;
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    growing const x0(3, 1.0);
    auto const bytes = heap::bytes, blocks = heap::blocks;
    int events = 0;
    auto const look = [&](event const& e) {
      ++events;
      CHECK(e.bytes_held() == (heap::bytes - bytes) + (heap::blocks - blocks) * sizeof(growing));
    };
    auto const longer = [](growing const& x, step_index) { return growing(x.size() + 1, 1.0); };
    auto const adjoint = [](growing const& x, double& bar, step_index i) {
      CHECK(x.size() == std::size_t(3 + i));
      bar += 1;
    };
    CHECK(cairn::gradient(longer, x0, plan, 0.0, adjoint, look) == double(n));
    CHECK(events > n);
    auto const grow = [](growing& x, step_index) { x.push_back(1.0); };  // with room to spare
    CHECK(cairn::gradient(grow, x0, plan, 0.0, adjoint, look) == double(n));
    auto const into = [](growing const& x, growing& x1, step_index) { x1.assign(x.size() + 1, 1.0); };
    CHECK(cairn::gradient(into, x0, plan, 0.0, adjoint, look) == double(n));
    auto run = cairn::checkpointed_loop(grow, x0, plan, look);
    CHECK(run.reverse(0.0, adjoint) == double(n));
    CHECK(run.reverse(0.0, adjoint) == double(n));
  }
}

namespace {

using support::asked_state;
struct asked_object {
  double v = 0;
  [[nodiscard]] asked_state save() const { return {v}; }
  void restore(asked_state const& old) { v = old.v; }
};

}  // namespace

TEST_CASE("a report asks a few states for their bytes after an action, however many are held") {
  for (slot_index const slots : {10, 400}) {
    constexpr step_index length = 2'000;
    cairn::revolve const plan{length, slots};
    long actions = 0;
    for (auto at = plan.walk(); at.next().kind != action_kind::done;) ++actions;
    auto const check = [&](auto const& gradient) {
      asked_state::asked = 0;
      gradient(cairn::no_observer{});
      long const alone = std::exchange(asked_state::asked, 0);
      cairn::sweep_report report;
      gradient(report);
      CAPTURE(slots, actions, alone, asked_state::asked);
      CHECK(cairn::wide(report.state_bytes) >= cairn::wide(slots) * sizeof(asked_state));
      CHECK(asked_state::asked <= alone + 6 * actions + 2 * slots);
    };
    asked_state const x0{1};
    auto const adjoint = [](asked_state const&, double& bar, step_index) { bar *= 0.5; };
    auto const in_place = [](asked_state& x, step_index) { x.v *= 0.5; };
    auto const by_value = [](asked_state const& x, step_index) { return asked_state{0.5 * x.v}; };
    auto const into = [](asked_state const& x, asked_state& x1, step_index) { x1.v = 0.5 * x.v; };
    check([&](auto&& last) { return cairn::gradient(in_place, x0, plan, 1.0, adjoint, last); });
    check([&](auto&& last) { return cairn::gradient(by_value, x0, plan, 1.0, adjoint, last); });
    check([&](auto&& last) { return cairn::gradient(into, x0, plan, 1.0, adjoint, last); });
    check([&](auto&& last) {
      asked_object x{1};
      auto const back = [](asked_object const&, double& bar, step_index) { bar *= 0.5; };
      return cairn::gradient([](asked_object& at, step_index) { at.v *= 0.5; }, x, plan, 1.0, back, last);
    });
  }
}

namespace {

/// How far a sweep is, in calls of the step, and when it will be done if each takes as long as those before.
class progress {
 public:
  progress(any_schedule const& plan, cairn::adjoint_form form)
      : total_{std::int64_t(cairn::estimate(plan, {.form = {.adjoint = form}}).step_calls)},
        records_{form == cairn::adjoint_form::recorded} {}

  static std::int64_t clock_now() { return fake_time; }

  void operator()(event const& e) {
    if (!began_) began_ = e.now();
    if (e.moment() == moment::after) done_ += calls_in(e.what());
    elapsed_ = e.now() - *began_;
    history.push_back(percent());
  }

  [[nodiscard]] double percent() const { return total_ == 0 ? 100 : 100 * double(done_) / double(total_); }
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t elapsed() const { return elapsed_; }
  [[nodiscard]] std::int64_t time_left() const { return elapsed_ * (total_ - done_) / done_; }
  std::vector<double> history;

 private:
  /// An adjoint that records runs its step once more, unless a tape is there or the turn's run was the recorded one.
  std::int64_t calls_in(action const& a) {
    switch (a.kind) {
      case action_kind::turn: recorded_turn_ = a.to > a.from; [[fallthrough]];
      case action_kind::advance:
      case action_kind::record: return a.to - a.from;
      case action_kind::reverse:
        return records_ && a.what == content::state && !std::exchange(recorded_turn_, false) ? a.to - a.from : 0;
      default: return 0;
    }
  }

  std::int64_t total_, done_ = 0, elapsed_ = 0;
  bool records_, recorded_turn_ = false;
  std::optional<std::int64_t> began_;
};

}  // namespace

TEST_CASE("a progress bar knows the calls of the step that are left, and ends at 100 percent") {
  each_sweep([](any_schedule const& plan, cairn::adjoint_form form, auto gradient) {
    fake_time = 1000;
    progress bar{plan, form};
    CHECK(bar.total() == std::int64_t(cairn::step_calls(cairn::verify(plan), form)));
    std::int64_t last_done = 0;
    auto const watching = [&](event const& e) {
      bar(e);
      CHECK(bar.done() >= last_done);
      last_done = bar.done();
    };
    gradient(watching);
    CHECK(bar.done() == bar.total());
    CHECK(bar.percent() == 100);
    for (std::size_t k = 1; k < bar.history.size(); ++k) CHECK(bar.history[k] >= bar.history[k - 1]);
    CHECK(bar.history.front() == 0);
  });
}

TEST_CASE("the time left is exact where every step takes the same time") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    fake_time = 1000;
    progress bar{plan, cairn::adjoint_form::one_step};
    // Times must not depend on the adjoint here, so it takes none.
    auto const adjoint = [](vec2 const& x, vec2& g, step_index i) { kernels::adjoint(x.data(), g.data(), i); };
    std::vector<std::int64_t> ends;
    struct timed {
      progress& bar;
      std::vector<std::int64_t>& ends;
      static std::int64_t clock_now() { return progress::clock_now(); }
      void operator()(event const& e) {
        bar(e);
        if (bar.done() > 0 && e.moment() == moment::after) ends.push_back(e.now() + bar.time_left());
      }
    };
    (void)cairn::gradient(step{}, kernels::start, plan, seed, adjoint, timed{bar, ends});
    CHECK(bar.elapsed() == bar.total() * step_time);
    CHECK(ends.size() > std::size_t(n));
    for (auto const end : ends) CHECK(end == fake_time);
  }
}

namespace {

/// Remembers a hash of every state at first sight, and compares whenever the state is seen again.
class hash_verifier {
 public:
  void operator()(event const& e) {
    auto const i = live_state(e);
    if (!i) return;
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    bool const seen = e.each_buffer([&](void const* bytes, std::size_t size) {
      for (std::size_t k = 0; k < size; ++k)
        hash = (hash ^ static_cast<unsigned char const*>(bytes)[k]) * 0x100000001b3;
    });
    if (!seen) return;
    auto const [known, first] = hashes_.try_emplace(*i, hash);
    if (!first) {
      ++comparisons;
      if (known->second != hash && !wrong) wrong = {last_right_, *i};
    }
    last_right_ = *i;
  }

  /// Steps [first, second) led to a state that had been another one before.
  std::optional<std::pair<step_index, step_index>> wrong;
  int comparisons = 0;

 private:
  std::map<step_index, std::uint64_t> hashes_;
  step_index last_right_ = 0;
};

/// The same plan with one action for every step that it advances, so that an observer sees every state each time.
any_schedule step_by_step(any_schedule const& plan) {
  std::vector<action> single;
  for (action const& a : actions_of(plan)) {
    if (a.kind != action_kind::advance) single.push_back(a);
    else for (step_index i = a.from; i < a.to; ++i) single.push_back({a.kind, a.where, a.what, a.slot, i, i + 1});
  }
  return cairn::action_list{
      plan.steps(), plan.slots(), single.data(), single.size(), {.free_initial = plan.initial_is_free()}};
}

/// Is right the first time that it runs step `bad`, and off by one bit whenever it runs it again.
struct forgetful_step {
  step_index bad;
  int* calls;
  void operator()(vec2& x, step_index i) const {
    kernels::step(x.data(), i);
    if (i == bad && (*calls)++ > 0) x[1] = std::nextafter(x[1], 10.0);
  }
};

}  // namespace

TEST_CASE("a verifier that hashes states stays silent where the step always does the same") {
  each_sweep([](any_schedule const& plan, cairn::adjoint_form, auto gradient) {
    hash_verifier verifier;
    gradient(verifier);
    CHECK(!verifier.wrong);
    gradient(verifier);
    CHECK(!verifier.wrong);
    CHECK(verifier.comparisons > n / plan.leaf());
  });
  solver x;
  hash_verifier verifier;
  (void)cairn::gradient(solver_step{}, x, cairn::revolve{n, 4}, solver_seed, solver_adjoint{}, verifier);
  CHECK(!verifier.wrong);
}

TEST_CASE("a verifier that sees every state names the step that did something else the second time") {
  for (auto const& original : plans()) {
    auto const plan = step_by_step(original);
    CAPTURE(plan.slots());
    (void)cairn::verify(plan);
    std::vector<int> runs(std::size_t{n}, 0);  // how often the plan runs each step
    for (action const& a : actions_of(plan))
      if (a.kind == action_kind::advance || a.kind == action_kind::turn) ++runs[std::size_t(a.from)];
    for (step_index bad = 0; bad < n; ++bad) {
      CAPTURE(bad);
      int calls = 0;
      hash_verifier verifier;
      (void)cairn::gradient(forgetful_step{bad, &calls}, kernels::start, plan, seed, one_step_adjoint{}, verifier);
      REQUIRE(calls == runs[std::size_t(bad)]);
      CHECK(verifier.wrong.has_value() == (calls > 1));
      if (verifier.wrong) CHECK(*verifier.wrong == std::pair{bad, bad + 1});
    }
  }
}

TEST_CASE("a verifier that saw a sweep of all states finds the fault in the next sweep of any plan") {
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots());
    for (step_index bad = 0; bad < n; ++bad) {
      CAPTURE(bad);
      int calls = 0;
      hash_verifier verifier;
      (void)cairn::gradient(forgetful_step{bad, &calls}, kernels::start, cairn::store_all(n), seed, one_step_adjoint{},
                            verifier);
      CHECK(!verifier.wrong);
      (void)cairn::gradient(forgetful_step{bad, &calls}, kernels::start, plan, seed, one_step_adjoint{}, verifier);
      REQUIRE(verifier.wrong);
      CHECK(verifier.wrong->first <= bad);
      CHECK(bad < verifier.wrong->second);
    }
  }
}

namespace {

/// Writes one complete event of the Chrome trace format for each action.
class json_trace {
 public:
  static std::int64_t clock_now() { return fake_time; }

  void operator()(event const& e) {
    if (e.moment() == moment::before) {
      began_ = e.now();
      return;
    }
    action const& a = e.what();
    text_ += text_.empty() ? "{\"traceEvents\": [\n" : ",\n";
    text_ += "{\"name\": \"" + name_of(a.kind) + "\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1" + member("ts", began_) +
             member("dur", e.now() - began_) + ", \"args\": {\"phase\": \"" + name_of(e.phase()) + "\", \"tier\": \"" +
             name_of(a.where) + "\", \"content\": \"" + (a.what == content::state ? "state" : "tape") + "\"" +
             member("from", a.from) + member("to", a.to) + member("slot", a.slot) +
             member("bytes", std::int64_t(e.bytes_held())) + "}}";
  }
  [[nodiscard]] std::string finished() const { return (text_.empty() ? "{\"traceEvents\": [" : text_) + "]}\n"; }

 private:
  static std::string member(char const* name, std::int64_t value) {
    return ", \"" + std::string{name} + "\": " + std::to_string(value);
  }
  static std::string name_of(action_kind kind) {
    static char const* const names[] = {"advance", "save", "load", "drop", "record", "turn", "reverse", "done"};
    return names[std::size_t(kind)];
  }
  static std::string name_of(phase p) {
    static char const* const names[] = {"forward", "recompute", "reverse"};
    return names[std::size_t(p)];
  }
  static std::string name_of(cairn::tier t) {
    static char const* const names[] = {"memory", "device", "host", "disk"};
    return names[std::size_t(t)];
  }

  std::int64_t began_ = 0;
  std::string text_;
};

}  // namespace

TEST_CASE("the reader of JSON refuses what is none") {
  CHECK(json::read(R"({"a": [1, -2.5e3, true, null, "b\"c"]})").at("a").items.size() == 5);
  for (auto const* text : {"", "{", "[1,]", "[1 2]", "{\"a\" 1}", "{a: 1}", "[01]", "[1.]", "[-]", "{} x", "\"a",
                           "{\"a\": 1, \"a\": 2}", "tru"})
    CHECK_THROWS_AS(json::read(text), std::runtime_error);
  CHECK(json::read(json_trace{}.finished()).at("traceEvents").items.empty());
}

TEST_CASE("a trace in JSON has every action once, with its time and the bytes held") {
  each_sweep([](any_schedule const& plan, cairn::adjoint_form, auto gradient) {
    fake_time = 50;
    json_trace trace;
    gradient(trace);
    auto const written = json::read(trace.finished());
    auto const& events = written.at("traceEvents").items;
    auto const actions = actions_of(plan);
    REQUIRE(events.size() == actions.size());

    std::map<std::string, action_kind> const kinds{{"advance", action_kind::advance}, {"save", action_kind::save},
                                                   {"load", action_kind::load},       {"drop", action_kind::drop},
                                                   {"record", action_kind::record},   {"turn", action_kind::turn},
                                                   {"reverse", action_kind::reverse}, {"done", action_kind::done}};
    long long last_end = 50;
    bool turned = false;
    for (std::size_t k = 0; k < events.size(); ++k) {
      CAPTURE(k);
      json const& e = events[k];
      json const& args = e.at("args");
      CHECK(e.text("ph") == "X");
      action const told{kinds.at(e.text("name")),
                        cairn::tier::memory,
                        args.text("content") == "state" ? content::state : content::tape,
                        args.integer("slot"),
                        args.integer("from"),
                        args.integer("to")};
      CHECK(told == actions[k]);
      CHECK(args.text("tier") == "memory");
      CHECK(args.text("phase") == (!turned ? "forward" : told.kind == action_kind::reverse ? "reverse" : "recompute"));
      turned = turned || told.kind == action_kind::turn;
      CHECK(e.integer("ts") == last_end);  // nothing else takes time
      last_end = e.integer("ts") + e.integer("dur");
      if (told.kind == action_kind::advance) CHECK(e.integer("dur") == step_time * (told.to - told.from));
      CHECK(args.integer("bytes") % static_cast<long long>(sizeof(vec2)) == 0);
      CHECK(args.integer("bytes") > 0);
    }
    CHECK(last_end == fake_time);
  });
}
