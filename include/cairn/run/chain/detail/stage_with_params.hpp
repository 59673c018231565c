// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_with_params.hpp  One stage that takes the parameters of its chain: as the executors call it, without.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/stage_shape.hpp>
#include <cairn/run/chain/detail/call.hpp>

namespace cairn::detail {

template <class Stage, class... Index>
concept tells_work = requires(Stage& s, Index... i) { std::int64_t(s.work_bytes(i...)); };

/// The arguments of a stage's function with those of `Params...` before the index, if there is one.
template <class Given, class Params, bool Indexed, class Before = stage_arguments<>> struct params_within;
template <class... Given, class... Params, class... Before>
struct params_within<stage_arguments<Given...>, stage_arguments<Params...>, false, stage_arguments<Before...>> {
  using type = stage_arguments<Before..., Given..., Params...>;
};
template <class Index, class... Params, class... Before>
struct params_within<stage_arguments<Index>, stage_arguments<Params...>, true, stage_arguments<Before...>> {
  using type = stage_arguments<Before..., Params..., Index>;
};
template <class First, class Second, class... Given, class... Params, class... Before>
struct params_within<stage_arguments<First, Second, Given...>, stage_arguments<Params...>, true,
                     stage_arguments<Before...>>
    : params_within<stage_arguments<Second, Given...>, stage_arguments<Params...>, true,
                    stage_arguments<Before..., First>> {};

/// A stage with the parameters of its chain: forward and record get p, backward p and dp, where they take them.
template <class Stage, class Params, class DP, bool Indexed>
class stage_with_params {
  template <class... Args>
  using one = typename params_within<stage_arguments<Args...>, stage_arguments<Params const&>, Indexed>::type;
  template <class... Args>
  using both = typename params_within<stage_arguments<Args...>, stage_arguments<Params const&, DP&>, Indexed>::type;
  enum class function : std::uint8_t { forward, record, backward };
  template <function Which, class All>
  static consteval bool runs() {
    if constexpr (Which == function::forward) return runs_forward<Stage, All>;
    else if constexpr (Which == function::record) return runs_record<Stage, All>;
    else return runs_backward<Stage, All>;
  }
  /// Whether a function takes these arguments, and none as a number of a narrower type.
  template <function Which, class All>
  static consteval bool fits() {
    if constexpr (!runs<Which, All>()) return false;
    else if constexpr (Which == function::forward && !told_forward<Stage>) return true;
    else if constexpr (Which == function::record && !names_record<Stage>) return true;
    else if constexpr (Which == function::backward && !told_backward<Stage>) return true;
    else return !cuts<Which>(stage_arguments<>{}, All{});
  }
  template <function Which, class... Before, class First, class... Rest>
  static consteval bool cuts(stage_arguments<Before...>, stage_arguments<First, Rest...>) {
    using T = std::remove_cvref_t<First>;
    bool found = false;
    if constexpr (std::is_floating_point_v<T>) found = runs<Which, stage_arguments<Before..., narrowed<T>, Rest...>>();
    if constexpr (sizeof...(Rest) > 0)
      found = found || cuts<Which>(stage_arguments<Before..., First>{}, stage_arguments<Rest...>{});
    return found;
  }
  /// False if it is known that backward cannot add to dp.
  template <class... Args>
  static consteval bool adds() {
    using constant =
        typename params_within<stage_arguments<Args...>, stage_arguments<Params const&, DP const&>, Indexed>::type;
    if constexpr (!told_backward<Stage>) return true;
    else return !runs_backward<Stage, constant>;
  }
  /// False if it is known that a backward which returns nothing cannot change bar.
  template <bool With, class... Args, std::size_t... Place>
  static consteval bool changes_bar(std::index_sequence<Place...>) {
    constexpr std::size_t bar = sizeof...(Args) - 1 - std::size_t(Indexed);
    constexpr auto constant_bar = []<class... Taken>(stage_arguments<Taken...>) {
      if constexpr (With) return both<Taken...>{};
      else return stage_arguments<Taken...>{};
    };
    using given = decltype(constant_bar(stage_arguments<Args...>{}));
    using constant = decltype(constant_bar(
        stage_arguments<std::conditional_t<Place == bar, std::remove_cvref_t<Args> const&, Args>...>{}));
    if constexpr (!told_backward<Stage>) return true;
    else return !std::is_void_v<decltype(backward_result<Stage>(given{}))> || !runs_backward<Stage, constant>;
  }

 public:
  Stage* stage;
  Params const* p;
  DP* dp;

  template <class... Args> static constexpr bool forward_takes = fits<function::forward, one<Args...>>();
  template <class... Args> static constexpr bool record_takes = fits<function::record, one<Args...>>();
  /// Whether backward takes p and dp.
  template <class... Args>
  static constexpr bool backward_takes = [] {
    if constexpr (!fits<function::backward, both<Args...>>()) return false;
    else return adds<Args...>() && changes_bar<true, Args...>(std::index_sequence_for<Args...>{});
  }();
  template <class... Args>
  static constexpr bool backward_without = [] {
    if constexpr (!fits<function::backward, stage_arguments<Args...>>()) return false;
    else return changes_bar<false, Args...>(std::index_sequence_for<Args...>{});
  }();

  template <class State, class... Index>
    requires(forward_takes<State const&, Index const&...> ||
             fits<function::forward, stage_arguments<State const&, Index const&...>>())
  auto forward(State const& x, Index const&... i) const {
    if constexpr (forward_takes<State const&, Index const&...>)
      return stage->forward(lend<forward_takes_value<Stage, 0, State const&, Params const&, Index const&...>>(x), *p,
                            i...);
    else return stage->forward(lend<forward_takes_value<Stage, 0, State const&, Index const&...>>(x), i...);
  }
  template <class State, class... Index>
    requires(record_takes<State const&, Index const&...> ||
             fits<function::record, stage_arguments<State const&, Index const&...>>())
  auto record(State const& x, Index const&... i) const {
    if constexpr (record_takes<State const&, Index const&...>)
      return stage->record(lend<record_takes_value<Stage, 0, State const&, Params const&, Index const&...>>(x), *p,
                           i...);
    else return stage->record(lend<record_takes_value<Stage, 0, State const&, Index const&...>>(x), i...);
  }
  template <class Tape>
    requires requires(Stage& s, Tape const& tape) { s.output(tape); }
  decltype(auto) output(Tape const& tape) const { return stage->output(tape); }
  template <class... Args>
    requires(backward_takes<Args...> || backward_without<Args...>)
  auto backward(Args&&... args) const {
    std::tuple<Args&&...> all{std::forward<Args>(args)...};
    constexpr std::size_t count = sizeof...(Args) - std::size_t(Indexed);
    return [&]<std::size_t... Place, std::size_t... Last>(std::index_sequence<Place...>, std::index_sequence<Last...>) {
      if constexpr (backward_takes<Args...>)
        return stage->backward(std::get<Place>(std::move(all))..., *p, *dp, std::get<count + Last>(std::move(all))...);
      else return stage->backward(std::get<Place>(std::move(all))..., std::get<count + Last>(std::move(all))...);
    }(std::make_index_sequence<count>{}, std::make_index_sequence<std::size_t(Indexed)>{});
  }
  template <class... Index>
    requires tells_work<Stage, Index...>
  [[nodiscard]] std::int64_t work_bytes(Index... i) const { return std::int64_t(stage->work_bytes(i...)); }
};

}  // namespace cairn::detail
