// SPDX-License-Identifier: Apache-2.0
// C functions behind `void*` become callables on a state that owns its memory; what they return becomes an exception,
// which goes no further than the three functions at the end of this file.

#include <cairn/c/cairn_loop.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#if defined(CAIRN_LOOP_DISK)
#include <cairn/adapt/disk.hpp>
#include <cairn/planning.hpp>
#endif

namespace {

/// A callback returned something else than 0.
struct callback_failed {
  cairn_status status;
  int code;
  cairn::step_index step = -1;
};

/// Calls a callback of the caller's.
template <class... Args>
void call(cairn_status failed, cairn::step_index i, int (*callback)(Args...), std::type_identity_t<Args>... args) {
  if (int const code = callback(args...); code != 0) throw callback_failed{failed, code, i};
}

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
  /// For runs on disk, whose states are plain bytes.
  void write_state(auto& sink) const { sink(memory_, loop_->state_bytes); }
  void read_state(auto& source) {
    if (lent_) *this = c_state{*this};
    source(memory_, loop_->state_bytes);
  }
  /// For `cairn_check`, whose states are arrays of double.
  template <class F>
  void visit_numbers(F&& f) {
    f(static_cast<double*>(memory_), loop_->state_bytes / sizeof(double));
  }
  template <class F>
  void visit_numbers(F&& f) const {
    f(static_cast<double const*>(memory_), loop_->state_bytes / sizeof(double));
  }

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

/// The adjoint, and the terms of the objective that were met with it, so that a record on disk has both.
struct c_bar {
  std::vector<unsigned char> memory;  // no struct: padding is not written to files
  double value = 0;
};
[[nodiscard]] std::size_t bar_bytes(cairn_loop const& loop) noexcept {
  return loop.bar_bytes != 0 ? loop.bar_bytes : loop.state_bytes;
}

/// Parameters, or sums, where the caller has them.
template <class Number>
class c_numbers {
 public:
  c_numbers(Number* first, std::size_t count) : first_{first}, count_{count} {}
  template <class F>
  void visit_numbers(F&& f) const {
    f(first_, count_);
  }
  void write_state(auto& sink) const {
    std::uint64_t const count = count_;
    sink(&count, sizeof count);
    sink(first_, count_ * sizeof(Number));
  }
  void read_state(auto& source) {
    std::uint64_t count = 0;
    source(&count, sizeof count);
    if (count != count_)
      throw cairn::invalid_call{
          "cairn_gradient", "the folder has another number of sums", {{"numbers", count}}, "remove it"};
    source(first_, count_ * sizeof(Number));
  }

 private:
  Number* first_;
  std::size_t count_;
};
using c_params = c_numbers<double const>;
using c_sums = c_numbers<double>;

// A run on disk is known by the places of the callbacks; what these read is the key's.
struct c_step {
  cairn_loop const& loop;
  void operator()(c_state& x, c_params const&, cairn::step_index i) const {
    call(CAIRN_STEP_FAILED, i, loop.step, x.get_memory(), i, loop.user);
  }
  void each_function(auto const& look) const { look(*loop.step); }
};
struct c_terms {
  cairn_loop const& loop;
  /// The term at state i, if there is one.
  void add(c_state const& x, c_bar& bar, cairn::step_index i) const {
    if (loop.term == nullptr || i == 0) return;
    if (loop.term_every == 0 ? i != loop.steps : i % loop.term_every != 0) return;
    double value = 0;
    call(CAIRN_TERM_FAILED, i, loop.term, x.get_memory(), i, &value, loop.user);
    bar.value += value;
    call(CAIRN_TERM_FAILED, i, loop.term_adjoint, x.get_memory(), bar.memory.data(), i, loop.user);
  }
  void each_function(auto const& look) const {
    look(loop.term_every);
    if (loop.term != nullptr) look(*loop.term), look(*loop.term_adjoint);
  }
};
struct c_adjoint {
  c_terms terms;
  void operator()(c_state const& x, c_bar& bar, c_params const&, c_sums&, cairn::step_index i) const {
    auto const& loop = terms.loop;
    call(CAIRN_ADJOINT_FAILED, i, loop.adjoint, x.get_memory(), bar.memory.data(), i, loop.user);
    terms.add(x, bar, i);
  }
  void each_function(auto const& look) const { look(*terms.loop.adjoint), look(terms); }
};
struct c_seed {
  c_terms terms;
  void const* given;  ///< what the caller's adjoint holds
  c_bar operator()(c_state const& last) const {
    auto const& loop = terms.loop;
    auto const bytes = bar_bytes(loop);
    c_bar bar{std::vector<unsigned char>(bytes), 0};
    if (loop.seed != nullptr || loop.term == nullptr) std::memcpy(bar.memory.data(), given, bytes);
    if (loop.seed != nullptr) call(CAIRN_SEED_FAILED, -1, loop.seed, last.get_memory(), bar.memory.data(), loop.user);
    terms.add(last, bar, loop.steps);
    return bar;
  }
  void each_function(auto const& look) const {
    if (terms.loop.seed != nullptr) look(*terms.loop.seed);
    else if (terms.loop.term == nullptr) look(contents());
    look(terms);
  }

 private:
  [[nodiscard]] std::vector<unsigned char> contents() const {
    auto const* const first = static_cast<unsigned char const*>(given);
    return {first, first + bar_bytes(terms.loop)};
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
  if (loop->create != nullptr && loop->bar_bytes == 0)
    throw cairn::invalid_call{who, "bar_bytes is 0, and `create` makes states", {}, "give the size of the adjoint"};
  if ((loop->term == nullptr) != (loop->term_adjoint == nullptr))
    throw cairn::invalid_call{who, "only one of term and term_adjoint is set", {}, "set both, or none"};
  if (loop->term_every < 0 || (loop->term != nullptr && loop->term_every > loop->steps))
    throw cairn::invalid_call{who,
                              "there is no term at any state of the loop",
                              {{"term_every", loop->term_every}, {"steps", loop->steps}},
                              "give 1 to the number of steps, or 0 for the final state"};
  if ((loop->p == nullptr) != (loop->p_numbers == 0) || (loop->dp == nullptr) != (loop->dp_numbers == 0))
    throw cairn::invalid_call{who,
                              "parameters, or their sums, are given without their number, or the other way round",
                              {{"p_numbers", loop->p_numbers}, {"dp_numbers", loop->dp_numbers}},
                              "give both"};
}
/// Of a run on disk.
void need_folder(char const* who, cairn_loop const& loop) {
#if !defined(CAIRN_LOOP_DISK)
  throw cairn::invalid_call{
      who, "this library was built without files", {}, "link cairn::disk beside it, which needs xxHash"};
#endif
  if (loop.create != nullptr)
    throw cairn::invalid_call{who, "states that `create` makes cannot be written to files", {}, "use plain bytes"};
  if (loop.key == nullptr)
    throw cairn::invalid_call{who,
                              "the run on disk has no key",
                              {},
                              "give a text that is another one when what callbacks read, besides x0 and p, is another"};
  if (loop.slots < 1 || loop.disk_slots < 1 || loop.memory_bytes != 0)
    throw cairn::invalid_plan{
        who,
        "a run on disk has slots and disk_slots",
        {{"slots", loop.slots}, {"disk_slots", loop.disk_slots}, {"memory_bytes", loop.memory_bytes}},
        "give 1 or more of both, and no memory_bytes"};
}

/// The cost of a sweep without what the caller holds: its initial state and parameters.
cairn::cost cost_of(cairn_loop const& loop, cairn::revolve const& plan) {
  cairn::workload work;
  work.state_inline_bytes = sizeof(c_state);
  work.state_bytes = cairn::wide{sizeof(c_state)} + loop.state_bytes;
  work.initial_bytes = 0;
  work.adjoint_bytes = sizeof(c_bar) + bar_bytes(loop);
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
    throw cairn::invalid_plan{
        who, "a loop cannot have a negative number of steps", {{"steps", loop.steps}}, "give 0 or more"};
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
  if (value > (std::numeric_limits<std::uint64_t>::max)())
    throw cairn::overflow_error{"cairn_loop", "a count does not fit 64 bits", {{what, value}}, "keep more states"};
  return std::uint64_t(value);
}

char const* name_of(cairn::phase phase) {
  return phase == cairn::phase::forward ? "forward" : phase == cairn::phase::reverse ? "reverse" : "recompute";
}
char const* name_of(cairn_status status) {
  switch (status) {
    case CAIRN_STEP_FAILED:
      return "step";
    case CAIRN_ADJOINT_FAILED:
      return "adjoint";
    case CAIRN_SEED_FAILED:
      return "seed";
    case CAIRN_TERM_FAILED:
      return "term";
    default:
      return "copy";
  }
}

cairn_status status_of(cairn::error const& e) {
  auto const is_a = [&]<class Error>(std::type_identity<Error>) { return dynamic_cast<Error const*>(&e) != nullptr; };
  if (is_a(std::type_identity<cairn::stopped>{})) return CAIRN_STOPPED;
  if (is_a(std::type_identity<cairn::file_error>{}) || is_a(std::type_identity<cairn::storage_full>{}) ||
      is_a(std::type_identity<cairn::directory_busy>{}))
    return CAIRN_FILES_FAILED;
  return CAIRN_BAD_ARGUMENT;
}

void say(cairn_report& report, char const* text) { std::snprintf(report.message, sizeof report.message, "%s", text); }

/// Runs f, which returns a status, and turns all that it throws into one.
/// \param work  where the step and phase of a failure are written, may be NULL
template <class F>
int guarded(char const* who, cairn_report* wanted, workspace const* work, F f) noexcept {
  cairn_report unwanted, &report = wanted != nullptr ? *wanted : unwanted;
  report = {};
  report.step = report.resumed_at = -1, report.phase = "";
  try {
    report.status = f(report);
    return report.status;
  } catch (callback_failed const& e) {
    report.status = e.status;
    report.callback_code = e.code;
    report.step = e.step;
    std::snprintf(report.message, sizeof report.message, "%s: loop->%s returned %d", who, name_of(e.status), e.code);
  } catch (cairn::error const& e) {
    report.status = status_of(e);
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
  }
  if (report.step >= 0) {
    auto const length = std::strlen(report.message);
    std::snprintf(report.message + length, sizeof report.message - length,
                  *report.phase != 0 ? " in step %lld (%s)" : " in step %lld", static_cast<long long>(report.step),
                  report.phase);
  }
  return report.status;
}

}  // namespace

extern "C" int cairn_gradient(cairn_loop const* loop, void const* x0, void* bar, cairn_report* report) {
  constexpr char const* who = "cairn_gradient";
  workspace work;
  return guarded(who, report, &work, [&](cairn_report& found) {
    need_callbacks(who, loop, x0);
    need(who, bar, "the adjoint is NULL");
    c_state const initial{*loop, x0};  // as an lvalue: a temporary would be moved into the sweep, and changed there
    c_params const p{loop->p, loop->p_numbers};
    c_sums dp{loop->dp, loop->dp_numbers};
    c_terms const terms{*loop};
    cairn::sweep_report swept;
    auto const run = [&](auto const& plan, auto&... where) {
      c_bar const got = cairn::gradient(c_step{*loop}, initial, plan, c_seed{terms, bar}, c_adjoint{terms},
                                        cairn::wrt{p, dp}, swept, where...);
      std::memcpy(bar, got.memory.data(), bar_bytes(*loop));
      found.value = got.value;
    };
    if (loop->folder == nullptr) run(plan_of(who, *loop), work);
    else {
      need_folder(who, *loop);
#if defined(CAIRN_LOOP_DISK)
      cairn::disk_options options{.key = loop->key};
      if (loop->stop != nullptr) options.stop = [loop] { return loop->stop(loop->user) != 0; };
      cairn::disk const on{loop->folder, options};
      run(cairn::multistage{loop->steps, loop->slots, loop->disk_slots}, on);
      auto const did = on.report();
      found.resumed_at = did.resumed_at;
      say(found, did.why);
      swept.step_calls = did.step_calls;
#endif
    }
    found.slots = swept.slots;
    found.step_calls = in_64_bits("step_calls", swept.step_calls);
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
    auto const step = [loop](c_state& x, cairn::step_index i) {
      call(CAIRN_STEP_FAILED, i, loop->step, x.get_memory(), i, loop->user);
    };
    auto const adjoint = [loop](c_state const& x, c_state& bar, cairn::step_index i) {
      call(CAIRN_ADJOINT_FAILED, i, loop->adjoint, x.get_memory(), bar.get_memory(), i, loop->user);
    };
    auto const answer = cairn::check_adjoint(step, adjoint, c_state{*loop, x0}, loop->steps);
    say(found, answer.text().c_str());
    return answer.passed() ? int{CAIRN_OK} : int{CAIRN_WRONG_ADJOINT};
  });
}
