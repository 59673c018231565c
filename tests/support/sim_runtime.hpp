// SPDX-License-Identifier: Apache-2.0
// A device on the CPU, for tests of what is written over a `cairn::device_runtime`. Its streams run in an adversarial
// order, every access is checked against what streams, events and waits order (so that a missing edge is found on the
// first run, in any order), time is virtual, and any call can be made to fail.
//
//   sim_runtime device{{.when = sim::order::random, .seed = 7}};
//   device.launch(stream, {sim::reads(a, bytes), sim::writes(b, bytes)}, [=] { ... }, 2.5);   // a kernel that
//   takes 2.5 CHECK(device.faults() == 0);                                                              // else
//   device.first_fault() says what
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>
#include "support/sim_capture.hpp"
#include "support/sim_clock.hpp"
#include "support/sim_failures.hpp"
#include "support/sim_faults.hpp"
#include "support/sim_memory.hpp"
#include "support/sim_order.hpp"
#include "support/sim_timeline.hpp"

namespace sim {

struct options {
  order when = order::random;
  std::uint64_t seed = 1;
  costs time{};
  std::size_t device_bytes = std::size_t{1} << 40;  ///< of which allocations take
  std::size_t pinned_bytes = std::size_t{1} << 40;
  int device = 0;  ///< the number of the device
};

/// What was asked of a runtime. Calls that failed are not in it.
struct counts {
  std::size_t allocations = 0, frees = 0;  ///< of device memory
  std::size_t pins = 0, unpins = 0;  ///< of host memory
  std::size_t streams_made = 0, events_made = 0, streams_alive = 0, events_alive = 0;
  std::size_t records = 0, waits = 0, syncs = 0, queries = 0, launches = 0, device_syncs = 0;
  std::size_t copies[3] = {}, bytes[3] = {};  ///< by `cairn::copy_kind`
  std::size_t zeroed = 0;  ///< calls of zero
  std::size_t graphs_made = 0, graphs_alive = 0, nodes_captured = 0,
              replays = 0;                       ///< what replays run is not in the counts above
  std::size_t device_peak = 0, pinned_peak = 0;  ///< most bytes held at once
};

class runtime {
 public:
  /// Handles; the default ones are none.
  struct stream { std::size_t number = std::size_t(-1); friend bool operator==(stream, stream) = default; };
  struct event { std::size_t number = std::size_t(-1); friend bool operator==(event, event) = default; };
  struct graph { std::size_t number = std::size_t(-1); friend bool operator==(graph, graph) = default; };

  explicit runtime(options const& chosen = {})
      : options_{chosen}, queues_{chosen.when, chosen.seed}, timeline_{chosen.time.copy_engines == 1} {}
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  // The sixteen primitives; see cairn::device_runtime.
  void* device_alloc(std::size_t bytes) { return take(call::device_alloc, "sim::device_alloc", place::device, bytes); }
  void device_free(void* at) noexcept { give_up(at, place::device); }
  void* pinned_alloc(std::size_t bytes) { return take(call::pinned_alloc, "sim::pinned_alloc", place::pinned, bytes); }
  void pinned_free(void* at) noexcept { give_up(at, place::pinned); }

  stream make_stream() {
    begin(call::make_stream, "sim::make_stream");
    not_quiet("a stream is made");
    ++counts_.streams_made;
    ++counts_.streams_alive;
    return add_stream();
  }
  void destroy(stream which) noexcept {
    not_quiet("a stream is destroyed");
    if (!is_alive(which)) return;
    if (is_captured(which)) spoil();
    stream_state& state = streams_[which.number];
    if (!failures_.lost() && !host_.knows({thread_of(which), state.known.at(thread_of(which))}))
      faults_.add(fault::destroyed_in_use,
                  memory::name(thread_of(which)) + " is destroyed before the host waited for all that is in it");
    state.alive = false;
    --counts_.streams_alive;
  }
  event make_event() {
    begin(call::make_event, "sim::make_event");
    not_quiet("an event is made");
    events_.emplace_back();
    ++counts_.events_made;
    ++counts_.events_alive;
    return {events_.size() - 1};
  }
  void destroy(event which) noexcept {
    not_quiet("an event is destroyed");
    if (!is_alive(which)) return;
    for (stamp const& use : events_[which.number].uses)
      if (!failures_.lost() && !host_.knows(use)) {
        faults_.add(fault::destroyed_in_use,
                    "an event is destroyed before the host waited for its use in " + memory::name(use.thread));
        break;
      }
    events_[which.number].alive = false;
    events_[which.number].uses.clear();
    --counts_.events_alive;
  }

  void record(event which, stream at) {
    begin(call::record, "sim::record");
    need_alive(which, call::record, "sim::record");
    need_alive(at, call::record, "sim::record");
    timeline_.pass(options_.time.call);
    ++counts_.records;
    event_state& state = events_[which.number];
    if (is_captured(at)) state.record = capture_of(at, "sim::record").put_record(at.number);
    else record_now(state, at);
    state.captured_in = streams_[at.number].captured_in;
  }
  void wait(stream which, event until) {
    begin(call::wait, "sim::wait");
    need_alive(which, call::wait, "sim::wait");
    need_alive(until, call::wait, "sim::wait");
    timeline_.pass(options_.time.call);
    ++counts_.waits;
    event_state& state = events_[until.number];
    if (is_captured(which) || state.captured_in != no_capture) wait_captured(which, state);
    else if (state.recorded) wait_now(which, state);
  }
  void sync(event which) {
    begin(call::sync, "sim::sync");
    need_alive(which, call::sync, "sim::sync");
    not_captured("sim::sync");
    not_captured(events_[which.number], "sim::sync");
    ++counts_.syncs;
    if (events_[which.number].recorded) wait_here(events_[which.number]);
  }
  void sync(stream which) {
    begin(call::sync, "sim::sync");
    need_alive(which, call::sync, "sim::sync");
    not_captured("sim::sync");
    ++counts_.syncs;
    wait_here(end_of(which));
  }
  [[nodiscard]] bool done(event which) {
    begin(call::done, "sim::done");
    need_alive(which, call::done, "sim::done");
    not_captured("sim::done");
    not_captured(events_[which.number], "sim::done");
    ++counts_.queries;
    event_state const& state = events_[which.number];
    if (!state.recorded) return true;
    queues_.nudge();
    if (!queues_.has_run(state.place)) {
      if (++asked_in_vain_ % 8 == 0) queues_.step_towards(state.place);  // who asks for ever gets there
      return false;
    }
    wait_here(state);
    return true;
  }
  /// Runs in two halves, between which others may run.
  void copy(void* to, void const* from, std::size_t bytes, cairn::copy_kind kind, stream in) {
    begin(call::copy, "sim::copy");
    need_alive(in, call::copy, "sim::copy");
    if (bytes == 0) return;
    if (!is_captured(in)) {
      ++counts_.copies[std::size_t(kind)];
      counts_.bytes[std::size_t(kind)] += bytes;
    }
    need_in(from, bytes, kind == cairn::copy_kind::host_to_device ? place::pinned : place::device);
    need_in(to, bytes, kind == cairn::copy_kind::device_to_host ? place::pinned : place::device);
    costs const& time = options_.time;
    timeline_.pass(time.launch);
    engine const by = kind == cairn::copy_kind::device_to_device   ? engine::compute
                      : kind == cairn::copy_kind::host_to_device ? engine::to_device
                                                                 : engine::to_host;
    double const a_byte = by == engine::compute     ? time.byte_within
                          : by == engine::to_device ? time.byte_to_device
                                                    : time.byte_to_host;
    double const cost = time.copy + a_byte * double(bytes);
    auto const part = [&](std::size_t begin, std::size_t size) {
      auto* const target = static_cast<char*>(to) + begin;
      auto const* const source = static_cast<char const*>(from) + begin;
      put(
          in, {reads(source, size), writes(target, size)}, [=] { std::memcpy(target, source, size); }, by,
          begin == 0 ? cost : 0, begin == 0);
    };
    if (bytes > 1) part(0, bytes / 2);
    part(bytes / 2, bytes - bytes / 2);
  }
  [[nodiscard]] std::size_t free_bytes() {
    begin(call::free_bytes, "sim::free_bytes");
    return free_now(place::device);
  }
  [[nodiscard]] int device() const { return options_.device; }

  /// A kernel: calls `work` when its turn comes. `accesses` are the bytes that it reads and writes, all of them in this
  /// runtime's memory. \param cost  virtual time; `costs::kernel` where it is negative
  void launch(stream in, std::vector<access> const& accesses, std::function<void()> work, double cost = -1) {
    if (!begin(call::launch, "sim::launch")) return;
    need_alive(in, call::launch, "sim::launch");
    if (!is_captured(in)) ++counts_.launches;
    timeline_.pass(options_.time.launch);
    put(in, accesses, std::move(work), engine::compute, cost < 0 ? options_.time.kernel : cost, true);
  }

  // What a cairn::zeroing_runtime does beside.
  void zero(void* to, std::size_t bytes, stream in) {
    begin(call::zero, "sim::zero");
    need_alive(in, call::zero, "sim::zero");
    if (bytes == 0) return;
    need_in(to, bytes, place::device);
    if (!is_captured(in)) ++counts_.zeroed;
    timeline_.pass(options_.time.launch);
    double const cost = options_.time.copy + options_.time.byte_within * double(bytes);
    put(in, {writes(to, bytes)}, [=] { std::memset(to, 0, bytes); }, engine::compute, cost, true);
  }

  // What a cairn::checking_runtime does beside.
  void check() {
    if (failures_.take_untold())
      cairn::detail::refuse_call({"sim::check", options_.device, 209, "cudaErrorNoKernelImageForDevice"},
                                 cairn::detail::device_failure::no_code);
  }

  // What a cairn::capturing_runtime does beside.
  void begin_capture(stream in) {
    begin(call::begin_capture, "sim::begin_capture");
    need_alive(in, call::begin_capture, "sim::begin_capture");
    if (streams_[in.number].legacy || is_captured(in))
      cairn::detail::refuse_call({"sim::begin_capture", options_.device, streams_[in.number].legacy ? 900 : 401,
                                  "a stream that cannot be captured"},
                                 cairn::detail::device_failure::not_capturable);
    captures_.emplace(captures_made_, capture{in.number});
    streams_[in.number].captured_in = captures_made_++;
  }
  graph end_capture(stream in) {
    auto const found = is_alive(in) ? captures_.find(streams_[in.number].captured_in) : captures_.end();
    if (found == captures_.end() || found->second.origin() != in.number)
      refuse_captured("sim::end_capture", options_.device, 903);
    capture ended = std::move(found->second);
    end(ended, found->first);
    begin(call::end_capture, "sim::end_capture");
    if (ended.spoiled()) refuse_captured("sim::end_capture", options_.device, 901);
    if (!ended.joined()) refuse_captured("sim::end_capture", options_.device, 904);
    graphs_.emplace_back();
    graphs_.back().tape = ended.take();
    for (std::size_t k = 0; k < graphs_.back().tape.branches; ++k) graphs_.back().branches.push_back(add_stream());
    ++counts_.graphs_made;
    ++counts_.graphs_alive;
    counts_.nodes_captured += graphs_.back().tape.nodes;
    return {graphs_.size() - 1};
  }
  void abandon_capture(stream in) noexcept {
    auto const found = is_alive(in) ? captures_.find(streams_[in.number].captured_in) : captures_.end();
    if (found == captures_.end()) return;
    capture ended = std::move(found->second);
    end(ended, found->first);
  }
  /// Each branch of the capture is a stream again, one that only this graph has.
  void launch(graph which, stream in) {
    begin(call::launch_graph, "sim::launch");
    if (!is_alive(which))
      failures_.refuse(call::launch_graph, failure::foreign_handle, "sim::launch", options_.device, 0, 0);
    need_alive(in, call::launch_graph, "sim::launch");
    if (is_captured(in)) {
      spoil();
      refuse_captured("sim::launch", options_.device, 900);
    }
    ++counts_.replays;
    timeline_.pass(options_.time.launch);
    graph_state& replayed = graphs_[which.number];
    if (replayed.done.recorded) wait_now(in, replayed.done);
    event_state begun;
    record_now(begun, in);
    for (stream const branch : replayed.branches) wait_now(branch, begun);
    std::vector<event_state> records(replayed.tape.records);
    for (captured_call const& one : replayed.tape.calls) {
      stream const branch = replayed.branches[one.branch];
      switch (one.what) {
        case captured_call::kind::work: put_now(branch, one.accesses, one.run, one.by, one.cost, one.begins); break;
        case captured_call::kind::record: record_now(records[one.record], branch); break;
        case captured_call::kind::wait: wait_now(branch, records[one.record]); break;
      }
    }
    for (stream const branch : replayed.branches) {
      event_state ended;
      record_now(ended, branch);
      wait_now(in, ended);
    }
    record_now(replayed.done, in);
  }
  void destroy(graph which) noexcept {
    if (!is_alive(which)) return;
    graph_state& given_up = graphs_[which.number];
    if (given_up.done.recorded && !failures_.lost())
      for (stamp const& use : given_up.done.uses)
        if (!host_.knows(use))
          faults_.add(fault::destroyed_in_use, "a graph is destroyed before the host waited for its launch");
    given_up.alive = false;
    --counts_.graphs_alive;
  }
  /// A stream like the legacy default one: it cannot be captured.
  [[nodiscard]] stream make_legacy_stream() {
    stream const made = make_stream();
    streams_[made.number].legacy = true;
    return made;
  }
  [[nodiscard]] std::size_t captures_under_way() const { return captures_.size(); }
  /// The host reads, which must come after all writes.
  void host_reads(void const* at, std::size_t bytes) { memory_.use(reads(at, bytes), host_.tick(0), host_, faults_); }
  /// The host writes, which must come after all uses.
  void host_writes(void const* at, std::size_t bytes) { memory_.use(writes(at, bytes), host_.tick(0), host_, faults_); }
  /// The host waits for all streams, as cudaDeviceSynchronize does.
  void sync_device() {
    begin(call::sync, "sim::sync_device");
    not_captured("sim::sync_device");
    not_quiet("the whole device is synchronised");
    ++counts_.device_syncs;
    for (std::size_t k = 0; k < streams_.size(); ++k) wait_here(end_of({k}));
  }

  /// While it lives, what takes, frees, pins, makes, destroys or synchronises the device is a fault.
  class quiet {
   public:
    explicit quiet(runtime& device) : device_{&device} { ++device.quiet_; }
    quiet(quiet const&) = delete;
    quiet& operator=(quiet const&) = delete;
    ~quiet() { --device_->quiet_; }

   private:
    runtime* device_;
  };
  [[nodiscard]] quiet no_allocations_from_here() { return quiet{*this}; }

  /// The `nth` call of that kind from now on fails; 1 is the next, 0 none.
  void fail_at(call which, std::uint64_t nth, failure how = failure::usual) { failures_.at(which, nth, how); }
  /// The `nth` call of any kind from now on fails.
  void fail_at_any(std::uint64_t nth, failure how = failure::usual) { failures_.at_any(nth, how); }
  /// Calls made so far, those that failed included.
  [[nodiscard]] std::uint64_t calls(call which) const { return failures_.made(which); }
  [[nodiscard]] std::uint64_t calls() const { return failures_.made(); }
  [[nodiscard]] bool context_lost() const { return failures_.lost(); }

  [[nodiscard]] std::size_t faults() const { return faults_.total(); }
  [[nodiscard]] std::size_t faults(fault kind) const { return faults_.of(kind); }
  [[nodiscard]] std::string const& first_fault() const { return faults_.first(); }
  [[nodiscard]] counts const& counted() const { return counts_; }
  [[nodiscard]] std::size_t device_bytes_held() const { return memory_.held(place::device); }
  [[nodiscard]] std::size_t pinned_bytes_held() const { return memory_.held(place::pinned); }
  /// Whether memory, streams or events are left that were not released.
  [[nodiscard]] bool has_leaks() const {
    return device_bytes_held() + pinned_bytes_held() + counts_.streams_alive + counts_.events_alive +
               counts_.graphs_alive >
           0;
  }

  [[nodiscard]] double host_time() const {
    return timeline_.host();
  }  ///< the time of the host: it moves by its own calls and by waiting
  [[nodiscard]] double end_time() {
    return timeline_.end();
  }  ///< the time at which all is done that was put into streams; for the end of a test
  [[nodiscard]] double busy_time(engine by) const {
    return timeline_.busy(by);
  }  ///< how long an engine has worked; ask `end_time` first

 private:
  struct stream_state {
    clock known;
    bool alive = true;
    bool legacy = false;
    std::size_t captured_in = no_capture;
  };
  struct event_state {
    clock known;
    position place;
    std::size_t mark = 0;
    bool recorded = false;
    bool alive = true;
    std::vector<stamp> uses;  ///< the last of each stream
    std::size_t captured_in = no_capture;  ///< recorded last within that capture
    std::size_t record = 0;  ///< which record of it
    void used(stamp now) {
      std::erase_if(uses, [&](stamp const& other) { return other.thread == now.thread; });
      uses.push_back(now);
    }
  };

  struct graph_state {
    sim::tape tape;
    std::vector<stream> branches;
    event_state done;  ///< after the last launch
    bool alive = true;
  };

  static std::size_t thread_of(stream which) { return which.number + 1; }
  [[nodiscard]] std::size_t free_now(place where) const {
    return (where == place::device ? options_.device_bytes : options_.pinned_bytes) - memory_.held(where);
  }
  bool begin(call which, char const* operation, std::size_t asked = 0) {
    return failures_.count(which, operation, options_.device, asked, free_now(place::device));
  }
  void not_quiet(char const* what) {
    if (quiet_ == 0) return;
    std::string text{what};  // not by operator+: g++ 12 warns of bounds in it, wrongly
    faults_.add(fault::not_quiet, text.append(" where nothing of the kind may happen"));
  }
  void* take(call which, char const* operation, place where, std::size_t bytes) {
    begin(which, operation, bytes);
    if (bytes == 0) return nullptr;
    not_captured(operation);
    if (bytes > free_now(where))
      failures_.refuse(which, failure::no_memory, operation, options_.device, bytes, free_now(place::device));
    not_quiet(where == place::device ? "device memory is taken" : "memory is pinned");
    ++(where == place::device ? counts_.allocations : counts_.pins);
    void* const at = memory_.take(bytes, where);
    std::size_t& peak = where == place::device ? counts_.device_peak : counts_.pinned_peak;
    peak = std::max(peak, memory_.held(where));
    return at;
  }
  void give_up(void* at, place where) noexcept {
    if (at == nullptr) return;
    if (!captures_.empty()) return spoil();  // the driver refuses, and a free reports nothing
    not_quiet(where == place::device ? "device memory is freed" : "pinned memory is freed");
    ++(where == place::device ? counts_.frees : counts_.unpins);
    memory_.give_up(at, where, host_, failures_.lost(), faults_);
  }
  bool is_alive(stream which) {
    bool const alive = which.number < streams_.size() && streams_[which.number].alive;
    if (!alive) faults_.add(fault::dead_handle, "a stream is used that is none, or is destroyed");
    return alive;
  }
  bool is_alive(event which) {
    bool const alive = which.number < events_.size() && events_[which.number].alive;
    if (!alive) faults_.add(fault::dead_handle, "an event is used that is none, or is destroyed");
    return alive;
  }
  bool is_alive(graph which) {
    bool const alive = which.number < graphs_.size() && graphs_[which.number].alive;
    if (!alive) faults_.add(fault::dead_handle, "a graph is used that is none, or is destroyed");
    return alive;
  }
  bool is_captured(stream which) const { return streams_[which.number].captured_in != no_capture; }
  capture& capture_of(stream which, char const* operation) {
    capture& found = captures_.at(streams_[which.number].captured_in);
    if (found.spoiled()) refuse_captured(operation, options_.device, 901);
    return found;
  }
  void spoil() {
    for (auto& [number, one] : captures_) one.spoil();
  }
  void end(capture const& ended, std::size_t number) {
    for (std::size_t const k : ended.streams()) streams_[k].captured_in = no_capture;
    captures_.erase(number);
  }
  /// For calls that a capture does not allow, for any stream; a real device allows some of them for other streams.
  void not_captured(char const* operation) {
    if (captures_.empty()) return;
    spoil();
    refuse_captured(operation, options_.device, 900);
  }
  void not_captured(event_state const& one, char const* operation) {
    if (one.captured_in != no_capture) refuse_captured(operation, options_.device, 907);
  }
  /// Stream or event, or both, are in a capture.
  void wait_captured(stream which, event_state const& until) {
    auto const from = captures_.find(until.captured_in);
    std::size_t const own = streams_[which.number].captured_in;
    int const code = until.captured_in == no_capture                ? 905
                     : from == captures_.end()                      ? 907
                     : streams_[which.number].legacy                ? 906
                     : own != no_capture && own != until.captured_in ? 902
                                                                    : 0;
    if (code != 0) {
      spoil();
      refuse_captured("sim::wait", options_.device, code);
    }
    if (from->second.spoiled()) refuse_captured("sim::wait", options_.device, 901);
    from->second.put_wait(which.number, until.record);
    streams_[which.number].captured_in = until.captured_in;
  }
  template <class Handle>
  void need_alive(Handle which, call by, char const* operation) {
    if (!is_alive(which)) failures_.refuse(by, failure::foreign_handle, operation, options_.device, 0, 0);
  }
  void need_in(void const* at, std::size_t bytes, place where) {
    if (!memory_.lies_in(at, bytes, where))
      faults_.add(fault::wrong_memory, std::string{"a copy says "} + (where == place::device ? "device" : "pinned") +
                                           " memory where there is none");
  }
  stamp tick(stream in) {
    clock& known = streams_[in.number].known;
    known.learn(host_);
    return known.tick(thread_of(in));
  }
  stream add_stream() {
    streams_.emplace_back();
    timeline_.add_stream();
    return {queues_.add_stream()};
  }
  void put(stream in, std::vector<access> const& accesses, std::function<void()> work, engine by, double cost,
           bool begins) {
    if (is_captured(in)) capture_of(in, "sim::put").put_work(in.number, accesses, std::move(work), by, cost, begins);
    else put_now(in, accesses, std::move(work), by, cost, begins);
  }
  void put_now(stream in, std::vector<access> const& accesses, std::function<void()> work, engine by, double cost,
               bool begins) {
    if (begins) timeline_.put(in.number, by, cost);
    stamp const now = tick(in);
    for (access const& one : accesses) memory_.use(one, now, streams_[in.number].known, faults_);
    queues_.put(in.number, std::move(work));
  }
  void record_now(event_state& into, stream at) {
    into.used(tick(at));
    into.known = streams_[at.number].known;
    into.place = queues_.end(at.number);
    into.mark = timeline_.put_mark(at.number);
    into.recorded = true;
  }
  void wait_now(stream which, event_state& until) {
    streams_[which.number].known.learn(until.known);
    until.used(tick(which));
    timeline_.put_wait(which.number, until.mark);
    queues_.put_wait(which.number, until.place);
  }
  [[nodiscard]] event_state end_of(stream which) {
    event_state end;
    end.known = streams_[which.number].known;
    end.place = queues_.end(which.number);
    end.mark = timeline_.put_mark(which.number);
    return end;
  }
  void wait_here(event_state const& until) {
    queues_.run_until(until.place);
    host_.learn(until.known);
    timeline_.wait_for(until.mark);
  }

  options options_;
  fault_list faults_;
  failures failures_;
  memory memory_;
  queues queues_;
  timeline timeline_;
  clock host_;
  std::vector<stream_state> streams_;
  std::vector<event_state> events_;
  std::vector<graph_state> graphs_;
  std::map<std::size_t, capture> captures_;  // under way, by number
  std::size_t captures_made_ = 0;
  counts counts_;
  std::uint64_t asked_in_vain_ = 0;
  int quiet_ = 0;
};
static_assert(cairn::capturing_runtime<runtime> && cairn::checking_runtime<runtime> &&
              cairn::zeroing_runtime<runtime>);

}  // namespace sim

using sim_runtime = sim::runtime;
