// SPDX-License-Identifier: Apache-2.0
// A loop in bounded memory as an operation of PyTorch: Python loads this library and calls
// torch.ops.cairn_example.evolve(x, w, 1000, 16, 8) as it calls an operation of PyTorch's own. evolve.py uses it. The
// step stays in C++; what comes in and goes out are tensors of Python, with gradients.

#include <cstdint>
#include <string>

#include <torch/torch.h>

#include <torch/library.h>

#include <cairn/adapt/torch.hpp>

namespace cl = cairn::libtorch;

namespace {

using at::Tensor;

/// One step of a small network that is applied to its own output. \param x  batch x units   \param w  units x units
Tensor step(Tensor const& x, Tensor const& w) { return x + 0.1 * torch::dropout(torch::tanh(x.mm(w)), 0.1, true); }

/// All steps with their tapes, for comparison.
Tensor plain(Tensor const& x, Tensor const& w, std::int64_t steps) {
  auto now = x;
  for (std::int64_t i = 0; i < steps; ++i) now = step(now, w);
  return now;
}

/// The same in bounded memory. The graph keeps the step until backward: it holds `w` by value, because this function's
/// argument ends before.
Tensor evolve(Tensor const& x, Tensor const& w, std::int64_t steps, std::int64_t checkpoints, std::int64_t block_size) {
  return cl::checkpointed_loop([w](Tensor const& now) { return step(now, w); }, x, steps,
                                  cl::LoopOptions().checkpoints(checkpoints).block_size(block_size));
}

/// The same within a limit such as "1MB".
Tensor evolve_within(Tensor const& x, Tensor const& w, std::int64_t steps, std::string const& limit) {
  return cl::checkpointed_loop([w](Tensor const& now) { return step(now, w); }, x, steps,
                               cl::LoopOptions().memory_limit(limit));
}

/// A part that keeps only its input. A region would be refused in Python; a loop of one step is not.
Tensor once(Tensor const& x, Tensor const& w) {
  return cl::checkpointed_loop([w](Tensor const& now) { return step(step(now, w), w); }, x, 1, cl::LoopOptions());
}

/// A region, which needs LibTorch's own engine.
Tensor region(Tensor const& x, Tensor const& w) {
  return cl::checkpoint([w](Tensor const& now) { return step(now, w); }, x);
}

}  // namespace

TORCH_LIBRARY(cairn_example, library) {
  library.def("plain", &plain);
  library.def("evolve", &evolve);
  library.def("evolve_within", &evolve_within);
  library.def("once", &once);
  library.def("region", &region);
}
