#pragma once
/// \file saved_hooks.hpp  Who keeps the tensors that autograd saves: default hooks without Python.
#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// Makes the hooks of the next tensor that is saved.
using saved_hooks_maker = std::function<std::unique_ptr<torch::autograd::SavedVariableHooks>()>;

/// LibTorch's engine, which besides asks this thread's innermost `saved_hooks_scope` for the hooks of what is saved.
class hook_engine final : public torch::autograd::Engine {
 public:
  /// The one there is; it is never destroyed, since its threads may outlive whatever is.
  [[nodiscard]] static torch::autograd::Engine& instance() {
    static auto* const engine = new hook_engine;
    return *engine;
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override { return makers().empty() ? nullptr : (*makers().back())(); }
  /// Those in force in the calling thread, the innermost last.
  [[nodiscard]] static std::vector<saved_hooks_maker const*>& makers() {
    static thread_local std::vector<saved_hooks_maker const*> in_force;
    return in_force;
  }
};

/// Sees to it that hooks are asked for.
/// \throws invalid_call   where another engine than LibTorch's own is at work
inline void need_saved_hooks(char const* who) {
  auto& engine = torch::autograd::Engine::get_default_engine();
  auto& ours = hook_engine::instance();
  if (&engine == &ours) return;
  if (typeid(engine) != typeid(torch::autograd::Engine))
    throw invalid_call{who, "backward passes are run by another engine than LibTorch's own, such as Python's", {},
                       "cairn::checkpointed_loop works with every engine; in Python there is torch.utils.checkpoint"};
  torch::autograd::set_default_engine_stub(&hook_engine::instance);
}

/// What the calling thread saves for its backward passes while this lives gets hooks of this maker.
class saved_hooks_scope {
 public:
  explicit saved_hooks_scope(saved_hooks_maker maker) : maker_{std::move(maker)} { hook_engine::makers().push_back(&maker_); }
  saved_hooks_scope(saved_hooks_scope const&) = delete;
  saved_hooks_scope& operator=(saved_hooks_scope const&) = delete;
  ~saved_hooks_scope() { hook_engine::makers().pop_back(); }

 private:
  saved_hooks_maker maker_;
};

}  // namespace cairn::detail
