// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_writer.hpp  Writes a trace: a file of JSON that Chrome and Perfetto show as a timeline.
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/detail/linkage.hpp>

namespace cairn {
namespace detail {

/// Most characters of a number of 64 bits.
inline constexpr std::size_t most_event_digits = 20;

/// A position in memory that advances with each write.   \pre there is room
class event_text {
 public:
  explicit event_text(char* at) noexcept : at_{at} {}

  template <std::size_t Size>
  event_text& put(char const (&literal)[Size]) noexcept {
    std::memcpy(at_, literal, Size - 1);
    at_ += Size - 1;
    return *this;
  }
  event_text& text(std::string_view more) noexcept {
    if (!more.empty()) std::memcpy(at_, more.data(), more.size());
    at_ += more.size();
    return *this;
  }
  event_text& number(std::int64_t value) noexcept {
    auto rest = std::uint64_t(value);
    if (rest < 10) {
      *at_++ = char('0' + rest);
      return *this;
    }
    if (value < 0) {
      *at_++ = '-';
      rest = 0 - rest;
    }
    char* from = at_ += digits_of(rest);
    for (; rest >= 100; rest /= 100) from = pair(from, rest % 100);
    if (rest >= 10) (void)pair(from, rest);
    else *--from = char('0' + rest);
    return *this;
  }
  /// Microseconds with three decimals.   \pre nanoseconds >= 0
  event_text& microseconds(std::int64_t nanoseconds) noexcept {
    auto const whole = std::uint64_t(nanoseconds) / 1000, rest = std::uint64_t(nanoseconds) % 1000;
    number(std::int64_t(whole));
    at_[0] = '.';
    at_[1] = char('0' + rest / 100);
    (void)pair(at_ + 4, rest % 100);
    at_ += 4;
    return *this;
  }
  [[nodiscard]] char* end() const noexcept { return at_; }

 private:
  /// How many digits a number has, so that the digits can be written in their final place. Copying them there would be
  /// slow: a processor stalls when several small writes are soon read as one.
  static std::size_t digits_of(std::uint64_t value) noexcept {
    static constexpr auto powers = [] {
      std::array<std::uint64_t, most_event_digits> all{};  // 0, then 10, 100 ...
      for (std::size_t k = 1; k < all.size(); ++k) all[k] = 10 * (k > 1 ? all[k - 1] : 1);
      return all;
    }();
    auto const fewest = std::size_t(std::bit_width(value)) * 1233 >> 12;  // fewest digits for that many bits, less 1
    return fewest + std::size_t(value >= powers[fewest]);
  }
  /// Two digits in front of `end`.
  static char* pair(char* end, std::uint64_t below_100) noexcept {
    static constexpr auto digits = [] {
      std::array<char, 200> all{};
      for (std::size_t k = 0; k < 100; ++k) {
        all[2 * k] = char('0' + k / 10);
        all[2 * k + 1] = char('0' + k % 10);
      }
      return all;
    }();
    std::memcpy(end - 2, &digits[2 * std::size_t(below_100)], 2);
    return end - 2;
  }

  char* at_;
};

}  // namespace detail

/// How a trace is written.
struct trace_options {
  /// The categories that are written, with commas between: "reverse,recompute". Empty: all.
  std::string categories = {};
  std::string data_dir = {};  ///< the folder of the program's data, for those who read the trace; may be empty
  std::int64_t process_id = -1;  ///< the number of the process in the trace; -1: that of the system
  /// Bytes of the block of memory in which events wait. The block goes to the file when it is full or a second old; a
  /// killed process loses the events in it. 0: each event goes to the file at once.
  std::size_t block_bytes = 262'144;
  bool metadata = true;  ///< whether names of host, command, executable and folders are written
  bool enabled = true;   ///< false: there is no file, and nothing is written
  std::int64_t (*clock)() = nullptr;  ///< returns nanoseconds that never decrease; null: std::chrono::steady_clock
};

/// The value of one line of a counter.
struct trace_count {
  std::string_view name;  ///< of the line
  std::int64_t value = 0;  ///< from now on
};

namespace detail {

/// The event that is open in this thread, and what the thread is called.
struct trace_place {
  std::uint64_t log = 0;      ///< the writer of that event; 0 for none
  std::int64_t event = -1;    ///< its number
  std::int64_t level = 0;     ///< how many events are open
  char const* category = "";  ///< the category that events inside take over; "" for none
};
/// What writers keep for each thread.
struct trace_thread {
  std::int64_t number = -1;    ///< as `number_of_thread` returns it; -1: not asked for yet
  std::uint64_t known_to = 0;  ///< the writer that named the thread last
  /// The text `,"pid":123,"tid":456,"ts":` for that writer.
  char text[80] = {};
  std::size_t text_size = 0;
};

inline constinit thread_local trace_place open_event{};
inline constinit thread_local trace_thread this_thread_named{};

/// An event that has begun, and what was open before.
struct trace_span {
  trace_place before;
  std::int64_t event = -1;
  std::int64_t began = 0;  ///< nanoseconds
};

class trace_lines;
}  // namespace detail

/// A trace: one event a line, `[` before the first, `]` after the last. `ts` and `dur` are microseconds with three
/// decimals, `ts` counts from the moment when the writer was made. All members may be called by several threads at
/// once; one process writes one file. Needs `block_bytes` of memory, however many events there are.
class trace_writer {
 public:
  /// Begins the file, which is emptied if it exists.
  /// \throws file_error   if it cannot be opened   \throws invalid_call   for a list of categories with an empty name
  explicit CAIRN_DECL trace_writer(std::string file, trace_options const& options = {});
  trace_writer(trace_writer const&) = delete;
  trace_writer& operator=(trace_writer const&) = delete;
  /// Ends the file as `finalize` does, without its errors.
  CAIRN_DECL ~trace_writer();

  /// Whether events are written: the writer is enabled and not finalized, and the disk took all events so far.
  [[nodiscard]] bool enabled() const noexcept { return on_.load(std::memory_order_relaxed); }
  /// Whether events of a category are written.
  [[nodiscard]] CAIRN_DECL bool wants(std::string_view category) const noexcept;
  /// Writes something about the whole trace: `note("plan", fingerprint(plan).text())`.
  CAIRN_DECL void note(std::string_view key, std::string_view value);
  /// Writes new values of a counter, a curve over time: `count("loss", {{"train", 3}})`.
  /// \param category  nothing is written unless this category is wanted
  CAIRN_DECL void count(std::string_view name, std::initializer_list<trace_count> values,
                        std::string_view category = "counter");
  /// Passes all events so far to the system: a process that is killed later loses none of them.
  CAIRN_DECL void flush();
  /// Ends the file; events that come later are not written. A second call does nothing.
  /// \throws file_error   if the disk did not take all of it; what it took can be repaired by `cairn trace repair`
  CAIRN_DECL void finalize();

  [[nodiscard]] std::uint64_t events() const noexcept { return events_.load(std::memory_order_relaxed); }  ///< so far
  [[nodiscard]] std::string const& file() const noexcept { return file_; }  ///< its name

 private:
  friend class detail::trace_lines;

  std::string file_;
  trace_options options_;
  std::vector<std::string> wanted_;
  std::string host_hash_;
  std::string process_text_;          ///< `,"pid":123,"tid":`
  std::string host_text_;             ///< `,"ph":"X","args":{"hhash":"...","p_idx":`
  std::uint64_t serial_ = 0;          ///< the number of this writer in its process, from 1
  std::int64_t zero_ = 0;             ///< what the clock said at the beginning
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::int64_t> next_event_{1};

  std::mutex access_;  ///< guards what follows
  std::int64_t next_arrow_ = 1;
  std::FILE* stream_ = nullptr;
  std::vector<char> block_;
  std::size_t used_ = 0;
  std::int64_t written_at_ = 0;
  int failure_ = 0;  ///< the system's number of the first error
  std::vector<std::int64_t> threads_;  ///< that have been named
};

/// Begins a trace in `file`. DFTracer has a function of the same name.
/// \param data_dir  the folder of the program's data; may be empty   \param process_id  -1: that of the system
/// \throws file_error   if the file cannot be opened
[[nodiscard]] CAIRN_DECL trace_writer initialize_log(std::string file, std::string data_dir = {},
                                                     std::int64_t process_id = -1);

namespace detail {

/// The constant parts of an event's text, as they are written.
struct event_words {
  std::string_view head;       ///< `,"name":"NAME","cat":"CATEGORY"`
  std::string_view tail;       ///< `,"grad_enabled":0,"type":"TYPE","target":"TARGET"`
  std::string_view more = {};  ///< further arguments: `,"key":value`
};

inline constexpr std::string_view trace_tail = R"(,"grad_enabled":0,"type":"trace","target":"")";

/// Writes whole lines; holds the writer's lock as long as it lives.
class trace_lines {
 public:
  explicit trace_lines(trace_writer& log) : log_{log}, lock_{log.access_} {}

  /// Opens an event of this thread.   \param category  the category that events inside take over, with static storage;
  /// "" for that of the event around
  [[nodiscard]] static trace_span begin(trace_writer& log, char const* category) noexcept {
    trace_span span{open_event, log.next_event_.fetch_add(1, std::memory_order_relaxed), 0};
    bool const inside = span.before.log == log.serial_;
    open_event = {log.serial_, span.event, inside ? span.before.level + 1 : 1,
                  *category != '\0' ? category
                  : inside          ? span.before.category
                                    : ""};
    span.began = log.options_.clock();
    return span;
  }
  /// Closes an event, if it is still the open event of this thread.
  static void leave(trace_writer& log, trace_span const& span) noexcept {
    if (open_event.log == log.serial_ && open_event.event == span.event) open_event = span.before;
  }
  [[nodiscard]] static std::int64_t now(trace_writer const& log) noexcept { return log.options_.clock(); }
  /// The category that events inside the open event of this thread take over; "" for none.
  [[nodiscard]] static char const* category(trace_writer const& log) noexcept {
    return open_event.log == log.serial_ ? open_event.category : "";
  }

  /// Writes an event that began with `begin`.
  void complete(trace_span const& span, std::int64_t ended, event_words const& words) {
    complete(span, ended, words, words.more.size(), [&](event_text& line) { line.text(words.more); });
  }
  /// The same with further arguments that `add(line)` writes straight into the line, `most` characters or fewer.
  template <class Add>
  void complete(trace_span const& span, std::int64_t ended, event_words const& words, std::size_t most,
                Add const& add) {
    if (!log_.enabled()) return;
    auto line = begun_line(span, ended, words, most);
    add(line);
    done(line.put("}}"), ended);
  }
  /// \param head  `"name":"NAME","cat":"CATEGORY"`
  CAIRN_DECL void counted(std::string_view head, std::int64_t at, trace_count const* values, std::size_t values_count);
  /// Writes an arrow from the event that began at `from` to the one that began at `to`, both of this thread.
  CAIRN_DECL void arrow(std::string_view head, std::int64_t from, std::int64_t to);
  /// `{"id":...,"name":"NAME",...,"ph":"M","args":{"hhash":"...","name":"VALUE","value":"HASH"}}`.
  CAIRN_DECL void metadata(std::string_view name, std::string_view value, std::string_view more = {});
  /// Writes the first lines of the file: metadata, and the event `start`.
  CAIRN_DECL void start();
  CAIRN_DECL void finish();
  CAIRN_DECL void write_block() noexcept;

 private:
  [[nodiscard]] event_text room_for(std::size_t bytes) {
    if (log_.used_ + bytes > log_.block_.size()) make_room(bytes);
    return event_text{log_.block_.data() + log_.used_};
  }
  CAIRN_DECL void make_room(std::size_t bytes);
  [[nodiscard]] CAIRN_DECL event_text begun_line(trace_span const& span, std::int64_t ended, event_words const& words,
                                                 std::size_t more);
  CAIRN_DECL void done(event_text line, std::int64_t at);
  /// Writes the name of this thread unless this writer knows it.
  void name_thread() {
    if (this_thread_named.known_to != log_.serial_) meet_thread();
  }
  CAIRN_DECL void meet_thread();
  void put_thread(event_text& line) const { line.text({this_thread_named.text, this_thread_named.text_size}); }

  trace_writer& log_;
  std::lock_guard<std::mutex> lock_;
  bool last_ = false;  ///< the next line is the last one
};

}  // namespace detail

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/trace_writer.ipp>
#endif
