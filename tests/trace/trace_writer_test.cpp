// SPDX-License-Identifier: Apache-2.0
// The file of a trace, and what programs write into it by themselves.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/trace/trace_region.hpp>
#include <cairn/trace/trace_writer.hpp>
#include <cairn/version.hpp>
#include "support/catch.hpp"
#include "support/trace.hpp"

using cairn::trace_region;
using cairn::trace_writer;

TEST_CASE("a trace without events names its process, begins and ends") {
  traces::scratch_file const file;
  auto log = cairn::initialize_log(file.name(), "/some/data", 42);
  CHECK(log.enabled());
  CHECK(log.file() == file.name());
  log.finalize();
  log.finalize();
  CHECK(!log.enabled());
  auto const all = file.events();
  traces::check(all);
  auto const start = traces::with(all, "name", "start").at(0);
  CHECK(start.at("args").text("version") == CAIRN_VERSION_STRING);
  CHECK(start.at("args").text("date").size() == std::string{"2026-01-31T23:59:59Z"}.size());
  CHECK(start.integer("pid") == 42);
  std::vector<std::string> told;
  for (auto const& e : traces::with(all, "ph", "M"))
    told.push_back(e.text("name") + (e.at("args").members.count("what") ? " " + e.at("args").text("what") : ""));
  CHECK(told == std::vector<std::string>{"thread_name", "HH", "process_name", "FH cwd", "SH command", "SH executable",
                                         "FH data_dir"});
  auto const hash_of = [&](std::string const& name, std::string const& what) {
    for (auto const& e : traces::with(all, "name", name))
      if (traces::of(e.at("args"), "what") == what) return e.at("args").text("value");
    return std::string{};
  };
  CHECK(start.at("args").text("hhash") == hash_of("HH", ""));
  CHECK(start.at("args").text("cmd_hash") == hash_of("SH", "command"));
  CHECK(start.at("args").text("exec_hash") == hash_of("SH", "executable"));
  CHECK(start.at("args").text("cwd") == hash_of("FH", "cwd"));
  CHECK(hash_of("FH", "data_dir") == "4b3b4aa9c49441fb");  // FNV-1a of "/some/data", by another program
}

TEST_CASE("regions nest, and show what they are given") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name(), {.clock = traces::fake_clock}};
    log.note("plan", "0123456789abcdef0123456789abcdef");
    trace_region const epoch{log, "epoch", {{"epoch", 3}, {"last", true}}};
    for (int k = 0; k < 2; ++k) {
      trace_region const step{log,
                              "step",
                              {{"step", k},
                               {"image_idx", 42u},
                               {"image_size", {224, 224}},
                               {"rate", 0.25},
                               {"data", "a \"name\" \\ in\ntwo lines"},
                               {"none", std::nan("")}},
                              {.category = "train", .type = "module", .target = "net.conv1", .grad_enabled = true}};
      log.count("loss", {{"train", 10 - k}, {"test", 20}});
    }
  }
  auto const all = file.events();
  traces::check(all);
  auto const slices = traces::slices(all);
  REQUIRE(slices.size() == 3);  // those inside end first
  CHECK(slices[2].text("name") == "epoch");
  CHECK(slices[2].at("args").integer("p_idx") == -1);
  CHECK(slices[2].at("args").integer("level") == 1);
  CHECK(slices[2].at("args").integer("epoch") == 3);
  CHECK(slices[2].at("args").at("last").is == json::kind::boolean);
  CHECK(slices[2].at("args").text("type") == "region");
  CHECK(slices[2].at("args").text("target") == "epoch");
  for (int k = 0; k < 2; ++k) {
    auto const& args = slices[std::size_t(k)].at("args");
    CHECK(slices[std::size_t(k)].text("cat") == "train");
    CHECK(args.integer("p_idx") == slices[2].integer("id"));
    CHECK(args.integer("step") == k);
    CHECK(args.integer("image_idx") == 42);
    CHECK(args.at("image_size").items.at(1).number == 224);
    CHECK(args.at("rate").number == 0.25);
    CHECK(args.text("data") == "a \\\"name\\\" \\\\ in\\u000atwo lines");
    CHECK(args.text("none") == "nan");
    CHECK(args.text("type") == "module");
    CHECK(args.text("target") == "net.conv1");
    CHECK(args.integer("grad_enabled") == 1);
  }
  CHECK(traces::nanoseconds(slices[0], "dur") == 2000);  // looks at the clock: begin, count, end
  CHECK(traces::with(all, "name", "plan").at(0).at("args").text("name") == "0123456789abcdef0123456789abcdef");
  auto const counts = traces::with(all, "ph", "C");
  REQUIRE(counts.size() == 2);
  CHECK(counts[1].at("args").integer("train") == 9);
  CHECK(counts[1].members.count("id") == 0);  // readers would make a counter of its own of each
}

TEST_CASE("numbers of every length are written as they are") {
  traces::scratch_file const file;
  std::vector<std::int64_t> values{0, -1, INT64_MAX, INT64_MIN};
  for (std::int64_t power = 1; power <= INT64_MAX / 10; power *= 10)
    for (auto const value : {power, power + 1, 10 * power - 1, 10 * power, 1 - 10 * power, -10 * power})
      values.push_back(value);
  {
    trace_writer log{file.name()};
    for (auto const value : values) log.count("n", {{"v", value}});
  }
  std::string const text = file.text();
  std::size_t at = 0;
  for (auto const value : values) {
    at = text.find("{\"v\":", at) + 5;
    auto const end = text.find('}', at);
    REQUIRE(text.substr(at, end - at) == std::to_string(value));
  }
}

TEST_CASE("a block of any size gives the same events") {
  std::vector<std::string> kept;
  for (std::size_t const block : {0u, 4096u, 5000u, 8192u, 12'345u, 262'144u}) {
    traces::scratch_file const file;
    {
      trace_writer log{file.name(), {.block_bytes = block, .clock = traces::fake_clock}};
      for (int k = 0; k < 3000; ++k) {
        std::string const name(std::size_t(k == 1000 ? 20'000 : k % 97), 'x');
        trace_region const region{log, name, {{"k", k}}};
        if (k % 500 == 499) log.flush();
      }
    }
    auto const all = file.events();
    traces::check(all);
    std::vector<std::string> names;
    for (auto const& e : traces::slices(all)) names.push_back(e.text("name"));
    REQUIRE(names.size() == 3000);
    if (kept.empty()) kept = names;
    CHECK(names == kept);
  }
}

TEST_CASE("names of any bytes make valid JSON in UTF-8") {
  traces::scratch_file const file;
  std::vector<std::string> const names{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                                       "\xff\xfe",
                                       "\xc0\x80",
                                       "\xed\xa0\x80",
                                       "cut \xe2\x82",
                                       std::string("\0zero", 5),
                                       "\x1f\x7f"};
  {
    trace_writer log{file.name()};
    for (auto const& name : names) trace_region const region{log, name, {{name, name}}};
  }
  auto const slices = traces::slices(file.events());
  REQUIRE(slices.size() == names.size());
  CHECK(slices[0].text("name") == names[0]);
  CHECK(slices[1].text("name") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(slices[4].text("name") == "cut \xef\xbf\xbd\xef\xbf\xbd");
  CHECK(slices[5].text("name") == "\\u0000zero");
}

TEST_CASE("a filter keeps the categories that it names, and what is inside of the others") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name(), {.categories = "train, function"}};
    CHECK(log.wants("train"));
    CHECK(log.wants("function"));
    CHECK(!log.wants("region"));
    trace_region const whole{log, "whole"};
    trace_region const train{log, "train", {}, {.category = "train"}};
    trace_region const part{log, "part"};
    cairn::traced(log, "f", [] {})();
    log.count("loss", {{"train", 1}});
  }
  auto const all = file.events();
  traces::check(all);
  auto const slices = traces::slices(all);
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].text("name") == "function.f");
  CHECK(slices[0].at("args").integer("p_idx") == slices[1].integer("id"));
  CHECK(slices[1].text("name") == "train");
  CHECK(slices[1].at("args").integer("p_idx") == -1);
  CHECK(traces::with(all, "ph", "C").empty());
  for (auto const* wrong : {",", "a,,b", "a,", " "})
    CHECK_THROWS_AS(trace_writer(file.name(), {.categories = wrong}), cairn::invalid_call);
}

TEST_CASE("what is not enabled writes nothing and makes no file") {
  traces::scratch_file const file;
  {
    trace_writer log{file.name(), {.enabled = false}};
    CHECK(!log.enabled());
    CHECK(!log.wants("train"));
    log.note("plan", "x");
    trace_region const region{log, "region"};
    CHECK(cairn::traced(log, "f", [](int k) { return k + 1; })(1) == 2);
    log.flush();
    log.finalize();
  }
  CHECK(!std::filesystem::exists(file.name()));
  {
    trace_writer log{file.name()};
    trace_region const region{log, "region", {{"key", 1}}, {.enable = false}};
    trace_region const other{log, "other"};
  }
  REQUIRE(traces::slices(file.events()).size() == 1);
  {
    trace_writer log{file.name(), {.metadata = false}};
    log.note("plan", "x");
  }
  CHECK(traces::with(file.events(), "ph", "M").size() == 2);  // the thread and the note
  CHECK(file.text().find(std::filesystem::current_path().string()) == std::string::npos);

  cairn::no_trace nothing;
  trace_region const region{nothing, "region", {{"epoch", 1}}};
  auto const f = [](int k) { return 2 * k; };
  static_assert(std::is_same_v<decltype(cairn::traced(nothing, "f", f)), decltype(f)&>);
  CHECK(!nothing.enabled());
}

TEST_CASE("a traced function is the function, in every form that a loop knows") {
  traces::scratch_file const file;
  auto const in_place = [](double& x, cairn::step_index i) { x += 0.1 * x * double(i % 3); };
  auto const by_value = [&](double x, cairn::step_index i) {
    in_place(x, i);
    return x;
  };
  auto const adjoint = [](double const&, double& bar, cairn::step_index i) { bar += 0.1 * bar * double(i % 3); };
  cairn::revolve const plan{20, 3};
  double const expected = cairn::gradient(in_place, 1.0, plan, 1.0, adjoint);
  {
    trace_writer log{file.name()};
    auto const back = cairn::traced(log, "adjoint", adjoint);
    CHECK(cairn::gradient(cairn::traced(log, "step", in_place), 1.0, plan, 1.0, back) == expected);
    CHECK(cairn::gradient(cairn::traced(log, "step", by_value), 1.0, plan, 1.0, back) == expected);
    auto sums = [sum = 0](int k) mutable { return sum += k; };
    auto counted = cairn::traced(log, "sum", std::ref(sums));
    counted(1);
    CHECK(sums(1) == 2);
    auto const throws = cairn::traced(log, "throws", []() -> int { throw std::runtime_error{"on purpose"}; });
    CHECK_THROWS_AS(throws(), std::runtime_error);
    trace_region const after{log, "after"};
  }
  auto const all = file.events();
  traces::check(all);
  CHECK(traces::with(all, "name", "function.adjoint").size() == 40);
  CHECK(traces::with(all, "name", "function.throws").size() == 1);
  CHECK(traces::with(all, "name", "after").at(0).at("args").integer("level") == 1);
}

TEST_CASE("a file that cannot be written is said at once, a full disk at the end") {
  CHECK_THROWS_AS(trace_writer{"/nowhere/at/all.pfw"}, cairn::file_error);
  try {
    trace_writer const log{"/nowhere/at/all.pfw"};
  } catch (cairn::file_error const& e) {
    CHECK(std::string{e.what()}.find("/nowhere/at/all.pfw") != std::string::npos);
  }
  if (!std::filesystem::exists("/dev/full")) CAIRN_SKIP("no /dev/full");
  trace_writer log{"/dev/full", {.block_bytes = 0}};
  CHECK(!log.enabled());
  trace_region const region{log, "region"};
  CHECK_THROWS_AS(log.finalize(), cairn::file_error);
  log.finalize();
}

TEST_CASE("threads write side by side, each with its own events around its own") {
  traces::scratch_file const file;
  constexpr int threads = 4, regions = 300;
  {
    trace_writer log{file.name(), {.block_bytes = 4096}};
    trace_region const whole{log, "whole"};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&log, t] {
        trace_region const outer{log, "outer", {{"t", t}}};
        for (int k = 0; k < regions; ++k) trace_region const inner{log, "inner", {{"t", t}}};
      });
    for (auto& one : all) one.join();
  }
  auto const all = file.events();
  traces::check(all);
  CHECK(traces::with(all, "name", "inner").size() == threads * regions);
  CHECK(traces::with(all, "name", "thread_name").size() == threads + 1);
  std::map<long long, long long> thread_of, outer_of;
  for (auto const& e : traces::with(all, "name", "outer")) {
    CHECK(e.at("args").integer("p_idx") == -1);  // the region of another thread is not around it
    thread_of[e.at("args").integer("t")] = e.integer("tid");
    outer_of[e.at("args").integer("t")] = e.integer("id");
  }
  CHECK(thread_of.size() == threads);
  for (auto const& e : traces::with(all, "name", "inner")) {
    auto const t = e.at("args").integer("t");
    REQUIRE(e.integer("tid") == thread_of[t]);
    REQUIRE(e.at("args").integer("p_idx") == outer_of[t]);
  }
}

TEST_CASE("two traces of one thread do not see each other") {
  traces::scratch_file const first, second;
  {
    trace_writer one{first.name()}, two{second.name()};
    trace_region const a{one, "a"};
    trace_region const b{two, "b"};
    trace_region const c{one, "c"};
  }
  for (auto const* file : {&first, &second}) {
    auto const all = file->events();
    traces::check(all);
    for (auto const& e : traces::slices(all)) CHECK(e.at("args").integer("p_idx") == -1);
  }
}
