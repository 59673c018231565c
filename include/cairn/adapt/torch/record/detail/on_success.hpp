// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file on_success.hpp  What is done at the end of a scope that no exception leaves.
#include <exception>
#include <utility>

namespace cairn::libtorch::detail {

template <class Fn>
class on_success {
 public:
  explicit on_success(Fn f) : f_{std::move(f)} {}
  on_success(on_success const&) = delete;
  on_success& operator=(on_success const&) = delete;
  ~on_success() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) f_();
  }

 private:
  Fn f_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace cairn::libtorch::detail
