// SPDX-License-Identifier: Apache-2.0
// Heat in the wall of a tube whose rows lie on several ranks, and the gradient through 120 steps.
//   mpirun -n 4 cairn_example_mpi_heat_rows
//
// A step is  u' = u + k L u - c u^3 + h (1 - mean of u):  heat is conducted, radiated, and a thermostat holds the mean.
// So it has the two messages that most such programs have: a halo exchange for L, and a sum over all ranks for the
// mean. Both belong into the step, and their transposes into the adjoint:
//   halo exchange   the step copies a row of the neighbour's. In the adjoint, what that row is owed for it goes the
//                   other way, to its owner, who adds it. Here it is owed k times one row, so both send edge rows.
//   sum to all      every rank reads the sum of all. So each addend is owed the sum of what all ranks are.
// A state is the rows that a rank owns, without the halo, and so is a checkpoint. `collective` sees to it that all
// ranks run the same plan, hence that all messages meet. All sums are added up in an order that does not depend on the
// number of ranks: the gradient has the bits of a serial program that keeps every state, which rank 0 runs afterwards.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

#include <cairn/adapt/mpi.hpp>
#include <cairn/cairn.hpp>

#include "rows.hpp"

namespace {

constexpr cairn::step_index steps = 120;
constexpr std::size_t columns = 40, rows = 31, cells = columns * rows;
constexpr double k = 0.2, c = 0.01, h = 0.05;

/// Rows of `columns` cells.
using field = std::vector<double>;
/// The same with a row before and one after them, the halo. Beyond the ends of the tube it is 0.
struct halo_field : field {
  explicit halo_field(std::size_t inner_rows) : field((inner_rows + 2) * columns) {}
  double* inner() { return data() + columns; }
  double const* inner() const { return data() + columns; }
};

/// Around the tube, a row's last cell is beside its first.
double laplacian(double const* row, std::size_t x) {
  double const left = row[x > 0 ? x - 1 : columns - 1], right = row[x + 1 < columns ? x + 1 : 0];
  return left + right + (*(row + x - columns) + row[x + columns]) - 4 * row[x];
}
std::vector<double> row_sums(field const& u) {
  std::vector<double> sums;
  for (std::size_t at = 0; at < u.size(); at += columns) sums.push_back(std::accumulate(&u[at], &u[at] + columns, 0.0));
  return sums;
}

// Kernels for any number of rows. The serial program calls these, too, and a compiler makes one function of each, so
// that both round alike.

/// \param sum  of all cells of the tube
[[gnu::noinline]] void advance(halo_field const& u, double sum, field& next) {
  double const heating = h * (1 - sum / double(cells));
  for (std::size_t at = 0; at < next.size(); ++at) {
    double const v = u.inner()[at];
    next[at] = v + k * laplacian(u.inner() + at / columns * columns, at % columns) - c * v * v * v + heating;
  }
}
/// \param sum  of all cells of bar   \param by_k  of each row, is added to
[[gnu::noinline]] void pull_back(halo_field const& u, halo_field const& bar, double sum, field& into, field& by_k) {
  double const by_mean = -h * sum / double(cells);
  for (std::size_t at = 0; at < into.size(); ++at) {
    auto const row = at / columns, x = at % columns;
    double const v = u.inner()[at], b = bar.inner()[at];
    by_k[row] += laplacian(u.inner() + row * columns, x) * b;
    into[at] = b - 3 * c * v * v * b + k * laplacian(bar.inner() + row * columns, x) + by_mean;  // L is symmetric
  }
}

double first_value(std::size_t cell) { return cell < cells / 2 ? 1 + 0.01 * double(cell % columns) : 0.2; }

/// The derivatives of half the sum of squares of the final state, by the initial state and by k.
struct gradient {
  field by_state;
  double by_k = 0;
  bool checked = false;  ///< whether the adjoint is that of the step
};

gradient over_ranks(MPI_Comm comm) {
  mpi::row_block const mine{comm, rows, columns};
  field x0(mine.count() * columns);
  for (std::size_t at = 0; at < x0.size(); ++at) x0[at] = first_value(mine.first() * columns + at);
  halo_field u_halo{mine.count()}, bar_halo{mine.count()};
  auto const fetch = [&](field const& own, halo_field& into) {
    std::copy(own.begin(), own.end(), into.inner());
    mine.exchange(into.inner());
  };

  auto const step = [&](field& u) {
    fetch(u, u_halo);
    advance(u_halo, mine.sum(row_sums(u)), u);
  };
  field by_k(mine.count());
  auto const adjoint = [&](field const& u, field& bar) {
    fetch(u, u_halo);                                                 // the halo is no part of a checkpoint
    fetch(bar, bar_halo);                                             // transpose of the exchange in the step
    pull_back(u_halo, bar_halo, mine.sum(row_sums(bar)), bar, by_k);  // and of the sum
  };

  cairn::collective const together{comm};
  // A few steps tell what all would. Every number of every rank takes part.
  auto const report = cairn::check_adjoint(step, adjoint, x0, 4, together, {.directions = 1, .whole = false});
  if (mpi::rank_in(comm) == 0) std::printf("%s\n", report.text().c_str());
  std::fill(by_k.begin(), by_k.end(), 0.0);  // the check has added to it

  cairn::workload work;
  work.steps = steps;
  work.state_bytes = work.adjoint_bytes = cairn::bytes_of(x0);
  work.form.step = cairn::step_form::in_place;
  auto const chosen = cairn::mpi_plan(comm, "64KiB", work);  // for the rank with the most rows
  auto const seed = [](field const& last) { return last; };
  auto const bar = cairn::gradient(step, x0, chosen.schedule, seed, adjoint, together);
  return {mine.whole(bar.data()), mine.sum(by_k), report.passed()};
}

/// Without MPI and without checkpoints.
gradient serial() {
  field u(cells), by_k(rows);
  for (std::size_t at = 0; at < cells; ++at) u[at] = first_value(at);
  auto const with_halo = [](field const& all) {
    halo_field padded{rows};
    std::copy(all.begin(), all.end(), padded.inner());
    return padded;
  };
  auto const sum = [](field const& of) {
    auto const sums = row_sums(of);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  };
  std::vector<halo_field> kept;
  for (cairn::step_index i = 0; i < steps; ++i) {
    kept.push_back(with_halo(u));
    advance(kept.back(), sum(u), u);
  }
  for (auto i = steps; i-- > 0;) pull_back(kept[std::size_t(i)], with_halo(u), sum(u), u, by_k);  // u is its own seed
  return {u, std::accumulate(by_k.begin(), by_k.end(), 0.0), true};
}

}  // namespace

int main(int count, char** words) {
  mpi::session const here{count, words};
  auto const found = over_ranks(MPI_COMM_WORLD);
  bool same = false;
  if (mpi::rank_in(MPI_COMM_WORLD) == 0) {
    auto const wanted = serial();
    same = mpi::same_bits(found.by_state, wanted.by_state) && mpi::same_bits({found.by_k}, {wanted.by_k});
    std::printf("%d ranks: by the first cell %.17g, by the conduction %.17g; %s one rank with every state kept\n",
                mpi::ranks_in(MPI_COMM_WORLD), found.by_state[0], found.by_k,
                same ? "the same bits as" : "OTHER BITS than");
  }
  return mpi::as_on_rank_0(MPI_COMM_WORLD, same && found.checked) ? 0 : 1;
}
