// SPDX-License-Identifier: Apache-2.0
// C functions behind `void*` become callables on a state that owns its memory; what they return becomes an exception,
// which goes no further than the three functions at the end of this file.

#include "cairn_loop.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

namespace {

/// A callback returned something else than 0.
struct callback_failed {
  cairn_status status;
  int code;
};

/// One state of a loop, in memory of its own.
class c_state {
 public:
  /// The caller's initial state; it is copied, and neither changed nor destroyed.
  c_state(cairn_loop const& loop, void const* lent) : loop_{&loop}, memory_{const_cast<void*>(lent)}, lent_{true} {}
  c_state(c_state const& from) : c_state{*from.loop_} { copy(from); }
  c_state(c_state&& from) noexcept
      : loop_{from.loop_}, memory_{std::exchange(from.memory_, nullptr)}, lent_{from.lent_} {}
  c_state& operator=(c_state const& from) {
    if (this == &from) return *this;
    if (memory_ != nullptr && !lent_) copy(from);
    else *this = c_state{from};
    return *this;
  }
  c_state& operator=(c_state&& from) noexcept {
    std::swap(loop_, from.loop_);
    std::swap(memory_, from.memory_);
    std::swap(lent_, from.lent_);
    return *this;
  }
  ~c_state() {
    if (memory_ == nullptr || lent_) return;
    if (loop_->destroy != nullptr) loop_->destroy(memory_, loop_->user);
    else ::operator delete(memory_);
  }

  [[nodiscard]] void* get_memory() noexcept { return memory_; }
  [[nodiscard]] void const* get_memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(c_state) + loop_->state_bytes; }
  /// For `cairn_check`, whose states are arrays of double.
  template <class F>
  void visit_numbers(F&& f) { f(static_cast<double*>(memory_), loop_->state_bytes / sizeof(double)); }
  template <class F>
  void visit_numbers(F&& f) const { f(static_cast<double const*>(memory_), loop_->state_bytes / sizeof(double)); }

 private:
  explicit c_state(cairn_loop const& loop)
      : loop_{&loop},
        memory_{loop.create != nullptr ? loop.create(loop.user) : ::operator new(loop.state_bytes)},
        lent_{false} {
    if (memory_ == nullptr) throw std::bad_alloc{};
  }
  void copy(c_state const& from) {
    if (loop_->copy == nullptr) std::memcpy(memory_, from.memory_, loop_->state_bytes);
    else if (int const code = loop_->copy(from.memory_, memory_, loop_->user); code != 0)
      throw callback_failed{CAIRN_COPY_FAILED, code};
  }

  cairn_loop const* loop_;
  void* memory_;
  bool lent_;
};

/// What a sweep carries of the caller's adjoint, which stays where it is: nothing.
struct c_bar {};

struct c_step {
  cairn_loop const& loop;
  void operator()(c_state& x, cairn::step_index i) const {
    if (int const code = loop.step(x.get_memory(), i, loop.user); code != 0)
      throw callback_failed{CAIRN_STEP_FAILED, code};
  }
};
struct c_adjoint {
  cairn_loop const& loop;
  void* memory;
  void pull(void const* state, void* bar, cairn::step_index i) const {
    if (int const code = loop.adjoint(state, bar, i, loop.user); code != 0)
      throw callback_failed{CAIRN_ADJOINT_FAILED, code};
  }
  void operator()(c_state const& x, c_bar&, cairn::step_index i) const { pull(x.get_memory(), memory, i); }
  void operator()(c_state const& x, c_state& bar, cairn::step_index i) const {
    pull(x.get_memory(), bar.get_memory(), i);
  }
};
struct c_seed {
  cairn_loop const& loop;
  void* memory;
  c_bar operator()(c_state const& last) const {
    if (loop.seed != nullptr)
      if (int const code = loop.seed(last.get_memory(), memory, loop.user); code != 0)
        throw callback_failed{CAIRN_SEED_FAILED, code};
    return {};
  }
};

using workspace = cairn::workspace<c_state, cairn::revolve>;

void need(char const* who, void const* pointer, char const* problem) {
  if (pointer == nullptr) throw cairn::invalid_call{who, problem, {}, "set it"};
}
void need_sizes(char const* who, cairn_loop const* loop) {
  need(who, loop, "the loop is NULL");
  if (loop->state_bytes == 0)
    throw cairn::invalid_call{who, "a state of no bytes", {{"state_bytes", 0}}, "give the size of one state"};
}
void need_callbacks(char const* who, cairn_loop const* loop, void const* x0) {
  need_sizes(who, loop);
  if (loop->step == nullptr) throw cairn::invalid_call{who, "loop->step is NULL", {}, "set it"};
  if (loop->adjoint == nullptr) throw cairn::invalid_call{who, "loop->adjoint is NULL", {}, "set it"};
  int const set = (loop->create != nullptr) + (loop->copy != nullptr) + (loop->destroy != nullptr);
  if (set != 0 && set != 3)
    throw cairn::invalid_call{
        who, "only some of create, copy and destroy are set", {{"set", set}}, "set all three, or none for plain bytes"};
  need(who, x0, "the initial state is NULL");
}

/// The cost of a sweep without what the caller holds: its initial state and its adjoint.
cairn::cost cost_of(cairn_loop const& loop, cairn::revolve const& plan) {
  cairn::workload work;
  work.state_inline_bytes = sizeof(c_state);
  work.state_bytes = cairn::wide{sizeof(c_state)} + loop.state_bytes;
  work.initial_bytes = work.adjoint_bytes = 0;
  return cairn::estimate(plan, work);
}

/// The plan with as many slots as the loop says, or as the memory has room for.
cairn::revolve plan_of(char const* who, cairn_loop const& loop) {
  if ((loop.slots == 0) == (loop.memory_bytes == 0))
    throw cairn::invalid_plan{who,
                              "one of slots and memory_bytes must be given",
                              {{"slots", loop.slots}, {"memory_bytes", loop.memory_bytes}},
                              "leave the other one 0"};
  if (loop.steps < 0)
    throw cairn::invalid_plan{who, "a loop cannot have a negative number of steps",
                              {{"steps", loop.steps}}, "give 0 or more"};
  if (loop.slots < 0)
    throw cairn::invalid_plan{who, "too few slots", {{"slots", loop.slots}}, "give 1 or more, or 0 and memory_bytes"};
  if (loop.slots != 0) return {loop.steps, loop.slots};
  cairn::wide const least = cost_of(loop, {loop.steps, 1}).peak_bytes;
  if (least > loop.memory_bytes)
    throw cairn::infeasible_budget{who,
                                   "not even one state can be kept",
                                   {{"memory_bytes", loop.memory_bytes}, {"least", least}},
                                   "give that much"};
  cairn::slot_index fits = 1, above = std::max<cairn::slot_index>(loop.steps, 2);
  if (loop.memory_bytes / loop.state_bytes < std::uint64_t(above))
    above = cairn::slot_index(loop.memory_bytes / loop.state_bytes) + 1;
  while (above - fits > 1) {
    auto const middle = fits + (above - fits) / 2;
    (cost_of(loop, {loop.steps, middle}).peak_bytes <= loop.memory_bytes ? fits : above) = middle;
  }
  return {loop.steps, fits};
}

std::uint64_t in_64_bits(char const* what, cairn::wide value) {
  if (value > std::numeric_limits<std::uint64_t>::max())
    throw cairn::overflow_error{"cairn_estimate", "a count does not fit 64 bits", {{what, value}}, "keep more states"};
  return std::uint64_t(value);
}

char const* name_of(cairn::phase phase) {
  return phase == cairn::phase::forward ? "forward" : phase == cairn::phase::reverse ? "reverse" : "recompute";
}
char const* name_of(cairn_status status) {
  switch (status) {
    case CAIRN_STEP_FAILED: return "step";
    case CAIRN_ADJOINT_FAILED: return "adjoint";
    case CAIRN_SEED_FAILED: return "seed";
    default: return "copy";
  }
}

void say(cairn_report& report, char const* text) { std::snprintf(report.message, sizeof report.message, "%s", text); }

/// Runs f, which returns a status, and turns all that it throws into one.
/// \param work  where the step and phase of a failure are written, may be NULL
template <class F>
int guarded(char const* who, cairn_report* wanted, workspace const* work, F f) noexcept {
  cairn_report unwanted, &report = wanted != nullptr ? *wanted : unwanted;
  report = {CAIRN_OK, 0, -1, "", ""};
  try {
    report.status = f(report);
    return report.status;
  } catch (callback_failed const& e) {
    report.status = e.status;
    report.callback_code = e.code;
    std::snprintf(report.message, sizeof report.message, "%s: loop->%s returned %d", who, name_of(e.status), e.code);
  } catch (cairn::error const& e) {
    report.status = CAIRN_BAD_ARGUMENT;
    say(report, e.what());
    return report.status;
  } catch (std::bad_alloc const&) {
    report.status = CAIRN_NO_MEMORY;
    std::snprintf(report.message, sizeof report.message, "%s: there is not enough memory", who);
  } catch (std::exception const& e) {
    report.status = CAIRN_INTERNAL;
    std::snprintf(report.message, sizeof report.message, "%s: %s", who, e.what());
  } catch (...) {
    report.status = CAIRN_INTERNAL;
    std::snprintf(report.message, sizeof report.message, "%s: an exception of unknown type", who);
  }
  if (work != nullptr && work->failure().failed) {
    report.step = work->failure().step;
    report.phase = name_of(work->failure().phase);
    auto const length = std::strlen(report.message);
    std::snprintf(report.message + length, sizeof report.message - length, " in step %lld (%s)",
                  static_cast<long long>(report.step), report.phase);
  }
  return report.status;
}

}  // namespace

extern "C" int cairn_gradient(cairn_loop const* loop, void const* x0, void* bar, cairn_report* report) {
  constexpr char const* who = "cairn_gradient";
  workspace work;
  return guarded(who, report, &work, [&](cairn_report&) {
    need_callbacks(who, loop, x0);
    need(who, bar, "the adjoint is NULL");
    c_state const initial{*loop, x0};  // as an lvalue: a temporary would be moved into the sweep, and changed there
    cairn::gradient(c_step{*loop}, initial, plan_of(who, *loop), c_seed{*loop, bar}, c_adjoint{*loop, bar}, work);
    return int{CAIRN_OK};
  });
}

extern "C" int cairn_estimate(cairn_loop const* loop, cairn_cost* cost, cairn_report* report) {
  constexpr char const* who = "cairn_estimate";
  return guarded(who, report, nullptr, [&](cairn_report&) {
    need_sizes(who, loop);
    need(who, cost, "the cost is NULL");
    auto const plan = plan_of(who, *loop);
    auto const sum = cost_of(*loop, plan);
    *cost = {plan.slots(), sum.peak_states, in_64_bits("peak_bytes", sum.peak_bytes),
             in_64_bits("step_calls", sum.step_calls)};
    return int{CAIRN_OK};
  });
}

extern "C" int cairn_check(cairn_loop const* loop, void const* x0, cairn_report* report) {
  constexpr char const* who = "cairn_check";
  return guarded(who, report, nullptr, [&](cairn_report& found) {
    need_callbacks(who, loop, x0);
    if (loop->create != nullptr || loop->state_bytes % sizeof(double) != 0)
      throw cairn::invalid_call{who,
                                "the state is no array of double that is copied as plain bytes",
                                {{"state_bytes", loop->state_bytes}},
                                "check the step on one that is"};
    auto const answer = cairn::check_adjoint(c_step{*loop}, c_adjoint{*loop, nullptr}, c_state{*loop, x0}, loop->steps);
    say(found, answer.text().c_str());
    return answer.passed() ? int{CAIRN_OK} : int{CAIRN_WRONG_ADJOINT};
  });
}
