// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file workspace.hpp  The memory of sweeps over graphs. It outlives the sweep: with a reused workspace a warm sweep
/// allocates nothing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/run/graph/detail/known.hpp>
#include <cairn/run/graph/detail/replay.hpp>
#include <cairn/run/graph/detail/storage.hpp>

namespace cairn {
namespace detail {
class graph_use;
}  // namespace detail

/// The memory of sweeps over graphs. Pass the same workspace to every `graph_gradient`, and a warm sweep allocates
/// nothing but what operations, adjoints and seeds allocate themselves. Graphs, plans and budgets may change from sweep
/// to sweep. One workspace serves one sweep at a time, and one thread.
///
/// It keeps tables, some 300 bytes per operation, and boxes for the values, tapes and adjoints whose types have up to
/// 304 bytes, or 192 if aligned to 64: as many of a size as one sweep has held at one time. What a value owns in
/// addition, such as the numbers of a vector, is freed when the plan drops the value. Larger types are allocated each
/// time, so that no large memory is kept that the plan does not count.
class graph_workspace {
 public:
  graph_workspace() = default;
  graph_workspace(graph_workspace const&) = delete;
  graph_workspace& operator=(graph_workspace const&) = delete;

  /// Bytes of the boxes, free or in use.
  [[nodiscard]] std::size_t box_bytes() const noexcept { return memory_ ? memory_->storage.boxes.bytes() : 0; }
  /// Frees all of its memory, and ends the adjoints that the last sweep left here; the next sweep allocates it again.
  /// \throws reentrancy_error   while a sweep runs here
  void clear() {
    if (busy_) detail::refuse_busy("cairn::graph_workspace::clear");
    ++users_;
    memory_.reset();
  }

 private:
  friend class detail::graph_use;
  friend class graph_adjoints;

  struct memory {
    detail::graph_storage storage;
    detail::known_graph known;
    detail::graph_replay replay;
  };

  std::optional<memory> memory_;
  std::uint64_t users_ = 0;  // counts sweeps that began here: adjoints end when another sweep begins
  detail::busy_mark busy_;
};

}  // namespace cairn
