// SPDX-License-Identifier: Apache-2.0
// Traces that are compressed: Perfetto's own form of a large one.
#include <filesystem>
#include <fstream>
#include <string>
#include <cairn/adapt/zlib.hpp>
#include <cairn/core/error.hpp>
#include "trace_file/repair.hpp"
#include <cairn/trace/trace_region.hpp>
#include "trace_file/summary.hpp"
#include "support/catch.hpp"
#include "support/trace.hpp"

TEST_CASE("a trace is packed and unpacked to the same bytes") {
  traces::scratch_file const file;
  {
    cairn::trace_writer log{file.name()};
    for (int k = 0; k < 2000; ++k) cairn::trace_region const part{log, "part", {{"k", k}}};
  }
  auto const text = file.text();
  auto const packed = cairn::gzip_trace(file.name());
  CHECK(packed == file.name() + ".gz");
  CHECK(!std::filesystem::exists(file.name()));
  CHECK(std::filesystem::file_size(packed) * 8 < text.size());
  CHECK_THROWS_AS(trace_file::summarize_trace(packed), cairn::parse_error);
  CHECK_THROWS_AS(trace_file::repair_trace(packed), cairn::parse_error);
  CHECK(cairn::gunzip_trace(packed) == file.name());
  CHECK(!std::filesystem::exists(packed));
  CHECK(file.text() == text);
}

TEST_CASE("a packed trace that is damaged is refused, and stays") {
  traces::scratch_file const file;
  file.write(std::string(100'000, 'x'));
  auto const packed = cairn::gzip_trace(file.name());
  auto const size = std::filesystem::file_size(packed);
  std::filesystem::resize_file(packed, size / 2);
  CHECK_THROWS_AS(cairn::gunzip_trace(packed), cairn::file_error);
  CHECK(std::filesystem::exists(packed));
  CHECK(!std::filesystem::exists(file.name()));
  std::ofstream{packed} << "no gzip at all";
  CHECK_THROWS_AS(cairn::gunzip_trace(packed), cairn::file_error);
  std::filesystem::remove(packed);
  CHECK_THROWS_AS(cairn::gzip_trace("/nowhere/at/all.pfw"), cairn::file_error);
  CHECK_THROWS_AS(cairn::gunzip_trace("/nowhere/at/all.gz"), cairn::file_error);
  CHECK_THROWS_AS(cairn::gunzip_trace("all.pfw"), cairn::invalid_call);
}
