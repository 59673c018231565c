// SPDX-License-Identifier: Apache-2.0
// One shot of the seismic example with the rows of its ground on several ranks.
//   mpirun -n 4 cairn_example_mpi_seismic_rows
//
// The kernels, the step and the adjoint are those of examples/seismic, unchanged; what is added for the ranks is one
// halo exchange in each. A rank's part of the ground is its own rows, one row of each neighbour, and beyond it a row
// that the kernels take for the rim, whose numbers are not read:
//
//     rank 0   rim ======= o -            = own rows    o a neighbour's row    - taken for the rim
//     rank 1             - o ======= rim
//
// The step leaves the halo of the pressure as the neighbour has it, so that a checkpoint holds it, too. The adjoint
// gathers: it asks the neighbour for a row of the adjoint and adds up every cell of its own as the serial program does,
// in that order. The transpose in the literal sense computes what the neighbour's row is owed and sends it back to be
// added; that is the same sum in another order, so other bits. A cell's gradient belongs to the rank that owns it, and
// no reduction is left. The misfit is added up by each rank over its receivers and then over the ranks, which rounds
// differently.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <cairn/adapt/mpi.hpp>
#include <cairn/cairn.hpp>

#include "../seismic/baseline.hpp"
#include "../seismic/models.hpp"
#include "../seismic/sweep.hpp"
#include "rows.hpp"

namespace {

using seismic::grid, seismic::medium, seismic::survey, seismic::traces, seismic::wave;

/// What a shot needs, of the whole ground or of a rank's part of it.
struct scene {
  medium<double> ground;
  survey<double> plan;
  traces<double> recorded;
  std::size_t source = 0;

  [[nodiscard]] seismic::shot<double> shot() const { return {source, &recorded}; }
};

/// The start model, and the traces of the true one, which every rank makes for itself.
scene whole_scene(std::size_t steps) {
  grid const g{.nx = 72, .nz = 57, .cell = 10, .dt = 1e-3, .rim = 11};
  survey<double> const plan{g, steps, 1, 10};
  auto const source = plan.sources[0];
  return {{g, start_model(g)}, plan, record(medium<double>{g, true_model(g)}, plan, source), source};
}

/// The rows [from, to) of a scene, with its receivers in [first, last).
scene part_of(scene const& whole, std::size_t from, std::size_t to, std::size_t first, std::size_t last) {
  auto part = whole;
  auto const nx = whole.ground.grid.nx;
  auto const cut = [](std::vector<double>& all, std::size_t begin, std::size_t end) {
    all = std::vector<double>(all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(end));
  };
  part.ground.grid.nz = to - from;
  cut(part.ground.courant2, from * nx, to * nx);
  cut(part.ground.damping_z, from, to);
  auto const owned = [&](std::size_t cell) { return cell / nx >= first && cell / nx < last; };
  if (owned(whole.source)) part.source = whole.source - from * nx;
  else part.source = 0, part.plan.wavelet.assign(whole.plan.steps(), 0);  // it adds 0 to a cell of the rim
  part.plan.receivers.clear();
  part.recorded.clear();
  for (auto const cell : whole.plan.receivers)
    if (owned(cell)) part.plan.receivers.push_back(cell - from * nx);
  for (std::size_t heard = 0; heard < whole.recorded.size(); ++heard)
    if (owned(whole.plan.receivers[heard % whole.plan.receivers.size()]))
      part.recorded.push_back(whole.recorded[heard]);
  return part;
}

struct gradient {
  std::vector<double> by_ground;  ///< of each cell, on rank 0
  double misfit = 0;
};

gradient over_ranks(MPI_Comm comm, scene const& whole) {
  auto const nx = whole.ground.grid.nx;
  mpi::row_block const mine{comm, whole.ground.grid.nz, nx, 2};
  std::size_t const before = mine.has_above() ? 2 : 0, after = mine.has_below() ? 2 : 0;
  auto const part = part_of(whole, mine.first() - before, mine.last() + after, mine.first(), mine.last());
  auto const own = before * nx;  // the first cell that this rank owns

  auto const cells = part.ground.grid.cells();
  std::vector<double> sensitivity(cells);
  seismic::leap<double> leap{part.ground, part.plan};
  seismic::back<double> back{part.ground, part.plan, sensitivity, 1};
  leap.aim(part.shot());
  back.aim(part.shot());

  auto const steps = cairn::step_index(part.plan.steps());
  auto const step = [&](wave<double>& x, cairn::step_index i) {
    leap(x, i);
    mine.exchange(&x.now[own]);
  };
  auto const seed = [&](wave<double> const& x) {
    auto bar = seismic::silence<double>(cells);
    back.listen(x.now.data(), bar, steps);
    return bar;
  };
  auto const adjoint = [&](wave<double> const& x, wave<double>& bar, cairn::step_index i) {
    mine.exchange(&bar.now[own]);
    back.reverse(x.now.data(), bar, i);
  };
  auto const work = seismic::shot_loop<double>{part.ground.grid, steps}.workload(1);
  auto const chosen = cairn::mpi_plan(comm, "1MiB", work, {.leaf = 1});  // for the rank with the largest part
  cairn::gradient(step, seismic::silence<double>(cells), chosen.schedule, seed, adjoint, cairn::collective{comm});

  gradient found{mine.whole(&sensitivity[own]), 0};
  double const misfit = back.misfit();
  MPI_Reduce(&misfit, &found.misfit, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  return found;
}

/// Without MPI and without checkpoints.
gradient serial(scene const& whole) {
  gradient found{std::vector<double>(whole.ground.grid.cells()), 0};
  seismic::stored_sweep<double> sweep{whole.ground, whole.plan, found.by_ground};
  found.misfit = sweep.run(whole.shot());
  return found;
}

}  // namespace

int main(int count, char** words) {
  mpi::session const here{count, words};
  auto const whole = whole_scene(500);
  auto const found = over_ranks(MPI_COMM_WORLD, whole);
  bool same = false;
  if (mpi::rank_in(MPI_COMM_WORLD) == 0) {
    auto const wanted = serial(whole);
    double const off = std::abs(found.misfit - wanted.misfit) / wanted.misfit;
    same = mpi::same_bits(found.by_ground, wanted.by_ground) && off < 1e-12;
    std::printf("%d ranks: gradient of %zu cells, %s one rank with every pressure stored; misfit %.15g, off by %.0e\n",
                mpi::ranks_in(MPI_COMM_WORLD), found.by_ground.size(), same ? "the same bits as" : "OTHER BITS than",
                found.misfit, off);
  }
  return mpi::as_on_rank_0(MPI_COMM_WORLD, same) ? 0 : 1;
}
