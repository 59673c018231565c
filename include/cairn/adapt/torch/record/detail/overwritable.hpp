// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file overwritable.hpp  Which memory an operator that runs again may write to, where parts of it are still held.
#include <c10/core/Storage.h>
#include <cairn/adapt/torch/record/detail/layout_list.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>
#include <cstddef>

namespace cairn::libtorch::detail {

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
