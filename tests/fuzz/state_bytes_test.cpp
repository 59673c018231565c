// SPDX-License-Identifier: Apache-2.0
// Random values of nested types, seen by all visitors: as bytes they come back, whatever they are read into; spoilt bytes
// are a value or an error. What is hashed, and what is shown, is what is written; what is counted is what a copy takes;
// the numbers are those that a walk by hand finds.
#include <algorithm>
#include <array>
#include <bitset>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <list>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <stack>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <valarray>
#include <variant>
#include <vector>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/core/state_bytes.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/memory_bytes.hpp"

using cairn::detail::hash_of;
using memory_bytes::read;
using memory_bytes::written;

namespace {

using random = std::mt19937_64;

struct leaf {
  bool open = false;
  double number = 0;
  std::string name;
  bool operator==(leaf const&) const = default;
};
struct tree {
  std::vector<tree> children;
  std::optional<leaf> value;
  bool operator==(tree const&) const = default;
};

/// A valarray that is compared as a whole.
template <class T>
struct values : std::valarray<T> {
  using std::valarray<T>::valarray;
  friend bool operator==(values const& a, values const& b) {
    return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
  }
};

std::size_t few(random& draw) { return std::size_t(draw() % 8 == 0 ? draw() % 40 : draw() % 4); }

void set(auto& number, random& draw) requires std::is_arithmetic_v<std::remove_reference_t<decltype(number)>> {
  using T = std::remove_reference_t<decltype(number)>;
  if constexpr (std::is_same_v<T, bool>) number = draw() % 2 == 0;
  else number = static_cast<T>(int(draw() % 9) - (draw() % 2 == 0 ? 4 : 0));
}
#ifdef __FLT16_MANT_DIG__
void set(_Float16& x, random& draw) { x = _Float16(int(draw() % 9)); }
#endif
template <std::size_t N> void set(std::bitset<N>& x, random& draw) { x = draw(); }
template <class T> void set(std::complex<T>& x, random& draw) { x = {T(draw() % 5), T(draw() % 5)}; }
void set(std::string& x, random& draw) { x.assign(few(draw) * 3, char('a' + int(draw() % 26))); }
void set(std::filesystem::path& x, random& draw) {
  std::string text;
  set(text, draw);
  x = text;
}
void set(leaf& x, random& draw) {
  set(x.open, draw);
  set(x.number, draw);
  set(x.name, draw);
}
void set(tree& x, random& draw);
template <class T> void set(std::vector<T>& x, random& draw);
template <class T> void set(std::deque<T>& x, random& draw);
template <class T> void set(std::list<T>& x, random& draw);
template <class T> void set(std::forward_list<T>& x, random& draw);
template <class T> void set(std::optional<T>& x, random& draw);
template <class T> void set(values<T>& x, random& draw);
template <class T, class Inner> void set(std::stack<T, Inner>& x, random& draw);
template <class T, class Inner> void set(std::queue<T, Inner>& x, random& draw);
template <class... T> void set(std::variant<T...>& x, random& draw);
template <class... T> void set(std::tuple<T...>& x, random& draw);
template <class K, class V> void set(std::pair<K, V>& x, random& draw);
template <class T, std::size_t N> void set(std::array<T, N>& x, random& draw);
template <class T, std::size_t N> void set(cairn::ring<T, N>& x, random& draw);
template <class T>
  requires requires { typename T::key_type; }
void set(T& x, random& draw);

void resize(auto& x, random& draw) {
  if constexpr (requires { x.reserve(1); })
    if (draw() % 3 == 0) x.reserve(few(draw));
  x.resize(few(draw));
}
void set_each(auto& x, random& draw) {
  for (auto& element : x) set(element, draw);
}
template <class T> void set(std::vector<T>& x, random& draw) {
  resize(x, draw);
  if constexpr (std::is_same_v<T, bool>)
    for (auto&& bit : x) bit = draw() % 2 == 0;
  else set_each(x, draw);
}
template <class T> void set(std::deque<T>& x, random& draw) { resize(x, draw), set_each(x, draw); }
template <class T> void set(std::list<T>& x, random& draw) { resize(x, draw), set_each(x, draw); }
template <class T> void set(std::forward_list<T>& x, random& draw) { resize(x, draw), set_each(x, draw); }
template <class T> void set(values<T>& x, random& draw) { resize(x, draw), set_each(x, draw); }
template <class T, class Inner> void set(std::stack<T, Inner>& x, random& draw) {
  Inner inner;
  set(inner, draw), x = std::stack<T, Inner>(inner);
}
template <class T, class Inner> void set(std::queue<T, Inner>& x, random& draw) {
  Inner inner;
  set(inner, draw), x = std::queue<T, Inner>(inner);
}
template <class T> void set(std::optional<T>& x, random& draw) {
  if (draw() % 3 == 0) x.reset();
  else set(x.emplace(), draw);
}
template <std::size_t At = 0, class... T> void choose(std::variant<T...>& x, std::size_t which, random& draw) {
  if constexpr (At < sizeof...(T)) {
    if (which != At) return choose<At + 1>(x, which, draw);
    auto& chosen = x.template emplace<At>();
    if constexpr (!std::is_empty_v<std::remove_reference_t<decltype(chosen)>>) set(chosen, draw);
  }
}
template <class... T> void set(std::variant<T...>& x, random& draw) { choose(x, draw() % sizeof...(T), draw); }
template <class... T> void set(std::tuple<T...>& x, random& draw) {
  std::apply([&](auto&... part) { (set(part, draw), ...); }, x);
}
template <class K, class V> void set(std::pair<K, V>& x, random& draw) { set(x.first, draw), set(x.second, draw); }
template <class T, std::size_t N> void set(std::array<T, N>& x, random& draw) { set_each(x, draw); }
template <class T, std::size_t N> void set(cairn::ring<T, N>& x, random& draw) {
  set_each(x, draw);
  for (std::size_t k = draw() % 3; k > 0; --k) x.rotate();
}
template <class T>
  requires requires { typename T::key_type; }
void set(T& x, random& draw) {
  if (draw() % 2 == 0) x.clear();
  for (std::size_t k = few(draw); k > 0; --k) {
    typename T::key_type key{};
    set(key, draw);
    if constexpr (requires { typename T::mapped_type; }) {
      typename T::mapped_type value{};
      set(value, draw);
      x.emplace(key, value);
    } else x.insert(key);
  }
}
int depth = 0;
void set(tree& x, random& draw) {
  ++depth;
  if (depth < 4) set(x.children, draw);
  else x.children.clear();
  --depth;
  set(x.value, draw);
}

/// An aggregate with a base that is nothing else.
struct named : std::vector<leaf> {};
void set(named& x, random& draw) { resize(x, draw), set_each(x, draw); }

/// Calls f with each floating-point number, by a walk of this file.
template <class T, class Fn>
  requires std::is_arithmetic_v<T>
void each_number(T& x, Fn f) {
  if constexpr (std::is_floating_point_v<T>) f(x);
}
template <class T, class Fn> void each_number(std::complex<T>& x, Fn f) {
  T parts[2] = {x.real(), x.imag()};
  f(parts[0]), f(parts[1]);
  x = {parts[0], parts[1]};
}
template <class Fn> void each_number(std::string&, Fn) {}
template <class Fn> void each_number(std::filesystem::path&, Fn) {}
template <std::size_t N, class Fn> void each_number(std::bitset<N>&, Fn) {}
template <class Fn> void each_number(std::monostate&, Fn) {}
#ifdef __FLT16_MANT_DIG__
template <class Fn> void each_number(_Float16& x, Fn f) { f(x); }
#endif
template <class Fn> void each_number(leaf& x, Fn f) { f(x.number); }
template <class Fn> void each_number(tree& x, Fn f);
template <class Fn> void each_number(std::vector<bool>&, Fn) {}
template <class T, class Inner, class Fn> void each_number(std::stack<T, Inner>& x, Fn f);
template <class T, class Inner, class Fn> void each_number(std::queue<T, Inner>& x, Fn f);
template <class A, class B, class Fn> void each_number(std::pair<A, B>& x, Fn f);
template <class... T, class Fn> void each_number(std::tuple<T...>& x, Fn f);
template <class... T, class Fn> void each_number(std::variant<T...>& x, Fn f);
template <class T, class Fn> void each_number(std::optional<T>& x, Fn f) {
  if (x) each_number(*x, f);
}
template <class T, class Fn>
  requires requires(T& x) { std::begin(x); }
void each_number(T& x, Fn f) {
  if constexpr (requires { typename T::mapped_type; })
    for (auto& [key, value] : x) each_number(value, f);
  else if constexpr (!requires { typename T::key_type; })
    for (auto& element : x) each_number(element, f);
}
template <class T, class Inner, class Fn> void each_number(std::stack<T, Inner>& x, Fn f) {
  std::vector<T> all;
  for (; !x.empty(); x.pop()) all.insert(all.begin(), x.top());
  each_number(all, f);
  for (T& one : all) x.push(one);
}
template <class T, class Inner, class Fn> void each_number(std::queue<T, Inner>& x, Fn f) {
  for (std::size_t k = x.size(); k > 0; --k) {
    T one = x.front();
    x.pop(), each_number(one, f), x.push(one);
  }
}
template <class A, class B, class Fn> void each_number(std::pair<A, B>& x, Fn f) {
  each_number(x.first, f), each_number(x.second, f);
}
template <class... T, class Fn> void each_number(std::tuple<T...>& x, Fn f) {
  std::apply([&](auto&... part) { (each_number(part, f), ...); }, x);
}
template <class... T, class Fn> void each_number(std::variant<T...>& x, Fn f) {
  std::visit([&](auto& held) { each_number(held, f); }, x);
}
template <class Fn> void each_number(tree& x, Fn f) {
  each_number(x.children, f);
  each_number(x.value, f);
}

using either = std::variant<std::monostate, int, std::vector<double>, std::map<int, std::string>>;
using all = std::tuple<
    double, std::vector<double>, std::vector<std::vector<std::string>>, std::map<std::string, std::vector<bool>>,
    std::unordered_map<int, std::optional<std::vector<float>>>, std::list<std::set<std::string>>,
    std::vector<std::optional<std::pair<bool, std::string>>>, std::deque<either>, std::optional<std::optional<either>>,
    std::tuple<leaf, std::array<std::vector<leaf>, 2>, long double>, tree, cairn::ring<std::vector<int>, 3>,
    std::multimap<int, std::forward_list<char>>, std::unordered_multiset<std::string>,
    std::vector<std::filesystem::path>,
    std::map<std::pair<int, bool>, std::map<int, std::complex<long double>>>, values<std::vector<double>>,
    std::stack<std::vector<float>, std::vector<std::vector<float>>>, std::pair<std::queue<leaf>, std::bitset<70>>,
    std::vector<named>, std::map<int, std::variant<double, std::list<values<float>>>>,
    std::vector<std::variant<std::string, std::string>>,
#ifdef __FLT16_MANT_DIG__
    std::deque<std::pair<_Float16, std::optional<_Float16>>>,
#endif
    std::unordered_map<std::string, std::deque<std::array<double, 3>>>>;

/// Equal values of ordered types are written in one way.
template <class T>
constexpr bool has_order = !cairn::detail::unordered_like<T>;
/// One value of type T in all ways.
template <class T>
void goes_through(random& draw) {
  T x{}, other{};
  set(x, draw);
  set(other, draw);
  if (draw() % 2 == 0) set(other, draw);
  T const copy = x;
  std::string const bytes = written(x);
  REQUIRE(cairn::written_bytes(x) == bytes.size());
  if constexpr (cairn::buffered<T>) REQUIRE(memory_bytes::shows_what_is_written(x));
  {  // what a copy takes
    std::size_t const before = heap::held;
    T const another = copy;
    if constexpr (cairn::sized_state<T>) REQUIRE(cairn::bytes_of(another) - sizeof(T) == heap::held - before);
    REQUIRE(cairn::detail::has_exact_capacity(another));
  }
  {  // its numbers
    T by_hand = copy, by_visit = copy;
    std::size_t found = 0, visited = 0;
    each_number(by_hand, [&](auto& number) { number = std::remove_reference_t<decltype(number)>(++found % 100 + 1); });
    cairn::visit_numbers(by_visit, [&](auto* at, std::size_t count) {
      for (std::size_t k = 0; k < count; ++k)
        at[k] = std::remove_reference_t<decltype(at[k])>(++visited % 100 + 1);
    });
    REQUIRE(visited == found);
    REQUIRE(by_visit == by_hand);
  }
  T fresh{};
  for (T* into : {&fresh, &other, &x}) {
    REQUIRE(read(*into, bytes) == 0);
    REQUIRE(*into == copy);
    REQUIRE(hash_of(*into) == hash_of(copy));
    REQUIRE(written(*into) == bytes);
    if constexpr (cairn::sized_state<T>) REQUIRE(cairn::detail::has_exact_capacity(*into));
  }
  // Cut: always an error. A bit changed: an error or a value, and no more memory than the bytes account for.
  std::size_t const stride = 1 + bytes.size() / 100;
  for (std::size_t k = 0; k < bytes.size(); k += stride)
    REQUIRE_THROWS_AS(read(other, bytes.substr(0, k)), cairn::invalid_bytes);
  std::size_t values = 0;
  for (std::size_t k = draw() % stride; k < bytes.size(); k += stride) {
    std::string spoilt = bytes;
    spoilt[k] = static_cast<char>(spoilt[k] ^ (1 << draw() % 8));
    heap::mark const mark;
    try {
      read(other, spoilt);
      ++values;
      bool const same = hash_of(other) == hash_of(copy);
      if constexpr (has_order<T>) REQUIRE(same == (written(other) == bytes));
      else REQUIRE((same ? other == copy : written(other) != bytes));
    } catch (cairn::invalid_bytes const&) {
    }
    REQUIRE(mark.rise() <= 64 * bytes.size() + 1'000);
    REQUIRE(cairn::written_bytes(other) > 0);  // whatever it holds can be read
  }
  REQUIRE(read(other, bytes) == 0);
  REQUIRE(other == copy);
}
template <class... T>
void all_go_through(std::tuple<T...>*, random& draw) { (goes_through<T>(draw), ...); }

void many(std::size_t programs) {
  for (std::size_t k = 0; k < programs; ++k) {
    CAPTURE(k);
    random draw{k};
    all_go_through(static_cast<all*>(nullptr), draw);
  }
}

}  // namespace

namespace {
struct based : leaf {
  double more = 0;
};
struct list_and_more : std::vector<double> {
  double more = 0;
};
class hidden : public std::list<int> {
  double more_ = 0;
};
struct json_like : std::vector<json_like> {
  using value_type = json_like;
};
template <class T>
constexpr int known_to = int(cairn::sized_state<T>) + int(cairn::numbered<T>) + int(cairn::detail::hashable<T>) +
                         int(cairn::written_state<T>) + int(cairn::buffered<T>);
}  // namespace
TEST_CASE("what one visitor does not know, none knows", "[state_bytes]") {
  CHECK(known_to<based> == 0);
  CHECK(known_to<list_and_more> == 0);
  CHECK(known_to<hidden> == 0);
  CHECK(known_to<std::map<int, std::vector<list_and_more>>> == 0);
  CHECK(known_to<std::tuple<double, std::optional<hidden>>> == 0);
  CHECK(known_to<json_like> == 0);
}
TEST_CASE("random states come back, their bytes, spoilt, are a value or an error, and shown and hashed as written",
          "[fuzz][state_bytes]") {
  many(20);
}
TEST_CASE("many random nested states come back", "[fuzz][state_bytes][.soak]") {
  char const* const given = std::getenv("CAIRN_FUZZ_PROGRAMS");
  many(given != nullptr ? std::size_t(std::atol(given)) / 10 : 10'000);
}
