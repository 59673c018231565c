// SPDX-License-Identifier: Apache-2.0
// A machine that loses power: of what was not flushed, any sectors are on its disk, in files of the old or the new
// length, with or without their names. What goes on finds the record before the cut, or the one that was written.
#include "support/catch.hpp"
#include "support/disk_runs.hpp"
#include "support/hash_off.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

/// What a process asked of its disk, in order.
struct operation {
  enum : char { write, flush } what;  // flush: of a file's content, or of the names in a folder
  std::string path;
  std::size_t at = 0;
  std::string bytes{};
};
std::vector<operation>* noted = nullptr;

std::string path_of(int file) {
  char path[512];
  ssize_t const size = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return {path, std::size_t(std::max(size, ssize_t{0}))};
}

}  // namespace

// The library's calls come here first.
extern "C" ssize_t pwrite(int file, void const* from, std::size_t size, off_t at) {
  if (noted != nullptr)
    noted->push_back({operation::write, path_of(file), std::size_t(at), {static_cast<char const*>(from), size}});
  return ssize_t(::syscall(SYS_pwrite64, file, from, size, at));
}
extern "C" int fdatasync(int file) {
  if (noted != nullptr) noted->push_back({operation::flush, path_of(file)});
  return 0;
}
extern "C" int fsync(int file) {
  if (noted != nullptr) noted->push_back({operation::flush, path_of(file)});
  return 0;
}

namespace {

using namespace disk_runs;
using cairn::disk_use;
using head = cairn::detail::file_head;
constexpr std::size_t sector = 512;
using writes = std::vector<operation const*>;

/// What one sector may hold: what was there, with the first few of the writes to it.
struct sectors {
  std::string before;
  writes since;
  std::size_t length = before.size();
  sectors(std::string was, writes all) : before{std::move(was)}, since{std::move(all)} {
    for (auto const* w : since) length = std::max(length, w->at + w->bytes.size());
  }
  [[nodiscard]] std::size_t count() const { return (length + sector - 1) / sector; }
  [[nodiscard]] writes of(std::size_t k) const {
    writes own;
    for (auto const* w : since)
      if (w->at < (k + 1) * sector && w->at + w->bytes.size() > k * sector) own.push_back(w);
    return own;
  }
  /// \param done  for each sector how many of its writes the disk has   \param fresh  where nothing was written
  [[nodiscard]] std::string with(std::vector<std::size_t> const& done, char fresh) const {
    std::string all = before;
    all.resize(length, fresh);
    for (std::size_t k = 0; k < count(); ++k) {
      auto const own = of(k);
      for (std::size_t n = 0; n < done[k]; ++n) {
        std::size_t const from = std::max(own[n]->at, k * sector);
        std::size_t const to = std::min(own[n]->at + own[n]->bytes.size(), (k + 1) * sector);
        std::copy_n(own[n]->bytes.begin() + std::ptrdiff_t(from - own[n]->at), to - from,
                    all.begin() + std::ptrdiff_t(from));
      }
    }
    return all;
  }
  /// Calls f(content, whole) for all that the disk may hold, or for `most` of it at random.
  template <class Fn>
  void each(std::mt19937_64& random, std::size_t most, Fn f) const {
    std::vector<std::size_t> last, done(count(), 0);
    double all = 1;
    for (std::size_t k = 0; k < count(); ++k) last.push_back(of(k).size()), all *= double(last.back() + 1);
    auto const told = [&] {
      char const fresh = random() % 4 == 0 ? char(random()) : '\0';  // some disks show there what was deleted
      auto const now = with(done, fresh);
      f(now, done == last);
      if (before.size() < length) f(now.substr(0, before.size()), false);
    };
    if (all <= double(most)) {
      for (;;) {
        told();
        std::size_t k = 0;
        while (k < done.size() && done[k] == last[k]) done[k++] = 0;
        if (k == done.size()) return;
        ++done[k];
      }
    }
    for (std::size_t n = 0; n < most; ++n) {
      auto const much = random() % 5;  // from none to all
      for (std::size_t k = 0; k < done.size(); ++k) done[k] = random() % 4 < much ? last[k] : random() % (last[k] + 1);
      if (much == 0) std::fill(done.begin(), done.end(), std::size_t{0});
      told();
    }
  }
};

/// A whole run, and the states in which a cut at each of its commits can leave its folder.
struct cut_run {
  std::vector<double> x0, want;
  temporary place{};
  std::vector<operation> all{};
  std::string folder{};
  std::mt19937_64 random{20'261'128};
  long tried = 0, wrong = 0, strange = 0, lost = 0;
  std::vector<step_index> seen{};  // where runs went on

  explicit cut_run(std::size_t size) : x0(size) {
    for (std::size_t k = 0; k < size; ++k) x0[k] = 0.3 - 0.001 * double(k % 700);
    want = right<numbers>(x0);
    noted = &all;
    (void)go_on<numbers>(place.run(), {.commit_every = 2}, x0);
    noted = nullptr;
    folder = only_run_in(place.run());
  }
  [[nodiscard]] std::string name_in_folder(operation const& one) const {
    return one.path.starts_with(folder + '/') ? one.path.substr(folder.size() + 1) : std::string{};
  }
  static bool is_record(std::string const& name) { return name.starts_with("record"); }

  /// What the disk may hold of the checkpoints that were written before an operation: nothing of them is flushed.
  files checkpoints_at(std::size_t operation) {
    std::map<std::string, writes> written;
    for (std::size_t k = 0; k < operation; ++k)
      if (auto const name = name_in_folder(all[k]); all[k].what == operation::write && name[0] == 's')
        written[name].push_back(&all[k]);
    files now;
    std::string const reserved(sizeof(head) + cairn::written_bytes(x0), '\0');
    for (auto const& [name, since] : written) {
      if (random() % 8 == 0) continue;
      auto const keep = [&all_of_it = now[name]](std::string const& content, bool) { all_of_it = content; };
      sectors{reserved, random() % 8 == 0 ? writes{} : since}.each(random, 1, keep);
    }
    return now;
  }
  /// \param may  where it may go on: the step of a record, or steps + 1 without one
  void go_on_with(files const& now, std::vector<step_index> const& may) {
    ++tried;
    put_back(folder, now);
    try {
      auto const got = go_on<numbers>(place.run(), {.commit_every = 2}, x0);
      wrong += !same(got.numbers, want);
      auto const from = got.report.used == disk_use::record ? got.report.resumed_at : steps + 1;
      lost += std::find(may.begin(), may.end(), from) == may.end();
      seen.push_back(from);
    } catch (...) {
      ++strange;
    }
  }
  /// All commits. \param most  states of each
  void cut(std::size_t most) {
    std::map<std::string, std::string> flushed;  // records, as the disk has them for certain
    std::map<std::string, writes> since;
    std::map<std::string, bool> named;
    step_index before = steps + 1;
    for (std::size_t k = 0; k < all.size(); ++k) {
      auto const name = name_in_folder(all[k]);
      if (all[k].what != operation::write || !is_record(name)) continue;
      since[name].push_back(&all[k]);
      if (all[k].at != 0) continue;  // the head comes last
      head written;
      std::memcpy(&written, all[k].bytes.data(), sizeof written);
      auto const step = step_index(written.step);
      auto const others = [&] {
        auto now = checkpoints_at(k);
        for (auto const& [other, content] : flushed)
          if (other != name) now[other] = content;
        return now;
      };
      sectors{flushed[name], since[name]}.each(random, most, [&](std::string const& content, bool whole) {
        auto now = others();
        now[name] = content;
        go_on_with(now, whole ? std::vector{step} : std::vector{before, step});
      });
      if (!named[name]) {
        flushed.erase(name);
        go_on_with(others(), {before});
      }
      for (; k + 1 < all.size() && all[k + 1].what == operation::flush; ++k) {
        if (all[k + 1].path == folder) named[name] = true;
        if (name_in_folder(all[k + 1]) != name) continue;
        sectors const on_disk{flushed[name], std::exchange(since[name], {})};
        std::vector<std::size_t> done;
        for (std::size_t s = 0; s < on_disk.count(); ++s) done.push_back(on_disk.of(s).size());
        flushed[name] = on_disk.with(done, '\0');
      }
      auto now = others();
      if (named[name]) now[name] = flushed[name];
      go_on_with(now, {step});
      before = step;
    }
  }
};

}  // namespace

TEST_CASE("after a cut of power in a commit a run goes on from the record before or from the new one, with its bits",
          "[disk]") {
  std::size_t const sizes[] = {2, 200, 20'000};
  for (std::size_t const size : sizes) {  // of one sector, of four, of more than one write
    cut_run run{size};
    run.cut(size < 1'000 ? 600 : 8);
    CAPTURE(size, run.seen.size());
    CHECK(run.tried > (size == 200 ? 200 : 30));
    CHECK(run.wrong == 0);
    CHECK(run.strange == 0);
    CHECK(run.lost == 0);
    for (step_index const from : {0, 1, 3, 5, 7, 9, 11, int(steps) + 1})
      CHECK(std::count(run.seen.begin(), run.seen.end(), from) > 0);
  }
}
TEST_CASE("a cut of power at any write of a checkpoint leaves states that are used for what they are, or not", "[disk]") {
  cut_run run{200};
  for (std::size_t k = 0; k <= run.all.size(); ++k)
    for (int n = 0; n < 10; ++n) run.go_on_with(run.checkpoints_at(k), {steps + 1});
  CHECK(run.tried > 300);
  CHECK(run.wrong == 0);
  CHECK(run.strange == 0);
  CHECK(run.lost == 0);
}
TEST_CASE("the names of the folders of a run are on the disk before its first record", "[disk]") {
  cut_run const run{2};
  auto const flushed = [&](std::string const& path) {
    for (auto const& one : run.all) {
      if (one.what == operation::flush && one.path == path) return true;
      if (cut_run::is_record(run.name_in_folder(one))) return false;
    }
    return false;
  };
  CHECK(flushed(run.place.path()));
  CHECK(flushed(run.place.run()));
}
TEST_CASE("what these cuts leave is found by the hash of the content: without it runs fail", "[disk]") {
  hash_is_off = true;
  struct on_again {
    ~on_again() { hash_is_off = false; }
  } const last;
  cut_run run{200};
  run.cut(100);
  CHECK(run.wrong + run.strange > run.tried / 20);
}
TEST_CASE("10^5 states of cuts", "[.soak]") {
  std::size_t const sizes[] = {200, 2'000, 20'000};
  for (std::size_t const size : sizes) {
    cut_run run{size};
    run.random.seed(std::random_device{}());
    run.cut(5'000);
    CHECK(run.wrong + run.strange + run.lost == 0);
  }
}
