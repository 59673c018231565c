// SPDX-License-Identifier: Apache-2.0
// Each wait of a sweep is left out once, each record that is waited for, and each stream that is synchronised: the
// simulator must find all of them out.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include "support/catch.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

/// A simulated device that leaves out one record or wait, by its number, or all synchronisations of one stream, by its
/// number.
class forgetful {
 public:
  using stream = sim_runtime::stream;
  using event = sim_runtime::event;
  enum class call { none, record, wait, sync };
  /// Who waits for whom.
  struct edge {
    std::size_t later, earlier;
    friend bool operator==(edge, edge) = default;
  };

  forgetful(sim_runtime& device, call which, std::size_t number) : device_{&device}, which_{which}, number_{number} {}

  void* device_alloc(std::size_t bytes) { return device_->device_alloc(bytes); }
  void device_free(void* at) noexcept { device_->device_free(at); }
  void* pinned_alloc(std::size_t bytes) { return device_->pinned_alloc(bytes); }
  void pinned_free(void* at) noexcept { device_->pinned_free(at); }
  stream make_stream() { return device_->make_stream(); }
  void destroy(stream which) noexcept { device_->destroy(which); }
  event make_event() { return device_->make_event(); }
  void destroy(event which) noexcept { device_->destroy(which); }
  void record(event which, stream at) {
    if (recorded_at_.size() <= which.number) recorded_at_.resize(which.number + 1);
    recorded_at_[which.number] = {at.number, waited_for.size()};
    waited_for.push_back(false);
    if (!forgets(call::record)) device_->record(which, at);
  }
  void wait(stream which, event until) {
    waits.push_back({which.number, recorded_at_[until.number].stream});
    waited_for[recorded_at_[until.number].record] = true;
    if (!forgets(call::wait)) device_->wait(which, until);
  }
  void sync(event which) { device_->sync(which); }
  void sync(stream which) {
    if (which_ != call::sync || which.number != number_) device_->sync(which);
  }
  bool done(event which) { return device_->done(which); }
  void copy(void* to, void const* from, std::size_t bytes, copy_kind kind, stream in) {
    device_->copy(to, from, bytes, kind, in);
  }
  std::size_t free_bytes() { return device_->free_bytes(); }
  int device() const { return device_->device(); }

  std::vector<edge> waits;
  std::vector<bool> waited_for;  ///< by the number of the record

 private:
  bool forgets(call which) { return which == which_ && calls_++ == number_; }
  struct place { std::size_t stream = 0, record = 0; };

  sim_runtime* device_;
  call which_;
  std::size_t number_, calls_ = 0;
  std::vector<place> recorded_at_;
};
static_assert(device_runtime<forgetful> && !checking_runtime<forgetful>);  // a sweep needs no check()

using field = sim::state<forgetful>;
using call = forgetful::call;

enum class form { out_of_place, in_place };
constexpr std::size_t compute = 0, down = 1, up = 2;  // streams by number

struct outcome {
  bool caught = false;
  std::vector<bool> waited_for;
  std::vector<forgetful::edge> waits;
  std::string first_fault;
};

struct setting {
  any_schedule plan;
  form steps;
  slot_index more_frames;
  std::string name;
};

struct stopped {};

/// Two sweeps, one right after the other, without the given call; or one that its step ends.
/// \param last  the step call that throws, if it comes
outcome run(setting const& s, sim::order when, call which, std::size_t number, std::size_t last = std::size_t(-1)) {
  sim_runtime device{{.when = when, .seed = 3}};
  forgetful mutant{device, which, number};
  sim::shape const sizes{4};
  outcome seen;
  bool right = true;
  {
    auto const c = mutant.make_stream();
    field bar{mutant, sizes};
    sim::loop<forgetful> loop{device};
    auto const needed =
        device_capacity_for(s.plan, s.steps == form::in_place ? step_form::in_place : step_form::out_of_place);
    auto const step = [&, inner = loop.step()](field const& x, field& x1, step_index i, forgetful::stream in) {
      if (loop.steps == last) throw stopped{};
      inner(x, x1, i, in);
    };
    auto const step_in_place = [&, inner = loop.step_in_place()](field& x, step_index i, forgetful::stream in) {
      if (loop.steps == last) throw stopped{};
      inner(x, i, in);
    };
    std::vector<double*> frames;
    auto const make = [&] {
      field made{mutant, sizes};
      frames.push_back(made.numbers(0));
      return made;
    };
    try {
      device_sweep<forgetful, field> sweep{mutant, c, {needed.frames + s.more_frames, needed.host_slots}, make};
      for (int k = 0; k < 2; ++k) {
        if (s.steps == form::in_place)
          sweep.gradient(step_in_place, loop.start(), s.plan, loop.seed(), loop.adjoint(), bar);
        else sweep.gradient(step, loop.start(), s.plan, loop.seed(), loop.adjoint(), bar);
      }
      device.sync(c);
      for (double* const frame : frames)
        device.host_writes(frame, sizes[0] * sizeof(double));  // everything in the stream is done by then
      right = sim::numbers_of(device, bar) == sim::gradient_by_hand(sizes, s.plan.steps());
    } catch (stopped const&) {
    }
    device.sync(c);
    device.destroy(c);
  }
  seen.caught = device.faults() > 0 || !right;
  seen.waited_for = mutant.waited_for;
  seen.waits = mutant.waits;
  seen.first_fault = device.first_fault();
  return seen;
}

constexpr action save(tier where, slot_index slot, step_index at) {
  return {action_kind::save, where, content::state, slot, at, 0};
}
constexpr action load(tier where, slot_index slot, step_index at) {
  return {action_kind::load, where, content::state, slot, at, 0};
}
constexpr action drop(tier where, slot_index slot, step_index at) {
  return {action_kind::drop, where, content::state, slot, at, 0};
}
constexpr action steps(action_kind what, step_index from, step_index to) {
  return {what, tier::memory, content::state, no_slot, from, to};
}

/// A state that comes from the host goes to another slot there before any step has run, twice.
action_list from_slot_to_slot() {
  auto constexpr advance = action_kind::advance, turn = action_kind::turn, reverse = action_kind::reverse;
  return {4, 3, {save(tier::host, 0, 0), steps(advance, 0, 3),   save(tier::host, 1, 3), load(tier::host, 0, 0),
                 save(tier::host, 2, 0), drop(tier::host, 0, 0), load(tier::host, 1, 3), load(tier::host, 2, 0),
                 save(tier::host, 0, 0), load(tier::host, 1, 3), steps(turn, 3, 4),      steps(reverse, 3, 4),
                 drop(tier::host, 1, 3), drop(tier::host, 2, 0), load(tier::host, 0, 0), steps(advance, 0, 2),
                 steps(reverse, 2, 3),   load(tier::host, 0, 0), steps(advance, 0, 1),   steps(reverse, 1, 2),
                 load(tier::host, 0, 0), steps(reverse, 0, 1),   drop(tier::host, 0, 0)}};
}
/// A slot of the host is written again right after the copy that reads it: what comes from there is of no use.
action_list slot_again() {
  auto constexpr advance = action_kind::advance, turn = action_kind::turn, reverse = action_kind::reverse;
  return {3,
          3,
          {steps(advance, 0, 1),     save(tier::host, 0, 1),         steps(advance, 1, 2),
           save(tier::host, 1, 2),   save(tier::device, 2, 2),       load(tier::host, 0, 1),
           load(tier::host, 1, 2),   load(tier::host, 0, 1),         load(tier::device, 2, 2),
           drop(tier::host, 0, 1),   save(tier::host, 0, 2),         steps(turn, 2, 3),
           steps(reverse, 2, 3),     drop(tier::host, 0, 2),         drop(tier::host, 1, 2),
           drop(tier::device, 2, 2), load(tier::memory, no_slot, 0), steps(advance, 0, 1),
           steps(reverse, 1, 2),     load(tier::memory, no_slot, 0), steps(reverse, 0, 1)},
          {1, 0, true}};
}

/// Of planners.
std::vector<setting> settings() {
  std::vector<setting> all;
  for (form const steps : {form::out_of_place, form::in_place})
    for (slot_index const more : {0, 1, 2, 5}) {
      std::string const tag = std::string{steps == form::in_place ? " in place" : " out of place"} +
                              " with frames more " + std::to_string(more);
      all.push_back(
          {two_level{30, 6, 2, {.periods_on = tier::host, .extra_on = tier::device}}, steps, more, "two_level" + tag});
      all.push_back({two_level{12, 2, 1, {.periods_on = tier::host, .extra_on = tier::device}}, steps, more,
                     "two_level of short periods" + tag});
      all.push_back(
          {hrevolve{60, {{2, 0, 0, tier::device}, {4, 0.5, 0.25, tier::host}}}, steps, more, "hrevolve" + tag});
    }
  return all;
}
/// Of lists of actions, which no planner makes.
std::vector<setting> listed_settings() {
  std::vector<setting> all;
  for (form const steps : {form::out_of_place, form::in_place})
    for (slot_index const more : {0, 1, 2, 5}) {
      std::string const tag = std::string{steps == form::in_place ? " in place" : " out of place"} +
                              " with frames more " + std::to_string(more);
      all.push_back({from_slot_to_slot(), steps, more, "from slot to slot" + tag});
      all.push_back({slot_again(), steps, more, "a slot again" + tag});
    }
  return all;
}

struct edges_found {
  std::vector<forgetful::edge> edges;
  std::size_t left_out = 0;
  [[nodiscard]] bool has(forgetful::edge one) const {
    return std::find(edges.begin(), edges.end(), one) != edges.end();
  }
};
/// Who waits for whom in these sweeps. That each wait which may be left out is needed is checked.
template <class May>
edges_found with_waits_left_out(std::vector<setting> const& all, May may) {
  edges_found found;
  for (auto const& s : all) {
    INFO(s.name);
    auto const whole = run(s, sim::order::laziest, call::none, 0);
    REQUIRE_FALSE(whole.caught);
    for (std::size_t k = 0; k < whole.waits.size(); ++k) {
      if (!may(whole.waits[k])) continue;
      auto const mutant = run(s, sim::order::laziest, call::wait, k);
      INFO("without wait " << k << " of " << whole.waits.size() << ": stream " << whole.waits[k].later << " after "
                           << whole.waits[k].earlier);
      CHECK(mutant.caught);
      ++found.left_out;
      if (!found.has(whole.waits[k])) found.edges.push_back(whole.waits[k]);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("every wait of a sweep is needed", "[cuda]") {
  auto const found = with_waits_left_out(settings(), [](forgetful::edge) { return true; });
  CHECK(found.left_out > 500);
  // Who waits for whom: a state is written before it is sent, a slot full before it is read, a frame free or full
  // before steps use it.
  for (auto const& edge : {forgetful::edge{down, compute}, {up, compute}, {up, down}, {compute, down}, {compute, up}}) {
    INFO("stream " << edge.later << " after " << edge.earlier);
    CHECK(found.has(edge));
  }
  // A slot is written again, and a frame is sent, only after the copy from the host that used it. This needs no wait of
  // its own: the steps for which a state was loaded come between.
  CHECK_FALSE(found.has({down, up}));
}

TEST_CASE("no sweep that a planner makes has a copy to the host wait for a copy from there", "[cuda]") {
  std::size_t waits = 0;
  for (step_index const n : {1, 2, 7, 20, 41})
    for (slot_index const slots : {1, 2, 3, 5, 12})
      for (form const steps : {form::out_of_place, form::in_place})
        for (slot_index const more : {0, 1, 2, 3})
          for (any_schedule const& plan :
               {any_schedule{two_level{n, slots, 0, {.periods_on = tier::host, .extra_on = tier::device}}},
                any_schedule{two_level{n, slots, 2, {.periods_on = tier::host, .extra_on = tier::device}}},
                any_schedule{hrevolve{n, {{slots, 0, 0, tier::device}, {4, 0.5, 0.25, tier::host}}}},
                any_schedule{hrevolve{n, {{1, 0, 0, tier::device}, {slots, 0, 0, tier::host}}}}}) {
            auto const seen = run({plan, steps, more, ""}, sim::order::eager, call::none, 0);
            REQUIRE_FALSE(seen.caught);
            REQUIRE(std::find(seen.waits.begin(), seen.waits.end(), forgetful::edge{down, up}) == seen.waits.end());
            waits += seen.waits.size();
          }
  CHECK(waits > 10'000);
}

TEST_CASE("where no step comes between a load and a save, copies to the host wait for copies from there, and have to",
          "[cuda]") {
  auto const found = with_waits_left_out(listed_settings(), [](forgetful::edge one) {
    return one == forgetful::edge{down, up};
  });
  CHECK(found.left_out > 16);
}

TEST_CASE("every record that a sweep waits for is needed", "[cuda][long]") {
  std::size_t left_out = 0;
  for (auto const& s : settings()) {
    INFO(s.name);
    auto const whole = run(s, sim::order::laziest, call::none, 0);
    for (std::size_t k = 0; k < whole.waited_for.size(); ++k) {
      if (!whole.waited_for[k]) continue;
      INFO("without record " << k << " of " << whole.waited_for.size());
      CHECK(run(s, sim::order::laziest, call::record, k).caught);
      ++left_out;
    }
  }
  CHECK(left_out > 500);
}

TEST_CASE("when a step throws, each of the three streams has to be waited for", "[cuda]") {
  std::size_t caught[3] = {}, all = 0;
  for (auto const& s : settings())
    for (std::size_t last = 0; last < 40; ++last, ++all) {
      INFO(s.name << ", step call " << last << " throws");
      REQUIRE_FALSE(run(s, sim::order::laziest, call::none, 0, last).caught);
      for (std::size_t stream : {compute, down, up})
        if (run(s, sim::order::laziest, call::sync, stream, last).caught) ++caught[stream];
    }
  CHECK(caught[compute] > all / 2);
  CHECK(caught[down] > all / 2);
  CHECK(caught[up] > 50);
}
