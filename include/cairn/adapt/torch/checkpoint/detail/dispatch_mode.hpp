// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file dispatch_mode.hpp  Intercepts calls of operators below autograd for the record of this thread.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <mutex>
#include <torch/library.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// A dispatch key below autograd for which LibTorch has neither kernels nor tensors. In a thread that includes it, each
/// operator reaches the kernel of this file first.
inline constexpr auto dispatch_mode_key = c10::DispatchKey::Fake;

/// Handles a call: takes the arguments from the stack, and leaves the results there.
class dispatch_mode {
 public:
  virtual void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) = 0;

  /// The mode of the calling thread, or null.
  [[nodiscard]] static dispatch_mode*& of_thread() { return hook_engine::mode(); }

 protected:
  ~dispatch_mode() = default;
};

/// Turns the kernel on or off for this thread during its lifetime.
class dispatch_mode_scope {
 public:
  explicit dispatch_mode_scope(bool on) {
    c10::impl::tls_set_dispatch_key_included(dispatch_mode_key, on);
    c10::impl::tls_set_dispatch_key_excluded(dispatch_mode_key, !on);
  }
  dispatch_mode_scope(dispatch_mode_scope const&) = delete;
  dispatch_mode_scope& operator=(dispatch_mode_scope const&) = delete;
  ~dispatch_mode_scope() {
    c10::impl::tls_set_dispatch_key_included(dispatch_mode_key, included_);
    c10::impl::tls_set_dispatch_key_excluded(dispatch_mode_key, excluded_);
  }

 private:
  bool included_ = c10::impl::tls_is_dispatch_key_included(dispatch_mode_key);
  bool excluded_ = c10::impl::tls_is_dispatch_key_excluded(dispatch_mode_key);
};

inline void dispatch_mode_kernel(c10::OperatorHandle const& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  auto const below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, dispatch_mode_key);
  dispatch_mode_scope const off{false};  // what the operator itself calls is part of it
  auto* const mode = dispatch_mode::of_thread();
  if (mode != nullptr) mode->call(op, below, *stack);
  else op.redispatchBoxed(below, stack);
}

/// Makes sure that the kernel is registered, and that libraries of this program share it.
/// \throws invalid_call   as `need_saved_hooks`; or if something else has a kernel of its own at the key
inline void need_dispatch_mode(char const* who) {
  need_saved_hooks(who);
  auto& engine = *hook_engine::among_ours(torch::autograd::Engine::get_default_engine());
  static auto* const access = new std::mutex;
  std::lock_guard const lock{*access};
  if (engine.has_mode_kernel) return;
  if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(dispatch_mode_key))
    throw invalid_call{
        who, "something else in this program intercepts operators already", {}, "let only cairn intercept them"};
  static auto* const library = new torch::Library(torch::Library::IMPL, "_", dispatch_mode_key, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&dispatch_mode_kernel>());
  engine.has_mode_kernel = true;
}

}  // namespace cairn::libtorch::detail
