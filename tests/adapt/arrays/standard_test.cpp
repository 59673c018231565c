// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <complex>
#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <memory_resource>
#include <optional>
#include <queue>
#include <stack>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>

#include "array_type.hpp"

namespace {
constexpr std::size_t many = 1'000, few = 40;
auto const itself = [](auto& x, std::size_t) -> auto& { return x; };
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
auto const by_walk = [](auto& x, std::size_t k) -> auto& { return *std::next(x.begin(), std::ptrdiff_t(k)); };
auto const by_key = [](auto& x, std::size_t k) -> auto& { return x.find(int(k))->second; };
auto const in_halves = [](auto& x, std::size_t k) -> auto& {  // of complex numbers
  return reinterpret_cast<std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(x)>>, double const, double>(&)[2]>(x[k / 2])[k % 2];
};
/// Calls check_array_type with a T that is made of its size.
template <class T, unsigned Known = all>
void check_sized(auto const& at, std::size_t count) {
  check_array_type<T, Known>([count] { return T(count); }, at, count);
}
template <class T>
void check_keyed() {
  auto const make = [] {
    T x;
    for (int k = 0; k < int(few); ++k) x.emplace(k, 0);
    return x;
  };
  check_array_type<T>(make, by_key, few);
}
template <class T>
void check_adaptor() {  // which shows one end only
  using inner = typename T::container_type;
  auto const at = [](auto& x, std::size_t k) -> auto& { return cairn::detail::adapted<T>::of(x)[k]; };
  if constexpr (requires { typename T::value_compare; })
    check_array_type<T>([] { return T({}, inner(few)); }, at, few);
  else check_array_type<T>([] { return T(inner(few)); }, at, few);
}
}  // namespace

TEST_CASE("numbers", "[arrays]") {
  check_array_type<double>([] { return 0.0; }, itself, 1);
  check_array_type<float>([] { return 0.0f; }, itself, 1);
  check_array_type<long double>([] { return 0.0L; }, itself, 1);
#ifdef __FLT16_MANT_DIG__
  check_sized<std::vector<_Float16>>(by_index, few);
#endif
}
TEST_CASE("contiguous containers of the standard library", "[arrays]") {
  check_sized<std::vector<double>>(by_index, many);
  check_sized<std::pmr::vector<float>>(by_index, few);
  check_sized<std::valarray<double>>(by_index, many);
  check_array_type<std::array<double, many>>([] { return std::array<double, many>{}; }, by_index, many);
  check_array_type<std::vector<std::complex<double>>>([] { return std::vector<std::complex<double>>(few); }, in_halves,
                                                      2 * few);
}
TEST_CASE("lists, maps and adaptors", "[arrays]") {
  check_sized<std::deque<double>>(by_index, many);
  check_sized<std::list<double>>(by_walk, few);
  check_sized<std::forward_list<double>>(by_walk, few);
  check_keyed<std::map<int, double>>();
  check_keyed<std::multimap<int, double>>();
  check_keyed<std::unordered_map<int, double>>();
  check_keyed<std::unordered_multimap<int, double>>();
  check_adaptor<std::stack<double>>();
  check_adaptor<std::queue<double>>();
  check_adaptor<std::priority_queue<double>>();
}
TEST_CASE("what may hold nothing", "[arrays]") {
  using maybe = std::optional<std::vector<double>>;
  check_array_type<maybe>([] { return maybe(std::vector<double>(many)); },
                          [](auto& x, std::size_t k) -> auto& { return (*x)[k]; }, many);
  using either = std::variant<int, std::valarray<double>>;
  check_array_type<either>([] { return either(std::valarray<double>(many)); },
                           [](auto& x, std::size_t k) -> auto& { return std::get<1>(x)[k]; }, many);
}
