// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_observer.hpp  Writes the actions of a sweep into a trace.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/trace/trace_writer.hpp>

namespace cairn {

/// What an observer writes besides actions.
struct trace_observer_options {
  /// Whether the counter "bytes held", of everything that the sweep holds, is written each time it changes. Cost: one
  /// `event::bytes_held` an action.
  bool bytes_held = false;
};

/// An observer that writes every action as an event: `gradient(step, x0, plan, seed, adjoint,
/// cairn::trace_observer{log})`. The name of the event is the kind of the action, its category "forward", "recompute"
/// or "reverse". If these categories are wanted, it also writes:
/// - "bytes": the counter "checkpoints", bytes of the contents of all checkpoints by tier, at each save and drop, and
///   the counter "tapes", how many are held;
/// - "checkpoint": an arrow from each save to each load of it, and from a tape to what starts from it.
///
/// One object per sweep, used by one thread; an action that an exception leaves open is written when the next one
/// begins, or when the object is destroyed. Memory: 32 bytes for each slot and tier that was used.
class trace_observer {
 public:
  /// \param log  outlives the observer
  explicit CAIRN_DECL trace_observer(trace_writer& log, trace_observer_options const& options = {});
  /// Takes over the open action.
  trace_observer(trace_observer&& other) noexcept
      : log_{other.log_},
        options_{other.options_},
        wants_{other.wants_},
        wants_bytes_{other.wants_bytes_},
        wants_arrows_{other.wants_arrows_},
        open_{std::exchange(other.open_, false)},
        span_{other.span_},
        opened_{other.opened_},
        in_phase_{other.in_phase_},
        held_{other.held_},
        used_{other.used_},
        tapes_{other.tapes_},
        all_held_{other.all_held_},
        places_{std::move(other.places_)} {}
  trace_observer& operator=(trace_observer&&) = delete;
  /// Ends an action that an exception has left open.
  ~trace_observer() {
    if (open_) give_up();
  }

  /// Begins an event before an action, and writes it after the action.
  void operator()(event const& seen) {
    if (!log_->enabled()) return;
    if (seen.moment() == moment::before) begin(seen);
    else if (open_) end(seen);
  }

 private:
  /// What is known of the checkpoint or tape in a slot.
  struct standing {
    std::int64_t since = 0;     ///< when the event that made it began
    std::size_t bytes = 0;
    bool stands = false;
    bool shown = false;         ///< its event was written
    bool known = false;         ///< its bytes are known
  };

  CAIRN_DECL void begin(event const& seen);
  CAIRN_DECL void end(event const& seen);
  CAIRN_DECL void give_up() noexcept;
  CAIRN_DECL void write(detail::trace_lines& lines, std::int64_t ended, bool failed);
  CAIRN_DECL void keep(detail::trace_lines& lines, event const& seen, content what, std::int64_t at);
  CAIRN_DECL void forget(detail::trace_lines& lines, content what, slot_index slot, tier where, std::int64_t at);
  CAIRN_DECL void use(detail::trace_lines& lines, event const& seen);
  CAIRN_DECL void count(detail::trace_lines& lines, content what, std::int64_t at);
  [[nodiscard]] std::vector<standing>& places(content what, tier where) {
    return places_[std::size_t(what) * tier_count + std::size_t(where)];
  }

  trace_writer* log_;
  trace_observer_options options_;
  std::array<bool, 3> wants_{};  ///< by phase
  bool wants_bytes_ = false, wants_arrows_ = false;
  bool open_ = false;
  detail::trace_span span_;
  action opened_;
  phase in_phase_ = phase::forward;
  std::array<std::int64_t, tier_count> held_{};  ///< bytes of checkpoints by tier
  std::array<bool, tier_count> used_{};
  std::int64_t tapes_ = 0;
  std::int64_t all_held_ = -1;
  std::array<std::vector<standing>, 2 * tier_count> places_;
};

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/trace_observer.ipp>
#endif
