// SPDX-License-Identifier: Apache-2.0
// Traces whose program could not end them.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#include "trace_file/repair.hpp"
#include <cairn/trace/trace_observer.hpp>
#include <cairn/trace/trace_region.hpp>
#include "trace_file/summary.hpp"
#include "support/catch.hpp"
#include "support/trace.hpp"
#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

using trace_file::repair_trace;
using cairn::trace_region;
using cairn::trace_writer;

namespace {

std::string small_trace() {
  traces::scratch_file const file;
  {
    trace_writer log{file.name()};
    trace_region const whole{log, "whole, with a \"name\" \xe2\x82\xac"};
    (void)cairn::gradient([](double& x) { x *= 2; }, 1.0, cairn::revolve{3, 2}, 1.0,
                          [](double, double& bar) { bar *= 2; }, cairn::trace_observer{log});
  }
  return file.text();
}

/// Lines that are whole events, in a text that ends anywhere.
std::vector<std::string> events_in(std::string_view text) {
  std::vector<std::string> found;
  std::size_t const opening = std::string_view{"[\n"}.size();
  for (std::size_t from = opening; from < text.size();) {
    auto const end = text.find('\n', from);
    std::string line{text.substr(from, end == text.npos ? end : end - from)};
    if (line.ends_with(",")) line.pop_back();
    if (line.starts_with("{") && line.ends_with("}}")) found.push_back(line);
    if (line.starts_with("{") && (line.ends_with("\"s\"}") || line.ends_with("\"e\"}"))) found.push_back(line);
    if (end == text.npos) break;
    from = end + 1;
  }
  return found;
}

}  // namespace

TEST_CASE("a trace that is whole stays as it is") {
  traces::scratch_file const file;
  auto const text = small_trace();
  file.write(text);
  auto const done = repair_trace(file.name());
  CHECK(!done.changed);
  CHECK(done.lost_bytes == 0);
  CHECK(done.events == file.events().size());
  CHECK(file.text() == text);
}

/// Cut at each `stride`-th byte.
static void check_cuts(std::size_t stride) {
  traces::scratch_file const file;
  auto const text = small_trace();
  REQUIRE(events_in(text).size() == json::read(text).items.size());
  for (std::size_t size = 0; size < text.size(); size += stride) {
    CAPTURE(size);
    auto const cut = text.substr(0, size);
    auto const complete = events_in(cut);
    file.write(cut);
    if (complete.empty()) {
      CHECK_THROWS_AS(repair_trace(file.name()), cairn::parse_error);
      CHECK(file.text() == cut);
      continue;
    }
    auto const done = repair_trace(file.name());
    CHECK(done.events == complete.size());
    auto const repaired = file.text();
    CHECK(done.changed == (repaired != cut));
    auto const all = json::read(repaired).items;
    auto const kept = events_in(repaired);
    REQUIRE(kept.size() >= complete.size());
    CHECK(std::vector<std::string>(kept.begin(), kept.begin() + std::ptrdiff_t(complete.size())) == complete);
    CHECK(all.back().text("name") == "end");
    CHECK(all.back().at("args").integer("num_events") == (long long)(all.size()) - 1);
    CHECK(all.size() == complete.size() + (complete.back().find("\"name\":\"end\"") == std::string::npos ? 1 : 0));
    CHECK(!std::filesystem::exists(file.name() + ".repaired"));
    CHECK(!repair_trace(file.name()).changed);
    CHECK(trace_file::summarize_trace(file.name()).events == all.size());
  }
}
TEST_CASE("a trace that was cut anywhere is repaired to all its complete events") { check_cuts(43); }
TEST_CASE("a trace that was cut at any byte is repaired to all its complete events", "[long]") { check_cuts(1); }

TEST_CASE("broken lines in the middle are left out, and their bytes counted") {
  traces::scratch_file const file;
  auto const text = small_trace();
  auto const middle = text.find("\n{\"id\"", text.size() / 2) + 1;
  std::string const zeros(100, '\0');
  std::vector<std::string> const all{zeros + "\n",
                                     "{\"name\":\"x\",\"ph\":\"X\"\n",
                                     "[1,2],\n",
                                     "{}\n",
                                     "{\"name\":\"\xff\",\"ph\":\"X\"},\n",
                                     "{\"name\":\"x\",\"ph\":\"X\",\"ts\":01},\n"};
  for (auto const& broken : all) {
    file.write(text.substr(0, middle) + broken + text.substr(middle));
    auto const done = repair_trace(file.name());
    CHECK(done.changed);
    CHECK(done.lost_bytes == broken.size());
    CHECK(file.text() == text);
  }
  std::string without_commas;
  for (std::size_t k = 0; k < text.size(); ++k)
    if (text.substr(k, 2) != ",\n") without_commas += text[k];
  file.write(without_commas);
  CHECK(repair_trace(file.name()).changed);
  CHECK(file.text() == text);
}

TEST_CASE("what is no trace is refused, and stays as it is") {
  traces::scratch_file const file;
  for (std::string const& text : std::vector<std::string>{"", "[\n", "[]", "a text\n", "\x1f\x8b\x08"}) {
    file.write(text);
    CHECK_THROWS_AS(repair_trace(file.name()), cairn::parse_error);
    CHECK(file.text() == text);
  }
  CHECK_THROWS_AS(repair_trace("/nowhere/at/all.pfw"), cairn::file_error);
}

#if __has_include(<sys/wait.h>)
namespace {

/// Runs work(log) in a child that is then killed at once.
template <class Work>
void in_killed_child(std::string const& file, cairn::trace_options const& options, Work work) {
  auto const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    trace_writer log{file, options};
    work(log);
    std::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}
std::vector<json> parts_of(std::vector<json> const& all) { return traces::with(all, "name", "part"); }

}  // namespace

TEST_CASE("a killed process leaves a trace that loads after repair, with all events that had reached the file") {
  traces::scratch_file const file;
  auto const many = [](trace_writer& log) {
    for (int k = 0; k < 10'000; ++k) trace_region const part{log, "part", {{"k", k}}};
  };
  in_killed_child(file.name(), {}, many);
  CHECK_THROWS(json::read(file.text()));
  CHECK(!trace_file::summarize_trace(file.name()).ended);
  auto const before = events_in(file.text()).size();
  auto const done = repair_trace(file.name());
  CHECK(done.changed);
  CHECK(done.events == before);
  auto const kept = parts_of(file.events());
  CHECK(kept.size() > 10'000 - 262'144 / 200);  // no more than a block is lost
  CHECK(kept.size() < 10'000);
  for (std::size_t k = 0; k < kept.size(); ++k) REQUIRE(kept[k].at("args").integer("k") == (long long)k);
  CHECK(trace_file::summarize_trace(file.name()).repaired);
}

TEST_CASE("a killed process loses no event that was flushed, and none where each is written at once") {
  traces::scratch_file const file;
  auto const few = [](trace_writer& log) {
    trace_region const open{log, "open"};  // never ends
    for (int k = 0; k < 100; ++k) trace_region const part{log, "part", {{"k", k}}};
  };
  in_killed_child(file.name(), {}, [&](trace_writer& log) {
    few(log);
    log.flush();
  });
  (void)repair_trace(file.name());
  CHECK(parts_of(file.events()).size() == 100);
  in_killed_child(file.name(), {.block_bytes = 0}, few);
  auto const done = repair_trace(file.name());
  CHECK(done.lost_bytes == 0);
  CHECK(parts_of(file.events()).size() == 100);
}
#endif
