// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file agreement.hpp  What ranks agree on where each keeps its part of a sweep on disk.
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/mpi/detail/rendezvous.hpp>

namespace cairn::detail {

/// Has the members of `one_process`; each is a round of the ranks.   \throws collective_error   on all ranks
class agreement {
 public:
  static constexpr bool together = true;
  agreement(rendezvous const& with, char const* operation) : with_{with}, operation_{operation} {}

  [[nodiscard]] int rank() const noexcept { return with_.ranks().rank(); }
  [[nodiscard]] int size() const noexcept { return with_.ranks().size(); }
  void goes_on_in(char const* operation) noexcept { operation_ = operation; }
  void meet() const { (void)with_.on_disk(operation_, {}); }
  [[nodiscard]] std::uint64_t least(std::uint64_t own) const { return voted(own).least(0); }
  [[nodiscard]] bool same(std::uint64_t own) const { return voted(own).same(0); }
  void least_of_each(std::int64_t* values, std::size_t count) const {
    meet();
    with_.ranks().least_of_each(values, count);
  }
  void gather(void const* own, void* into, std::size_t bytes) const {
    meet();
    with_.ranks().gather(own, into, bytes);
  }

 private:
  [[nodiscard]] ballot voted(std::uint64_t own) const {
    ballot mine;
    mine.put(0, own);
    return with_.on_disk(operation_, mine);
  }
  rendezvous with_;  // a kept run may outlive its `collective`
  char const* operation_;
};

}  // namespace cairn::detail
