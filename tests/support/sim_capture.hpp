// SPDX-License-Identifier: Apache-2.0
// What is put into simulated streams while they are captured, and the rules of capturing.
#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>
#include "support/sim_clock.hpp"
#include "support/sim_memory.hpp"
#include "support/sim_timeline.hpp"

namespace sim {

inline constexpr std::size_t no_capture = std::size_t(-1);

/// One call that was captured. A branch is a captured stream; the first is the one that the capture began with.
struct captured_call {
  enum class kind { work, record, wait };
  kind what = kind::work;
  std::size_t branch = 0;
  std::size_t record = 0;  ///< of a record and a wait: which record of the capture
  std::vector<access> accesses = {};
  std::function<void()> run = {};
  engine by = engine::compute;
  double cost = 0;
  bool begins = true;  ///< whether it is a node of its own: the second half of a copy is none
};

/// All calls in their order, which is one that streams and events allow.
struct tape {
  std::vector<captured_call> calls;
  std::size_t branches = 0, records = 0, nodes = 0;
};

/// A capture while it lasts. Clocks of its own tell what comes before what within it.
class capture {
 public:
  explicit capture(std::size_t origin) { static_cast<void>(add(origin)); }

  [[nodiscard]] std::size_t origin() const { return streams_.front(); }
  [[nodiscard]] std::vector<std::size_t> const& streams() const { return streams_; }
  [[nodiscard]] bool spoiled() const { return spoiled_; }
  void spoil() { spoiled_ = true; }

  void put_work(std::size_t stream, std::vector<access> accesses, std::function<void()> run, engine by, double cost,
                bool begins) {
    std::size_t const branch = branch_of(stream);
    static_cast<void>(known_[branch].tick(branch));
    tape_.calls.push_back(
        {captured_call::kind::work, branch, 0, std::move(accesses), std::move(run), by, cost, begins});
    if (begins) ++tape_.nodes;
  }
  /// Answers which record it is.
  [[nodiscard]] std::size_t put_record(std::size_t stream) {
    std::size_t const branch = branch_of(stream);
    tape_.calls.push_back({captured_call::kind::record, branch, tape_.records});
    records_.push_back(known_[branch]);
    return tape_.records++;
  }
  /// A stream that is none of the capture's becomes one.
  void put_wait(std::size_t stream, std::size_t record) {
    std::size_t branch = branch_of(stream);
    if (branch == streams_.size()) branch = add(stream);
    known_[branch].learn(records_[record]);
    static_cast<void>(known_[branch].tick(branch));
    tape_.calls.push_back({captured_call::kind::wait, branch, record});
  }
  /// Whether the origin comes after all that was put into the other streams.
  [[nodiscard]] bool joined() const {
    for (std::size_t branch = 1; branch < streams_.size(); ++branch)
      if (known_[0].at(branch) < known_[branch].at(branch)) return false;
    return true;
  }
  [[nodiscard]] tape take() { return std::move(tape_); }

 private:
  [[nodiscard]] std::size_t branch_of(std::size_t stream) const {
    std::size_t branch = 0;
    while (branch < streams_.size() && streams_[branch] != stream) ++branch;
    return branch;
  }
  std::size_t add(std::size_t stream) {
    streams_.push_back(stream);
    known_.emplace_back();
    return tape_.branches++;
  }

  std::vector<std::size_t> streams_;  // by branch
  std::vector<clock> known_;          // by branch
  std::vector<clock> records_;
  tape tape_;
  bool spoiled_ = false;
};

}  // namespace sim
