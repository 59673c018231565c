// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <boost/array.hpp>
#include <boost/circular_buffer.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/container/vector.hpp>
#include <boost/dynamic_bitset.hpp>
#include <boost/multi_array.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <boost/optional.hpp>
#include <boost/unordered_map.hpp>

#include <cairn/run/check/check_model.hpp>

#include "array_type.hpp"

namespace {
constexpr std::size_t many = 1'000, few = 40;
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
auto const by_data = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
auto const by_walk = [](auto& x, std::size_t k) -> auto& { return *std::next(x.begin(), std::ptrdiff_t(k)); };
namespace bc = boost::container;
namespace mp = boost::multiprecision;
using small = bc::small_vector<double, 8>;
using fixed = bc::static_vector<double, 1'024>;
using cube = boost::multi_array<double, 3>;
template <class T, unsigned Known = all>
void check_sized(auto const& at, std::size_t count) {
  check_array_type<T, Known>([count] { return T(count); }, at, count);
}
template <class T, unsigned Known>
void check_keyed() {
  auto const make = [] {
    T x;
    for (int k = 0; k < int(few); ++k) x.emplace(k, 0);
    return x;
  };
  check_array_type<T, Known>(make, [](auto& x, std::size_t k) -> auto& { return x.find(int(k))->second; }, few);
}
}  // namespace
template <>
struct cairn::state_traits<small> : cairn::flat<small> {};
template <>
struct cairn::state_traits<fixed> : cairn::flat<fixed> {};
template <>
struct cairn::state_traits<cube> : cairn::flat<cube> {
  static void copy(cube const& from, cube& into) {  // its = takes no other shape
    auto const shape = [&](std::size_t k) { return std::ptrdiff_t(from.shape()[k]); };
    into.resize(boost::extents[shape(0)][shape(1)][shape(2)]);
    into = from;
  }
};
/// Numbers of a fixed precision, whose digits lie in the object; as text because unused digits may hold anything.
template <class Digits, mp::expression_template_option Option>
struct cairn::state_traits<mp::number<Digits, Option>> {
  using number = mp::number<Digits, Option>;
  static std::size_t bytes(number const& x) { return sizeof(x); }
  static void visit_numbers(auto& x, auto& f) { f(&x, std::size_t{1}); }
  static void write(number const& x, auto& sink) { cairn::write_state(x.str(0, std::ios_base::scientific), sink); }
  static void read(number& x, auto& source) {
    std::string digits;
    cairn::read_state(digits, source);
    x.assign(digits);
  }
};

TEST_CASE("array types of Boost", "[arrays]") {
  check_array_type<boost::array<double, many>>([] { return boost::array<double, many>{}; }, by_index, many);
  check_sized<bc::vector<double>>(by_index, many);
  check_sized<small, all & ~shape>(by_index, many);
  check_sized<fixed, all & ~shape>(by_index, many);
  check_array_type<cube, all & ~shape>([] { return cube{boost::extents[10][10][10]}; }, by_data, many);
  using maybe = boost::optional<std::vector<double>>;
  check_array_type<maybe>([] { return maybe(std::vector<double>(few)); },
                          [](auto& x, std::size_t k) -> auto& { return (*x)[k]; }, few);
  using masked = std::pair<boost::dynamic_bitset<>, std::vector<double>>;
  check_array_type<masked>([] { return masked(boost::dynamic_bitset<>(70, 5), few); },
                           [](auto& x, std::size_t k) -> auto& { return x.second[k]; }, few);
}
TEST_CASE("lists and maps of Boost, whose bytes are not known", "[arrays]") {
  check_sized<bc::list<double>, all & ~bytes>(by_walk, few);
  check_sized<bc::stable_vector<double>, all & ~bytes>(by_index, few);
  check_keyed<boost::unordered_map<int, double>, all & ~bytes>();
  check_keyed<bc::flat_map<int, double>, numbers | hash>();
  check_keyed<bc::flat_map<double, double>, numbers | hash>();  // keys are no variables
  using history = boost::circular_buffer<double>;  // which forgets what is beyond its capacity, so that this counts, too
  check_array_type<history, numbers | hash>([] { return history(few, 0.0); }, by_index, few);
}
TEST_CASE("numbers of many digits are variables", "[arrays]") {
  check_sized<std::vector<mp::cpp_bin_float_50>>(by_index, few);
  check_sized<std::vector<mp::number<mp::cpp_dec_float<50>, mp::et_off>>>(by_index, few);
  using real = mp::cpp_dec_float_100;
  check_array_type<real>([] { return real(0); }, [](auto& x, std::size_t) -> auto& { return x; }, 1);
}
TEST_CASE("checks tell right and wrong adjoints of numbers of many digits apart", "[arrays]") {
  using real = mp::cpp_bin_float_50;
  auto const step = [](real& x) { x = sin(x) / 3 + x; };
  auto const adjoint = [](real const& x, real& bar) { bar *= cos(x) / 3 + 1; };
  auto const wrong = [](real const& x, real& bar) { bar *= cos(x) / 3; };
  auto const objective = cairn::at_end([](real const& x) { return double(x); }, [](real const&, real& bar) { bar += 1; });
  CHECK(cairn::check(cairn::model{step, adjoint}, real(0.3), 20, objective).passed());
  CHECK_FALSE(cairn::check(cairn::model{step, wrong}, real(0.3), 20, objective).passed());
}
TEST_CASE("views of Boost's arrays are no states", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<boost::multi_array_ref<double, 2>>);
  CHECK_FALSE(cairn::copied_state<boost::const_multi_array_ref<double, 2>>);
  CHECK_FALSE(cairn::copied_state<boost::multi_array<double, 2>>);  // until its traits say how to copy
  CHECK(cairn::copied_state<cube>);
}
