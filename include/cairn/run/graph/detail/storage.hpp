// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file storage.hpp  The places of what a sweep over a graph holds. They may outlive the sweep.
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/door/stage_value.hpp>
#include <cairn/rules/detail/stage_boxes.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/detail/given.hpp>
#include <cairn/run/graph/detail/node.hpp>

namespace cairn::detail {

/// What is held of one operation, and how many bytes were counted for it.
struct graph_held {
  stage_value value, tape, bar;
  std::int64_t value_bytes = 0, tape_bytes = 0, bar_bytes = 0;
};

/// Copies of the states that an operation uses, as its first run found them.
struct graph_copies {
  std::vector<stage_value> states;
  std::int64_t bytes = 0;
  std::size_t runs_left = 0;
};

/// The places; between sweeps only those of the adjoints of inputs hold values. The tables keep their memory.
struct graph_storage {
  /// Empty places for a graph.   \pre nothing is held
  void begin(graph_builder const& net, std::size_t inputs) {
    input_bars.resize(inputs);
    held.resize(std::size_t(net.size()));
  }
  /// Destroys everything that is held.
  void empty() noexcept {
    end_sweep();
    input_bars.clear();
  }
  /// The same, except that the adjoints of the inputs stay.
  void end_sweep() noexcept {
    held.clear();
    copies.clear();
    read.clear();
    viewed.clear();
  }

  stage_boxes boxes;  // before all values, which may lie in them
  graph_given given;
  std::vector<stage_value> input_bars;
  std::vector<graph_held> held;
  std::vector<graph_copies> copies;  // by operation; empty for a graph without states
  // Of the operation that runs:
  std::vector<graph_operand> read;
  std::vector<stage_value> viewed;  // adjoints of the views among its inputs
  std::vector<stage_value*> bars;
};

}  // namespace cairn::detail
