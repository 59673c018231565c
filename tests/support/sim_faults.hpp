// SPDX-License-Identifier: Apache-2.0
// What a simulated program did wrong. Faults are kept, not thrown: they are found in destructors, too.
#pragma once
#include <array>
#include <cstddef>
#include <string>

namespace sim {

enum class fault {
  race,  ///< two accesses, one a write, in no order
  freed_in_flight,  ///< memory freed that the host does not know to be out of use
  use_after_free,  ///< memory used that is free, or freed twice
  out_of_range,  ///< bytes that are no memory of the simulator's, or reach beyond it
  wrong_memory,  ///< a copy that does not go between the memories it says, or to host memory that is not pinned
  destroyed_in_use,  ///< a stream or event destroyed that the host does not know to be out of use
  dead_handle,  ///< a stream or event used that is none, or is destroyed
  not_quiet  ///< taken, freed, pinned, made, destroyed or device synchronised where `no_allocations_from_here` holds
};
inline constexpr std::size_t fault_kinds = 8;

class fault_list {
 public:
  void add(fault kind, std::string const& what) {
    if (total() == 0) first_ = what;
    ++counts_[std::size_t(kind)];
  }
  [[nodiscard]] std::size_t of(fault kind) const { return counts_[std::size_t(kind)]; }
  [[nodiscard]] std::size_t total() const {
    std::size_t sum = 0;
    for (std::size_t const count : counts_) sum += count;
    return sum;
  }
  [[nodiscard]] std::string const& first() const { return first_; }

 private:
  std::array<std::size_t, fault_kinds> counts_{};
  std::string first_;
};

}  // namespace sim
