// SPDX-License-Identifier: Apache-2.0
// The measurements without a GPU: tiny states, work done at once, time on a clock whose results are known. Every row
// must meet its prediction. DRY_LATE=10: all takes ten times as long as predicted. DRY_CLOCK=FILE: the clock goes on
// from what stands there, for several runs in a row. DRY_SPOILS=1: what comes back from the host is wrong by a bit.
// DRY_PINS=BYTES: more cannot be pinned.
#include <cstdlib>
#include <fstream>
#include <string>
#include "dry_machine.hpp"
#include "plan.hpp"

int main(int argc, char** argv) {
  if (gpu::tells_sources(argc, argv)) return 0;
  gpu::dry_rates rates;
  if (char const* const late = std::getenv("DRY_LATE")) rates.late = std::stod(late);
  if (argc > 1 && std::string{argv[1]} == "check") rates.hurry();
  if (char const* const most = std::getenv("DRY_PINS")) rates.most_pinned = std::stoul(most);
  rates.spoils = std::getenv("DRY_SPOILS") != nullptr;
  char const* const clock = std::getenv("DRY_CLOCK");
  if (clock != nullptr) std::ifstream{clock} >> rates.began;
  gpu::dry_machine machine{rates};
  int const status = gpu::run(machine, gpu::dry_settings(), argc, argv);
  if (clock != nullptr) std::ofstream{clock} << std::fixed << machine.now() << '\n';
  return status;
}
