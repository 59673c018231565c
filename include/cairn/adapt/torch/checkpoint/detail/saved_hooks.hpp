// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_hooks.hpp  Default hooks for tensors that autograd saves, and for calls of operators, without Python.
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>
#include <vector>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/library.h>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Makes the hooks of the next tensor that is saved.
using saved_hooks_factory = std::function<std::unique_ptr<torch::autograd::SavedVariableHooks>()>;

/// The active factories of one thread, the innermost last.
using saved_hooks_factories = std::vector<saved_hooks_factory const*>;

class dispatch_mode;

/// The namespace is part of the name by which libraries of one program recognise each other's engine: a class with a
/// different layout needs a different number.
inline namespace hook_engine_3 {

/// LibTorch's engine, which in addition asks the innermost `saved_hooks_scope` of this thread for the hooks of saved
/// tensors.
class hook_engine final : public torch::autograd::Engine {
 public:
  /// This library's engine; never destroyed, because its threads may outlive everything else.
  [[nodiscard]] static torch::autograd::Engine& instance() {
    static auto* const engine = new hook_engine;
    return *engine;
  }
  /// The engine as this class if it comes from this or another library with cairn, otherwise null. Compares names,
  /// because each library with hidden visibility has its own class and type_info.
  [[nodiscard]] static hook_engine* among_ours(torch::autograd::Engine& engine) {
    auto const& type = typeid(engine);
    return std::strcmp(type.name(), typeid(hook_engine).name()) == 0 ? static_cast<hook_engine*>(&engine) : nullptr;
  }
  struct thread_state {
    saved_hooks_factories factories;  ///< that the engine asks
    dispatch_mode* mode = nullptr;    ///< one for all libraries, because one of them has the kernel
  };
  /// What the active engine knows of the calling thread.
  [[nodiscard]] static thread_state& of_thread() {
    auto* const at_work = among_ours(torch::autograd::Engine::get_default_engine());
    return at_work ? at_work->in_force_() : in_force();
  }
  std::atomic<bool> has_mode_kernel = false;  ///< whether a library with cairn has registered it
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    auto const& asked = in_force().factories;
    return asked.empty() ? nullptr : (*asked.back())();
  }

 private:
  /// Of this library; used if its engine is the active one.
  [[nodiscard]] static thread_state& in_force() {
    static thread_local thread_state one;
    return one;
  }
  /// Gives other libraries access to the list of the library that owns this engine. A virtual function would not work:
  /// a compiler that sees no derived class calls the function of its own library directly.
  thread_state& (*in_force_)() = &in_force;
};

}  // namespace hook_engine_3

/// Makes sure that the active engine asks for hooks.
/// \throws invalid_call   if an engine other than LibTorch's own is active
inline void need_saved_hooks(char const* who) {
  auto& engine = torch::autograd::Engine::get_default_engine();
  if (hook_engine::among_ours(engine)) return;
  if (typeid(engine) != typeid(torch::autograd::Engine))
    throw invalid_call{
        who,
        "backward passes are run by an engine other than LibTorch's own, such as Python's",
        {},
        "cairn::libtorch::checkpointed_loop works with every engine; in Python there is torch.utils.checkpoint"};
  torch::autograd::set_default_engine_stub(&hook_engine::instance);
}

/// During its lifetime, tensors that the calling thread saves for backward get hooks from this factory.
class saved_hooks_scope {
 public:
  explicit saved_hooks_scope(saved_hooks_factory factory)
      : factory_{std::move(factory)}, into_{&hook_engine::of_thread().factories} {
    into_->push_back(&factory_);
  }
  saved_hooks_scope(saved_hooks_scope const&) = delete;
  saved_hooks_scope& operator=(saved_hooks_scope const&) = delete;
  ~saved_hooks_scope() { into_->pop_back(); }

 private:
  saved_hooks_factory factory_;
  saved_hooks_factories* into_;
};

/// Handles a call: takes the arguments from the stack, and leaves the results there.
class dispatch_mode {
 public:
  virtual void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) = 0;

  /// The mode of the calling thread, or null.
  [[nodiscard]] static dispatch_mode*& of_thread() { return hook_engine::of_thread().mode; }

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
