// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given.hpp  What a sweep over a graph is given: values of the inputs and seeds of the outputs.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/graph/builder.hpp>
#include <cairn/run/graph/value.hpp>

namespace cairn::detail {

/// Inputs and seeds that fit a graph. One object serves one sweep after another; its tables stay.
class graph_given {
 public:
  /// \throws invalid_call   for inputs and seeds of another graph
  /// \param seeds  must outlive the sweep
  void begin(graph_builder const& net, std::vector<graph_binding> const& inputs, std::vector<graph_seed> const& seeds,
             char const* who) {
    bind(net, inputs, who);
    seeds_ = &seeds;
    check_seeds(net, who);
  }
  /// The value of an input.   \pre begun
  [[nodiscard]] stage_view input(std::int32_t at) const noexcept { return inputs_[std::size_t(at)]; }
  [[nodiscard]] std::vector<graph_seed> const& seeds() const noexcept { return *seeds_; }  ///< \pre begun

  /// The number of the input that an entry is; -1 if the entry is not an input.
  [[nodiscard]] static std::int32_t input_of(graph_builder const& net, std::int32_t number) noexcept {
    if (number < 0 || std::size_t(number) >= net.entries_.size()) return -1;
    auto const& entry = net.entries_[std::size_t(number)];
    return entry.is == graph_builder::kind::input ? entry.at : -1;
  }

 private:
  void bind(graph_builder const& net, std::vector<graph_binding> const& inputs, char const* who) {
    inputs_.assign(std::size_t(net.inputs_), {});
    for (graph_binding const& one : inputs) {
      std::int32_t const input = input_of(net, one.number);
      if (input < 0)
        throw invalid_call{who, "a value is given for something that is not an input of the graph",
                           {{"value", one.number}},
                           "give values for what `input` of this builder returned"};
      if (std::exchange(inputs_[std::size_t(input)], one.value).has_value())
        throw invalid_call{who, "an input is given twice", {{"input", input}}, "give each once"};
      if (one.type != net.entries_[std::size_t(one.number)].type)
        throw invalid_call{who, "an input is given a value of another type", {{"input", input}},
                           "give values for what `input` of this builder returned"};
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (!inputs_[k].has_value())
        throw invalid_call{who, "an input of the graph is not given", {{"input", k}, {"inputs", inputs_.size()}},
                           "give each a value, as in {x.is(x0)}"};
  }
  void check_seeds(graph_builder const& net, char const* who) {
    std::size_t const count = std::size_t(net.size());
    is_output_.assign(count, char(net.outputs_.empty()));
    if (net.outputs_.empty())
      for (auto const& of : net.operations_)
        for (std::int32_t const input : of.inputs)
          if (std::int32_t const base = net.base_of(input); base >= 0) is_output_[std::size_t(base)] = 0;
    for (std::int32_t const output : net.outputs_)
      if (std::int32_t const base = net.base_of(output); base >= 0) is_output_[std::size_t(base)] = 1;
    is_seeded_.assign(count, 0);
    for (graph_seed const& seed : *seeds_) {
      bool const is_there = seed.number >= 0 && std::size_t(seed.number) < net.entries_.size() &&
                            net.entries_[std::size_t(seed.number)].type == seed.type;
      std::int32_t const base = is_there ? net.base_of(seed.number) : -1;
      if (!is_there || (base >= 0 && !is_output_[std::size_t(base)]))
        throw invalid_call{who, "a seed is given for something that is not an output of the graph",
                           {{"value", seed.number}},
                           "name it by graph_builder::output, or leave its seed out"};
      if (base >= 0) is_seeded_[std::size_t(base)] = 1;
    }
    for (std::size_t v = 0; v < count; ++v)
      if (is_output_[v] && !is_seeded_[v])
        throw invalid_call{who, "an output of the graph has no seed", {{"operation", v}},
                           "give each its adjoint, as in {y.seed(1.0)}"};
  }

  table<stage_view> inputs_;
  table<char> is_output_, is_seeded_;  ///< of operations
  std::vector<graph_seed> const* seeds_ = nullptr;
};

}  // namespace cairn::detail
