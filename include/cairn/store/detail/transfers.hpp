// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file transfers.hpp  Writes and reads of states on a thread of their own, while the sweep goes on.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// A save owns the frame of its state until its place is needed for another one, so that a load of what is still being
/// written, or was just written, takes that frame. A read goes into memory of its own, which is exchanged with that of a
/// frame once it is whole; the frame that was read last stays, because plans read the beginning of a period several
/// times. All members are for the thread of the sweep; only `Worker::write` and `Worker::read` run on the other one,
/// one at a time and in the order in which they were asked for, but for reads that the sweep waits for.
/// \tparam Worker  has `value_type`; `extra`, what goes with a state; on the other thread
///   write(slot, i, value const&, extra const&, bytes&) and read(slot, i, optional<value>&, extra&), which return
///   whether it worked and may throw; and on the sweep's saved(slot, i, worked, bytes), for each save that was begun, and
///   not_read(slot, i), for a read that did not work, wanted or not
template <class Worker>
class transfers {
 public:
  using value_type = typename Worker::value_type;
  using extra = typename Worker::extra;

  transfers(Worker& worker, behind_options const& shape)
      : worker_{worker}, saves_(std::size_t((std::max)(shape.saves, 1))),
        loads_(std::size_t((std::max)(shape.loads, 1))), ahead_{std::size_t((std::max)(shape.loads, 0))} {}
  transfers(transfers const&) = delete;
  /// Ends what runs; what waits is not begun.
  ~transfers() {
    {
      std::lock_guard const lock{all_};
      ends_ = true;
    }
    asked_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  /// Most frames that it owns.
  [[nodiscard]] slot_index frames() const noexcept { return slot_index(saves_.size()) + 1; }
  /// Most states that it holds besides.
  [[nodiscard]] slot_index staged() const noexcept { return slot_index(loads_.size()); }

  /// Writes state i, which is in frame k, later.   \throws anything   that an earlier write threw
  template <class Frames>
  void save(Frames& frames, slot_index slot, step_index i, frame_id k, extra&& with) {
    forget(frames, slot);
    entry& to = free_save(frames);
    frames.keep(k);
    to.slot = slot, to.at = i, to.frame = k;
    to.value = &std::as_const(frames).state(k);
    to.with = std::move(with);
    // The sweep may exchange a state that has spare capacity with a copy that has none, also where others own its frame.
    bool const may_move = !has_exact_capacity(*to.value);
    ask(to);
    if (may_move) wait_for(to);
    collect();
  }
  /// A frame with state i, owned once more, and what goes with it; no_frame if it cannot be read.
  /// \throws anything   that the read, or an earlier write, threw
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, slot_index slot, step_index i, extra& with) {
    collect();
    for (entry& one : saves_)
      if (one.frame != no_frame && one.slot == slot && one.at == i) {
        frames.keep(one.frame);
        with = one.with;
        return one.frame;
      }
    if (last_.frame != no_frame && last_.slot == slot && last_.at == i) {
      frames.keep(last_.frame);
      with = last_.with;
      return last_.frame;
    }
    entry& from = demanded(slot, i);
    wait_for(from);
    if (from.thrown) {
      from.now = step::none;
      std::rethrow_exception(std::exchange(from.thrown, nullptr));
    }
    discard(from);
    if (!from.worked) return no_frame;
    let_go(frames, last_);
    frame_id const k = frames.take();
    try {
      using std::swap;
      if (auto* const old = frames.reusable(k); old != nullptr) swap(*old, *from.staged);
      else frames.emplace(k, std::move(*from.staged));
    } catch (...) {
      frames.release(k);
      throw;
    }
    frames.keep(k);
    last_.frame = k, last_.slot = slot, last_.at = i;
    with = last_.with = from.with;
    return k;
  }
  /// Whether a load of it waits for no reading that has not been asked for.
  [[nodiscard]] bool knows(slot_index slot, step_index i) const noexcept {
    return is_at_hand(slot, i) || std::any_of(loads_.begin(), loads_.end(), [&](entry const& one) {
             return one.now != step::none && one.slot == slot && one.at == i;
           });
  }
  /// State i, which the sweep has read itself into frame k, stays until it reads another one.
  template <class Frames>
  void keep_last(Frames& frames, slot_index slot, step_index i, frame_id k) {
    let_go(frames, last_);
    frames.keep(k);
    last_.frame = k, last_.slot = slot, last_.at = i, last_.with = {};
  }
  /// Reads ahead what the plan loads next, as far as `wanted(place, i)` says that it will be there.
  template <class Frames, class Wanted>
  void look_ahead(Frames& frames, Wanted const& wanted) {
    if (ahead_ == 0) return;
    next_.clear();
    frames.coming_loads([&](place where, step_index i) {
      if (!wanted(where, i) || is_at_hand(where.slot, i)) return true;
      state_of const one{where.slot, i};
      if (std::find(next_.begin(), next_.end(), one) == next_.end()) next_.push_back(one);
      return next_.size() < ahead_;
    });
    for (entry& one : loads_)
      if (one.now != step::none && std::find(next_.begin(), next_.end(), state_of{one.slot, one.at}) == next_.end() &&
          give_up(one))
        discard(one);
    for (state_of const& one : next_) {
      auto const is_read = [&](entry const& read) {
        return read.now != step::none && read.slot == one.slot && read.at == one.at;
      };
      if (std::any_of(loads_.begin(), loads_.end(), is_read)) continue;
      auto const free = std::find_if(loads_.begin(), loads_.end(), [](entry const& e) { return e.now == step::none; });
      if (free == loads_.end()) return;
      free->slot = one.slot, free->at = one.at, free->with = {};
      ask(*free);
    }
  }
  /// What a slot holds is not needed any more: a write that has not begun does not begin. Afterwards nothing of it runs.
  template <class Frames>
  void forget(Frames& frames, slot_index slot) {
    for (entry& one : saves_)
      if (one.frame != no_frame && one.slot == slot) {
        if (!give_up(one)) wait_for(one);
        end_save(frames, one);
      }
    if (last_.slot == slot) let_go(frames, last_);
    for (entry& one : loads_)
      if (one.now != step::none && one.slot == slot) {
        if (!give_up(one)) wait_for(one);
        discard(one);
      }
  }
  /// All writes are done, and no frame is owned.   \throws anything   that one of them threw
  template <class Frames>
  void settle(Frames& frames) {
    wait();
    for (entry& one : saves_) end_save(frames, one);
    let_go(frames, last_);
    rethrow();
  }
  /// Nothing runs, and nothing waits; reads ahead are forgotten.
  void stop_reading() {
    for (entry& one : loads_) {
      if (!give_up(one)) wait_for(one);
      discard(one);
    }
  }
  /// All that was asked for is done.
  void wait() {
    for (entry& one : saves_) wait_for(one);
    for (entry& one : loads_) wait_for(one);
  }
  /// Whether that is so already.
  [[nodiscard]] bool is_idle() {
    std::lock_guard const lock{all_};
    return std::none_of(saves_.begin(), saves_.end(), [](entry const& e) { return e.runs(); }) &&
           std::none_of(loads_.begin(), loads_.end(), [](entry const& e) { return e.runs(); });
  }
  /// Calls f(value) for each state that was read ahead.
  template <class Fn>
  void each_staged(Fn const& f) const {
    for (entry const& one : loads_)
      if (!one.runs() && one.staged) f(*one.staged);
  }

 private:
  enum class step : std::uint8_t { none, waits, runs, done };
  struct state_of {
    slot_index slot = no_slot;
    step_index at = -1;
    bool operator==(state_of const&) const = default;
  };
  struct entry {
    std::atomic<step> now = step::none;  // changed by the sweep's thread where it does not run, else under the lock
    bool worked = false;
    std::uint64_t bytes = 0;  // that were written
    slot_index slot = no_slot;
    step_index at = -1;
    std::uint64_t turn = 0;       // least first
    frame_id frame = no_frame;    // of a save
    value_type const* value = nullptr;
    std::optional<value_type> staged = {};  // of a load
    extra with = {};
    std::exception_ptr thrown = nullptr;
    [[nodiscard]] bool runs() const noexcept {
      step const seen = now;
      return seen == step::waits || seen == step::runs;
    }
  };

  /// Lets go of an entry's frame.
  template <class Frames>
  static void let_go(Frames& frames, entry& one) {
    if (one.frame != no_frame) frames.release(std::exchange(one.frame, no_frame));
  }
  [[nodiscard]] bool is_at_hand(slot_index slot, step_index i) const noexcept {
    auto const has = [&](entry const& one) { return one.frame != no_frame && one.slot == slot && one.at == i; };
    return has(last_) || std::any_of(saves_.begin(), saves_.end(), has);
  }
  /// The reading of a state, which the sweep waits for.
  [[nodiscard]] entry& demanded(slot_index slot, step_index i) {
    for (entry& one : loads_)
      if (one.now != step::none && one.slot == slot && one.at == i) {
        std::lock_guard const lock{all_};
        one.turn = 0;
        return one;
      }
    auto free = std::find_if(loads_.begin(), loads_.end(), [](entry const& e) { return e.now == step::none; });
    if (free == loads_.end()) {  // the one that was asked for last
      free = std::max_element(loads_.begin(), loads_.end(),
                              [](entry const& one, entry const& other) { return one.turn < other.turn; });
      if (!give_up(*free)) wait_for(*free);
      discard(*free);
    }
    free->slot = slot, free->at = i, free->with = {};
    ask(*free, 0);
    return *free;
  }
  /// An entry without a frame: of those that are done the oldest, or the first that will be.
  template <class Frames>
  [[nodiscard]] entry& free_save(Frames& frames) {
    entry* best = &saves_.front();
    for (entry& one : saves_)
      if (one.frame == no_frame) return one;
      else if (one.turn < best->turn) best = &one;
    wait_for(*best);
    end_save(frames, *best);
    return *best;
  }
  /// Notes the end of writes, so that the sweep learns of it.   \throws anything   that one of them threw
  void collect() {
    for (entry& one : saves_)
      if (one.now == step::done) finish(one);
    rethrow();
  }
  /// A save that does not run is over, and its frame is not needed any more.
  template <class Frames>
  void end_save(Frames& frames, entry& one) {
    if (one.now == step::done) finish(one);
    let_go(frames, one);
  }
  void finish(entry& one) {
    if (one.thrown) {
      if (!thrown_) thrown_ = one.thrown;
      one.thrown = nullptr;
    }
    one.now = step::none;
    worker_.saved(one.slot, one.at, one.worked, one.bytes);
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  void ask(entry& one, std::uint64_t turn) {
    one.worked = false;
    bool const alone = !thread_.joinable() && !start();
    {
      std::lock_guard const lock{all_};
      one.turn = turn;
      one.now = step::waits;
    }
    if (alone) return run(one);
    asked_.notify_one();
  }
  void ask(entry& one) { ask(one, ++turns_); }
  [[nodiscard]] bool start() noexcept {
    try {
      thread_ = std::thread{[this] { work(); }};
      return true;
    } catch (std::system_error const&) {  // the system provides no thread: the sweep waits for each transfer
      return false;
    }
  }
  /// Whether it does not run; one that waits will not.
  [[nodiscard]] bool give_up(entry& one) {
    std::lock_guard const lock{all_};
    if (one.now == step::waits) one.now = step::none;
    return one.now != step::runs;
  }
  /// A read that does not run is not needed any more.
  void discard(entry& read) {
    if (read.now == step::done && !read.worked && !read.thrown) worker_.not_read(read.slot, read.at);
    read.now = step::none, read.thrown = nullptr;
  }
  void wait_for(entry& one) {
    std::unique_lock lock{all_};
    done_.wait(lock, [&] { return !one.runs(); });
  }
  [[nodiscard]] entry* next() noexcept {
    entry* first = nullptr;
    for (auto* const all : {&saves_, &loads_})
      for (entry& one : *all)
        if (one.now == step::waits && (first == nullptr || one.turn < first->turn)) first = &one;
    return first;
  }
  void run(entry& one) noexcept {
    bool worked = false;
    try {
      worked = one.frame != no_frame ? worker_.write(one.slot, one.at, *one.value, std::as_const(one.with), one.bytes)
                                     : worker_.read(one.slot, one.at, one.staged, one.with);
    } catch (...) {
      one.thrown = std::current_exception();
    }
    std::lock_guard const lock{all_};
    one.worked = worked;
    one.now = step::done;
  }
  void work() {
    std::unique_lock lock{all_};
    for (;;) {
      entry* one = nullptr;
      asked_.wait(lock, [&] { return ends_ || (one = next()) != nullptr; });
      if (ends_) return;
      one->now = step::runs;
      lock.unlock();
      run(*one);
      done_.notify_all();
      lock.lock();
    }
  }

  Worker& worker_;
  std::vector<entry> saves_, loads_;
  entry last_;  // the state that was read last, in its frame
  std::size_t ahead_;
  std::vector<state_of> next_;
  std::uint64_t turns_ = 0;
  std::exception_ptr thrown_ = nullptr;
  std::mutex all_;
  std::condition_variable asked_, done_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cairn::detail
