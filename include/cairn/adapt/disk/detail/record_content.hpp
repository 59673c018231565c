// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_content.hpp  What a record holds, and what stands beside a state in its file.
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/library_bar.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>

namespace cairn::detail {

/// The sum of an objective's terms as a sweep has it.   \tparam Terms  no_terms if there are none
template <class Terms>
struct terms_beside_run {
  static constexpr bool any = !std::is_same_v<Terms, no_terms>;
  Terms* terms = nullptr;
};
inline constexpr char const* what_of_sums = "the adjoint of the parameters that is read back is not what was written";
/// The sums of a sweep beside its adjoint: dp, and the value of an objective.
/// \tparam DP  no_params if there is none
template <class DP, class Terms>
struct run_sums : terms_beside_run<Terms> {
  DP* dp = nullptr;
  template <class Sink>
  void write([[maybe_unused]] Sink& sink) const {
    if constexpr (!std::is_same_v<DP, no_params>) write_exactly(*dp, sink);
  }
  template <class Source>
  void read([[maybe_unused]] Source& source) const {
    if constexpr (!std::is_same_v<DP, no_params>) read_exactly(*dp, source, what_of_sums, -1);
  }
};
/// The same for a run that is kept: each reverse may have another dp.
template <class Terms>
struct kept_sums : terms_beside_run<Terms> {
  void* dp = nullptr;  ///< null if there is none
  void (*writes)(void const*, file_writer&) = nullptr;
  void (*reads)(void*, file_reader&) = nullptr;
  void (*names)(void const*, id_sum&) = nullptr;
  std::shared_ptr<void> (*copies)(void const*) = nullptr;
  void (*becomes)(void*, void const*) = nullptr;
  template <class DP>
  void are_in(DP& other) noexcept {
    dp = &other;
    writes = [](void const* from, file_writer& sink) { write_exactly(*static_cast<DP const*>(from), sink); };
    names = [](void const* from, id_sum& sum) { write_exactly(*static_cast<DP const*>(from), sum); };
    reads = [](void* into, file_reader& source) {
      DP read = copy_of(*static_cast<DP const*>(into));  // what is there stays unless all can be read
      read_exactly(read, source, what_of_sums, -1);
      *static_cast<DP*>(into) = std::move(read);
    };
    copies = [](void const* from) -> std::shared_ptr<void> {
      return std::make_shared<DP>(copy_of(*static_cast<DP const*>(from)));
    };
    becomes = [](void* into, void const* old) { copy_state(*static_cast<DP const*>(old), *static_cast<DP*>(into)); };
  }
  /// What `become` brings back; nothing if there is no dp.
  [[nodiscard]] std::shared_ptr<void> copied() const { return dp != nullptr ? copies(dp) : nullptr; }
  void become(std::shared_ptr<void> const& old) const {
    if (old) becomes(dp, old.get());
  }
  void write(file_writer& sink) const {
    if (dp != nullptr) writes(dp, sink);
  }
  void read(file_reader& source) const {
    if (dp != nullptr) reads(dp, source);
  }
  void add_to(id_sum& sum) const {
    if (dp != nullptr) names(dp, sum);
  }
};

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
      if (of.next > sums_.terms->steps()) sums_.terms->go_on(of.sum, of.next);  // never on the way back
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
