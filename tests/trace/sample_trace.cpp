// SPDX-License-Identifier: Apache-2.0
// Writes a trace with something of everything: sample_trace FILE.
#include <cstdio>
#include <exception>
#include <vector>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  try {
    using field = std::vector<double>;
    auto log = cairn::initialize_log(argv[1], "/some/data");
    cairn::hrevolve const plan{40, {{2}, {3, 2, 1, cairn::tier::disk}}};
    log.note("plan", cairn::fingerprint(plan).text());
    struct every_tier : cairn::memory_store {} store;  // the picture is of a disk, which is not there
    auto const step = [](field& x) { for (double& v : x) v *= 1.001; };
    auto const adjoint = [](field const&, field& bar) { for (double& v : bar) v *= 1.001; };
    for (int epoch = 0; epoch < 2; ++epoch) {
      cairn::trace_region const whole{
          log, "epoch", {{"epoch", epoch}, {"image_size", {224, 224}}, {"note", "a \"name\""}}};
      (void)cairn::gradient(cairn::traced(log, "step", step), field(64, 1.0), plan, field(64, 1.0), adjoint, store,
                            cairn::trace_observer{log, {.bytes_held = true}});
      log.count("loss", {{"train", 100 - epoch}});
    }
    log.finalize();
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "sample_trace: %s\n", problem.what());
    return 1;
  }
}
