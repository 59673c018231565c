// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operator_trace.hpp  Writes LibTorch's operators, and modules, into a trace.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/TensorImpl.h>
#include <torch/arg.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/core/error.hpp>
#include <cairn/trace/trace_region.hpp>
#include <cairn/trace/trace_writer.hpp>

namespace cairn::libtorch {

/// Which operators an `operator_trace` writes: many call others.
enum class TraceLevel : char {
  All,        ///< every one, those inside others too: a convolution is `conv2d`, `convolution`, `_convolution` ...
  Outermost,  ///< those that the program or a node of autograd calls: `conv2d`
  Aten        ///< those with derivatives or kernels of their own, as a compiler of graphs sees them: `convolution`, but
              ///< not `conv2d`, which only calls others, nor what is inside
};
/// Options of an `operator_trace`.
struct TraceOptions {
  /// Which operators are written.
  TORCH_ARG(TraceLevel, level) = TraceLevel::All;
  /// The category of all operators, such as "dynamo", which traces of torch.compile have; empty for that of the phase.
  TORCH_ARG(std::string, category) = {};
  /// Whether an event `function.getitem` follows an operator for each of its results, if there are several.
  TORCH_ARG(bool, getitem) = false;
};

namespace detail {

/// What operators of this thread need to know about the code around them.
struct around_operators {
  std::string const* layer = nullptr;  ///< of the enclosing operator; null for none
  bool recomputing = false;  ///< whether a loop runs steps again
  bool inside = false;       ///< whether the enclosing operator covers those that it calls
};
inline constinit thread_local around_operators operators_around{};

/// An operator that is open.
struct open_operator final : at::ObserverContext {
  around_operators before = operators_around;
  char const* category = nullptr;
  std::unique_ptr<cairn::detail::open_region> event;
};

/// The category of operators that run now: that of the region or action around them, but "recompute" for those that
/// run again in a backward pass.
[[nodiscard]] inline char const* phase_of_operators(trace_writer const& log) {
  std::string_view const outer = cairn::detail::trace_lines::category(log);
  if (outer == "reverse" && (operators_around.recomputing || at::GradMode::is_enabled())) return "recompute";
  return outer.empty() ? "forward" : outer.data();
}

}  // namespace detail

/// Writes an event for each operator of LibTorch that this thread runs, or a thread to which LibTorch passes its work,
/// until it is destroyed. Names are `function.relu.default`, those of autograd's nodes `function.ReluBackward0`. The
/// category is that of the region or action around the operator, by default "forward"; "reverse" in a backward pass,
/// and "recompute" for what runs there with gradients enabled, or is run again by a loop with `trace_steps`. If a
/// module is given, an operator that reads one of its parameters has the argument `layer`, the path of the submodule
/// that owns the parameter; the operators inside it and its node in the backward pass have it, too. `TraceOptions` say
/// which of the operators inside others are written, and give all of them one category.
///
/// One at a time in a process; it ends in the thread that made it, when the work that it watches is done. Cost: about a
/// microsecond an operator; nothing without one.
class operator_trace {
 public:
  /// \param log  must outlive this object   \throws invalid_call   if there is another one
  explicit operator_trace(trace_writer& log, TraceOptions options = {}) : log_{&log}, options_{std::move(options)} {
    begin();
  }
  /// \param net  its parameters are kept alive as long as this object
  operator_trace(trace_writer& log, torch::nn::Module const& net, TraceOptions options = {})
      : log_{&log}, options_{std::move(options)} {
    for (auto const& one : net.named_parameters()) {
      auto const dot = one.key().rfind('.');
      layers_.emplace(one.value().unsafeGetTensorImpl(),
                      dot == std::string::npos ? net.name() : one.key().substr(0, dot));
      parameters_.push_back(one.value());
    }
    begin();
  }
  operator_trace(operator_trace const&) = delete;
  operator_trace& operator=(operator_trace const&) = delete;
  /// Operators are no longer written.
  ~operator_trace() {
    at::removeCallback(handle_);
    active().store(nullptr);
  }

 private:
  static constexpr std::size_t most_numbers = 65'536;  ///< most layers kept for the backward pass of their operators

  [[nodiscard]] static std::atomic<operator_trace*>& active() {
    static std::atomic<operator_trace*> one{nullptr};
    return one;
  }
  void begin() {
    operator_trace* none = nullptr;
    if (!active().compare_exchange_strong(none, this))
      throw invalid_call{
          "cairn::libtorch::operator_trace", "operators are traced already", {}, "end the other operator_trace first"};
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&operator_trace::at_start, &operator_trace::at_end)
                                             .needsInputs(!layers_.empty())
                                             .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                                      at::RecordScope::TORCHSCRIPT_FUNCTION}));
  }
  static std::unique_ptr<at::ObserverContext> at_start(at::RecordFunction const& f) {
    auto* const self = active().load();
    return self != nullptr && self->log_->enabled() ? self->open(f) : nullptr;
  }
  static void at_end(at::RecordFunction const& f, at::ObserverContext* context) {
    if (context == nullptr) return;
    auto& one = static_cast<detail::open_operator&>(*context);
    auto* const self = active().load();
    bool const was_written = one.event != nullptr;
    one.event.reset();
    detail::operators_around = one.before;
    if (was_written && self != nullptr && self->options_.getitem() && f.operator_name())
      self->write_results(f, one.category);
  }
  /// An event for each result of an operator that has several.
  void write_results(at::RecordFunction const& f, char const* category) const {
    if (f.num_outputs() < 2) return;
    for (std::size_t k = 0; k < std::size_t(f.num_outputs()); ++k)
      cairn::detail::open_region const one{*log_, "function.getitem", {{"index", std::int64_t(k)}},
                                           {.category = category, .type = "function", .target = "getitem",
                                            .grad_enabled = at::GradMode::is_enabled()}};
  }
  /// Whether an operator is written at this level.
  [[nodiscard]] bool is_shown(at::RecordFunction const& f) const {
    auto const name = f.operator_name();
    if (!name || options_.level() == TraceLevel::All) return true;
    if (detail::operators_around.inside) return false;
    if (options_.level() == TraceLevel::Outermost) return true;
    auto const found = c10::Dispatcher::singleton().findSchema(*name);
    return !found || !found->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  }

  std::unique_ptr<at::ObserverContext> open(at::RecordFunction const& f) {
    bool const backward = f.scope() == at::RecordScope::BACKWARD_FUNCTION ||
                          std::string_view{f.name()}.starts_with("autograd::engine::");  // what calls such a function
    auto made = std::make_unique<detail::open_operator>();
    if (backward) detail::operators_around = {};
    if (auto const* const layer = layer_of(f, backward)) detail::operators_around.layer = layer;
    bool const shown = is_shown(f);
    if (shown && f.operator_name() && options_.level() != TraceLevel::All) detail::operators_around.inside = true;
    char const* const category = !options_.category().empty() ? options_.category().c_str()
                                 : backward                   ? "reverse"
                                                              : detail::phase_of_operators(*log_);
    made->category = category;
    if (!shown || !log_->wants(category)) return made;
    auto const [name, target] = names_of(f);
    trace_region_options const options{
        .category = category,
        .type = f.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION ? "method" : "function",
        .target = target,
        .grad_enabled = at::GradMode::is_enabled()};
    auto const begun = [&](std::initializer_list<trace_argument> arguments) {
      made->event = std::make_unique<cairn::detail::open_region>(*log_, name, arguments, options);
    };
    if (detail::operators_around.layer != nullptr) begun({{"layer", *detail::operators_around.layer}});
    else begun({});
    return made;
  }
  /// The layer whose parameter an operator reads, or that the operator of this backward pass had; null for none.
  [[nodiscard]] std::string const* layer_of(at::RecordFunction const& f, bool backward) {
    if (layers_.empty()) return nullptr;
    std::lock_guard const lock{access_};
    if (backward) {
      auto const found = layer_by_number_.find(f.seqNr());
      return found == layer_by_number_.end() ? nullptr : found->second;
    }
    std::string const* layer = nullptr;
    for (auto const& value : detail::inputs_of(f))
      detail::visit_tensors(value, [&](at::Tensor const& t) {
        if (layer != nullptr || !t.defined()) return;
        auto const found = layers_.find(t.unsafeGetTensorImpl());
        if (found != layers_.end()) layer = &found->second;
      });
    if (layer == nullptr || f.seqNr() < 0) return layer;
    if (layer_by_number_.size() >= most_numbers) layer_by_number_.clear();
    return layer_by_number_[f.seqNr()] = layer;
  }
  /// "function.relu.default" and "aten.relu.default"; "function.ReluBackward0" and "ReluBackward0".
  [[nodiscard]] static std::pair<std::string, std::string> names_of(at::RecordFunction const& f) {
    std::string_view name = f.name();
    auto const known = f.operator_name();
    if (!known) {
      if (auto const at = name.rfind("::"); at != name.npos) name.remove_prefix(at + 2);
      return {"function." + std::string{name}, std::string{name}};
    }
    std::string target = known->name;
    if (auto const at = target.find("::"); at != target.npos) target.replace(at, 2, ".");
    target += "." + (known->overload_name.empty() ? std::string{"default"} : known->overload_name);
    return {"function." + (target.starts_with("aten.") ? target.substr(5) : target), std::move(target)};
  }

  trace_writer* log_;
  TraceOptions options_;
  std::unordered_map<c10::TensorImpl const*, std::string> layers_;
  std::vector<at::Tensor> parameters_;
  std::mutex access_;
  std::unordered_map<std::int64_t, std::string const*> layer_by_number_;  ///< by autograd's sequence number
  at::CallbackHandle handle_{};
};

/// A module whose calls are events `module.PATH`, with the category of its operators: `traced_module conv1{log,
/// "conv1", net->conv1}; x = conv1(x);`. The module is not changed, and is kept alive.
template <class Holder>
class traced_module {
 public:
  /// \param log  must outlive this object   \param path  of the module, such as "layer1.0.conv1"
  traced_module(trace_writer& log, std::string path, Holder module)
      : log_{&log}, name_{"module." + path}, path_{std::move(path)}, module_{std::move(module)} {}

  /// Runs the module's `forward`.
  template <class... Arguments>
  auto operator()(Arguments&&... arguments)
      -> decltype(std::declval<Holder&>()(std::forward<Arguments>(arguments)...)) {
    trace_region const call{*log_,
                            name_,
                            {},
                            {.category = detail::phase_of_operators(*log_),
                             .type = "module",
                             .target = path_,
                             .grad_enabled = at::GradMode::is_enabled()}};
    return module_(std::forward<Arguments>(arguments)...);
  }

 private:
  trace_writer* log_;
  std::string name_, path_;
  Holder module_;
};

/// Callbacks for the options of one loop: `LoopOptions().callbacks(trace_steps(log))`. Operators of steps that the loop
/// runs again have the category "recompute", and the counter "steps" (category "counter") shows how many steps have run
/// forward, again and backward.
/// \param log  outlives the loop and its backward pass
[[nodiscard]] inline StepCallbacks trace_steps(trace_writer& log) {
  struct counts {
    std::int64_t furthest = 0, forward = 0, again = 0, reverse = 0;
  };
  auto const seen = std::make_shared<counts>();
  auto const show = [&log, seen] {
    log.count("steps", {{"forward", seen->forward}, {"recompute", seen->again}, {"reverse", seen->reverse}});
  };
  StepCallbacks made;
  made.run_forward = [seen, show](std::int64_t begin, std::int64_t end) {
    bool const again = begin < seen->furthest;
    (again ? seen->again : seen->forward) += end - begin;
    seen->furthest = (std::max)(seen->furthest, end);
    detail::operators_around.recomputing = again;
    show();
  };
  made.run_backward = [seen, show](std::int64_t begin, std::int64_t end) {
    seen->reverse += end - begin;
    detail::operators_around.recomputing = false;
    show();
  };
  return made;
}

}  // namespace cairn::libtorch
