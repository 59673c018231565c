// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file node.hpp  The ranks that share one machine: its memory and its devices.
#include <mpi.h>

#include <cairn/core/bytes.hpp>

namespace cairn {

/// The place of a rank among those of its communicator that run on the same machine.
struct node_place {
  int rank = 0;  ///< 0 .. size - 1; also the number of its device, if each rank has one
  int size = 1;  ///< ranks on this machine
  /// This rank's share of a budget of the whole machine.
  [[nodiscard]] byte_size share(byte_size of_node) const noexcept {
    return byte_size{of_node.count() / unsigned(size)};
  }
};

/// The place of this rank among those of its machine (MPI_COMM_TYPE_SHARED). All ranks of `comm` make the call.
[[nodiscard]] inline node_place place_on_node(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  node_place found;
  MPI_Comm_rank(node, &found.rank);
  MPI_Comm_size(node, &found.size);
  MPI_Comm_free(&node);
  return found;
}

}  // namespace cairn
