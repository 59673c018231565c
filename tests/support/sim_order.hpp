// SPDX-License-Identifier: Apache-2.0
// Runs what is in simulated streams, in an order that is right by the streams' rules and otherwise as unkind as can be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace sim {

/// When work runs: at once, now and then in random order, or as late as anybody lets it.
enum class order { eager, random, laziest };

/// A place in a stream: after `count` things that were put into it.
struct position {
  std::size_t stream = 0;
  std::uint64_t count = 0;
};

class queues {
 public:
  queues(order when, std::uint64_t seed) : when_{when}, random_{seed} {}

  std::size_t add_stream() {
    streams_.emplace_back();
    return streams_.size() - 1;
  }
  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  [[nodiscard]] position end(std::size_t stream) const { return {stream, streams_[stream].put}; }
  [[nodiscard]] bool has_run(position place) const { return streams_[place.stream].run >= place.count; }

  void put(std::size_t stream, std::function<void()> work) { add(stream, {std::move(work), {stream, 0}}); }
  /// What is put into `stream` from here on runs after `place`.
  void put_wait(std::size_t stream, position place) { add(stream, {nullptr, place}); }

  /// Runs up to a place, with all that this needs.
  void run_until(position place) {
    std::vector<position> goals{place};
    while (!goals.empty()) {
      position const goal = goals.back();
      if (has_run(goal)) {
        goals.pop_back();
        continue;
      }
      if (when_ == order::random && random_() % 2 == 0) nudge();
      if (has_run(goal)) continue;
      position const before = streams_[goal.stream].waiting.front().after;
      if (has_run(before)) step(goal.stream);
      else goals.push_back(before);
    }
  }
  /// One thing on the way to a place.
  void step_towards(position place) {
    while (!has_run(place)) {
      position const before = streams_[place.stream].waiting.front().after;
      if (has_run(before)) return step(place.stream);
      place = before;
    }
  }
  /// In random order, up to two things of any streams.
  void nudge() {
    if (when_ != order::random) return;
    for (auto times = random_() % 3; times > 0; --times) {
      auto const stream = std::size_t(random_() % streams_.size());
      if (!streams_[stream].waiting.empty() && has_run(streams_[stream].waiting.front().after)) step(stream);
    }
  }

 private:
  struct item {
    std::function<void()> work;
    position after;
  };
  struct queue {
    std::deque<item> waiting;
    std::uint64_t put = 0, run = 0;
  };
  void add(std::size_t stream, item what) {
    streams_[stream].waiting.push_back(std::move(what));
    ++streams_[stream].put;
    if (when_ == order::eager) run_until(end(stream));
    else nudge();
  }
  void step(std::size_t stream) {
    item const next = std::move(streams_[stream].waiting.front());
    streams_[stream].waiting.pop_front();
    if (next.work) next.work();
    ++streams_[stream].run;
  }

  order when_;
  std::mt19937_64 random_;
  std::vector<queue> streams_;
};

}  // namespace sim
