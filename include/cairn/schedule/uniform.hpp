// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file uniform.hpp  Evenly spaced checkpoints: the default schedule for a bare number of steps, and store-all.
#include <cstdint>
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/blocks.hpp>
#include <cairn/schedule/detail/remarks.hpp>

namespace cairn {

/// How `uniform` places its checkpoints. At most one option may be given; the default is floor(sqrt(steps))
/// checkpoints.
struct uniform_options {
  /// Number of checkpoints besides the initial state. The blocks between them differ by at most one step, shorter ones
  /// first; the final state is never a checkpoint.
  std::optional<step_index> checkpoints = {};
  /// Steps from one checkpoint to the next; the last block may be shorter.
  std::optional<step_index> block = {};
  /// Most states kept at once; takes the fewest advances that evenly spaced checkpoints then allow.
  std::optional<slot_index> slots = {};
};

/// Keeps the first state of every block in the forward run. Then, from the last block to the first, it keeps all states
/// inside the block, running it a second time unless it is the last, and reverses it. No step is run unrecorded more
/// than twice. With B blocks, the last one of L steps: 2 n - B - L advances and about B + L - 2 states kept; with
/// sqrt(n) blocks 2 sqrt(n) - 2. (Griewank 1992 calls this one-level checkpointing; Chen et al. 2016, section 4.)
/// Cost: O(1) memory, O(1) per action.
/// \ingroup start
class uniform {
 public:
  /// \param steps  loop length, 0 .. 2^63-1
  /// \throws invalid_plan   for checkpoints outside 0 .. steps, a block < 1, too few slots (the error names the least),
  /// or two options at once
  constexpr explicit uniform(step_index steps, uniform_options options = {}) : layout_{layout(steps, options)} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return layout_.steps; }  ///< loop length
  /// The most states kept at once, exact; 62 for uniform{1000}.
  [[nodiscard]] constexpr slot_index slots() const noexcept { return layout_.peak(); }
  [[nodiscard]] constexpr step_index leaf() const noexcept { return 1; }  ///< steps of one `reverse`
  [[nodiscard]] constexpr step_index blocks() const noexcept { return layout_.count; }  ///< number of blocks
  /// Number of checkpoints besides the initial state.
  [[nodiscard]] constexpr step_index checkpoints() const noexcept { return layout_.count - 1; }
  /// The number of the state at checkpoint k.   \pre 0 <= k < checkpoints()
  [[nodiscard]] constexpr step_index checkpoint(step_index k) const noexcept { return layout_.start(k + 1); }
  /// Whether state i is a checkpoint; the initial state and the states kept inside a block are not.
  [[nodiscard]] constexpr bool is_checkpoint(step_index i) const noexcept { return layout_.starts_at(i); }

  /// The fewest slots that evenly spaced checkpoints of `steps` steps take.   \param steps  >= 0
  [[nodiscard]] static constexpr slot_index least_slots(step_index steps) noexcept {
    return detail::least_block_peak(steps);
  }

  /// The totals of a sweep, in closed form.
  [[nodiscard, gnu::noinline]] constexpr schedule_counts counts() const noexcept {
    schedule_counts sum;
    if (layout_.steps == 0) return sum;
    auto const last = wide(layout_.length(layout_.count - 1));
    auto const again = wide(layout_.steps) - last - (wide(layout_.count) - 1);
    wide const lone = layout_.front_length > 1        ? 0
                      : layout_.front < layout_.count ? wide(layout_.front)
                                                      : wide(layout_.count) - 1;
    sum.advances = wide(layout_.steps) - 1 + again;
    sum.turned = 1;
    sum.reversals = wide(layout_.steps);
    sum.saves = wide(layout_.steps) - 1 - (wide(layout_.count) - 1 - lone);
    sum.loads = wide(layout_.steps) - 1;
    sum.peak_slots = slots();
    sum.on(tier::memory) = {sum.saves, sum.loads, sum.peak_slots};
    return sum;
  }

  /// Starts at the first action; copies advance independently.
  class cursor {
   public:
    [[nodiscard]] constexpr action next() noexcept {  ///< the next action
      switch (phase_) {
        case phase::save: return save();
        case phase::advance: return advance();
        case phase::turn: return turn();
        case phase::reverse: return reverse();
        case phase::load: return load();
        case phase::drop: return drop();
        case phase::done: return {};
      }
      __builtin_unreachable();
    }

   private:
    friend uniform;
    enum class phase : std::uint8_t { save, advance, turn, reverse, load, drop, done };

    constexpr explicit cursor(detail::block_layout const& layout) noexcept
        : layout_{layout}, end_{layout.steps}, phase_{layout.steps > 1 ? phase::save : phase::turn} {}

    constexpr action save() noexcept {
      phase_ = phase::advance;
      return {action_kind::save, tier::memory, content::state, slot(), live_, 0};
    }
    constexpr action advance() noexcept {
      step_index const from = live_;
      step_index const after = first_ + layout_.length(block_);
      if (after < end_) {
        first_ = live_ = after;
        ++block_;
      } else {
        ++live_;
      }
      phase_ = end_ - live_ > 1 ? phase::save : arrived_;
      return {action_kind::advance, tier::memory, content::state, no_slot, from, live_};
    }
    constexpr action turn() noexcept {
      arrived_ = phase::reverse;
      phase_ = end_ > 0 ? phase::reverse : phase::done;
      return {action_kind::turn, tier::memory, content::state, no_slot, live_, end_};
    }
    constexpr action reverse() noexcept {
      step_index const to = end_--;
      phase_ = end_ > 0 ? phase::load : phase::done;
      return {action_kind::reverse, tier::memory, content::state, no_slot, end_, to};
    }
    /// The forward run keeps only the first state of a block; the reverse sweep keeps all states of the block.
    constexpr action load() noexcept {
      if (end_ == first_) {
        first_ -= layout_.length(--block_);
        live_ = first_;
      } else {
        live_ = end_ - 1;
      }
      phase_ = end_ - live_ > 1 ? phase::advance : phase::drop;
      return {action_kind::load, tier::memory, content::state, slot(), live_, 0};
    }
    constexpr action drop() noexcept {
      phase_ = phase::reverse;
      return {action_kind::drop, tier::memory, content::state, slot(), 0, 0};
    }
    /// The first states of blocks 0 .. j fill slots 0 .. j. The inner states of block j follow, because the later
    /// blocks are done.
    [[nodiscard]] constexpr slot_index slot() const noexcept { return block_ + (live_ - first_); }

    detail::block_layout layout_;
    step_index end_;         // steps [0, end_) are not yet reversed
    step_index live_ = 0;
    step_index block_ = 0;   // the block that contains live_, and its first state
    step_index first_ = 0;
    phase phase_;
    phase arrived_ = phase::turn;
  };
  [[nodiscard]] constexpr cursor walk() const noexcept { return cursor{layout_}; }  ///< the start

 private:
  [[nodiscard]] static constexpr detail::block_layout layout(step_index steps, uniform_options const& options) {
    detail::check_steps("cairn::uniform", steps);
    if (options.checkpoints.has_value() + options.block.has_value() + options.slots.has_value() > 1)
      throw invalid_plan{"cairn::uniform", "more than one of checkpoints, block and slots", {}, "give one of them"};
    if (options.block) return by_block(steps, *options.block);
    if (options.slots) return by_slots(steps, *options.slots);
    return by_checkpoints(steps,
                          options.checkpoints ? *options.checkpoints : step_index(detail::floor_sqrt(wide(steps))));
  }
  [[nodiscard]] static constexpr detail::block_layout by_checkpoints(step_index steps, step_index checkpoints) {
    if (checkpoints < 0 || checkpoints > steps)
      throw invalid_plan{"cairn::uniform",
                         "no such number of checkpoints",
                         {{"steps", steps}, {"checkpoints", checkpoints}},
                         "give 0 to steps"};
    step_index const most = steps < 1 ? 0 : steps - 1;
    return detail::balanced_blocks(steps, 1 + detail::lesser(most, checkpoints));
  }
  [[nodiscard]] static constexpr detail::block_layout by_block(step_index steps, step_index block) {
    if (block < 1)
      throw invalid_plan{"cairn::uniform", "a block has at least 1 step", {{"block", block}}, "give 1 or more"};
    return detail::equal_blocks(steps, block);
  }
  [[nodiscard]] static constexpr detail::block_layout by_slots(step_index steps, slot_index slots) {
    slot_index const least = least_slots(steps);
    if (slots < least)
      throw invalid_plan{"cairn::uniform",
                         "too few slots for evenly spaced checkpoints",
                         {{"steps", steps}, {"slots", slots}, {"least slots", least}},
                         "cairn::revolve needs one slot only"};
    return detail::blocks_within(steps, slots);
  }

  detail::block_layout layout_;
};
static_assert(schedule<uniform>);

/// Keeps every state, each of them a checkpoint: no step is run twice.   \throws invalid_plan unless steps >= 0
[[nodiscard]] constexpr uniform store_all(step_index steps) { return uniform{steps, {.checkpoints = steps}}; }

}  // namespace cairn
