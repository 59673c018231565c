// SPDX-License-Identifier: Apache-2.0
// Bytes that hold a state's shape: what goes to a sink, what comes back, and what is refused.
#include <bit>
#include <compare>
#include <complex>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/core/state_bytes.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/memory_bytes.hpp"

using cairn::read_state;
using cairn::write_state;
using cairn::written_bytes;
using cairn::written_state;
using memory_bytes::read;
using memory_bytes::written;

namespace {

using vec = std::vector<double>;
using rows = std::vector<vec>;

struct padded {
  char letter = 0;
  double number = 0;
  short small = 0;
  bool operator==(padded const&) const = default;
};
struct tree {
  std::vector<tree> children;
  int value = 0;
};
/// Shows private members in the usual way.
class shown {
 public:
  shown() = default;
  explicit shown(vec x) : x_{std::move(x)} {}
  void visit_buffers(auto& f) { cairn::visit_buffers(x_, f); }
  void visit_buffers(auto& f) const { cairn::visit_buffers(x_, f); }
  bool operator==(shown const&) const = default;

 private:
  vec x_;
};
/// Shows memory of its own, of a size that visit_buffers cannot tell.
class block {
 public:
  explicit block(std::size_t size) : x_(size) {}
  void visit_buffers(auto& f) { f(static_cast<void*>(x_.data()), x_.size() * sizeof(double)); }
  void visit_buffers(auto& f) const { f(static_cast<void const*>(x_.data()), x_.size() * sizeof(double)); }
  double& operator[](std::size_t k) { return x_[k]; }

 private:
  vec x_;
};
/// Writes half of its bytes.
struct symmetric {
  vec upper;
  vec lower;
  void write_state(auto& sink) const { cairn::write_state(upper, sink); }
  void read_state(auto& source) {
    cairn::read_state(upper, source);
    lower = upper;
  }
  bool operator==(symmetric const&) const = default;
};
/// Somebody else's number, whose parity its traits write.
struct foreign {
  double* at = nullptr;
};
/// Has no default constructor.
struct named {
  explicit named(int number) : name(40, char('a' + number)) {}
  std::string name;
  void visit_buffers(auto& f) { cairn::visit_buffers(name, f); }
  void visit_buffers(auto& f) const { cairn::visit_buffers(name, f); }
  auto operator<=>(named const&) const = default;
};
/// Shows what it does not take back.
struct shows_only {
  double x = 0;
  void visit_buffers(auto& f) const { cairn::visit_buffers(x, f); }
};
struct half_a_pair {
  double x = 0;
  void write_state(auto& sink) const { cairn::write_state(x, sink); }
};
struct more_than_a_list : std::list<int> {
  int more = 0;
};
class secret_float {
 public:
  float value() const { return x_; }

 private:
  float x_ = 0;
  char c_ = 0;
};
/// The same, but says what it is.
class told_float {
 public:
  told_float() = default;
  explicit told_float(float x) : x_{x} {}
  void write_state(auto& sink) const { cairn::write_state(x_, sink); }
  void read_state(auto& source) { cairn::read_state(x_, source); }
  bool operator==(told_float const&) const = default;

 private:
  float x_ = 0;
  char c_ = 0;
};
/// Plain numbers, the second of which is no part of the value.
struct scratched {
  double value = 0;
  double scratch = 0;
  void write_state(auto& sink) const { cairn::write_state(value, sink); }
  void read_state(auto& source) { cairn::read_state(value, source); }
};
/// The same, but shows both.
struct scratched_and_shown {
  double value = 0;
  double scratch = 0;
};
struct keys {
  std::unordered_set<int> all;
  void write_state(auto& sink) const { cairn::write_state(all, sink); }
  void read_state(auto& source) { cairn::read_state(all, source); }
};
/// In the memory of a device, from which it writes itself.
struct far_away {
  [[maybe_unused]] static constexpr bool in_device_memory = true;
  double value = 0;
  void visit_buffers(auto& f) { f(cairn::device_pointer<void>{&value}, sizeof value); }
  void visit_buffers(auto& f) const { f(cairn::device_pointer<void const>{&value}, sizeof value); }
  void write_state(auto& sink) const { cairn::write_state(value, sink); }
  void read_state(auto& source) { cairn::read_state(value, source); }
};

/// The sizes of the runs that a sink gets, and whether the k-th is where it lies in the state.
struct runs {
  std::vector<std::size_t> sizes;
  std::vector<void const*> at;
  void operator()(void const* run, std::size_t size) {
    at.push_back(run);
    sizes.push_back(size);
  }
};

/// x survives: into a default, into itself, and into `other`; with the memory of a fresh copy.
template <class T>
void comes_back(T const& x, T other) {
  std::string const bytes = written(x);
  CHECK(written_bytes(x) == bytes.size());
  T fresh{}, itself = x;
  for (T* into : {&fresh, &itself, &other}) {
    CHECK(read(*into, bytes) == 0);
    CHECK(cairn::detail::hash_of(*into) == cairn::detail::hash_of(x));
    CHECK(written(*into) == bytes);
    if constexpr (cairn::sized_state<T>) {
      T const copy = x;
      CHECK(cairn::detail::same_capacity(copy, *into));
    }
  }
}
std::string word(std::uint64_t value) {
  std::string bytes;
  for (int k = 0; k < 8; ++k) bytes.push_back(char(value >> 8 * k & 0xff));
  return bytes;
}

}  // namespace

template <>
struct cairn::state_traits<foreign> {
  static void write(foreign const& x, auto& sink) { sink(x.at, sizeof(double)); }
  static void read(foreign& x, auto& source) { source(x.at, sizeof(double)); }
};

template <>
struct cairn::state_traits<scratched_and_shown> {
  static void visit_buffers(auto& x, auto& f) { cairn::visit_buffers(x.value, f), cairn::visit_buffers(x.scratch, f); }
  static void write(scratched_and_shown const& x, auto& sink) { write_state(x.value, sink); }
  static void read(scratched_and_shown& x, auto& source) { read_state(x.value, source); }
};

TEST_CASE("what can be written and read back is known", "[state_bytes]") {
  CHECK(written_state<double>);
  CHECK(written_state<long double const>);
  CHECK(written_state<std::vector<std::vector<std::vector<bool>>>>);
  CHECK(written_state<std::map<std::string, std::optional<std::variant<int, vec>>>>);
  CHECK(written_state<std::unordered_multimap<std::string, std::deque<padded>>>);
  CHECK(written_state<std::set<std::pair<int, std::filesystem::path>>>);
  CHECK(written_state<std::tuple<std::complex<long double>, std::array<vec, 2>, std::monostate, tree>>);
  CHECK(written_state<std::forward_list<cairn::ring<vec, 3>>>);
  CHECK(written_state<std::mt19937>);
  CHECK(written_state<std::vector<shown>>);
  CHECK(written_state<std::vector<named>>);
  CHECK(written_state<std::optional<symmetric>>);
  CHECK(written_state<foreign>);
  CHECK_FALSE(written_state<int*>);
  CHECK_FALSE(written_state<std::vector<int*>>);
  CHECK_FALSE(written_state<std::span<double>>);
  CHECK_FALSE(written_state<std::string_view>);
  CHECK_FALSE(written_state<std::map<int, std::span<int>>>);
  CHECK_FALSE(written_state<std::reference_wrapper<int>>);
  CHECK_FALSE(written_state<std::shared_ptr<int>>);
  CHECK_FALSE(written_state<std::unique_ptr<int>>);
  CHECK_FALSE(written_state<std::function<void()>>);
  CHECK_FALSE(written_state<std::initializer_list<int>>);
  CHECK_FALSE(written_state<std::tuple<int&>>);
  CHECK_FALSE(written_state<std::normal_distribution<double>>);
  CHECK_FALSE(written_state<secret_float>);
  CHECK_FALSE(written_state<std::pair<int, secret_float>>);
  CHECK_FALSE(written_state<shows_only>);
  CHECK_FALSE(written_state<half_a_pair>);
  CHECK_FALSE(written_state<more_than_a_list>);
  CHECK_FALSE(written_state<std::vector<std::monostate>>);  // any length would fit no bytes
  CHECK_FALSE(written_state<std::pair<int const, int>>);
}

TEST_CASE("long runs go to the sink as they lie in the state, and nothing is allocated", "[state_bytes]") {
  std::vector<double> const x(1'000'000, 1.5);
  std::size_t calls = 0, bytes = 0;
  void const* longest = nullptr;
  heap::mark const mark;
  write_state(x, [&](void const* run, std::size_t size) {
    ++calls;
    bytes += size;
    if (size == x.size() * sizeof(double)) longest = run;
  });
  CHECK(mark.allocated() == 0);
  CHECK(calls == 2);
  CHECK(bytes == 8 + x.size() * sizeof(double));
  CHECK(longest == x.data());
  runs seen;
  rows const two{vec(16), vec(15), vec(16)};
  write_state(two, seen);
  CHECK(seen.sizes == std::vector<std::size_t>{16, 128, 8 + 120 + 8, 128});
  CHECK(seen.at[1] == two[0].data());
  CHECK(seen.at[3] == two[2].data());
}

TEST_CASE("short runs are gathered without a change of order", "[state_bytes]") {
  for (std::size_t size : {1u, 7u, 127u, 128u, 129u, 300u}) {
    std::vector<std::string> lines;
    std::string expected = word(30);
    for (std::size_t k = 0; k < 30; ++k) {
      lines.push_back(std::string(size + k % 3, char('a' + k)));
      expected += word(lines.back().size()) + lines.back();
    }
    CHECK(written(lines) == expected);
  }
}

TEST_CASE("the bytes are lengths, lowest byte first, and values without padding", "[state_bytes]") {
  CHECK(written(std::string{"abc"}) == word(3) + "abc");
  CHECK(written(std::vector<bool>{true, false, true}) == word(3) + "\5");
  CHECK(written(std::optional<char>{}) == word(0));
  CHECK(written(std::optional<char>{'x'}) == word(1) + "x");
  CHECK(written(std::variant<int, std::string>{"ab"}) == word(1) + word(2) + "ab");
  CHECK(written(std::map<char, std::string>{{'k', "v"}, {'l', ""}}) == word(2) + "k" + word(1) + "vl" + word(0));
  CHECK(written(std::array<std::string, 2>{"a", "b"}) == word(1) + "a" + word(1) + "b");
  CHECK(written_bytes(padded{}) == 1 + 8 + 2);
  CHECK(written_bytes(1.0L) == (std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double)));
}

TEST_CASE("reading into a state of the same shape allocates nothing", "[state_bytes]") {
  rows x(100, vec(50, 1));
  std::map<int, std::string> names;
  for (int k = 0; k < 20; ++k) names[k] = std::string(60, char('a' + k));
  std::optional<vec> const held = vec(40, 2.0);
  std::variant<int, vec> const either = vec(3);
  auto const state = std::tuple{x, names, held, either, std::list<int>{1, 2}};
  auto into = state;
  std::get<0>(into)[3][4] = 7;
  std::get<1>(into)[3].assign(60, '.');
  std::string const bytes = written(state);
  heap::mark const mark;
  read(into, bytes);
  CHECK(mark.allocated() == 0);
  CHECK(into == state);
}

TEST_CASE("a state that is read has the memory of a fresh copy, and there are never two", "[state_bytes]") {
  vec const x(100'000, 1.0);
  std::string const bytes = written(x);
  vec large(300'000, 2.0), spare(10);
  spare.reserve(200'000);
  vec exact(100'000);
  exact.clear();
  for (vec* into : {&large, &spare, &exact}) {
    heap::mark const mark;
    read(*into, bytes);
    CHECK(*into == x);
    CHECK(into->capacity() == x.size());
    CHECK(mark.rise() <= (into == &large || into == &exact ? 0 : x.size() * sizeof(double)));
  }
  std::vector<bool> bits(5'000);
  read(bits, written(std::vector<bool>(100)));
  CHECK(cairn::detail::has_exact_capacity(bits));
  for (std::size_t const size : {30u, 1'000u}) {
    std::string text(size, 'x');
    read(text, written(std::string{"short"}));
    CHECK(text.capacity() == std::string{}.capacity());
  }
}

TEST_CASE("values come back with their bits, whatever the shape they are read into", "[state_bytes]") {
  double const odd = std::bit_cast<double>(std::uint64_t{0x7ff8000000001234});
  comes_back(-0.0, 1.0);
  comes_back(odd, 1.0);
  comes_back(0.1L, 7.0L);
  comes_back(std::complex<long double>{-0.0L, 2}, std::complex<long double>{1, 1});
  comes_back(vec{odd, -0.0}, vec{1});
  comes_back(rows{{1, 2}, {}, {odd}}, rows{{}, {3}});
  comes_back(std::vector<bool>(700, true), std::vector<bool>(3));
  comes_back(std::deque<bool>{true, false}, std::deque<bool>{true});
  comes_back(std::vector<std::optional<std::string>>{"a", std::nullopt, std::string(50, 'b')},
             std::vector<std::optional<std::string>>{std::nullopt, "c", "d"});
  using either = std::variant<std::monostate, vec, std::string>;
  comes_back(std::list<either>{vec{1}, std::string{"x"}, {}}, std::list<either>{std::string{"y"}, vec{}});
  using names = std::map<std::string, vec>;
  comes_back(names{{"a", {1}}, {"b", {}}}, names{{"c", {2, 3}}, {"d", {}}, {"e", {}}});
  comes_back(std::set<std::string>{"a", "b"}, std::set<std::string>{"c"});
  comes_back(std::multimap<int, char>{{1, 'x'}, {1, 'a'}, {0, 'q'}}, std::multimap<int, char>{{1, 'b'}});
  comes_back(std::forward_list<std::string>{"a", "b"}, std::forward_list<std::string>{"c"});
  comes_back(std::filesystem::path{"a/b"}, std::filesystem::path{"/"});
  comes_back(std::tuple{padded{'a', odd, 3}, std::array<vec, 2>{vec{1}, vec{}}, std::pair{true, 2}}, {});
  comes_back(std::mt19937{7}, std::mt19937{8});
  comes_back(tree{{tree{{tree{}, tree{}}, 1}, tree{{}, 2}}, 3}, tree{{tree{}}, 4});
  cairn::ring<vec, 3> turned{vec{1}, vec{2}, vec{3}};
  turned.rotate();
  comes_back(turned, cairn::ring<vec, 3>{vec{}, vec{4, 5}, vec{6}});
  comes_back(shown{{1, 2, 3}}, shown{{4}});
  comes_back(std::vector<shown>{shown{{1}}, shown{}}, std::vector<shown>{shown{{2}}, shown{{3, 4}}, shown{}});
}

TEST_CASE("unordered containers come back in the order in which they were written", "[state_bytes]") {
  std::mt19937 draw{4};
  auto const below = [&draw](unsigned most) { return int(unsigned(draw()) % most); };
  for (int turn = 0; turn < 50; ++turn) {
    std::unordered_map<std::string, double> x, other{{"z", 1}};
    std::unordered_multiset<int> many;
    if (turn % 4 == 0) x.reserve(1'000);
    for (int k = below(300); k > 0; --k) x[std::to_string(below(200))] = k, many.insert(below(9));
    for (int k = below(60); k > 0; --k) x.erase(std::to_string(below(200)));
    std::string const bytes = written(x), bytes_of_many = written(many);
    for (int k = below(99); k > 0; --k) other[std::to_string(k)] = k;
    std::unordered_multiset<int> again{1, 2, 3, 9};
    read(other, bytes);
    read(again, bytes_of_many);
    CHECK(other == x);
    CHECK(other.bucket_count() == x.bucket_count());
    CHECK(written(other) == bytes);  // also the order
    CHECK(again == many);
    CHECK(written(again) == bytes_of_many);
  }
}

TEST_CASE("traits and members decide how a type is written", "[state_bytes]") {
  std::vector<symmetric> const x{{{1, 2}, {1, 2}}, {{3}, {3}}};
  CHECK(written_bytes(x) == 8 + 8 + 16 + 8 + 8);
  std::vector<symmetric> y;
  read(y, written(x));
  CHECK(y == x);
  double one = 1, two = 2;
  std::array<foreign, 1> a{foreign{&one}}, b{foreign{&two}};
  CHECK(written_bytes(a) == 8);
  read(b, written(a));
  CHECK(two == 1.0);
}

TEST_CASE("what a type writes of itself is what it is, for its hash and for what it is a part of", "[state_bytes]") {
  using cairn::detail::hash_of;
  STATIC_REQUIRE(cairn::detail::hashable<std::vector<told_float>>);
  STATIC_REQUIRE(cairn::detail::hashable<std::map<int, std::optional<foreign>>>);
  STATIC_REQUIRE_FALSE(cairn::detail::hashable<half_a_pair*>);
  CHECK(hash_of(told_float{1}) == hash_of(told_float{1}));
  CHECK(hash_of(std::vector{told_float{1}}) != hash_of(std::vector{told_float{2}}));
  double one = 1, same = 1, two = 2;
  CHECK(hash_of(foreign{&one}) == hash_of(foreign{&same}));
  CHECK(hash_of(foreign{&one}) != hash_of(foreign{&two}));
  CHECK(hash_of(symmetric{{1, 2}, {3}}) == hash_of(symmetric{{1, 2}, {}}));
  CHECK(hash_of(far_away{1}) != hash_of(far_away{2}));
  keys up, down;
  for (int k = 0; k < 100; ++k) up.all.insert(k), down.all.insert(99 - k);
  CHECK(written(up) != written(down));
  CHECK(hash_of(up) == hash_of(down));
  CHECK(written(scratched_and_shown{1, 2}) == written(scratched_and_shown{1, 3}));  // which a hash must find
  CHECK(hash_of(scratched_and_shown{1, 2}) != hash_of(scratched_and_shown{1, 3}));
  auto const counts_by_value = [](auto const& x, auto const& other_scratch, auto const& other_value) {
    CHECK(hash_of(x) == hash_of(other_scratch));
    CHECK(hash_of(x) != hash_of(other_value));
    CHECK(written(x) == written(other_scratch));
    CHECK(written(x) != written(other_value));
    auto y = other_value;
    read(y, written(x));
    CHECK(written(y) == written(x));
  };
  auto const in_all = [&]<class T>(T x, T other_scratch, T other_value) {
    struct holds {
      int before;
      T it;
      T more[2];
    };
    counts_by_value(x, other_scratch, other_value);
    counts_by_value(std::vector{x, x}, std::vector{x, other_scratch}, std::vector{x, other_value});
    counts_by_value(std::array{x, x}, std::array{x, other_scratch}, std::array{x, other_value});
    counts_by_value(std::pair{1, x}, std::pair{1, other_scratch}, std::pair{1, other_value});
    counts_by_value(std::optional{x}, std::optional{other_scratch}, std::optional{other_value});
    counts_by_value(holds{1, x, {x, x}}, holds{1, x, {other_scratch, x}}, holds{1, x, {other_value, x}});
  };
  in_all(scratched{1, 2}, scratched{1, 3}, scratched{4, 2});
}

TEST_CASE("a type that only shows its runs is read into its own shape, and refused in another", "[state_bytes]") {
  block x{3}, same{3}, larger{4}, smaller{2};
  x[2] = 5;
  read(same, written(x));
  CHECK(same[2] == 5.0);
  CHECK_THROWS_AS(read(larger, written(x)), cairn::invalid_bytes);
  CHECK_THROWS_AS(read(smaller, written(x)), cairn::invalid_bytes);
}

TEST_CASE("what has no default constructor is a copy of what is there", "[state_bytes]") {
  std::vector<named> const x{named{1}, named{2}, named{3}};
  std::vector<named> some{named{7}}, none;
  read(some, written(x));
  CHECK(some == x);
  CHECK(some.capacity() == 3);
  CHECK_THROWS_AS(read(none, written(x)), cairn::invalid_call);
  read(some, written(none));
  CHECK(some.empty());
  std::map<int, named> const map{{1, named{1}}, {2, named{2}}};
  std::map<int, named> into{{5, named{3}}}, empty;
  read(into, written(map));
  CHECK(into == map);
  CHECK_THROWS_AS(read(empty, written(map)), cairn::invalid_call);
  std::map<named, named> const keyed{{named{1}, named{2}}, {named{3}, named{4}}};
  std::map<named, named> key{{named{5}, named{6}}};
  read(key, written(keyed));
  CHECK(key == keyed);
  std::set<named> const chosen{named{1}, named{2}};
  std::set<named> choice{named{3}};
  read(choice, written(chosen));
  CHECK(choice == chosen);
  std::optional<named> const held{named{1}};
  std::optional<named> holds{named{2}}, holds_none;
  read(holds, written(held));
  CHECK(holds == held);
  CHECK_THROWS_AS(read(holds_none, written(held)), cairn::invalid_call);
}

TEST_CASE("no length is believed beyond the bytes that are left", "[state_bytes]") {
  auto const refuses = [](auto x, std::string const& bytes) {
    heap::mark const mark;
    CHECK_THROWS_AS(read(x, bytes), cairn::invalid_bytes);
    CHECK(mark.rise() < 1'000);
  };
  std::uint64_t const one = 1;
  for (std::uint64_t const many : {3 * one, one << 32, one << 61, ~std::uint64_t{0}}) {
    std::string const bytes = word(many) + word(0) + word(0);
    refuses(vec{}, bytes);
    refuses(rows{}, bytes);
    refuses(std::list<int>(9), word(many * 4) + word(0));
    refuses(std::map<double, int>{}, bytes);
    refuses(std::unordered_set<double>{}, word(0) + word(many * 9) + word(0));
    refuses(std::string{}, word(many * 6) + word(0));
    refuses(std::vector<bool>{}, word(many < 1'000 ? 65 : many) + word(0));
    refuses(std::optional<int>{}, bytes);
    refuses(std::variant<int, char>{}, bytes);
    refuses(cairn::ring<double, 2>{}, bytes);
  }
}

TEST_CASE("what is not true or false is refused, and nobody reads it", "[state_bytes]") {
  struct switches {
    bool first;
    char other;
    bool more[2];
  };
  std::vector<switches> x(1);
  CHECK_THROWS_AS(read(x, word(1) + std::string{"\1\7\1\2"}), cairn::invalid_bytes);
  CHECK(x[0].first);
  CHECK(std::memcmp(x[0].more, "\1", 2) == 0);
  enum class open : bool {} o{};
  CHECK_THROWS_AS(read(o, "\x2"), cairn::invalid_bytes);
  bool b = true;
  CHECK_THROWS_AS(read(b, "\xff"), cairn::invalid_bytes);
  CHECK(std::memcmp(&b, "", 1) == 0);
}

TEST_CASE("two elements of one key, and levels without end, are refused", "[state_bytes]") {
  std::set<char> x;
  CHECK_THROWS_AS(read(x, word(2) + "aa"), cairn::invalid_bytes);
  std::string deep;
  for (int k = 0; k < 100'000; ++k) deep += word(1);
  tree t;
  CHECK_THROWS_AS(read(t, deep), cairn::invalid_bytes);
}

TEST_CASE("errors of a sink and of a source pass", "[state_bytes]") {
  struct full {};
  auto const sink = [](void const*, std::size_t) { throw full{}; };
  CHECK_THROWS_AS(write_state(1.0, sink), full);
  struct broken {
    void operator()(void*, std::size_t) const { throw full{}; }
    std::size_t left() const { return 100; }
  };
  double x = 0;
  CHECK_THROWS_AS(read_state(x, broken{}), full);
}
