// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cuts_params.hpp  Functions that take parameters as narrower numbers.
#include <type_traits>
#include <cairn/door/detail/callable.hpp>

namespace cairn::detail {

/// Whether f would cut one of the parameters `P...` to a narrower number, where `Before...` come before them.
template <class Fn, class... Before, class... After>
consteval bool cuts_params(arguments<Before...>, arguments<>, arguments<After...>) { return false; }
template <class Fn, class... Before, class Params, class... Rest, class... After>
consteval bool cuts_params(arguments<Before...>, arguments<Params, Rest...>, arguments<After...> after) {
  return narrows<Fn, std::remove_cvref_t<Params>, arguments<Before...>, Rest..., After...> ||
         cuts_params<Fn>(arguments<Before..., Params>{}, arguments<Rest...>{}, after);
}

}  // namespace cairn::detail
