// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file shared_record.hpp  A record that a tool has only once, in the program or in a thread: whose recording it
/// holds, and which thread uses it.
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <cairn/core/error.hpp>

namespace cairn::detail {

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
