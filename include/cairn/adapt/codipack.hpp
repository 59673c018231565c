// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file codipack.hpp  CoDiPack's tapes, for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <memory>
#include <vector>
#include <codi.hpp>
#include <cairn/adapt/ad/detail/shared_record.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The tape of one of CoDiPack's types for reverse mode. A program has one such tape, which beginning a recording
/// resets; threads that use it through `taped` wait for each other, leaf by leaf. CoDiPack's types for OpenMP have one
/// in each thread.
/// \tparam Real  `codi::RealReverse` or another of first order over double
template <class Real = codi::RealReverse>
class codipack_tape {
  using identifier = typename Real::Identifier;

 public:
  using scalar = Real;  ///< CoDiPack's number

  codipack_tape() = default;
  /// The new tape has the recording.
  codipack_tape(codipack_tape&&) = default;
  /// Leaves CoDiPack's tape as it is, unless a recording is open.
  ~codipack_tape() {
    auto const held = hold();
    abandon();
    results_.clear();
  }

  /// While the result lives, other threads wait.
  [[nodiscard]] detail::record_hold hold() const { return detail::hold(record_of_tape()); }
  /// Resets the tape and activates it.   \throws invalid_call   if it is recording
  void begin(std::size_t count) {
    auto const held = hold();
    auto& tape = Real::getTape();
    if (tape.isActive())
      throw invalid_call{"cairn::codipack_tape", "CoDiPack's tape is recording already", {},
                         "end the other recording first"};
    record_of_tape().open = false;
    recording_.begin(record_of_tape(), "cairn::codipack_tape");
    tape.reset();
    tape.setActive();
    inputs_.clear();
    inputs_.reserve(count);
    results_.begin();
  }
  /// The next independent variable.
  void independent(Real& v, double value) {
    v = value;
    Real::getTape().registerInput(v);
    inputs_.push_back(v.getIdentifier());
  }
  /// Does nothing.
  void record() noexcept {}
  /// The next result: a copy, which keeps its identifier until the next recording.
  void dependent(Real const& v) {
    Real& result = results_.next();
    result = v;
    Real::getTape().registerOutput(result);
  }
  /// Deactivates the tape.
  void end() {
    Real::getTape().setPassive();
    recording_.end(record_of_tape());
  }
  /// One evaluation of the tape.   \throws invalid_call   if another recording has begun since
  void reverse(double const* seeds, double* bars) {
    auto const held = hold();
    recording_.require(record_of_tape(), "cairn::codipack_tape");
    auto& tape = Real::getTape();
    tape.clearAdjoints();
    for (std::size_t j = 0; j < results_.size(); ++j) results_[j].gradient() += seeds[j];
    tape.evaluate();
    for (std::size_t k = 0; k < inputs_.size(); ++k) bars[k] = double(tape.getGradient(inputs_[k]));
  }
  /// Resets the tape.
  void abandon() noexcept {
    if (!recording_.open(record_of_tape())) return;
    Real::getTape().setPassive();
    Real::getTape().reset();
    recording_.drop(record_of_tape());
  }
  /// Frees the tape's memory, unless it holds another's recording.
  void clear() {
    auto const held = hold();
    abandon();
    inputs_ = std::vector<identifier>{};
    results_.clear();
    if (!recording_.held_by(record_of_tape())) return;
    Real::getTape().resetHard();
    recording_.drop(record_of_tape());
  }
  /// The memory that the tape has allocated, according to CoDiPack, which does so by chunks, and that of lists of
  /// inputs and results.
  [[nodiscard]] wide bytes() const {
    return wide(Real::getTape().getTapeValues().getAllocatedMemorySize()) +
           wide(inputs_.capacity()) * sizeof(identifier) + results_.bytes();
  }

 private:
  [[nodiscard]] static detail::shared_record& record_of_tape() {
    return detail::shared_record::at(std::addressof(Real::getTape()));
  }

  detail::own_recording recording_;
  std::vector<identifier> inputs_;
  detail::output_copies<Real> results_;
};

}  // namespace cairn
