// SPDX-License-Identifier: Apache-2.0
// A ring of states is a state: what cairn asks of a value, it answers as its elements do, newest first.
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/ring.hpp>
#include <cairn/core/state_traits.hpp>
#include "support/catch.hpp"

using cairn::ring;
namespace {

using numbers = std::vector<double>;

/// Shared where it is copied by its constructor.
struct shared {
  std::shared_ptr<double> value = std::make_shared<double>(0);
};
/// Can neither be copied nor moved.
struct solver {
  explicit solver(double start) : u{start} {}
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] double save() const { return u; }
  void restore(double kept) { u = kept; }
  double u;
};
/// Owns memory, is moved only, and is copied by traits.
struct owned {
  std::unique_ptr<double> value = std::make_unique<double>(0);
};
struct with_history {
  numbers now;
  ring<numbers, 3> rates;
};

}  // namespace
template <>
struct cairn::state_traits<shared> {
  static void copy(shared const& from, shared& into) { into.value = std::make_shared<double>(*from.value); }
  static std::size_t bytes(shared const&) { return sizeof(shared) + sizeof(double); }
};
template <>
struct cairn::state_traits<owned> {
  static void copy(owned const& from, owned& into) { *into.value = *from.value; }
  static std::size_t bytes(owned const&) { return sizeof(owned) + sizeof(double); }
};
namespace {

static_assert(cairn::copied_state<ring<double, 1>> && cairn::copied_state<ring<numbers, 5>>);
static_assert(cairn::copied_state<ring<shared, 2>> && cairn::copied_state<ring<owned, 2>>);
static_assert(cairn::copied_state<with_history> && cairn::copied_state<std::vector<ring<shared, 2>>>);
static_assert(cairn::saved_state<ring<solver, 2>> && !cairn::copied_state<ring<solver, 2>>);
static_assert(!cairn::state<ring<double*, 2>> && !cairn::state<ring<std::shared_ptr<double>, 2>>);
static_assert(std::is_trivially_copyable_v<ring<double, 3>> &&
              sizeof(ring<double, 3>) == 3 * sizeof(double) + sizeof(std::size_t));
static_assert(std::forward_iterator<decltype(std::declval<ring<double, 2>&>().begin())>);
static_assert(std::forward_iterator<decltype(std::declval<ring<double, 2> const&>().begin())>);
static_assert(!std::is_default_constructible_v<ring<solver, 2>> && std::is_default_constructible_v<ring<double, 2>>);
static_assert([] {
  ring<int, 3> x;
  for (int k = 1; k <= 5; ++k) x.push(k);
  ring<int, 3> same{5, 4, 3};
  return x == same && x.rotate_back() == 5 && x[0] == 4 && x[1] == 3;
}());

template <std::size_t Count>
void pushes() {
  ring<int, Count> x;
  std::vector<int> all(Count, 0);  // oldest first
  for (int k = 1; k < 20; ++k) {
    x.push(k);
    all.push_back(k);
    for (std::size_t age = 0; age < Count; ++age) CHECK(x[age] == all[all.size() - 1 - age]);
  }
  CHECK(std::vector<int>(x.begin(), x.end()) == std::vector<int>(all.rbegin(), all.rbegin() + Count));
}

template <class Ring>
std::vector<double> numbers_in(Ring& x) {
  std::vector<double> all;
  cairn::visit_numbers(x, [&](double const* p, std::size_t count) { all.insert(all.end(), p, p + count); });
  return all;
}

}  // namespace

TEST_CASE("a ring holds the last states that were pushed, the newest first") {
  pushes<1>();
  pushes<2>();
  pushes<3>();
  pushes<7>();
}

TEST_CASE(
    "rotating moves an index, keeps every element where it lies with its memory, and is taken back by rotate_back") {
  ring<numbers, 3> x{numbers{1, 1}, numbers{2}, numbers{3, 3, 3}};
  std::array<numbers const*, 3> const places{&x[0], &x[1], &x[2]};
  std::array<double const*, 3> const memory{x[0].data(), x[1].data(), x[2].data()};
  auto const before = x;
  numbers& newest = x.rotate();
  CHECK(&newest == places[2]);
  CHECK(newest == numbers{3, 3, 3});  // the oldest one, to be written over
  CHECK((&x[0] == places[2] && &x[1] == places[0] && &x[2] == places[1]));
  CHECK((x[0].data() == memory[2] && x[1].data() == memory[0] && x[2].data() == memory[1]));
  CHECK(x != before);
  numbers& oldest = x.rotate_back();
  CHECK(&oldest == places[2]);
  CHECK(x == before);
  for (int k = 0; k < 3; ++k) (void)x.rotate();
  CHECK(x == before);
}

TEST_CASE("push writes a copy into the memory of the oldest, moves an rvalue, and may be passed an element") {
  ring<numbers, 2> x{numbers{1, 2}, numbers{3, 4}};
  double const* const memory = x[1].data();
  numbers const next{5, 6};
  x.push(next);
  CHECK(x[0].data() == memory);
  CHECK((x[0] == numbers{5, 6} && x[1] == numbers{1, 2}));
  numbers given{7, 8};
  double const* const theirs = given.data();
  x.push(std::move(given));
  CHECK(x[0].data() == theirs);
  x.push(x[1]);
  CHECK((x[0] == numbers{5, 6} && x[1] == numbers{7, 8}));
  x.push(x[0]);
  CHECK((x[0] == numbers{5, 6} && x[1] == numbers{5, 6}));
}

TEST_CASE(
    "rings of the same states are equal, and have the same numbers, bytes and hash, however far each was rotated") {
  ring<numbers, 3> a{numbers{1}, numbers{2, 2}, numbers{3}}, b;
  for (auto const& x : {numbers{9}, numbers{3}, numbers{2, 2}, numbers{1}}) b.push(x);
  CHECK(a == b);
  CHECK(numbers_in(a) == numbers{1, 2, 2, 3});
  CHECK(numbers_in(std::as_const(b)) == numbers{1, 2, 2, 3});
  CHECK(cairn::detail::hash_of(a) == cairn::detail::hash_of(b));
  b[1][1] = 4;
  CHECK(a != b);
  CHECK(cairn::detail::hash_of(a) != cairn::detail::hash_of(b));

  ring<numbers, 3> c{numbers{0}, numbers{0, 0},
                     numbers{0}};  // what a store on disk does, into a ring of another rotation
  std::vector<double> bytes;
  cairn::visit_buffers(std::as_const(b), [&](void const* p, std::size_t size) {
    bytes.insert(bytes.end(), static_cast<double const*>(p), static_cast<double const*>(p) + size / sizeof(double));
  });
  cairn::visit_buffers(c, [at = bytes.data()](void* p, std::size_t size) mutable {
    std::copy(at, at + size / sizeof(double), static_cast<double*>(p));
    at += size / sizeof(double);
  });
  CHECK(c == b);
}

TEST_CASE("the bytes of a ring are those of its elements, and an index") {
  CHECK(cairn::bytes_of(ring<double, 4>{}) == 4 * 8 + sizeof(std::size_t));
  ring<numbers, 2> const x{numbers(3), numbers(100)};
  CHECK(cairn::bytes_of(x) == sizeof x + 103 * sizeof(double));
  CHECK(cairn::bytes_of(ring<shared, 2>{}) == sizeof(ring<shared, 2>) + 2 * sizeof(double));
  CHECK(cairn::bytes_of(std::vector<ring<numbers, 2>>{x, x}) == sizeof(std::vector<double>) + 2 * cairn::bytes_of(x));
  CHECK(cairn::bytes_of(with_history{numbers(2), {}}) == sizeof(with_history) + 2 * sizeof(double));
  using huge = std::array<double, 1'000'000>;
  auto const large = std::make_unique<ring<huge, 2>>();
  CHECK(cairn::bytes_of(*large) == 2 * sizeof(huge) + sizeof(std::size_t));
}

TEST_CASE("a ring of states that traits copy is copied deeply, also as a part of a state") {
  ring<shared, 2> from, into;
  *from[0].value = 1, *from[1].value = 2;
  (void)into.rotate();
  cairn::copy_state(from, into);
  *from[0].value = 7;
  CHECK((*into[0].value == 1 && *into[1].value == 2));

  std::vector<ring<shared, 2>> many(1), copies;
  *many[0][1].value = 3;
  cairn::copy_state(many, copies);
  *many[0][1].value = 4;
  CHECK(*copies[0][1].value == 3);

  ring<owned, 2> source, target;
  *source[0].value = 5;
  cairn::copy_state(source, target);
  *source[0].value = 6;
  CHECK(*target[0].value == 5);
  source.push(target[0]);
  CHECK((*source[0].value == 5 && *source[1].value == 6));
}

TEST_CASE("a ring of objects that cannot be moved is made in place, and saves a snapshot of each") {
  auto x = ring<solver, 3>::made_by([](std::size_t age) { return solver{double(age)}; });
  auto const kept = cairn::save_state(x);
  x.rotate().u = 10;
  CHECK((x[0].u == 10 && x[1].u == 0 && x[2].u == 1));
  cairn::restore_state(x, kept);
  CHECK((x[0].u == 0 && x[1].u == 1 && x[2].u == 2));
}
