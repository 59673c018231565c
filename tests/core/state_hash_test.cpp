// SPDX-License-Identifier: Apache-2.0
// The hash of a state: every bit of a value counts, nothing else does, and long runs are cheap.
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include <cairn/core/detail/state_hash.hpp>
#include "support/catch.hpp"

using cairn::detail::hash_of;
using cairn::detail::hashable;

namespace {

enum class colour : unsigned char { red, green };
struct padded {
  char letter;
  double number;
  colour shade;
};
struct nested {
  padded first;
  std::vector<padded> many;
  std::optional<float> perhaps;
  std::vector<bool> bits;
};
class secret_numbers {
 public:
  double value() const { return a_ + double(b_); }

 private:
  double a_ = 0;
  char b_ = 0;
};
class secret_integers {
 public:
  std::uint64_t value() const { return a_ + b_; }

 private:
  std::uint64_t a_ = 0, b_ = 0;
};
class told {
 public:
  void visit_buffers(auto& f) const { cairn::visit_buffers(value_, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(value_, f); }

 private:
  double value_ = 0;
  char letter_ = 0;
};

static_assert(hashable<double> && hashable<long double> && hashable<std::vector<double>> && hashable<padded> &&
              hashable<nested>);
static_assert(hashable<std::array<padded, 3>> && hashable<std::complex<long double>> &&
              hashable<std::list<std::string>> && hashable<std::pair<char, double>>);
static_assert(hashable<secret_integers> && hashable<std::mt19937> && hashable<told>);
// Where its padding lies is not known; that of normal_distribution also holds a number that is not there yet.
static_assert(!hashable<secret_numbers> && !hashable<std::vector<secret_numbers>> &&
              !hashable<std::normal_distribution<double>>);
static_assert(!hashable<std::map<int, int>> && !hashable<int*>);

std::uint64_t hash_of_bytes(std::vector<unsigned char> const& bytes) {
  cairn::detail::state_hash hash;
  hash(bytes.data(), bytes.size());
  return hash.value();
}

}  // namespace

TEST_CASE("every single bit of a run changes its hash, for any length and address") {
  std::mt19937_64 random{3};
  for (std::size_t size = 1; size <= 140; ++size) {
    std::vector<unsigned char> bytes(size);
    for (auto& b : bytes) b = static_cast<unsigned char>(random());
    auto const before = hash_of_bytes(bytes);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
      if (hash_of_bytes(bytes) == before) FAIL("size " << size << ", bit " << bit);
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
    }
    REQUIRE(hash_of_bytes(bytes) == before);
    std::vector<unsigned char> shifted{0};  // the same from an odd address
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    cairn::detail::state_hash hash;
    hash(shifted.data() + 1, size);
    CHECK(hash.value() == before);
  }
}

TEST_CASE("any two signs, exchanged numbers and few changed bits give another hash") {
  std::vector<double> x(64);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = double(k % 5);
  std::set<std::uint64_t> seen{hash_of(x)};
  std::size_t made = 1;
  for (std::size_t j = 0; j < x.size(); ++j)
    for (std::size_t k = 0; k < j; ++k) {
      auto changed = x;
      changed[j] = -changed[j];
      changed[k] = -changed[k];
      seen.insert(hash_of(changed));
      ++made;
      if (x[j] == x[k]) continue;
      changed = x;
      std::swap(changed[j], changed[k]);
      seen.insert(hash_of(changed));
      ++made;
    }
  CHECK(seen.size() == made);
  CHECK(made > 3'000);
}

TEST_CASE("numbers count by their bits") {
  CHECK(hash_of(0.0) != hash_of(-0.0));
  CHECK(hash_of(std::bit_cast<double>(std::uint64_t{0x7ff8000000000001})) !=
        hash_of(std::bit_cast<double>(std::uint64_t{0x7ff8000000000002})));
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(hash_of(nan) == hash_of(nan));
  CHECK(hash_of(std::vector{1.0, 0.0}) != hash_of(std::vector{1.0, -0.0}));
}

TEST_CASE("lengths count, where the bytes are the same") {
  using rows = std::vector<std::vector<double>>;
  CHECK(hash_of(rows{{1, 2}, {}}) != hash_of(rows{{1}, {2}}));
  CHECK(hash_of(rows{{}, {1}}) != hash_of(rows{{1}, {}}));
  CHECK(hash_of(std::optional<int>{}) != hash_of(std::optional<int>{0}));
  CHECK(hash_of(std::string{"\0\0", 2}) != hash_of(std::string{"\0", 1}));
  CHECK(hash_of(std::vector<int>{}) != hash_of(std::vector<int>{0}));
}

TEST_CASE("padding does not count") {
  for (unsigned const fill : {0x00u, 0xffu, 0x5au}) {
    alignas(padded) unsigned char memory[sizeof(padded)];
    std::memset(memory, int(fill), sizeof memory);
    auto* const x = ::new (static_cast<void*>(memory)) padded;
    x->letter = 'a', x->number = 0.5, x->shade = colour::green;
    CHECK(hash_of(*x) == hash_of(padded{'a', 0.5, colour::green}));
    nested const one{*x, {*x, *x}, 0.25f, {true, false}},
        other{{'a', 0.5, colour::green}, {*x, *x}, 0.25f, {true, false}};
    CHECK(hash_of(one) == hash_of(other));
    alignas(long double) unsigned char wide[sizeof(long double)];
    std::memset(wide, int(fill), sizeof wide);
    long double const value = 0.1L;
    std::memcpy(wide, &value, cairn::detail::value_bytes<long double>());
    CHECK(hash_of(*reinterpret_cast<long double*>(wide)) == hash_of(0.1L));
  }
}
