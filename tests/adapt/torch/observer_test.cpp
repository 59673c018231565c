// SPDX-License-Identifier: Apache-2.0
// What observers of loops over tensors see: what the core's executor shows of the same plan.
#include "support/torch.hpp"
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>
#include <cairn/adapt/torch.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/trace/progress.hpp>
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_writer.hpp>
#include "support/trace.hpp"

using at::Tensor;
using cairn::action;
using cairn::action_kind;
using cairn::event;
using cairn::moment;
using cairn::phase;
using cairn::step_index;

namespace {

constexpr step_index n = 23;
constexpr std::int64_t size = 8;

struct told {
  action what;
  cairn::phase phase;
  cairn::moment moment;
  std::optional<cairn::sweep_work> left;
  std::int64_t now;
  friend bool operator==(told const&, told const&) = default;
};
/// Notes all that an event says, on a clock that counts.
struct listener {
  std::vector<told> all;
  std::int64_t origin = ticks;
  static inline std::int64_t ticks = 0;
  static std::int64_t clock_now() { return ++ticks; }
  void operator()(event const& e) { all.push_back({e.what(), e.phase(), e.moment(), e.work_left(), e.now() - origin}); }
};

Tensor step(Tensor const& x, step_index i) { return torch::tanh(x * (0.9 + 0.01 * double(i))); }
Tensor start() { return torch::linspace(-1, 1, size, torch::kDouble).requires_grad_(true); }
Tensor plain(Tensor x, step_index steps) {
  for (step_index i = 0; i < steps; ++i) x = step(x, i);
  return x;
}
Tensor gradient_of(Tensor const& last, Tensor const& x) {
  last.sum().backward();
  return support::take_grads({x}).front();
}

std::vector<cairn::any_schedule> plans() {
  return {cairn::revolve{n, 4}, cairn::uniform{n}, cairn::leaves{n, 4, cairn::revolve{6, 3}}};
}
std::vector<told> heard_from_core(cairn::any_schedule const& plan) {
  listener heard;
  auto const by_value = [](double x, step_index) { return x; };
  if (plan.leaf() > 1)
    (void)cairn::gradient(by_value, 1.0, plan, 1.0, [](double, double&, step_index, step_index) {}, heard);
  else (void)cairn::gradient(by_value, 1.0, plan, 1.0, [](double, double&, step_index) {}, heard);
  return heard.all;
}

}  // namespace

TEST_CASE("an observer of a loop over tensors sees what the core shows of the same plan", "[torch][observer]") {
  auto const x = start();
  auto const bits = gradient_of(plain(x, n), x);
  for (auto const& plan : plans()) {
    CAPTURE(plan.slots(), plan.leaf());
    auto const expected = heard_from_core(plan);
    auto const heard = std::make_shared<listener>();
    auto const y = cl::checkpointed_loop(step, x, n, cl::LoopOptions().schedule(plan).observer(heard));
    CHECK(heard->all.back().what.kind == action_kind::turn);
    CHECK(support::same_bits(gradient_of(y, x), bits));
    CHECK((heard->all == expected));
  }
}

TEST_CASE("an observer of a scan and of a layer sees the same", "[torch][observer]") {
  auto const plan = cairn::any_schedule{cairn::revolve{n, 4}};
  auto const expected = heard_from_core(plan);
  auto const x = start(), xs = torch::ones({n, size}, torch::kDouble);
  auto heard = std::make_shared<listener>();
  auto const [last, ys] = cl::checkpointed_scan(
      [](Tensor const& h, Tensor const& in) { return std::pair{torch::tanh(h + in), h * in}; }, x, xs,
      cl::LoopOptions().schedule(plan).observer(heard));
  (last.sum() + ys.sum()).backward();
  CHECK((heard->all == expected));

  heard = std::make_shared<listener>();
  cl::CheckpointedLSTM lstm(torch::nn::LSTMOptions(3, 5).num_layers(2),
                            cl::LoopOptions().schedule(plan).observer(heard));
  std::get<0>(lstm->forward(torch::ones({n, 2, 3}))).sum().backward();
  CHECK((heard->all == expected));
}

TEST_CASE("an observer of a loop of unknown length sees what the core shows", "[torch][observer]") {
  for (step_index const steps : {1, 2, 3, 9, 40}) {
    for (cairn::slot_index const slots : {1, 2, 5}) {
      CAPTURE(steps, slots);
      listener expected;
      auto run = cairn::checkpointed_while([](double x, step_index) { return x; }, 1.0,
                                           [&](double, step_index i) { return i < steps; }, cairn::online{slots},
                                           expected);
      (void)run.reverse(1.0, [](double, double&, step_index) {});
      auto const heard = std::make_shared<listener>();
      auto const x = start();
      auto const y = cl::checkpointed_while(step, x, [&](Tensor const&, step_index i) { return i < steps; },
                                            cl::LoopOptions().checkpoints(slots).observer(heard));
      CHECK(support::same_bits(gradient_of(y, x), gradient_of(plain(x, steps), x)));
      CHECK((heard->all == expected.all));
    }
  }
}

TEST_CASE("actions of a loop of unknown length are shown in steps, and none is left out", "[torch][observer]") {
  for (step_index const steps : {1, 4, 7, 8, 9, 41}) {
    step_index at = 0, reversed = steps;
    auto x = start();
    auto const look = [&](event const& e) {
      action const& a = e.what();
      if (e.moment() == moment::before) return;
      if (e.phase() == phase::forward && (a.kind == action_kind::advance || a.kind == action_kind::turn)) {
        CHECK(a.from == at);
        at = a.to;
      }
      if (a.kind != action_kind::reverse) return;
      CHECK(a.to == reversed);
      reversed = a.from;
    };
    auto const y = cl::checkpointed_while(step, x, [&](Tensor const&, step_index i) { return i < steps; },
                                          cl::LoopOptions().checkpoints(3).block_size(4).observer(std::ref(look)));
    CHECK(at == steps);
    y.sum().backward();
    CHECK(reversed == 0);
  }
}

TEST_CASE("an observer sees the live state's bytes, and how many bytes stand", "[torch][observer]") {
  std::vector<Tensor> states{start().detach()};
  for (step_index i = 0; i < n; ++i) states.push_back(step(states.back(), i));
  for (auto const& plan : plans()) {
    std::map<cairn::slot_index, step_index> slots;
    std::optional<step_index> live = 0, last;
    int sights = 0;
    auto const look = [&](event const& e) {
      action const& a = e.what();
      last = {};
      if (e.moment() == moment::after) {
        if (a.kind == action_kind::save) slots[a.slot] = a.from;
        if (a.kind == action_kind::drop) slots.erase(a.slot);
        if (a.kind == action_kind::advance) live = a.to;
        if (a.kind == action_kind::load) live = a.from;
        if (a.kind == action_kind::reverse) live = {};
        if (a.kind == action_kind::turn) last = a.to;
      }
      std::set<step_index> held{0};
      for (auto const& [slot, i] : slots) held.insert(i);
      for (auto const& i : {live, last}) if (i) held.insert(*i);
      CHECK(e.bytes_held() == held.size() * sizeof(double) * size);
      auto const shown = last ? last : live;
      CHECK(e.each_buffer([&](void const* bytes, std::size_t many) {
        CHECK(many == sizeof(double) * size);
        CHECK(std::memcmp(bytes, states[std::size_t(*shown)].data_ptr(), many) == 0);
        ++sights;
      }) == shown.has_value());
    };
    auto const x = start();
    (void)gradient_of(cl::checkpointed_loop(step, x, n, cl::LoopOptions().schedule(plan).observer(std::ref(look))), x);
    CHECK(sights > n / plan.leaf());
  }
}

TEST_CASE("the graph owns the observer until its backward is over", "[torch][observer]") {
  auto events = std::make_shared<int>(0);
  std::weak_ptr<int> const alive = events;
  auto const x = start();
  Tensor y = cl::checkpointed_loop(step, x, n, cl::LoopOptions().observer([events](event const&) { ++*events; }));
  events.reset();
  REQUIRE(!alive.expired());
  int const forward = *alive.lock();
  CHECK(forward > 0);
  y.sum().backward({}, true);
  int const once = *alive.lock() - forward;
  CHECK(once > 0);
  y.sum().backward();  // the reversal again
  CHECK(alive.expired());
}

TEST_CASE("a loop without grad mode and the measurement for a limit are not observed", "[torch][observer]") {
  auto const heard = std::make_shared<listener>();
  auto const x = start();
  {
    torch::NoGradGuard const none;
    (void)cl::checkpointed_loop(step, x, n, cl::LoopOptions().observer(heard));
  }
  CHECK(heard->all.empty());
  auto const y = cl::checkpointed_loop(step, x, n, cl::LoopOptions().memory_limit("1MiB").observer(heard));
  std::int64_t forward = 0;
  for (auto const& one : heard->all)
    if (one.moment == moment::after) forward += one.what.to - one.what.from;
  CHECK(forward == n);
  heard->all.clear();
  auto options = cl::LoopOptions().observer(heard);
  (void)cl::checkpointed_loop(step, x, n, options.observer(cairn::no_observer{}));
  CHECK(heard->all.empty());
}

TEST_CASE("what an observer throws passes through forward and backward", "[torch][observer]") {
  auto const x = start();
  auto const bits = gradient_of(plain(x, n), x);
  auto const options = cl::LoopOptions().checkpoints(4);
  int events = 0, last = 0;
  auto const look = [&](event const&) {
    if (++events == last) throw std::out_of_range{"the observer"};
  };
  auto watching = options;
  watching.observer(std::ref(look));
  auto const y = cl::checkpointed_loop(step, x, n, watching);
  int const forward = events;
  y.sum().backward();
  int const whole = events;
  for (int const at : {1, forward / 2, forward}) {
    events = 0, last = at;
    CHECK_THROWS_AS(cl::checkpointed_loop(step, x, n, watching), std::out_of_range);
  }
  for (int const at : {forward + 1, (forward + whole) / 2, whole}) {
    events = 0, last = at;
    auto const z = cl::checkpointed_loop(step, x, n, watching);
    CHECK_THROWS_AS(z.sum().backward(), std::out_of_range);
  }
  (void)support::take_grads({x});
  CHECK(support::same_bits(gradient_of(cl::checkpointed_loop(step, x, n, options), x), bits));
}

TEST_CASE("progress ends at the plan's work, and a trace holds the actions and the bytes", "[torch][observer]") {
  cairn::revolve const plan{n, 4};
  auto const x = start();
  cairn::progress_options quiet;
  quiet.style = cairn::progress_style::silent;
  quiet.now = [] { return listener::ticks += 1'000'000'000; };
  quiet.call = [](cairn::progress_report const&) {};
  auto const shown = std::make_shared<cairn::progress>(quiet);
  (void)gradient_of(cl::checkpointed_loop(step, x, n, cl::LoopOptions().schedule(plan).observer(shown)), x);
  CHECK(shown->last().ended);
  CHECK((shown->last().done == cairn::work_of(plan)));
  traces::scratch_file const file;
  {
    cairn::trace_writer log{file.name()};
    auto const y = cl::checkpointed_loop(
        step, x, n, cl::LoopOptions().schedule(plan).observer(cairn::trace_observer{log, {.bytes_held = true}}));
    (void)gradient_of(y, x);
  }
  auto const all = file.events();
  traces::check(all);
  CHECK(traces::with(traces::with(all, "cat", "reverse"), "name", "reverse").size() == std::size_t(n));
  CHECK(!traces::with(traces::with(all, "cat", "recompute"), "name", "advance").empty());
  CHECK(!traces::with(all, "name", "checkpoints").empty());
  CHECK(!traces::with(all, "name", "bytes held").empty());
}
