// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file behind.hpp  A store whose writes and reads run on a thread of their own, while the sweep goes on.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/store/detail/transfers.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

namespace detail {

/// The frames of a sweep as the store behind sees them: one, that of the transfer.
template <class Value>
struct frame_behind {
  using value_type = Value;
  Value const* written = nullptr;
  std::optional<Value>* read = nullptr;
  [[nodiscard]] Value const& state(frame_id) const noexcept { return written != nullptr ? *written : **read; }
  void keep(frame_id) const noexcept {}
  void release(frame_id) const noexcept {}
  [[nodiscard]] frame_id take() const noexcept { return 0; }
  [[nodiscard]] Value* reusable(frame_id) const noexcept { return *read ? &**read : nullptr; }
  void emplace(frame_id, Value&& made) const { read->emplace(std::move(made)); }
  template <class Fn>
  void coming_loads(Fn const&) const noexcept {}
};

/// Stores that copy, serialise or send states, at once.
template <class Store, class Value>
[[nodiscard]] consteval bool check_behind() {
  constexpr bool fits = store_of<Store, Value>;
  constexpr bool copies = !shows_frames<Store> && !requires(Store& store, frame_behind<Value>& one) { store.settle(one); };
  static_assert(fits, "cairn: cairn::behind takes a store for states of this type; see cairn::store_of");
  static_assert(copies,
                "cairn: cairn::behind takes a store that copies states at once; put one that keeps frames beside it, "
                "cairn::tiered{cairn::memory_store{}, ...}");
  return fits && copies;
}

}  // namespace detail

/// Writes behind the sweep and reads ahead of it, by a store that knows of neither: a save returns at once, and what the
/// plan loads next is read while it computes. The calls of that store are made one at a time, from a thread that waits
/// between them; so it must not be used elsewhere meanwhile.
/// - A state that is being written is not copied: its frame is kept, and a load of it takes that frame.
/// - The state that was read last is kept: plans read the beginning of a period several times.
/// - A slot that is dropped or written again is not written if that has not begun.
/// - What that store throws on the other thread is thrown by the next call of the sweep, or at its end. A state that it
///   could not write is lost, and is made again if `may_lose`.
/// - A state with spare capacity is written before its save returns.
/// If the system provides no thread, the sweep waits for each transfer.
/// Memory: saves + loads + 1 states, and one more while the sweep writes into a state that is being written.
/// \tparam State  of the sweep; of an object its snapshot   \tparam Store  a reference to the caller's, or one made here
template <class State, class Store>
class behind {
  using store_type = std::remove_reference_t<Store>;
  static constexpr bool sound = detail::check_behind<store_type, State>();
  static constexpr bool tells = detail::fails_to_save<store_type, detail::frame_behind<State>>;

 public:
  /// See `store_of`: it is told which states the plan loads next.
  static constexpr bool looks_ahead = true;
  /// Whether a state may be lost, and is made again.
  static constexpr bool may_lose = detail::may_lose<store_type>;

  /// \param given  from which the store is made
  template <class... Given>
    requires std::constructible_from<Store, Given...>
  explicit behind(behind_options how, Given&&... given)
      : store_(std::forward<Given>(given)...), transfers_{*this, how} {
    if (how.saves < 1 || how.loads < 0)
      throw invalid_call{"cairn::behind", "there is no room for a state that is being written",
                         {{"saves", how.saves}, {"loads", how.loads}},
                         "give 1 save or more, and no negative number of loads"};
  }
  behind(behind const&) = delete;

  /// \pre no sweep uses it, and nothing of it
  [[nodiscard]] store_type& store() noexcept { return store_; }
  /// States that it holds beside those of the sweep.
  [[nodiscard]] slot_index extra_frames() const noexcept { return transfers_.frames(); }

  /// See `store_of`, as for the members that follow.
  void begin(sweep_shape const& shape) {
    transfers_.stop_reading();
    transfers_.wait();
    drop_all();
    if constexpr (detail::takes_shape<store_type>) store_.begin(shape);
    else if (!shape.resumed || !detail::outliving_store<store_type>) store_.begin(shape.slots);
    slots_.assign(std::size_t(shape.slots), {});
    if constexpr (detail::outliving_store<store_type>)
      if (shape.resumed)
        for (slot_index slot = 0; slot < shape.slots; ++slot)
          if (place const here{slot, shape.tier_of(slot)}; store_.at(slot) >= 0)
            slots_[std::size_t(slot)] = {store_.at(slot), here, here, true};
    note_bytes();
  }
  /// See `store_of`.
  template <class Frames>
  auto save(Frames& frames, place where, step_index i, frame_id k) {
    slot_record& slot = slots_[std::size_t(where.slot)];
    if constexpr (tells)
      if (std::exchange(slot.lost, false)) return false;  // the last state was not written, nor will this one be
    transfers_.forget(frames, where.slot);
    slot.at = i, slot.where = where, slot.drops = false;
    transfers_.save(frames, where.slot, i, k, {where, slot.held_in, slot.holds});
    if constexpr (tells) return true;
  }
  /// See `store_of`.
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, place where, step_index i) {
    slot_record& slot = slots_[std::size_t(where.slot)];
    if (slot.at != i) return no_frame;
    extra none;
    frame_id const k = transfers_.load(frames, where.slot, i, none);
    look_ahead(frames);
    return k;
  }
  /// See `store_of`.
  template <class Frames>
  void drop(Frames& frames, place where) {
    slot_record& slot = slots_[std::size_t(where.slot)];
    transfers_.forget(frames, where.slot);
    slot.at = -1;
    slot.drops = slot.holds;
    if (transfers_.is_idle()) drop_all();
    look_ahead(frames);
  }
  /// See `store_of`.
  template <class Frames>
  void settle(Frames& frames) {
    transfers_.settle(frames);
    if (transfers_.is_idle()) drop_all();
  }
  /// See `store_of`.
  [[nodiscard]] step_index at(slot_index slot) const
    requires detail::outliving_store<store_type>
  {
    return slots_.size() > std::size_t(slot) ? slots_[std::size_t(slot)].at : -1;
  }
  /// What the store said after its last transfer, and the states that are read ahead.
  [[nodiscard]] std::size_t bytes(tier where) const {
    std::size_t sum = bytes_[std::size_t(where)];
    if constexpr (sized_state<State>)
      if (where == tier::memory) transfers_.each_staged([&](State const& x) { sum += bytes_of(x); });
    return sum;
  }
  /// See `store_of`.
  template <class Bar>
  void reversed(step_index open, Bar const& bar)
    requires requires(store_type& store) { store.reversed(open, bar); }
  {
    std::lock_guard const lock{store_is_used_};
    store_.reversed(open, bar);
  }

 private:
  friend class detail::transfers<behind>;
  using value_type = State;
  struct extra {
    place where = {}, held_in = {};
    bool drops = false;  // what the store has in `held_in`, first
  };
  struct slot_record {
    step_index at = -1;
    place where = {}, held_in = {};
    bool holds = false;  // the store has a state in `held_in`
    bool drops = false, lost = false;
  };

  template <class Frames>
  void look_ahead(Frames& frames) {
    transfers_.look_ahead(frames, [this](place where, step_index i) { return slots_[std::size_t(where.slot)].at == i; });
  }
  // on the other thread:
  [[nodiscard]] bool write(slot_index, step_index i, State const& x, extra const& with, std::uint64_t&) {
    std::lock_guard const lock{store_is_used_};
    detail::frame_behind<State> one{&x};
    if (with.drops) store_.drop(one, with.held_in);
    bool worked = true;
    if constexpr (tells) worked = store_.save(one, with.where, i, 0);
    else store_.save(one, with.where, i, 0);
    note_bytes();
    return worked;
  }
  [[nodiscard]] bool read(slot_index slot, step_index i, std::optional<State>& into, extra&) {
    std::lock_guard const lock{store_is_used_};
    detail::frame_behind<State> one{nullptr, &into};
    bool const found = store_.load(one, slots_[std::size_t(slot)].where, i) != no_frame;
    note_bytes();
    return found;
  }
  // on that of the sweep:
  void saved(slot_index slot, step_index i, bool worked, std::uint64_t) noexcept {
    slot_record& one = slots_[std::size_t(slot)];
    one.holds = worked, one.held_in = one.where;
    if (worked || one.at != i) return;
    one.at = -1;
    one.lost = tells;
  }
  void not_read(slot_index slot, step_index i) noexcept {
    slot_record& one = slots_[std::size_t(slot)];
    if (one.at == i) one.at = -1, one.holds = false;  // the store has lost it
  }
  /// What was dropped while the store was in use.
  void drop_all() {
    detail::frame_behind<State> none;
    for (slot_record& one : slots_)
      if (std::exchange(one.drops, false) && std::exchange(one.holds, false)) store_.drop(none, one.held_in);
    note_bytes();
  }
  void note_bytes() {
    if constexpr (requires { { store_.bytes(tier::disk) } -> std::convertible_to<std::size_t>; })
      for (std::size_t k = 0; k < tier_count; ++k) bytes_[k] = std::size_t(store_.bytes(tier(k)));
  }

  Store store_;
  std::vector<slot_record> slots_;
  std::mutex store_is_used_;
  std::array<std::atomic<std::size_t>, tier_count> bytes_{};
  detail::transfers<behind> transfers_;  // last: its thread ends first
};

/// Over the caller's store, which must outlive it.
template <class State, class Store>
[[nodiscard]] behind<State, Store&> behind_for(Store& store, behind_options how = {}) { return behind<State, Store&>(how, store); }

}  // namespace cairn
