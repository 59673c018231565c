// SPDX-License-Identifier: Apache-2.0
// Stores that behave as differently as stores may: the conformance suite and the executors' tests run on all of them.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/store/memory.hpp>
#include "support/pendulum.hpp"

namespace toys {

using cairn::frame_id;
using cairn::place;
using cairn::slot_index;
using cairn::step_index;

/// Keeps frames, as the store in memory does, in a map.
struct keeping {
  static constexpr bool keeps_frames = true;
  std::map<slot_index, frame_id> kept;

  void begin(slot_index) { kept.clear(); }
  void save(auto& frames, place where, step_index, frame_id frame) { frames.keep(kept[where.slot] = frame); }
  frame_id load(auto& frames, place where, step_index) {
    frames.keep(kept.at(where.slot));
    return kept.at(where.slot);
  }
  void drop(auto& frames, place where) { frames.release(kept.extract(where.slot).mapped()); }
  frame_id frame(slot_index slot) const { return kept.count(slot) ? kept.at(slot) : cairn::no_frame; }
};

/// Turns states into bytes at once and outlives a sweep, as a disk does.
struct serialising {
  struct entry {
    step_index at = -1;
    std::vector<double> bytes;
  };
  std::map<slot_index, entry> slots;

  void begin(slot_index) { slots.clear(); }
  void save(auto& frames, place where, step_index i, frame_id frame) { slots[where.slot] = {i, frames.state(frame).v}; }
  frame_id load(auto& frames, place where, step_index i) {
    entry const& e = slots.at(where.slot);
    if (e.at != i) return cairn::no_frame;
    frame_id const k = frames.take();
    if (auto* const old = frames.reusable(k)) old->v = e.bytes;
    else frames.emplace(k, pendulum::state{e.bytes});
    return k;
  }
  void drop(auto&, place where) { slots.erase(where.slot); }
  step_index at(slot_index slot) const { return slots.count(slot) ? slots.at(slot).at : -1; }
};

/// As `serialising`, for a run that is kept and goes on in another process, which is played by a second run over the
/// same store: has the final state, and how far the reverse was, once that has begun.
struct carried_on : serialising {
  static constexpr bool may_lose = true;
  bool final_is_whole = true, record_is_whole = true;
  int finals = 0;                 // final states that were written
  pendulum::numbers looked_at{};  // the initial state, when states of another process were about to be used
  cairn::wide calls = 0;          // of the step, as told by the end of a reverse

  void begin(cairn::sweep_shape const& shape) {
    if (!shape.resumed) slots.clear();
  }
  void runs(auto const&) {}
  bool knows_seam() const { return true; }
  void initial_is_in(frame_id) {}
  bool goes_on() const { return !slots.empty(); }
  static bool begins_anew() { return false; }
  void check_stretch(auto const& x0) { looked_at = x0.v; }
  step_index turned_at() const { return open_ < 0 ? -1 : steps_; }
  void keep_final(step_index n, auto const& x) { ++finals, steps_ = n, final_ = x.v; }
  bool read_final(step_index, auto& into) {
    if (final_is_whole) into.v = final_;
    return final_is_whole;
  }
  void reverses_by(auto const&, auto*) { records_ = false; }
  step_index take_up(step_index, pendulum::numbers& bar) {
    records_ = true;
    if (!std::exchange(record_is_whole, true)) return -1;
    if (open_ >= 0) bar = bar_;
    return open_;
  }
  void reversed(step_index open, pendulum::numbers const& bar) {
    if (records_) open_ = open, bar_ = bar;
  }
  void ended(cairn::wide step_calls) { calls = step_calls, open_ = -1; }

 private:
  bool records_ = false;
  step_index steps_ = -1, open_ = -1;
  pendulum::numbers final_, bar_;
};

/// Serialises later: up to two saves are under way and own their frames until they complete.
struct late {
  struct pending {
    slot_index slot;
    frame_id frame;
  };
  std::map<slot_index, std::vector<double>> slots;
  std::deque<pending> under_way;
  int completed_late = 0;

  static slot_index extra_frames() { return 2; }
  void begin(slot_index) {
    if (!under_way.empty()) throw std::logic_error{"a sweep begins, and frames of another one are in use"};
    slots.clear();
  }
  void save(auto& frames, place where, step_index, frame_id frame) {
    if (under_way.size() == 2) complete(frames);
    frames.keep(frame);
    under_way.push_back({where.slot, frame});
  }
  frame_id load(auto& frames, place where, step_index) {
    settle(frames);
    frame_id const k = frames.take();
    if (auto* const old = frames.reusable(k)) old->v = slots.at(where.slot);
    else frames.emplace(k, pendulum::state{slots.at(where.slot)});
    return k;
  }
  void drop(auto& frames, place where) {
    settle(frames);
    slots.erase(where.slot);
  }
  void settle(auto& frames) {
    while (!under_way.empty()) complete(frames);
  }

 private:
  void complete(auto& frames) {
    auto const p = under_way.front();
    under_way.pop_front();
    slots[p.slot] = frames.state(p.frame).v;
    frames.release(p.frame);
    ++completed_late;
  }
};

/// Copies states in a thread of its own, while the sweep goes on; outlives a sweep. Up to two saves are under way.
class threaded {
 public:
  static slot_index extra_frames() { return 2; }
  threaded() = default;
  threaded(threaded const&) = delete;
  ~threaded() {
    {
      std::lock_guard const lock{all_};
      ends_ = true;
    }
    changed_.notify_all();
    if (writer_.joinable()) writer_.join();
  }
  void begin(slot_index) {
    if (!kept_.empty()) throw std::logic_error{"a sweep begins, and frames of another one are in use"};
    std::lock_guard const lock{all_};
    slots_.clear();
  }
  void save(auto& frames, place where, step_index i, frame_id frame) {
    if (!writer_.joinable()) writer_ = std::thread{[this] { write(); }};
    finish(frames, 1);
    frames.keep(frame);
    kept_.push_back(frame);
    {
      std::lock_guard const lock{all_};
      asked_.push_back({where.slot, i, &frames.state(frame).v});
    }
    changed_.notify_all();
  }
  frame_id load(auto& frames, place where, step_index i) {
    settle(frames);
    if (at(where.slot) != i) return cairn::no_frame;
    frame_id const k = frames.take();
    if (auto* const old = frames.reusable(k)) old->v = slots_.at(where.slot).numbers;
    else frames.emplace(k, pendulum::state{slots_.at(where.slot).numbers});
    return k;
  }
  void drop(auto& frames, place where) {
    settle(frames);
    slots_.erase(where.slot);
  }
  void settle(auto& frames) { finish(frames, 0); }
  step_index at(slot_index slot) const {
    std::lock_guard const lock{all_};
    return slots_.count(slot) ? slots_.at(slot).at : -1;
  }
  /// Frames that it owns now.
  [[nodiscard]] std::size_t owned() const { return kept_.size(); }

 private:
  struct entry {
    step_index at = -1;
    std::vector<double> numbers;
  };
  struct request {
    slot_index slot;
    step_index at;
    std::vector<double> const* from;
  };

  /// Waits until at most `most` saves are under way, and lets go of the frames of the others.
  void finish(auto& frames, std::size_t most) {
    {
      std::unique_lock lock{all_};
      changed_.wait(lock, [&] { return asked_.size() <= most; });
    }
    for (; kept_.size() > most; kept_.pop_front()) frames.release(kept_.front());
  }
  void write() {
    std::unique_lock lock{all_};
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !asked_.empty(); });
      if (asked_.empty()) return;
      request const next = asked_.front();
      lock.unlock();
      std::this_thread::yield();
      std::vector<double> copy = *next.from;
      lock.lock();
      slots_[next.slot] = {next.at, std::move(copy)};
      asked_.pop_front();
      changed_.notify_all();
    }
  }

  mutable std::mutex all_;
  std::condition_variable changed_;
  std::map<slot_index, entry> slots_;
  std::deque<request> asked_;  // the first is being copied
  std::deque<frame_id> kept_;  // of the sweep's thread alone
  bool ends_ = false;
  std::thread writer_;
};

/// As `threaded`, with a thread that takes its time.
class slow : public threaded {
 public:
  void save(auto& frames, place where, step_index i, frame_id frame) {
    threaded::save(frames, where, i, frame);
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  frame_id load(auto& frames, place where, step_index i) {
    std::this_thread::sleep_for(std::chrono::microseconds{20});
    return threaded::load(frames, where, i);
  }
};

/// Cannot write some slots of another store, and says so; each slot is bad with probability p.
template <class Inner>
struct failing {
  static constexpr bool may_lose = true;
  Inner inner{};
  std::mt19937 random{5};
  double p = 0.6;
  std::map<slot_index, bool> bad;
  int failed = 0;

  void begin(slot_index slots) {
    inner.begin(slots);
    bad.clear();
  }
  bool save(auto& frames, place where, step_index i, frame_id frame) {
    if (!bad.count(where.slot)) bad[where.slot] = std::uniform_real_distribution<>{}(random) < p;
    if (bad[where.slot]) {
      ++failed;
      return false;
    }
    inner.save(frames, where, i, frame);
    return true;
  }
  frame_id load(auto& frames, place where, step_index i) { return inner.load(frames, where, i); }
  void drop(auto& frames, place where) { inner.drop(frames, where); }
  step_index at(slot_index slot) const { return inner.at(slot); }
};

/// Loses what another store holds: each load fails with probability p.
template <class Inner>
struct losing {
  static constexpr bool may_lose = true;
  static constexpr bool keeps_frames = cairn::detail::keeps_frames<Inner>;
  Inner inner{};
  std::mt19937 random{7};
  double p = 0.2;
  int lost = 0;

  void begin(slot_index slots) { inner.begin(slots); }
  auto save(auto& frames, place where, step_index i, frame_id frame) { return inner.save(frames, where, i, frame); }
  frame_id load(auto& frames, place where, step_index i) {
    if (std::uniform_real_distribution<>{}(random) < p) {
      ++lost;
      inner.drop(frames, where);
      return cairn::no_frame;
    }
    return inner.load(frames, where, i);
  }
  void drop(auto& frames, place where) { inner.drop(frames, where); }
  slot_index extra_frames() const {
    if constexpr (requires { inner.extra_frames(); }) return inner.extra_frames();
    else return 0;
  }
  void settle(auto& frames) {
    if constexpr (requires { inner.settle(frames); }) inner.settle(frames);
  }
  frame_id frame(slot_index slot) const
    requires(keeps_frames)
  { return inner.frame(slot); }
  step_index at(slot_index slot) const
    requires(!keeps_frames)
  { return inner.at(slot); }
};

}  // namespace toys
