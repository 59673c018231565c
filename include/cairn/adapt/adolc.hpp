// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adolc.hpp  ADOL-C's tape (Debian: libadolc-dev), for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>
#include <unistd.h>
#include <adolc/adolc.h>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tape of ADOL-C, identified by its tag. ADOL-C has one recording at a time in a program, and does not support
/// threads.
///
/// Recordings are reversed directly from memory: forward values are kept as they are computed (`trace_on(tag, 1)`), and
/// `trace_off(1)`, after which 2.7.2 crashes, is never called. The first two recordings, those of a seed and of a leaf,
/// have ADOL-C's usual buffers. Later buffers have twice the largest size that was filled, which saves small leaves
/// most of the memory and half of the time. ADOL-C writes what does not fit to files `*.tap` in the working directory,
/// whose names contain the tag, and reads it back. A recording in files is not replayed: the next one has larger
/// buffers. Processes that share a working directory, such as the ranks of MPI, need different tags because of these
/// files: by default the tag is made from the process id.
/// If the model divides by a constant c, ADOL-C multiplies by 1 / c, which may differ from double in the last bit.
class adolc_tape {
 public:
  using scalar = adouble;  ///< ADOL-C's number

  /// \param tag  0..32767, used by no other tape of the program or of a process in the same directory
  /// \param entries  size of each buffer of the first two recordings, >= 1
  explicit adolc_tape(short tag = own_tag(), unsigned entries = 1u << 19) noexcept
      : tag_{tag}, first_{entries}, entries_{entries, entries, entries, entries} {}
  /// A new tape with the tag of `other`, and so with its buffers, which belong to the tag.
  adolc_tape(adolc_tape&& other) noexcept : adolc_tape(other.tag_, other.first_) {
    std::swap(traced_, other.traced_);
    std::swap(spilled_, other.spilled_);
  }
  adolc_tape& operator=(adolc_tape&&) = delete;
  /// Frees the buffers.
  ~adolc_tape() { clear(); }

  /// \throws invalid_call   if another recording is in progress
  void begin(std::size_t) {
    if (isTaping())
      throw invalid_call{"cairn::adolc_tape", "ADOL-C is recording already, and has one recording at a time",
                         {{"tag", tag_}}, "end the other recording first"};
    ++recordings_;
    inputs_ = results_ = 0;
    varying_.clear();
    trace_on(tag_, 1, entries_[0], entries_[1], entries_[2], entries_[3]);
    traced_ = true;
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
    trace_off();
    tapestats(tag_, stats_);
    in_memory_ = stats_[TAY_STACK_SIZE] <= stats_[TAY_BUFFER_SIZE];
    spilled_ = spilled_ || !in_memory_;
    for (StatEntries const file : {OP_FILE_ACCESS, LOC_FILE_ACCESS, VAL_FILE_ACCESS})
      in_memory_ = in_memory_ && stats_[file] == 0;
    for (std::size_t k = 0; k < 4; ++k) {
      most_[k] = (std::max)(most_[k], stats_[filled[k]]);
      entries_[k] = measured_ == 0 ? first_ : 1024;
      while (entries_[k] < 2 * most_[k] && entries_[k] < (1u << 30)) entries_[k] *= 2;
    }
    ++measured_;
  }
  /// Recomputes the values of the last recording for other numbers. False also for a recording that went to files.
  /// Turns ADOL-C's warnings of changed comparisons on, even if the program had turned them off.
  [[nodiscard]] bool replay(double const* numbers) {
    if (inputs_ == 0 || results_ == 0 || !in_memory_) return false;
    values_.resize(results_);
    disableBranchSwitchWarnings();
    int const answer = zos_forward(tag_, int(results_), int(inputs_ + varying_.size()), 1, numbers, values_.data());
    enableBranchSwitchWarnings();
    return answer >= 0;
  }
  [[nodiscard]] std::uint64_t recordings() const noexcept { return recordings_; }  ///< begun so far
  /// \throws invalid_call   if ADOL-C cannot reverse its record
  void reverse(double const* seeds, double* bars) {
    if (inputs_ == 0) return;
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
  /// Ends a recording that is not needed.
  void abandon() noexcept {
    if (isTaping()) trace_off();
  }
  /// Frees the buffers; the next recording counts as the first.
  void clear() {
    if (traced_) removeTape(tag_, ADOLC_REMOVE_COMPLETELY);
    if (spilled_) {  // ADOL-C does not remove this file
      char name[40];
      std::snprintf(name, sizeof name, "ADOLC-Taylors_%d.tap", int(tag_));
      (void)std::remove(name);
    }
    traced_ = spilled_ = false;
    inputs_ = results_ = 0;
    measured_ = 0;
    for (unsigned& each : entries_) each = first_;
    for (std::size_t& each : most_) each = 0;
  }
  /// Bytes that the last recording has filled of its buffers, plus the values and adjoints of all live variables.
  [[nodiscard]] wide bytes() const noexcept {
    constexpr std::size_t of_one[] = {1, sizeof(locint), sizeof(double), sizeof(double)};
    wide sum = wide(stats_[NUM_MAX_LIVES]) * 2 * sizeof(double);
    for (std::size_t k = 0; k < 4; ++k) sum += wide((std::min)(stats_[filled[k]], stats_[reserved[k]])) * of_one[k];
    return sum;
  }

 private:
  // of operations, locations, constants and forward values
  static constexpr StatEntries filled[] = {NUM_OPERATIONS, NUM_LOCATIONS, NUM_VALUES, TAY_STACK_SIZE};
  static constexpr StatEntries reserved[] = {OP_BUFFER_SIZE, LOC_BUFFER_SIZE, VAL_BUFFER_SIZE, TAY_BUFFER_SIZE};

  /// Larger than the small tags that programs choose themselves; processes that are started together get different
  /// tags.
  [[nodiscard]] static short own_tag() noexcept { return static_cast<short>(1'000 + getpid() % 31'000); }

  short tag_;
  unsigned first_, entries_[4];
  std::size_t inputs_ = 0, results_ = 0, measured_ = 0, most_[4] = {};
  std::vector<std::pair<adouble*, double>> varying_;  // in the order in which they were declared
  std::vector<double> values_, bars_;
  std::uint64_t recordings_ = 0;
  bool traced_ = false, spilled_ = false, in_memory_ = true;
  std::size_t stats_[STAT_SIZE] = {};
};
static_assert(replaying_tape<adolc_tape>);

}  // namespace cairn
