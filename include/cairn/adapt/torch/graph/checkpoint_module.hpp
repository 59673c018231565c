// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_module.hpp  Runs a model of any shape, unchanged, within a memory limit.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/graph/detail/captured_arguments.hpp>
#include <cairn/adapt/torch/graph/detail/graph_node.hpp>
#include <cairn/adapt/torch/graph/detail/module_plans.hpp>
#include <cairn/adapt/torch/graph/detail/operator_listener.hpp>
#include <cairn/adapt/torch/graph/module_report.hpp>
#include <cairn/adapt/torch/graph/output_hooks.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/adapt/torch/state/detail/name_matches.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Options of `checkpoint_module`.
struct ModuleOptions {
  /// Whether operations that run again draw the same random numbers.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// Called with the reason if calls cannot be planned, once per reason; if empty, reasons go to std::clog.
  TORCH_ARG(std::function<void(std::string const& why)>, notice) = {};
  /// The module whose parameters, buffers and modes the function uses, if a function is given in place of a module.
  TORCH_ARG(std::shared_ptr<torch::nn::Module>, module) = nullptr;
  /// Whether a call that cannot be planned, and so cannot keep within the limit, throws instead of running as it is.
  TORCH_ARG(bool, strict) = false;
};

namespace detail {

inline constexpr char const* checkpoint_module_name = "cairn::libtorch::checkpoint_module";

/// The module, if `f` is one; null for a function.
template <class Fn>
[[nodiscard]] torch::nn::Module const* module_of(Fn& f) {
  if constexpr (pointed_module<Fn>) return &*f;
  else if constexpr (callable_module<Fn>) return f.ptr().get();
  else return nullptr;
}

}  // namespace detail

/// A module or a function that runs within a memory limit. It is called like the module, by `()` or `forward`, with the
/// same inputs and the same result. Copies share their plans. Several threads may call it at the same time.
template <class Fn>
class CheckpointedModule {
 public:
  /// \param limit  nothing for the limit of the process, if there is one
  CheckpointedModule(Fn f, std::optional<byte_budget> limit, ModuleOptions options)
      : of_{std::make_shared<parts>(std::move(f), limit, std::move(options))} {}

  /// The result of the module. The first call of a kind is captured, measured and planned; later ones run by its plan.
  /// \throws infeasible_budget   with the least limit, if the limit is too small   \throws invalid_call   with
  ///   `strict`, if the call cannot be planned; and exceptions of the module
  template <class... Inputs>
  auto operator()(Inputs const&... inputs) const {
    constexpr bool are_inputs = (detail::region_argument<Inputs> && ...);
    static_assert(
        are_inputs,
        "cairn: the inputs must be tensors, tuples, vectors, dictionaries or optionals of tensors, types with "
        "cairn::libtorch::tensor_traits, or scalars; let the function capture what else it needs");
    if constexpr (are_inputs) {
      constexpr bool is_called = detail::is_unpacked<Fn, Inputs...> || detail::calls_with<Fn, Inputs...>;
      static_assert(is_called,
                    "cairn: the function must be callable with its inputs, or with the elements of a tuple of inputs");
      if constexpr (is_called) return run(inputs...);
    }
  }
  /// The same.
  template <class... Inputs>
  auto forward(Inputs const&... inputs) const { return (*this)(inputs...); }

  [[nodiscard]] Fn& module() const noexcept { return of_->f; }  ///< the module or function that was given
  /// Counts, and the plan of the last call. A copy.
  [[nodiscard]] ModuleReport report() const { return of_->plans.report(); }
  /// Why calls could not be planned and ran as they are; empty if all were planned.
  [[nodiscard]] std::string notice() const { return report().notice; }
  /// Calls `callback(layer, output)` in each call that runs by a plan, when layers with a matching name have computed
  /// their outputs. The output of a layer is what the last operator makes that reads one of its parameters or buffers,
  /// or those of its parts. What runs again in backward is not shown again. The hook lasts as long as the handle.
  /// \param pattern  for the names of layers: "hidden", "encoder.*"; `*` matches any characters
  /// \throws invalid_call   if no layer with parameters or buffers has such a name, and in a call that is not captured
  [[nodiscard]] output_hook_handle register_hook(std::string pattern, output_callback callback) const {
    constexpr char const* who = "cairn::libtorch::CheckpointedModule::register_hook";
    if (!callback)
      throw invalid_call{who, "there is no function to call", {}, "give one that takes (layer, output)"};
    auto const* const module = of_->module();
    if (module == nullptr || !detail::has_layer(*module, pattern))
      throw invalid_call{who, module == nullptr ? "the module is not known" : "no layer has such a name", {},
                         module == nullptr ? "name it with ModuleOptions().module(net)"
                                           : "named_parameters() lists the names; * stands for any characters"};
    return {of_->hooks, of_->hooks->add(std::move(pattern), std::move(callback))};
  }
  /// Discards captures and plans: the next call makes new ones.
  void replan() const { of_->plans.clear(); }

 private:
  struct parts {
    parts(Fn function, std::optional<byte_budget> bytes, ModuleOptions how)
        : f{std::move(function)},
          limit{bytes},
          options{std::move(how)},
          plans{options.rng(), detail::checkpoint_module_name} {}
    Fn f;
    std::optional<byte_budget> limit;
    ModuleOptions options;
    detail::module_plans plans;
    [[nodiscard]] torch::nn::Module const* module() {
      return options.module() ? options.module().get() : detail::module_of(f);
    }
    std::shared_ptr<detail::output_hooks> hooks = std::make_shared<detail::output_hooks>();
    std::mutex telling;
    std::string told;  ///< the last notice that was reported
  };

  template <class... Inputs>
  [[nodiscard]] auto run(Inputs const&... inputs) const {
    auto& f = of_->f;
    using result = std::remove_cvref_t<decltype(detail::call_region(f, inputs...))>;
    static_assert(tensor_state<result>,
                  "cairn: the module must return a tensor, or tuples, vectors, dictionaries or optionals of tensors");
    auto limit = of_->limit;
    if (!limit) if (auto const of_process = memory_limit()) limit = byte_budget{*of_process};
    bool const is_part = torch::jit::tracer::isTracing();  // of a captured call whose plan covers this module
    if (!limit || is_part || !at::GradMode::is_enabled()) return result(detail::call_region(f, inputs...));
    detail::captured_arguments arguments{inputs...};
    auto const call = [&](tensor_list const& leaves) {
      return arguments.call([&](auto const&... one) { return result(detail::call_region(f, one...)); }, leaves);
    };
    auto const* const module = of_->module();
    auto const bytes = limit->count();
    auto& all = arguments.tensors;
    auto const plan = [&](operation_graph const& measured, detail::call_counter const& count) {
      return detail::plan_call(measured, bytes, detail::checkpoint_module_name, count);
    };
    auto const planned = of_->plans.of(call, all, arguments.constants, arguments.like, module, bytes, plan);
    auto const hooks = of_->hooks->all();
    if (!planned->program) {
      if (!hooks.empty())
        throw invalid_call{detail::checkpoint_module_name,
                           ("the call cannot be captured, so hooks see no layer: " + planned->report.notice).c_str(),
                           {},
                           "remove the hooks, or let the module call functions of its own"};
      tell(planned->report.notice);
      return result(detail::call_region(f, inputs...));
    }
    auto const& graph = planned->program->graph;
    all.insert(all.end(), graph.leaves.begin() + std::ptrdiff_t(graph.inputs), graph.leaves.end());
    auto const results = [&] {
      if (hooks.empty()) return detail::graph_node::call(planned->program, all);
      detail::operator_listener const listening{[&](std::string const& layer, at::Tensor const& output) {
        for (auto const& one : hooks) if (detail::name_matches(one.pattern, layer)) one.callback(layer, output);
      }};
      return detail::graph_node::call(planned->program, all);
    }();
    tensor_reader from{results};
    return read_tensors(std::any_cast<result const&>(planned->like), from);
  }
  void tell(std::string const& why) const {
    if (of_->options.strict())
      throw invalid_call{detail::checkpoint_module_name,
                         ("the call cannot be planned, and so not be kept within the limit: " + why).c_str(),
                         {},
                         "give the parts that can be captured limits of their own, or run without `strict`"};
    std::lock_guard const lock{of_->telling};
    if (std::exchange(of_->told, why) == why) return;
    if (of_->options.notice()) of_->options.notice()(why);
    else
      std::clog << detail::checkpoint_module_name << ": the call is not planned, and runs as it is, without a limit: "
                << why << '\n';
  }

  std::shared_ptr<parts> of_;
};

/// Runs a module of any shape within a memory limit: its call is captured, and its operations are measured one by one.
/// Values, and what autograd saves, are kept or made again by the fastest plan within the limit. The module is not
/// changed. Results, gradients, buffers and random numbers have the bits of the plain call. The first call of a kind
/// (shapes, types, modes, parameters, automatic casts) takes a few extra runs, which keep no more than the values of
/// one forward run; where the limit is tight, it is also run by the plan, and as it is if that may fit. A call that
/// cannot be captured, for example because its operations depend on values, runs as it is, and a notice says why; with
/// `strict` it throws. Hooks on parameters, inputs and results run as in the plain call; `register_hook` shows outputs
/// of layers in between. `create_graph` keeps everything at once.
/// \param module  a holder such as `torch::nn::Linear` or one of your own, a std::shared_ptr to a module, an AnyModule,
///   or a function of its inputs alone; with a function, `ModuleOptions().module(net)` names the module with its
///   parameters and modes
/// \param limit  bytes of values, tapes, adjoints and working memory at one time: "512MiB". Parameters, inputs, their
///   gradients and those with which backward begins belong to the caller and are not counted
/// \throws infeasible_budget   in a call, if the limit is below the least possible one; the error names both
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
