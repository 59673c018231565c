// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file measured.hpp  A piece of a program in a process of its own: the tensors it makes, and the memory it takes.

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <vector>

#include <torch/torch.h>

#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/loop/step_stats.hpp>

#include "../support/child.hpp"

namespace support {

/// The most that a piece of a program held at once, beyond what was there before.
struct memory_taken {
  std::int64_t tensor_bytes = 0;    ///< of tensors
  std::int64_t resident_bytes = 0;  ///< of the process: tensors, the autograd graph, what the heap wastes
};

/// What it made, and what that took.
struct measured_run {
  memory_taken memory;
  std::vector<std::byte> made;  ///< the tensors' numbers, one tensor after the other
};

namespace detail {

inline void append(std::vector<std::byte>& bytes, void const* from, std::size_t count) {
  if (count == 0) return;
  auto const before = bytes.size();
  bytes.resize(before + count);
  std::memcpy(bytes.data() + before, from, count);
}

}  // namespace detail

/// Runs `work`, which returns a std::vector of tensors, in a child process, so that nothing it leaves behind serves the
/// next one; on one thread, since the heap keeps memory for each. \param warm_up  is called there before: what LibTorch
/// makes at its first use, and its code that is loaded then, is not the work's \throws std::runtime_error if the child
/// failed; it has said why
template <class WarmUp, class Work>
[[nodiscard]] measured_run measure(WarmUp warm_up, Work work) {
  auto made = run_in_child([&] {
    torch::set_num_threads(1);
    (void)warm_up();
    malloc_trim(0);                                // or free memory of before would be taken first, unseen
    std::ofstream{"/proc/self/clear_refs"} << "5";  // the most so far is what is there now
    memory_taken memory;
    memory.resident_bytes = -std::int64_t(cairn::libtorch::process_memory().resident);
    std::vector<std::byte> bytes;
    {
      cairn::libtorch::byte_meter const meter;
      std::vector<torch::Tensor> const tensors = work();
      memory.tensor_bytes = meter.peak();
      memory.resident_bytes += std::int64_t(cairn::libtorch::process_memory().peak);
      detail::append(bytes, &memory, sizeof memory);
      for (torch::Tensor const& tensor : tensors) {
        auto const dense = tensor.detach().contiguous();
        detail::append(bytes, dense.data_ptr(), dense.nbytes());
      }
    }
    return bytes;
  });
  if (!made || made->size() < sizeof(memory_taken)) throw std::runtime_error{"the child process failed"};
  measured_run run;
  std::memcpy(&run.memory, made->data(), sizeof run.memory);
  run.made.assign(made->begin() + sizeof run.memory, made->end());
  return run;
}

/// What a loop did and took, said in the child while it works.
inline void print(cairn::libtorch::StepStats const& report) {
  std::printf("the loop's own report:\n%s", report.table().c_str());
  std::fflush(stdout);  // a child does not do so at its end
}
/// One line of what a run took.
inline void print(char const* name, memory_taken const& memory) {
  std::printf("%-14s %8.3f MB of tensors, resident memory rises by %7.3f MB\n", name, double(memory.tensor_bytes) / 1e6,
              double(memory.resident_bytes) / 1e6);
}

}  // namespace support
