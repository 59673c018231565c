// SPDX-License-Identifier: Apache-2.0
// Random values of nested types as bytes: they come back, whatever they are read into; spoilt bytes are a value or an
// error. What is hashed, and what is shown to visitors, is what is written.
#include <array>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
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

std::size_t few(random& draw) { return std::size_t(draw() % 8 == 0 ? draw() % 40 : draw() % 4); }

void set(auto& number, random& draw) requires std::is_arithmetic_v<std::remove_reference_t<decltype(number)>> {
  using T = std::remove_reference_t<decltype(number)>;
  if constexpr (std::is_same_v<T, bool>) number = draw() % 2 == 0;
  else number = static_cast<T>(int(draw() % 9) - (draw() % 2 == 0 ? 4 : 0));
}
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

using either = std::variant<std::monostate, int, std::vector<double>, std::map<int, std::string>>;
using all = std::tuple<
    double, std::vector<double>, std::vector<std::vector<std::string>>, std::map<std::string, std::vector<bool>>,
    std::unordered_map<int, std::optional<std::vector<float>>>, std::list<std::set<std::string>>,
    std::vector<std::optional<std::pair<bool, std::string>>>, std::deque<either>, std::optional<std::optional<either>>,
    std::tuple<leaf, std::array<std::vector<leaf>, 2>, long double>, tree, cairn::ring<std::vector<int>, 3>,
    std::multimap<int, std::forward_list<char>>, std::unordered_multiset<std::string>,
    std::vector<std::filesystem::path>,
    std::map<std::pair<int, bool>, std::map<int, std::complex<long double>>>>;

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

TEST_CASE("random states come back, their bytes, spoilt, are a value or an error, and shown and hashed as written",
          "[fuzz][state_bytes]") {
  many(20);
}
TEST_CASE("many random nested states come back", "[fuzz][state_bytes][.soak]") {
  char const* const given = std::getenv("CAIRN_FUZZ_PROGRAMS");
  many(given != nullptr ? std::size_t(std::atol(given)) / 10 : 10'000);
}
