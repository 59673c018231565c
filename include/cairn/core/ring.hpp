// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ring.hpp  The last states of a multi-step method as one state. Advancing to the next one copies none of them.
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

/// The snapshot of a ring: those of its elements, newest first.
template <class Kept, std::size_t Count>
struct ring_snapshot {
  Kept held[Count];
};

/// Walks a ring from the newest to the oldest.
template <class Ring>
class ring_iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = typename Ring::value_type;
  ring_iterator() = default;
  constexpr ring_iterator(Ring& of, std::size_t age) noexcept : of_{&of}, age_{age} {}
  [[nodiscard]] constexpr auto& operator*() const noexcept { return (*of_)[age_]; }
  constexpr ring_iterator& operator++() noexcept {
    ++age_;
    return *this;
  }
  constexpr ring_iterator operator++(int) noexcept {
    auto const before = *this;
    ++age_;
    return before;
  }
  [[nodiscard]] bool operator==(ring_iterator const&) const = default;

 private:
  Ring* of_ = nullptr;
  std::size_t age_ = 0;
};

}  // namespace detail

/// The last `Count` states of a multi-step method (BDF, Adams-Bashforth, leapfrog): `x[0]` is the newest and `x[Count -
/// 1]` the oldest.
///
/// A ring is a state, and a bar, if its elements are. Its copy, bytes, runs of bytes and numbers are those of its
/// elements, newest first. Rings compare equal however far each has been rotated. A ring of objects with snapshots has
/// a snapshot of `Count` snapshots. Elements lie side by side in the ring itself and never move: `rotate`,
/// `rotate_back` and `push` change an index. Memory: the elements and one std::size_t.
///
/// The adjoint of a step undoes the step's rotation: `x.rotate()` on states corresponds to `bar.rotate_back()` on bars.
/// After it `bar[age]` belongs to `x[age]` of the state before the step. The one exception is the last element: it
/// still holds the bar of the state that the step made, and must be overwritten with the bar of the oldest state.
template <class State, std::size_t Count>
class ring {
  static_assert(Count > 0, "cairn: a ring holds one state or more");

 public:
  using value_type = State;  ///< the type of one element

  /// Default-constructed states; numbers are 0.
  constexpr ring()
    requires std::default_initializable<State>
      : held_{} {}
  /// The given states, newest first; rvalues are moved.
  template <class... Input>
    requires(sizeof...(Input) == Count && (std::same_as<std::remove_cvref_t<Input>, State> && ...))
  constexpr explicit ring(Input&&... newest_first) : held_{detail::taken(std::forward<Input>(newest_first))...} {}
  /// The states that `make(age)` returns for ages 0 (newest) to Count - 1, made in place: for objects that cannot be
  /// moved.
  template <class Make>
  [[nodiscard]] static constexpr ring made_by(Make&& make) { return {make, std::make_index_sequence<Count>{}}; }

  /// \param age  0 for the newest, < Count
  [[nodiscard]] constexpr State& operator[](std::size_t age) noexcept { return held_[place_of(age)]; }
  /// The same for a const ring.
  [[nodiscard]] constexpr State const& operator[](std::size_t age) const noexcept { return held_[place_of(age)]; }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return Count; }  ///< Count
  [[nodiscard]] constexpr auto begin() noexcept { return detail::ring_iterator<ring>{*this, 0}; }  ///< the newest
  /// Past the oldest.
  [[nodiscard]] constexpr auto end() noexcept { return detail::ring_iterator<ring>{*this, Count}; }
  /// The newest.
  [[nodiscard]] constexpr auto begin() const noexcept { return detail::ring_iterator<ring const>{*this, 0}; }
  /// Past the oldest.
  [[nodiscard]] constexpr auto end() const noexcept { return detail::ring_iterator<ring const>{*this, Count}; }

  /// Each state becomes one step older; `x[0]` then is the place of the former oldest state, with its content and
  /// memory. Write the new state over it, or update it. Copies nothing, allocates nothing.
  constexpr State& rotate() noexcept {
    newest_ = newest_ == 0 ? Count - 1 : newest_ - 1;
    return held_[newest_];
  }
  /// Undoes `rotate`, and is its transpose: each bar becomes the bar of a state one step newer. The former newest bar
  /// moves to the place of the oldest, which is returned.
  constexpr State& rotate_back() noexcept {
    std::size_t const was_newest = newest_;
    newest_ = newest_ + 1 == Count ? 0 : newest_ + 1;
    return held_[was_newest];
  }
  /// `rotate() = x`; x may be an element of the ring. Copies into the memory of the oldest state. If the copy throws,
  /// the exception passes through and the ring is not rotated.
  constexpr void push(State const& x) {
    State& oldest = (*this)[Count - 1];
    if (&oldest != &x) copy_state(x, oldest);
    (void)rotate();
  }
  /// The same for a state that may be moved from.
  constexpr void push(State&& x) {
    State& oldest = (*this)[Count - 1];
    if (&oldest != &x) oldest = std::move(x);
    (void)rotate();
  }

  /// All elements equal, compared newest to newest.
  [[nodiscard]] friend constexpr bool operator==(ring const& a, ring const& b)
    requires std::equality_comparable<State>
  {
    for (std::size_t age = 0; age < Count; ++age)
      if (!(a[age] == b[age])) return false;
    return true;
  }

  /// A snapshot of each element.
  [[nodiscard]] constexpr auto save() const
    requires saved_state<State>
  {
    return saved(std::make_index_sequence<Count>{});
  }
  /// Restores each element.
  template <class Kept>
    requires saved_state<State>
  constexpr void restore(detail::ring_snapshot<Kept, Count> const& snapshot) {
    for (std::size_t age = 0; age < Count; ++age) restore_state((*this)[age], snapshot.held[age]);
  }

 private:
  friend struct detail::ring_places<ring>;

  template <class Make, std::size_t... Age>
  constexpr ring(Make& make, std::index_sequence<Age...>) : held_{make(Age)...} {}

  template <std::size_t... Age>
  [[nodiscard]] constexpr auto saved(std::index_sequence<Age...>) const {
    using kept = typename detail::snapshot_of<State>::type;
    return detail::ring_snapshot<kept, Count>{{save_state((*this)[Age])...}};
  }
  [[nodiscard]] constexpr std::size_t place_of(std::size_t age) const noexcept {
    std::size_t const place = newest_ + age;
    return place < Count ? place : place - Count;
  }

  State held_[Count > 0 ? Count : 1];
  std::size_t newest_ = 0;  // place of x[0]; older elements follow it, wrapping around
};

template <class State, std::size_t Count>
struct detail::ring_places<ring<State, Count>> {
  static constexpr auto const& of(ring<State, Count> const& x) noexcept { return x.held_; }
  /// Copies place by place, as `=` does, so that memory of the right size is reused; see `same_capacity`.
  static constexpr void copy(ring<State, Count> const& from, ring<State, Count>& into) {
    for (std::size_t place = 0; place < Count; ++place) copy_state(from.held_[place], into.held_[place]);
    into.newest_ = from.newest_;
  }
};

/// Rings of states that `state_traits` copies are copied element by element.
template <class State, std::size_t Count>
  requires(detail::traited_copy<State> && !detail::shallow<State>)
struct state_traits<ring<State, Count>> {
  /// `into` becomes a deep copy of `from`.
  static constexpr void copy(ring<State, Count> const& from, ring<State, Count>& into) {
    detail::ring_places<ring<State, Count>>::copy(from, into);
  }
};

}  // namespace cairn
