// SPDX-License-Identifier: Apache-2.0
// A state as runs of bytes: all of them, in order, and no padding.
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/core/buffers.hpp>
#include <cairn/core/state_traits.hpp>
#include "support/catch.hpp"

namespace {

using vec = std::vector<double>;
using sizes = std::vector<std::size_t>;
using cairn::buffered;

struct padded {
  char c;
  double d;
  short s;
};
struct packed {
  int a;
  int b;
  float c[2];
};
struct tree {
  std::vector<tree> children;
  double value = 0;
};
struct mixed {
  vec x;
  padded p;
  std::optional<float> maybe;
  std::tuple<int, std::string> tuple;
  std::vector<bool> mask;
  std::list<int> list;
  std::array<vec, 2> pair;
  short table[3][2];
};
/// Hides its bytes behind members.
class secret {
 public:
  double value = 3;
  template <class F>
  void visit_buffers(F& f) { f(static_cast<void*>(&value), sizeof value); }
  template <class F>
  void visit_buffers(F& f) const { f(static_cast<void const*>(&value), sizeof value); }
  std::vector<double*> other;
};
/// Belongs to somebody else.
struct foreign {
  double* data = nullptr;
  int unused = 0;
};

/// Plain bytes, half of which its traits hide.
struct half_seen {
  int seen = 1;
  int hidden = 2;
};

/// Cannot be taken apart.
struct flags {
  unsigned low : 3, high : 5;
};

sizes runs(auto& x) {
  sizes all;
  cairn::visit_buffers(x, [&](auto*, std::size_t size) { all.push_back(size); });
  return all;
}
std::string content(auto const& x) {
  std::string all;
  cairn::visit_buffers(x, [&](void const* run, std::size_t size) {
    if (size > 0) all.append(static_cast<char const*>(run), size);
  });
  return all;
}
/// Writes the bytes of one state into another of the same shape.
template <class T>
void write(T& into, std::string const& bytes) {
  std::size_t at = 0;
  cairn::visit_buffers(into, [&](void* run, std::size_t size) {
    if (size > 0) std::memcpy(run, bytes.data() + at, size);
    at += size;
  });
  CHECK(at == bytes.size());
}

}  // namespace

template <> struct cairn::state_traits<foreign> {
  static void visit_buffers(auto& x, auto& f) {
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(x)>>)
      f(static_cast<void const*>(x.data), sizeof(double));
    else f(static_cast<void*>(x.data), sizeof(double));
  }
};

template <> struct cairn::state_traits<half_seen> {
  static void visit_buffers(auto& x, auto& f) { cairn::visit_buffers(x.seen, f); }
};

template <> struct cairn::state_traits<flags> {
  static void copy(flags const& from, flags& into) { into = from; }
  static std::size_t bytes(flags const&) { return sizeof(flags); }
  static void visit_buffers(flags const& x, auto& f) {
    unsigned char const both = static_cast<unsigned char>(x.low | x.high << 3);
    f(static_cast<void const*>(&both), 1);
  }
  static void visit_buffers(flags& x, auto& f) {
    unsigned char both = static_cast<unsigned char>(x.low | x.high << 3);
    f(static_cast<void*>(&both), 1);
    unsigned const all = both;
    x.low = all & 7u;
    x.high = (all >> 3) & 31u;
  }
};

TEST_CASE("numbers are runs without their padding", "[buffers]") {
  double d = 1;
  bool b = true;
  enum class color : short { red } c{};
  long double l = 1;
  std::vector<long double> many(2);
  std::complex<long double> complex;
  CHECK(runs(d) == sizes{8});
  CHECK(runs(b) == sizes{1});
  CHECK(runs(c) == sizes{2});
  std::size_t const digits = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);
  CHECK(runs(l) == sizes{digits});
  bool const is_padded = digits < sizeof(long double);  // on x86; elsewhere two side by side are one run
  CHECK(runs(complex) == (is_padded ? sizes{digits, digits} : sizes{2 * digits}));
  CHECK(runs(many) == (is_padded ? sizes{digits, digits} : sizes{2 * digits}));
}

TEST_CASE("plain elements side by side are one run", "[buffers]") {
  vec x(3);
  vec none;
  std::vector<std::complex<double>> complex(3);
  std::vector<packed> dense(4);
  std::array<std::array<int, 2>, 3> array{};
  std::string text = "abc";
  packed alone{};
  CHECK(runs(x) == sizes{24});
  CHECK(runs(none) == sizes{0});
  CHECK(runs(complex) == sizes{48});
  CHECK(runs(dense) == sizes{4 * sizeof(packed)});
  CHECK(runs(array) == sizes{24});
  CHECK(runs(text) == sizes{3});
  CHECK(runs(alone) == sizes{sizeof(packed)});
}

TEST_CASE("members and elements come one by one and in order", "[buffers]") {
  padded p{};
  std::vector<padded> many(2);
  tree t{{tree{{}, 1}, tree{{}, 2}}, 3};
  std::list<int> list{1, 2};
  std::tuple<vec, int> tuple{vec(2), 1};
  std::vector<vec> nested{vec(1), vec(), vec(2)};
  CHECK(runs(p) == sizes{1, 8, 2});
  CHECK(runs(many) == sizes{1, 8, 2, 1, 8, 2});
  CHECK(runs(t) == sizes{8, 8, 8});
  CHECK(runs(list) == sizes{4, 4});
  CHECK(runs(tuple) == sizes{16, 4});
  CHECK(runs(nested) == sizes{8, 0, 16});
  std::string const bytes = content(tree{{tree{{}, 1}, tree{{}, 2}}, 3});
  double value[3] = {};
  std::memcpy(value, bytes.data(), sizeof value);
  CHECK(value[0] == 1.0);
  CHECK(value[1] == 2.0);
  CHECK(value[2] == 3.0);
}

TEST_CASE("an optional shows whether it holds a value by its runs", "[buffers]") {
  std::optional<double> none;
  std::optional<double> zero = 0.0;
  std::optional<vec> empty = vec{};
  CHECK(runs(none) == sizes{0});
  CHECK(runs(zero) == sizes{8});
  CHECK(runs(empty) == sizes{0});
}

TEST_CASE("padding is not seen", "[buffers]") {
  unsigned char const fills[] = {0x00, 0xff};
  std::string seen[2];
  for (int k = 0; k < 2; ++k) {
    padded x;
    std::memset(static_cast<void*>(&x), fills[k], sizeof x);
    x.c = 'a';
    x.d = 2.5;
    x.s = 7;
    seen[k] = content(x);
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0].size() == 11);
}

TEST_CASE("bits are packed, and unpacked when they are written", "[buffers]") {
  for (std::size_t size : {0u, 1u, 8u, 9u, 511u, 512u, 513u, 2000u}) {
    std::vector<bool> x(size), y(size);
    for (std::size_t k = 0; k < size; ++k) x[k] = k % 3 == 0;
    std::string const bytes = content(x);
    CHECK(bytes.size() == (size + 7) / 8);
    write(y, bytes);
    CHECK(x == y);
    if (size > 0) {
      y[size - 1] = !y[size - 1];
      CHECK(content(y) != bytes);
    }
  }
}

TEST_CASE("what was read can be written back", "[buffers]") {
  mixed const x{{1, 2, 3},           {'a', 2.5, 7},           1.5f, {4, "text"}, {true, false, true}, {5, 6},
                {vec{7}, vec{8, 9}}, {{1, 2}, {3, 4}, {5, 6}}};
  mixed y{{0, 0, 0}, {}, 0.0f, {0, "...."}, {false, false, false}, {0, 0}, {vec{0}, vec{0, 0}}, {}};
  write(y, content(x));
  CHECK(y.x == x.x);
  CHECK(y.p.d == 2.5);
  CHECK(y.maybe == 1.5f);
  CHECK(y.tuple == x.tuple);
  CHECK(y.mask == x.mask);
  CHECK(y.list == x.list);
  CHECK(y.pair == x.pair);
  CHECK(y.table[2][1] == 6);
  CHECK(content(y) == content(x));
}

TEST_CASE("traits and members decide what a type's bytes are", "[buffers]") {
  secret s;
  CHECK(runs(s) == sizes{8});
  CHECK(runs(std::as_const(s)) == sizes{8});
  double value = 4;
  foreign f{&value};
  std::vector<foreign> many{f, f};
  CHECK(runs(f) == sizes{8});
  CHECK(runs(std::as_const(many)) == sizes{8, 8});
  std::vector<half_seen> halves(2);
  std::tuple<half_seen, half_seen> two;
  CHECK(runs(halves) == sizes{4, 4});  // not one run, though it would copy as one
  CHECK(runs(two) == sizes{4, 4});
  double five = 5;
  write(f, std::string(reinterpret_cast<char const*>(&five), sizeof five));
  CHECK(value == 5.0);
}

TEST_CASE("a struct with bit-fields is a state only by its traits", "[buffers]") {
  std::tuple<flags, int> x{{5, 17}, 1}, y{};
  CHECK(cairn::copied_state<std::tuple<flags, int>>);
  CHECK(cairn::bytes_of(x) == sizeof x);
  CHECK(runs(x) == sizes{1, 4});
  write(y, content(x));
  CHECK(std::get<flags>(y).high == 17);
  cairn::copy_state(x, y);
  CHECK(std::get<flags>(y).low == 5);
}

TEST_CASE("only states whose bytes can be read and written are buffered", "[buffers]") {
  CHECK(buffered<mixed>);
  CHECK(buffered<mixed const>);
  CHECK(buffered<tree>);
  CHECK(buffered<std::mt19937>);
  CHECK(buffered<std::tuple<>>);
  CHECK_FALSE(buffered<double*>);
  CHECK_FALSE(buffered<void (*)()>);
  CHECK_FALSE(buffered<std::vector<double*>>);
  CHECK_FALSE(buffered<std::tuple<int, double*>>);
  CHECK_FALSE(buffered<std::map<int, double>>);
  CHECK_FALSE(buffered<std::set<double>>);
  CHECK_FALSE(buffered<std::variant<int, double>>);
  CHECK_FALSE(buffered<std::optional<std::map<int, int>>>);
}

TEST_CASE("a const state shows its bytes as const", "[buffers]") {
  vec x(2);
  bool was_const = false;
  auto const look = [&](auto* run, std::size_t) { was_const = std::is_same_v<decltype(run), void const*>; };
  cairn::visit_buffers(std::as_const(x), look);
  CHECK(was_const);
  cairn::visit_buffers(x, look);
  CHECK_FALSE(was_const);
}

namespace {
struct vector_of_parts : vec {  // as Eigen's vectors have them
  using vec::vec;
  int real() const { return 0; }
  int imag() const { return 0; }
};
}  // namespace
TEST_CASE("a vector with real() and imag() is no complex number") {
  vector_of_parts x(3);
  std::size_t bytes = 0;
  void const* from = nullptr;
  cairn::visit_buffers(x, [&](void* run, std::size_t size) {
    from = run;
    bytes += size;
  });
  CHECK(from == x.data());
  CHECK(bytes == 3 * sizeof(double));
}
