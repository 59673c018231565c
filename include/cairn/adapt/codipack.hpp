#pragma once
/// \file codipack.hpp  CoDiPack's tapes, for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <cstddef>
#include <vector>
#include <codi.hpp>
#include <cairn/adapt/ad/detail/kept_results.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// The tape of one of CoDiPack's types for reverse mode, of which there is one in a thread: to begin a recording resets
/// it.
/// \tparam Real  `codi::RealReverse` or another of first order over double
template <class Real = codi::RealReverse>
class codipack_tape {
  using identifier = typename Real::Identifier;

 public:
  using scalar = Real;  ///< CoDiPack's number

  /// Resets the tape, and makes it active.
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
  /// Nothing is left to be done.
  void record() noexcept {}
  /// The next result: a copy, which holds its identifier until the next recording.
  void dependent(Real const& v) {
    Real& result = results_.next();
    result = v;
    Real::getTape().registerOutput(result);
  }
  /// Makes the tape passive.
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
  /// What CoDiPack says that the tape uses.
  [[nodiscard]] wide bytes() const { return wide(Real::getTape().getTapeValues().getUsedMemorySize()); }

 private:
  std::vector<identifier> inputs_;
  detail::kept_results<Real> results_;
};

}  // namespace cairn
