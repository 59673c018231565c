// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_hooks.hpp  Default hooks for tensors that autograd saves, without Python.
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Makes the hooks of the next tensor that is saved.
using saved_hooks_factory = std::function<std::unique_ptr<torch::autograd::SavedVariableHooks>()>;

/// The active factories of one thread, the innermost last.
using saved_hooks_factories = std::vector<saved_hooks_factory const*>;

class dispatch_mode;

/// The namespace is part of the name by which libraries of one program recognise each other's engine: a class with a
/// different layout needs a different number.
inline namespace hook_engine_2 {

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
  /// The factories that the active engine asks in the calling thread.
  [[nodiscard]] static saved_hooks_factories& factories() {
    auto* const at_work = among_ours(torch::autograd::Engine::get_default_engine());
    return at_work ? at_work->in_force_() : in_force();
  }
  /// The dispatch mode of the calling thread: one for all libraries, because one of them has the kernel.
  [[nodiscard]] static dispatch_mode*& mode() {
    auto* const at_work = among_ours(torch::autograd::Engine::get_default_engine());
    return at_work ? at_work->mode_in_force_() : mode_in_force();
  }
  std::atomic<bool> has_mode_kernel = false;  ///< whether a library with cairn has registered it
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    auto const& asked = in_force();
    return asked.empty() ? nullptr : (*asked.back())();
  }

 private:
  /// This library's list for the calling thread; used if its engine is the active one.
  [[nodiscard]] static saved_hooks_factories& in_force() {
    static thread_local saved_hooks_factories list;
    return list;
  }
  [[nodiscard]] static dispatch_mode*& mode_in_force() {
    static thread_local dispatch_mode* at_work = nullptr;
    return at_work;
  }
  /// Gives other libraries access to the list of the library that owns this engine. A virtual function would not work:
  /// a compiler that sees no derived class calls the function of its own library directly.
  saved_hooks_factories& (*in_force_)() = &in_force;
  dispatch_mode*& (*mode_in_force_)() = &mode_in_force;
};

}  // namespace hook_engine_2

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
      : factory_{std::move(factory)}, into_{&hook_engine::factories()} {
    into_->push_back(&factory_);
  }
  saved_hooks_scope(saved_hooks_scope const&) = delete;
  saved_hooks_scope& operator=(saved_hooks_scope const&) = delete;
  ~saved_hooks_scope() { into_->pop_back(); }

 private:
  saved_hooks_factory factory_;
  saved_hooks_factories* into_;
};

}  // namespace cairn::libtorch::detail
