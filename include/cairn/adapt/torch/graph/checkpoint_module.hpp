// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_module.hpp  Runs a model of any shape, unchanged, within a memory limit.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/record/detail/call_contents.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Called with the name of a layer and its output, which has no history.
using output_callback = std::function<void(std::string const& layer, at::Tensor const& output)>;

namespace detail {

/// The hooks of one checkpointed module. Threads may share it.
class output_hooks {
 public:
  struct entry {
    std::string pattern;
    output_callback callback;
  };
  /// \returns what keeps the hook
  [[nodiscard]] std::shared_ptr<entry const> add(std::string pattern, output_callback callback) {
    std::lock_guard const lock{access_};
    auto const one = std::make_shared<entry const>(entry{std::move(pattern), std::move(callback)});
    all_.push_back(one);
    return one;
  }
  [[nodiscard]] std::vector<std::shared_ptr<entry const>> all() {
    std::lock_guard const lock{access_};
    std::erase_if(all_, [](auto const& one) { return one.expired(); });
    std::vector<std::shared_ptr<entry const>> living;
    for (auto const& one : all_)
      if (auto hook = one.lock()) living.push_back(std::move(hook));
    return living;
  }

 private:
  std::mutex access_;
  std::vector<std::weak_ptr<entry const>> all_;
};

/// Whether a part of the module that has parameters or buffers, its own or those of its parts, has a matching name.
[[nodiscard]] inline bool has_layer(torch::nn::Module const& module, std::string_view pattern) {
  bool found = false;
  layer_watch const all{module, [&](std::string_view layer) {
    found = found || name_matches(pattern, layer);
    return false;
  }};
  return found;
}

}  // namespace detail

/// A hook that is registered; removed by the destructor. Moved, not copied.
using output_hook_handle = detail::hook_handle;

/// Options of `checkpoint_module`.
struct ModuleOptions {
  /// Called with what there is to say: the limit was passed, or something is held that cannot be made again. Each
  /// sentence once; if empty, they go to std::clog.
  TORCH_ARG(std::function<void(std::string const& what)>, notice) = {};
  /// The module whose layers `register_hook` names, if a function is given in place of a module.
  TORCH_ARG(std::shared_ptr<torch::nn::Module>, module) = nullptr;
  /// Whether a step that passes the limit throws, in place of a notice.
  TORCH_ARG(bool, strict) = false;
  /// Whether each saved tensor that was dropped is compared with what it was, by a sum of 64 bits. For the first runs
  /// of a program.
  TORCH_ARG(bool, verify) = false;
};

namespace detail {

/// The module, if `f` is one; null for a function.
template <class Fn>
[[nodiscard]] torch::nn::Module const* module_of(Fn& f) {
  if constexpr (pointed_module<Fn>) return &*f;
  else if constexpr (callable_module<Fn>) return f.ptr().get();
  else return nullptr;
}

}  // namespace detail

/// A module or a function that runs within a memory limit. It is called like the module, by `()` or `forward`, with the
/// same inputs and the same result. Copies share their limit. Several threads may call it at the same time: their calls
/// share one limit, too.
template <class Fn>
class CheckpointedModule {
 public:
  /// \param limit  nothing for the limit of the process, if there is one
  CheckpointedModule(Fn f, std::optional<byte_budget> limit, ModuleOptions options)
      : of_{std::make_shared<parts>(std::move(f), limit, std::move(options))} {}

  /// The result of the module, which runs once, as it is.
  /// \throws infeasible_budget   with `strict`, in the call or in backward, once the limit is passed; and exceptions of
  ///   the module
  template <class... Inputs>
  decltype(auto) operator()(Inputs const&... inputs) const {
    constexpr bool is_called = detail::is_unpacked<Fn, Inputs...> || detail::calls_with<Fn, Inputs...>;
    static_assert(is_called,
                  "cairn: the function must be callable with its inputs, or with the elements of a tuple of inputs");
    if constexpr (is_called) return run(inputs...);
  }
  /// The same.
  template <class... Inputs>
  decltype(auto) forward(Inputs const&... inputs) const { return (*this)(inputs...); }

  [[nodiscard]] Fn& module() const noexcept { return of_->f; }  ///< the module or function that was given
  /// Counts of all calls, and the bytes of the last step. A copy.
  [[nodiscard]] RecordReport report() const { return of_->calls.report(); }
  /// Calls `callback(layer, output)` after each call within a limit, for layers with a matching name, in the order in
  /// which they ended. The output of a layer is what the last operator makes that reads one of its parameters or
  /// buffers, or those of its parts. The hook lasts as long as the handle.
  /// \param pattern  for the names of layers: "hidden", "encoder.*"; `*` matches any characters
  /// \throws invalid_call   if no layer with parameters or buffers has such a name
  [[nodiscard]] output_hook_handle register_hook(std::string pattern, output_callback callback) const {
    constexpr char const* who = "cairn::libtorch::CheckpointedModule::register_hook";
    if (!callback) throw invalid_call{who, "there is no function to call", {}, "give one that takes (layer, output)"};
    auto const* const module = of_->module();
    if (module == nullptr || !detail::has_layer(*module, pattern))
      throw invalid_call{who,
                         module == nullptr ? "the module is not known" : "no layer has such a name",
                         {},
                         module == nullptr ? "name it with ModuleOptions().module(net)"
                                           : "named_parameters() lists the names; * stands for any characters"};
    return output_hook_handle{of_->hooks.add(std::move(pattern), std::move(callback))};
  }

 private:
  struct parts {
    parts(Fn function, std::optional<byte_budget> bytes, ModuleOptions how)
        : f{std::move(function)}, limit{bytes}, options{std::move(how)} {
      calls.totals->notice = options.notice();
      calls.account->set_strict(options.strict());
    }
    Fn f;
    std::optional<byte_budget> limit;
    ModuleOptions options;
    detail::recorded_verb calls;
    detail::output_hooks hooks;
    [[nodiscard]] torch::nn::Module const* module() {
      return options.module() ? options.module().get() : detail::module_of(f);
    }
  };

  template <class... Inputs>
  [[nodiscard]] decltype(auto) run(Inputs const&... inputs) const {
    auto& f = of_->f;
    auto limit = of_->limit;
    if (!limit)
      if (auto const of_process = memory_limit()) limit = byte_budget{*of_process};
    bool const is_part = detail::call_record::of_call() != nullptr || torch::jit::tracer::isTracing();
    if (!limit || is_part || !at::GradMode::is_enabled()) return detail::call_region(f, inputs...);
    of_->calls.account->set_limit(limit->count());
    auto const layers = watched();
    detail::on_success const at_end{[&] {
      if (layers) show(*layers);
    }};
    return of_->calls.call(detail::checkpoint_module_name, of_->options.verify(),
                           [&](detail::call_record& record) -> decltype(auto) {
                             record.watch(layers);
                             return detail::call_region(f, inputs...);
                           });
  }
  [[nodiscard]] std::shared_ptr<detail::layer_watch> watched() const {
    auto const hooks = of_->hooks.all();
    if (hooks.empty()) return nullptr;
    return std::make_shared<detail::layer_watch>(*of_->module(), [&](std::string_view layer) {
      return std::any_of(hooks.begin(), hooks.end(),
                         [&](auto const& one) { return detail::name_matches(one->pattern, layer); });
    });
  }
  void show(detail::layer_watch const& layers) const {
    auto const hooks = of_->hooks.all();
    layers.show([&](std::string const& layer, at::Tensor const& output) {
      for (auto const& one : hooks)
        if (detail::name_matches(one->pattern, layer)) one->callback(layer, output);
    });
  }

  std::shared_ptr<parts> of_;
};

/// Runs a module of any shape within a memory limit. Each call runs the module once, as it is, with LibTorch's own
/// graph. When the limit is about to be passed, what autograd has saved and costs least to make again is dropped;
/// backward makes it again from the operators that this call ran. Results, gradients, buffers, random numbers and
/// whatever else the module does are those of the plain call, also in the first one, and whatever the module does
/// differently each time.
/// \param module  a holder such as `torch::nn::Linear` or one of your own, a std::shared_ptr to a module, an AnyModule,
///   or a function
/// \param limit  bytes of tensors in host memory that threads make, from the beginning of their calls to the end of
///   their backward passes: "512MiB". What was there before, and gradients of leaves, are not counted
template <class Fn>
[[nodiscard]] CheckpointedModule<Fn> checkpoint_module(Fn module, byte_budget limit, ModuleOptions options = {}) {
  return {std::move(module), limit, std::move(options)};
}
/// The same within the limit of `set_memory_limit`; without such a limit, the plain call.
template <class Fn>
[[nodiscard]] CheckpointedModule<Fn> checkpoint_module(Fn module, ModuleOptions options = {}) {
  return {std::move(module), std::nullopt, std::move(options)};
}

}  // namespace cairn::libtorch
