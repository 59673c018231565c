// SPDX-License-Identifier: Apache-2.0
// Steps that write to tensors which outlive them, by slots, late, or by assignment: a loop leaves the bits of the plain
// loop, or says what it cannot do. Never other bits.
#include "support/torch.hpp"
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <cairn/adapt/torch.hpp>

namespace loop_effects_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;
using support::seeded;
using tensors = std::vector<Tensor>;
using step = std::function<Tensor(Tensor const&, std::int64_t)>;

/// What a step uses, made anew for each run, and what is left in it.
struct program {
  step f;
  std::function<tensors()> left;
  tensors memory = {};  ///< that it writes to
};
enum class wanted { bits, bits_if_named, sentence };
struct kind {
  char const* name;
  wanted what;
  std::function<program(torch::nn::Linear const& l)> make;
};

constexpr int n = 24;

Tensor linear(torch::nn::Linear const& l, Tensor const& h) { return torch::linear(h, l->weight, l->bias); }

void silent(std::function<void()> const& f) {
  torch::NoGradGuard const off;
  f();
}
/// A step that writes to `memory` before it computes, or after.
program of(Tensor memory, std::function<void(Tensor const& h, std::int64_t i)> const& write,
           std::function<Tensor(Tensor const& h, std::int64_t i)> const& compute, bool writes_first = true) {
  return {[=](Tensor const& h, std::int64_t i) {
            if (writes_first) silent([&] { write(h, i); });
            auto y = compute(h, i);
            if (!writes_first) silent([&] { write(h, i); });
            return y;
          },
          [=] { return tensors{memory.clone()}; },
          {memory}};
}

std::vector<kind> const kinds{
    {"a ring, a slot a step, all slots read", wanted::bits,
     [](auto const& l) {
       auto const ring = torch::zeros({4, 8});
       return of(
           ring, [=](Tensor const& h, std::int64_t i) { ring.select(0, i % 4).copy_(h.mean(0)); },
           [=](Tensor const& h, std::int64_t) {
             return torch::tanh(linear(l, h) + 0.3 * h.mm(ring.clone().t()).mm(ring.clone()) + h);
           });
     }},
    {"a delay line: the slot that is overwritten next is read", wanted::bits,
     [](auto const& l) {
       auto const line = torch::zeros({3, 6, 8});
       return of(
           line, [=](Tensor const& h, std::int64_t i) { line[i % 3].copy_(h); },
           [=](Tensor const& h, std::int64_t i) { return torch::tanh(linear(l, h) + line[(i + 1) % 3].clone()); });
     }},
    {"keys and values: the first i slots are read", wanted::bits,
     [](auto const& l) {
       auto const keys = torch::zeros({n, 8}), values = torch::zeros({n, 8});
       auto p = of(
           keys,
           [=](Tensor const& h, std::int64_t i) {
             keys[i].copy_(torch::sin(h.mean(0))), values[i].copy_(torch::cos(h.mean(0)));
           },
           [=](Tensor const& h, std::int64_t i) {
             auto const k = keys.narrow(0, 0, i + 1).clone(), v = values.narrow(0, 0, i + 1).clone();
             return torch::tanh(linear(l, h) + torch::softmax(h.mm(k.t()), 1).mm(v));
           });
       p.left = [=] { return tensors{keys.clone(), values.clone()}; };
       p.memory = {keys, values};
       return p;
     }},
    {"a trajectory that nobody reads", wanted::bits,
     [](auto const& l) {
       auto const all = torch::zeros({n, 6, 8});
       return of(
           all, [=](Tensor const& h, std::int64_t i) { all[i].copy_(h); },
           [=](Tensor const& h, std::int64_t) { return torch::tanh(linear(l, h)); });
     }},
    {"a ring that nobody reads", wanted::bits,
     [](auto const& l) {
       auto const all = torch::zeros({5, 6, 8});
       return of(
           all, [=](Tensor const& h, std::int64_t i) { all[i % 5].copy_(h); },
           [=](Tensor const& h, std::int64_t) { return torch::tanh(linear(l, h)); });
     }},
    {"sums into the slots of a histogram", wanted::bits,
     [](auto const& l) {
       auto const sums = torch::zeros({3, 8});
       return of(
           sums, [=](Tensor const& h, std::int64_t i) { sums[i % 3].add_(h.mean(0)); },
           [=](Tensor const& h, std::int64_t) { return torch::tanh(linear(l, h)); });
     }},
    {"a counter that some later steps raise", wanted::bits,
     [](auto const& l) {
       auto const count = torch::zeros({1});
       return of(
           count, [=](Tensor const&, std::int64_t i) { if (i % 5 == 4) count.add_(1); },
           [=](Tensor const& h, std::int64_t) { return torch::tanh(linear(l, h)); });
     }},
    {"a mean that later steps move, and all read", wanted::bits,
     [](auto const& l) {
       auto const mean = torch::zeros({8});
       return of(
           mean, [=](Tensor const& h, std::int64_t i) { if (i >= 3) mean.mul_(0.9).add_(h.mean(0), 0.1); },
           [=](Tensor const& h, std::int64_t) { return torch::tanh(linear(l, h) - mean.clone()); });
     }},
    {"a ring that some late steps read", wanted::bits_if_named,
     [](auto const& l) {
       auto const ring = torch::zeros({4, 8});
       return of(
           ring, [=](Tensor const& h, std::int64_t i) { ring[i % 4].copy_(h.mean(0)); },
           [=](Tensor const& h, std::int64_t i) {
             return torch::tanh(i == 11 || i == 14 ? linear(l, h) + ring.sum(0) : linear(l, h));
           });
     }},
    {"a member by assignment", wanted::sentence,
     [](auto const& l) {
       auto const scale = std::make_shared<Tensor>(torch::ones({1}));
       return program{[=](Tensor const& h, std::int64_t) {
                        silent([&] { *scale = *scale * 0.95; });
                        return torch::tanh(linear(l, h) * *scale);
                      },
                      [=] { return tensors{scale->clone()}; }};
     }},
    {"a member by assignment, read by the next step", wanted::sentence,
     [](auto const& l) {
       auto const last = std::make_shared<Tensor>(torch::zeros({6, 8}));
       return program{[=](Tensor const& h, std::int64_t) {
                        auto y = torch::tanh(linear(l, h) + 0.5 * *last);
                        silent([&] { *last = h.detach() * 0.5; });
                        return y;
                      },
                      [=] { return tensors{last->clone()}; }};
     }},
    {"a member that is assigned now and then", wanted::sentence,
     [](auto const& l) {
       auto const last = std::make_shared<Tensor>(torch::zeros({6, 8}));
       return program{[=](Tensor const& h, std::int64_t i) {
                        auto y = torch::tanh(linear(l, h) + 0.5 * *last);
                        if (i % 7 == 5) silent([&] { *last = h.detach() * 0.5; });
                        return y;
                      },
                      [=] { return tensors{last->clone()}; }};
     }},
};

using verb = std::function<Tensor(program const&, Tensor const&)>;

/// Output, gradients, and what is left.
tensors run(kind const& one, verb const& call) {
  seeded const seed{1};
  torch::nn::Linear l(8, 8);
  auto const x = torch::randn({6, 8}).requires_grad_();
  auto const p = one.make(l);
  auto const y = call(p, x);
  tensors all{y.detach().clone()};
  for (auto const& t : p.left()) all.push_back(t);
  for (auto const& g : torch::autograd::grad({y.pow(2).sum()}, {x, l->weight, l->bias})) all.push_back(g);
  for (auto const& t : p.left()) all.push_back(t);
  return all;
}

TEST_CASE("loops whose steps write to memory outside have the bits of the plain loop, or a sentence",
          "[torch][effects]") {
  for (auto const& one : kinds) {
    auto const plain = run(one, [](program const& p, Tensor h) {
      for (int i = 0; i < n; ++i) h = p.f(h, i);
      return h;
    });
    for (auto const& [slots, size] : {std::pair{1, 1}, {2, 1}, {3, 2}, {5, 1}, {24, 1}, {1, 24}})
      for (bool const named : {false, true}) {
        INFO(one.name << (named ? ", named, " : ", ") << slots << " states, blocks of " << size);
        std::string said;
        tensors found;
        try {
          found = run(one, [&, slots = slots, size = size](program const& p, Tensor const& x) {
            auto options = LoopOptions().checkpoints(slots).block_size(size);
            if (named) options.buffers(p.memory);
            return cl::checkpointed_loop(p.f, x, n, options);
          });
        } catch (cairn::invalid_call const& problem) {
          said = problem.what();
        }
        INFO(said);
        if (one.what == wanted::sentence)
          CHECK(said.find("that runs again reads a tensor that it did not read") != std::string::npos);
        else if (one.what == wanted::bits || named || said.empty()) CHECK(same_bits(found, plain));
        else CHECK(said.find("LoopOptions::buffers") != std::string::npos);
      }
  }
}

TEST_CASE("steps that run again make tensors of the type that was the default when the loop began",
          "[torch][effects]") {
  seeded const seed{2};
  auto const x = torch::randn({6, 8}).requires_grad_();
  auto const f = [](Tensor const& h) { return torch::tanh(h * 1.1 + torch::full({8}, 0.1)); };
  Tensor y = x;
  for (int i = 0; i < 6; ++i) y = f(y);
  auto const wanted = torch::autograd::grad({y.sum()}, {x});
  auto const loop = cl::checkpointed_loop(f, x, 6, LoopOptions().checkpoints(2)).sum();
  struct doubles {
    caffe2::TypeMeta before = torch::get_default_dtype();
    doubles() { torch::set_default_dtype(torch::scalarTypeToTypeMeta(torch::kDouble)); }
    ~doubles() { torch::set_default_dtype(before); }
  } const later;
  CHECK(same_bits(torch::autograd::grad({loop}, {x}), wanted));
  CHECK(torch::get_default_dtype() == torch::scalarTypeToTypeMeta(torch::kDouble));
}

TEST_CASE("measuring for a limit leaves what only later steps write to as it was", "[torch][loop][effects]") {
  auto const x = torch::rand({64}).requires_grad_();
  for (cairn::step_index const first : {0, 1, 3}) {
    auto const count = torch::zeros({4});
    auto const counts = [&](Tensor const& s, cairn::step_index i) {
      if (i >= first) count.add_(1);
      return s.sin();
    };
    auto const y = cl::checkpointed_loop(counts, x * 1, 12, LoopOptions().memory_limit("60kB"));
    CHECK(torch::equal(count, torch::full({4}, 12 - first)));
    y.sum().backward();
    CHECK(torch::equal(count, torch::full({4}, 12 - first)));
  }
}

}  // namespace loop_effects_tests
