// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file seed.hpp  What the caller of a chain gave: stages, parameters, and the adjoint of the last state, made from a
/// seed.
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/stage_shape.hpp>
#include <cairn/door/detail/stage_signature.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/form/detail/bound_seed.hpp>

namespace cairn::detail {

template <class Stages> inline constexpr bool is_indexed = false;
template <class Stage> inline constexpr bool is_indexed<indexed_stages<Stage>> = true;
template <class Stage> inline constexpr bool is_indexed<indexed_stages<Stage> const> = true;
/// A vector of stages or a similar list.
template <class Stages>
concept stage_vector = requires(Stages& all) {
  { all.size() } -> std::convertible_to<std::size_t>;
  all[std::size_t{0}];
};
template <class Stages>
concept stage_list = is_indexed<Stages> || stage_vector<Stages>;
/// A std::tuple, or a similar type that is not a list.
template <class Stages>
concept stage_tuple = !stage_list<Stages> && requires { std::tuple_size<std::remove_const_t<Stages>>::value; };

/// The type of the stages of a list.
template <class Stages> struct stage_of_list { using type = void; };
template <stage_vector Stages>
struct stage_of_list<Stages> { using type = std::remove_reference_t<decltype(std::declval<Stages&>()[0])>; };
template <class Stages>
  requires is_indexed<Stages>
struct stage_of_list<Stages> { using type = std::remove_reference_t<decltype((std::declval<Stages&>().stage))>; };

/// The stages of a chain, p and dp; `no_params` if it has none. Stages of any type get both as one value.
template <class StagesGiven, class Params, class DP>
struct chain_given {
  using stages_type = StagesGiven;
  using context = stage_context<Params, DP, is_indexed<StagesGiven>>;
  using stage = typename stage_of_list<StagesGiven>::type;  ///< of a list
  static constexpr bool is_list = stage_list<StagesGiven>, of_any = std::is_same_v<stage, any_stage>;
  StagesGiven& stages;
  std::conditional_t<of_any, Params, Params const&> p;
  DP& dp;

  [[nodiscard]] step_index count() const
    requires is_list
  {
    if constexpr (is_indexed<StagesGiven>) return stages.count;
    else return step_index(stages.size());
  }
  [[nodiscard]] auto& operator[](step_index i) const
    requires is_list
  {
    if constexpr (is_indexed<StagesGiven>) return stages.stage;
    else return stages[std::size_t(i)];
  }
};
template <class Stages, class Wrt = no_wrt>
[[nodiscard]] auto given_chain(Stages& stages, [[maybe_unused]] Wrt const& by = {}) {
  if constexpr (std::is_same_v<typename stage_of_list<Stages>::type, any_stage>) {
    if constexpr (!is_wrt<Wrt>) return chain_given<Stages, stage_params, no_params>{stages, {}, no_gradient};
    else return chain_given<Stages, stage_params, no_params>{stages, stage_params{by}, no_gradient};
  } else {
    auto const& all = params_of(by);
    using Params = std::remove_cvref_t<decltype(all.p)>;
    using DP = std::remove_reference_t<decltype(all.dp)>;
    return chain_given<Stages, Params, DP>{stages, all.p, all.dp};
  }
}
template <class Stages, class Wrt>
using chain_given_for = decltype(given_chain(std::declval<Stages&>(), std::declval<Wrt const&>()));

/// A function of the last state of a chain of any_stage that names the type of this state; not one that takes a
/// stage_view.
template <class Seed>
concept told_seed = !range_like<Seed> && !std::is_void_v<typename decltype(told_argument<Seed>())::type> &&
                    !std::is_same_v<typename decltype(told_argument<Seed>())::type, stage_view>;

/// The type in which a seed takes the last state of a chain.
template <class Seed, class Last> struct seed_input { using type = Last; };
template <told_seed Seed>
struct seed_input<Seed, stage_view> { using type = typename decltype(told_argument<Seed>())::type; };

/// The seed is a function of a last state X.
template <class Seed, class Input>
concept made_by_seed = (std::is_same_v<Input, stage_view> && told_seed<Seed>) || seed_function<Seed, Input>;
/// A copy of the caller's seed would share its data, which the reverse sweep changes.
template <class Seed, class Input>
concept shared_seed =
    !made_by_seed<std::remove_reference_t<Seed>, Input> && !given_away<Seed> && shallow<std::remove_cvref_t<Seed>>;

/// The result of the seed for a last state X; for X = stage_view, before the result is put into a stage_value.
template <class Seed, class Input>
[[nodiscard]] decltype(auto) call_seed(Seed&& seed, Input const& x) {
  using State = std::remove_reference_t<Seed>;
  if constexpr (std::is_same_v<Input, stage_view> && told_seed<State>)
    return call_lending(seed, x.template get<typename seed_input<State, Input>::type>());
  else if constexpr (seed_function<State, Input>) return call_lending(seed, x);
  else return std::forward<Seed>(seed);
}
template <class Seed, class Input>
using seed_result = std::remove_cvref_t<decltype(call_seed(std::declval<Seed>(), std::declval<Input const&>()))>;

/// The adjoint's type: the result of the seed, or a stage_value that holds it.
template <class Seed, class Input>
struct bar_from { using type = seed_result<Seed, Input>; };
template <class Seed>
struct bar_from<Seed, stage_view> { using type = stage_value; };

template <class Bar, class Seed, class Input>
[[nodiscard]] Bar adjoint_from(Seed&& seed, Input const& x) {
  auto const make = [&] {
    if constexpr (made_by_seed<std::remove_reference_t<Seed>, Input>)
      return taken_out_by([&]() -> decltype(auto) { return call_seed(std::forward<Seed>(seed), x); });
    else return taken(std::forward<Seed>(seed));
  };
  if constexpr (std::is_same_v<Input, stage_view> && !std::is_same_v<decltype(make()), stage_value>)
    return stage_value::made_by(make);
  else return make();
}

/// The seed of a chain, with the parameters that there are: `seed(x, p, dp)`, `seed(x, p)`, `seed(x)` or a value, for the
/// last state.
/// \param watch  p is checked before the seed is used; must outlive the result
template <class Last, class Seed, class Wrt, class Params>
[[nodiscard]] decltype(auto) chain_seed(Seed&& seed, Wrt const& by, watched_params<Params> const& watch) {
  if constexpr (!is_wrt<Wrt>) return std::forward<Seed>(seed);
  else {
    using Input = typename seed_input<std::remove_reference_t<Seed>, Last>::type;
    using bound = decltype(bind_seed<Input>(std::forward<Seed>(seed), by.p, by.dp));
    if constexpr (seed_function<std::remove_reference_t<bound>, Input>)
      return [&watch, from = bind_seed<Input>(std::forward<Seed>(seed), by.p, by.dp)](Input const& x) -> decltype(auto) {
        watch.check("cairn::chain_gradient");
        return call_lending(from, x);
      };
    else if constexpr (shared_seed<Seed, Last> || function_like<std::remove_cvref_t<Seed>>)
      return std::forward<Seed>(seed);  // refused
    else
      return [&](Last const&) -> std::remove_cvref_t<Seed> {
        watch.check("cairn::chain_gradient");
        return taken(std::forward<Seed>(seed));
      };
  }
}

/// One object or none, separately on the heap: so a chain holds only what its plan keeps, and never memory for all its
/// states at once. The object is made in place and never copied or moved.
template <class T>
class boxed {
 public:
  boxed() = default;
  boxed(boxed&& other) noexcept : at_{std::exchange(other.at_, nullptr)} {}
  boxed& operator=(boxed&& other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~boxed() { reset(); }

  /// Holds the result of `make()`; destroys the old object first.
  template <class Make>
  void make(Make&& make) {
    reset();
    at_ = new T(make());
  }
  /// Takes over an object of `new`.   \pre empty
  void hold(T* made) noexcept { at_ = made; }
  /// The same in place of another.
  void replace(T* made) noexcept { delete std::exchange(at_, made); }
  void reset() noexcept { delete std::exchange(at_, nullptr); }
  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] T& operator*() const noexcept { return *at_; }
  /// Bytes of the object; 0 if there is none, and for a type whose bytes are unknown.
  [[nodiscard]] std::size_t bytes() const {
    if constexpr (sized_state<T>) return at_ != nullptr ? bytes_of(*at_) : 0;
    else return 0;
  }

 private:
  T* at_ = nullptr;
};

}  // namespace cairn::detail
