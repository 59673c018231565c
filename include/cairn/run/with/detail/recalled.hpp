// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recalled.hpp  Functions that take the record of an adaptive step, and what may be wrong with them.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/adjoint_shape.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/detail/user_function.hpp>
#include <cairn/door/forms.hpp>

namespace cairn::detail {

/// Called as f(x..., record). A record that is a number is not mistaken for an index: it converts to no other number.
template <class Fn, class Record, class... Input>
concept takes_record = calls<Fn, Input..., Record const&> &&
    (!std::is_arithmetic_v<Record> || !one_signature<Fn> || takes_only<Fn, same_number<Record>, arguments<Input...>>);
/// Called as f(x..., i, record), without converting i to a floating-point number.
template <class Fn, class Record, class... Input>
concept takes_index_and_record = takes_record<Fn, Record, Input..., step_index const&> &&
    !(one_signature<Fn> && floats_index<Fn, arguments<Input...>, Record const&>);
/// Called as f(x..., i, record) or as f(x..., record).
template <class Fn, class Record, class... Input>
concept calls_with_record = takes_index_and_record<Fn, Record, Input...> || takes_record<Fn, Record, Input...>;
/// A function that is generic, or has several call operators, cuts what it is called with.
template <class Fn, class Record, class... Input>
consteval bool cuts_recalled() {
  if constexpr (one_signature<Fn>) return false;
  else if constexpr (takes_index_and_record<Fn, Record, Input&...>)
    return floats_index<Fn, arguments<Input&...>, Record const&> ||
           shortens_index<Fn, arguments<Input&...>, Record const&> ||
           narrows<Fn, Record, arguments<Input&..., step_index const&>> ||
           cuts_params<Fn>(arguments<>{}, arguments<Input&...>{}, arguments<step_index const&, Record const&>{});
  else return cuts_params<Fn>(arguments<>{}, arguments<Input&..., Record const&>{}, arguments<>{});
}
template <class Fn, class Record, class... Input>
decltype(auto) call_with_record(Fn& f, step_index const i, Record const& record, Input&&... x) {
  static_assert(!cuts_recalled<Fn, Record, std::remove_cvref_t<Input>...>(),
                "cairn: a function with the record of an adaptive step takes a number as one of a narrower type than it "
                "is given");
  if constexpr (takes_index_and_record<Fn, Record, Input...>)
    return call_lending(f, std::forward<Input>(x)..., i, record);
  else return call_lending(f, std::forward<Input>(x)..., record);
}

/// Whether f takes the parameters of a loop, p or p and dp, before what follows: f(before..., p..., after...).
template <class Fn, class Before, class Params, class... After> inline constexpr bool takes_params = false;
template <class Fn, class... Before, class... Params, class... After>
inline constexpr bool takes_params<Fn, arguments<Before...>, arguments<Params...>, After...> = [] {
  if constexpr (!reads_before<Fn, arguments<Before...>, Params...>::template before<After...>) return false;
  else return !cuts_params<Fn>(arguments<Before...>{}, arguments<Params...>{}, arguments<After...>{});
}();
/// How f takes them: with the index after them, or without.
template <class Fn, class Before, class... Params> struct at_step_with;
template <class Fn, class... Before, class... Params>
struct at_step_with<Fn, arguments<Before...>, Params...> {
  using before = arguments<Before...>;
  using params = arguments<Params...>;
  static constexpr bool indexed = takes_params<Fn, before, params, step_index const&> &&
                                  !floating_index<Fn, Before..., Params...>,
                        fits = indexed || takes_params<Fn, before, params>;
};
/// The same with a record at the end.
template <class Fn, class Record, class Before, class... Params> struct recalled_with;
template <class Fn, class Record, class... Before, class... Params>
struct recalled_with<Fn, Record, arguments<Before...>, Params...> {
  using before = arguments<Before...>;
  using params = arguments<Params...>;
  static constexpr bool indexed = takes_params<Fn, before, params, step_index const&, Record const&> &&
                                  !(one_signature<Fn> && floats_index<Fn, arguments<Before..., Params...>, Record const&>),
                        fits = indexed || (takes_params<Fn, before, params, Record const&> &&
                                           !narrows<Fn, Record, arguments<Before..., Params...>>);
};

/// The records of a loop; reused for the next loop.
template <class Record>
struct step_records {
  std::vector<Record> all;
  std::uint64_t loops = 0;
  bool given = false;  ///< they are from elsewhere, and no loop has begun with them

  [[nodiscard]] Record const& at(step_index i) const {
    if (std::size_t(i) >= all.size())
      throw invalid_call{"cairn::adaptive",
                         "there is no record of this step yet",
                         {{"step", i}, {"records", all.size()}},
                         "the loop has to run forward first: reverse a run of checkpointed_while or checkpointed_loop"};
    return all[std::size_t(i)];
  }
};

/// What is wrong with such a callable, as far as its one signature shows: f(x[, i], record), f(x[, x1], bar[, i], record).
template <class Fn, class State, class Record>
consteval fault fault_of_recalled() {
  if constexpr (!one_signature<Fn>) {
    if constexpr (!std::is_arithmetic_v<State>) return fault::none;  // bar is not known: it shows when f is called
    else return cuts_recalled<Fn, Record, State, State>() ? fault::narrow : fault::none;
  } else {
    constexpr auto count = []<class... Args>(std::type_identity<arguments<Args...>>) {
      return sizeof...(Args);
    }(parameters_of<std::remove_cv_t<Fn>>());
    if constexpr (count < 2 || count > 5) return fault::none;  // the verb says so
    else {
      constexpr bool indexed = count > 2 && std::is_integral_v<nth_parameter<Fn, count - 2>>;
      constexpr std::size_t states = count - 1 - std::size_t(indexed);  // and bar, which comes last
      using made = std::conditional_t<indexed, call_with<numbers_step, reads<Record>>, call_with<reads<Record>>>;
      using bar = nth_parameter<Fn, states - 1>;
      using before = std::conditional_t<states == 3, call_with<reads<State>, reads<State>>, call_with<may_change<State>>>;
      using seen = std::conditional_t<states == 1, decltype(before{} + made{}),
                                      decltype(before{} + call_with<may_change<bar>>{} + made{})>;
      using changed = decltype(before{} + call_with<changes<bar>>{} + made{});
      if constexpr (!called_with<Fn, seen>) return fault::none;
      else if constexpr (states > 1 && std::is_void_v<typename result_with<Fn, seen>::type>)
        return fault_of_call<Fn>(changed{});
      else return fault_of_call<Fn>(seen{});
    }
  }
}
/// In the place of such a callable that was refused, so that there is one error.
struct refused_recalled {
  template <class State, class Bar>
  void operator()(State const&, Bar&, step_index) const {}
};
/// A user's callable that also receives the record of its step: an adjoint with one or two states, or the `record` of a
/// recording adjoint.
template <class Fn, class Record>
struct recalling {
  using called = std::remove_reference_t<Fn>;
  kept_callable<Fn> kept;
  step_records<Record> const* records;
  template <class Look>
  void each_function(Look const& look) const { look(*kept); }

  template <class State, class Params>
  static consteval bool record_with() { return recalled_with<called, Record, arguments<State&>, Params const&>::fits; }
  template <class State, class Params>
  decltype(auto) run(Params const& p, step_index const i, State& x) const {
    if constexpr (recalled_with<called, Record, arguments<State&>, Params const&>::indexed)
      return call_lending(*kept, x, p, i, records->at(i));
    else return call_lending(*kept, x, p, records->at(i));
  }
  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    constexpr auto one = shape_as<adjoint_form::one_step, Bar, Params, DP, lent_state<State>>();
    if constexpr (one.wrong != fault::shape || saved_state<State>) return one;
    else return shape_as<adjoint_form::with_next, Bar, Params, DP, State const&, State const&>();
  }
  template <class State, class Input, class Bar, class Params, class DP>
  void back(Input& x, State const* x1, Bar& bar, Params const& p, DP& dp, step_index const i, step_index) const {
    if constexpr (adjoint_with<State, Bar, Params, DP>().form == adjoint_form::with_next) pull(bar, p, dp, i, x, *x1);
    else pull(bar, p, dp, i, x);
  }

  template <class State>
    requires calls_with_record<called, Record, State&>
    decltype(auto) operator()(State& x, step_index i) const {
      return call_with_record<called, Record>(*kept, i, records->at(i), x);
    }
  // These take bar as f does, by reference or by value; the last index of a leaf is not a bar.
  template <class State, class Bar>
    requires calls_with_record<called, Record, State const&, Bar>
  decltype(auto) operator()(State const& x, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, std::forward<Bar>(bar));
  }
  // The adjoint of an object may change the object.
  template <class State, class Bar>
    requires(saved_state<State> && calls_with_record<called, Record, State&, Bar>)
  decltype(auto) operator()(State& x, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, std::forward<Bar>(bar));
  }
  template <class State, class Bar>
    requires(!std::is_same_v<Bar, step_index> && calls_with_record<called, Record, State const&, State const&, Bar>)
  decltype(auto) operator()(State const& x, State const& x1, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, x1, std::forward<Bar>(bar));
  }

 private:
  template <adjoint_form Form, class Bar, class Params, class DP, class... States>
  static consteval adjoint_shape shape_as() {
    using with = recalled_with<called, Record, arguments<States..., Bar&>, Params const&, DP&>;
    using before = arguments<States...>;
    using params = arguments<Params const&, DP&>;
    adjoint_shape found;
    if constexpr (with::indexed)
      found = adjoint_read<Form, called, Bar, before, params, step_index const&, Record const&>::get();
    else if constexpr (with::fits) found = adjoint_read<Form, called, Bar, before, params, Record const&>::get();
    if (found.form != adjoint_form::none) found = made_adjoint(Form);
    return found;
  }
  template <class Bar, class Params, class DP, class... States>
  void pull(Bar& bar, Params const& p, DP& dp, step_index const i, States&... x) const {
    if constexpr (recalled_with<called, Record, arguments<States&..., Bar&>, Params const&, DP&>::indexed)
      pull_back(*kept, bar, x..., bar, p, dp, i, records->at(i));
    else pull_back(*kept, bar, x..., bar, p, dp, records->at(i));
  }
};

}  // namespace cairn::detail
