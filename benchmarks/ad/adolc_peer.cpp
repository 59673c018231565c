// SPDX-License-Identifier: Apache-2.0
// Fisher's equation without an adjoint by hand, by ADOL-C: METHOD is own:CHECKPOINTS, ADOL-C's own checkpointing, or
// cairn:CHECKPOINTS, cairn's over its tape of one step.
#include <cairn/adapt/adolc.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>
#include <cairn/adapt/ad.hpp>
#include "../peers/fisher.hpp"

namespace {

peer::fisher given;  // ADOL-C's checkpointing takes functions without captures

struct model {
  template <class T>
  void operator()(std::vector<T>& u) const {
    std::vector<T> u1(u.size());
    peer::react(u.data(), u1.data(), given.side);
    u = std::move(u1);
  }
};
struct sum_of_squares {
  template <class T>
  T operator()(std::vector<T> const& u) const {
    T sum = u[0] * u[0];
    for (std::size_t k = 1; k < u.size(); ++k) sum += u[k] * u[k];
    return sum;
  }
};

template <class T>
int own_step(int count, T* u) {
  std::vector<T> u1(std::size_t(count), T(0));
  peer::react(u, u1.data(), given.side);
  for (int k = 0; k < count; ++k) u[k] = u1[std::size_t(k)];
  return 1;
}
int active_step(int count, adouble* u) { return own_step(count, u); }
int passive_step(int count, double* u) { return own_step(count, u); }

/// Of each of ADOL-C's buffers: they hold a step, so that neither side writes files.
unsigned entries() { return unsigned(40 * given.cells()); }

std::vector<double> own(int checkpoints) {
  auto const x0 = given.start();
  int const count = int(x0.size());
  double sum = 0;
  std::vector<double> gradient_of(x0.size());
  trace_on(1);
  {
    ensureContiguousLocations(std::size_t(count));
    adouble* const u = new adouble[x0.size()];  // of consecutive locations, as vectors do not promise
    for (std::size_t k = 0; k < x0.size(); ++k) u[k] <<= x0[k];
    CP_Context context(active_step);
    context.setDoubleFct(passive_step);
    context.setNumberOfSteps(int(given.steps));
    context.setNumberOfCheckpoints(checkpoints);
    context.setDimensionXY(count);
    context.setInput(u);
    context.setOutput(u);
    context.setTapeNumber(2);
    context.setAlwaysRetaping(false);  // all steps are alike
    context.checkpointing();
    adouble total = u[0] * u[0];
    for (std::size_t k = 1; k < x0.size(); ++k) total += u[k] * u[k];
    total >>= sum;
    delete[] u;
  }
  trace_off();
  gradient(1, count, x0.data(), gradient_of.data());
  return gradient_of;
}

std::vector<double> by_cairn(cairn::slot_index checkpoints) {
  return cairn::differentiate(cairn::adolc_tape{3, entries()}, model{}, given.start(), cairn::no_params{},
                              cairn::revolve{given.steps, checkpoints}, sum_of_squares{})
      .state;
}

/// ADOL-C reads the sizes of buffers from the working directory, as the program starts: it starts once more there.
void enlarge_buffers(std::filesystem::path const& folder, char** words) {
  char const* const done = "CAIRN_LARGE_BUFFERS";
  if (std::getenv(done) != nullptr) return;
  std::filesystem::current_path(folder);
  {
    std::ofstream settings{".adolcrc"};
    for (char const* buffer : {"OBUFSIZE", "LBUFSIZE", "VBUFSIZE", "TBUFSIZE"})
      settings << '"' << buffer << "\" \"" << entries() << "\"\n";
  }
  setenv(done, "1", 1);
  execv("/proc/self/exe", words);
  throw std::runtime_error{"adolc_peer: cannot start again in " + folder.string()};
}

}  // namespace

int main(int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  given = peer::fisher_of(argc > 3 ? argv[3] : "fisher");
  std::vector<peer::method_of<double>> methods;
  if (auto const checkpoints = peer::checkpoints_of(name); checkpoints > 0) {
    methods = {{peer::with_checkpoints("own", checkpoints), 0, [=] { return own(int(checkpoints)); }},
               {peer::with_checkpoints("cairn", checkpoints), 0, [=] { return by_cairn(checkpoints); }}};
    if (argc > 2) enlarge_buffers(std::filesystem::absolute(argv[2]).parent_path(), argv);
  }
  return peer::serve(argc, argv, methods);
}
