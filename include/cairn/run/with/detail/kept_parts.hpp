// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_parts.hpp  What is kept of the steps of a segment, and the state at its end.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>

namespace cairn::detail {

struct no_kept_part {};

/// What segments hold, weighed at a state of the loop.
struct segment_weight {
  wide part = unknown_bytes;  ///< one kept part
  wide state = 0, states = 0, own = 0;  ///< one state, and how many there are; the memory itself
  step_index steps = 0;                 ///< of the loop
  bool one_too = false;                 ///< a segment of one step holds states, too
  wide room = unknown_bytes;            ///< what a sweep within a budget leaves for all of this

  /// \param leaf  steps of a segment   \param kept  steps of which parts are kept at once
  [[nodiscard]] wide of(step_index leaf, step_index kept) const noexcept {
    if (leaf < 2 && !one_too) return own;
    return part == unknown_bytes ? unknown_bytes : part * wide(kept) + states * state + own;
  }
  [[nodiscard]] bool limits() const noexcept { return part != unknown_bytes && room != unknown_bytes; }
};

/// The kept parts of steps [first, next), and one state that the reversal begins from. Memory is kept from loop to loop.
template <class State, class Kept>
class kept_parts {
  static constexpr bool keeps = !std::is_same_v<Kept, no_kept_part>;

 public:
  /// Forgets all, and keeps the parts of steps from `first` on. Room for so many is reserved, but for a loop that never
  /// ends. Within a budget memory of another loop goes first, and of parts that grow beyond it the oldest are dropped.
  /// \param weight  outlives this   \param spare  a state more is held
  void begin(step_index first, step_index steps = -1, segment_weight const& weight = {}, bool spare = false) {
    forget();
    begins_ = first_ = next_ = first;
    limit_ = weight.limits() ? &weight : nullptr;
    state_ = weight.state;
    spare_ = spare;
    if (limit_ != nullptr) all_ = std::vector<Kept>{}, end_.reset(), after_.reset();
    constexpr step_index most = step_index{1} << 24;
    if constexpr (keeps)
      if (steps > 0 && (steps <= most || limit_ != nullptr)) all_.reserve(std::size_t(steps));
  }
  void forget() noexcept {
    begins_ = first_ = next_ = end_at_ = -1;
    heap_ = last_ = growth_ = 0;
  }
  /// Keeps the result of `make()`, the part of step i, unless it is there, or one before it is missing.
  /// \throws infeasible_budget   if this part alone is beyond a budget
  template <class Make>
  void collect(step_index i, [[maybe_unused]] State const& x, Make const& make) {
    if (i != next_) return;
    if constexpr (keeps) {
      if (limit_ != nullptr) {
        if constexpr (copied_state<State> && sized_state<State>)
          if (wide const now = bytes_of(x); now > state_) state_ = now;
        make_room(last_ + growth_);  // a part shows its bytes when it is there
      }
      auto const place = std::size_t(i - begins_);
      if (place < all_.size()) all_[place] = taken_from(make);
      else all_.push_back(taken_from(make));
      if constexpr (sized_state<Kept>) {
        wide const now = heap_of(all_[place]);
        if (i > begins_ && now > last_ + growth_) growth_ = now - last_;
        heap_ += last_ = now;
      }
    }
    ++next_;
    if (limit_ != nullptr && !make_room(0))
      throw infeasible_budget{"cairn::segments_of",
                              "what keep returns has grown, and the part of one step is beyond what the budget leaves",
                              {{"step", i}, {"bytes", last_}, {"budget for parts and states", limit_->room}},
                              "give more bytes, or keep less"};
  }
  [[nodiscard]] bool has(step_index from, step_index to) const noexcept {
    return first_ >= 0 && first_ <= from && to <= next_;
  }
  /// Whether [from, to) can go back at least in part: what a budget has no room for was dropped when the parts of just
  /// these steps were collected. It does not depend on what else is kept, or a sweep that goes on had other bits.
  [[nodiscard]] bool has_end(step_index from, step_index to) const noexcept {
    return has(from, to) || (begins_ == from && next_ == to);
  }
  [[nodiscard]] step_index first() const noexcept { return first_; }
  /// \pre has(i, i + 1)
  [[nodiscard]] Kept const& of(step_index i) const noexcept {
    if constexpr (keeps) return all_[std::size_t(i - begins_)];
    else return nothing;
  }
  [[nodiscard]] step_index count() const noexcept { return next_ - first_; }
  [[nodiscard]] wide bytes() const noexcept {
    return !keeps ? 0 : sized_state<Kept> ? heap_ + wide(count()) * sizeof(Kept) : unknown_bytes;
  }

  /// Notes state i, from which a segment may begin to go backwards.
  void end_is(State const& x, step_index i) {
    keep_in(end_, x);
    end_at_ = i;
  }
  [[nodiscard]] bool ends_at(step_index i) const noexcept { return end_at_ == i; }
  void end_is_gone() noexcept { end_at_ = -1; }
  /// The state that was noted, or memory for one.
  [[nodiscard]] std::optional<stored_as<State>>& end() noexcept { return end_; }
  /// Another one: of state i + 1, for a step or an adjoint that takes two.
  [[nodiscard]] std::optional<stored_as<State>>& next() noexcept { return after_; }

 private:
  /// Drops parts, the oldest first, until so many bytes more have room. The last one stays. Where parts are missing, a
  /// state more is held, so that what was made can be compared.
  /// \pre there is a limit
  bool make_room([[maybe_unused]] wide more) noexcept {
    if constexpr (keeps && sized_state<Kept>) {
      auto const fits = [&] {
        wide const states = limit_->states + (spare_ || first_ > begins_ ? 1 : 0);
        return wide(all_.capacity()) * sizeof(Kept) + heap_ + more + states * state_ + limit_->own <= limit_->room;
      };
      while (!fits()) {
        if (next_ - first_ < 2) return false;
        Kept& oldest = all_[std::size_t(first_++ - begins_)];
        heap_ -= heap_of(oldest);
        [[maybe_unused]] Kept const gone{std::move(oldest)};
      }
    }
    return true;
  }

  static constexpr std::conditional_t<keeps, int, no_kept_part> nothing{};
  std::vector<Kept> all_;  // of steps from begins_ on; those before first_ are empty
  step_index begins_ = -1, first_ = -1, next_ = -1, end_at_ = -1;
  wide heap_ = 0, last_ = 0, growth_ = 0;  // of all parts that are kept, the last one, the most by which one grew
  wide state_ = 0;                         // the largest so far
  segment_weight const* limit_ = nullptr;  // within a budget
  bool spare_ = false;
  std::optional<stored_as<State>> end_, after_;
};

}  // namespace cairn::detail
