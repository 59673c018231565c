// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <valarray>
#include <variant>
#include <vector>

#include "array_type.hpp"

namespace {
constexpr std::size_t many = 1'000, few = 40;
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
auto const by_walk = [](auto& x, std::size_t k) -> auto& { return *std::next(x.begin(), std::ptrdiff_t(k)); };
auto const by_key = [](auto& x, std::size_t k) -> auto& { return x.find(int(k))->second; };
template <class T>
auto sized(std::size_t count) {
  return [count] { return T(count); };
}
template <class T>
T keyed() {
  T x;
  for (int k = 0; k < int(few); ++k) x[k] = 0;
  return x;
}
struct layer {  // an aggregate of an aggregate, with what is not differentiated
  std::string name = "layer";
  std::pair<std::vector<double>, std::array<double, 4>> weights{std::vector<double>(36), {}};
  long steps = 0;
  bool operator==(layer const&) const = default;
};
}  // namespace

TEST_CASE("contiguous containers of the standard library", "[arrays]") {
  check_array_type<std::vector<double>>(sized<std::vector<double>>(many), by_index, many);
  check_array_type<std::valarray<double>>(sized<std::valarray<double>>(many), by_index, many);
  check_array_type<std::array<double, many>>([] { return std::array<double, many>{}; }, by_index, many);
}
TEST_CASE("lists, maps and what may hold nothing", "[arrays]") {
  check_array_type<std::deque<double>>(sized<std::deque<double>>(many), by_index, many);
  check_array_type<std::list<double>>(sized<std::list<double>>(few), by_walk, few);
  check_array_type<std::forward_list<double>>(sized<std::forward_list<double>>(few), by_walk, few);
  check_array_type<std::map<int, double>>(keyed<std::map<int, double>>, by_key, few);
  check_array_type<std::unordered_map<int, double>>(keyed<std::unordered_map<int, double>>, by_key, few);
  using maybe = std::optional<std::vector<double>>;
  check_array_type<maybe>([] { return maybe(std::vector<double>(many)); },
                          [](auto& x, std::size_t k) -> auto& { return (*x)[k]; }, many);
  using either = std::variant<int, std::valarray<double>>;
  check_array_type<either>([] { return either(std::valarray<double>(many)); },
                           [](auto& x, std::size_t k) -> auto& { return std::get<1>(x)[k]; }, many);
}
TEST_CASE("aggregates and tuples of containers", "[arrays]") {
  check_array_type<layer>([] { return layer(); }, [](auto& x, std::size_t k) -> auto& {
    return k < 36 ? x.weights.first[k] : x.weights.second[k - 36];
  }, few);
  using nested = std::vector<std::tuple<std::vector<double>, std::deque<double>>>;
  auto const made = [] { return nested(2, {std::vector<double>(10), std::deque<double>(10)}); };
  check_array_type<nested>(made, [](auto& x, std::size_t k) -> auto& {
    auto& [first, second] = x[k / 20];
    return k % 20 < 10 ? first[k % 10] : second[k % 10];
  }, few);
}
