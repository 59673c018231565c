// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operator_run.hpp  Runs a recorded operator again, as it ran first, on memory of ours and with a generator of
/// its own.
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/Storage.h>
#include <c10/util/flat_hash_map.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>
#include <cairn/adapt/torch/state/detail/environment.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>

namespace cairn::libtorch::detail {

/// Held while an operator of a recorded call draws: it draws from the state that is noted. One for
/// all libraries of a program: generators belong to the process.
[[nodiscard, gnu::visibility("default")]] inline std::mutex& drawing_access() {
  static auto* const one = new std::mutex;
  return *one;
}

/// The generator from which a call with these arguments draws.
[[nodiscard]] inline at::Generator generator_of(schema_facts const& facts, c10::ArrayRef<c10::IValue> given) {
  if (facts.generator >= 0 && given[std::size_t(facts.generator)].isGenerator())
    return given[std::size_t(facts.generator)].toGenerator();
  c10::Device device{c10::kCPU};
  for (auto const& v : given)
    if (v.isDevice()) device = v.toDevice();
  for (auto const& v : given)
    if (v.isTensor() && v.toTensor().defined()) device = v.toTensor().device();
  return at::globalContext().defaultGenerator(device);
}
[[nodiscard]] inline at::Generator copy_of(at::Generator from) {
  std::lock_guard const lock{from.mutex()};
  return from.clone();
}

/// What an operator of another library draws, whose schema does not say whether it does.
class draws_of_guest {
 public:
  explicit draws_of_guest(c10::ArrayRef<c10::IValue> given) {
    std::vector<at::Tensor> tensors;
    for (auto const& value : given) visit_tensors(value, [&](at::Tensor const& t) { tensors.push_back(t); });
    devices_ = generator_states::of_devices(tensors);
  }
  /// Whether it drew from this generator.
  [[nodiscard]] bool are_of(at::Generator const& one) const {
    return one.device().is_cpu() ? !cpu_.is_now() : !devices_.devices_are_now();
  }
  /// Whether it drew from any other one.   \param one  undefined if it did not draw from the first one
  [[nodiscard]] bool are_of_others(at::Generator const& one) const {
    bool const on_device = one.defined() && !one.device().is_cpu();
    return (!cpu_.is_now() && (!one.defined() || on_device)) || (!devices_.devices_are_now() && !on_device);
  }

 private:
  cpu_generator_state cpu_;
  generator_states devices_;
};

/// Gives a generator to the operators of this thread that name none, during its lifetime. The common generator is not
/// touched: other threads may draw from it meanwhile.
class generator_for_all final : public dispatch_mode {
 public:
  explicit generator_for_all(at::Generator given)
      : given_{std::move(given)}, outer_{std::exchange(of_thread(), this)}, on_{true} {}
  generator_for_all(generator_for_all const&) = delete;
  generator_for_all& operator=(generator_for_all const&) = delete;
  ~generator_for_all() { of_thread() = outer_; }

  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto const& facts = schema_facts::of(op);
    if (facts.generator >= 0) {
      auto& place = stack[stack.size() - facts.writes.size() + std::size_t(facts.generator)];
      if (place.isNone()) place = given_;
    }
    op.redispatchBoxed(below, &stack);
  }

 private:
  at::Generator given_;
  dispatch_mode* outer_;
  dispatch_mode_scope on_;
};

/// Lends a device's common generator, whose kernels ask for no other, the state of another one.
class lent_generator {
 public:
  explicit lent_generator(at::Generator const& from)
      : lock_{drawing_access()}, common_{at::globalContext().defaultGenerator(from.device())} {
    std::lock_guard const lock{common_.mutex()};
    before_ = common_.get_state();
    common_.set_state(from.get_state());
  }
  lent_generator(lent_generator const&) = delete;
  lent_generator& operator=(lent_generator const&) = delete;
  ~lent_generator() {
    std::lock_guard const lock{common_.mutex()};
    common_.set_state(before_);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  at::Generator common_;
  at::Tensor before_;
};

/// Memories by content.
using memories = ska::flat_hash_map<int, c10::Storage>;

/// \param at_hand  what the operator reads. A memory of it may be written to if `may_write(content, memory)`
/// \returns each content that the operator makes, with its memory
template <class MayWrite>
[[nodiscard]] std::vector<std::pair<int, c10::Storage>> run_again(recorded_operators& all, int number,
                                                                  layout_list const& layouts, memories& at_hand,
                                                                  MayWrite const& may_write) {
  bool const is_observed = at::isRecordFunctionEnabled();
  std::vector<std::pair<int, c10::Storage>> made;
  auto const writes = all.writes(number);
  {
    below_autograd const below;
    for (auto const& w : writes) {
      if (!w.reads) {
        made.emplace_back(w.after, at::empty({w.bytes}, at::TensorOptions(at::kByte)).storage());
        continue;
      }
      auto& memory = at_hand.at(w.before);
      made.emplace_back(w.after, may_write(w.before, memory) ? memory : copy_of(memory));
    }
  }
  auto const& one = all[number];
  auto const tensors = all.tensors(number);
  auto const arguments = all.arguments(number);
  auto const memory_of = [&](int content) -> c10::Storage const& {
    for (std::size_t k = 0; k < writes.size(); ++k)
      if (writes[k].before == content) return made[k].second;
    return at_hand.at(content);
  };
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    auto const here = [&](std::size_t place) {
      return next < tensors.size() && tensors[next].argument == k && tensors[next].place == place;
    };
    auto const tensor = [&]() -> c10::IValue {
      auto const& read = tensors[next++];
      return layouts.over(read.layout, memory_of(read.content));
    };
    auto const& like = arguments[k];
    if (like.isList() && next < tensors.size() && tensors[next].argument == k) {
      c10::impl::GenericList list{like.toList().elementType()};
      auto const& values = like.toListRef();
      for (std::size_t place = 0; place < values.size(); ++place)
        list.push_back(here(place) ? tensor() : values[place]);
      stack.emplace_back(std::move(list));
    } else if (!like.isList() && here(0)) {
      stack.push_back(tensor());
    } else {
      stack.push_back(like);
    }
  }
  auto const& around = all.surroundings(number);
  below_autograd const below{around.keys};
  at::AutoGradMode const as_then{around.grad_mode};
  settings_scope const settings{around.settings};
  std::optional<generator_for_all> named;
  std::optional<lent_generator> lent;
  if (one.generator.defined()) {
    if (one.facts->generator >= 0) stack[std::size_t(one.facts->generator)] = copy_of(one.generator);
    else if (one.generator.device().is_cpu() && !one.facts->is_foreign) named.emplace(copy_of(one.generator));
    else lent.emplace(one.generator);
  }
  {
    at::RecordFunctionGuard const as_outside{is_observed};
    at::RecordFunction shown{at::RecordScope::FUNCTION};  // to observers, such as traces
    if (shown.isActive())
      shown.before(std::cref(one.op.schema()), c10::ArrayRef<c10::IValue const>(stack.data(), stack.size()));
    one.op.redispatchBoxed(one.below, &stack);
  }
  auto const results = all.results(number);
  int place = 0;
  std::size_t wanted = 0;
  for (auto const& value : stack)
    each_tensor(value, [&](at::Tensor const& t) {
      bool const is_next = wanted < results.size() && results[wanted].place == place;
      ++place;
      if (is_next) made.emplace_back(results[wanted++].content, t.storage());
    });
  return made;
}

/// Whether an operator may write to the memory of a content that nobody reads after it: nobody else holds it, or only
/// for parts that the operator does not write to. LSTMs compute their gates so, slice by slice in one memory.
[[nodiscard]] inline bool may_be_overwritten(memory_cells& contents, recorded_operators& operators,
                                             layout_list const& layouts, int number, int c,
                                             c10::Storage const& memory) {
  if (memory.use_count() == 1) return true;
  auto const* const impl = memory.unsafeGetStorageImpl();
  auto const stays = [&](int part) {
    auto const& one = contents[part];
    if (!one.is_own || one.is_mixed || one.is_kept || one.saved_layout < 0) return false;
    auto const& writes = operators[number].facts->writes;
    for (auto const& t : operators.tensors(number))
      if (writes[t.argument] && t.content == c && layouts.may_overlap(one.saved_layout, t.layout)) return false;
    return true;
  };
  std::size_t holders = 1;
  auto& parts = contents.cell_of(c).parts;
  for (int const part : parts) {
    if (contents[part].kept.unsafeGetStorageImpl() != impl) continue;
    if (!stays(part)) return false;
    ++holders;
  }
  auto& one = contents[c];
  bool const is_held = one.kept.unsafeGetStorageImpl() == impl && !one.is_part;
  if (is_held && !stays(c)) return false;
  if (holders + std::size_t(is_held) != std::size_t(memory.use_count())) return false;
  if (is_held) one.is_part = true, parts.push_back(c);
  return true;
}

}  // namespace cairn::libtorch::detail
