// SPDX-License-Identifier: Apache-2.0
// Compressed checkpoints: they come back with their bits, are believed only if all hashes are right, and take no more
// memory and no more room than is said.
#include <cairn/adapt/zstd.hpp>
#include "support/catch.hpp"
#include "support/disk_runs.hpp"
#include "support/heap.hpp"
#include "support/killed.hpp"
#include "support/killed_writes.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/stat.h>
#include <vector>
#include <xxhash.h>

namespace {

using namespace disk_runs;
using cairn::disk_use;
using cairn::detail::block_packer;
using head = cairn::detail::file_head;
constexpr std::size_t block = block_packer::block;

head head_in(std::string const& file) {
  head all;
  std::memcpy(&all, file.data(), sizeof all);
  return all;
}
void put_head(std::string& file, head all) {
  all.seal();
  std::memcpy(file.data(), &all, sizeof all);
}
/// The head has the right hashes of itself and of what is in the file.
void seal(std::string& file, head all) {
  std::size_t const bytes = std::min<std::size_t>(all.stored, file.size() - sizeof all);
  all.stored_hash = XXH64(file.data() + sizeof all, bytes, all.step);
  put_head(file, all);
}

enum class kind { zeros, doubles, floats, text, noise };
std::string content(kind what, std::size_t bytes) {
  std::string all(bytes + 8, '\0');
  std::mt19937_64 random{bytes};
  for (std::size_t k = 0; k < bytes; k += 8) {
    double const v = std::sin(1e-3 * double(k));
    float const w[] = {float(v), float(std::sin(1e-3 * double(k + 4)))};
    std::uint64_t const bits = random();
    if (what == kind::doubles) std::memcpy(&all[k], &v, 8);
    if (what == kind::floats) std::memcpy(&all[k], w, 8);
    if (what == kind::text) std::memcpy(&all[k], "and some", bits % 8), all[k] = char(bits % 3);
    if (what == kind::noise) std::memcpy(&all[k], &bits, 8);
  }
  all.resize(bytes);
  return all;
}

/// A folder whose one slot is written and read as a run does it.
struct one_slot {
  temporary place{};
  cairn::detail::outer_folders outer{cairn::detail::open_folder(AT_FDCWD, place.run())};
  cairn::detail::run_folder folder{outer, place.run(), {{1, 2}}, 10};
  std::string const name = folder.path() + "/s0000";
  explicit one_slot(cairn::compression by = cairn::zstd) { folder.compress(*by); }

  std::uint64_t write(std::string const& all, std::size_t piece = 1'000'000) {
    std::uint64_t bytes = 0;
    auto const put = [&](auto& sink) {
      for (std::size_t at = 0; at < all.size(); at += piece) sink(all.data() + at, std::min(piece, all.size() - at));
    };
    CHECK(folder.write_slot(0, 3, 0, 0, put, bytes) == 0);
    return bytes;
  }
  /// What is read, or "nothing".
  std::string read(std::size_t bytes, std::size_t piece = 1'000'000) {
    std::string all(bytes, 'x');
    bool const right = folder.read_slot(0, 3, [&](auto& source) {
      for (std::size_t at = 0; at < bytes; at += piece) source(all.data() + at, std::min(piece, bytes - at));
    });
    return right ? all : "nothing";
  }
};

cairn::disk_options const packed{.commit_every = 2, .compress = cairn::zstd};
/// A run that was stopped in its middle.
struct in_its_middle {
  std::vector<double> x0;
  std::vector<double> want = right<numbers>(x0);
  temporary place{};
  files all{};
  explicit in_its_middle(std::vector<double> const& from, cairn::disk_options const& how = packed) : x0{from} {
    calls = 0, last_call = 24;
    CHECK_THROWS_AS(go_on<numbers>(place.run(), how, x0), stopped);
    last_call = -1;
    all = files_of(place.run());
  }
  outcome with(files const& now, cairn::disk_options const& how = packed) const {
    put_back(only_run_in(place.run()), now);
    return go_on<numbers>(place.run(), how, x0);
  }
};

/// Counts the blocks that the decompressor gets.
long unpacked = 0;
bool counted(void* memory, char* into, std::size_t bytes, char const* from, std::size_t stored) noexcept {
  ++unpacked;
  return cairn::zstd->unpack(memory, into, bytes, from, stored);
}
constexpr cairn::detail::block_codec counting{cairn::zstd->memory, cairn::zstd->pack, counted};

}  // namespace

TEST_CASE("content of any kind and length comes back with its bits, in a file no longer than said", "[disk]") {
  one_slot slot;
  std::vector<std::size_t> sizes{0, 1, 2, 3, 7, 8, 9, 100, 4'095, 4'096, 16'384, 16'385, 40'000};
  for (long const blocks : {1, 2, 17})
    for (long const more : {-9, -1, 0, 1, 9}) sizes.push_back(std::size_t(blocks * long(block) + more));
  for (kind const what : {kind::zeros, kind::doubles, kind::floats, kind::text, kind::noise})
    for (std::size_t const bytes : sizes) {
      auto const all = content(what, bytes);
      CAPTURE(int(what), bytes);
      std::uint64_t const written = slot.write(all, bytes % 2 == 0 ? 1'000'000 : 30'001);
      auto const file = content_of(slot.name);
      auto const first = head_in(file);
      CHECK((first.codec == 1 && first.raw == bytes && written == sizeof(head) + first.stored));
      CHECK(first.stored <= block_packer::most(bytes));
      if (what != kind::noise && bytes >= 4'095) CHECK(10 * first.stored < (what == kind::zeros ? 1 : 9) * bytes);
      CHECK(file.size() >= sizeof(head) + bytes);
      for (std::size_t const piece : {std::size_t{1'000'000}, std::size_t{30'001}})
        CHECK((slot.read(bytes, piece) == all));
      CHECK(slot.read(bytes + 1) == "nothing");
      if (bytes > 0) CHECK(slot.read(bytes - 1) == "nothing");
    }
}
TEST_CASE("each sixteenth block decides whether bytes are ordered by their rank", "[disk]") {
  one_slot slot;
  auto const width = [&](std::size_t at) { return int(content_of(slot.name)[sizeof(head) + at + 3]); };
  (void)slot.write(content(kind::doubles, 50'000));
  CHECK(width(0) == 8);
  (void)slot.write("a" + content(kind::floats, 50'000));
  CHECK(width(0) == 8);
  (void)slot.write(content(kind::text, 50'000));
  CHECK(width(0) == 1);
  (void)slot.write(content(kind::noise, 50'000));
  CHECK(width(0) == 0);
  (void)slot.write(content(kind::noise, 16 * block) + content(kind::doubles, 16 * block));
  CHECK(width(15 * (4 + block)) == 0);
  CHECK(width(16 * (4 + block)) == 8);
}

TEST_CASE("a compressed run that is killed at any write goes on with the bits of an undisturbed one", "[disk]") {
  for (std::size_t const size : {std::size_t{3}, std::size_t{20'000}}) {  // one block, three
    std::vector<double> x0(size);
    for (std::size_t k = 0; k < size; ++k) x0[k] = 0.3 + 1e-4 * double(k);
    auto const want = right<numbers>(x0);
    temporary const place;
    auto const process = [&](long operation, bool half) {
      auto const right = [&] { return same(go_on<numbers>(place.run(), packed, x0).numbers, want); };
      return killed::run(right, -1, operation, half);
    };
    for (bool const half : {false, true}) {
      bool killed = true;
      long operation = half ? 2 : 1;
      for (; killed; operation += size == 3 ? 1 : 4) {
        place.remove_runs();
        killed = process(operation, half) == -1;
        CAPTURE(size, operation, half);
        if (killed) CHECK(process(-1, false) == 0);
      }
      CHECK(operation > 30);
    }
  }
}
TEST_CASE("compressed files behind the sweep change no bit, in kept runs too", "[disk]") {
  std::vector<double> x0(20'000);
  for (std::size_t k = 0; k < x0.size(); ++k) x0[k] = 0.3 + 1e-4 * double(k);
  auto const want = right<numbers>(x0);
  temporary const place;
  auto behind = packed;
  behind.behind = {2, 2};
  CHECK(same(go_on<numbers>(place.run(), behind, x0).numbers, want));
  auto const twice = [&](cairn::disk_options how) {
    how.resume = cairn::resume_rule::never;
    auto const step = [](std::vector<double>& x) { for (double& v : x) v = std::sin(1.1 * v); };
    auto const back = [](std::vector<double> const& x, std::vector<double>& bar) {
      for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x[k]);
    };
    auto run = cairn::checkpointed_loop(step, x0, cairn::two_level{40, 5, 2}, cairn::disk{place.run(), how});
    auto const first = run.reverse(x0, back);
    CHECK(run.reverse(x0, back) == first);
    return first;
  };
  CHECK(twice(behind) == twice({}));
}
TEST_CASE("a run goes on with another compression, and reads what is there", "[disk]") {
  std::vector<double> const x0(3'000, 0.4);
  for (bool const first : {false, true}) {
    cairn::disk_options const plain{.commit_every = 2};
    in_its_middle const run{x0, first ? packed : plain};
    CHECK(head_in(run.all.at("s0003")).codec == (first ? 1 : 0));
    CHECK(head_in(run.all.at("record1")).codec == 0);
    auto const same_way = run.with(run.all, first ? packed : plain), other = run.with(run.all, first ? plain : packed);
    CHECK(same(other.numbers, run.want));
    CHECK(other.report.used == disk_use::record);
    CHECK(other.report.step_calls == same_way.report.step_calls);
    CHECK(other.report.folder == same_way.report.folder);
    auto fewer = run.all;
    fewer.erase("s0003");
    CHECK(run.with(fewer).report.step_calls > other.report.step_calls);
  }
}

TEST_CASE("a compressed file with a changed bit, or cut anywhere, is not used, and nothing unpacks it", "[disk]") {
  in_its_middle const run{std::vector<double>(60, 0.4)};
  std::string const name = "s0003";
  auto const& file = run.all.at(name);
  auto const first = head_in(file);
  REQUIRE((first.codec == 1 && first.stored < 200 && first.raw > 400));
  auto now = run.all;
  now.erase(name);
  auto const without = run.with(now);
  REQUIRE(run.with(run.all).report.step_calls < without.report.step_calls);
  long wrong = 0, used = 0;
  one_slot alone{&counting};
  long read = 0;
  REQUIRE(alone.write(content(kind::doubles, 500)) < sizeof(head) + 500);
  auto const its = content_of(alone.name);
  REQUIRE(alone.read(500) != "nothing");
  REQUIRE(unpacked == 1);
  auto const look = [&](std::string const& changed, std::string const& changed_alone) {
    now[name] = changed;
    auto const got = run.with(now);
    wrong += !same(got.numbers, run.want);
    used += got.report.step_calls != without.report.step_calls;
    put(alone.name, changed_alone);
    unpacked = 0;
    read += alone.read(500) != "nothing" || unpacked != 0;
  };
  auto const changed = [](std::string all, std::size_t bit) {
    auto& byte = all[bit / 8 % (sizeof(head) + std::size_t(head_in(all).stored))];
    byte = char(byte ^ (1 << bit % 8));
    return all;
  };
  std::size_t const most = sizeof(head) + std::size_t(std::max(first.stored, head_in(its).stored));
  for (std::size_t bit = 0; bit < 8 * most; ++bit) look(changed(file, bit), changed(its, bit));
  for (std::size_t size = 0; size < sizeof(head) + 484; ++size) look(file.substr(0, size), its.substr(0, size));
  CHECK(wrong == 0);
  CHECK(used == 0);
  CHECK(read == 0);
}

TEST_CASE("blocks that are not what the head says are refused, whatever hashes they have", "[disk]") {
  one_slot slot;
  auto const all = content(kind::doubles, 3 * block + 1'000);
  (void)slot.write(all);
  auto const file = content_of(slot.name);
  auto const first = head_in(file);
  std::size_t const second = sizeof(head) + 4 + (std::size_t(std::uint8_t(file[sizeof(head)])) |
                                                 std::size_t(std::uint8_t(file[sizeof(head) + 1])) << 8);
  auto const refused = [&](auto change) {
    auto changed = file;
    auto now = first;
    change(changed, now);
    seal(changed, now);
    put(slot.name, changed);
    heap::mark const before;
    CHECK(slot.read(std::size_t(std::min<std::uint64_t>(now.raw, all.size()))) == "nothing");
    CHECK(before.rise() < all.size() + 1'048'576);
  };
  put(slot.name, file);
  REQUIRE((slot.read(all.size()) == all));
  std::size_t const size_of_all = all.size();
  for (std::uint64_t const raw : {size_of_all - 1, size_of_all + 1, size_of_all - block, size_of_all + block,
                                  std::size_t{0}, std::size_t{1}, std::size_t{1} << 32, ~std::size_t{0}, file.size()})
    refused([&](std::string&, head& h) { h.raw = raw; });
  for (std::uint64_t const stored : {first.stored - 1, first.stored + 1, std::uint64_t{0}, std::uint64_t{3},
                                     std::uint64_t{1} << 40, ~std::uint64_t{0}})
    refused([&](std::string&, head& h) { h.stored = stored; });
  refused([](std::string&, head& h) { h.codec = 0; });
  refused([](std::string&, head& h) { h.codec = 2; });
  for (std::size_t const at : {sizeof(head), second})
    for (int k = 0; k < 4; ++k)
      for (int bit = 0; bit < 8; ++bit)
        refused([&](std::string& f, head&) { f[at + std::size_t(k)] = char(f[at + std::size_t(k)] ^ (1 << bit)); });
  refused([&](std::string& f, head&) { std::swap_ranges(&f[second], &f[second + 500], &f[second + 1'000]); });
  // One whole frame that makes more than a block.
  std::string frame(1'000, '\0');
  std::string const zeros(4 * block, '\0');
  std::size_t const size = ZSTD_compress(frame.data(), frame.size(), zeros.data(), zeros.size(), 1);
  for (std::uint32_t const width : {1u, 8u})
    refused([&](std::string& f, head& h) {
      std::uint32_t const begin = std::uint32_t(size) | width << 24;
      std::memcpy(&f[sizeof(head)], &begin, 4);
      std::memcpy(&f[sizeof(head) + 4], frame.data(), size);
      h.stored = size + 4, h.raw = zeros.size();
    });
}
TEST_CASE("a file that says it unpacks to more than it has bytes takes no memory for it", "[disk]") {
  in_its_middle const run{std::vector<double>(20'000, 0.25)};
  auto now = run.all;
  now.erase("s0003");
  auto const rise = [&] {
    put_back(only_run_in(run.place.run()), now);
    heap::mark const before;
    auto const got = go_on<numbers>(run.place.run(), packed, run.x0);
    CHECK(same(got.numbers, run.want));
    return before.rise();
  };
  std::size_t const most = rise() + 65'536;
  // Whole blocks of zeros, but for the count of numbers that begins them, and right hashes of all of it.
  std::string raw(4'096 * block, '\0');
  std::uint64_t const count = raw.size() / 8 - 1;
  std::memcpy(raw.data(), &count, 8);
  one_slot slot;
  (void)slot.write(raw);
  auto file = content_of(slot.name);
  auto const of = head_in(file);
  head forged = head_in(run.all.at("s0003"));
  forged.raw = of.raw, forged.stored = of.stored;
  forged.raw_hash = XXH64(raw.data(), raw.size(), forged.step);
  file.resize(sizeof(head) + std::size_t(of.stored));
  seal(file, forged);
  now["s0003"] = file;
  CHECK(file.size() < 1'000'000);
  CHECK(rise() <= most);
}
void change_content(long many, std::uint64_t seed) {
  CAPTURE(seed);
  in_its_middle const run{std::vector<double>(500, 0.3)};
  auto const& file = run.all.at("s0003");
  auto const first = head_in(file);
  std::mt19937_64 random{seed};
  long wrong = 0, heavy = 0;
  for (long k = 0; k < many; ++k) {
    auto now = run.all;
    auto& changed = now["s0003"];
    auto lies = first;
    for (auto few = 1 + random() % 4; few > 0; --few)
      changed[sizeof(head) + random() % first.stored] = char(random() % 3 == 0 ? 0 : random());
    if (random() % 4 == 0) lies.raw = random() % (2 * first.raw);
    if (random() % 4 == 0) lies.stored = random() % (2 * first.stored);
    seal(changed, lies);
    heap::mark const before;
    wrong += !same(run.with(now).numbers, run.want);
    heavy += before.rise() > file.size() + 1'048'576 + cairn::zstd->memory();
  }
  CHECK(wrong == 0);
  CHECK(heavy == 0);
}
TEST_CASE("1,000 changes of compressed content with right hashes of what is stored change no bit", "[disk]") {
  change_content(1'000, 20'261'128);
}
TEST_CASE("300,000 changes of compressed content with right hashes of what is stored change no bit", "[.soak]") {
  change_content(300'000, std::random_device{}());
}

TEST_CASE("a compressed run takes no more memory than its report predicts, and no more room than it reserved",
          "[disk]") {
  for (bool const shrinks : {true, false}) {
    std::vector<double> x0(40'000, 0.5);
    std::mt19937_64 random{7};
    if (!shrinks)
      for (double& v : x0) v = std::bit_cast<double>((random() >> 12) | 0x3ff0000000000000u);
    std::size_t const state = x0.size() * sizeof(double);
    temporary const place;
    cairn::multistage const two_tiers{40, 3, 6};
    auto const step = [](std::vector<double>& x) { for (double& v : x) v *= 1.0001; };
    auto const back = [](std::vector<double> const&, std::vector<double>& bar) { for (double& v : bar) v *= 1.0001; };
    cairn::sweep_report with, without;
    std::size_t on_disk = 0, in_files = 0;
    auto const watch = [&](cairn::event const& e) {
      if (e.bytes_held(cairn::tier::disk) > on_disk) on_disk = e.bytes_held(cairn::tier::disk);
      for (auto const& name : temporary::names_in(place.run()))
        for (auto const& slot : temporary::names_in(place.run() + '/' + name)) {
          struct stat now {};
          if (slot[0] == 's' && ::stat((place.run() + '/' + name + '/' + slot).c_str(), &now) == 0)
            in_files = std::max(in_files, std::size_t(now.st_size));
        }
    };
    auto const run = [&](cairn::compression by, cairn::sweep_report& report, auto const&... more) {
      place.remove_runs();
      cairn::disk const on{place.run(), {.commit_every = 2, .compress = by}};
      return cairn::gradient(step, x0, two_tiers, std::vector<double>(x0.size(), 1.0), back, on, report, more...);
    };
    auto const want = run(nullptr, without);
    heap::mark const before;
    CHECK(run(cairn::zstd, with) == want);
    CHECK(before.rise() <= std::size_t(with.predicted_bytes));
    CHECK(with.predicted_bytes - without.predicted_bytes == cairn::wide(block_packer::memory_bytes(cairn::zstd)));
    CHECK(block_packer::memory_bytes(cairn::zstd) < 800'000);
    CHECK(std::size_t(with.predicted_bytes) < 10 * state);
    CHECK(run(cairn::zstd, with, watch) == want);
    std::size_t const whole = sizeof(head) + std::size_t(block_packer::most(cairn::written_bytes(x0)));
    CHECK(on_disk > 0);
    CHECK(on_disk < 6 * whole / (shrinks ? 10 : 1));
    CHECK(in_files == whole);
  }
}
