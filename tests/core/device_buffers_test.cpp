// SPDX-License-Identifier: Apache-2.0
// States with parts in device memory: found without any device library, distinguished from host memory, and counted.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/adapt/cuda/detail/state_copies.hpp>
#include <cairn/cairn.hpp>
#include <cairn/core/numbers.hpp>
#include "support/catch.hpp"

using cairn::buffered;
using cairn::bytes_of;
using cairn::device_buffered;
using cairn::device_pointer;
using cairn::device_view;

namespace {

/// What thrust::device_vector shows of itself: a pointer that is an object, references that are objects.
template <class T>
class fancy_pointer {
 public:
  using element_type = T;
  explicit fancy_pointer(T* raw) : raw_{raw} {}
  T* get() const { return raw_; }

 private:
  T* raw_;
};
struct fancy_reference {};
template <class T>
struct fancy_iterator {
  fancy_reference operator*() const { return {}; }
  fancy_iterator& operator++() { return *this; }
  bool operator==(fancy_iterator const&) const = default;
};
/// Its numbers lie where nothing but a test looks.
template <class T>
class fancy_vector {
 public:
  using value_type = T;
  fancy_vector() = default;
  explicit fancy_vector(std::size_t size, T value = {}) : hidden_(size, value) {}
  fancy_pointer<T> data() { return fancy_pointer<T>{hidden_.data()}; }
  fancy_pointer<T const> data() const { return fancy_pointer<T const>{hidden_.data()}; }
  std::size_t size() const { return hidden_.size(); }
  fancy_iterator<T> begin() { return {}; }
  fancy_iterator<T const> begin() const { return {}; }
  fancy_iterator<T> end() { return {}; }
  fancy_iterator<T const> end() const { return {}; }

 private:
  std::vector<T> hidden_;
};
using field = fancy_vector<double>;

/// Owns raw device memory, and shows it by cairn's own pointer.
class owner {
 public:
  using value_type = float;
  explicit owner(std::size_t size = 0) : memory_(size) {}
  device_pointer<float> data() { return {memory_.data()}; }
  device_pointer<float const> data() const { return {memory_.data()}; }
  std::size_t size() const { return memory_.size(); }

 private:
  std::vector<float> memory_;
};
/// Owns two pieces by raw pointers, says where they lie, and has a time beside them.
class solver {
 public:
  static constexpr bool in_device_memory = true;
  double time = 0.5;
  template <class F>
  void visit_buffers(F& f) {
    cairn::visit_buffers(device_view{a_.data(), a_.size()}, f);
    cairn::visit_buffers(device_view{b_.data(), b_.size()}, f);
    cairn::visit_buffers(time, f);
  }
  template <class F>
  void visit_buffers(F& f) const {
    cairn::visit_buffers(device_view{a_.data(), a_.size()}, f);
    cairn::visit_buffers(device_view{b_.data(), b_.size()}, f);
    cairn::visit_buffers(time, f);
  }
  std::size_t bytes() const { return sizeof(solver) + a_.size() * sizeof(double) + b_.size() * sizeof(int); }

 private:
  std::vector<double> a_ = std::vector<double>(3);
  std::vector<int> b_ = std::vector<int>(5);
};
/// As rmm::device_uvector: a raw pointer that only its traits distinguish from one to host memory.
struct raw_owner {
  using value_type = double;
  double* data() { return hidden.data(); }
  double const* data() const { return hidden.data(); }
  std::size_t size() const { return hidden.size(); }
  std::vector<double> hidden = std::vector<double>(6);
};
/// A class that cannot be taken apart, of some library, with traits for all of it.
class foreign {
 public:
  explicit foreign(std::size_t size = 0) : memory(size) {}
  std::vector<char> memory;
};

}  // namespace

template <>
struct cairn::state_traits<raw_owner> {
  static constexpr bool in_device_memory = true;
};
template <>
struct cairn::state_traits<foreign> {
  static constexpr bool in_device_memory = true;
  static std::size_t bytes(foreign const& x) { return sizeof(foreign) + x.memory.size(); }
  static void visit_buffers(auto& x, auto& f) { f(device_pointer<void const>{x.memory.data()}, x.memory.size()); }
};

namespace {

struct grid {
  field u{4}, v{2};
  double time = 0.25, dt = 0.125;
  std::uint64_t counter = 7;
};
struct two_grids {
  grid inner;
  std::tuple<field, std::array<float, 3>> more{field{1}, {}};
};
struct host_only {
  std::vector<double> u = std::vector<double>(3);
  double time = 0;
};

struct run {
  bool on_device;
  std::size_t bytes;
  bool operator==(run const&) const = default;
};
/// Takes both, in order.
struct look {
  std::vector<run>* all;
  void operator()(void const*, std::size_t bytes) const { all->push_back({false, bytes}); }
  void operator()(device_pointer<void const>, std::size_t bytes) const { all->push_back({true, bytes}); }
};
template <class T>
std::vector<run> runs(T const& x) {
  std::vector<run> all, again;
  cairn::visit_buffers(x, look{&all});
  T changed = x;
  cairn::visit_buffers(changed, look{&again});
  CHECK(all == again);
  return all;
}
std::vector<run> device(std::vector<std::size_t> const& sizes) {
  std::vector<run> all;
  for (auto const size : sizes) all.push_back({true, size});
  return all;
}

}  // namespace

TEST_CASE(
    "a container whose data() is a fancy pointer is one run in device memory, of any trivially copyable elements",
    "[device]") {
  struct padded {
    char a;
    double b;
  };
  CHECK(device_buffered<field>);
  CHECK(device_buffered<field const>);
  CHECK_FALSE(buffered<field>);
  CHECK(runs(field(4)) == device({32}));
  CHECK(runs(field{}) == device({0}));
  CHECK(runs(fancy_vector<padded>(3)) == device({3 * sizeof(padded)}));
  CHECK_FALSE(device_buffered<fancy_vector<std::string>>);
  CHECK_FALSE(buffered<fancy_vector<std::string>>);
}

TEST_CASE("tuples, arrays, structs, optionals and vectors of them are taken apart in order, with the host part beside",
          "[device]") {
  CHECK(runs(std::tuple<field, field>{field(1), field(2)}) == device({8, 16}));
  CHECK(runs(std::array<field, 2>{field(1), field(3)}) == device({8, 24}));
  CHECK(runs(std::vector<field>{field(1), field(3)}) == device({8, 24}));
  CHECK(runs(std::optional<field>{field(2)}) == device({16}));
  CHECK(runs(grid{}) == std::vector<run>{{true, 32}, {true, 16}, {false, 8}, {false, 8}, {false, 8}});
  CHECK(runs(two_grids{}) ==
        std::vector<run>{{true, 32}, {true, 16}, {false, 8}, {false, 8}, {false, 8}, {true, 8}, {false, 12}});
  CHECK(device_buffered<two_grids>);
  CHECK_FALSE(buffered<two_grids>);
  CHECK_FALSE(device_buffered<std::tuple<field, std::variant<int, double>>>);
}

TEST_CASE("states in host memory stay what they were", "[device]") {
  CHECK(buffered<host_only>);
  CHECK_FALSE(device_buffered<host_only>);
  CHECK(buffered<std::tuple<int, double>>);
  CHECK_FALSE(device_buffered<std::tuple<int, double>>);
  CHECK(runs(host_only{}) == std::vector<run>{{false, 24}, {false, 8}});
  std::vector<std::size_t> sizes;
  host_only const x;
  cairn::visit_buffers(x.u, [&](auto*, std::size_t size) { sizes.push_back(size); });
  CHECK(sizes == std::vector<std::size_t>{24});
}

TEST_CASE("owners of raw device memory are found by their data(), their members, or their traits", "[device]") {
  CHECK(device_buffered<owner>);
  CHECK(runs(owner(3)) == device({12}));
  CHECK(device_buffered<solver>);
  CHECK(runs(solver{}) == std::vector<run>{{true, 24}, {true, 20}, {false, 8}});
  CHECK(device_buffered<raw_owner>);
  CHECK_FALSE(buffered<raw_owner>);
  CHECK(runs(raw_owner{}) == device({48}));
  CHECK(device_buffered<foreign>);
  CHECK(runs(foreign(9)) == device({9}));
  struct all {
    owner a{2};
    solver b;
    foreign c{3};
  };
  CHECK(runs(all{}) == std::vector<run>{{true, 8}, {true, 24}, {true, 20}, {false, 8}, {true, 3}});
}

TEST_CASE("the runs are the memory itself, to be written for a state that is not const", "[device]") {
  field from(3, 1.5), into(3);
  void const* source = nullptr;
  cairn::visit_buffers(std::as_const(from), [&](device_pointer<void const> p, std::size_t) { source = p.get(); });
  CHECK(source == from.data().get());
  cairn::visit_buffers(into, [&](device_pointer<void> p, std::size_t bytes) { std::memcpy(p.get(), source, bytes); });
  CHECK(into.data().get()[2] == 1.5);
}

TEST_CASE("bytes_of counts device memory", "[device]") {
  CHECK(bytes_of(field(4)) == sizeof(field) + 32);
  CHECK(bytes_of(grid{}) == sizeof(grid) + 48);
  CHECK(bytes_of(two_grids{}) == sizeof(two_grids) + 56);
  CHECK(bytes_of(std::vector<field>{field(1), field(3)}) == sizeof(std::vector<field>) + 2 * sizeof(field) + 32);
  CHECK(bytes_of(owner(3)) == sizeof(owner) + 12);
  CHECK(bytes_of(raw_owner{}) == sizeof(raw_owner) + 48);
  CHECK(bytes_of(foreign(9)) == sizeof(foreign) + 9);
  float memory[4] = {};
  device_view const view{&memory[0], 4};
  CHECK(bytes_of(view) == sizeof(view));  // what it shows is somebody else's
}

TEST_CASE("owners are states, pointers and views are not", "[device]") {
  CHECK(cairn::copied_state<field>);
  CHECK(cairn::copied_state<grid>);
  CHECK(cairn::copied_state<owner>);
  CHECK(cairn::copied_state<solver>);
  CHECK_FALSE(cairn::state<device_pointer<double>>);
  CHECK_FALSE(cairn::state<device_view<double>>);
  CHECK_FALSE(cairn::state<std::tuple<device_view<double>, double>>);
  CHECK_FALSE(cairn::state<fancy_pointer<double>>);
  CHECK(std::is_convertible_v<device_pointer<double>, device_pointer<double const>>);
  CHECK_FALSE(std::is_convertible_v<device_pointer<double const>, device_pointer<double>>);
  CHECK_FALSE(std::is_convertible_v<device_pointer<double>, double const*>);
}

TEST_CASE("numbers in device memory are not varied", "[device]") {
  CHECK_FALSE(cairn::numbered<field>);
  CHECK_FALSE(cairn::numbered<grid>);
  CHECK_FALSE(cairn::numbered<raw_owner>);
  CHECK_FALSE(cairn::numbered<owner>);
  CHECK(cairn::numbered<host_only>);
}

TEST_CASE("an observer of a sweep over device memory learns that there are no bytes to be read", "[device]") {
  auto const step = [](grid& x, cairn::step_index i) { x.time += double(i); };
  auto const adjoint = [](grid const& x, double& bar, cairn::step_index) { bar += x.time; };
  int looks = 0, seen = 0;
  std::size_t held = 0;
  double const bar = cairn::gradient(step, grid{}, cairn::revolve{9, 3}, 0.0, adjoint, [&](cairn::event const& e) {
    ++looks;
    if (e.each_buffer([](void const*, std::size_t) {})) ++seen;
    if (e.bytes_held() > held) held = e.bytes_held();
  });
  double expected = 0, time = 0.25;
  for (int i = 0; i < 9; ++i) {
    expected += time;
    time += i;
  }
  CHECK(bar == expected);
  CHECK(looks > 0);
  CHECK(seen == 0);
  CHECK(held % bytes_of(grid{}) == 0);
  CHECK(held >= 3 * bytes_of(grid{}));
}

TEST_CASE("a state of another structure than the first frame's is refused, where its runs are the same", "[device]") {
  using texts = std::vector<std::string>;
  auto const alike = [](auto const& first, auto other) {
    int runs = 0;
    cairn::detail::state_layout const layout{first};
    layout.each(other, [&](void*, auto const&) { ++runs; });
    return runs;
  };
  CHECK(alike(std::vector<texts>{{"a"}, {}}, std::vector<texts>{{"b"}, {}}) == 1);
  CHECK_THROWS_AS(alike(std::vector<texts>{{"a"}, {}}, std::vector<texts>{{}, {"b"}}), cairn::invalid_call);
  CHECK_THROWS_AS(alike(std::vector<texts>{{"a"}, {}}, std::vector<texts>{{"b"}}), cairn::invalid_call);
  CHECK_THROWS_AS(alike(texts{"a", "a"}, texts{"a"}), cairn::invalid_call);
  CHECK_THROWS_AS(alike(std::vector<bool>(3), std::vector<bool>(4)), cairn::invalid_call);
}
