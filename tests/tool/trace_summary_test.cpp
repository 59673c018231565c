// SPDX-License-Identifier: Apache-2.0
// Where the time of a trace went.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>
#include "trace_file/summary.hpp"
#include <cairn/version.hpp>
#include "support/catch.hpp"
#include "support/trace.hpp"

using cairn::trace_region;
using trace_file::trace_row;
using cairn::trace_writer;

namespace {

trace_row row(std::vector<trace_row> const& rows, std::string const& name) {
  for (auto const& one : rows)
    if (one.name == name) return one;
  return {};
}

}  // namespace

TEST_CASE("times of nested events are divided, and counted once") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name(), {.clock = [] { return traces::fake_now; }}};
    auto const spend = [](std::int64_t us) { traces::fake_now += 1000 * us; };
    log.note("plan", "a plan");
    trace_region const epoch{log, "epoch", {}, {.category = "train"}};
    spend(1);
    for (int k = 0; k < 2; ++k) {
      trace_region const outer{log, "module.net", {}, {.category = "forward", .type = "module", .target = "net"}};
      spend(2);
      {
        trace_region const inner{log, "module.net", {}, {.category = "forward", .type = "module", .target = "net"}};
        spend(4 + k);
      }
      cairn::traced(log, "f", spend)(8);
    }
    log.count("loss", {{"train", 7}});
    log.count("loss", {{"train", 3}});
  }
  auto const found = trace_file::summarize_trace(file.name());
  CHECK(found.version == CAIRN_VERSION_STRING);
  CHECK(found.plan == "a plan");
  CHECK(found.ended);
  CHECK(!found.repaired);
  CHECK(found.events == file.events().size());
  CHECK(std::abs(found.span_us - 30) < 0.01);
  auto const is = [](trace_row const& one, std::uint64_t calls, double total, double self, double longest) {
    CAPTURE(one.name, one.total_us, one.self_us);
    CHECK(one.calls == calls);
    CHECK(std::abs(one.total_us - total) < 1e-6);
    CHECK(std::abs(one.self_us - self) < 1e-6);
    CHECK(std::abs(one.longest_us - longest) < 1e-6);
  };
  is(row(found.by_phase, "train"), 1, 30, 1, 30);
  is(row(found.by_phase, "forward"), 4, 29, 13, 15);
  is(row(found.by_phase, "function"), 2, 16, 16, 8);
  is(row(found.by_layer, "net"), 4, 29, 13, 15);
  is(row(found.by_layer, "epoch"), 1, 30, 1, 30);
  is(row(found.by_operation, "function.f"), 2, 16, 16, 8);
  REQUIRE(found.peaks.size() == 1);
  CHECK(found.peaks[0].name == "loss train");
  CHECK(found.peaks[0].most == 7);
  auto const text = text_of(found);
  for (auto const* part : {"by phase", "by layer", "by operation", "function.f", "plan a plan", "ended by its program",
                           "most of loss train: 7"})
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(part));
  CHECK_THAT(text_of(found, 1), Catch::Matchers::ContainsSubstring("more"));
}

TEST_CASE("phases add up to the time that actions took") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name()};
    auto const step = [](double& x) { x *= 1.0001; };
    (void)cairn::gradient(cairn::traced(log, "step", step), 1.0, cairn::revolve{50, 4}, 1.0,
                          [](double, double& bar) { bar *= 1.0001; }, cairn::trace_observer{log});
  }
  auto const found = trace_file::summarize_trace(file.name());
  std::map<std::string, double> sums;
  std::map<std::string, std::uint64_t> calls;
  for (auto const& e : traces::slices(file.events()))
    if (e.text("cat") != "function") sums[e.text("cat")] += e.at("dur").number, ++calls[e.text("cat")];
  for (auto const* phase : {"forward", "recompute", "reverse"}) {
    CHECK(std::abs(row(found.by_phase, phase).total_us - sums[phase]) < 1e-3);
    CHECK(row(found.by_phase, phase).calls == calls[phase]);
  }
  CHECK(row(found.by_operation, "reverse").calls == 50);
}

TEST_CASE("a line that is no event is named") {
  traces::scratch_file const file;
  file.write("[\n{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"dur\":2},\n{\"name\":\n");
  try {
    (void)trace_file::summarize_trace(file.name());
    FAIL("nothing was thrown");
  } catch (cairn::parse_error const& e) {
    CHECK(e.value(0).magnitude == 3);
    CHECK_THAT(std::string{e.what()}, Catch::Matchers::ContainsSubstring("cairn trace repair"));
  }
  CHECK_THROWS_AS(trace_file::summarize_trace("/nowhere/at/all.pfw"), cairn::file_error);
}
