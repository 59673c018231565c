// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs of whole networks, operation by operation as a training step of single precision runs them: true sizes, times
// from plausible rates (50 flops and 10 bytes a nanosecond, 2 microseconds a call), and what each adjoint reads in
// LibTorch.
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/rules/operation_graph.hpp>

namespace graphs {

/// Writes a graph down operation by operation.
class network {
 public:
  using index = cairn::step_index;
  static constexpr index caller = -1;  ///< the network's input, which counts for nothing

  enum class reads { nothing, inputs, output, both };
  struct cost {
    std::int64_t numbers;        ///< of its value
    double flops = 0;            ///< forward; its adjoint takes twice as many
    std::int64_t tape = 0;       ///< bytes that its adjoint keeps beside values
  };

  index add(std::initializer_list<index> from, reads what, cost of) {
    cairn::graph_operation op;
    std::int64_t moved = 4 * of.numbers;
    for (index const one : from) {
      if (one == caller) continue;
      op.inputs.push_back(one);
      moved += graph_.operations[std::size_t(one)].bytes;
    }
    op.bytes = 4 * of.numbers;
    op.time = 2'000 + std::int64_t(of.flops / 50) + moved / 10;
    op.adjoint_time = 2 * op.time;
    op.adjoint_needs_inputs = what == reads::inputs || what == reads::both;
    op.adjoint_needs_output = what == reads::output || what == reads::both;
    set_tape(op, of.tape);
    graph_.operations.push_back(std::move(op));
    return graph_.size() - 1;
  }
  [[nodiscard]] std::int64_t numbers(index v) const { return graph_.operations[std::size_t(v)].bytes / 4; }
  [[nodiscard]] cairn::operation_graph take() { return std::move(graph_); }

 private:
  static void set_tape(auto& op, std::int64_t bytes) {
    if constexpr (requires { op.tape_bytes; }) op.tape_bytes = bytes;
  }

  cairn::operation_graph graph_;
};

/// Pictures: channels and the side of a square, of a batch.
class picture_network {
 public:
  using index = cairn::step_index;
  struct picture {
    index value;
    std::int64_t channels, side;
  };

  explicit picture_network(std::int64_t batch) : batch_{batch} {}

  picture convolution(picture in, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
    picture out{0, channels, (in.side + stride - 1) / stride};
    out.value = net_.add({in.value}, network::reads::inputs,
                         {size(out), 2.0 * double(size(out)) * double(in.channels * kernel * kernel)});
    return out;
  }
  /// Keeps mean and deviation of each channel beside its input.
  picture batch_norm(picture in) {
    in.value = net_.add({in.value}, network::reads::inputs, {size(in), 0, 8 * in.channels});
    return in;
  }
  picture relu(picture in) {
    in.value = net_.add({in.value}, network::reads::output, {size(in)});
    return in;
  }
  picture sum(picture in, picture other) {
    in.value = net_.add({in.value, other.value}, network::reads::nothing, {size(in)});
    return in;
  }
  /// Keeps the indices of the largest.
  picture max_pool(picture in, std::int64_t stride = 2) {
    picture out{0, in.channels, (in.side + stride - 1) / stride};
    out.value = net_.add({in.value}, network::reads::inputs, {size(out), 0, 8 * size(out)});
    return out;
  }
  picture mean(picture in) {
    picture out{0, in.channels, 1};
    out.value = net_.add({in.value}, network::reads::nothing, {size(out)});
    return out;
  }
  picture upsample(picture in) {
    picture out{0, in.channels, 2 * in.side};
    out.value = net_.add({in.value}, network::reads::nothing, {size(out)});
    return out;
  }
  picture concatenation(picture in, picture other) {
    picture out{0, in.channels + other.channels, in.side};
    out.value = net_.add({in.value, other.value}, network::reads::nothing, {size(out)});
    return out;
  }
  picture normed(picture in, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
    return batch_norm(convolution(in, channels, kernel, stride));
  }
  [[nodiscard]] cairn::operation_graph take() { return net_.take(); }

 private:
  [[nodiscard]] std::int64_t size(picture of) const { return batch_ * of.channels * of.side * of.side; }

  std::int64_t batch_;
  network net_;
};

/// A residual network of bottlenecks, as many in each of the four stages; {3, 4, 6, 3} is ResNet-50 with 174
/// operations, {3, 8, 36, 3} ResNet-152 with 514.
inline cairn::operation_graph resnet(std::initializer_list<int> bottlenecks, std::int64_t batch = 4,
                                     std::int64_t side = 64) {
  picture_network net{batch};
  auto x = net.relu(net.normed({network::caller, 3, side}, 64, 7, 2));
  x = net.max_pool(x);
  std::int64_t width = 64;
  for (int const blocks : bottlenecks) {
    for (int k = 0; k < blocks; ++k) {
      std::int64_t const stride = k == 0 && width > 64 ? 2 : 1;
      auto y = net.relu(net.normed(x, width, 1));
      y = net.relu(net.normed(y, width, 3, stride));
      y = net.normed(y, 4 * width, 1);
      if (k == 0) x = net.normed(x, 4 * width, 1, stride);
      x = net.relu(net.sum(y, x));
    }
    width *= 2;
  }
  (void)net.convolution(net.mean(x), 1000, 1);
  return net.take();
}

/// A pre-norm transformer as GPT-2's: 20 operations a block. Copies of q, k, v by head are operations, views are not.
inline cairn::operation_graph transformer(int blocks = 12, std::int64_t batch = 4, std::int64_t length = 128,
                                          std::int64_t width = 768, std::int64_t heads = 12,
                                          std::int64_t words = 8192) {
  using reads = network::reads;
  network net;
  std::int64_t const rows = batch * length, size = rows * width, scores = batch * heads * length * length;
  auto const linear = [&](cairn::step_index from, std::int64_t in, std::int64_t out) {
    return net.add({from}, reads::inputs, {rows * out, 2.0 * double(rows) * double(in) * double(out)});
  };
  auto const norm = [&](cairn::step_index from) { return net.add({from}, reads::inputs, {size, 0, 8 * rows}); };
  auto const copy = [&](cairn::step_index from) { return net.add({from}, reads::nothing, {net.numbers(from)}); };
  auto const sum = [&](cairn::step_index one, cairn::step_index other) {
    return net.add({one, other}, reads::nothing, {size});
  };
  auto const token = net.add({network::caller}, reads::nothing, {size}),
             place = net.add({network::caller}, reads::nothing, {length * width});
  auto x = sum(token, place);
  double const product = 2.0 * double(scores) * double(width / heads);
  for (int k = 0; k < blocks; ++k) {
    auto const normed = norm(x);
    auto const q = copy(linear(normed, width, width)), key = copy(linear(normed, width, width)),
               v = copy(linear(normed, width, width));
    auto const weights = net.add({copy(copy(net.add({q, key}, reads::inputs, {scores, product})))}, reads::output,
                                 {scores});  // scaled, masked, softmax
    auto const mixed = net.add({weights, v}, reads::inputs, {size, product});
    x = sum(linear(copy(mixed), width, width), x);
    auto const wide = net.add({linear(norm(x), width, 4 * width)}, reads::inputs, {4 * size});  // gelu
    x = sum(linear(wide, 4 * width, width), x);
  }
  (void)linear(norm(x), width, words);
  return net.take();
}

/// Five levels down and up again, two convolutions each; what is made on the way down is read on the way up.
inline cairn::operation_graph u_net(std::int64_t batch = 1, std::int64_t side = 128, std::int64_t width = 32) {
  picture_network net{batch};
  auto const twice = [&](picture_network::picture in, std::int64_t channels) {
    in = net.relu(net.normed(in, channels, 3));
    return net.relu(net.normed(in, channels, 3));
  };
  std::vector<picture_network::picture> down;
  picture_network::picture x{network::caller, 3, side};
  for (int level = 0; level < 4; ++level) {
    x = twice(x, width << level);
    down.push_back(x);
    x = net.max_pool(x);
  }
  x = twice(x, width << 4);
  for (int level = 4; level-- > 0;)
    x = twice(net.concatenation(net.normed(net.upsample(x), width << level, 3), down[std::size_t(level)]),
              width << level);
  (void)net.convolution(x, 2, 1);
  return net.take();
}

/// A network with its name, for tables.
struct named_network {
  std::string_view name;
  cairn::operation_graph graph;
};
inline std::vector<named_network> all_networks() {
  return {{"ResNet-50", resnet({3, 4, 6, 3})},
          {"transformer", transformer()},
          {"U-Net", u_net()},
          {"ResNet-152", resnet({3, 8, 36, 3})}};
}

}  // namespace graphs
