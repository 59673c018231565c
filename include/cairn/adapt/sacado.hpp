// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sacado.hpp  Reverse mode of Sacado (Trilinos; Debian: libtrilinos-sacado-dev, libtrilinos-kokkos-dev), for
/// `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <vector>
#include <Sacado_trad.hpp>
#include <cairn/adapt/ad/detail/shared_record.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

/// The list of blocks in which Sacado records; a private member. An explicit instantiation may name it.
using sacado_context = Sacado::Rad::ADcontext<double>;
[[nodiscard]] inline Sacado::Rad::ADmemblock<double>* sacado_busy(sacado_context const& context);
template <auto Busy>
struct sacado_blocks {
  friend inline Sacado::Rad::ADmemblock<double>* sacado_busy(sacado_context const& context) { return context.*Busy; }
};
template struct sacado_blocks<&sacado_context::Busy>;

}  // namespace detail

/// The tape of `Sacado::Rad::ADvar<double>`. A program has only one: beginning a recording discards everything else
/// that was computed with such numbers. Threads that use it through `taped` wait for each other, leaf by leaf. Its
/// memory is kept for the next recording and never freed.
class sacado_tape {
 public:
  using scalar = Sacado::Rad::ADvar<double>;  ///< Sacado's number
  static constexpr bool keeps_memory = true;  ///< `clear` does not free what a longer recording has taken

  sacado_tape() = default;
  /// The new tape has the recording.
  sacado_tape(sacado_tape&&) = default;
  /// Ends an open recording.
  ~sacado_tape() {
    auto const held = hold();
    abandon();
    results_.clear();
  }

  /// While the result lives, other threads wait.
  [[nodiscard]] detail::record_hold hold() const { return detail::hold(record_of_program()); }
  /// Makes Sacado forget all operations.   \throws invalid_call   if another tape is recording
  void begin(std::size_t count) {
    auto const held = hold();
    recording_.begin(record_of_program(), "cairn::sacado_tape");
    scalar::Gradcomp(0);
    inputs_.clear();
    inputs_.reserve(count);
    results_.begin();
  }
  /// The next independent variable.
  void independent(scalar& v, double value) {
    v = value;
    inputs_.push_back(static_cast<node*>(v));
  }
  /// Does nothing.
  void record() noexcept {}
  /// The next result: a copy, because Sacado takes one seed for each variable.
  void dependent(scalar const& v) {
    scalar const copy(v);
    results_.next() = copy;  // refers to the copy's node
  }
  /// From here on other tapes may record.
  void end() { recording_.end(record_of_program()); }
  /// One sweep over all operations.   \throws invalid_call   if another recording has begun since
  void reverse(double const* seeds, double* bars) {
    auto const held = hold();
    recording_.require(record_of_program(), "cairn::sacado_tape");
    if (results_.size() > 0) scalar::Weighted_Gradcomp(results_.size(), results_.data(), const_cast<double*>(seeds));
    for (std::size_t k = 0; k < inputs_.size(); ++k) bars[k] = results_.size() > 0 ? inputs_[k]->aval : 0;
  }
  /// Makes Sacado forget all operations.
  void abandon() noexcept {
    if (!recording_.open(record_of_program())) return;
    scalar::Gradcomp(0);
    recording_.drop(record_of_program());
  }
  /// Frees everything except Sacado's own memory.
  void clear() {
    auto const held = hold();
    abandon();
    inputs_ = std::vector<node*>{};
    results_.clear();
  }
  /// The blocks of memory that the last recording has filled, and lists of inputs and results.
  [[nodiscard]] wide bytes() const noexcept {
    wide blocks = 0;
    for (auto const* each = detail::sacado_busy(node::adc); each != nullptr; each = each->next) ++blocks;
    return blocks * sizeof(Sacado::Rad::ADmemblock<double>) + wide(inputs_.capacity()) * sizeof(node*) +
           results_.bytes();
  }

 private:
  using node = Sacado::Rad::ADvari<double>;
  [[nodiscard]] static detail::shared_record& record_of_program() { return detail::shared_record::at(&node::adc); }

  detail::own_recording recording_;
  std::vector<node*> inputs_;
  detail::output_copies<scalar> results_;
};
static_assert(ad_tape<sacado_tape>);

}  // namespace cairn
