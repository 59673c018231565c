// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kernel_settings.hpp  What kernels read besides their arguments, as it was when code ran first.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

namespace cairn::libtorch::detail {

struct kernel_settings {
  c10::ScalarType type = c10::get_default_dtype_as_scalartype();
  int threads = at::get_num_threads();  ///< a sum over threads has other bits than one by another number of them
  bool deterministic = at::globalContext().deterministicAlgorithms();
  bool only_warns = at::globalContext().deterministicAlgorithmsWarnOnly();
  bool uses_mkldnn = at::globalContext().userEnabledMkldnn();
  [[nodiscard]] bool operator==(kernel_settings const&) const = default;

  /// Most belong to the process, so they are set only where they differ.
  void set() const {
    kernel_settings const now;
    if (type != now.type) c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
    if (threads != now.threads) at::set_num_threads(threads);
    if (deterministic != now.deterministic || only_warns != now.only_warns)
      at::globalContext().setDeterministicAlgorithms(deterministic, only_warns);
    if (uses_mkldnn != now.uses_mkldnn) at::globalContext().setUserEnabledMkldnn(uses_mkldnn);
  }
};

/// During its lifetime, settings are as they were.
class settings_scope {
 public:
  explicit settings_scope(kernel_settings const& then) { then.set(); }
  settings_scope(settings_scope const&) = delete;
  settings_scope& operator=(settings_scope const&) = delete;
  ~settings_scope() { now_.set(); }

 private:
  kernel_settings now_;
};

}  // namespace cairn::libtorch::detail
