// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>

namespace saved_tensors_hooks_tests {

using at::Tensor;
using cl::saved_tensors_hooks;
using Catch::Matchers::ContainsSubstring;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;

/// A tensor as plain memory, which can be moved and not copied.
struct plain_copy {
  std::unique_ptr<std::vector<float>> values;
  std::vector<std::int64_t> sizes;
};
plain_copy to_plain(Tensor const& t) {
  auto const flat = t.contiguous();
  auto const* const begin = flat.data_ptr<float>();
  return {std::make_unique<std::vector<float>>(begin, begin + flat.numel()), t.sizes().vec()};
}
Tensor from_plain(plain_copy const& p) { return torch::tensor(*p.values).view(p.sizes); }

Tensor program(Tensor const& x, Tensor const& w) {
  return torch::dropout((x.mm(w).sigmoid() * x).exp(), 0.5, true).sin();
}

TEST_CASE("what a pair of functions packs is what backward gets, with the bits of the plain program",
          "[torch][hooks]") {
  seeded const seed{1};
  auto const x = torch::randn({6, 6}).requires_grad_(true), w = torch::randn({6, 6}).requires_grad_(true);
  torch::manual_seed(2);
  program(x, w).sum().backward();
  auto const expected = take_grads({x, w});

  int packed = 0, unpacked = 0;
  Tensor y;
  {
    saved_tensors_hooks const hooks{[&](Tensor const& t) { return ++packed, to_plain(t); },
                                    [&](plain_copy const& p) { return ++unpacked, from_plain(p); }};
    torch::manual_seed(2);
    y = program(x, w);
  }
  auto const saved = packed;
  CHECK(saved >= 6);
  (void)program(x, w);
  CHECK(packed == saved);
  CHECK(unpacked == 0);
  y.sum().backward({}, true);
  CHECK(same_bits(take_grads({x, w}), expected));
  CHECK(unpacked == saved);
  y.sum().backward();
  CHECK(same_bits(take_grads({x, w}), expected));
}

TEST_CASE("only the innermost scope of saved tensor hooks counts, and the outer one goes on after it",
          "[torch][hooks]") {
  auto const x = torch::ones({3}).requires_grad_(true);
  std::string order;
  auto const same = [](Tensor const& t) { return t; };
  auto const note = [&](char c) { return [&order, c](Tensor const& t) { return order += c, t; }; };
  saved_tensors_hooks const outer{note('o'), note('O')};
  auto const a = x.sin();
  auto const b = [&] {
    saved_tensors_hooks const inner{note('i'), note('I')};
    return a.cos();
  }();
  auto const c = b.tanh();
  CHECK(order == "oio");
  c.sum().backward();
  CHECK(order == "oioOIO");
  auto const got = take_grads({x});
  saved_tensors_hooks const none{same, same};
  x.sin().cos().tanh().sum().backward();
  CHECK(same_bits(got, take_grads({x})));
}

TEST_CASE("what the functions of saved tensor hooks throw passes through, and the scope stays whole",
          "[torch][hooks]") {
  auto const x = torch::ones({3}).requires_grad_(true);
  bool packs = false, unpacks = false;
  saved_tensors_hooks const hooks{[&](Tensor const& t) { return packs ? t : throw std::domain_error{"no room"}; },
                                  [&](Tensor const& t) { return unpacks ? t : throw std::range_error{"lost"}; }};
  CHECK(support::said<std::domain_error>([&] { (void)x.sin(); }) == "no room");
  packs = true;
  auto const y = x.sin().sum();
  CHECK(support::said<std::range_error>([&] { y.backward({}, true); }) == "lost");
  unpacks = true;
  y.backward();
  CHECK(same_bits(take_grads({x}), {x.detach().cos()}));
}

TEST_CASE("a change in place between pack and unpack is an error where it would be seen, and else is not",
          "[torch][hooks]") {
  auto const x = torch::ones({3}).requires_grad_(true);
  auto const same = [](Tensor const& t) { return t; };
  auto const changed = [&](auto pack, auto unpack) {
    auto const a = x * 2;
    auto const y = [&] {
      saved_tensors_hooks const hooks{pack, unpack};
      return a.sin().sum();
    }();
    a.add_(1);
    y.backward();
  };
  CHECK_THAT(message_of([&] { changed(same, same); }),
             ContainsSubstring(
                 "cairn::libtorch::saved_tensors_hooks: a tensor saved for backward was changed in place afterwards"));
  auto const half = [](Tensor const& t) { return std::pair{t.narrow(0, 0, 1), t.clone()}; };
  CHECK_THAT(message_of([&] { changed(half, [](std::pair<Tensor, Tensor> const& p) { return p.second; }); }),
             ContainsSubstring("changed in place afterwards"));
  changed([](Tensor const& t) { return t.clone(); }, same);
  CHECK(same_bits(take_grads({x}), {(2 * x.detach()).cos() * 2}));

  // One buffer for all: writing the second tensor changes none of the first.
  auto const room = torch::zeros({6});
  std::int64_t used = 0;
  auto const y = [&] {
    saved_tensors_hooks const hooks{
        [&](Tensor const& t) { return room.narrow(0, std::exchange(used, used + 3), 3).copy_(t); }, same};
    return (x.sin().exp()).sum();
  }();
  y.backward();
  CHECK(same_bits(take_grads({x}), {x.detach().sin().exp() * x.detach().cos()}));

  saved_tensors_hooks const writes{[](Tensor const& t) { return t.add_(1); }, same};
  CHECK_THAT(message_of([&] { (void)x.sin(); }), ContainsSubstring("in-place"));
}

TEST_CASE("an unpack function that gives another tensor, or none, is refused", "[torch][hooks]") {
  auto const x = torch::ones({3}).requires_grad_(true);
  auto const given = [&](auto unpack) {
    saved_tensors_hooks const hooks{[](Tensor const& t) { return t; }, unpack};
    auto const y = x.sin().sum();
    return message_of([&] { y.backward(); });
  };
  CHECK_THAT(
      given([](Tensor const& t) { return t.narrow(0, 0, 2); }),
      ContainsSubstring("cairn::libtorch::saved_tensors_hooks: the unpack function gives Float[2] on cpu, and what was "
                        "packed was Float[3] on cpu"));
  CHECK_THAT(given([](Tensor const& t) { return t.to(at::kDouble); }), ContainsSubstring("gives Double[3] on cpu"));
  CHECK_THAT(given([](Tensor const&) { return Tensor{}; }), ContainsSubstring("the unpack function gives no tensor"));
}

TEST_CASE("saved tensor hooks hold for what is differentiated twice", "[torch][hooks]") {
  auto const x = torch::linspace(0.1, 1, 4, at::kDouble).requires_grad_(true);
  auto const second = [&](bool with) {
    int packed = 0;
    std::optional<saved_tensors_hooks> hooks;
    if (with) hooks.emplace([&](Tensor const& t) { return ++packed, t.clone(); }, [](Tensor const& t) { return t; });
    auto const first = torch::autograd::grad({(x.sin() * x).exp().sum()}, {x}, {}, true, true);
    auto const forward = packed;
    auto both = torch::autograd::grad({first[0].pow(2).sum()}, {x});
    CHECK(packed >= forward);
    CHECK((packed > 0) == with);
    both.push_back(first[0].detach());
    return both;
  };
  CHECK(same_bits(second(false), second(true)));
}

TEST_CASE("saved tensor hooks are their thread's own, and unpack serves backward passes of others", "[torch][hooks]") {
  auto const x = torch::ones({64}).requires_grad_(true);
  std::atomic<int> packed{0}, unpacked{0};
  Tensor y;
  {
    saved_tensors_hooks const hooks{[&](Tensor const& t) { return ++packed, t.clone(); },
                                    [&](Tensor const& t) { return ++unpacked, t; }};
    std::thread{[&] { (void)x.sin(); }}.join();
    CHECK(packed == 0);
    y = x.sin().exp().sum();
    CHECK(packed == 2);
  }
  std::vector<Tensor> grads(4);
  std::vector<std::thread> threads;
  for (auto& g : grads) threads.emplace_back([&] { g = torch::autograd::grad({y}, {x}, {}, true)[0]; });
  for (auto& one : threads) one.join();
  CHECK(unpacked == 8);
  for (auto const& g : grads) CHECK(same_bits(g, x.detach().sin().exp() * x.detach().cos()));
}

TEST_CASE("what saved tensor hooks keep goes with the graph", "[torch][hooks]") {
  auto const x = torch::ones({1 << 10}).requires_grad_(true);
  cl::byte_meter const meter;
  {
    saved_tensors_hooks const hooks{[](Tensor const& t) { return t; }, [](Tensor const& t) { return t; }};
    auto const y = x.sigmoid().tanh();  // each keeps its own result
    CHECK(meter.allocated() > 0);
  }
  CHECK(meter.allocated() == 0);
}

TEST_CASE("saved tensor hooks around a region keep its inputs, and inside what the region's own do not",
          "[torch][hooks][region]") {
  auto const x = torch::linspace(0.1, 1, 4).requires_grad_(true);
  int packed = 0, unpacked = 0, runs = 0, kept = 0;
  auto const pack = [&](Tensor const& t) { return ++packed, t.clone(); };
  auto const unpack = [&](Tensor const& t) { return ++unpacked, t; };
  auto const f = [&](Tensor const& a) { return ++runs, a.sin().exp().tanh(); };
  f(x * 2).sum().backward();
  auto const expected = take_grads({x});
  runs = 0;
  {
    saved_tensors_hooks const hooks{pack, unpack};
    auto const y = cl::checkpoint(f, x * 2);
    auto const before = packed;
    CHECK((before == 1 || before == 2));  // the input, and the factor of the product where this LibTorch saves it
    y.sum().backward();
    CHECK(same_bits(take_grads({x}), expected));
    CHECK(unpacked >= 1);
    CHECK(runs == 1);
  }
  packed = runs = 0;
  auto const inside = [&](Tensor const& a) {
    ++runs;
    auto const b = a.sin();
    auto const c = [&] {
      saved_tensors_hooks const hooks{pack, unpack};
      return cl::keep([&] { return ++kept, b.exp(); });
    }();
    return c.tanh();
  };
  auto const y = cl::checkpoint(inside, x * 2);
  CHECK(packed == 1);  // what exp saves
  y.sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
  CHECK(runs == 1);
  CHECK(kept == 1);
}

TEST_CASE("a loop runs in a scope of saved tensor hooks", "[torch][hooks]") {
  auto const x = torch::linspace(0.1, 1, 4).requires_grad_(true);
  auto const step = [](Tensor const& s) { return s.sin() * s; };
  auto const run = [&](bool with) {
    std::optional<saved_tensors_hooks> hooks;
    if (with) hooks.emplace([](Tensor const& t) { return t.clone(); }, [](Tensor const& t) { return t; });
    cl::checkpointed_loop(step, x, 20, cl::LoopOptions().checkpoints(3).block_size(2)).sum().backward();
    return take_grads({x});
  };
  CHECK(same_bits(run(false), run(true)));
}

}  // namespace saved_tensors_hooks_tests
