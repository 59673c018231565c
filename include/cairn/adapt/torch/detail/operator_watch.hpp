#pragma once
/// \file operator_watch.hpp  Calls of operators below autograd, in the hands of the region that runs in this thread.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// A dispatch key below autograd, for which LibTorch has neither kernels nor tensors. Where a thread includes it, each
/// operator comes to the kernel of this file first.
inline constexpr auto watched_key = c10::DispatchKey::Fake;

/// Decides what is done of a call: takes the arguments from the stack, and leaves the results there.
class operator_handler {
 public:
  virtual void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) = 0;

  /// The one of the calling thread, or null.
  [[nodiscard]] static operator_handler*& of_thread() {
    static thread_local operator_handler* at_work = nullptr;
    return at_work;
  }

 protected:
  ~operator_handler() = default;
};

/// While it lives, this thread comes by the kernel, or does not.
class watched_scope {
 public:
  explicit watched_scope(bool on) {
    c10::impl::tls_set_dispatch_key_included(watched_key, on);
    c10::impl::tls_set_dispatch_key_excluded(watched_key, !on);
  }
  watched_scope(watched_scope const&) = delete;
  watched_scope& operator=(watched_scope const&) = delete;
  ~watched_scope() {
    c10::impl::tls_set_dispatch_key_included(watched_key, included_);
    c10::impl::tls_set_dispatch_key_excluded(watched_key, excluded_);
  }

 private:
  bool included_ = c10::impl::tls_is_dispatch_key_included(watched_key);
  bool excluded_ = c10::impl::tls_is_dispatch_key_excluded(watched_key);
};

/// While it lives, a kernel below autograd is as outside of the operator: autograd is at work again, and the watch is
/// not.
class above_operator {
 public:
  above_operator() {
    auto around = before_;
    around.included_ = around.included_.remove(watched_key);
    around.excluded_ = around.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    c10::impl::_force_tls_local_dispatch_key_set(around);
  }
  above_operator(above_operator const&) = delete;
  above_operator& operator=(above_operator const&) = delete;
  ~above_operator() { c10::impl::_force_tls_local_dispatch_key_set(before_); }

 private:
  c10::impl::LocalDispatchKeySet before_ = c10::impl::tls_local_dispatch_key_set();
};

inline void watched_kernel(c10::OperatorHandle const& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  auto const below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, watched_key);
  watched_scope const off{false};  // what the operator itself calls is part of it
  auto* const handler = operator_handler::of_thread();
  if (handler != nullptr) handler->call(op, below, *stack);
  else op.redispatchBoxed(below, stack);
}

/// Sees to it that the kernel is there.
/// \throws invalid_call   where another library of this program has a kernel of its own at the key
inline void need_watched_kernel(char const* who) {
  static bool const is_ours = [] {
    if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(watched_key)) return false;
    static auto* const library = new torch::Library(torch::Library::IMPL, "_", watched_key, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&watched_kernel>());
    return true;
  }();
  if (!is_ours)
    throw invalid_call{who, "another library of this program watches operators already", {},
                       "let one library run the regions with a policy, or keep parts by cairn::keep"};
}

}  // namespace cairn::detail
