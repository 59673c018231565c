// SPDX-License-Identifier: Apache-2.0
// Heat in two dimensions by rows over ranks, reversed with and without a collective: messages of a sweep, and its time.
//   heat_cost [--collective] [--rounds R] [ROWS COLUMNS STEPS SLOTS]
// Prints, of rank 0: messages, seconds and a number of the gradient. Messages are counted where MPI is called; a
// reduction, a broadcast or a gathering counts as one for each doubling of ranks.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cairn/adapt/mpi.hpp>
#include <cairn/cairn.hpp>

namespace {

long messages = 0;
void count_doublings() {
  int size = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int reached = 1; reached < size; reached *= 2) ++messages;
}

}  // namespace

// The names under which MPI may be watched.
extern "C" {
int MPI_Sendrecv(void const* out, int count, MPI_Datatype of, int to, int tag, void* in, int room, MPI_Datatype as,
                 int from, int other, MPI_Comm comm, MPI_Status* status) {
  ++messages;
  return PMPI_Sendrecv(out, count, of, to, tag, in, room, as, from, other, comm, status);
}
int MPI_Iallreduce(void const* out, void* in, int count, MPI_Datatype of, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  count_doublings();
  return PMPI_Iallreduce(out, in, count, of, op, comm, request);
}
int MPI_Allreduce(void const* out, void* in, int count, MPI_Datatype of, MPI_Op op, MPI_Comm comm) {
  count_doublings();
  return PMPI_Allreduce(out, in, count, of, op, comm);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype of, int from, MPI_Comm comm, MPI_Request* request) {
  count_doublings();
  return PMPI_Ibcast(data, count, of, from, comm, request);
}
}

namespace {

using field = std::vector<double>;

/// The rows of one rank, with a row of a neighbour above and below; outside the plate it is 0.
struct plate {
  int rows, columns, up, down;
  void exchange(field& x) const {
    auto const row = [&](int k) { return x.data() + std::size_t(k) * std::size_t(columns); };
    MPI_Sendrecv(row(1), columns, MPI_DOUBLE, up, 1, row(rows + 1), columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(rows), columns, MPI_DOUBLE, down, 2, row(0), columns, MPI_DOUBLE, up, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  /// One step; the matrix is symmetric, so that it is its own adjoint.
  void step(field& x) const {
    exchange(x);
    field const old = x;
    for (int r = 1; r <= rows; ++r)
      for (int c = 0; c < columns; ++c) {
        auto const at = std::size_t(r) * std::size_t(columns) + std::size_t(c);
        double const left = c > 0 ? old[at - 1] : 0, right = c + 1 < columns ? old[at + 1] : 0;
        x[at] = old[at] +
                0.1 * (left + right + old[at - std::size_t(columns)] + old[at + std::size_t(columns)] - 4 * old[at]);
      }
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool together = false;
  int rounds = 1, given = 0;
  long numbers[4] = {128, 128, 200, 10};  // rows, columns, steps, slots
  for (int k = 1; k < argc; ++k)
    if (std::strcmp(argv[k], "--collective") == 0) together = true;
    else if (std::strcmp(argv[k], "--rounds") == 0 && k + 1 < argc) rounds = std::atoi(argv[++k]);
    else if (given < 4) numbers[given++] = std::atol(argv[k]);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int const rows = int(numbers[0]), columns = int(numbers[1]);
  plate const own{rows * (rank + 1) / size - rows * rank / size, columns, rank > 0 ? rank - 1 : MPI_PROC_NULL,
                  rank + 1 < size ? rank + 1 : MPI_PROC_NULL};
  field x0(std::size_t(own.rows + 2) * std::size_t(columns), 1.0);
  auto const step = [&](field& x, cairn::step_index) { own.step(x); };
  auto const adjoint = [&](field const&, field& bar, cairn::step_index) { own.step(bar); };
  cairn::revolve const plan{numbers[2], cairn::slot_index(numbers[3])};
  cairn::collective const with{MPI_COMM_WORLD};
  auto work = cairn::workspace_for<field>(plan);
  auto const sweep = [&] {
    return together ? cairn::gradient(step, x0, plan, x0, adjoint, with, work)
                    : cairn::gradient(step, x0, plan, x0, adjoint, work);
  };
  double sum = 0;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    messages = 0;
    auto const begun = std::chrono::steady_clock::now();
    auto const bar = sweep();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    sum = bar[std::size_t(columns)];
  }
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0) std::printf("messages %ld seconds %.6f gradient %.17g\n", messages, seconds[seconds.size() / 2], sum);
  MPI_Finalize();
}
