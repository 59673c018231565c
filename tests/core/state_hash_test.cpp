// SPDX-License-Identifier: Apache-2.0
// The hash of a state: every bit of a value counts, nothing else does, and long runs are cheap.
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <filesystem>
#include <forward_list>
#include <initializer_list>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
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
static_assert(hashable<std::map<std::string, std::vector<double>>> && hashable<std::unordered_set<int>> &&
              hashable<std::variant<std::monostate, padded, std::set<int>>> && hashable<std::forward_list<int>>);
static_assert(hashable<std::normal_distribution<double>> && hashable<std::discrete_distribution<>> &&
              hashable<std::optional<std::poisson_distribution<>>>);
static_assert(hashable<std::filesystem::path> && hashable<std::vector<std::filesystem::path>>);
static_assert(!hashable<secret_numbers> && !hashable<std::vector<secret_numbers>>);  // where its padding lies is unknown
static_assert(!hashable<std::map<int, int*>> && !hashable<std::variant<int, secret_numbers>> && !hashable<int*>);

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

namespace {
/// Whether all values have hashes of their own; equal values have equal ones.
template <class T>
bool all_apart(std::vector<T> const& values) {
  std::set<std::uint64_t> seen;
  for (T const& x : values) {
    T const copy = x;
    if (hash_of(copy) != hash_of(x)) return false;
    seen.insert(hash_of(x));
  }
  return seen.size() == values.size();
}
template <class T>
struct around {  // values before and after it that could be mistaken for its own
  std::vector<int> before;
  T value;
  std::vector<int> after;
};
template <class T>
std::vector<around<T>> within(std::vector<T> const& values) {
  std::vector<around<T>> all;
  for (T const& x : values) all.push_back({{}, x, {}});
  return all;
}
/// All lists of at most `most` of the given elements.
template <class T>
std::vector<std::vector<T>> lists_of(std::vector<T> const& elements, std::size_t most) {
  std::vector<std::vector<T>> all{{}}, longest{{}};
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<std::vector<T>> longer;
    for (auto const& one : longest)
      for (T const& x : elements) {
        longer.push_back(one);
        longer.back().push_back(x);
      }
    all.insert(all.end(), longer.begin(), longer.end());
    longest = longer;
  }
  return all;
}
template <class T>
std::vector<std::optional<T>> optionals_of(std::vector<T> const& values) {
  std::vector<std::optional<T>> all{std::nullopt};
  for (T const& x : values) all.emplace_back(x);
  return all;
}
}  // namespace
TEST_CASE("structure counts at every level, where there are no bytes in it") {
  std::vector<std::string> const texts{"", "a", "aa", std::string(1, '\0')};
  auto const lines = lists_of(texts, 3);
  CHECK(all_apart(lines));
  CHECK(all_apart(lists_of(lists_of(texts, 1), 3)));
  CHECK(all_apart(lists_of(lists_of(lists_of(std::vector<int>{}, 1), 2), 3)));
  CHECK(all_apart(optionals_of(optionals_of(optionals_of(texts)))));
  CHECK(all_apart(optionals_of(lists_of(optionals_of(texts), 2))));
  CHECK(all_apart(optionals_of(std::vector<std::vector<double>>{{}, {0.0}})));
  CHECK(all_apart(within(optionals_of(lists_of(std::vector<int>{0, 1, 4, 8}, 3)))));
  CHECK(all_apart(lists_of(std::vector<around<int>>{{{}, 0, {}}, {{0}, 0, {}}, {{}, 0, {0}}}, 2)));
  std::vector<std::vector<bool>> bits;
  for (std::size_t size = 0; size < 20; ++size) bits.emplace_back(size);
  CHECK(all_apart(bits));
  std::vector<std::forward_list<std::vector<int>>> walked;
  for (std::size_t size = 0; size < 5; ++size) walked.emplace_back(size);
  CHECK(all_apart(walked));
}

TEST_CASE("alternatives, and the keys of maps and sets, count") {
  using either = std::variant<std::monostate, std::vector<int>, std::string, std::optional<std::string>, int, unsigned>;
  CHECK(all_apart(lists_of(std::vector<either>{either{}, std::vector<int>{}, std::string{}, std::optional<std::string>{},
                                               std::optional<std::string>{""}, 0, 0u},
                           2)));
  using names = std::map<int, std::set<int>>;
  CHECK(all_apart(lists_of(std::vector<names>{{}, {{0, {}}}, {{1, {}}}, {{0, {0}}}, {{0, {}}, {1, {}}}}, 2)));
  CHECK(all_apart(lists_of(std::vector<std::filesystem::path>{"", "a", "a/b", "/"}, 2)));
  CHECK(all_apart(std::vector<std::set<std::string>>{{}, {""}, {"a"}, {"", "a"}}));
  std::unordered_set<int> up, down;
  up.reserve(500);
  for (int k = 0; k < 100; ++k) up.insert(k), down.insert(99 - k);
  CHECK(std::vector<int>(up.begin(), up.end()) != std::vector<int>(down.begin(), down.end()));
  CHECK(hash_of(up) == hash_of(down));
  down.erase(7), down.insert(100);
  CHECK(hash_of(up) != hash_of(down));
}

namespace {
/// Whether the hash of a distribution follows its value, as `==` of the standard compares it, and not its padding.
template <class Distribution>
bool follows_value(Distribution const& one, Distribution const& other) {
  if (one == other || hash_of(one) == hash_of(other)) return false;
  std::mt19937_64 random{5};
  Distribution drawn = one;
  for (int k = 0; k < 50; ++k) {
    if ((drawn == one) != (hash_of(drawn) == hash_of(one))) return false;
    alignas(Distribution) unsigned char memory[sizeof(Distribution)];
    std::memset(memory, k, sizeof memory);
    auto* const copy = ::new (static_cast<void*>(memory)) Distribution(drawn);
    bool const same = hash_of(*copy) == hash_of(drawn);
    copy->~Distribution();
    if (!same) return false;
    (void)drawn(random);
  }
  drawn.reset();
  Distribution fresh = one;
  fresh.reset();
  return hash_of(drawn) == hash_of(fresh);
}
}  // namespace
TEST_CASE("a distribution counts by its parameters and by what it keeps between two draws") {
  using many = std::initializer_list<double>;
  CHECK(follows_value(std::normal_distribution<double>{0, 1}, std::normal_distribution<double>{0, 2}));
  CHECK(follows_value(std::normal_distribution<float>{0, 1}, std::normal_distribution<float>{1, 1}));
  CHECK(follows_value(std::lognormal_distribution<double>{0, 1}, std::lognormal_distribution<double>{0.5, 1}));
  CHECK(follows_value(std::uniform_real_distribution<double>{0, 1}, std::uniform_real_distribution<double>{0, 2}));
  CHECK(follows_value(std::uniform_int_distribution<int>{0, 6}, std::uniform_int_distribution<int>{0, 7}));
  CHECK(follows_value(std::bernoulli_distribution{0.5}, std::bernoulli_distribution{0.50001}));
  CHECK(follows_value(std::binomial_distribution<>{100, 0.25}, std::binomial_distribution<>{101, 0.25}));
  CHECK(follows_value(std::geometric_distribution<>{0.25}, std::geometric_distribution<>{0.250001}));
  CHECK(follows_value(std::exponential_distribution<>{1}, std::exponential_distribution<>{2}));
  CHECK(follows_value(std::weibull_distribution<>{1, 2}, std::weibull_distribution<>{2, 2}));
  CHECK(follows_value(std::extreme_value_distribution<>{1, 2}, std::extreme_value_distribution<>{1, 3}));
  CHECK(follows_value(std::cauchy_distribution<>{1, 2}, std::cauchy_distribution<>{1, 3}));
  CHECK(follows_value(std::discrete_distribution<>(many{1, 2}), std::discrete_distribution<>(many{1, 3})));
  std::vector<std::gamma_distribution<>> gammas;
  for (double const alpha : {0.5, 1.0, 2.5})
    for (double const beta : {1.0, 2.0}) gammas.emplace_back(alpha, beta);
  CHECK(all_apart(gammas));
  CHECK(all_apart(std::vector{std::poisson_distribution<>{1}, std::poisson_distribution<>{40}}));
  CHECK(all_apart(std::vector{std::student_t_distribution<>{1}, std::student_t_distribution<>{2}}));
  CHECK(all_apart(std::vector{std::negative_binomial_distribution<>{3, 0.5},
                              std::negative_binomial_distribution<>{4, 0.5}}));
  CHECK(all_apart(std::vector{std::fisher_f_distribution<>{1, 2}, std::fisher_f_distribution<>{2, 2}}));
  CHECK(all_apart(std::vector{std::chi_squared_distribution<>{1}, std::chi_squared_distribution<>{2}}));
}

TEST_CASE("padding does not count") {
  using none = std::array<double, 0>;
  for (unsigned const fill : {0x00u, 0xffu}) {
    alignas(none) unsigned char memory[sizeof(none)];
    std::memset(memory, int(fill), sizeof memory);
    CHECK(hash_of(*::new (static_cast<void*>(memory)) none) == hash_of(none{}));
  }
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
