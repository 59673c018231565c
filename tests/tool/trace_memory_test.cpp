// SPDX-License-Identifier: Apache-2.0
// A trace of a million events in bounded memory. This program replaces operator new.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#include "trace_file/repair.hpp"
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>
#include "trace_file/summary.hpp"
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/trace.hpp"

static void check_memory(std::uint64_t most) {
  traces::scratch_file const file;
  heap::mark const start;
  std::uint64_t events = 0;
  std::size_t writing = 0;
  {
    cairn::trace_writer log{file.name()};
    cairn::revolve const plan{20'000, 12};
    cairn::trace_observer tracing{log};
    auto work = cairn::workspace_for<double>(plan);
    auto const sweep = [&](auto&... observer) {
      return cairn::gradient([](double& x) { x *= 1.0001; }, 1.0, plan, 1.0,
                             [](double, double& bar) { bar *= 1.0001; }, work, observer...);
    };
    double const first = sweep(tracing);
    cairn::trace_region const rest{log, "all the rest, whose name is not short", {{"of", most}}};
    heap::mark const warm;
    while (log.events() < most) CHECK(sweep(tracing) == first);
    CHECK(warm.allocated() == 0);
    events = log.events();
  }
  writing = start.rise();
  CHECK(writing < 262'144 + 20'000);
  std::filesystem::resize_file(file.name(), std::filesystem::file_size(file.name()) - 10);
  heap::mark const later;
  auto const repaired = trace_file::repair_trace(file.name());
  CHECK(repaired.changed);
  CHECK(repaired.events == events + 1);  // and the region
  CHECK(trace_file::summarize_trace(file.name()).events == events + 2);
  CHECK(later.rise() < 100'000);
}

TEST_CASE("many events take the memory of a block, and so do their repair and their summary") { check_memory(60'000); }
TEST_CASE("so do a million", "[.soak]") { check_memory(1'000'000); }
