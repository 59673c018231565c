// A device on the CPU, for tests of what is written over a `cairn::device_runtime`. Its streams run in an adversarial order, every access is
// checked against what streams, events and waits order (so that a missing edge is found on the first run, whatever the order was), time is
// virtual, and any call can be made to fail.
//
//   sim_runtime device{{.when = sim::order::random, .seed = 7}};
//   device.launch(stream, {sim::reads(a, bytes), sim::writes(b, bytes)}, [=] { ... }, 2.5);   // a kernel that takes 2.5
//   CHECK(device.faults() == 0);                                                              // else device.first_fault() says what
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>
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
  std::size_t device_peak = 0, pinned_peak = 0;  ///< most bytes held at once
};

class runtime {
 public:
  /// Handles; the default ones are none.
  struct stream { std::size_t number = std::size_t(-1); friend bool operator==(stream, stream) = default; };
  struct event { std::size_t number = std::size_t(-1); friend bool operator==(event, event) = default; };

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
    streams_.emplace_back();
    timeline_.add_stream();
    ++counts_.streams_made;
    ++counts_.streams_alive;
    return {queues_.add_stream()};
  }
  void destroy(stream which) noexcept {
    not_quiet("a stream is destroyed");
    if (!is_alive(which)) return;
    stream_state& state = streams_[which.number];
    if (!failures_.lost() && !host_.knows({thread_of(which), state.known.at(thread_of(which))}))
      faults_.add(fault::destroyed_in_use, memory::name(thread_of(which)) + " is destroyed before the host waited for all that is in it");
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
        faults_.add(fault::destroyed_in_use, "an event is destroyed before the host waited for its use in " + memory::name(use.thread));
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
    event_state& state = events_[which.number];
    state.used(tick(at));
    state.known = streams_[at.number].known;
    state.place = queues_.end(at.number);
    state.mark = timeline_.put_mark(at.number);
    state.recorded = true;
    ++counts_.records;
  }
  void wait(stream which, event until) {
    begin(call::wait, "sim::wait");
    need_alive(which, call::wait, "sim::wait");
    need_alive(until, call::wait, "sim::wait");
    timeline_.pass(options_.time.call);
    ++counts_.waits;
    event_state& state = events_[until.number];
    if (!state.recorded) return;
    streams_[which.number].known.learn(state.known);
    state.used(tick(which));
    timeline_.put_wait(which.number, state.mark);
    queues_.put_wait(which.number, state.place);
  }
  void sync(event which) {
    begin(call::sync, "sim::sync");
    need_alive(which, call::sync, "sim::sync");
    ++counts_.syncs;
    if (events_[which.number].recorded) wait_here(events_[which.number]);
  }
  void sync(stream which) {
    begin(call::sync, "sim::sync");
    need_alive(which, call::sync, "sim::sync");
    ++counts_.syncs;
    wait_here({streams_[which.number].known, queues_.end(which.number), timeline_.put_mark(which.number), true, true, {}});
  }
  [[nodiscard]] bool done(event which) {
    begin(call::done, "sim::done");
    need_alive(which, call::done, "sim::done");
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
    ++counts_.copies[std::size_t(kind)];
    counts_.bytes[std::size_t(kind)] += bytes;
    need_in(from, bytes, kind == cairn::copy_kind::host_to_device ? place::pinned : place::device);
    need_in(to, bytes, kind == cairn::copy_kind::device_to_host ? place::pinned : place::device);
    costs const& time = options_.time;
    timeline_.pass(time.launch);
    if (kind == cairn::copy_kind::device_to_device) timeline_.put(in.number, engine::compute, time.copy + time.byte_within * double(bytes));
    else if (kind == cairn::copy_kind::host_to_device) timeline_.put(in.number, engine::to_device, time.copy + time.byte_to_device * double(bytes));
    else timeline_.put(in.number, engine::to_host, time.copy + time.byte_to_host * double(bytes));
    auto const part = [&](std::size_t begin, std::size_t size) {
      auto* const target = static_cast<char*>(to) + begin;
      auto const* const source = static_cast<char const*>(from) + begin;
      put(in, {reads(source, size), writes(target, size)}, [=] { std::memcpy(target, source, size); });
    };
    if (bytes > 1) part(0, bytes / 2);
    part(bytes / 2, bytes - bytes / 2);
  }
  [[nodiscard]] std::size_t free_bytes() {
    begin(call::free_bytes, "sim::free_bytes");
    return free_now(place::device);
  }
  [[nodiscard]] int device() const { return options_.device; }

  /// A kernel: calls `work` when its turn comes. `accesses` are the bytes that it reads and writes, all of them in this runtime's memory.
  /// \param cost  virtual time; `costs::kernel` where it is negative
  void launch(stream in, std::vector<access> const& accesses, std::function<void()> work, double cost = -1) {
    begin(call::launch, "sim::launch");
    need_alive(in, call::launch, "sim::launch");
    ++counts_.launches;
    timeline_.pass(options_.time.launch);
    timeline_.put(in.number, engine::compute, cost < 0 ? options_.time.kernel : cost);
    put(in, accesses, std::move(work));
  }
  /// The host reads, which must come after all writes.
  void host_reads(void const* at, std::size_t bytes) { memory_.use(reads(at, bytes), host_.tick(0), host_, faults_); }
  /// The host writes, which must come after all uses.
  void host_writes(void const* at, std::size_t bytes) { memory_.use(writes(at, bytes), host_.tick(0), host_, faults_); }
  /// The host waits for all streams, as cudaDeviceSynchronize does.
  void sync_device() {
    begin(call::sync, "sim::sync_device");
    not_quiet("the whole device is synchronised");
    ++counts_.device_syncs;
    for (std::size_t k = 0; k < streams_.size(); ++k) wait_here({streams_[k].known, queues_.end(k), timeline_.put_mark(k), true, true, {}});
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
  /// Whether memory, streams or events are left that nobody gave back.
  [[nodiscard]] bool has_leaks() const { return device_bytes_held() + pinned_bytes_held() + counts_.streams_alive + counts_.events_alive > 0; }

  [[nodiscard]] double host_time() const { return timeline_.host(); }  ///< the time of the host: it moves by its own calls and by waiting
  [[nodiscard]] double end_time() { return timeline_.end(); }  ///< the time at which all is done that was put into streams; for the end of a test
  [[nodiscard]] double busy_time(engine by) const { return timeline_.busy(by); }  ///< how long an engine has worked; ask `end_time` first

 private:
  struct stream_state {
    clock known;
    bool alive = true;
  };
  struct event_state {
    clock known;
    position place;
    std::size_t mark = 0;
    bool recorded = false;
    bool alive = true;
    std::vector<stamp> uses;  ///< the last of each stream
    void used(stamp now) {
      std::erase_if(uses, [&](stamp const& other) { return other.thread == now.thread; });
      uses.push_back(now);
    }
  };

  static std::size_t thread_of(stream which) { return which.number + 1; }
  [[nodiscard]] std::size_t free_now(place where) const {
    return (where == place::device ? options_.device_bytes : options_.pinned_bytes) - memory_.held(where);
  }
  void begin(call which, char const* operation, std::size_t asked = 0) {
    failures_.count(which, operation, options_.device, asked, free_now(place::device));
  }
  void not_quiet(char const* what) {
    if (quiet_ > 0) faults_.add(fault::not_quiet, std::string{what} + " where nothing of the kind may happen");
  }
  void* take(call which, char const* operation, place where, std::size_t bytes) {
    begin(which, operation, bytes);
    if (bytes == 0) return nullptr;
    if (bytes > free_now(where)) failures_.refuse(which, failure::no_memory, operation, options_.device, bytes, free_now(place::device));
    not_quiet(where == place::device ? "device memory is taken" : "memory is pinned");
    ++(where == place::device ? counts_.allocations : counts_.pins);
    void* const at = memory_.take(bytes, where);
    std::size_t& peak = where == place::device ? counts_.device_peak : counts_.pinned_peak;
    peak = std::max(peak, memory_.held(where));
    return at;
  }
  void give_up(void* at, place where) noexcept {
    if (at == nullptr) return;
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
  template <class Handle>
  void need_alive(Handle which, call by, char const* operation) {
    if (!is_alive(which)) failures_.refuse(by, failure::foreign_handle, operation, options_.device, 0, 0);
  }
  void need_in(void const* at, std::size_t bytes, place where) {
    if (!memory_.lies_in(at, bytes, where))
      faults_.add(fault::wrong_memory, std::string{"a copy says "} + (where == place::device ? "device" : "pinned") + " memory where there is none");
  }
  stamp tick(stream in) {
    clock& known = streams_[in.number].known;
    known.learn(host_);
    return known.tick(thread_of(in));
  }
  void put(stream in, std::vector<access> const& accesses, std::function<void()> work) {
    stamp const now = tick(in);
    for (access const& one : accesses) memory_.use(one, now, streams_[in.number].known, faults_);
    queues_.put(in.number, std::move(work));
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
  counts counts_;
  std::uint64_t asked_in_vain_ = 0;
  int quiet_ = 0;
};
static_assert(cairn::device_runtime<runtime>);

}  // namespace sim

using sim_runtime = sim::runtime;
