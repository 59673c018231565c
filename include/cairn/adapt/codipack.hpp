// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file codipack.hpp  CoDiPack's tapes, for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <vector>
#include <codi.hpp>
#include <cairn/adapt/ad/detail/output_copies.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The tape of one of CoDiPack's types for reverse mode. Each thread has one such tape, and beginning a recording
/// resets it.
/// \tparam Real  `codi::RealReverse` or another of first order over double
template <class Real = codi::RealReverse>
class codipack_tape {
  using identifier = typename Real::Identifier;

 public:
  using scalar = Real;  ///< CoDiPack's number

  /// Resets the tape and activates it.
  void begin(std::size_t count) {
    auto& tape = Real::getTape();
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
  void end() { Real::getTape().setPassive(); }
  /// One evaluation of the tape.
  void reverse(double const* seeds, double* bars) {
    auto& tape = Real::getTape();
    tape.clearAdjoints();
    for (std::size_t j = 0; j < results_.size(); ++j) results_[j].gradient() += seeds[j];
    tape.evaluate();
    for (std::size_t k = 0; k < inputs_.size(); ++k) bars[k] = double(tape.getGradient(inputs_[k]));
  }
  /// Resets the tape.
  void abandon() noexcept {
    Real::getTape().setPassive();
    Real::getTape().reset();
  }
  /// Frees the tape's memory.
  void clear() {
    inputs_ = std::vector<identifier>{};
    results_.clear();
    Real::getTape().resetHard();
  }
  /// The memory that the tape uses, according to CoDiPack.
  [[nodiscard]] wide bytes() const { return wide(Real::getTape().getTapeValues().getUsedMemorySize()); }

 private:
  std::vector<identifier> inputs_;
  detail::output_copies<Real> results_;
};

}  // namespace cairn
