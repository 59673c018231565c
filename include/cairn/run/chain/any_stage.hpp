// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file any_stage.hpp  Any stage, chosen at run time, as one type, so that a chain can be a vector.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/owned.hpp>
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/door/detail/stage_signature.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/chain/detail/call.hpp>

namespace cairn {
namespace detail {

/// The types that a stage takes and returns.
struct types_of_stage {
  type_mark state, next, adjoint, bar;  ///< before and after it; adjoint belongs to state, bar to next
  type_mark params, gradient;           ///< p and dp; null if it takes none
  bool sized;                           ///< the sizes of what it makes are known
};

/// A stage reports bytes that it needs temporarily; one object for many stages, those of its number.
template <class Stage, bool Indexed>
concept tells_work = (Indexed && requires(Stage& s, step_index i) { std::int64_t(s.work_bytes(i)); }) ||
                     (!Indexed && requires(Stage& s) { std::int64_t(s.work_bytes()); });
template <bool Indexed, class Stage>
[[nodiscard]] std::int64_t work_bytes_of(Stage& stage, [[maybe_unused]] step_index i) {
  if constexpr (Indexed) return std::int64_t(stage.work_bytes(i));
  else return std::int64_t(stage.work_bytes());
}

}  // namespace detail

/// Parameters of any type and the place for their gradient, as a chain of `any_stage` gives them to its stages. Refers
/// to both.
class stage_params {
 public:
  stage_params() = default;  ///< no parameters
  /// Refers to what `by` refers to.
  template <class Params, class DP>
  explicit stage_params(wrt<Params, DP> const& by) noexcept
      : p_{by.p}, dp_{by.dp} {}

  /// \throws invalid_call   if they have other types, or there are none
  template <class Params, class DP>
  [[nodiscard]] wrt<Params, DP> get() const { return {p_.get<Params>(), const_cast<DP&>(dp_.get<DP>())}; }
  /// Whether these are the types of p and dp.
  [[nodiscard]] bool holds(detail::type_mark p, detail::type_mark dp) const noexcept {
    return p_.type() == p && dp_.type() == dp;
  }

 private:
  stage_view p_, dp_;
};

/// A stage of any type. Its states, tapes and adjoints become `stage_value`s; each of these keeps its type. Its
/// functions may take the p and dp of `wrt{p, dp}`, as those of other stages do. Cost: two allocations and three
/// virtual calls per call of the stage.
class any_stage {
  /// The user's stage behind virtual functions.
  struct model {
    virtual ~model() = default;
    [[nodiscard]] virtual stage_value forward(stage_view x, stage_params const& by) = 0;
    [[nodiscard]] virtual stage_value record(stage_view x, stage_params const& by) = 0;
    [[nodiscard]] virtual stage_view output(stage_value const& tape) const = 0;
    [[nodiscard]] virtual stage_value backward(stage_view x, stage_value& tape, stage_value& bar,
                                               stage_params const& by) = 0;
    [[nodiscard]] virtual detail::types_of_stage types() const noexcept = 0;
    [[nodiscard]] virtual detail::stage_shape shape() const noexcept = 0;
    [[nodiscard]] virtual std::int64_t work_bytes() = 0;
    [[nodiscard]] virtual void* get(detail::type_mark type) noexcept = 0;
  };
  template <class Stage, class State, class Bar, class Params, class DP>
  struct model_of final : model {
    using reading = detail::stage_reading<Stage, State, Bar, detail::stage_context<Params, DP, false>>;
    static constexpr bool with_params = !std::is_same_v<Params, no_params>;
    using next = typename reading::next;
    using tape = typename reading::tape;
    using adjoint = typename reading::adjoint;
    static constexpr detail::stage_shape read = reading::shape;

    template <class From>
    explicit model_of(From&& from) : stage(std::forward<From>(from)) {}
    stage_value forward(stage_view x, stage_params const& by) override {
      State const& state = x.get<State>();
      auto const given = given_in(by);
      return stage_value::made_by([&]() -> next {
        return detail::stage_forward<reading>(stage, given, 0, state);
      });
    }
    stage_value record(stage_view x, stage_params const& by) override {
      State const& state = x.get<State>();
      auto const given = given_in(by);
      return stage_value::made_by([&]() -> tape {
        return detail::stage_record<reading>(stage, given, 0, state);
      });
    }
    stage_view output(stage_value const& in_tape) const override {
      if constexpr (read.taped) return stage_view{stage.output(in_tape.get<tape>())};
      else return in_tape.view();
    }
    stage_value backward(stage_view x, stage_value& in_tape, stage_value& bar, stage_params const& by) override {
      State const* state = nullptr;
      if constexpr (read.needs_state) state = detail::address_of(x.get<State>());
      tape& used = in_tape.get<tape>();
      Bar& old = bar.get<Bar>();
      auto const given = given_in(by);
      if constexpr (read.gives_adjoint)
        return stage_value::made_by([&]() -> adjoint {
          return detail::stage_backward<reading>(stage, given, 0, state, used, old);
        });
      else {
        detail::stage_backward<reading>(stage, given, 0, state, used, old);
        return std::move(bar);
      }
    }
    detail::types_of_stage types() const noexcept override {
      constexpr bool sized = sized_state<next> && sized_state<tape> && sized_state<adjoint> && sized_state<Bar>;
      detail::type_mark params = nullptr, gradient = nullptr;
      if constexpr (with_params) params = detail::mark_of<Params>(), gradient = detail::mark_of<DP>();
      return {detail::mark_of<State>(), detail::mark_of<next>(), detail::mark_of<adjoint>(), detail::mark_of<Bar>(),
              params, gradient, sized};
    }
    detail::stage_shape shape() const noexcept override { return read; }
    std::int64_t work_bytes() override {
      if constexpr (detail::tells_work<Stage, false>) return detail::work_bytes_of<false>(stage, 0);
      else return 0;
    }
    void* get(detail::type_mark type) noexcept override {
      return type == detail::mark_of<Stage>() ? static_cast<void*>(detail::address_of(stage)) : nullptr;
    }

    mutable Stage stage;

   private:
    /// p and dp, or what stands for none.
    [[nodiscard]] static auto given_in([[maybe_unused]] stage_params const& by) {
      if constexpr (with_params) return by.get<Params, DP>();
      else return detail::by_nothing;
    }
  };
  /// The form of a stage that takes X; void if its signature does not say.
  template <class Stage, class State, class Bar, class Params, class DP>
  struct reading_of {
    using context = detail::stage_context<Params, DP, false>;
    using next = detail::next_of<Stage, context, State>;
    using bar = std::conditional_t<std::is_void_v<Bar>, next, Bar>;
    static consteval detail::stage_fault fault() {
      if constexpr (detail::fault_of_next<next>() != detail::stage_fault::none) return detail::fault_of_next<next>();
      else return detail::stage_reading<Stage, State, bar, context>::shape.wrong;
    }
    using model = model_of<Stage, State, bar, Params, DP>;
  };
  template <class Stage, class Bar, class Params, class DP>
  struct reading_of<Stage, void, Bar, Params, DP> {
    static consteval detail::stage_fault fault() { return detail::stage_fault::unnamed_form; }
  };
  template <class Stage>
  using told_reading = reading_of<Stage, typename decltype(detail::told_state<Stage>())::type,
                                  typename decltype(detail::told_adjoint<Stage>())::type,
                                  typename detail::told_params<Stage>::p, typename detail::told_params<Stage>::dp>;
  explicit any_stage(model* of) noexcept : stage_{of} {}

 public:
  /// Holds `stage`. The parameters of its forward and backward must name the state and the adjoint that they take. If
  /// they do not name the adjoint, it has the type of the state after the stage. A second parameter of forward, or the
  /// last but one of a backward of four and more, is p.
  template <class Stage>
    requires(!std::is_same_v<std::remove_cvref_t<Stage>, any_stage>)
  any_stage(Stage&& stage) {
    using reading = told_reading<std::remove_cvref_t<Stage>>;
    if constexpr (detail::check_stages<reading::fault()>())
      stage_ = detail::owned<model>{new typename reading::model(std::forward<Stage>(stage))};
  }
  /// The same for a stage whose parameters do not name these types: X is the state before it, Bar the adjoint of the
  /// state after it, by default of that state's own type; Params and DP are those of the p and dp that it takes.
  template <class State, class Bar = void, class Params = no_params, class DP = Params, class Stage>
  [[nodiscard]] static any_stage taking(Stage&& stage) {
    using reading = reading_of<std::remove_cvref_t<Stage>, State, Bar, Params, DP>;
    if constexpr (detail::check_stages<reading::fault()>())
      return any_stage{static_cast<model*>(new typename reading::model(std::forward<Stage>(stage)))};
    else return any_stage{static_cast<model*>(nullptr)};
  }

  /// The stage inside, for example to read what it has summed up.   \throws invalid_call   if it has another type
  template <class Stage>
  [[nodiscard]] Stage& get() {
    void* const inside = stage_->get(detail::mark_of<Stage>());
    if (inside == nullptr) detail::refuse_type();
    return *static_cast<Stage*>(inside);
  }

  /// The state after the stage.   \throws invalid_call   if x or p has another type than the stage takes
  [[nodiscard]] stage_value forward(stage_view x, stage_params const& by = {}) { return stage_->forward(x, by); }
  /// The tape of the stage.   \throws invalid_call   if x or p has another type than the stage takes
  [[nodiscard]] stage_value record(stage_view x, stage_params const& by = {}) { return stage_->record(x, by); }
  /// The state after the stage, inside its tape.
  [[nodiscard]] stage_view output(stage_value const& tape) const { return stage_->output(tape); }
  /// The adjoint before the stage; x may be empty if it is not needed.   \throws invalid_call   if a value has another
  /// type
  [[nodiscard]] stage_value backward(stage_view x, stage_value& tape, stage_value& bar, stage_params const& by = {}) {
    return stage_->backward(x, tape, bar, by);
  }
  /// Whether backward needs x as well as the tape.
  [[nodiscard]] bool needs_state() const noexcept { return stage_->shape().needs_state; }
  /// Temporary bytes that the stage reports, see `chain_probe`.
  [[nodiscard]] std::int64_t work_bytes() { return stage_->work_bytes(); }
  /// Whether backward makes a new adjoint while the old one still lives.
  [[nodiscard]] bool gives_adjoint() const noexcept { return stage_->shape().gives_adjoint; }
  /// The types that it takes and returns.
  [[nodiscard]] detail::types_of_stage types() const noexcept { return stage_->types(); }

 private:
  detail::owned<model> stage_{nullptr};
};

}  // namespace cairn
