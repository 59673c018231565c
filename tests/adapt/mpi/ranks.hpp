// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests on several ranks share: claims that all ranks check alike, and a ring of heat whose steps communicate.
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/mpi.hpp>
#include <cairn/cairn.hpp>

namespace ranks {

using cairn::step_index;

/// Waits with pauses: there are more ranks than cores, and some MPIs wait busily.
template <std::size_t Count>
void wait_for_all(MPI_Request (&pending)[Count]) {
  for (int done = 0, tests = 0; MPI_Testall(int(Count), pending, &done, MPI_STATUSES_IGNORE), done == 0; ++tests)
    if (tests > 100) std::this_thread::sleep_for(std::chrono::microseconds{20});
}

/// Claims that do not hold on this rank.
inline int& failures() {
  static int count = 0;
  return count;
}
/// Says where a claim does not hold, and goes on: a rank that left would leave the others waiting.
inline void claim(bool holds, std::string const& what = {},
                  std::source_location const& at = std::source_location::current()) {
  if (holds) return;
  ++failures();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("%s:%u: does not hold on rank %d %s\n", at.file_name(), unsigned(at.line()), rank, what.c_str());
  std::fflush(stdout);
}
/// Runs the checks on all ranks; 0 on all ranks if every claim holds on every rank.
template <class... Check>
int run(int argc, char** argv, Check... checks) {
  MPI_Init(&argc, &argv);
  (checks(), ...);
  int sum = 0;
  MPI_Allreduce(&failures(), &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf(sum == 0 ? "every claim holds\n" : "%d claims do not hold\n", sum);
  MPI_Finalize();
  return sum == 0 ? 0 : 1;
}

/// What a call threw on this rank: empty strings if nothing.
struct thrown {
  bool any = false;
  int rank = -1;
  cairn::collective_cause cause = cairn::collective_cause::exception;
  std::string text;
  bool has_original = false;
};
template <class F>
thrown thrown_by(F f) {
  try {
    f();
  } catch (cairn::collective_error const& e) {
    return {true, e.rank, e.cause, e.what(), bool(e.original)};
  }
  return {};
}
/// Whether all ranks have the same text.
inline bool alike(std::string const& text) {
  unsigned long long const hash = std::hash<std::string>{}(text) >> 2;
  long long const own[2] = {static_cast<long long>(hash), -static_cast<long long>(hash)};
  long long least[2] = {};
  MPI_Request pending[1];
  MPI_Iallreduce(own, least, 2, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD, pending);
  wait_for_all(pending);
  return least[0] == -least[1];
}

using state = std::vector<double>;

/// Heat on a ring of cells, of which each rank holds a piece. Every cell is summed alike on any number of ranks.
struct ring {
  MPI_Comm comm;
  int rank = 0, size = 1;

  explicit ring(MPI_Comm over) : comm{over} {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  /// This rank's piece of all cells.
  [[nodiscard]] state part(int cells) const {
    state x;
    for (int k = cells * rank / size; k < cells * (rank + 1) / size; ++k) x.push_back(1 + 0.25 * double(k * k % 7));
    return x;
  }
  /// The numbers on both sides of this piece.
  [[nodiscard]] std::pair<double, double> neighbours(state const& x) const {
    int const left = (rank + size - 1) % size, right = (rank + 1) % size;
    double before = 0, after = 0;
    MPI_Request pending[4];
    MPI_Irecv(&before, 1, MPI_DOUBLE, left, 1, comm, &pending[0]);
    MPI_Irecv(&after, 1, MPI_DOUBLE, right, 2, comm, &pending[1]);
    MPI_Isend(&x.back(), 1, MPI_DOUBLE, right, 1, comm, &pending[2]);
    MPI_Isend(&x.front(), 1, MPI_DOUBLE, left, 2, comm, &pending[3]);
    wait_for_all(pending);
    return {before, after};
  }
  void step(state& x, step_index) const {
    auto const [before, after] = neighbours(x);
    state const old = x;
    for (std::size_t k = 0; k < x.size(); ++k) {
      double const l = k > 0 ? old[k - 1] : before, r = k + 1 < x.size() ? old[k + 1] : after;
      x[k] = old[k] + 0.2 * (l - 2 * old[k] + r) + 0.01 * old[k] * old[k];
    }
  }
  /// The ring is symmetric: the transpose exchanges the same halo, of bar.
  void adjoint(state const& x, state& bar, step_index) const {
    auto const [before, after] = neighbours(bar);
    state const old = bar;
    for (std::size_t k = 0; k < x.size(); ++k) {
      double const l = k > 0 ? old[k - 1] : before, r = k + 1 < x.size() ? old[k + 1] : after;
      bar[k] = old[k] + 0.2 * (l - 2 * old[k] + r) + 0.02 * x[k] * old[k];
    }
  }
};

/// This rank's piece of 24 cells, and a seed of ones.
struct ring_of_24 : ring {
  ring_of_24() : ring{MPI_COMM_WORLD}, x0{part(24)}, seed(x0.size(), 1.0) {}
  state x0, seed;
};

}  // namespace ranks
