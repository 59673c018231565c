// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of the kinds that planners meet: random ones with every odd shape, and networks in small.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/rules/operation_graph.hpp>

namespace graphs {

enum class kind { random, residual, inception, attention, unet, transformer };
inline constexpr kind all_kinds[]{kind::random,    kind::residual, kind::inception,
                                  kind::attention, kind::unet,     kind::transformer};

inline std::string_view name_of(kind of) {
  switch (of) {
    case kind::random: return "random";
    case kind::residual: return "residual";
    case kind::inception: return "inception";
    case kind::attention: return "attention";
    case kind::unet: return "unet";
    case kind::transformer: return "transformer";
  }
  return "";
}

using shape = std::vector<std::vector<cairn::step_index>>;

/// Which operation reads which, for `size` operations; networks are as many whole blocks as fit and a chain after them.
inline shape shape_of(kind of, int size, std::mt19937_64& numbers) {
  using index = cairn::step_index;
  shape inputs;
  auto const add = [&](std::initializer_list<index> from) {
    std::vector<index> real;
    for (index const one : from)
      if (one >= 0) real.push_back(one);
    inputs.push_back(real);
    return index(inputs.size()) - 1;
  };
  auto const room = [&](int wanted) { return int(inputs.size()) + wanted <= size; };
  index last = -1;
  switch (of) {
    case kind::random:
      for (index v = 0; v < size; ++v) {
        std::vector<index> from;
        std::uint64_t const wanted = numbers() % 4;
        for (std::uint64_t k = 0; k < wanted && v > 0; ++k) from.push_back(index(numbers() % std::uint64_t(v)));
        if (from.empty() && v > 0 && numbers() % 3 != 0) from.push_back(v - 1);
        inputs.push_back(from);
      }
      break;
    case kind::residual:  // y = x + g(f(x))
      while (room(3)) {
        index const first = add({last}), second = add({first});
        last = add({last, second});
      }
      break;
    case kind::inception:  // three branches and their concatenation
      while (room(5)) {
        index const one = add({last}), two = add({last}), three = add({last}), deeper = add({three});
        last = add({one, two, deeper});
      }
      break;
    case kind::attention:  // q, k, v, scores, mix, and the sum with what came in
      while (room(6)) {
        index const q = add({last}), k = add({last}), v = add({last}), scores = add({q, k}), mixed = add({scores, v});
        last = add({last, mixed});
      }
      break;
    case kind::unet: {  // down, and up with what was kept
      std::vector<index> down;
      int const depth = (size - 1) / 2;
      for (int k = 0; k < depth; ++k) down.push_back(last = add({last}));
      if (room(1)) last = add({last});
      for (int k = depth; k-- > 0 && room(1);) last = add({last, down[std::size_t(k)]});
      break;
    }
    case kind::transformer:  // attention in short, a sum, two layers, a sum
      while (room(7)) {
        index const norm = add({last}), scores = add({norm}), mixed = add({norm, scores}), sum = add({last, mixed}),
                    wide = add({sum}), narrow = add({wide});
        last = add({sum, narrow});
      }
      break;
  }
  while (int(inputs.size()) < size) last = add({last});
  return inputs;
}

/// A graph of `size` operations; the same one for the same arguments. \param odd  whether adjoints read only some
/// values, there is work, and sizes and times may be zero
inline cairn::operation_graph make(kind of, int size, unsigned seed, bool odd = false) {
  std::mt19937_64 numbers{seed * 7919u + unsigned(size)};
  auto const between = [&](std::int64_t least, std::int64_t most) {
    return least + std::int64_t(numbers() % std::uint64_t(most - least + 1));
  };
  cairn::operation_graph graph;
  for (auto& from : shape_of(of, size, numbers)) {
    bool const is_sum = of != kind::random && of != kind::inception && from.size() == 2 && odd;
    cairn::graph_operation op{.inputs = std::move(from),
                              .bytes = between(odd ? 0 : 2, 8),
                              .time = between(odd ? 0 : 1, 9),
                              .adjoint_time = between(1, 9)};
    if (odd) {
      op.work = between(0, 3), op.adjoint_work = between(0, 3), op.adjoint_bytes = between(-1, 9);
      op.adjoint_needs_inputs = !is_sum && between(0, 3) != 0;
      op.adjoint_needs_output = !is_sum && between(0, 1) != 0;
    }
    graph.operations.push_back(op);
  }
  if (odd) graph.loss_time = between(0, 5), graph.loss_work = between(0, 5);
  if (odd && of == kind::random)  // the loss may read what others read, too
    for (std::size_t v = 0; v < graph.operations.size() && numbers() % 2 == 0; ++v) {
      std::vector<char> read(graph.operations.size());
      for (auto const& op : graph.operations)
        for (auto const input : op.inputs) read[std::size_t(input)] = 1;
      graph.outputs.clear();
      for (std::size_t w = 0; w < read.size(); ++w)
        if (!read[w] || w == v) graph.outputs.push_back(cairn::step_index(w));
    }
  return graph;
}

/// The graph with a flag for each input of an adjoint, drawn one by one.
inline cairn::operation_graph with_flags(cairn::operation_graph graph, unsigned seed) {
  std::mt19937_64 numbers{seed};
  for (auto& op : graph.operations) {
    std::vector<bool> each;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) each.push_back(numbers() % 2 == 0);
    op.adjoint_needs_inputs = cairn::needed_inputs(std::move(each));
  }
  return graph;
}

/// The graph with tapes for up to `most` of its operations.
inline cairn::operation_graph with_tapes(cairn::operation_graph graph, int most, unsigned seed) {
  std::mt19937_64 numbers{seed};
  for (int k = 0; k < most && !graph.operations.empty(); ++k)
    graph.operations[numbers() % graph.operations.size()].tape_bytes = 1 + std::int64_t(numbers() % 9);
  return graph;
}

/// `pairs` large values, a small one made of each in another order, and their sum. No adjoint reads a value, so that
/// the best order to run them in is not the given one.
inline cairn::operation_graph crossed(int pairs, unsigned seed) {
  std::mt19937_64 numbers{seed};
  cairn::operation_graph graph;
  auto const add = [&](std::vector<cairn::step_index> inputs, std::int64_t bytes) {
    graph.operations.push_back({.inputs = std::move(inputs),
                                .bytes = bytes,
                                .time = 1 + std::int64_t(numbers() % 9),
                                .adjoint_bytes = 1,
                                .adjoint_time = 1,
                                .adjoint_needs_inputs = false,
                                .adjoint_needs_output = false});
  };
  std::vector<cairn::step_index> order, small;
  for (int k = 0; k < pairs; ++k) add({}, 10 + std::int64_t(numbers() % 10)), order.push_back(k);
  std::shuffle(order.begin(), order.end(), numbers);
  for (auto const large : order) small.push_back(graph.size()), add({large}, 1);
  add(small, 1);
  return graph;
}
/// The graph with up to three states, which up to `most` of its operations change or read.
inline cairn::operation_graph with_states(cairn::operation_graph graph, int most, unsigned seed,
                                          std::int64_t most_copied = 0) {
  std::mt19937_64 numbers{seed};
  for (int k = 0; k < most && !graph.operations.empty(); ++k) {
    auto& op = graph.operations[numbers() % graph.operations.size()];
    (numbers() % 3 == 0 ? op.states_read : op.states_changed).push_back(cairn::step_index(numbers() % 3));
    op.copy_bytes = most_copied > 0 ? std::int64_t(numbers() % std::uint64_t(most_copied)) : 0;
  }
  return graph;
}

}  // namespace graphs
