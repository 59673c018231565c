// SPDX-License-Identifier: Apache-2.0
// The integers of two words that stand in for those of 128 bits where a compiler has none.
#include <cairn/core/wide.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/detail/two_words.hpp>
#include "support/big.hpp"
#include "support/catch.hpp"

using cairn::detail::two_words;

namespace {

using counted = two_words<false>;
using difference = two_words<true>;

static_assert(std::is_trivially_copyable_v<counted> && sizeof(counted) == 16);
static_assert(counted{} == 0 && counted{-1} == ~counted{0} && difference{-1} < 0 && counted{true} == 1);
static_assert((counted{1} << 127) / 10 * 10 + (counted{1} << 127) % 10 == counted{1} << 127);
static_assert(std::is_convertible_v<int, counted> && !std::is_convertible_v<double, counted>);
static_assert(!std::is_convertible_v<counted, std::uint64_t> && !std::is_convertible_v<counted, difference>);

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

/// Words at whose neighbours carries, signs and the ways to divide change.
std::vector<std::uint64_t> edge_words() {
  std::vector<std::uint64_t> words;
  for (std::uint64_t const near_to : {std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{1} << 31,
                                      std::uint64_t{1} << 32, std::uint64_t{1} << 53, std::uint64_t{1} << 63})
    for (std::uint64_t const apart : {all_ones, std::uint64_t{0}, std::uint64_t{1}}) words.push_back(near_to + apart);
  return words;
}

/// Words of all lengths, so that short numbers are as frequent as long ones.
class words {
 public:
  std::uint64_t operator()() {
    auto const length = draw_() % 65;
    return length == 0 ? 0 : draw_() >> (64 - length);
  }

 private:
  std::mt19937_64 draw_{20261123};
};

/// Pairs of numbers by their halves: all pairs of edge words in one half of each, then so many random ones.
template <class F>
void each_pair(int count, F&& look) {
  auto const edges = edge_words();
  for (std::uint64_t const a : edges)
    for (std::uint64_t const b : edges)
      for (std::uint64_t const c : edges)
        for (std::uint64_t const d : {std::uint64_t{0}, std::uint64_t{1}, c, all_ones}) look(a, b, d, c);
  words draw;
  for (int k = 0; k < count; ++k) look(draw(), draw(), draw(), draw());
}

#ifdef __SIZEOF_INT128__
__extension__ using builtin_count = unsigned __int128;
__extension__ using builtin_difference = __int128;

builtin_count builtin(std::uint64_t high, std::uint64_t low) { return builtin_count(high) << 64 | low; }
template <bool Signed>
bool same(two_words<Signed> ours, builtin_count theirs) {
  return ours.high() == std::uint64_t(theirs >> 64) && ours.low() == std::uint64_t(theirs);
}

/// The first operation whose result is another one than the compiler's, or nothing.
template <class Ours, class Theirs>
std::string difference_of(std::uint64_t ah, std::uint64_t al, std::uint64_t bh, std::uint64_t bl) {
  constexpr bool is_signed = std::is_same_v<Ours, difference>;
  Ours const a = Ours::of(ah, al), b = Ours::of(bh, bl);
  builtin_count const x = builtin(ah, al), y = builtin(bh, bl);  // signed overflow is not defined
  auto const p = Theirs(x), q = Theirs(y);
  if (!same(a + b, x + y)) return "+";
  if (!same(a - b, x - y)) return "-";
  if (!same(a * b, x * y)) return "*";
  if (!same(-a, -x) || !same(~a, ~x)) return "unary";
  if (!same(a & b, x & y) || !same(a | b, x | y) || !same(a ^ b, x ^ y)) return "bits";
  if ((a == b) != (p == q) || (a < b) != (p < q) || (a <= b) != (p <= q) || (a > b) != (p > q) || (a >= b) != (p >= q))
    return "comparison";
  bool const overflows = is_signed && bh == all_ones && bl == all_ones && ah == std::uint64_t{1} << 63 && al == 0;
  if (y != 0 && !overflows) {
    if (!same(a / b, builtin_count(p / q))) return "/";
    if (!same(a % b, builtin_count(p % q))) return "%";
  }
  int const by = int(bl % 128);
  if (!same(a << by, x << by) || !same(a >> by, builtin_count(p >> by))) return "shift";
  Ours counting = a;
  if (!same(++counting, x + 1) || !same(counting++, x + 1) || !same(--counting, x + 1) || !same(counting--, x + 1))
    return "counting";
  if (bool(a) != (x != 0) || std::int64_t(a) != std::int64_t(x) || std::uint32_t(a) != std::uint32_t(x))
    return "to whole";
  if (double(a) != double(p) || float(a) != float(p)) return "to real";
  if (static_cast<long double>(a) != static_cast<long double>(p)) return "to long real";
  double const real = double(p) / 2;  // of no number is it out of range
  if (!same(Ours(real), builtin_count(Theirs(real)))) return "from real";
  if (!same(Ours(float(real)), builtin_count(Theirs(float(real))))) return "from short real";
  if (!same(Ours(std::int64_t(al)), builtin_count(Theirs(std::int64_t(al)))) || !same(Ours(al), al))
    return "from whole";
  if (!same(Ours(std::int32_t(al)), builtin_count(Theirs(std::int32_t(al))))) return "from short whole";
  return {};
}

std::string text_of(builtin_count number) {
  std::string digits;
  do digits.insert(digits.begin(), char('0' + int(number % 10)));
  while ((number /= 10) != 0);
  return digits;
}

void compare_with_the_compiler(int pairs) {
  int faults = 0;
  each_pair(pairs, [&](std::uint64_t ah, std::uint64_t al, std::uint64_t bh, std::uint64_t bl) {
    for (std::string const& fault : {difference_of<counted, builtin_count>(ah, al, bh, bl),
                                     difference_of<difference, builtin_difference>(ah, al, bh, bl)})
      if (!fault.empty() && ++faults == 1)
        UNSCOPED_INFO("first at " << fault << " of " << ah << "," << al << " and " << bh << "," << bl);
  });
  CHECK(faults == 0);
}

TEST_CASE("two words are what the compiler's 128 bits are", "[core][wide]") { compare_with_the_compiler(20'000); }

TEST_CASE("two words are what the compiler's 128 bits are in a million random pairs", "[core][wide][long]") {
  compare_with_the_compiler(1'000'000);
}

TEST_CASE("text of a wide number has all of its digits", "[core][wide]") {
  int faults = 0;
  each_pair(1'000, [&](std::uint64_t high, std::uint64_t low, std::uint64_t, std::uint64_t) {
    auto const number = cairn::wide(high) << 64 | low;
    faults += cairn::detail::text<40>{}.add(number).c_str() != text_of(builtin(high, low));
  });
  CHECK(faults == 0);
}
#endif

TEST_CASE("wide numbers obey the arithmetic of numbers of any size", "[core][wide]") {
  using big::natural;
  natural const beyond = natural{cairn::wide{1} << 127} * natural{2};
  int faults = 0;
  words draw;
  auto const edges = edge_words();
  auto const look = [&](std::uint64_t ah, std::uint64_t al, std::uint64_t bh, std::uint64_t bl) {
    auto const a = cairn::wide(ah) << 64 | al, b = cairn::wide(bh) << 64 | bl;
    natural const sum = natural{a} + natural{b};
    faults += !(sum == natural{a + b} || sum == natural{a + b} + beyond);
    faults += !(natural{al} * natural{bl} == natural{cairn::wide(al) * bl});
    faults += a >= b && !(natural{a} - natural{b} == natural{a - b});
    faults += (natural{a} < natural{b}) != (a < b);
    faults += b != 0 && !(a % b < b && natural{a / b} * natural{b} + natural{a % b} == natural{a});
    faults += cairn::detail::text<40>{}.add(a).c_str() != natural{a}.text();
  };
  for (std::uint64_t const a : edges)
    for (std::uint64_t const b : edges) look(a, b, b, a), look(0, a, 0, b), look(a, b, 0, a), look(a, b, b / 2, b);
  for (int k = 0; k < 500; ++k) look(draw(), draw(), draw(), draw());
  CHECK(faults == 0);
}

TEST_CASE("whole numbers mix with wide ones as they do with the compiler's", "[core][wide]") {
  cairn::wide const n = 10;
  CHECK(2 * n == 20);
  CHECK(n + 1u == 11);
  CHECK(std::size_t{3} < n);
  CHECK(n / 4 * 4 + n % 4 == n);
  CHECK((n > 9 ? n : 0) == 10);
  CHECK(cairn::wide(std::numeric_limits<std::int64_t>::max()) + 1 == cairn::wide{1} << 63);
  CHECK(double(cairn::wide{1} << 100) == 0x1p100);
  CHECK(std::uint64_t((cairn::wide{1} << 64) + 7) == 7);
}

}  // namespace
