// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tiered.hpp  A store made of two: one near, one far.
#include <concepts>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// Slots that the plan has on tiers before `first_far` are those of one store, all others those of another one: memory
/// and files, memory of a device and memory of the host, a disk of the machine's own and a shared one. With
/// `behind` as the far one, what is far is written and read while the sweep goes on:
/// `tiered store{memory_store{}, behind_for<field>(files)}`.
/// Each is told of all slots when a sweep begins, and has the calls of its own.
/// \tparam Near, Far  stores; references to the caller's, which must outlive it, where lvalues are given
template <class Near, class Far>
class tiered {
  using near_type = std::remove_reference_t<Near>;
  using far_type = std::remove_reference_t<Far>;
  template <class Store> static constexpr bool looks = detail::looks_ahead<Store>;

 public:
  /// See `store_of`: it is told which states the plan loads next.
  static constexpr bool looks_ahead = looks<near_type> || looks<far_type>;
  /// Whether a state may be lost, and is made again.
  static constexpr bool may_lose = detail::may_lose<near_type> || detail::may_lose<far_type>;

  /// \param first_far  of memory, device, host and disk the first that is far
  tiered(Near&& first, Far&& second, tier first_far = tier::disk)
      : near_(std::forward<Near>(first)), far_(std::forward<Far>(second)), first_far_{first_far} {}

  /// See `store_of`, as for the members that follow.
  void begin(sweep_shape const& shape) {
    bool const anew = !shape.resumed || slots_ != shape.slots;
    slots_ = shape.slots, near_slots_ = 0;
    for (slot_index slot = 0; slot < slots_; ++slot)
      if (is_near(shape.tier_of(slot))) ++near_slots_;
    begin_one(near_, shape, anew);
    begin_one(far_, shape, anew);
  }
  /// See `store_of`.
  template <class Frames>
  auto save(Frames& frames, place where, step_index i, frame_id k) {
    constexpr bool tells = detail::fails_to_save<near_type, Frames> || detail::fails_to_save<far_type, Frames>;
    bool const saved = is_near(where.where) ? save_in(near_, frames, where, i, k) : save_in(far_, frames, where, i, k);
    if constexpr (tells) return saved;
    else (void)saved;
  }
  /// See `store_of`.
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, place where, step_index i) {
    return is_near(where.where) ? near_.load(frames, where, i) : far_.load(frames, where, i);
  }
  /// See `store_of`.
  template <class Frames>
  void drop(Frames& frames, place where) {
    if (is_near(where.where)) near_.drop(frames, where);
    else far_.drop(frames, where);
  }
  /// States that it holds beside those of the sweep.
  [[nodiscard]] slot_index extra_frames() const {
    return detail::frames_in(near_, near_slots_) + detail::frames_in(far_, slots_ - near_slots_);
  }
  /// The frame of a state that lies in memory; `no_frame` of others.
  [[nodiscard]] frame_id frame(slot_index slot) const
    requires detail::shows_frames<near_type> || detail::shows_frames<far_type>
  {
    if constexpr (detail::shows_frames<near_type>)
      if (frame_id const k = near_.frame(slot); k != no_frame) return k;
    if constexpr (detail::shows_frames<far_type>) return far_.frame(slot);
    else return no_frame;
  }
  /// See `store_of`.
  [[nodiscard]] step_index at(slot_index slot) const
    requires detail::outliving_store<near_type> || detail::outliving_store<far_type>
  {
    if constexpr (detail::outliving_store<near_type>)
      if (step_index const i = near_.at(slot); i >= 0) return i;
    if constexpr (detail::outliving_store<far_type>) return far_.at(slot);
    else return -1;
  }
  /// See `store_of`.
  [[nodiscard]] std::size_t bytes(tier where) const { return bytes_of_one(near_, where) + bytes_of_one(far_, where); }
  /// See `store_of`.
  template <class Frames>
  void settle(Frames& frames)
    requires requires(near_type& one) { one.settle(frames); } || requires(far_type& one) { one.settle(frames); }
  {
    std::exception_ptr thrown;
    auto const one = [&](auto& store) {
      if constexpr (requires { store.settle(frames); }) try {
          store.settle(frames);
        } catch (...) {  // the other one lets go of its frames, too
          if (!thrown) thrown = std::current_exception();
        }
    };
    one(near_), one(far_);
    if (thrown) std::rethrow_exception(thrown);
  }
  /// See `store_of`.
  template <class Bar>
  void reversed(step_index open, Bar const& bar)
    requires requires(near_type& one) { one.reversed(open, bar); } || requires(far_type& one) { one.reversed(open, bar); }
  {
    if constexpr (requires { near_.reversed(open, bar); }) near_.reversed(open, bar);
    if constexpr (requires { far_.reversed(open, bar); }) far_.reversed(open, bar);
  }

 private:
  [[nodiscard]] bool is_near(tier where) const noexcept { return where < first_far_; }
  template <class Store>
  static void begin_one(Store& store, sweep_shape const& shape, bool anew) {
    if constexpr (detail::takes_shape<Store>) store.begin(shape);
    else if (anew || !(detail::shows_frames<Store> || detail::outliving_store<Store>)) store.begin(shape.slots);
  }
  template <class Store, class Frames>
  static bool save_in(Store& store, Frames& frames, place where, step_index i, frame_id k) {
    if constexpr (detail::fails_to_save<Store, Frames>) return store.save(frames, where, i, k);
    else return store.save(frames, where, i, k), true;
  }
  template <class Store>
  static std::size_t bytes_of_one(Store const& store, tier where) {
    if constexpr (requires { { store.bytes(where) } -> std::convertible_to<std::size_t>; })
      return std::size_t(store.bytes(where));
    else return 0;
  }

  Near near_;
  Far far_;
  tier first_far_;
  slot_index slots_ = 0, near_slots_ = 0;
};
/// The types are those of the arguments; an lvalue is kept by reference.
template <class Near, class Far>
tiered(Near&&, Far&&) -> tiered<Near, Far>;
/// The types are those of the arguments; an lvalue is kept by reference.
template <class Near, class Far>
tiered(Near&&, Far&&, tier) -> tiered<Near, Far>;

}  // namespace cairn
