// SPDX-License-Identifier: Apache-2.0
// The shots of a seismic survey over the ranks, with one budget for checkpoints on every node.
//   mpirun -n 4 cairn_example_mpi_shots
//
// Here no message is sent within a sweep: a rank computes whole shots. So nothing has to be equal on the ranks, not
// even the plan, and each plans for the memory that it has. The ranks of a node share its memory, so each gets a share
// of the node's budget. Only the sum of all gradients is common. It is added up in the order of the shots, on whichever
// ranks they were computed, so that its bits are those of one rank with any budget. `collective::sweep` lets an
// exception of one rank reach all of them before anyone waits for a gradient that does not come.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cairn/adapt/mpi.hpp>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/plan_within.hpp>

#include "../seismic/inversion.hpp"
#include "../seismic/models.hpp"
#include "rows.hpp"

namespace {

using numbers = std::vector<double>;
using namespace seismic;

/// What every rank knows: the ground at the start, and the traces of the true one.
struct scene {
  grid g{.nx = 72, .nz = 57, .cell = 10, .dt = 1e-3, .rim = 11};
  survey<double> plan{g, 400, 5, 10};
  std::vector<traces<double>> recorded = record_all(g, plan, true_model(g));
  medium<double> ground{g, start_model(g)};
  shot_loop<double> loop{g, cairn::step_index(plan.steps())};
};

/// The gradient of one shot, whose bits no plan changes.
numbers of_shot(scene const& all, std::size_t number, cairn::any_schedule const& plan) {
  numbers sensitivity(all.g.cells());
  sweeper<double> sweep{all.ground, all.plan, sensitivity, plan};
  sweep.run({all.plan.sources[number], &all.recorded[number]});
  return sensitivity;
}
void add(numbers& sum, numbers const& more) {
  for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += more[at];
}

/// On rank 0: the gradients of all shots, added up in their order. Shot s is computed by rank s modulo their number.
numbers over_ranks(cairn::collective<> const& together, scene const& all, cairn::any_schedule const& plan) {
  auto const rank = std::size_t(together.rank()), ranks = std::size_t(together.size());
  auto const shots = all.recorded.size(), cells = all.g.cells();
  numbers sum(cells), other(cells);
  for (std::size_t first = 0; first < shots; first += ranks) {
    auto const here = std::min(ranks, shots - first);  // in the last round some ranks may have none
    auto const mine = together.sweep([&] { return rank < here ? of_shot(all, first + rank, plan) : numbers{}; });
    if (rank > 0 && rank < here) MPI_Send(mine.data(), int(cells), MPI_DOUBLE, 0, 0, together.comm());
    if (rank > 0) continue;
    add(sum, mine);
    for (std::size_t from = 1; from < here; ++from) {
      MPI_Recv(other.data(), int(cells), MPI_DOUBLE, int(from), 0, together.comm(), MPI_STATUS_IGNORE);
      add(sum, other);
    }
  }
  return sum;
}

numbers serial(scene const& all) {
  numbers sum(all.g.cells());
  for (std::size_t s = 0; s < all.recorded.size(); ++s) add(sum, of_shot(all, s, cairn::store_all(all.loop.steps)));
  return sum;
}

}  // namespace

int main(int count, char** words) {
  mpi::session const here{count, words};
  auto const together = cairn::collective{MPI_COMM_WORLD}.patience(60);  // more seconds than a shot takes
  constexpr cairn::byte_size of_node = "4MiB";
  auto const share = cairn::place_on_node(MPI_COMM_WORLD).share(of_node);

  scene const all;
  auto const chosen = together.sweep([&] { return cairn::plan_within(share, all.loop.workload(1), {.leaf = 1}); });
  auto const found = over_ranks(together, all, chosen.schedule);
  bool kept = false;
  if (together.rank() == 0) {
    bool const same = mpi::same_bits(found, serial(all));
    kept = same && chosen.cost.memory_bytes <= share.count();
    std::printf("%d ranks: %zu shots, %s a rank, %.2f runs of each step; %s one rank with every state kept\n",
                together.size(), all.recorded.size(), cairn::to_short_text(chosen.cost.memory_bytes).c_str(),
                double(chosen.cost.step_calls) / double(all.loop.steps), same ? "the same bits as" : "OTHER BITS than");
  }
  return mpi::as_on_rank_0(MPI_COMM_WORLD, kept) ? 0 : 1;
}
