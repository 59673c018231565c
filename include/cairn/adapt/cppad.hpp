// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cppad.hpp  CppAD's tape (PyPI: cmeel-cppad), for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>
#include <cppad/cppad.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// A tape of CppAD: a recording of `AD<double>` and the function made from it. One recording at a time per thread. It
/// can replay recordings, with varying numbers as CppAD's dynamic parameters: for models that allow this see `taped`.
class cppad_tape {
 public:
  using scalar = CppAD::AD<double>;  ///< CppAD's number

  /// Turns CppAD's checks for nan off: derivatives that are not numbers are returned as they are.
  cppad_tape() : function_{made()} {}

  /// Makes room for the independent variables.
  void begin(std::size_t count) {
    ++recordings_;
    places_.clear();
    inputs_.clear();
    values_.clear();
    results_.clear();
    varying_places_.clear();
    varying_.clear();
    inputs_.reserve(count);
  }
  /// The next independent variable.
  void independent(scalar& v, double value) {
    places_.push_back(&v);
    inputs_.emplace_back(value);
    values_.push_back(value);
  }
  /// The next number that a replay may change.
  void varies(scalar& v, double value) {
    varying_places_.push_back(&v);
    varying_.emplace_back(value);
    v = value;
  }
  /// CppAD declares all independent variables at once; they are copied back to their places here.
  void record() {
    if (inputs_.empty()) return;
    if (varying_.empty()) CppAD::Independent(inputs_);
    else CppAD::Independent(inputs_, 0, true, varying_);
    recording_ = true;
    for (std::size_t k = 0; k < places_.size(); ++k) *places_[k] = inputs_[k];
    for (std::size_t k = 0; k < varying_.size(); ++k) *varying_places_[k] = varying_[k];
  }
  /// The next result.
  void dependent(scalar const& v) { results_.push_back(v); }
  /// Makes a function from the recording, and recomputes its values, which the reverse needs.
  void end() {
    if (!recording_) return;
    if (results_.empty()) return abandon();
    recording_ = false;
    function_->Dependent(inputs_, results_);
    function_->Forward(0, values_);
  }
  /// Recomputes the values of the last recording for other numbers.
  [[nodiscard]] bool replay(double const* numbers) {
    if (inputs_.empty() || results_.empty()) return false;
    values_.assign(numbers, numbers + inputs_.size());
    if (!varying_.empty()) {
      seeds_.assign(numbers + inputs_.size(), numbers + inputs_.size() + varying_.size());
      function_->new_dynamic(seeds_);
    }
    function_->Forward(0, values_);
    return function_->compare_change_number() == 0;
  }
  [[nodiscard]] std::uint64_t recordings() const noexcept { return recordings_; }  ///< recordings begun so far
  /// One reverse sweep of first order.
  void reverse(double const* seeds, double* bars) {
    if (inputs_.empty()) return;
    if (results_.empty()) {
      std::fill(bars, bars + inputs_.size(), 0.0);
      return;
    }
    seeds_.assign(seeds, seeds + results_.size());
    auto const found = function_->Reverse(1, seeds_);
    std::copy(found.begin(), found.end(), bars);
  }
  /// Ends a recording that is not needed.
  void abandon() noexcept {
    if (recording_) scalar::abort_recording();
    recording_ = false;
  }
  /// Frees the recording.
  void clear() {
    function_ = made();
    places_ = varying_places_ = std::vector<scalar*>{};
    inputs_ = results_ = varying_ = std::vector<scalar>{};
    values_ = seeds_ = std::vector<double>{};
  }
  /// Bytes of the sequence of operations, of the values of its variables, and of the same number of partial
  /// derivatives.
  [[nodiscard]] wide bytes() const {
    return wide(function_->size_op_seq()) + function_->size_random() +
           2 * wide(function_->size_var()) * sizeof(double) +
           wide(inputs_.capacity() + results_.capacity()) * sizeof(scalar);
  }

 private:
  using function = CppAD::ADFun<double>;
  [[nodiscard]] static std::unique_ptr<function> made() {
    auto one = std::make_unique<function>();
    one->check_for_nan(false);
    return one;
  }

  std::unique_ptr<function> function_;  // behind a pointer: CppAD's move reads an uninitialised flag
  std::vector<scalar*> places_, varying_places_;
  std::vector<scalar> inputs_, results_, varying_;
  std::vector<double> values_, seeds_;
  bool recording_ = false;
  std::uint64_t recordings_ = 0;
};
static_assert(replaying_tape<cppad_tape>);

}  // namespace cairn
