// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <array>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace region_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;

/// Inputs of a type of their own: a tensor, a part that is a state too, and something that is no tensor.
struct field {
  Tensor values;
  std::pair<Tensor, Tensor> edges;
  double scale = 1;
};

}  // namespace region_tests

template <>
struct cairn::libtorch::tensor_traits<region_tests::field> {
  static void flatten(region_tests::field const& x, tensor_list& parts) {
    append_tensors(x.values, parts);
    append_tensors(x.edges, parts);
  }
  static region_tests::field unflatten(region_tests::field const& like, tensor_reader& from) {
    auto values = from.next();
    return {values, read_tensors(like.edges, from), like.scale};
  }
};

namespace region_tests {

/// A weight, an input, and a function of both with dropout in it.
struct layer {
  Tensor w = torch::randn({8, 8}).requires_grad_(true);
  int* runs = nullptr;
  Tensor operator()(Tensor const& x) const {
    if (runs != nullptr) ++*runs;
    return torch::dropout(torch::tanh(torch::mm(x, w)), 0.5, true).sigmoid();
  }
};

TEST_CASE("a region has the gradients of the plain call, bit for bit", "[torch][region]") {
  auto const verify = GENERATE(true, false);
  seeded const seed{1};
  layer f;
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  auto const run = [&](bool plain) {
    torch::manual_seed(7);
    auto const h = x * 2;
    auto const y = plain ? f(h) : checkpoint(f, h, CheckpointOptions().verify(verify));
    auto const after = torch::rand({3});
    (y * y).sum().backward();
    auto grads = take_grads({x, f.w});
    grads.push_back(after);
    grads.push_back(torch::rand({3}));
    return grads;
  };
  CHECK(same_bits(run(true), run(false)));
}

TEST_CASE("a region takes a tensor, a vector, a tuple or braces and returns what the function does",
          "[torch][region]") {
  seeded const seed{2};
  auto const x = torch::randn({4}).requires_grad_(true), z = torch::randn({4}).requires_grad_(true);
  auto const tuple = checkpoint(
      [](Tensor const& a, Tensor const& b) {
        return std::tuple{a * b, torch::exp(a)};
      },
      std::tuple{x, z});
  auto const list = checkpoint(
      [](std::vector<Tensor> const& in) {
        return std::vector<Tensor>{in[0] * in[1], torch::exp(in[0])};
      },
      {x, z});
  (std::get<0>(tuple).sum() + std::get<1>(tuple).sum()).backward();
  auto const first = take_grads({x, z});
  (list[0].sum() + list[1].sum()).backward();
  CHECK(same_bits(first, take_grads({x, z})));
  CHECK(same_bits(first[1], x.detach()));
  auto const none = checkpoint([](std::vector<Tensor> const& in) { return in.empty() ? torch::ones({2}) : in[0]; },
                               std::vector<Tensor>{});
  CHECK_FALSE(none.requires_grad());
  auto const undefined =
      checkpoint([](Tensor const& a, Tensor const& b) { return b.defined() ? a : a.sin(); }, std::pair{x, Tensor{}});
  undefined.sum().backward();
  CHECK(same_bits(x.grad(), x.detach().cos()));
}

/// The gradients of the leaves by the plain call and through a region, for inputs that `make` makes of them; f returns
/// something whose tensors are summed.
template <class Make, class F>
void check_same_gradients(std::vector<Tensor> const& leaves, Make const& make, F const& f) {
  auto const gradients = [&](auto const& call) {
    torch::manual_seed(4);
    auto const given = call(make());
    Tensor sum = torch::zeros({});
    for (auto const& t : cl::detail::tensors_of(given)) sum = sum + t.pow(2).sum();
    sum.backward();
    return take_grads(leaves);
  };
  auto const options = CheckpointOptions().verify(true);
  auto const plain = gradients([&](auto const& inputs) { return cairn::libtorch::detail::call_region(f, inputs); });
  auto const ours = gradients([&](auto const& inputs) { return checkpoint(f, inputs, options); });
  CHECK(same_bits(plain, ours));
}

TEST_CASE("a region takes and returns every state that a loop takes", "[torch][region]") {
  seeded const seed{21};
  auto const a = torch::randn({4}).requires_grad_(true), b = torch::randn({4}).requires_grad_(true),
             fixed = torch::randn({4});
  using dictionary = torch::OrderedDict<std::string, Tensor>;
  using nested = std::tuple<Tensor, std::vector<std::pair<Tensor, Tensor>>, std::array<Tensor, 2>>;
  auto const make_nested = [&] { return nested{a * 1, {{b * 1, fixed}, {Tensor{}, a}}, {fixed, b}}; };
  check_same_gradients(
      {a, b}, make_nested,
      [](Tensor const& x, std::vector<std::pair<Tensor, Tensor>> const& list, std::array<Tensor, 2> const& two) {
        auto const y = torch::dropout(x.sin() * list[0].first.exp(), 0.5, true);
        return nested{y,
                      {{two[0] * y.cos(), list[1].first.defined() ? list[1].first : list[1].second.exp()}},
                      {two[1].sigmoid(), y}};
      });
  check_same_gradients({a, b}, make_nested, [](nested const& x) {
    auto const& [first, list, two] = x;
    return std::pair{first.sin() * list[0].first, torch::dropout(two[1].exp(), 0.5, true)};
  });
  check_same_gradients({a, b}, [&] {
    dictionary inputs;
    inputs.insert("h", a * 2);
    inputs.insert("c", b);
    inputs.insert("fixed", fixed);
    return inputs;
  }, [](dictionary const& x) {
    dictionary y;
    y.insert("c", x["h"].sin() * x["c"].exp() * x["fixed"]);
    return y;
  });
  check_same_gradients(
      {a, b},
      [&] {
        return field{a * 1, {b * 1, Tensor{}}, 0.25};
      },
      [](field const& x) {
        return field{(x.values * x.scale).sin() * x.edges.first.exp(),
                     {x.edges.second.defined() ? x.values : x.edges.first.cos(), x.values.exp()},
                     x.scale};
      });
  check_same_gradients(
      {a},
      [&] {
        return std::array<Tensor, 2>{a, a};
      },
      [](Tensor const& x, Tensor const& y) { return x.sin() * y.exp(); });
  check_same_gradients({a}, [] { return std::tuple<>{}; }, [&] { return a.sin().exp(); });
}

TEST_CASE("a region whose inputs need no gradient differentiates what its function captures", "[torch][region]") {
  auto const w = torch::randn({4}).requires_grad_(true), x = torch::randn({4});
  auto const y = checkpoint([&](field const& in) { return in.values.sin() * w.exp() * in.scale; }, field{x, {}, 0.5});
  y.sum().backward();
  CHECK(torch::allclose(w.grad(), x.sin() * w.detach().exp() * 0.5));
}

TEST_CASE("a region keeps the tensors of its inputs and nothing behind them", "[torch][region]") {
  auto const x = torch::ones({1 << 12}).requires_grad_(true), w = torch::ones({1 << 12}).requires_grad_(true);
  cl::byte_meter const meter;
  Tensor y;
  {
    field const inputs{x.exp().exp() + 1, {Tensor{}, Tensor{}}, 1};
    y = checkpoint([&](field const& in) { return (in.values.detach() * w).sum(); }, inputs);
  }
  CHECK(meter.allocated() < 2 * std::int64_t(x.nbytes()));
  y.backward();
  CHECK(same_bits(w.grad(), (x.exp().exp() + 1).detach()));
}

TEST_CASE("a region runs once, with and without gradients, and its operators again in backward", "[torch][region]") {
  seeded const seed{3};
  int runs = 0;
  layer f;
  f.runs = &runs;
  auto const x = torch::randn({4, 8});
  auto const& again = cl::detail::region_totals()->again;
  auto const before = again.load();
  auto const y = checkpoint(f, x);
  CHECK(again == before);
  y.sum().backward();
  CHECK(runs == 1);
  CHECK(again > before);
  {
    torch::NoGradGuard const off;
    CHECK_FALSE(checkpoint(f, x).requires_grad());
  }
  CHECK(runs == 2);
  {
    c10::InferenceMode const on;
    CHECK_FALSE(checkpoint(f, torch::randn({4, 8})).requires_grad());
  }
  CHECK(runs == 3);
}

TEST_CASE("a region makes again what backward wants, and nothing after that", "[torch][region]") {
  auto const x = torch::randn({4}).requires_grad_(true);
  auto const& again = cl::detail::region_totals()->again;
  auto const y = checkpoint([](Tensor const& a) { return a.sin().exp() + 1; }, x).sum();
  auto const before = again.load();
  y.backward();
  CHECK(again == before + 2);  // without the last sum
}

TEST_CASE("what a function of a region captures by reference, counts and assigns happens once", "[torch][region]") {
  auto const x = torch::randn({4}).requires_grad_(true);
  std::vector<Tensor> seen;
  Tensor previous = torch::ones({4});
  int calls = 0;
  auto const run = [&](bool plain) {
    seen.clear();
    previous = torch::ones({4});
    auto scale = torch::full({4}, 2.0);
    auto const f = [&](Tensor const& a) {
      ++calls;
      auto const h = (a * scale * previous).sin();
      previous = h.detach();
      seen.push_back(h.detach());
      return h.exp() * double(calls % 2 == 0 ? calls : calls + 1);
    };
    auto y = plain ? f(f(x)) : checkpoint(f, checkpoint(f, x));
    scale = torch::zeros({4});
    y.sum().backward();
    return take_grads({x});
  };
  auto const expected = run(true);
  CHECK(seen.size() == 2);
  calls = 0;
  CHECK(same_bits(expected, run(false)));
  CHECK(seen.size() == 2);
  CHECK(calls == 2);
}

TEST_CASE("regions nest", "[torch][region]") {
  auto const depth = GENERATE(1, 2, 4);
  seeded const seed{4};
  std::vector<layer> layers(8);
  std::vector<Tensor> all;
  for (auto const& one : layers) all.push_back(one.w);
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  all.push_back(x);
  std::function<Tensor(Tensor const&, std::size_t, std::size_t, int)> run = [&](Tensor const& in, std::size_t first,
                                                                                std::size_t last, int left) -> Tensor {
    if (left == 0) {
      auto y = in;
      for (auto k = first; k < last; ++k) y = (layers[k](y) - 0.5).relu_();
      return y;
    }
    auto const middle = first + (last - first) / 2;
    auto const half = [&, middle, left](std::size_t from, std::size_t to) {
      return [&run, from, to, left](Tensor const& a) { return run(a, from, to, left - 1); };
    };
    return checkpoint(half(middle, last), checkpoint(half(first, middle), in));
  };
  auto const grads = [&](int levels) {
    torch::manual_seed(5);
    run(x, 0, layers.size(), levels).sum().backward();
    return take_grads(all);
  };
  CHECK(same_bits(grads(0), grads(depth)));
}

TEST_CASE("nested regions keep only the outer inputs", "[torch][region]") {
  auto const x = torch::ones({1 << 16}).requires_grad_(true);
  auto const inner = [](Tensor const& a) { return a.sin().sin().sin(); };
  auto const outer = [&](Tensor const& a) { return checkpoint(inner, checkpoint(inner, checkpoint(inner, a))); };
  cl::byte_meter const meter;
  auto const y = checkpoint(outer, x);
  CHECK(meter.allocated() < 2 * 4 * (1 << 16));
}

TEST_CASE("a region works with retain_graph, autograd::grad and double backward", "[torch][region]") {
  seeded const seed{6};
  layer f;
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  auto const make = [&](bool plain) {
    torch::manual_seed(9);
    return (plain ? f(x) : checkpoint(f, x)).pow(2).sum();
  };
  auto const plain = make(true), region = make(false);
  auto const of_w = [&](Tensor const& y) { return torch::autograd::grad({y}, {f.w}, {}, true)[0]; };
  CHECK(same_bits(of_w(plain), of_w(region)));
  auto const twice = [&](Tensor const& y) {
    auto const g = torch::autograd::grad({y}, {x, f.w}, {}, true, true);
    (g[0].pow(2).sum() + g[1].sum()).backward({}, true);
    y.backward();
    return take_grads({x, f.w});
  };
  CHECK(same_bits(twice(plain), twice(region)));
  CHECK(message_of([&] { region.backward(); }).find("second time") != std::string::npos);
}

TEST_CASE("a function may differentiate something itself inside a region", "[torch][region]") {
  auto const x = torch::randn({4}).requires_grad_(true);
  auto const f = [](Tensor const& a) { return torch::autograd::grad({a.pow(3).sum()}, {a}, {}, true, true)[0] * a; };
  f(x).sum().backward();
  auto const plain = take_grads({x});
  checkpoint(f, x).sum().backward();
  CHECK(same_bits(plain, take_grads({x})));
}

TEST_CASE("automatic casts of a region are those of its first run", "[torch][region]") {
  seeded const seed{8};
  layer f;
  auto const x = torch::randn({4, 8}).requires_grad_(true);
  auto const run = [&](bool plain) {
    torch::manual_seed(3);
    auto const before = cl::detail::autocast_state{};
    cl::detail::switch_autocast(at::kCPU, true);
    cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
    auto const y = plain ? f(x) : checkpoint(f, x, CheckpointOptions().verify(true));
    at::autocast::clear_cache();
    before.set();
    y.sum().backward();
    CHECK_FALSE(cl::detail::autocast_is_on(at::kCPU));
    return take_grads({x, f.w});
  };
  CHECK(same_bits(run(true), run(false)));
}

TEST_CASE("a batch norm in a region updates its buffers once", "[torch][region]") {
  torch::nn::BatchNorm1d norm(8);
  auto const x = torch::randn({16, 8}).requires_grad_(true);
  norm->forward(x).pow(2).sum().backward();
  auto const mean = norm->running_mean.clone();
  norm->running_mean.zero_();
  norm->running_var.fill_(1);
  norm->num_batches_tracked.zero_();
  auto const grads = take_grads({x, norm->weight, norm->bias});
  checkpoint([&](Tensor const& a) { return norm->forward(a); }, x)
      .pow(2)
      .sum()
      .backward();
  CHECK(same_bits(grads, take_grads({x, norm->weight, norm->bias})));
  CHECK(same_bits(norm->running_mean, mean));
  CHECK(norm->num_batches_tracked.item<std::int64_t>() == 1);
}

TEST_CASE("a hook on a captured leaf fires once", "[torch][region]") {
  layer f;
  int fired = 0;
  f.w.register_hook([&](Tensor const&) { ++fired; });
  checkpoint(f, torch::randn({4, 8})).sum().backward();
  CHECK(fired == 1);
}

TEST_CASE("a change in place between forward and backward is refused where it is needed again", "[torch][region]") {
  auto const w = torch::ones({4}).requires_grad_(true);
  auto const x = torch::ones({4});
  auto const change = [](Tensor const& t) {
    torch::NoGradGuard const off;
    t.add_(1);
  };
  auto y = checkpoint([&](Tensor const& a) { return a * w; }, x).sum();
  change(x);  // the product has saved it
  CHECK(message_of([&] { y.backward(); }).find("has been modified by an inplace operation") != std::string::npos);
  y = checkpoint([&](Tensor const& a) { return (a + w).sin().exp(); }, x).sum();
  change(x);
  CHECK(message_of([&] {
          y.backward();
        }).find("cairn::libtorch::checkpoint: a tensor that was read was changed in place before backward") == 0);
  y = checkpoint([&](Tensor const& a) { return (a + w).sin().exp(); }, torch::ones({4})).sum();
  change(w);
  CHECK(message_of([&] { y.backward(); }).find("a tensor that was read was changed in place before backward") !=
        std::string::npos);
  y = checkpoint([&](Tensor const& a) { return (a + w) * 2; }, x).sum();
  change(w);
  CHECK(message_of([&] { y.backward(); }).empty());  // nothing is made again
  auto const late = [&](Tensor const& a) {
    auto h = a * 1;
    auto const s = h.sin();
    h.add_(1);
    return s * h.exp();
  };
  y = checkpoint(late, torch::ones({4}).requires_grad_(true)).sum();
  CHECK(message_of([&] { y.backward(); }).find("has been modified by an inplace operation") != std::string::npos);
}

TEST_CASE("what a region throws passes through and leaves generators, casts and hooks as they were",
          "[torch][region]") {
  auto const x = torch::ones({4}).requires_grad_(true);
  bool throws = true;
  auto const f = [&](Tensor const& a) {
    auto const y = torch::dropout(a, 0.5, true).sin();
    if (throws) throw std::length_error{"mine"};
    return y.sin();
  };
  CHECK_THROWS_AS(checkpoint(f, x), std::length_error);
  CHECK_THROWS_AS(checkpoint([&](Tensor const& a) { return checkpoint(f, a.sin()).exp(); }, x), std::length_error);
  CHECK(cl::detail::hook_engine::of_thread().factories.empty());
  CHECK(cl::detail::call_record::of_call() == nullptr);
  throws = false;
  auto const caught = checkpoint(
      [&](Tensor const& a) {
        throws = true;
        try {
          (void)checkpoint(f, a);
        } catch (std::length_error const&) {
        }
        throws = false;
        return checkpoint(f, a.sin()).exp();
      },
      x);
  auto const before = at::detail::getDefaultCPUGenerator().get_state();
  caught.sum().backward();
  CHECK(same_bits(before, at::detail::getDefaultCPUGenerator().get_state()));
}

struct another_engine final : torch::autograd::Engine {
  static torch::autograd::Engine& instance() {
    static auto* const engine = new another_engine;
    return *engine;
  }
};
TEST_CASE("a region refuses an engine that is not LibTorch's own", "[torch][region]") {
  torch::autograd::set_default_engine_stub(&another_engine::instance);
  auto const x = torch::ones({2}).requires_grad_(true);
  auto const message = message_of([&] { (void)checkpoint([](Tensor const& a) { return a.sin(); }, x); });
  torch::autograd::set_default_engine_stub(&cl::detail::hook_engine::instance);
  CHECK(message.find("backward passes are run by an engine other than LibTorch's own, such as Python's") !=
        std::string::npos);
  CHECK(checkpoint([](Tensor const& a) { return a.sin(); }, x).requires_grad());
}

TEST_CASE("a region holds nothing once its results are gone, though operations save their own results",
          "[torch][region]") {
  auto const x = torch::randn({64, 64}).requires_grad_(true);
  auto const f = [](Tensor const& a) { return torch::softmax(a.tanh() * a.sigmoid(), -1).exp(); };
  for (bool const backward : {true, false}) {
    cl::byte_meter const meter{x.device()};
    {
      auto const y = checkpoint(f, x).sum();
      if (backward) y.backward();
      (void)take_grads({x});
    }
    CHECK(meter.allocated() == 0);
  }
}

TEST_CASE("threads have regions of their own", "[torch][region]") {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto const x = torch::full({8}, 0.3).requires_grad_(true);
        auto const f = [](Tensor const& a) { return a.sin().exp(); };
        checkpoint(f, checkpoint(f, x)).sum().backward();
        auto const first = take_grads({x});
        f(f(x)).sum().backward();
        if (same_bits(first, take_grads({x}))) ++right;
      }
    });
  for (auto& one : threads) one.join();
  CHECK(right == 60);
}

}  // namespace region_tests
