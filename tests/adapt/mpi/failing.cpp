// SPDX-License-Identifier: Apache-2.0
// A sweep of communicating steps on several ranks, of which one fails; failing.py starts it and watches how it ends.
//   failing throws CALL RANK      that rank throws at that call of step or adjoint
//   failing stops CALL RANK       that rank asks to stop from that call on; ranks meet at every action
//   failing differs RANK          that rank has another plan
//   failing late RANK             that rank makes the call 2 s after the others, which say so
//   failing over                  all ranks call after MPI_Finalize, and with a communicator that is freed
//   failing long                  runs until it is killed; each rank says its process id
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include "adapt/mpi/ranks.hpp"

namespace {

using namespace ranks;

struct failing_ring : ring {
  failing_ring() : ring{MPI_COMM_WORLD} {}
  long calls = 0, at = -1;
  void call() {
    if (calls++ == at) throw std::runtime_error{"a planned failure"};
  }
};

int said(int rank, cairn::collective_error const& e) {
  std::printf("rank %d: collective_error rank=%d: %s\n", rank, e.rank, e.what());
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  failing_ring h;
  cairn::collective const with = cairn::collective{MPI_COMM_WORLD}.patience(0.5);
  auto const x0 = h.part(64);
  state const seed(x0.size(), 1.0);
  auto const step = [&](state& x, step_index i) { h.call(), h.step(x, i); };
  auto const adjoint = [&](state const& x, state& bar, step_index i) { h.call(), h.adjoint(x, bar, i); };
  auto const way = std::string{argc > 1 ? argv[1] : ""};
  auto const number = [&](int k) { return argc > k ? std::atol(argv[k]) : 0; };
  try {
    if (way == "throws") {
      if (h.rank == number(3)) h.at = number(2);
      (void)cairn::gradient(step, x0, cairn::revolve{5, 2}, seed, adjoint, with);
    } else if (way == "stops") {
      auto const asked = with.stops_when([&] { return h.rank == number(3) && h.calls >= number(2); });
      (void)cairn::gradient(step, x0, cairn::revolve{5, 2}, seed, adjoint, asked.every(1));
    } else if (way == "differs") {
      using any = cairn::any_schedule;
      any const plan = h.rank == number(2) ? any{cairn::uniform{50}} : any{cairn::revolve{50, 4}};
      (void)cairn::gradient(step, x0, plan, seed, adjoint, with);
    } else if (way == "late") {
      if (h.rank == number(2)) std::this_thread::sleep_for(std::chrono::seconds{2});
      (void)cairn::gradient(step, x0, cairn::revolve{5, 2}, seed, adjoint, with);
    } else if (way == "over") {
      MPI_Comm freed = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &freed);
      cairn::collective const on_freed{freed};
      MPI_Comm_free(&freed);
      auto const refused = [&](cairn::collective<> const& on) {
        try {
          (void)cairn::gradient(step, x0, cairn::revolve{5, 2}, seed, adjoint, on);
        } catch (cairn::invalid_call const& e) {
          std::printf("rank %d: %s\n", h.rank, e.what());
        }
      };
      refused(on_freed);
      auto run = cairn::checkpointed_loop(step, x0, cairn::revolve{5, 2}, with);
      MPI_Finalize();
      refused(with);
      try {
        (void)run.reverse(seed, adjoint);
      } catch (cairn::invalid_call const& e) {
        std::printf("rank %d: %s\n", h.rank, e.what());
      }
      return 0;
    } else if (way == "long") {
      std::printf("rank %d process %ld\n", h.rank, long(getpid()));
      std::fflush(stdout);
      for (;;) (void)cairn::gradient(step, x0, cairn::revolve{50, 4}, seed, adjoint, with);
    }
  } catch (cairn::collective_error const& e) {
    return said(h.rank, e);
  }
  std::printf("rank %d: calls %ld\n", h.rank, h.calls);
  MPI_Finalize();
  return 0;
}
