#pragma once
/// \file xad.hpp  XAD's tape, for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <cstddef>
#include <utility>
#include <vector>
#include <XAD/XAD.hpp>
#include <cairn/adapt/ad/detail/kept_results.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tape of XAD, active while it records. One is active in a thread at a time: where another one is, XAD throws.
class xad_tape {
  using mode = ::xad::adj<double>;

 public:
  using scalar = mode::active_type;  ///< XAD's number

  /// Clears the tape. While it is not active, numbers forget their places on it: one that ends later with its old place
  /// would free that of a new one.
  void begin(std::size_t count) {
    for (std::size_t j = 0; j < results_.size(); ++j) results_[j] = scalar();
    tape_.clearAll();
    inputs_.clear();
    inputs_.reserve(count);
    outputs_.clear();
    results_.begin();
  }
  /// The next independent variable.
  void independent(scalar& v, double value) {
    v = scalar(value);
    tape_.registerInput(v);
    inputs_.push_back(v.getSlot());
  }
  /// Makes the tape active.
  void record() {
    tape_.newRecording();
    tape_.activate();
  }
  /// The next result: a copy, which holds its place until the recording has been reversed.
  void dependent(scalar const& v) {
    scalar& result = results_.next();
    scalar copy(v);
    tape_.registerOutput(copy);
    outputs_.push_back(copy.getSlot());
    result = std::move(copy);
  }
  /// Makes the tape passive.
  void end() { tape_.deactivate(); }
  /// Rolls the tape back.
  void reverse(double const* seeds, double* bars) {
    tape_.clearDerivatives();
    for (std::size_t j = 0; j < outputs_.size(); ++j) tape_.derivative(outputs_[j]) += seeds[j];
    if (!outputs_.empty()) tape_.computeAdjoints();
    for (std::size_t k = 0; k < inputs_.size(); ++k) bars[k] = outputs_.empty() ? 0 : tape_.getDerivative(inputs_[k]);
  }
  /// Makes the tape passive.
  void abandon() noexcept {
    if (tape_.isActive()) tape_.deactivate();
  }
  /// A new tape: XAD's own clearAll keeps the memory.
  void clear() {
    inputs_ = outputs_ = slots{};
    results_.clear();
    tape_ = mode::tape_type{false};
  }
  /// What XAD says that the tape occupies.
  [[nodiscard]] wide bytes() const { return wide(tape_.getMemory()); }

 private:
  mode::tape_type tape_{false};
  using slots = std::vector<mode::tape_type::slot_type>;
  slots inputs_, outputs_;
  detail::kept_results<scalar> results_;
};
static_assert(ad_tape<xad_tape>);

}  // namespace cairn
