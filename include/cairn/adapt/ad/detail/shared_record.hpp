// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file shared_record.hpp  A record that a tool has only once, in the program or in a thread: whose recording it
/// holds, which thread uses it, and copies of the results that are its.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// Copies of results, which stay in place and are reused by the next recording. A growing vector would copy its
/// elements, and copying a tool's scalar records an operation.
template <class Scalar>
class output_copies {
 public:
  output_copies() = default;
  output_copies(output_copies&& other) noexcept
      : all_{std::move(other.all_)}, list_{std::move(other.list_)}, used_{std::exchange(other.used_, 0)} {}

  /// The next copy; still has the value from the previous recording.
  [[nodiscard]] Scalar& next() {
    if (used_ == all_.size()) {
      list_.push_back(&all_.emplace_back());
    }
    return *list_[used_++];
  }
  void begin() noexcept { used_ = 0; }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] Scalar& operator[](std::size_t k) const noexcept { return *list_[k]; }
  /// With what the growth of the list has taken.
  [[nodiscard]] wide bytes() const noexcept {
    return wide(all_.size()) * sizeof(Scalar) + wide(list_.capacity() + list_.capacity() / 2) * sizeof(Scalar*);
  }
  /// Pointers to all of them.
  [[nodiscard]] Scalar** data() noexcept { return list_.data(); }
  void clear() noexcept {
    all_.clear();
    list_.clear();
    used_ = 0;
  }

 private:
  std::deque<Scalar> all_;
  std::vector<Scalar*> list_;
  std::size_t used_ = 0;
};

/// What all tapes over one record of a tool know of it.
struct shared_record {
  std::recursive_mutex in_use;  ///< held by the thread that uses the tool
  std::uint64_t owner = 0;      ///< the recording in the record; 0: none
  bool open = false;            ///< that recording has not ended

  /// The record at an address. It is never freed: tapes may be destroyed after everything else.
  [[nodiscard]] static shared_record& at(void const* place) {
    static auto& all = *new std::map<void const*, shared_record>;
    static auto& guard = *new std::mutex;
    std::lock_guard const held{guard};
    return all[place];
  }
};
/// Holds a record for this thread; other threads wait.
using record_hold = std::unique_lock<std::recursive_mutex>;
[[nodiscard]] inline record_hold hold(shared_record& record) { return record_hold{record.in_use}; }

/// A tape's own recording in a shared record. A tape that is moved from has none.
class own_recording {
 public:
  own_recording() = default;
  own_recording(own_recording&& other) noexcept : number_{std::exchange(other.number_, 0)} {}
  own_recording& operator=(own_recording&& other) noexcept {
    number_ = std::exchange(other.number_, 0);
    return *this;
  }

  /// Begins a recording, which takes the place of the one before.   \throws invalid_call   if another is open
  void begin(shared_record& record, char const* who) {
    static std::atomic<std::uint64_t> last{0};
    if (record.open)
      throw invalid_call{who, "the tool is recording already, and has one recording at a time", {},
                         "end the other recording first"};
    record.owner = number_ = ++last;
    record.open = true;
  }
  /// Whether the record holds this recording.
  [[nodiscard]] bool held_by(shared_record const& record) const noexcept {
    return number_ != 0 && record.owner == number_;
  }
  /// Whether this recording has begun and not ended.
  [[nodiscard]] bool open(shared_record const& record) const noexcept { return held_by(record) && record.open; }
  void end(shared_record& record) noexcept {
    if (held_by(record)) record.open = false;
  }
  /// \throws invalid_call   if another recording has taken its place
  void require(shared_record const& record, char const* who) const {
    if (!held_by(record) || record.open)
      throw invalid_call{who,
                         "the tool does not hold this tape's recording: it was not ended, or another has begun since",
                         {}, "reverse a recording before another tape of the tool records"};
  }
  /// Gives the recording up.
  void drop(shared_record& record) noexcept {
    if (held_by(record)) {
      record.owner = 0;
      record.open = false;
    }
    number_ = 0;
  }

 private:
  std::uint64_t number_ = 0;
};

}  // namespace cairn::detail
