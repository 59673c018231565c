// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_policy.hpp  Which operators' results are held instead of being made again.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKey.h>
#include <c10/util/ArrayRef.h>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// What happens to the result of an operator in a region, in a segment of a Sequential, or in a block of an `HCModule`.
enum class CheckpointPolicy {
  MustSave,        ///< it is held
  PreferSave,      ///< same as MustSave
  MustRecompute,   ///< the operator runs again if backward needs its result
  PreferRecompute  ///< same as MustRecompute
};

/// A call of an operator, as a policy sees it: a name, if that is all that it takes.
struct operator_call {
  std::string_view name;                 ///< without the overload, such as "aten::addmm"
  c10::ArrayRef<c10::IValue> arguments;  ///< in the order of the operator's schema
  /// Of this name, with these arguments.
  operator_call(std::string_view of, c10::ArrayRef<c10::IValue> with) : name(of), arguments(with) {}
  /// Of this name, without arguments.
  operator_call(char const* of) : name(of) {}
  operator std::string_view() const noexcept { return name; }
};

/// Chooses a `CheckpointPolicy` for each call of an operator, by its name and arguments. A function of a
/// `std::string_view` gets the name alone. Called once per call and in order, so that it may count calls. It sees the
/// operators below autograd: `torch::linear` appears there as "aten::addmm", and a product of matrices as "aten::mm" or
/// "aten::bmm". Views are not asked about.
using checkpoint_policy = std::function<CheckpointPolicy(operator_call const& operation)>;

/// The policy that keeps the results of these operators, and runs all others again.
/// \param names  such as "aten::mm"
/// \throws invalid_call   if no operator has such a name, or if the operator is composed of others, which run in its
///   place
[[nodiscard]] inline checkpoint_policy save_operators(std::vector<std::string> names) {
  auto& all = c10::Dispatcher::singleton();
  auto const known = all.getAllOpNames();
  for (auto const& name : names) {
    bool exists = false, runs = false;
    for (auto const& one : known) {
      if (one.name != name) continue;
      exists = true;
      auto const op = all.findSchema(one);
      runs = runs || (op && !op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd));
    }
    if (!exists)
      throw invalid_call{"cairn::libtorch::save_operators", ("there is no operator " + name).c_str(), {},
                         "a name is that of the namespace and the operator, as in \"aten::mm\", without an overload"};
    if (!runs)
      throw invalid_call{"cairn::libtorch::save_operators",
                         (name + " is made of other operators, which are what runs").c_str(), {},
                         "name those, such as \"aten::addmm\" for aten::linear"};
  }
  return [names = std::move(names)](std::string_view operation) {
    bool const saves = std::find(names.begin(), names.end(), operation) != names.end();
    return saves ? CheckpointPolicy::MustSave : CheckpointPolicy::PreferRecompute;
  };
}

}  // namespace cairn::libtorch
