// SPDX-License-Identifier: Apache-2.0
// Blocks of tensors that go back to the system when they end. Children set it, for a setting of the C library stays.
#include "support/torch.hpp"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/memory/resident_memory.hpp>
#include "../../../examples/support/child.hpp"

namespace resident_memory_tests {

using at::Tensor;

constexpr std::size_t tensors = 200;

/// What a child saw of its resident memory.
struct sizes {
  std::int64_t given_back = 0;  ///< at the end of every other of many tensors
  std::int64_t grown = 0;  ///< after the ends of three graphs
  bool is_set = false;
};

std::int64_t resident() { return std::int64_t(cl::process_memory().resident); }

/// \param sets  whether the setting is made there
sizes in_child(bool sets) {
  auto const bytes = support::run_in_child([&] {
    torch::set_num_threads(1);
    sizes found;
    (void)torch::ones({1 << 20});  // its end raises the size from which the C library gives blocks back
    if (sets) found.is_set = cl::return_large_blocks();
    auto const w = torch::randn({256, 256}).mul_(0.01).requires_grad_(), x = torch::randn({256, 256});
    auto const graph = [&] {  // without a backward pass, which LibTorch refuses in a child of a process that ran one
      Tensor y = x;
      for (int k = 0; k < 24; ++k)
        y = cl::checkpoint([&](Tensor const& t) { return torch::tanh(torch::sin(t.mm(w)).mm(w)) + t; }, y);
    };
    graph();  // what LibTorch makes once
    {
      std::vector<Tensor> all;
      for (std::size_t k = 0; k < tensors; ++k) all.push_back(torch::ones({64 << 10}));
      found.given_back = resident();
      for (std::size_t k = 0; k < tensors; k += 2) all[k] = Tensor{};
      found.given_back -= resident();
    }
    auto const before = resident();
    for (int k = 0; k < 3; ++k) graph();
    found.grown = resident() - before;
    std::vector<std::byte> made(sizeof found);
    std::memcpy(made.data(), &found, sizeof found);
    return made;
  });
  sizes found;
  REQUIRE(bytes);
  REQUIRE(bytes->size() == sizeof found);
  std::memcpy(&found, bytes->data(), sizeof found);
  return found;
}

TEST_CASE("with return_large_blocks the resident memory of the process follows its tensors", "[torch][memory]") {
  auto const set = in_child(true);
  if (!set.is_set) CAIRN_SKIP("this C library has no such setting");
  auto const unset = in_child(false);
  constexpr std::int64_t ended = tensors / 2 * (256 << 10);
  CAPTURE(set.given_back, unset.given_back, set.grown, unset.grown);
  CHECK(set.given_back > ended / 10 * 9);
  CHECK(set.grown < (4 << 20));
  CHECK(unset.given_back < ended / 2);  // or the test would show nothing
}

TEST_CASE("a size out of the range of the C library is refused", "[torch][memory]") {
  for (std::size_t const bytes : {std::size_t{0}, std::size_t{4095}, (std::size_t{32} << 20) + 1})
    CHECK(support::said<cairn::invalid_call>([&] { (void)cl::return_large_blocks(bytes); })
              .find("blocks of this size cannot be given back one by one") != std::string::npos);
}

}  // namespace resident_memory_tests
