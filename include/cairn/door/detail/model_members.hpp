// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file model_members.hpp  The members of models and terms by their names; see `member_restore`.
#include <utility>
#include <cairn/door/detail/member_function.hpp>

namespace cairn::detail {

struct member_step {
  template <class T>
  static consteval auto pointer() -> decltype(&T::step) { return &T::step; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.step(std::forward<Args>(args)...)) {
    return of.step(std::forward<Args>(args)...);
  }
};
struct member_adjoint {
  template <class T>
  static consteval auto pointer() -> decltype(&T::adjoint) { return &T::adjoint; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.adjoint(std::forward<Args>(args)...)) {
    return of.adjoint(std::forward<Args>(args)...);
  }
};
struct member_value {
  template <class T>
  static consteval auto pointer() -> decltype(&T::value) { return &T::value; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.value(std::forward<Args>(args)...)) {
    return of.value(std::forward<Args>(args)...);
  }
};
struct member_add_gradient {
  template <class T>
  static consteval auto pointer() -> decltype(&T::add_gradient) { return &T::add_gradient; }
  template <class T, class... Args>
  static auto call(T& of, Args&&... args) -> decltype(of.add_gradient(std::forward<Args>(args)...)) {
    return of.add_gradient(std::forward<Args>(args)...);
  }
};

}  // namespace cairn::detail
