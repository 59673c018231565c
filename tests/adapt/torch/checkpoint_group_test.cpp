// SPDX-License-Identifier: Apache-2.0
// Backward passes of one group make a region again once together.
#include "support/torch.hpp"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <c10/util/Exception.h>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_group.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace checkpoint_group_tests {

using at::Tensor;
using cl::checkpoint;
using cl::checkpoint_group_guard;
using cl::CheckpointGroup;
using cl::CheckpointOptions;
using support::grads_in_passes;
using support::message_of;
using support::said;
using support::same_bits;
using support::seeded;
using tensors = std::vector<Tensor>;

/// Operators that regions have run again since it began.
class counted_again {
 public:
  [[nodiscard]] std::int64_t operator()() const { return cl::detail::region_totals()->again - before_; }

 private:
  std::int64_t before_ = cl::detail::region_totals()->again;
};

/// A chain of operations with dropout, all of whose results are returned, so that passes can go through single ones.
struct chain {
  tensors w;
  explicit chain(std::size_t parts) {
    while (w.size() < parts) w.push_back(torch::randn({4, 4}).requires_grad_());
  }
  tensors operator()(Tensor x) const {
    tensors all;
    for (auto const& one : w) all.push_back(x = torch::dropout(x.mm(one).tanh(), 0.5, true));
    return all;
  }
};

TEST_CASE("the passes of a group make a region again once, and have the bits of passes through the plain graph",
          "[torch][checkpoint]") {
  seeded const seed{1};
  std::mt19937 random{7};
  auto const x = torch::randn({4, 4}).requires_grad_();
  for (int trial = 0; trial < 24; ++trial) {
    chain const f{2 + random() % 6};
    std::vector<std::size_t> cuts;
    for (std::size_t k = 1; k < f.w.size(); ++k) if (random() % 2 == 0) cuts.push_back(k);
    auto const options = CheckpointOptions().verify(trial % 2 == 0);
    auto const numbers = at::detail::getDefaultCPUGenerator().get_state();
    auto const from_there = [&] {
      at::Generator generator = at::detail::getDefaultCPUGenerator();
      generator.set_state(numbers);
    };
    from_there();
    auto const plain = grads_in_passes(f(x), x, f.w, cuts);
    from_there();
    auto const once = [&] {
      auto const y = checkpoint(f, x, options);
      counted_again const again;
      (void)grads_in_passes(y, x, f.w, {});
      return again();
    }();
    from_there();
    {
      auto const y = checkpoint(f, x, options);
      counted_again const again;
      CHECK(same_bits(grads_in_passes(y, x, f.w, cuts), plain));
      CHECK((again() > once) == !cuts.empty());  // each pass by itself
    }
    {
      from_there();
      CheckpointGroup const group;
      auto const y = checkpoint(f, x, options);
      checkpoint_group_guard const in{group};
      counted_again const again;
      CHECK(same_bits(grads_in_passes(y, x, f.w, cuts), plain));
      CHECK(again() == once);
    }
    {  // the region is of the group; its passes have no guard, and one is in another thread
      from_there();
      CheckpointGroup const group;
      std::optional<checkpoint_group_guard> in{group};
      auto const y = checkpoint(f, x, options);
      in.reset();
      tensors found;
      counted_again const again;
      std::thread([&] { found = grads_in_passes(y, x, f.w, cuts); }).join();
      CHECK(same_bits(found, plain));
      CHECK(again() == once);
    }
  }
}

TEST_CASE("regions within regions and one after another are made again once in a group", "[torch][checkpoint]") {
  auto const x = torch::randn({4, 4}).requires_grad_();
  auto const inner = [](Tensor const& t) { return t.exp().tanh(); };
  auto const outer = [&](Tensor const& t) {
    auto const half = checkpoint(inner, t.sin());
    return std::pair{half, checkpoint(inner, half.cos())};
  };
  auto const passes = [&](auto const& first, auto const& second) {
    auto const by_first = torch::autograd::grad({second}, {first}, {torch::ones({4, 4})});
    return torch::autograd::grad({first}, {x}, by_first)[0];
  };
  auto const [a, b] = outer(x);
  auto const plain = passes(a, b);
  auto const again_of = [&](CheckpointGroup const* group) {
    auto const [y, z] = checkpoint(outer, x);
    auto const [u, v] = checkpoint(outer, z);
    std::optional<checkpoint_group_guard> in;
    if (group != nullptr) in.emplace(*group);
    counted_again const again;
    CHECK(same_bits(passes(y, z), plain));
    torch::autograd::grad({v}, {u}, {torch::ones({4, 4})});
    torch::autograd::grad({u}, {z}, {torch::ones({4, 4})});
    return again();
  };
  CheckpointGroup const group;
  CHECK(again_of(&group) < again_of(nullptr));
}

TEST_CASE("groups and passes without one follow each other on a retained graph", "[torch][checkpoint]") {
  seeded const seed{2};
  auto const x = torch::randn({4, 4}).requires_grad_();
  chain const f{4};
  auto const y = checkpoint(f, x);
  auto const once = [&] {
    counted_again const again;
    (void)grads_in_passes(y, x, f.w, {}, true);
    return again();
  }();
  auto const alone = grads_in_passes(y, x, f.w, {2}, true);
  CheckpointGroup const one, two;
  for (auto const* const group : {&one, &two}) {
    checkpoint_group_guard const in{*group};
    checkpoint_group_guard const twice{*group};
    counted_again const again;
    CHECK(same_bits(grads_in_passes(y, x, f.w, {2}, true), alone));
    CHECK(again() == once);
  }
  CHECK(same_bits(grads_in_passes(y, x, f.w, {2}, true), alone));
}

TEST_CASE("a pass between those of a group has its gradients, and so have they", "[torch][checkpoint]") {
  auto const x = torch::randn({4, 4}).requires_grad_();
  chain const f{4};
  auto const y = checkpoint(f, x);
  auto const half = [&](std::size_t from, Tensor const& to) {
    return torch::autograd::grad({y[from]}, {to}, {torch::ones({4, 4})}, true)[0];
  };
  auto const upper = half(3, y[1]), lower = half(1, x);
  CheckpointGroup const one, two;
  auto const within = [&](CheckpointGroup const& group, std::size_t from, Tensor const& to) {
    checkpoint_group_guard const in{group};
    return half(from, to);
  };
  CHECK(same_bits(within(one, 3, y[1]), upper));
  CHECK(same_bits(within(two, 1, x), lower));
  CHECK(same_bits(half(3, y[1]), upper));
  CHECK(same_bits(within(two, 3, y[1]), upper));
  CHECK(same_bits(within(one, 1, x), lower));
}

TEST_CASE("what a group holds goes at its end, and with the graph", "[torch][checkpoint]") {
  auto const x = torch::randn({64, 64}).requires_grad_();
  constexpr std::int64_t size = 64 * 64 * 4;
  auto const f = [](Tensor const& t) {
    auto const y = t.sin().cos();
    return std::pair{y, y.tanh().sigmoid()};
  };
  auto const held_after = [&](auto const& then) {
    CheckpointGroup group;
    std::optional y{checkpoint(f, x)};
    cl::byte_meter const meter;
    {
      checkpoint_group_guard const in{group};
      torch::autograd::grad({y->second}, {y->first}, {torch::ones({64, 64})});
    }
    CHECK(meter.allocated() >= 1 * size);  // what the other half needs
    then(group, y);
    return meter.allocated();
  };
  auto const rest = held_after([](CheckpointGroup& group, auto&) { group.end(); });
  CHECK(rest < size);
  CHECK(held_after([](CheckpointGroup&, auto& y) { y.reset(); }) < size);
}

TEST_CASE("a group that has ended and two groups at once are refused", "[torch][checkpoint]") {
  auto const x = torch::randn({4, 4}).requires_grad_();
  chain const f{3};
  auto const back = [&](tensors const& y, bool retains) {
    return [&y, retains] { y.back().sum().backward({}, retains); };
  };
  SECTION("not one that runs the same nodes twice") {
    auto const y = checkpoint(f, x);
    CheckpointGroup const group;
    checkpoint_group_guard const in{group};
    back(y, true)();
    auto const first = x.grad().clone();
    back(y, false)();
    CHECK(same_bits(x.grad(), first + first));
    CHECK_THROWS_AS(back(y, false)(), c10::Error);  // LibTorch's own: the graph is gone
  }
  SECTION("ended") {
    std::optional<CheckpointGroup> group{std::in_place};
    std::optional<checkpoint_group_guard> in{*group};
    auto const y = checkpoint(f, x);
    in.reset();
    group.reset();
    CHECK(said<cairn::invalid_call>(back(y, true)).find("the group has ended") != std::string::npos);
    CheckpointGroup other;
    {
      checkpoint_group_guard const within{other};
      back(y, true)();  // the guard of the pass counts first
    }
    other.end();
    CHECK(said<cairn::invalid_call>([&] { checkpoint_group_guard const late{other}; }).find("the group has ended") !=
          std::string::npos);
  }
  SECTION("ended under its guard") {
    auto const y = checkpoint(f, x);
    CheckpointGroup group;
    {
      checkpoint_group_guard const in{group};
      group.end();
      CHECK(said<cairn::invalid_call>(back(y, true)).find("the group has ended") != std::string::npos);
    }
    back(y, false)();
  }
  SECTION("two at once") {
    CheckpointGroup const one, two;
    checkpoint_group_guard const in{one};
    CHECK(said<cairn::invalid_call>([&] { checkpoint_group_guard const inner{two}; })
              .find("another group is in force in this thread") != std::string::npos);
  }
}

}  // namespace checkpoint_group_tests
