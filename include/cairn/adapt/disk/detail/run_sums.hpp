// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_sums.hpp  What a sweep sums beside its adjoint, as records have it.
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/state_traits.hpp>
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

}  // namespace cairn::detail
