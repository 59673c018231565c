// SPDX-License-Identifier: Apache-2.0
// Random changes of the files of a run: no crash, no wrong gradient, and no memory that a file only says it needs.
#include "support/catch.hpp"
#include "support/disk_ends.hpp"
#include "support/heap.hpp"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <xxhash.h>

namespace {

using namespace disk_runs;
using head = cairn::detail::file_head;
constexpr std::size_t more_memory = 1'048'576;

/// How much of a changed file was made to fit its change.
enum class forged { nothing, its_head, all };

struct changes {
  std::mt19937_64 random;
  explicit changes(std::uint64_t seed) : random{seed} {}
  [[nodiscard]] std::uint64_t below(std::uint64_t count) { return random() % count; }
  /// Numbers at which sizes and counts break.
  [[nodiscard]] std::uint64_t number(std::uint64_t size) {
    std::uint64_t const all[] = {0, 1, size - 1, size, size + 1, size - sizeof(head), std::uint64_t{1} << 31,
                                 std::uint64_t{1} << 32, std::uint64_t{1} << 60, std::uint64_t{1} << 63,
                                 ~std::uint64_t{0}, random()};
    return all[below(std::size(all))];
  }
  void change(std::string& file, std::string const& other) {
    if (file.empty()) file.assign(1, '\0');
    std::size_t const at = below(file.size());
    std::size_t const length = std::min<std::size_t>(1 + below(32), file.size() - at);
    switch (below(8)) {
      case 0: file[at] = char(file[at] ^ (1 << below(8))); break;
      case 1: for (std::size_t k = 0; k < length; ++k) file[at + k] = char(random()); break;
      case 2: file.replace(at, length, length, '\0'); break;
      case 3: file.resize(at); break;
      case 4: file.append(below(200), char(random())); break;
      case 5: file.erase(at, length); break;
      case 6: file.replace(at, length, other.substr(std::min(at, other.size()), length)); break;
      default: {  // a field of the head, or a count in the content
        std::size_t const field = 8 * below(std::max<std::size_t>(1, file.size() / 8));
        std::uint64_t const value = number(file.size());
        if (field + 8 <= file.size()) std::memcpy(file.data() + field, &value, 8);
      }
    }
  }
  void forge(std::string& file, forged how) {
    if (how == forged::nothing || file.size() < sizeof(head)) return;
    head all;
    std::memcpy(&all, file.data(), sizeof all);
    if (how == forged::all) {
      std::memcpy(all.magic, head{}.magic, sizeof all.magic);
      all.raw = all.stored = file.size() - sizeof(head);
      all.raw_hash = all.stored_hash = XXH64(file.data() + sizeof all, all.raw, all.step);
    }
    all.seal();
    std::memcpy(file.data(), &all, sizeof all);
  }
};

template <class Kind>
struct fuzzed {
  temporary place;
  files const all = stop_at<Kind>(place.run(), 24);
  std::string const folder = only_run_in(place.run());
  std::vector<double> const want = right<Kind>();
  std::vector<std::string> names;
  long tried = 0, wrong = 0, strange = 0, heavy = 0, refused = 0;

  fuzzed() {
    for (auto const& [name, content] : all) names.push_back(name);
  }
  void once(changes& by) {
    auto now = all;
    auto const how = forged(by.below(3));
    std::size_t most = 0;
    for (std::uint64_t many = 1 + by.below(3); many > 0; --many) {
      auto& file = now[names[by.below(names.size())]];
      for (std::uint64_t k = 1 + by.below(3); k > 0; --k) by.change(file, all.at(names[by.below(names.size())]));
      by.forge(file, how);
    }
    for (auto const& [name, content] : now) most = std::max(most, content.size());
    put_back(folder, now);
    ++tried;
    heap::mark const before;
    try {
      auto const got = go_on<Kind>(place.run());
      if (how != forged::all && !same(got.numbers, want)) ++wrong;
    } catch (cairn::error const&) {
      ++(how == forged::nothing ? wrong : refused);
    } catch (std::out_of_range const&) {  // of the functions: what is forged may have any shape
      ++(how == forged::all ? refused : strange);
    } catch (...) {
      ++strange;
    }
    if (before.rise() > most + more_memory) ++heavy;
  }
  void check() const {
    CHECK(tried > 0);
    CHECK(wrong == 0);
    CHECK(strange == 0);
    CHECK(heavy == 0);
  }
};
void fuzz(long many, std::uint64_t seed) {
  CAPTURE(seed);
  changes by{seed};
  fuzzed<numbers> one;
  fuzzed<named> two;
  fuzzed<flags> three;
  fuzzed<object> four;
  for (long k = 0; k < many; k += 4) {
    one.once(by);
    two.once(by);
    three.once(by);
    four.once(by);
  }
  one.check();
  two.check();
  three.check();
  four.check();
}

}  // namespace

TEST_CASE("4,000 changes of heads and contents", "[disk]") { fuzz(4'000, 20'261'127); }
TEST_CASE("a million changes of heads and contents", "[.soak]") { fuzz(1'000'000, std::random_device{}()); }

TEST_CASE("a large file takes no memory beyond its size, whatever it says", "[disk]") {
  std::vector<double> const x0(50'000, 0.25);  // 400 kB
  temporary const place;
  auto const all = stop_at<numbers>(place.run(), 24, x0);
  std::string const folder = only_run_in(place.run());
  auto const want = right<numbers>(x0);
  auto const rise_with = [&](files const& now) {
    put_back(folder, now);
    heap::mark const before;
    auto const got = go_on<numbers>(place.run(), {.commit_every = 2}, x0);
    CHECK(same(got.numbers, want));
    return before.rise();
  };
  for (auto const* const name : {"s0003", "record1"}) {
    auto without = all;
    without.erase(name);
    std::size_t const most = rise_with(without) + 65'536;
    for (std::uint64_t const size : {std::uint64_t{1} << 60, ~std::uint64_t{0}, std::uint64_t{1} << 24}) {
      auto now = all;
      head other;
      std::memcpy(&other, now[name].data(), sizeof other);
      other.raw = other.stored = size;
      other.seal();
      std::memcpy(now[name].data(), &other, sizeof other);
      CHECK(rise_with(now) <= most);
      // The count of the numbers, with a right hash of all.
      now = all;
      std::memcpy(&other, now[name].data(), sizeof other);
      std::memcpy(now[name].data() + sizeof other, &size, sizeof size);
      other.raw_hash = other.stored_hash = XXH64(now[name].data() + sizeof other, other.raw, other.step);
      other.seal();
      std::memcpy(now[name].data(), &other, sizeof other);
      CHECK(rise_with(now) <= most);
    }
  }
}
