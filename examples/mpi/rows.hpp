// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file rows.hpp  The rows of a grid over the ranks of a communicator: which rows a rank owns, the exchange of the
/// rows at its edges, sums whose bits do not depend on the number of ranks, and whole fields. An error of MPI's ends
/// all ranks, which is the default.

#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <mpi.h>

namespace mpi {

/// MPI from here to the end of `main`.
class session {
 public:
  session(int& count, char**& words) { MPI_Init(&count, &words); }
  session(session const&) = delete;
  ~session() { MPI_Finalize(); }
};

[[nodiscard]] inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
[[nodiscard]] inline int ranks_in(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}
/// Waits for messages, and soon asleep, so that other ranks run meanwhile. MPI_Waitall may spin: that is best where
/// each rank has a core, and takes milliseconds a message where they share cores, as in tests.
inline void wait(int count, MPI_Request* pending) {
  int done = 0;
  for (int tries = 0; MPI_Testall(count, pending, &done, MPI_STATUSES_IGNORE), done == 0;)
    if (++tries > 20) std::this_thread::sleep_for(std::chrono::microseconds{20});
}
/// What rank 0 says, on all ranks.
[[nodiscard]] inline bool as_on_rank_0(MPI_Comm comm, bool said) {
  int word = said;
  MPI_Bcast(&word, 1, MPI_INT, 0, comm);
  return word != 0;
}

/// The rows of a grid that this rank owns. A field has a row more above them and one below, the halo.
class row_block {
 public:
  /// \throws std::invalid_argument   on all ranks, for fewer than `least` rows a rank
  row_block(MPI_Comm comm, std::size_t rows, std::size_t columns, std::size_t least = 1)
      : comm_{comm}, columns_{int(columns)} {
    auto const rank = std::size_t(rank_in(comm)), ranks = std::size_t(ranks_in(comm));
    if (rows < least * ranks) throw std::invalid_argument{"the grid has too few rows for so many ranks"};
    for (std::size_t r = 0; r <= ranks; ++r) firsts_.push_back(int(rows * r / ranks));
    for (std::size_t r = 0; r < ranks; ++r) counts_.push_back(firsts_[r + 1] - firsts_[r]);
    first_ = std::size_t(firsts_[rank]);
    count_ = std::size_t(counts_[rank]);
    above_ = rank > 0 ? int(rank) - 1 : MPI_PROC_NULL;
    below_ = rank + 1 < ranks ? int(rank) + 1 : MPI_PROC_NULL;
  }

  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t last() const noexcept { return first_ + count_; }
  [[nodiscard]] bool has_above() const noexcept { return above_ != MPI_PROC_NULL; }
  [[nodiscard]] bool has_below() const noexcept { return below_ != MPI_PROC_NULL; }

  /// Copies the neighbours' edge rows into the halo. At an end of the grid the halo stays as it is.
  /// \param first_row  the first row that this rank owns; one row lies before it
  void exchange(double* first_row) const {
    double* const last_row = first_row + (count_ - 1) * std::size_t(columns_);
    MPI_Request pending[4];
    MPI_Irecv(first_row - columns_, columns_, MPI_DOUBLE, above_, 0, comm_, &pending[0]);
    MPI_Irecv(last_row + columns_, columns_, MPI_DOUBLE, below_, 1, comm_, &pending[1]);
    MPI_Isend(last_row, columns_, MPI_DOUBLE, below_, 0, comm_, &pending[2]);
    MPI_Isend(first_row, columns_, MPI_DOUBLE, above_, 1, comm_, &pending[3]);
    wait(4, pending);
  }
  /// The sum of one number a row, on all ranks. It is added up from the first row of the grid to the last, so that its
  /// bits are the same on any number of ranks; those of MPI_Allreduce with MPI_SUM are not.
  [[nodiscard]] double sum(std::vector<double> const& of_rows) const {
    std::vector<double> all(std::size_t(firsts_.back()));
    MPI_Request pending = MPI_REQUEST_NULL;
    MPI_Iallgatherv(of_rows.data(), int(count_), MPI_DOUBLE, all.data(), counts_.data(), firsts_.data(), MPI_DOUBLE,
                    comm_, &pending);
    wait(1, &pending);
    return std::accumulate(all.begin(), all.end(), 0.0);
  }
  /// All rows of the grid on rank 0, and nothing on the others.
  [[nodiscard]] std::vector<double> whole(double const* first_row) const {
    MPI_Datatype row = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(columns_, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    std::vector<double> all(rank_in(comm_) == 0 ? std::size_t(firsts_.back()) * std::size_t(columns_) : 0);
    MPI_Gatherv(first_row, int(count_), row, all.data(), counts_.data(), firsts_.data(), row, 0, comm_);
    MPI_Type_free(&row);
    return all;
  }

 private:
  MPI_Comm comm_;
  int columns_, above_ = MPI_PROC_NULL, below_ = MPI_PROC_NULL;
  std::size_t first_ = 0, count_ = 0;
  std::vector<int> firsts_, counts_;  // of all ranks, and the number of rows at the end of firsts_
};

[[nodiscard]] inline bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

}  // namespace mpi
