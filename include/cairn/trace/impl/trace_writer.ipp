// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/trace/detail/json_text.hpp>
#include <cairn/trace/trace_writer.hpp>
#include <cairn/version.hpp>

namespace cairn {

CAIRN_DECL trace_writer::trace_writer(std::string file, trace_options const& options)
    : file_{std::move(file)}, options_{options} {
  static std::atomic<std::uint64_t> writers{0};
  serial_ = ++writers;
  for (std::string_view rest = options_.categories; !rest.empty();) {
    auto const comma = (std::min)(rest.find(','), rest.size());
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.empty() || comma + 1 == rest.size())
      throw invalid_call{"cairn::trace_writer",
                         "the list of categories has an empty name",
                         {},
                         "separate names by one comma: \"forward,recompute,reverse\"; an empty list means all"};
    wanted_.emplace_back(name);
    rest.remove_prefix((std::min)(comma + 1, rest.size()));
  }
  if (options_.clock == nullptr)
    options_.clock = []() -> std::int64_t {
      return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
    };
  zero_ = written_at_ = options_.clock();
  if (!options_.enabled) return;
  constexpr std::size_t least_block = 4096;
  block_.resize((std::max)(options_.block_bytes, least_block));
  stream_ = std::fopen(file_.c_str(), "wb");
  if (stream_ == nullptr)
    throw file_error{"cairn::trace_writer",
                     (std::string{"a trace cannot be opened for writing: "} + std::strerror(errno)).c_str(),
                     {{"error", errno}},
                     ("see whether its folder is there and may be written: " + file_).c_str()};
  std::setvbuf(stream_, nullptr, _IONBF, 0);  // the block is the buffer
  on_ = true;
  detail::trace_lines lines{*this};
  lines.start();
  lines.write_block();
}

CAIRN_DECL trace_writer::~trace_writer() {
  try {
    finalize();
  } catch (std::exception const&) {  // what was written can be repaired
  }
}

CAIRN_DECL bool trace_writer::wants(std::string_view category) const noexcept {
  return enabled() &&
         (wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), category) != wanted_.end());
}

CAIRN_DECL void trace_writer::note(std::string_view key, std::string_view value) {
  if (detail::trace_lines lines{*this}; enabled()) lines.metadata(key, value);
}

CAIRN_DECL void trace_writer::count(std::string_view name, std::initializer_list<trace_count> values,
                                    std::string_view category) {
  if (!wants(category) || values.size() == 0) return;
  std::string const head = "\"name\":" + detail::json_string(name) + ",\"cat\":" + detail::json_string(category);
  std::vector<std::string> names;
  std::vector<trace_count> counts;
  names.reserve(values.size());
  for (auto const& one : values) {
    detail::add_json_text(names.emplace_back(), one.name);
    counts.push_back({names.back(), one.value});
  }
  detail::trace_lines lines{*this};
  lines.counted(head, options_.clock(), counts.data(), counts.size());
}

CAIRN_DECL void trace_writer::flush() {
  if (detail::trace_lines lines{*this}; enabled()) lines.write_block();
}

CAIRN_DECL void trace_writer::finalize() {
  detail::trace_lines lines{*this};
  if (stream_ == nullptr) return;
  if (enabled()) lines.finish();
  on_ = false;
  if (std::fclose(std::exchange(stream_, nullptr)) != 0 && failure_ == 0) failure_ = errno;
  block_ = {};
  if (failure_ != 0)
    throw file_error{"cairn::trace_writer",
                     (std::string{"a trace could not be written to its end: "} + std::strerror(failure_)).c_str(),
                     {{"error", failure_}},
                     ("make room on the disk; `cairn trace repair` keeps what was written: " + file_).c_str()};
}

CAIRN_DECL trace_writer initialize_log(std::string file, std::string data_dir, std::int64_t process_id) {
  return trace_writer{std::move(file), {.data_dir = std::move(data_dir), .process_id = process_id}};
}

namespace detail {

/// The 64-bit FNV-1a hash of a text, as 16 hexadecimal digits.
[[nodiscard]] inline std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

/// The whole of a small file of the system; "" if there is none.
[[nodiscard]] inline std::string system_file(char const* name) {
  std::ifstream stream{name, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

/// Number of the process and of its parent; -1 if the system does not say.
struct process_numbers {
  std::int64_t own = -1;
  std::int64_t parent = -1;
};
[[nodiscard]] inline process_numbers numbers_of_process() {
  process_numbers found;
  long long own = 0, parent = 0;
  // "1234 (name) S 1 ...": a name may hold spaces and brackets
  std::string const text = system_file("/proc/self/stat");
  auto const named = text.rfind(')');
  if (named != text.npos && std::sscanf(text.c_str(), "%lld", &own) == 1 &&
      std::sscanf(text.c_str() + named + 1, " %*c %lld", &parent) == 1)
    found = {own, parent};
  return found;
}

/// Host, command line (arguments with ';' between), executable and folder; "unknown" if the system does not say.
struct process_names {
  std::string host, command, executable, folder;
};
[[nodiscard]] inline process_names names_of_process() {
  process_names found{system_file("/proc/sys/kernel/hostname"), system_file("/proc/self/cmdline"), "", ""};
  while (!found.host.empty() && found.host.back() == '\n') found.host.pop_back();
  while (!found.command.empty() && found.command.back() == '\0') found.command.pop_back();
  for (char& c : found.command)
    if (c == '\0') c = ';';
  std::error_code none;
  found.executable = std::filesystem::read_symlink("/proc/self/exe", none).string();
  found.folder = std::filesystem::current_path(none).string();
  for (auto* const one : {&found.host, &found.command, &found.executable, &found.folder})
    if (one->empty()) *one = "unknown";
  return found;
}

/// The system's number of this thread. If the system has none, each call returns the next number from 1.
[[nodiscard]] inline std::int64_t number_of_thread() {
  std::error_code none;
  long long number = 0;
  std::string const link = std::filesystem::read_symlink("/proc/thread-self", none).string();  // "1234/task/1240"
  if (std::sscanf(link.c_str(), "%*d/task/%lld", &number) == 1) return number;
  static std::atomic<std::int64_t> count{0};
  return ++count;
}

/// "2026-01-31T23:59:59Z".
[[nodiscard]] inline std::string date_text(std::int64_t seconds) {
  auto const at = std::time_t(seconds);
  char text[32] = "";
  auto const* const utc = std::gmtime(&at);
  if (utc != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", utc);
  return text;
}

CAIRN_DECL void trace_lines::write_block() noexcept {
  if (log_.used_ > 0 && std::fwrite(log_.block_.data(), 1, log_.used_, log_.stream_) != log_.used_) {
    log_.failure_ = errno != 0 ? errno : EIO;
    log_.on_ = false;
  }
  log_.used_ = 0;
}

CAIRN_DECL void trace_lines::make_room(std::size_t bytes) {
  write_block();
  if (bytes > log_.block_.size()) log_.block_.resize(bytes);
}

// Ends a line.   \param at  the current time or an earlier one; a block that is older than a second is written
CAIRN_DECL void trace_lines::done(event_text line, std::int64_t at) {
  constexpr std::int64_t second = 1'000'000'000;
  if (last_) line.put("\n]\n");
  else line.put(",\n");
  log_.used_ = std::size_t(line.end() - log_.block_.data());
  log_.events_.store(log_.events_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (log_.options_.block_bytes > 0 && at - log_.written_at_ < second) return;
  write_block();
  log_.written_at_ = at;
}

// Begins the line of an event: all but its further arguments, its closing brackets and its end.
CAIRN_DECL event_text trace_lines::begun_line(trace_span const& span, std::int64_t ended, event_words const& words,
                                              std::size_t more) {
  name_thread();
  constexpr std::size_t frame = 256 + 8 * most_event_digits;  // all but the words
  auto line = room_for(frame + words.head.size() + words.tail.size() + more);
  bool const inside = span.before.log == log_.serial_;
  line.put("{\"id\":").number(span.event).text(words.head);
  put_thread(line);
  line.microseconds((std::max)(span.began - log_.zero_, std::int64_t{0}));
  line.put(",\"dur\":").microseconds((std::max)(ended - span.began, std::int64_t{1})).text(log_.host_text_);
  if (inside) line.number(span.before.event).put(",\"level\":").number(span.before.level + 1);
  else line.put("-1,\"level\":1");
  return line.text(words.tail);
}

CAIRN_DECL void trace_lines::counted(std::string_view head, std::int64_t at, trace_count const* values,
                                     std::size_t values_count) {
  if (!log_.enabled()) return;
  name_thread();
  std::size_t bytes = 256 + 4 * most_event_digits + head.size();
  for (std::size_t k = 0; k < values_count; ++k) bytes += values[k].name.size() + most_event_digits + 8;
  auto line = room_for(bytes);
  line.put("{").text(head);
  put_thread(line);
  line.microseconds((std::max)(at - log_.zero_, std::int64_t{0})).put(",\"ph\":\"C\",\"args\":{");
  for (std::size_t k = 0; k < values_count; ++k) {
    if (k > 0) line.put(",");
    line.put("\"").text(values[k].name).put("\":").number(values[k].value);
  }
  line.put("}}");
  done(line, at);
}

CAIRN_DECL void trace_lines::arrow(std::string_view head, std::int64_t from, std::int64_t to) {
  if (!log_.enabled()) return;
  name_thread();
  auto const number = log_.next_arrow_++;
  for (bool const begins : {true, false}) {
    auto line = room_for(256 + 6 * most_event_digits + head.size());
    line.put("{\"id\":").number(number).text(head);
    put_thread(line);
    line.microseconds((std::max)((begins ? from : to) - log_.zero_, std::int64_t{0}));
    if (begins) line.put(",\"ph\":\"s\"}");
    else line.put(",\"ph\":\"f\",\"bp\":\"e\"}");  // the arrow ends in the event around it, not in the next
    done(line, to);
  }
}

CAIRN_DECL void trace_lines::metadata(std::string_view name, std::string_view value, std::string_view more) {
  if (!log_.enabled()) return;
  if (name != "thread_name") name_thread();
  std::string text;
  text.append(",\"name\":").append(json_string(name)).append(",\"cat\":\"cairn\"");
  text.append(log_.process_text_).append(std::to_string(this_thread_named.number));
  text.append(",\"ph\":\"M\",\"args\":{\"hhash\":\"").append(log_.host_hash_).append("\",\"name\":");
  text.append(json_string(value)).append(",\"value\":\"").append(hash_text(value)).append("\"");
  text.append(more).append("}}");
  auto line = room_for(text.size() + most_event_digits + 16);
  line.put("{\"id\":").number(log_.next_event_.fetch_add(1, std::memory_order_relaxed)).text(text);
  done(line, log_.written_at_);
}

CAIRN_DECL void trace_lines::meet_thread() {
  if (this_thread_named.number < 0) this_thread_named.number = number_of_thread();
  this_thread_named.known_to = log_.serial_;
  event_text text{this_thread_named.text};
  text.text(log_.process_text_).number(this_thread_named.number).put(",\"ts\":");
  this_thread_named.text_size = std::size_t(text.end() - this_thread_named.text);
  if (std::find(log_.threads_.begin(), log_.threads_.end(), this_thread_named.number) != log_.threads_.end()) return;
  log_.threads_.push_back(this_thread_named.number);
  metadata("thread_name", "thread");  // viewers add the number of the thread
}

// Writes the first lines of a file: metadata, and the event `start`.
CAIRN_DECL void trace_lines::start() {
  auto const numbers = numbers_of_process();
  auto const names = names_of_process();
  auto const since_epoch = std::chrono::system_clock::now().time_since_epoch();
  auto const microseconds = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
  log_.host_hash_ = hash_text(names.host);
  auto const process = log_.options_.process_id >= 0 ? log_.options_.process_id : numbers.own;
  log_.process_text_ = ",\"pid\":" + std::to_string(process) + ",\"tid\":";
  log_.host_text_ = ",\"ph\":\"X\",\"args\":{\"hhash\":\"" + log_.host_hash_ + "\",\"p_idx\":";
  log_.block_[0] = '[';
  log_.block_[1] = '\n';
  log_.used_ = 2;
  name_thread();
  if (log_.options_.metadata) {
    metadata("HH", names.host);
    metadata("process_name", names.executable.substr(names.executable.find_last_of("/\\") + 1));
    metadata("FH", names.folder, ",\"what\":\"cwd\"");
    metadata("SH", names.command, ",\"what\":\"command\"");
    metadata("SH", names.executable, ",\"what\":\"executable\"");
    if (!log_.options_.data_dir.empty()) metadata("FH", log_.options_.data_dir, ",\"what\":\"data_dir\"");
  }
  std::string const more = ",\"cmd_hash\":\"" + hash_text(names.command) + "\",\"exec_hash\":\"" +
                           hash_text(names.executable) + "\",\"cwd\":\"" + hash_text(names.folder) +
                           "\",\"version\":\"" CAIRN_VERSION_STRING "\",\"date\":\"" +
                           date_text(microseconds / 1'000'000) + "\",\"epoch_us\":" + std::to_string(microseconds) +
                           ",\"ppid\":" + std::to_string(numbers.parent);
  trace_span const whole{{}, log_.next_event_.fetch_add(1, std::memory_order_relaxed), log_.zero_};
  complete(whole, log_.zero_, {R"(,"name":"start","cat":"cairn")", trace_tail, more});
}

// Writes the event `end` and the closing bracket.
CAIRN_DECL void trace_lines::finish() {
  auto const at = now(log_);
  std::string const more = ",\"num_events\":" + std::to_string(log_.events());
  trace_span const whole{{}, log_.next_event_.fetch_add(1, std::memory_order_relaxed), at};
  last_ = true;
  complete(whole, at, {R"(,"name":"end","cat":"cairn")", trace_tail, more});
  write_block();
}

}  // namespace detail
}  // namespace cairn
