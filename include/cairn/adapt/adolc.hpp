// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adolc.hpp  ADOL-C's tape (Debian: libadolc-dev), for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>
#include <dlfcn.h>
#include <unistd.h>
#include <adolc/adolc.h>
#include <cairn/adapt/ad/detail/shared_record.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

/// The tags of the program's tapes, and what is recorded under each.
class adolc_tags {
 public:
  /// The only one. It is never freed: tapes may be destroyed after everything else.
  [[nodiscard]] static adolc_tags& all() {
    static auto& one = *new adolc_tags;
    return one;
  }
  [[nodiscard]] record_hold hold() { return detail::hold(program_); }
  [[nodiscard]] shared_record& record(short tag) { return records_[tag]; }
  /// A tag that nothing in this program uses, larger than the small ones that programs choose themselves. Processes
  /// that are started together begin at different tags, and their further ones are far apart.
  /// \throws invalid_call   if all are in use
  [[nodiscard]] short take() {
    std::vector<short> recorded;
    cachedTraceTags(recorded);
    std::set<short> const used(recorded.begin(), recorded.end());
    for (long k = 0; k < own_tags; ++k) {
      auto const tag = static_cast<short>(first_tag + (long(getpid()) + k * 7'919) % own_tags);
      if (used.count(tag) == 0 && records_.try_emplace(tag).second) return tag;
    }
    throw invalid_call{
        "cairn::adolc_tape", "all tags are in use", {{"tapes", own_tags}}, "destroy tapes that are done"};
  }
  void give_back(short tag) noexcept { records_.erase(tag); }

 private:
  static constexpr long first_tag = 1'000, own_tags = 31'000;
  shared_record program_;  // of ADOL-C as a whole
  std::map<short, shared_record> records_;
};

/// What goes from tape to tape by a move.
struct adolc_record {
  short tag_ = -1;
  bool handed_out_ = false;  // the tag goes back
  own_recording recording_;
  unsigned entries_[4] = {};
  std::size_t inputs_ = 0, results_ = 0, measured_ = 0, most_[4] = {};
  std::vector<std::pair<adouble*, double>> varying_;  // in the order in which they were declared
  std::uint64_t recordings_ = 0;
  bool traced_ = false, spilled_ = false, in_memory_ = true;
  std::size_t stats_[STAT_SIZE] = {};
};

}  // namespace detail

/// A tape of ADOL-C. ADOL-C has one recording at a time in a program, and no support for threads: those that use it
/// through `taped` wait for each other, leaf by leaf.
///
/// ADOL-C knows a tape by its tag. Each tape has its own, from its first recording until it is destroyed. If two tapes
/// are given one tag, each sees whether the recording under it is its own.
///
/// Recordings are reversed directly from memory: forward values are kept as they are computed (`trace_on(tag, 1)`), and
/// `trace_off(1)`, after which 2.7.2 crashes, is never called. The first two recordings, those of a seed and of a leaf,
/// have ADOL-C's usual buffers. Later buffers are an eighth larger than the largest that were filled, which saves small
/// leaves most of the memory and half of the time; the third recording gives the rest back to the system, with glibc.
/// ADOL-C writes what does not fit to files `*.tap` in the working directory, whose names contain the tag, and reads it
/// back. A recording in files is not replayed: the next one has larger buffers. The files are removed with the tape, by
/// `clear`, and where an exception ends a recording. Processes that share a working directory, such as the ranks of
/// MPI, need different tags because of these files: tags that are not given are made from the process id.
/// If the model divides by a constant c, ADOL-C multiplies by 1 / c, which may differ from double in the last bit.
class adolc_tape : detail::adolc_record {
 public:
  using scalar = adouble;  ///< ADOL-C's number

  adolc_tape() noexcept : adolc_tape{unchecked{}, no_tag, 1u << 19} {}
  /// \param tag  0..32767, used by no other tape of the program or of a process in the same directory
  /// \param entries  size of each buffer of the first two recordings, >= 1
  /// \throws invalid_call   if one of them is out of range
  explicit adolc_tape(short tag, unsigned entries = 1u << 19) : adolc_tape{unchecked{}, tag, entries} {
    if (tag < 0 || entries < 1)
      throw invalid_call{"cairn::adolc_tape", "tag or buffer size is out of range",
                         {{"tag", tag}, {"entries", entries}}, "give a tag of 0 or more, and at least one entry"};
  }
  /// The new tape has tag, buffers and recording. `other` gets another tag if it records again.
  adolc_tape(adolc_tape&& other) noexcept : adolc_tape{unchecked{}, no_tag, other.first_} {
    std::swap(static_cast<detail::adolc_record&>(*this), static_cast<detail::adolc_record&>(other));
  }
  adolc_tape& operator=(adolc_tape&&) = delete;
  /// Frees the buffers, and gives the tag back.
  ~adolc_tape() {
    auto const held = hold();
    abandon();
    remove();
    if (tag_ != no_tag) recording_.drop(record_of_tag());
    if (handed_out_) tags().give_back(tag_);
  }

  /// While the result lives, other threads wait.
  [[nodiscard]] detail::record_hold hold() const { return tags().hold(); }
  /// \throws invalid_call   if another recording is in progress, or all tags are in use
  void begin(std::size_t) {
    auto const held = hold();
    if (isTaping())
      throw invalid_call{"cairn::adolc_tape", "ADOL-C is recording already, and has one recording at a time",
                         {{"tag", tag_}}, "end the other recording first"};
    if (tag_ == no_tag) {
      tag_ = tags().take();
      handed_out_ = true;
    }
    record_of_tag().open = false;
    recording_.begin(record_of_tag(), "cairn::adolc_tape");
    ++recordings_;
    inputs_ = results_ = 0;
    varying_.clear();
    trace_on(tag_, 1, entries_[0], entries_[1], entries_[2], entries_[3]);
    traced_ = true;
    if (measured_ == 2) give_memory_back();  // the first two, larger ones are free
  }
  /// The next independent variable.
  void independent(adouble& v, double value) {
    v <<= value;
    ++inputs_;
  }
  /// The next number that a replay may change.
  void varies(adouble& v, double value) { varying_.emplace_back(&v, value); }
  /// Declares the varying numbers, after the independent variables.
  void record() {
    for (auto const& [v, value] : varying_) *v <<= value;
  }
  /// The next result: a copy, because ADOL-C takes one seed for each variable.
  void dependent(adouble const& v) {
    double value = 0;
    adouble result = v;
    result >>= value;
    ++results_;
  }
  /// Ends the recording, and notes the memory it has taken.
  void end() {
    auto const held = hold();
    stop();
    for (std::size_t k = 0; k < 4; ++k) {
      most_[k] = (std::max)(most_[k], stats_[filled[k]]);
      entries_[k] = measured_ == 0 ? (std::max)(first_, enough_for(most_[k])) : enough_for(most_[k]);
    }
    ++measured_;
  }
  /// Recomputes the values of the last recording for other numbers. False also for a recording that went to files.
  /// Turns ADOL-C's warnings of changed comparisons on, even if the program had turned them off.
  [[nodiscard]] bool replay(double const* numbers) {
    auto const held = hold();
    if (inputs_ == 0 || results_ == 0 || !in_memory_ || !holds_recording()) return false;
    values_.resize(results_);
    disableBranchSwitchWarnings();
    int const answer = zos_forward(tag_, int(results_), int(inputs_ + varying_.size()), 1, numbers, values_.data());
    enableBranchSwitchWarnings();
    return answer >= 0;
  }
  [[nodiscard]] double const* replayed() const noexcept { return values_.data(); }  ///< results of the last replay
  [[nodiscard]] std::uint64_t recordings() const noexcept { return recordings_; }  ///< begun so far
  /// \throws invalid_call   if ADOL-C cannot reverse its record, or another recording has its tag
  void reverse(double const* seeds, double* bars) {
    auto const held = hold();
    if (inputs_ == 0) return;
    if (!holds_recording())
      throw invalid_call{"cairn::adolc_tape", "the recording under this tag is not, or no longer, this tape's",
                         {{"tag", tag_}}, "give each tape its own tag, or none"};
    if (results_ == 0) {
      std::fill(bars, bars + inputs_, 0.0);
      return;
    }
    bars_.resize(varying_.empty() ? 0 : inputs_ + varying_.size());
    int const answer = fos_reverse(tag_, int(results_), int(inputs_ + varying_.size()), const_cast<double*>(seeds),
                                   varying_.empty() ? bars : bars_.data());
    if (!varying_.empty()) std::copy_n(bars_.begin(), inputs_, bars);
    if (answer < 0)
      throw invalid_call{"cairn::adolc_tape", "ADOL-C could not reverse its recording", {{"answer", answer}},
                         "look for what the model computes that has no derivative"};
  }
  /// Ends a recording that is not needed, and removes it: ADOL-C has room for 32 whose reverse does not come.
  void abandon() noexcept {
    auto const held = hold();
    if (tag_ == no_tag || !recording_.open(record_of_tag())) return;
    stop();
    remove();
    recording_.drop(record_of_tag());
  }
  /// Frees the buffers, and with glibc gives their memory back; the next ones fit what was recorded so far.
  void fit() {
    auto const held = hold();
    abandon();
    remove();
    if (tag_ != no_tag) recording_.drop(record_of_tag());
    for (std::size_t k = 0; k < 4; ++k) entries_[k] = enough_for(most_[k]);
    ++measured_;
    give_memory_back();
  }
  /// Frees the buffers, and with glibc gives their memory back; the next recording counts as the first.
  void clear() {
    auto const held = hold();
    abandon();
    remove();
    if (tag_ != no_tag) recording_.drop(record_of_tag());
    inputs_ = results_ = 0;
    measured_ = 0;
    for (unsigned& each : entries_) each = first_;
    for (std::size_t& each : most_) each = 0;
    give_memory_back();
  }
  /// Bytes of the buffers for the most that recordings have filled of each, with their spare room, plus eight numbers
  /// for each live variable: values of the program, of a replay and of the reversal, adjoints, a store that doubles as
  /// it grows.
  [[nodiscard]] wide bytes() const noexcept {
    constexpr std::size_t of_one[] = {1, sizeof(locint), sizeof(double), sizeof(double)};
    wide sum = wide(stats_[NUM_MAX_LIVES]) * 8 * sizeof(double);
    for (std::size_t k = 0; k < 4; ++k)
      sum += wide((std::min)(most_[k] + most_[k] / 8 + 1024, stats_[reserved[k]])) * of_one[k];
    return sum;
  }

 private:
  // of operations, locations, constants and forward values
  static constexpr StatEntries filled[] = {NUM_OPERATIONS, NUM_LOCATIONS, NUM_VALUES, TAY_STACK_SIZE};
  static constexpr StatEntries counted[] = {NUM_INDEPENDENTS, NUM_DEPENDENTS, NUM_OPERATIONS, NUM_LOCATIONS,
                                            NUM_VALUES};
  static constexpr StatEntries reserved[] = {OP_BUFFER_SIZE, LOC_BUFFER_SIZE, VAL_BUFFER_SIZE, TAY_BUFFER_SIZE};

  static constexpr short no_tag = -1;
  struct unchecked {};
  adolc_tape(unchecked, short tag, unsigned entries) noexcept : first_{entries} {
    tag_ = tag;
    for (unsigned& each : entries_) each = entries;
  }

  [[nodiscard]] static detail::adolc_tags& tags() { return detail::adolc_tags::all(); }
  [[nodiscard]] detail::shared_record& record_of_tag() const { return tags().record(tag_); }
  /// Whether what is recorded under the tag is this tape's; code that uses ADOL-C itself may have recorded, too.
  [[nodiscard]] bool holds_recording() const {
    auto const& record = record_of_tag();
    if (!recording_.held_by(record) || record.open) return false;
    std::size_t now[STAT_SIZE];
    tapestats(tag_, now);
    return std::all_of(std::begin(counted), std::end(counted),
                       [&](StatEntries each) { return now[each] == stats_[each]; });
  }
  [[nodiscard]] static unsigned enough_for(std::size_t filled) noexcept {
    return static_cast<unsigned>((std::min<std::size_t>)(filled + filled / 8 + 1024, 1u << 30));
  }
  /// Calls glibc's malloc_trim where there is one. Else freed buffers stay resident, and the next ones are often beside
  /// them.
  static void give_memory_back() noexcept {
    using trim = int (*)(std::size_t);
    if (auto const found = reinterpret_cast<trim>(dlsym(RTLD_DEFAULT, "malloc_trim")); found != nullptr) (void)found(0);
  }
  void stop() {
    trace_off();
    recording_.end(record_of_tag());
    tapestats(tag_, stats_);
    in_memory_ = stats_[TAY_STACK_SIZE] <= stats_[TAY_BUFFER_SIZE];
    for (StatEntries const file : {OP_FILE_ACCESS, LOC_FILE_ACCESS, VAL_FILE_ACCESS})
      in_memory_ = in_memory_ && stats_[file] == 0;
    spilled_ = spilled_ || !in_memory_;  // files stay when a later recording does without
  }
  /// Removes what ADOL-C has under the tag, unless it is another tape's.
  void remove() {
    bool const mine = tag_ != no_tag && recording_.held_by(record_of_tag());
    if (mine && traced_) removeTape(tag_, ADOLC_REMOVE_COMPLETELY);
    if (mine && spilled_) {  // ADOL-C does not remove this file
      char name[40];
      std::snprintf(name, sizeof name, "ADOLC-Taylors_%d.tap", int(tag_));
      (void)std::remove(name);
    }
    traced_ = spilled_ = false;
  }

  unsigned first_;
  std::vector<double> values_, bars_;
};
static_assert(replaying_tape<adolc_tape>);

}  // namespace cairn
