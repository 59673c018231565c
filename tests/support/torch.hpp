// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file torch.hpp  LibTorch and Catch2 together: both define CHECK, and the tests' own is the one that stays.
#include <torch/torch.h>
#undef CHECK
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>
#include "support/catch.hpp"
#include "support/said.hpp"

namespace cairn::libtorch {}
namespace cl = cairn::libtorch;  // as users shorten it

namespace support {

/// Whether both are undefined, or have the same sizes, type and bits. Strides do not count.
inline bool same_bits(at::Tensor const& a, at::Tensor const& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  auto const x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}
/// The same of two lists.
inline bool same_bits(std::vector<at::Tensor> const& a, std::vector<at::Tensor> const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) if (!same_bits(a[k], b[k])) return false;
  return true;
}

/// The gradients that stand in the tensors, and none there any more.
inline std::vector<at::Tensor> take_grads(std::vector<at::Tensor> const& tensors) {
  std::vector<at::Tensor> grads;
  for (auto const& t : tensors) {
    grads.push_back(t.grad());
    t.mutable_grad() = at::Tensor{};
  }
  return grads;
}

/// The gradients by x and the weights w of results y, one after another, in one pass for each stretch between two
/// cuts.
inline std::vector<at::Tensor> grads_in_passes(std::vector<at::Tensor> const& y, at::Tensor const& x,
                                               std::vector<at::Tensor> const& w, std::vector<std::size_t> cuts,
                                               bool retains = false) {
  at::Tensor seed = torch::ones_like(y.back());
  std::vector<at::Tensor> found;
  auto end = y.size();
  while (end > 0) {
    auto const begin = cuts.empty() ? 0 : cuts.back();
    if (!cuts.empty()) cuts.pop_back();
    std::vector<at::Tensor> by{begin == 0 ? x : y[begin - 1]};
    by.insert(by.end(), w.begin() + std::ptrdiff_t(begin), w.begin() + std::ptrdiff_t(end));
    auto const grads = torch::autograd::grad({y[end - 1]}, by, {seed}, retains);
    seed = grads[0];
    found.insert(found.end(), grads.begin(), grads.end());
    end = begin;
  }
  return found;
}

/// Seeds the generators for as long as it lives, and puts their states back.
class seeded {
 public:
  explicit seeded(std::uint64_t seed) : before_{at::detail::getDefaultCPUGenerator().get_state()} {
    torch::manual_seed(seed);
  }
  seeded(seeded const&) = delete;
  seeded& operator=(seeded const&) = delete;
  ~seeded() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(before_);
  }

 private:
  at::Tensor before_;
};

}  // namespace support
