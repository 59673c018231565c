// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_content.hpp  What a record holds, and what stands beside a state in its file.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/run_sums.hpp>
#include <cairn/adapt/disk/detail/trust.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/library_bar.hpp>

namespace cairn::detail {

/// The reverse sweep of a kept run that a record belongs to.
struct reverse_of_run {
  step_index steps = -1;    ///< length of the loop; -1: the run has one reverse only, and its records do not say
  std::uint64_t seed = 0;   ///< hash of the function, of the adjoint of the final state, and of dp there
  [[nodiscard]] friend bool operator==(reverse_of_run const&, reverse_of_run const&) = default;
};

/// \tparam Object  the object of a loop over one, or void
template <class Sums, class Object>
class record_content {
 public:
  /// What stands beside a state or an adjoint: the sum of the terms before `next`, as far as the run was then; beside an
  /// adjoint what was found at the end, too.
  struct partial_sum {
    double sum = 0;
    step_index next = -1;
    double ending = 0;
  };

  record_content(Sums sums, Object* object) noexcept : sums_{sums}, object_{object} {}
  [[nodiscard]] Sums& sums() noexcept { return sums_; }

  template <class Sink>
  void write_beside([[maybe_unused]] Sink& sink) const {
    if constexpr (Sums::any) write_state(sums_.terms->sum(), sink), write_state(sums_.terms->steps(), sink);
  }
  template <class Source>
  void read_beside([[maybe_unused]] Source& source, [[maybe_unused]] partial_sum& into) const {
    if constexpr (Sums::any) {
      read_state(into.sum, source);
      read_state(into.next, source);
    }
  }
  /// A sum over more states than are summed here, as another process had it.
  void adopt([[maybe_unused]] partial_sum const& of) noexcept {
    if constexpr (Sums::any)
      if (of.next >= sums_.terms->steps()) sums_.terms->go_on(of.sum, of.next);
  }
  /// The same of a record.
  void adopt_all([[maybe_unused]] partial_sum const& of) noexcept {
    adopt(of);
    if constexpr (Sums::any) sums_.terms->ended(of.ending);
  }

  /// \throws invalid_bytes   if the record belongs to another reverse
  template <class Bar, class Source>
  void read_record(Bar& bar, Source& source, partial_sum& all) {
    if (of_.steps >= 0) {
      reverse_of_run other;
      read_state(other.steps, source);
      read_state(other.seed, source);
      if (!(other == of_)) throw invalid_bytes{"cairn::disk", "a record belongs to another reverse", {}, ""};
    }
    read_bar(bar, source);
    sums_.read(source);
    read_beside(source, all);
    if constexpr (Sums::any) read_state(all.ending, source);
  }
  template <class Bar, class Sink>
  void write_record(Bar const& bar, Sink& sink) const {
    if (of_.steps >= 0) write_state(of_.steps, sink), write_state(of_.seed, sink);
    write_bar(bar, sink);
    sums_.write(sink);
    write_beside(sink);
    if constexpr (Sums::any) write_state(sums_.terms->ending(), sink);
  }
  /// The adjoint as it stands in a record: of a library what its object saves.
  template <class Bar, class Sink>
  void write_bar(Bar const& bar, Sink& sink) const {
    if constexpr (!std::is_same_v<Bar, library_bar>) write_exactly(bar, sink);
    else if constexpr (saves_bar<Object>) write_exactly(std::as_const(*object_).save_bar(), sink);
  }

 protected:
  Sums sums_;
  Object* object_;
  reverse_of_run of_;

 private:
  template <class Bar, class Source>
  void read_bar(Bar& bar, Source& source) {
    constexpr char const* what = "an adjoint that is read back is not the one that was written";
    if constexpr (!std::is_same_v<Bar, library_bar>) read_exactly(bar, source, what, -1);
    else if constexpr (saves_bar<Object>) {
      std::remove_cvref_t<decltype(std::as_const(*object_).save_bar())> saved{};
      read_exactly(saved, source, what, -1);
      object_->restore_bar(std::as_const(saved));
    }
  }
};

}  // namespace cairn::detail
