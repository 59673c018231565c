// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file any.hpp  Any schedule, chosen at run time, as one type, so that one executor is compiled for all.
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/rules/detail/walked_cursor.hpp>
#include <cairn/schedule/detail/shared.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {
namespace detail {

inline constexpr std::size_t actions_ahead = 32;

/// A cursor behind a virtual call that fetches many actions at once.
class any_cursor {
 public:
  virtual ~any_cursor() = default;
  [[nodiscard]] virtual any_cursor* clone() const = 0;
  /// \pre other.kind() == kind()
  virtual void assign(any_cursor const& other) = 0;
  virtual void fetch(action* into) = 0;
  /// An address that identifies the type of the cursor.
  [[nodiscard]] virtual void const* kind() const noexcept = 0;

 protected:
  any_cursor() = default;
  any_cursor(any_cursor const&) = default;
};

template <class Cursor>
class any_cursor_of final : public any_cursor {
 public:
  explicit any_cursor_of(Cursor const& cursor) : cursor_{cursor} {}
  [[nodiscard]] any_cursor* clone() const override { return new any_cursor_of{*this}; }
  void assign(any_cursor const& other) override { cursor_ = static_cast<any_cursor_of const&>(other).cursor_; }
  void fetch(action* into) override {
    walked_cursor<Cursor> walk{cursor_};
    for (std::size_t k = 0; k < actions_ahead; ++k) ::new (static_cast<void*>(into + k)) action(walk.now.next());
  }
  [[nodiscard]] void const* kind() const noexcept override { return &tag; }

 private:
  static constexpr char tag = 0;
  Cursor cursor_;
};

}  // namespace detail

/// A plan whose type is known only at run time: holds any schedule, for example one chosen by a condition. Copies share
/// the plan.   Cost: about 28 instructions per action in addition to the plan's own cursor (measured); one virtual call
/// per 32 actions.
class any_schedule {
 public:
  /// Returns the actions of the cursor inside, which is up to 32 actions ahead. Copies advance independently.
  class cursor {
   public:
    /// A copy at the position of `other`.
    cursor(cursor const& other) : cursor_{other.cursor_ ? other.cursor_->clone() : nullptr} { copy_unread(other); }
    /// Takes over the cursor of `other`.
    cursor(cursor&& other) noexcept : cursor_{std::exchange(other.cursor_, nullptr)} { copy_unread(other); }
    /// Reuses the memory if both cursors walk plans of the same type.
    cursor& operator=(cursor const& other) {
      if (this == &other) return *this;
      if (cursor_ && other.cursor_ && cursor_->kind() == other.cursor_->kind()) cursor_->assign(*other.cursor_);
      else delete std::exchange(cursor_, other.cursor_ ? other.cursor_->clone() : nullptr);
      copy_unread(other);
      return *this;
    }
    cursor& operator=(cursor&& other) noexcept {  ///< takes over the cursor of `other`
      if (this == &other) return *this;
      std::swap(cursor_, other.cursor_);
      copy_unread(other);
      other.next_ = other.end();
      return *this;
    }
    ~cursor() { delete cursor_; }

    [[nodiscard]] action next() {  ///< the next action
      if (next_ == end()) fetch();
      auto const& [kind, where, what, slot, from, to] = *next_++;  // by fields: the compiler keeps them in registers
      return {kind, where, what, slot, from, to};
    }

   private:
    friend any_schedule;
    explicit cursor(detail::any_cursor* inside) noexcept : cursor_{inside} {}
    void fetch() {
      cursor_->fetch(ahead_);
      next_ = ahead_;
    }
    [[nodiscard]] action const* end() const noexcept { return ahead_ + detail::actions_ahead; }
    void copy_unread(cursor const& other) noexcept {
      auto const first = std::size_t(other.next_ - other.ahead_);
      for (std::size_t k = first; k < detail::actions_ahead; ++k) ahead_[k] = other.ahead_[k];
      next_ = ahead_ + first;
    }

    detail::any_cursor* cursor_;
    action const* next_ = end();
    action ahead_[detail::actions_ahead];
  };

  /// From any schedule that is not itself an `any_schedule`, by copy or move.   Cost: two allocations
  template <class Plan>
    requires(!std::same_as<std::remove_cvref_t<Plan>, any_schedule> && schedule<std::remove_cvref_t<Plan>>)
  any_schedule(Plan&& plan) : plan_{new model_of<std::remove_cvref_t<Plan>>{std::forward<Plan>(plan)}} {}

  [[nodiscard]] step_index steps() const noexcept { return plan_->steps; }  ///< loop length
  [[nodiscard]] slot_index slots() const noexcept { return plan_->slots; }  ///< most states kept at once
  [[nodiscard]] step_index leaf() const noexcept { return plan_->leaf; }  ///< the most steps of one `reverse`
  [[nodiscard]] slot_index tapes() const noexcept { return plan_->tapes; }  ///< see `tapes_of`
  [[nodiscard]] bool tapes_restart() const noexcept { return plan_->tapes_restart; }  ///< see `cairn::tapes_restart`
  [[nodiscard]] bool runs_ahead() const noexcept { return plan_->runs_ahead; }  ///< see `cairn::runs_ahead`
  [[nodiscard]] bool learns_length() const noexcept { return plan_->learns_length; }  ///< see `cairn::learns_length`
  [[nodiscard]] wide units() const noexcept { return plan_->budget.units; }  ///< see `units_of`
  [[nodiscard]] wide tape_units() const noexcept { return plan_->budget.tape_units; }  ///< see `units_of`
  [[nodiscard]] bool has_slot_tiers() const noexcept { return plan_->slot_tiers; }  ///< see `cairn::has_slot_tiers`
  [[nodiscard]] bool leaves_memory() const noexcept { return plan_->leaves_memory; }  ///< see `cairn::leaves_memory`
  [[nodiscard]] tier slot_tier(slot_index slot) const { return plan_->slot_tier(slot); }  ///< see `cairn::slot_tier`
  [[nodiscard]] bool initial_is_free() const noexcept { return plan_->free_initial; }  ///< see `cairn::initial_is_free`
  /// See `cairn::is_checkpoint`.
  [[nodiscard]] bool is_checkpoint(step_index i) const { return plan_->is_checkpoint(i); }
  /// See `shared_table_bytes_of`.
  [[nodiscard]] wide shared_table_bytes() const noexcept { return plan_->shared_table_bytes; }
  /// Bytes of this object on the heap: the plan inside, and its start. Not part of `shared_table_bytes()`.
  [[nodiscard]] wide own_bytes() const noexcept { return plan_->own_bytes; }
  /// See `table_bytes_of`; the cursor itself included.
  [[nodiscard]] wide table_bytes() const noexcept { return plan_->table_bytes; }
  /// See `reserved_of`; the cursor itself included.
  [[nodiscard]] reserved_memory reserved() const noexcept { return plan_->reserved; }
  [[nodiscard]] char const* remark() const noexcept { return plan_->remark; }  ///< see `remark_of`
  /// The plan's totals; takes a walk unless `is_counted()`.
  [[nodiscard]] schedule_counts counts() const { return plan_->counts(); }
  /// Whether the plan knows its totals in closed form.
  [[nodiscard]] bool is_counted() const noexcept { return plan_->counted; }
  [[nodiscard]] cursor const& walk() const noexcept { return plan_->start; }  ///< the start; valid as long as the plan
  /// The plan inside if it is a `Plan`, otherwise null; valid as long as this object.
  template <schedule Plan>
  [[nodiscard]] Plan const* target() const noexcept {
    return plan_->kind == &model_of<Plan>::tag ? &static_cast<model_of<Plan> const&>(*plan_).plan : nullptr;
  }

 private:
  struct model : detail::shared_object {
    explicit model(detail::any_cursor* cursor) noexcept : start{cursor} {}
    virtual ~model() = default;
    [[nodiscard]] virtual bool is_checkpoint(step_index i) const = 0;
    [[nodiscard]] virtual tier slot_tier(slot_index slot) const = 0;
    [[nodiscard]] virtual schedule_counts counts() const = 0;
    step_index steps = 0, leaf = 1;
    slot_index slots = 0, tapes = 0;
    bool free_initial = false, tapes_restart = false, slot_tiers = false, runs_ahead = false, learns_length = false,
         counted = false, leaves_memory = false;
    unit_budget budget;
    char const* remark = "";
    wide table_bytes = 0, shared_table_bytes = 0, own_bytes = 0;
    reserved_memory reserved;
    cursor start;
    void const* kind = nullptr;  // an address that identifies the type of the plan
  };
  template <class Plan>
  struct model_of final : model {
    using cursor_type = detail::any_cursor_of<cursor_of<Plan>>;
    static constexpr char tag = 0;
    template <class From>
    [[gnu::cold]] explicit model_of(From&& from) : model{new cursor_type{from.walk()}}, plan{std::forward<From>(from)} {
      kind = &tag;
      steps = plan.steps();
      leaf = plan.leaf();
      slots = plan.slots();
      tapes = tapes_of(plan);
      free_initial = cairn::initial_is_free(plan);
      tapes_restart = cairn::tapes_restart(plan);
      budget = units_of(plan);
      slot_tiers = cairn::has_slot_tiers(plan);
      leaves_memory = cairn::leaves_memory(plan);
      runs_ahead = cairn::runs_ahead(plan);
      learns_length = cairn::learns_length(plan);
      shared_table_bytes = shared_table_bytes_of(plan);
      own_bytes = wide{sizeof(model_of)} + sizeof(cursor_type);
      remark = remark_of(plan);
      counted = knows_counts(plan);
      table_bytes = sizeof(cursor_type) + table_bytes_of(plan);
      reserved = reserved_of(plan);
      reserved.table_bytes += sizeof(cursor_type);
    }
    [[nodiscard]] bool is_checkpoint(step_index i) const override { return cairn::is_checkpoint(plan, i); }
    [[nodiscard]] tier slot_tier(slot_index slot) const override { return cairn::slot_tier(plan, slot); }
    [[nodiscard]] schedule_counts counts() const override {
      if constexpr (counted_schedule<Plan>) return plan.counts();
      else return walked_counts(plan);
    }
    Plan plan;
  };

  detail::shared<model> plan_;
};
static_assert(schedule<any_schedule>);

}  // namespace cairn
