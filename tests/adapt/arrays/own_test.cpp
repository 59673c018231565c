// SPDX-License-Identifier: Apache-2.0
// Aggregates, nested containers and classes of one's own.
#include <array>
#include <bitset>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <cairn/core/ring.hpp>

#include "array_type.hpp"

namespace {
constexpr std::size_t few = 40;
/// Half of the numbers in one container, half in the other.
auto const in_two = [](auto& first, auto& second, std::size_t k) -> auto& { return k < few / 2 ? first[k] : second[k - few / 2]; };
using half = std::vector<double>;

struct layer {  // an aggregate of an aggregate, with what is not differentiated
  std::string name = "layer";
  std::pair<half, std::array<double, few / 2>> weights{half(few / 2), {}};
  std::bitset<70> mask = 5;
  std::wstring unit = L"a unit of more than a few letters";
  double in_c[3] = {1, 2, 3};
  long steps = 0;
};
struct drawn {  // generators and distributions come back as they were, but not from bytes
  half x = half(few);
  std::mt19937 generator{5};
  std::normal_distribution<double> noise;
};
struct named : half {
  using half::half;
};
struct found {
  std::filesystem::path from = "a/b";
  half x = half(few);
};
struct with_base : layer {  // whose members cannot be named
  half more = half(few);
};
struct and_more : half {  // a container with something beside its elements
  double t = 0;
};
/// Private members, and all that a class can say of itself.
class told {
 public:
  told() = default;
  explicit told(std::size_t size) : held_(size) {}
  double& operator[](std::size_t k) { return held_[k]; }
  double const& operator[](std::size_t k) const { return held_[k]; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(told) + held_.capacity() * sizeof(double); }
  template <class F> void visit_buffers(F& f) { f(static_cast<void*>(held_.data()), held_.size() * sizeof(double)); }
  template <class F> void visit_buffers(F& f) const {
    f(static_cast<void const*>(held_.data()), held_.size() * sizeof(double));
  }
  template <class F> void visit_numbers(F& f) { f(held_.data(), held_.size()); }
  template <class F> void visit_numbers(F& f) const { f(held_.data(), held_.size()); }

 private:
  half held_;
};
/// Owns its memory by hand, and is declared in one line.
class by_hand {
 public:
  by_hand() = default;
  explicit by_hand(std::size_t size) : held_{std::make_unique<double[]>(size)}, size_{size} {}
  by_hand(by_hand const& other) : by_hand(other.size_) { *this = other; }
  by_hand& operator=(by_hand const& other) {
    if (size_ != other.size_) held_ = std::make_unique<double[]>(size_ = other.size_);
    for (std::size_t k = 0; k < size_; ++k) held_[k] = other.held_[k];
    return *this;
  }
  double* data() { return held_.get(); }
  double const* data() const { return held_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<double[]> held_;
  std::size_t size_ = 0;
};
/// The same, which may change its size.
struct by_hand_resized : by_hand {
  using by_hand::by_hand;
};
auto const by_index = [](auto& x, std::size_t k) -> auto& { return x[k]; };
auto const by_data = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
template <class T>
T made() { return T(); }
}  // namespace
template <>
struct cairn::state_traits<by_hand> : cairn::flat<by_hand> {};
template <>
struct cairn::state_traits<by_hand_resized> : cairn::flat<by_hand_resized> {
  static void resize(by_hand_resized& x, std::size_t count) { x = by_hand_resized(count); }
};

TEST_CASE("aggregates and tuples of containers", "[arrays]") {
  check_array_type<layer>(made<layer>, [](auto& x, std::size_t k) -> auto& {
    return in_two(x.weights.first, x.weights.second, k);
  }, few);
  using nested = std::vector<std::tuple<half, std::deque<double>>>;
  check_array_type<nested>([] { return nested(2, {half(10), std::deque<double>(10)}); },
                           [](auto& x, std::size_t k) -> auto& {
                             auto& [first, second] = x[k / 20];
                             return k % 20 < 10 ? first[k % 10] : second[k % 10];
                           }, few);
  using keyed = std::map<std::string, std::optional<std::variant<int, std::list<std::vector<float>>>>>;
  check_array_type<keyed>([] { return keyed{{"a", std::nullopt}, {"b", std::list<std::vector<float>>(2, std::vector<float>(few / 2))}}; },
                          [](auto& x, std::size_t k) -> auto& {
                            auto& list = std::get<1>(*x.find("b")->second);
                            return in_two(list.front(), list.back(), k);
                          }, few);
  using turned = cairn::ring<half, 2>;
  auto const rotated = [] {
    turned x;
    x[0] = x[1] = half(few / 2);
    x.rotate();
    return x;
  };
  check_array_type<turned>(rotated, [](auto& x, std::size_t k) -> auto& { return in_two(x[0], x[1], k); }, few);
}
TEST_CASE("classes that say what they are made of", "[arrays]") {
  check_array_type<told, all & ~shape>([] { return told(few); }, by_index, few);
  check_array_type<by_hand, all & ~shape>([] { return by_hand(few); }, by_data, few);
  check_array_type<by_hand_resized>([] { return by_hand_resized(few); }, by_data, few);
  check_array_type<named>([] { return named(few); }, by_index, few);
}
TEST_CASE("what is known in part, or not at all", "[arrays]") {
  auto const in_x = [](auto& x, std::size_t k) -> auto& { return x.x[k]; };
  check_array_type<drawn, numbers | bytes | hash>(made<drawn>, in_x, few);
  check_array_type<found, numbers | hash | written | shape>(made<found>, in_x, few);
  check_array_type<with_base, 0>(made<with_base>, [](auto& x, std::size_t k) -> auto& { return x.more[k]; }, few);
  check_array_type<and_more, 0>([] { return and_more{half(few)}; }, by_index, few);
}
