// SPDX-License-Identifier: Apache-2.0
// Virtual time of simulated streams: engines that do one thing at a time, and a host that runs ahead of them.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace sim {

/// What does the work: kernels and copies within the device, copies to the device, copies from it.
enum class engine { compute, to_device, to_host };

/// What things take, in any one unit of time.
struct costs {
  double launch = 0;  ///< of the host, for each kernel and copy
  double call = 0;  ///< of the host, for each record and wait
  double kernel = 1;  ///< of the device, where a launch says nothing else
  double copy = 0;  ///< of an engine, for each copy whatever its size
  double byte_within = 0;  ///< of the compute engine, for each byte that is copied within the device
  double byte_to_device = 0;  ///< of its engine
  double byte_to_host = 0;  ///< of its engine
  int copy_engines = 2;  ///< with one, copies to and from the device share it
};

/// Work starts as soon as its stream, its engine and the host have come to it; of what could start at the same time,
/// what was put first.
class timeline {
 public:
  explicit timeline(bool one_copy_engine) : one_copy_engine_{one_copy_engine} {}

  void add_stream() { streams_.emplace_back(); }
  /// The host is busy for a while.
  void pass(double time) { host_ += time; }
  void put(std::size_t stream, engine by, double cost) { add(stream, {kind::work, index(by), cost, 0}); }
  /// A mark for all that is in the stream now.
  [[nodiscard]] std::size_t put_mark(std::size_t stream) {
    marks_.push_back(unknown);
    add(stream, {kind::mark, 0, 0, marks_.size() - 1});
    return marks_.size() - 1;
  }
  void put_wait(std::size_t stream, std::size_t mark) { add(stream, {kind::wait, 0, 0, mark}); }

  /// The host waits for a mark.
  void wait_for(std::size_t mark) {
    while (marks_[mark] == unknown && advance()) {}
    host_ = std::max(host_, marks_[mark]);
  }
  [[nodiscard]] double host() const { return host_; }  ///< the time of the host
  /// The time at which all is done that was put.
  [[nodiscard]] double end() {
    while (advance()) {}
    double last = host_;
    for (auto const& stream : streams_) last = std::max(last, stream.time);
    return last;
  }
  [[nodiscard]] double busy(engine by) const {
    return engines_[index(by)].busy;
  }  ///< time that an engine has worked, of what is settled

 private:
  static constexpr double unknown = -1;
  enum class kind { work, mark, wait };
  struct item {
    kind what;
    std::size_t by;
    double cost;
    std::size_t mark;
    double put_at = 0;
    std::uint64_t number = 0;
  };
  struct stream_state {
    std::deque<item> waiting;
    double time = 0;
  };
  struct engine_state { double free_at = 0, busy = 0; };

  [[nodiscard]] std::size_t index(engine by) const {
    return std::size_t(one_copy_engine_ && by == engine::to_host ? engine::to_device : by);
  }
  void add(std::size_t stream, item what) {
    what.put_at = host_;
    what.number = ++put_;
    streams_[stream].waiting.push_back(what);
  }
  /// Passes marks and waits as far as that goes.
  void pass_events() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& stream : streams_)
        while (!stream.waiting.empty()) {
          item const& next = stream.waiting.front();
          if (next.what == kind::work || (next.what == kind::wait && marks_[next.mark] == unknown)) break;
          if (next.what == kind::mark) marks_[next.mark] = stream.time;
          else stream.time = std::max(stream.time, marks_[next.mark]);
          stream.waiting.pop_front();
          moved = true;
        }
    }
  }
  /// Settles the piece of work that starts next; false where there is none.
  bool advance() {
    pass_events();
    stream_state* first = nullptr;
    double start = std::numeric_limits<double>::infinity();
    for (auto& stream : streams_) {
      if (stream.waiting.empty() || stream.waiting.front().what != kind::work) continue;
      item const& next = stream.waiting.front();
      double const at = std::max({stream.time, next.put_at, engines_[next.by].free_at});
      if (first == nullptr || at < start || (at == start && next.number < first->waiting.front().number))
        first = &stream, start = at;
    }
    if (first == nullptr) return false;
    item const next = first->waiting.front();
    first->waiting.pop_front();
    first->time = engines_[next.by].free_at = start + next.cost;
    engines_[next.by].busy += next.cost;
    pass_events();
    return true;
  }

  bool one_copy_engine_;
  std::vector<stream_state> streams_;
  std::vector<double> marks_;
  std::array<engine_state, 3> engines_{};
  double host_ = 0;
  std::uint64_t put_ = 0;
};

}  // namespace sim
