#pragma once
/// \file adolc.hpp  ADOL-C's tape (Debian: libadolc-dev), for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <algorithm>
#include <cstddef>
#include <adolc/adolc.h>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tape of ADOL-C, by its tag. ADOL-C has one recording at a time in a program, and no threads.
///
/// Recordings are reversed straight from memory: the forward values are kept as they are computed (`trace_on(tag, 1)`),
/// and `trace_off(1)`, behind which 2.7.2 crashes, is never called. Buffers begin at `entries` each and double behind a
/// recording that has filled half of one; what does not fit, ADOL-C writes to files in the working directory, `*.tap`,
/// and reads back. Where the model divides by a constant c, ADOL-C multiplies by 1 / c, which may be another last bit
/// than that of double.
class adolc_tape {
 public:
  using scalar = adouble;  ///< ADOL-C's number

  /// \param tag  no other tape of the program has it, 0..32767   \param entries  of each buffer at first: 21 bytes for
  ///        one entry of all four
  explicit adolc_tape(short tag = 19, unsigned entries = 1u << 16) noexcept
      : tag_{tag}, first_entries_{entries}, entries_{entries} {}
  /// The buffers belong to the tag.
  adolc_tape(adolc_tape&& other) noexcept
      : tag_{other.tag_}, first_entries_{other.first_entries_}, entries_{other.entries_}, inputs_{other.inputs_}, results_{other.results_},
        traced_{other.traced_} {
    other.traced_ = false;
  }
  adolc_tape& operator=(adolc_tape&&) = delete;
  /// Gives the buffers back.
  ~adolc_tape() { clear(); }

  /// \throws invalid_call where another recording is under way
  void begin(std::size_t) {
    if (isTaping())
      throw invalid_call{"cairn::adolc_tape", "ADOL-C is recording already, and has one recording at a time",
                         {{"tag", tag_}}, "end the other recording first"};
    inputs_ = results_ = 0;
    trace_on(tag_, 1, entries_, entries_, entries_, entries_);
    traced_ = true;
  }
  /// The next independent variable.
  void independent(adouble& v, double value) {
    v <<= value;
    ++inputs_;
  }
  /// Nothing is left to be done.
  void record() noexcept {}
  /// The next result: a copy, because ADOL-C takes one seed for each variable.
  void dependent(adouble const& v) {
    double value = 0;
    adouble result = v;
    result >>= value;
    ++results_;
  }
  /// Ends the recording, and looks what it has taken.
  void end() {
    trace_off();
    tapestats(tag_, stats_);
    std::size_t const most = std::max({stats_[NUM_OPERATIONS], stats_[NUM_LOCATIONS], stats_[NUM_VALUES],
                                       stats_[TAY_STACK_SIZE]});
    while (entries_ < most * 2 && entries_ < (1u << 30)) entries_ *= 2;
  }
  /// \throws invalid_call where ADOL-C cannot reverse its record
  void reverse(double const* seeds, double* bars) {
    if (inputs_ == 0) return;
    if (results_ == 0) {
      std::fill(bars, bars + inputs_, 0.0);
      return;
    }
    int const answer = fos_reverse(tag_, int(results_), int(inputs_), const_cast<double*>(seeds), bars);
    if (answer < 0)
      throw invalid_call{"cairn::adolc_tape", "ADOL-C could not reverse its recording", {{"answer", answer}},
                         "look for what the model computes that has no derivative"};
  }
  /// Ends a recording that is not wanted.
  void abandon() noexcept {
    if (isTaping()) trace_off();
  }
  /// Frees the buffers; the next ones are as small as the first.
  void clear() {
    if (traced_) removeTape(tag_, ADOLC_REMOVE_COMPLETELY);
    traced_ = false;
    entries_ = first_entries_;
  }
  /// The buffers of the last recording, and the values and adjoints of all variables that are alive.
  [[nodiscard]] wide bytes() const noexcept {
    return wide(stats_[OP_BUFFER_SIZE]) + wide(stats_[LOC_BUFFER_SIZE]) * sizeof(locint) +
           wide(stats_[VAL_BUFFER_SIZE] + stats_[TAY_BUFFER_SIZE]) * sizeof(double) +
           wide(stats_[NUM_MAX_LIVES]) * 2 * sizeof(double);
  }

 private:
  short tag_;
  unsigned first_entries_, entries_;
  std::size_t inputs_ = 0, results_ = 0;
  bool traced_ = false;
  std::size_t stats_[STAT_SIZE] = {};
};
static_assert(ad_tape<adolc_tape>);

}  // namespace cairn
