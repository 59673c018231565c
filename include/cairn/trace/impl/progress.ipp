// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/trace/progress.hpp>

#ifdef _WIN32
#include <io.h>
namespace cairn::detail {
[[nodiscard]] inline bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }
}  // namespace cairn::detail
#else
#include <unistd.h>
namespace cairn::detail {
[[nodiscard]] inline bool is_terminal(std::FILE* file) { return isatty(fileno(file)) != 0; }
}  // namespace cairn::detail
#endif

namespace cairn {
namespace detail {

inline constexpr std::int64_t look_every = 10'000'000, report_every = 100'000'000, log_every = 5'000'000'000;
inline constexpr std::uint64_t longest_stride = 256;  // this many steps may pass before a slowdown is noticed
inline constexpr int widest_line = 79;

/// One line, written from its start; what does not fit is cut.
class progress_line {
 public:
  progress_line& add(std::string_view words) {
    for (char const c : words) text_.put(c);
    return *this;
  }
  /// "12,345".
  progress_line& add_grouped(wide number) {
    text<40> const digits = text<40>{}.add(number);
    for (std::size_t k = 0; k < digits.size(); ++k) {
      if (k > 0 && (digits.size() - k) % 3 == 0) text_.put(',');
      text_.put(digits.c_str()[k]);
    }
    return *this;
  }
  progress_line& add_decimals(double value, int places) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.*f", places, value);
    return add(digits);
  }
  /// "81.2 k/s", three digits.
  progress_line& add_rate(double per_second) {
    static constexpr char const* prefixes[] = {"", "k", "M", "G", "T"};
    std::size_t power = 0;
    for (; power + 1 < sizeof prefixes / sizeof *prefixes && per_second >= 999.5; ++power) per_second /= 1000;
    add_decimals(per_second, per_second >= 99.95 ? 0 : per_second >= 9.995 ? 1 : 2);
    return add(" ").add(prefixes[power]).add("/s");
  }
  /// "3.4 s", "12 min 5 s", "2 h 3 min".
  progress_line& add_duration(double seconds) {
    if (seconds < 59.95) return add_decimals(seconds, 1).add(" s");
    if (!(seconds < 1e15)) return add("for ever");
    auto const whole = std::uint64_t(seconds + 0.5);
    if (whole < 3600) return add_grouped(whole / 60).add(" min ").add_grouped(whole % 60).add(" s");
    return add_grouped(whole / 3600).add(" h ").add_grouped(whole / 60 % 60).add(" min");
  }
  progress_line& add_bytes(std::size_t bytes) { return add(to_short_text(wide(bytes)).c_str()); }
  [[nodiscard]] char const* c_str() const noexcept { return text_.c_str(); }

 private:
  text<240> text_;
};

/// The line of a `progress_report`.
template <class Report>
[[nodiscard]] progress_line line_of(Report const& report) {
  progress_line line;
  if (report.sweeps != 1 || report.sweep > 1) {
    line.add(report.name.empty() ? "sweep" : report.name).add(" ").add_grouped(wide(report.sweep));
    if (report.sweeps >= report.sweep) line.add("/").add_grouped(wide(report.sweeps));
    line.add(" ");
  } else if (!report.name.empty()) {
    line.add(report.name).add(" ");
  }
  line.add(report.ended ? std::string_view{"done"} : word_of(report.phase)).add(" ");
  bool const shared = report.total && !report.ended;
  if (shared) line.add_decimals(100 * report.share(), 1).add(" % ");
  line.add_grouped(report.done.steps());
  if (shared) line.add("/").add_grouped(report.total->steps());
  line.add(" steps ");
  if (report.steps_per_second > 0) line.add_rate(report.steps_per_second).add(" ");
  if (report.ended) line.add("in ").add_duration(report.seconds).add(" ");
  else if (report.seconds_left) line.add_duration(*report.seconds_left).add(" left ");
  return line.add_bytes(report.bytes_held).add(" ").add(word_of(report.where));
}

}  // namespace detail

CAIRN_DECL std::string progress_text(progress_report const& report) { return detail::line_of(report).c_str(); }

CAIRN_DECL progress::progress(progress_options options) : options_{std::move(options)} {
  if (options_.now == nullptr)
    options_.now = [] {
      return std::int64_t(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
    };
  if (!options_.log.empty()) {
    log_.reset(std::fopen(options_.log.c_str(), "a"));
    if (log_ == nullptr)
      throw file_error{"cairn::progress",
                       (std::string{"the file for progress lines cannot be opened: "} + std::strerror(errno)).c_str(),
                       {{"error", errno}},
                       ("give a name in a folder that is there instead of " + options_.log).c_str()};
    options_.file = log_.get();
    options_.style = progress_style::log;
  }
  if (options_.file == nullptr) options_.style = progress_style::silent;
  if (options_.style == progress_style::automatic)
    options_.style = detail::is_terminal(options_.file) ? progress_style::line : progress_style::log;
}

CAIRN_DECL progress::~progress() { wipe(); }

CAIRN_DECL void progress::wipe() {
  if (line_.file == nullptr) return;
  std::fputs("\r\33[K", line_.file);
  std::fflush(line_.file);
  line_.file = nullptr;
}

// Called before the first action of a sweep, before the first one after its turn, and before one that follows an action
// that did not end.
CAIRN_DECL void progress::enter(cairn::phase where) {
  std::int64_t const now = options_.now();
  if (at_ == place::turned && where != phase::forward) {  // the program's own time since the turn does not count
    began_ += now - looked_;
    looked_ = now;
    return;
  }
  if (began_ < 0) {
    next_report_ = now + (options_.style == progress_style::line ? 2 : 1) * detail::report_every;
    next_log_ = now + detail::log_every;
  }
  began_ = looked_ = now;
  from_start_ = where == phase::forward;
  reported_ = logged_ = false;
  runs_ = reversals_ = counted_ = 0;
  looked_at_ = {};
  total_.reset();
  where_ = tier::memory;
}

CAIRN_DECL void progress::turn(event const& seen) {
  at_ = place::turned;
  runs_ += std::uint64_t(seen.what().to - seen.what().from);
  look(seen);
}

CAIRN_DECL void progress::look(event const& seen) {
  std::int64_t const now = options_.now();
  counted_ = 0;
  std::int64_t const since = now - looked_;
  if (since < detail::look_every / 2) stride_ = (std::min)(2 * stride_, detail::longest_stride);
  else if (since > 2 * detail::look_every)
    stride_ = (std::max<std::uint64_t>)(1, std::uint64_t(double(stride_) * detail::look_every / double(since)));
  note_speed(now);
  if (options_.style == progress_style::silent && !options_.call) return;
  if (now >= next_report_) report(seen, now, false);
}

CAIRN_DECL void progress::end(event const& seen) {
  at_ = place::outside;
  std::int64_t const now = options_.now();
  note_speed(now);
  if (reported_) report(seen, now, true);
  if (sweep_ == options_.sweeps) wipe();
  ++sweep_;
}

CAIRN_DECL void progress::report(event const& seen, std::int64_t now, bool ended) {
  sweep_work const done{runs_, reversals_};
  if (!total_ && from_start_) total_ = options_.work;
  if (!total_ || done.runs > total_->runs || done.reversals > total_->reversals) {
    total_ = seen.work_left();
    if (total_) *total_ = {total_->runs + done.runs, total_->reversals + done.reversals};
  }
  double const seconds = double(now - began_) * 1e-9;
  shown_.name = options_.name;
  shown_.sweep = sweep_;
  shown_.sweeps = options_.sweeps;
  shown_.phase = seen.phase();
  shown_.ended = ended;
  shown_.done = done;
  shown_.total = total_;
  shown_.seconds = seconds;
  shown_.steps_per_second = seconds > 0 ? double(done.steps()) / seconds : 0;
  shown_.seconds_left.reset();
  if (total_) {
    wide const more = sweep_ < options_.sweeps ? wide(options_.sweeps - sweep_) : 0;
    shown_.seconds_left = seconds_for({total_->runs - done.runs + more * total_->runs,
                                       total_->reversals - done.reversals + more * total_->reversals});
  }
  shown_.bytes_held = seen.bytes_held();
  shown_.where = where_;
  reported_ = true;
  next_report_ = now + detail::report_every;
  write_line(now, ended);
  if (options_.call) options_.call(shown_);
}

CAIRN_DECL void progress::write_line(std::int64_t now, bool ended) {
  if (options_.style == progress_style::line) {
    // The line is cut, because a line that the terminal wraps cannot be overwritten.
    std::fprintf(options_.file, "\r%.*s\33[K", detail::widest_line, detail::line_of(shown_).c_str());
    line_.file = options_.file;
  } else if (options_.style == progress_style::log && (now >= next_log_ || (ended && logged_))) {
    std::fprintf(options_.file, "%s\n", detail::line_of(shown_).c_str());
    logged_ = true;
    next_log_ = now + detail::log_every;
  }
  if (options_.style != progress_style::silent) std::fflush(options_.file);
}

CAIRN_DECL void progress::note_speed(std::int64_t now) {
  double const runs = double(runs_ - std::uint64_t(looked_at_.runs)), seconds = double(now - looked_) * 1e-9;
  double const reversals = double(reversals_ - std::uint64_t(looked_at_.reversals));
  auto& sum = speeds_;
  sum.runs += runs, sum.reversals += reversals, sum.seconds += seconds;
  sum.runs_runs += runs * runs, sum.runs_reversals += runs * reversals;
  sum.reversals_reversals += reversals * reversals;
  sum.runs_seconds += runs * seconds, sum.reversals_seconds += reversals * seconds;
  looked_ = now;
  looked_at_ = {runs_, reversals_};
}

CAIRN_DECL std::optional<double> progress::seconds_for(sweep_work const& work) const {
  auto const& sum = speeds_;
  // Fits seconds = run * runs + reversal * reversals to all looks, by the normal equations, if the two can be told
  // apart.
  double const determinant = sum.runs_runs * sum.reversals_reversals - sum.runs_reversals * sum.runs_reversals;
  if (determinant > 1e-3 * sum.runs_runs * sum.reversals_reversals) {
    double const run = sum.runs_seconds * sum.reversals_reversals - sum.reversals_seconds * sum.runs_reversals;
    double const reversal = sum.reversals_seconds * sum.runs_runs - sum.runs_seconds * sum.runs_reversals;
    if (run >= 0 && reversal >= 0)
      return (double(work.runs) * run + double(work.reversals) * reversal) / determinant;
  }
  double const done = sum.runs + options_.adjoint_steps * sum.reversals;
  if (!(done > 0)) return std::nullopt;
  return sum.seconds / done * (double(work.runs) + options_.adjoint_steps * double(work.reversals));
}

}  // namespace cairn
