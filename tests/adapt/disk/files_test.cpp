// SPDX-License-Identifier: Apache-2.0
// Files that are not what a run wrote: the run that goes on is as if they were not there.
#include "support/catch.hpp"
#include "support/disk_runs.hpp"
#include "support/hash_off.hpp"
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace disk_runs;
using cairn::disk_use;
using head = cairn::detail::file_head;

/// With two records and three checkpoints that all are needed.
constexpr long middle = 24;

[[nodiscard]] head head_in(std::string const& content) {
  head all;
  if (content.size() >= sizeof all) std::memcpy(&all, content.data(), sizeof all);
  return all;
}
/// A head with a right hash of its own.
void put_head(std::string& content, head all) {
  all.seal();
  std::memcpy(content.data(), &all, sizeof all);
}

/// A run that was stopped in its middle, in a folder that can be made as it was then.
template <class Kind>
struct run_in_its_middle {
  temporary place;
  files const all = stop_at<Kind>(place.run(), middle);
  std::string const folder = only_run_in(place.run());
  std::vector<double> const want = right<Kind>();

  outcome with(files const& now) const {
    put_back(folder, now);
    return go_on<Kind>(place.run());
  }
  outcome without(std::string const& name) const {
    auto now = all;
    now.erase(name);
    return with(now);
  }
};
/// What a run does that has a file of other content in one place: it must be what it does without that file.
struct tally {
  long tried = 0, wrong = 0, used = 0;
  void add(outcome const& seen, std::vector<double> const& want, outcome const& without) {
    ++tried;
    wrong += !same(seen.numbers, want);
    used += seen.report.used != without.report.used || seen.report.resumed_at != without.report.resumed_at ||
            seen.report.step_calls != without.report.step_calls;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("files as they were are used, each of them", "[disk]", numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  REQUIRE(run.all.size() == 5);
  auto const seen = run.with(run.all);
  CHECK(same(seen.numbers, run.want));
  CHECK(seen.report.used == disk_use::record);
  CHECK(seen.report.resumed_at == 9);
  CHECK(run.without("record1").report.resumed_at == 11);
  CHECK(run.without("record0").report.resumed_at == 9);
  for (auto const* const slot : {"s0002", "s0003"})  // the first holds the initial state, which is there
    CHECK(run.without(slot).report.step_calls > seen.report.step_calls);
}

TEMPLATE_TEST_CASE("a file with a changed bit is not used", "[disk]", numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  for (auto const& [name, content] : run.all) {
    tally sum;
    auto const without = run.without(name);
    std::size_t const first = std::is_same_v<TestType, numbers> ? 0 : 8 * sizeof(head);  // heads are alike
    for (std::size_t bit = first; bit < 8 * content.size(); ++bit) {
      auto now = run.all;
      now[name][bit / 8] = char(now[name][bit / 8] ^ (1 << bit % 8));
      sum.add(run.with(now), run.want, without);
    }
    CAPTURE(name);
    CHECK(sum.tried >= 64);
    CHECK(sum.wrong == 0);
    CHECK(sum.used == 0);
  }
}

TEMPLATE_TEST_CASE("a file that ends before it should is not used", "[disk]", numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  for (auto const& [name, content] : run.all) {
    tally sum;
    auto const without = run.without(name);
    // What lies behind the content of a slot that held a larger state before is not of it.
    std::size_t const length = sizeof(head) + std::size_t(head_in(content).stored);
    for (std::size_t size = 0; size < length; ++size) {
      auto now = run.all;
      now[name].resize(size);
      sum.add(run.with(now), run.want, without);
    }
    CAPTURE(name);
    CHECK(sum.tried >= 136);
    CHECK(sum.wrong == 0);
    CHECK(sum.used == 0);
  }
}

TEMPLATE_TEST_CASE("bytes behind the content of a file change nothing", "[disk]", numbers, flags) {
  run_in_its_middle<TestType> const run;
  auto const whole = run.with(run.all);
  for (auto const& [name, content] : run.all) {
    auto now = run.all;
    now[name] += std::string(5'000, 'x');
    auto const seen = run.with(now);
    CHECK(same(seen.numbers, run.want));
    CHECK(seen.report.step_calls == whole.report.step_calls);
    CHECK(seen.report.resumed_at == whole.report.resumed_at);
  }
}

TEMPLATE_TEST_CASE("a file in the place of another one is not used", "[disk]", numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  for (auto const& [to, content] : run.all) {
    tally sum;
    auto const without = run.without(to);
    for (auto const& [from, other] : run.all) {
      if (from == to) continue;
      auto now = run.all;
      now[to] = other;
      sum.add(run.with(now), run.want, without);
    }
    CAPTURE(to);
    CHECK(sum.wrong == 0);
    CHECK(sum.used == 0);
  }
  auto both = run.all;
  std::swap(both["record0"], both["record1"]);
  auto const seen = run.with(both);
  CHECK(same(seen.numbers, run.want));
  CHECK(seen.report.used == disk_use::states);
}

TEMPLATE_TEST_CASE("files of another run are not used, in any mixture", "[disk]", numbers, named, flags, object) {
  auto x0 = TestType::first();
  TestType::change(x0);
  temporary const elsewhere;
  auto const others = stop_at<TestType>(elsewhere.run(), middle, x0);
  run_in_its_middle<TestType> const run;
  REQUIRE(others.size() == run.all.size());
  REQUIRE(!same(right<TestType>(x0), run.want));
  for (unsigned mixture = 1; mixture < 1u << run.all.size(); ++mixture) {
    auto mixed = run.all, fewer = run.all;
    unsigned k = 0;
    for (auto const& [name, content] : run.all)
      if (mixture >> k++ & 1) mixed[name] = others.at(name), fewer.erase(name);
    auto const seen = run.with(mixed), without = run.with(fewer);
    CAPTURE(mixture);
    CHECK(same(seen.numbers, run.want));
    CHECK(seen.report.used == without.report.used);
    CHECK(seen.report.resumed_at == without.report.resumed_at);
    CHECK(seen.report.step_calls == without.report.step_calls);
  }
}

TEMPLATE_TEST_CASE("older files of the same run are used for what they are, in any mixture", "[disk]", numbers, named,
                   flags, object) {
  std::vector<files> stages;
  for (long const call : {12, 18, 24, 27, 30, 33, 36}) {
    temporary const place;
    stages.push_back(stop_at<TestType>(place.run(), call));
  }
  run_in_its_middle<TestType> const run;
  std::uint32_t random = 1;
  for (int k = 0; k < 500; ++k) {
    files mixed;
    for (auto const& [name, content] : run.all) {
      random = random * 1'664'525u + 1'013'904'223u;
      auto const& stage = stages[(random >> 16) % stages.size()];
      if (stage.contains(name)) mixed[name] = stage.at(name);
    }
    CHECK(same(run.with(mixed).numbers, run.want));
  }
}

TEMPLATE_TEST_CASE("empty files, zeros and noise are not used", "[disk]", numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  std::string noise(300, '\0');
  for (std::size_t k = 0; k < noise.size(); ++k) noise[k] = char(k * k * 31 + k * 7);
  for (auto const& [name, content] : run.all) {
    tally sum;
    auto const without = run.without(name);
    for (auto const& other : {std::string{}, std::string(content.size(), '\0'), std::string(70'000, '\0'), noise,
                              content.substr(sizeof(head)), std::string(content.size(), '\xff')}) {
      auto now = run.all;
      now[name] = other;
      sum.add(run.with(now), run.want, without);
    }
    CHECK(sum.wrong == 0);
    CHECK(sum.used == 0);
  }
}

TEMPLATE_TEST_CASE("a head that is whole but does not fit its content, its place or its run is not believed", "[disk]",
                   numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  for (auto const& [name, content] : run.all) {
    tally sum;
    auto const without = run.without(name);
    auto const whole = head_in(content);
    auto const wrong = [&, place = name](auto change) {
      auto now = run.all;
      head other = whole;
      change(other);
      put_head(now[place], other);
      sum.add(run.with(now), run.want, without);
    };
    for (std::uint64_t const size : {std::uint64_t{0}, std::uint64_t{1}, whole.raw - 1, whole.raw + 1, whole.raw + 8,
                                     std::uint64_t{1} << 32, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
      wrong([&](head& h) { h.raw = h.stored = size; });
      wrong([&](head& h) { h.raw = size; });
      wrong([&](head& h) { h.stored = size; });
    }
    wrong([&](head& h) { h.kind = h.kind == cairn::detail::file_kind::record ? cairn::detail::file_kind::checkpoint
                                                                               : cairn::detail::file_kind::record; });
    wrong([](head& h) { h.codec = 1; });
    wrong([](head& h) { h.version = 1; });
    wrong([](head& h) { h.endian = 0x04030201; });
    wrong([](head& h) { ++h.slot; });
    wrong([](head& h) { ++h.run.words[0]; });
    wrong([](head& h) { ++h.run.words[1]; });
    wrong([](head& h) { ++h.steps; });
    wrong([](head& h) { h.step = std::uint64_t(steps) + 1; });
    wrong([](head& h) { h.step = ~std::uint64_t{0}; });
    wrong([](head& h) { ++h.raw_hash; });
    wrong([](head& h) { ++h.stored_hash; });
    CAPTURE(name);
    if (name[0] == 's')  // nor is it something to go on from
      for (std::uint64_t const size : {whole.raw + 1, std::uint64_t{1} << 60}) {
        files alone{{name, content}};
        head other = whole;
        other.raw = other.stored = size;
        put_head(alone[name], other);
        CHECK(run.with(alone).report.used == disk_use::nothing);
      }
    CHECK(sum.wrong == 0);
    CHECK(sum.used == 0);
  }
}

TEMPLATE_TEST_CASE("a damaged record is the next one to be overwritten, the other one stays until then", "[disk]",
                   numbers, named, flags, object) {
  run_in_its_middle<TestType> const run;
  auto now = run.all;
  now["record1"].back() ^= 1;  // the later one, with a head that is whole
  put_back(run.folder, now);
  calls = 0;
  (void)go_on<TestType>(run.place.run());
  long const all = calls;
  int committed = 0;
  for (long call = 1; call < all; ++call) {
    put_back(run.folder, now);
    auto const then = stop_at<TestType>(run.place.run(), call);
    bool const unchanged = then.at("record0") == run.all.at("record0");
    CHECK((unchanged || head_in(then.at("record1")).owner != head_in(now["record1"]).owner));
    committed += !unchanged;
    CHECK(same(go_on<TestType>(run.place.run()).numbers, run.want));
  }
  CHECK(committed > 0);
}

TEMPLATE_TEST_CASE("a run that begins anew over the files of another process commits over its records", "[disk]",
                   numbers, object) {
  run_in_its_middle<TestType> const run;
  put_back(run.folder, run.all);
  auto const seen = go_on<TestType>(run.place.run(), {.resume = cairn::resume_rule::never, .commit_every = 2});
  CHECK(same(seen.numbers, run.want));
  CHECK(seen.report.used == disk_use::nothing);
  auto const finished = go_on<TestType>(run.place.run());
  CHECK(finished.report.resumed_at == 0);
  CHECK(same(finished.numbers, run.want));
  // Its first record counts, not one of the others that is left.
  put_back(run.folder, run.all);
  (void)stop_at<TestType>(run.place.run(), 18, TestType::first(), cairn::resume_rule::never);
  auto const next = go_on<TestType>(run.place.run());
  CHECK(next.report.resumed_at == 13);
  CHECK(same(next.numbers, run.want));
}

TEST_CASE("what these tests find is found by the hash of the content: without it a changed bit is an error or is wrong",
          "[disk]") {
  hash_is_off = true;
  struct on_again {
    ~on_again() { hash_is_off = false; }
  } const last;
  run_in_its_middle<numbers> const run;
  long wrong = 0, refused = 0, tried = 0;
  for (auto const& [name, content] : run.all)
    for (std::size_t bit = 8 * (content.size() - 16); bit < 8 * content.size(); ++bit) {  // of two numbers
      auto now = run.all;
      now[name][bit / 8] = char(now[name][bit / 8] ^ (1 << bit % 8));
      try {
        ++tried;
        wrong += !same(run.with(now).numbers, run.want);
      } catch (...) {  // another hash finds it, that of the value, which is not made again then
        ++refused;
      }
    }
  CHECK(wrong + refused > tried / 4);
}
