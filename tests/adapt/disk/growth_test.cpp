// SPDX-License-Identifier: Apache-2.0
// Runs on disk whose states grow keep their budget of memory: slots in memory are given up, files are not.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/profile/measured.hpp>
#include "support/catch.hpp"
#include "support/growing.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

using field = std::vector<double>;
constexpr step_index n = 300;
long long calls = 0;
step_index stop_at = -1;
struct broken {};

/// Each state has twenty numbers more than the one before.
struct growing {
  field operator()(field const& x, step_index i) const {
    ++calls;
    return grown(x, i, 20);
  }
};
struct back {
  void operator()(field const& x, field& bar, step_index i) const {
    if (i == stop_at) throw broken{};
    pull_grown(x, bar);
  }
};
field ones(field const& x) { return field(x.size(), 1.0); }
field const x0(400, 0.5);
std::string const key = "growing";

/// Runs within so much memory; returns whether it went through.
template <class Run>
bool keeps(std::int64_t bytes, Run run) {
  INFO(bytes << " bytes");
  bool whole = true;
  heap::mark const heap;
  try {
    run();
  } catch (infeasible_budget const& e) {
    whole = false;
    CHECK_THAT(e.what(), ContainsSubstring("budget = " + std::to_string(bytes)));
  }
  CHECK(std::int64_t(heap.rise() + bytes_of(x0)) <= bytes + 1'000);  // a step shows its growth afterwards, and a file has a name
  return whole;
}

}  // namespace

TEST_CASE("a run on disk whose states grow keeps its budget of memory", "[adapt][disk][bytes]") {
  auto const right = gradient(growing{}, x0, store_all(n), ones, back{});
  int whole = 0, stops = 0;
  for (std::int64_t const bytes : {150'000, 250'000, 400'000, 1'000'000, 4'000'000}) {
    support::temporary const folder;
    whole += keeps(bytes, [&] {
      disk const run{folder.run(), {.key = key}};
      auto const found = gradient(growing{}, x0, budget_of{n, bytes, run, "2MB"}, ones, back{}, run);
      CHECK(found == right);
    });
    support::temporary const other;
    stops += keeps(bytes, [&] {
      disk const run{other.run(), {.key = key}};
      stop_at = 150;
      try {
        (void)gradient(growing{}, x0, budget_of{n, bytes, run, "2MB"}, ones, back{}, run);
        FAIL("it did not stop");
      } catch (broken const&) {
      }
      stop_at = -1;
      auto const found = gradient(growing{}, x0, budget_of{n, bytes, run, "2MB"}, ones, back{}, run);
      CHECK(found == right);
    });
    stop_at = -1;
  }
  CHECK(whole >= 3);
  CHECK(stops == whole);
}

TEST_CASE("a kept run on disk whose states grow keeps its budget of memory", "[adapt][disk][bytes]") {
  auto const right = gradient(growing{}, x0, store_all(n), ones, back{});
  int whole = 0;
  for (std::int64_t const bytes : {150'000, 250'000, 400'000, 1'000'000, 4'000'000}) {
    support::temporary const folder;
    whole += keeps(bytes, [&] {
      disk const run{folder.run(), {.key = key}};
      auto kept = checkpointed_loop(growing{}, x0, budget_of{n, bytes, run, "2MB"}, run);
      for (int again = 0; again < 2; ++again) {
        auto const found = kept.reverse(ones, back{});
        CHECK(found == right);
      }
    });
  }
  CHECK(whole >= 3);
}
