// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file xad.hpp  XAD's tape, for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <utility>
#include <vector>
#include <XAD/XAD.hpp>
#include <cairn/adapt/ad/detail/shared_record.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tape of XAD, active while it records. Each thread can have one active tape at a time.
class xad_tape {
  using mode = ::xad::adj<double>;

 public:
  using scalar = mode::active_type;  ///< XAD's number

  xad_tape() = default;
  /// The new tape has the recording; `other` has a new tape.
  xad_tape(xad_tape&& other)
      : tape_{std::move(other.tape_)}, inputs_{std::move(other.inputs_)}, outputs_{std::move(other.outputs_)},
        results_{std::move(other.results_)} {
    other.tape_ = mode::tape_type{false};
  }

  /// Clears the tape. While the tape is not active, numbers forget their slots on it: a number that is destroyed later
  /// would otherwise free the slot of a new one.   \throws invalid_call   if a tape is active in this thread
  void begin(std::size_t count) {
    if (mode::tape_type::getActive() != nullptr)
      throw invalid_call{"cairn::xad_tape", "a tape of XAD is active in this thread already", {},
                         "end the other recording first"};
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
  /// Activates the tape.
  void record() {
    tape_.newRecording();
    tape_.activate();
  }
  /// The next result: a copy, which keeps its slot until the recording has been reversed.
  void dependent(scalar const& v) {
    scalar& result = results_.next();
    scalar copy(v);
    tape_.registerOutput(copy);
    outputs_.push_back(copy.getSlot());
    result = std::move(copy);
  }
  /// Deactivates the tape.
  void end() { tape_.deactivate(); }
  /// Computes the adjoints by one reverse sweep over the tape.
  void reverse(double const* seeds, double* bars) {
    tape_.clearDerivatives();
    for (std::size_t j = 0; j < outputs_.size(); ++j) tape_.derivative(outputs_[j]) += seeds[j];
    if (!outputs_.empty()) tape_.computeAdjoints();
    for (std::size_t k = 0; k < inputs_.size(); ++k) bars[k] = outputs_.empty() ? 0 : tape_.getDerivative(inputs_[k]);
  }
  /// Deactivates the tape.
  void abandon() noexcept {
    if (tape_.isActive()) tape_.deactivate();
  }
  /// Makes a new tape, because XAD's own clearAll keeps the memory.
  void clear() {
    inputs_ = outputs_ = slots{};
    results_.clear();
    tape_ = mode::tape_type{false};
  }
  /// The memory that the tape uses, according to XAD, and that of lists of inputs and results.
  [[nodiscard]] wide bytes() const {
    return wide(tape_.getMemory()) + wide(inputs_.capacity() + outputs_.capacity()) * sizeof(*inputs_.data()) +
           results_.bytes();
  }

 private:
  mode::tape_type tape_{false};
  using slots = std::vector<mode::tape_type::slot_type>;
  slots inputs_, outputs_;
  detail::output_copies<scalar> results_;
};
static_assert(ad_tape<xad_tape>);

}  // namespace cairn
