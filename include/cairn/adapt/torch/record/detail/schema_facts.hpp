// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file schema_facts.hpp  What the schema of an operator says about memory and random numbers.
#include <ATen/core/dispatch/Dispatcher.h>
#include <algorithm>
#include <c10/util/flat_hash_map.h>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>

namespace cairn::libtorch::detail {

struct schema_facts {
  bool is_ignored = false;   ///< it makes no memory: views, metadata, a number of a tensor
  bool draws = false;        ///< it may read a generator
  bool any_write = false;    ///< it writes to an argument
  bool is_foreign = false;   ///< not LibTorch's own: it may have effects that its schema does not show
  bool overwrites = false;   ///< it does not read what it writes to
  bool is_factory = false;   ///< no tensor goes in
  bool leaves_open = false;  ///< its result has no values yet
  bool has_gaps = false;     ///< bytes of its workspace are never written, and are others each time
  int generator = -1;        ///< the argument with the generator
  int type = -1;             ///< the argument with the type, if no tensor says it
  int results = 0;
  std::vector<char> writes;  ///< for each argument, whether it is written to

  /// Read once for each operator of a process, and never discarded.
  [[nodiscard]] static schema_facts const& of(c10::OperatorHandle const& op) {
    static thread_local ska::flat_hash_map<void const*, schema_facts const*> of_thread;
    auto& place = of_thread[&op.schema()];
    if (place == nullptr) place = &in_process(op);
    return *place;
  }

 private:
  [[nodiscard]] static schema_facts const& in_process(c10::OperatorHandle const& op) {
    static auto* const access = new std::mutex;
    static auto* const all = new std::unordered_map<void const*, std::unique_ptr<schema_facts const>>;
    std::lock_guard const lock{*access};
    auto& place = (*all)[&op.schema()];
    if (!place) place = std::make_unique<schema_facts const>(read(op));
    return *place;
  }
  [[nodiscard]] static schema_facts read(c10::OperatorHandle const& op) {
    schema_facts f;
    auto const& schema = op.schema();
    std::string_view const name = schema.name();
    auto const begins = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
    bool views = !schema.returns().empty(), takes_tensor = false;
    for (std::size_t k = 0; k < schema.arguments().size(); ++k) {
      auto const type = schema.arguments()[k].type()->str();
      if (type.find("Generator") != type.npos) f.generator = int(k);
      takes_tensor = takes_tensor || type.find("Tensor") != type.npos;
    }
    auto const uses = arguments_of(schema).uses;
    for (auto const use : uses) {
      f.writes.push_back(detail::writes(use));
      f.any_write = f.any_write || f.writes.back();
    }
    f.overwrites = !uses.empty() && uses.front() == argument_use::overwrite;
    for (auto const& one : schema.returns()) views = views && one.alias_info() != nullptr;
    f.results = int(schema.returns().size());
    f.draws = f.generator >= 0 || op.hasTag(at::Tag::nondeterministic_seeded);
    f.is_foreign = !begins("aten::") && !begins("prims::");
    f.has_gaps = name == "aten::mkldnn_rnn_layer";
    f.leaves_open = begins("aten::empty") || begins("aten::new_empty");
    for (std::size_t k = 0; k < schema.arguments().size() && !takes_tensor; ++k)
      if (schema.arguments()[k].name() == "dtype") f.type = int(k);
    f.is_factory = !takes_tensor && !f.draws && !f.leaves_open;
    bool const moves = op.hasTag(at::Tag::inplace_view) && !begins("aten::resize");
    f.is_ignored =
        !f.is_foreign && ((!f.any_write && views) || moves || name == "aten::set_" || name == "aten::set_data" ||
                          name == "aten::_local_scalar_dense" || name == "aten::equal");
    return f;
  }
};

}  // namespace cairn::libtorch::detail
