// SPDX-License-Identifier: Apache-2.0
// What is a state, how it is copied, and how many bytes it holds.
#include <any>
#include <any>
#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <deque>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/core/state_traits.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

using vec = std::vector<double>;
using cairn::bytes_of;
using cairn::copied_state;
using cairn::copy_state;
using cairn::saved_state;
using cairn::detail::copy_fault;
using cairn::detail::copy_fault_of;

struct empty {};
struct field {
  vec x;
  double t = 0;
  double corner[2][2] = {};
};
struct nested_field {
  field inner;
  std::array<vec, 2> pair;
  std::optional<vec> maybe;
  std::vector<bool> mask;
};
struct derived : empty {
  vec x;
};
struct tree {
  std::vector<tree> children;
  double value = 0;
};
struct no_default {
  explicit no_default(vec given) : x{std::move(given)} {}
  vec x;
};
struct holds_no_default {
  double t;
  no_default inner;
  double after[3];
};
struct with_pointer {
  vec x;
  double* p = nullptr;
};
struct deep_inside {
  std::map<int, std::vector<std::optional<with_pointer>>> all;
};
struct reference_inside {
  double& x;
};
/// Shows its content through const, but only to be read: a value with an accessor.
class accessor {
 public:
  double const& get() const { return x_; }

 private:
  double x_ = 0;
};
/// Refers to data with a copy constructor of its own: taken at its word.
class own_copy {
 public:
  own_copy() : p_{new double{}} {}
  own_copy(own_copy const& other) : p_{new double{*other.p_}} {}
  own_copy& operator=(own_copy const& other) {
    *p_ = *other.p_;
    return *this;
  }
  ~own_copy() { delete p_; }

 private:
  double* p_;
};
/// A counted handle that is const as far as one can see.
struct counted {
  std::shared_ptr<double> inner;
  long use_count() const { return inner.use_count(); }
};
/// Aggregates with base classes, whose members have no names.
struct base_with_handle {
  std::shared_ptr<double> p;
};
struct handle_comes_late {
  double t;
  vec v;
  std::shared_ptr<double> p;
};
struct good_base {
  double t = 0;
  vec v;
};
struct from_handle : base_with_handle {};
struct from_late : handle_comes_late {
  double x[3];
};
struct from_good : good_base {
  double x[100];
};
struct good_and_pointer : good_base {
  double x;
  int* p;
};
struct good_and_pointers : good_base {
  int* p[3];
};
struct from_vector : vec {
  double* p;
};
struct from_vector_of_values : vec {
  double t = 0;
  std::deque<double> q;
  std::map<int, double> m;
  std::function<void()> f;
  std::any a;
};
struct from_two : good_base, handle_comes_late {
  int k;
};
struct from_from_good : from_good {
  double u;
};
struct from_from_two : from_two {
  double u;
};
struct holds_from_handle : good_base {
  from_handle d;
};
struct tree_from_good : good_base {
  std::vector<tree_from_good> children;
};
struct tree_with_pointer : good_base {
  std::vector<tree_with_pointer> children;
  double* p;
};
struct from_good_no_default : good_base {
  no_default a;
  double z[2];
};
struct no_default_and_pointer : good_base {
  no_default a;
  double z[2];
  double* p;
};
union pointer_or_number {
  double* p;
  double x;
};
struct holds_union {
  double t;
  pointer_or_number u;
};
union with_own_copy {
  vec v;
  with_own_copy() : v{} {}
  with_own_copy(with_own_copy const& other) : v{other.v} {}
  with_own_copy& operator=(with_own_copy const& other) {
    v = other.v;
    return *this;
  }
  ~with_own_copy() { v.~vec(); }
};
struct many_members {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;
};
struct as_many_as_can_be {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w;
  double const* x;
};
struct solver {
  vec x;
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  vec save() const { return x; }
  void restore(vec const& kept) { x = kept; }
};
template <class Snapshot>
struct saves {  // as `solver`, with any snapshot
  saves() = default;
  saves(saves const&) = delete;
  Snapshot save() const { return {}; }
  void restore(Snapshot const&) {}
};
struct expression_of_data {  // as one of Eigen
  using PlainObject = vec;
};
struct foreign_solver {  // as `solver`, without the members
  double x = 1;
  foreign_solver() = default;
  foreign_solver(foreign_solver const&) = delete;
};

int handles_alive = 0;
/// Copies shallowly; its traits know better.
struct handle {
  double* p = nullptr;
};
struct from_good_with_handle : good_base {
  handle h;
};
struct from_vector_of_handles : std::vector<handle> {
  double u;
};
struct handles {
  handle one;
  vec plain;
  std::array<handle, 2> pair;
  handle raw[2];
  std::optional<handle> maybe;
  std::vector<handle> many;
  std::tuple<handle, int> tuple;
};
/// Handles own nothing; what they point to lives here.
double* stored(double value) {
  static std::deque<double> all;
  return &all.emplace_back(value);
}
handle made(double value) {
  ++handles_alive;
  return {stored(value)};
}

}  // namespace

template <> struct cairn::state_traits<handle> {
  static void copy(handle const& from, handle& into) {
    if (into.p == nullptr) into = made(0);
    *into.p = *from.p;
  }
  static std::size_t bytes(handle const&) { return sizeof(handle) + sizeof(double); }
};
template <> struct cairn::state_traits<foreign_solver> {
  static double save(foreign_solver const& x) { return x.x; }
  static void restore(foreign_solver& x, double kept) { x.x = kept; }
};
template <> struct cairn::state_traits<std::shared_ptr<long>> {
  static long save(std::shared_ptr<long> const& x) { return *x; }
  static void restore(std::shared_ptr<long>& x, long kept) { *x = kept; }
};

TEST_CASE("types that own what they hold are states", "[state]") {
  CHECK(copied_state<double>);
  CHECK(copied_state<vec>);
  CHECK(copied_state<std::vector<bool>>);
  CHECK(copied_state<std::vector<vec>>);
  CHECK(copied_state<std::array<vec, 3>>);
  CHECK(copied_state<std::pair<vec, float>>);
  CHECK(copied_state<std::tuple<vec, int>>);
  CHECK(copied_state<std::tuple<>>);
  CHECK(copied_state<std::optional<vec>>);
  CHECK(copied_state<std::variant<int, vec>>);
  CHECK(copied_state<std::string>);
  CHECK(copied_state<std::map<int, vec>>);
  CHECK(copied_state<std::set<int>>);
  CHECK(copied_state<std::list<vec>>);
  CHECK(copied_state<std::deque<int>>);
  CHECK(copied_state<std::complex<double>>);
  CHECK(copied_state<std::mt19937>);
  CHECK(copied_state<std::bitset<3>>);
  CHECK(copied_state<std::chrono::seconds>);
  CHECK(copied_state<std::any>);
  CHECK(copied_state<std::function<void()>>);
  CHECK(copied_state<void (*)(int)>);
  CHECK(copied_state<empty>);
  CHECK(copied_state<field>);
  CHECK(copied_state<nested_field>);
  CHECK(copied_state<derived>);
  CHECK(copied_state<tree>);
  CHECK(copied_state<holds_no_default>);
  CHECK(copied_state<accessor>);
  CHECK(copied_state<own_copy>);
}

TEST_CASE("types whose copies share are no states", "[state]") {
  CHECK(copy_fault_of<double*>() == copy_fault::handle);
  CHECK(copy_fault_of<double const*>() == copy_fault::handle);
  CHECK(copy_fault_of<std::shared_ptr<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::shared_ptr<double const>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::weak_ptr<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::unique_ptr<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::reference_wrapper<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::reference_wrapper<double const>>() ==
        copy_fault::none);  // a value that is only read, as far as one can see
  CHECK(copy_fault_of<std::span<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::span<double const>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::string_view>() == copy_fault::handle);
  CHECK(copy_fault_of<std::initializer_list<double>>() == copy_fault::handle);
  CHECK(copy_fault_of<vec::iterator>() == copy_fault::handle);
  CHECK(copy_fault_of<vec::const_iterator>() == copy_fault::handle);
  CHECK(copy_fault_of<std::tuple<double, double&>>() == copy_fault::handle);
  CHECK(copy_fault_of<counted>() == copy_fault::handle);
  CHECK(copy_fault_of<expression_of_data>() == copy_fault::expression);
  CHECK_FALSE(cairn::detail::standalone<expression_of_data>);
  CHECK_FALSE(cairn::detail::standalone<std::span<double const>>);
  CHECK(copy_fault_of<many_members>() == copy_fault::too_many_members);
}

namespace {

struct no_empty {
  explicit no_empty(int) {}
};
struct with_bit_field {
  vec u;
  bool wet : 1;
};
struct with_full_bit_field {  // as wide as its type
  double x;
  unsigned level : 32;
};
struct with_anonymous_union {
  vec u;
  union {
    int k;
    double x;
  };
};
struct with_union_behind_no_empty {
  no_empty first;
  union {
    int k;
    double x;
  };
  double last;
};
struct with_named_union {
  union {
    double x;
    double* p;
  } either;
};
struct [[gnu::packed]] with_packed_member {
  char kind;
  double x;
};
struct [[gnu::packed]] packed_without_need {
  char kind;
  char more;
};
struct large {
  double numbers[10'000'000];
};
struct takes_anything {
  std::any a;
  std::function<void()> f;
  double last;
};

}  // namespace

TEST_CASE("an aggregate with members that no reference reaches cannot be looked into", "[state]") {
  CHECK(copy_fault_of<with_bit_field>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<with_full_bit_field>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<with_anonymous_union>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<with_union_behind_no_empty>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<with_named_union>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<with_packed_member>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<std::vector<std::pair<int, with_bit_field>>>() == copy_fault::hidden_members);
  CHECK_FALSE(cairn::state<with_bit_field>);
  CHECK(copy_fault_of<packed_without_need>() == copy_fault::none);
  CHECK(copy_fault_of<large>() == copy_fault::none);
  CHECK(copy_fault_of<takes_anything>() == copy_fault::none);
  CHECK(copy_fault_of<tree>() == copy_fault::none);
}

TEST_CASE("a state must own its parts, too", "[state]") {
  CHECK(copy_fault_of<with_pointer>() == copy_fault::handle);
  CHECK(copy_fault_of<deep_inside>() == copy_fault::handle);
  CHECK(copy_fault_of<std::vector<double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::array<std::span<int>, 2>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::tuple<vec, double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::optional<double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::variant<int, double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::map<int, double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<as_many_as_can_be>() == copy_fault::handle);
  CHECK(copy_fault_of<std::vector<many_members>>() == copy_fault::too_many_members);
  CHECK_FALSE(cairn::state<reference_inside>);
  CHECK_FALSE(cairn::state<std::unique_ptr<double>>);
  CHECK_FALSE(cairn::state<std::tuple<vec, std::unique_ptr<double>>>);
}

TEST_CASE("base classes, unions and container adaptors are looked into, or refused") {
  CHECK(copy_fault_of<from_handle>() == copy_fault::handle);
  CHECK(copy_fault_of<from_late>() == copy_fault::handle);
  CHECK(copy_fault_of<good_and_pointer>() == copy_fault::handle);
  CHECK(copy_fault_of<good_and_pointers>() == copy_fault::handle);
  CHECK(copy_fault_of<from_vector>() == copy_fault::handle);
  CHECK(copy_fault_of<from_two>() == copy_fault::handle);
  CHECK(copy_fault_of<from_from_two>() == copy_fault::handle);
  CHECK(copy_fault_of<holds_from_handle>() == copy_fault::handle);
  CHECK(copy_fault_of<std::vector<from_handle>>() == copy_fault::handle);
  CHECK(copy_fault_of<tree_with_pointer>() == copy_fault::handle);
  CHECK(copy_fault_of<no_default_and_pointer>() == copy_fault::handle);
  CHECK(copied_state<from_good>);
  CHECK(copied_state<from_vector_of_values>);
  CHECK(copied_state<from_from_good>);
  CHECK(copied_state<tree_from_good>);
  CHECK(copied_state<from_good_no_default>);
  CHECK(copy_fault_of<pointer_or_number>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<holds_union>() == copy_fault::hidden_members);
  CHECK(copy_fault_of<std::vector<holds_union>>() == copy_fault::hidden_members);
  CHECK(copied_state<with_own_copy>);
  CHECK(copy_fault_of<std::stack<double*>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::queue<std::shared_ptr<int>>>() == copy_fault::handle);
  CHECK(copy_fault_of<std::priority_queue<int*>>() == copy_fault::handle);
  CHECK(copied_state<std::stack<double>>);
  CHECK(copied_state<std::queue<vec>>);
  CHECK(copied_state<std::priority_queue<double>>);
}

TEST_CASE("an object that saves and restores need not be copyable", "[state]") {
  CHECK(saved_state<solver>);
  CHECK(saved_state<foreign_solver>);
  CHECK(saved_state<std::shared_ptr<long>>);
  CHECK_FALSE(saved_state<vec>);
  CHECK_FALSE(saved_state<handle>);
  CHECK(cairn::detail::shares_snapshot<saves<std::span<double const>>>);
  CHECK(cairn::detail::shares_snapshot<saves<std::shared_ptr<double>>>);
  CHECK(cairn::detail::shares_snapshot<saves<expression_of_data>>);
  CHECK_FALSE(cairn::detail::shares_snapshot<saves<vec>>);
  solver s;
  s.x = {1, 2};
  auto const kept = cairn::save_state(s);
  s.x = {3};
  cairn::restore_state(s, kept);
  CHECK(s.x == vec{1, 2});
  foreign_solver f;
  auto const was = cairn::save_state(f);
  f.x = 5;
  cairn::restore_state(f, was);
  CHECK(f.x == 1.0);
}

TEST_CASE("a copy goes into the memory that is there", "[state]") {
  field const from{vec(100, 1.0), 2, {{1, 2}, {3, 4}}};
  field into{vec(100, 0.0), 0, {}};
  heap::mark const start;
  copy_state(from, into);
  CHECK(start.allocated() == 0);
  CHECK(into.x == from.x);
  CHECK(into.corner[1][1] == 4.0);
}

TEST_CASE("what traits copy is copied by them wherever it is", "[state]") {
  CHECK(cairn::detail::traited_copy<handles>);
  CHECK_FALSE(cairn::detail::traited_copy<nested_field>);
  CHECK_FALSE(cairn::detail::traited_copy<tree>);
  CHECK(copied_state<handles>);
  CHECK(copy_fault_of<std::map<int, handle>>() == copy_fault::container);
  CHECK(copy_fault_of<std::variant<int, handle>>() == copy_fault::container);
  CHECK(copy_fault_of<std::stack<handle>>() == copy_fault::container);
  CHECK(copy_fault_of<from_good_with_handle>() == copy_fault::container);
  CHECK(copy_fault_of<from_vector_of_handles>() == copy_fault::container);
  CHECK_FALSE(copied_state<std::list<std::set<handle>>>);

  handles const from{made(1),      {1, 2}, {made(2), made(3)}, {made(4), made(5)}, made(6), {made(7), made(8)},
                     {made(9), 10}};
  handles into;
  into.many.push_back(made(0));
  double const* const reused = into.many[0].p;
  copy_state(from, into);
  CHECK(handles_alive == 9 + 9);
  CHECK(into.many[0].p == reused);
  double* const seen[] = {into.one.p,     into.pair[0].p, into.pair[1].p,
                          into.raw[0].p,  into.raw[1].p,  into.maybe->p,
                          into.many[0].p, into.many[1].p, std::get<0>(into.tuple).p};
  double want = 1;
  for (double* p : seen) {
    CHECK(*p == want);
    want += 1;
    *p = 0;
  }
  CHECK(*from.one.p == 1.0);
  CHECK(*from.pair[1].p == 3.0);
  CHECK(*from.raw[1].p == 5.0);
  CHECK(*from.maybe->p == 6.0);
  CHECK(*from.many[1].p == 8.0);
  CHECK(*std::get<0>(from.tuple).p == 9.0);
  CHECK(into.plain == vec{1, 2});
  CHECK(std::get<1>(into.tuple) == 10);
  handles const none;
  std::optional<handle> gone = made(1);
  copy_state(none.maybe, gone);
  CHECK_FALSE(gone.has_value());
}

TEST_CASE("aggregates are taken apart into their members", "[state]") {
  using cairn::detail::parts;
  CHECK(parts<empty>() == 0);
  CHECK(parts<field>() == 3);
  CHECK(parts<nested_field>() == 4);
  CHECK(parts<holds_no_default>() == 3);
  CHECK(parts<as_many_as_can_be>() == 24);
  CHECK(parts<many_members>() > 24);
  CHECK(parts<derived>() > 24);
  CHECK(parts<std::tuple<int, double>>() == 2);
  field f;
  cairn::detail::with_members<3>(f, [](vec& x, double&, double(&corner)[2][2]) {
    x = {1, 2, 3};
    corner[1][0] = 7;
  });
  CHECK(f.x.size() == 3);
  CHECK(f.corner[1][0] == 7.0);
  CHECK(std::is_same_v<cairn::detail::member_types<field const>,
                       cairn::detail::types<vec const, double const, double const[2][2]>>);
}

namespace {
/// bytes_of counts what a copy takes from the heap, to the byte.
template <class T>
void check_bytes(T const& x) {
  heap::mark const start;
  T const copy = x;
  CHECK(bytes_of(x) == sizeof(T) + start.rise());
  CHECK(bytes_of(copy) == bytes_of(x));
}
}  // namespace

TEST_CASE("the bytes of a state are those that a copy of it takes", "[state]") {
  check_bytes(3.0);
  check_bytes(vec{});
  check_bytes(vec(5));
  check_bytes(std::vector<vec>{vec(3), vec{}, vec(4)});
  check_bytes(std::array<vec, 2>{vec(3), vec(1)});
  check_bytes(std::tuple<vec, int, std::vector<float>>{vec(2), 1, std::vector<float>(7)});
  check_bytes(std::optional<vec>{vec(3)});
  check_bytes(std::optional<vec>{});
  for (std::size_t size : {0u, 1u, 63u, 64u, 65u, 1000u}) check_bytes(std::vector<bool>(size));
  for (std::size_t size : {0u, 1u, 15u, 16u, 1000u}) check_bytes(std::string(size, 'x'));
  check_bytes(std::vector<std::string>{"short", std::string(100, 'x')});
  check_bytes(field{vec(10), 1, {}});
  check_bytes(nested_field{{vec(1), 2, {}}, {vec(3), vec(4)}, vec(5), std::vector<bool>(70)});
  check_bytes(holds_no_default{1, no_default{vec{}}, {}}.after[0]);
  check_bytes(tree{{tree{{}, 1}, tree{{tree{}, tree{}}, 2}}, 3});
}

namespace {
/// A base that knows nothing of these members, in each way that a class can have one.
struct vector_and_more : vec {
  vec more;
};
struct array_and_more : std::array<double, 2> {
  vec more;
};
struct string_and_more : std::string {
  vec more;
};
struct bits_and_more : std::vector<bool> {
  vec more;
};
struct optional_and_more : std::optional<vec> {
  vec more;
};
struct counted_base {
  vec x;
  std::size_t bytes() const { return sizeof(*this) + x.size() * sizeof(double); }
};
struct counted_and_more : counted_base {
  vec more;
};
template <class T, class Allocator = std::allocator<T>>
struct list_and_more : std::vector<T, Allocator> {
  vec more;
};
class hidden_more {
 public:
  using value_type = double;
  double* data() { return x_.data(); }
  double const* data() const { return x_.data(); }
  std::size_t size() const { return x_.size(); }

 private:
  vec x_, more_;
};
/// Elements on show, and more that can be seen.
struct open_more {
  using value_type = double;
  double* data() { return x.data(); }
  double const* data() const { return x.data(); }
  std::size_t size() const { return x.size(); }
  vec x, more;
};
/// Nothing beside the container.
struct named_vector : vec {
  using vec::vec;
};
template <class Derived>
struct counts_for {
  std::size_t bytes() const { return sizeof(Derived) + static_cast<Derived const&>(*this).x.size() * sizeof(double); }
};
struct counted_by_base : counts_for<counted_by_base> {
  vec x;
};
}  // namespace

TEST_CASE("a class that shows elements and may hold more is not believed", "[state]") {
  CHECK_FALSE(cairn::sized_state<vector_and_more>);
  CHECK_FALSE(cairn::sized_state<array_and_more>);
  CHECK_FALSE(cairn::sized_state<string_and_more>);
  CHECK_FALSE(cairn::sized_state<bits_and_more>);
  CHECK_FALSE(cairn::sized_state<optional_and_more>);
  CHECK_FALSE(cairn::sized_state<counted_and_more>);
  CHECK_FALSE(cairn::sized_state<list_and_more<double>>);
  CHECK_FALSE(cairn::sized_state<hidden_more>);
  CHECK_FALSE(cairn::sized_state<std::vector<vector_and_more>>);
  check_bytes(open_more{vec(3), vec(100)});
  check_bytes(named_vector(5));
  counted_by_base by_base;
  by_base.x.resize(3);
  CHECK(bytes_of(by_base) == sizeof(by_base) + 3 * sizeof(double));
}

TEST_CASE("the bytes of a state are those that it holds, room to spare included", "[state]") {
  vec x(10);
  x.reserve(1000);
  CHECK(bytes_of(x) == sizeof(vec) + 1000 * sizeof(double));
  heap::mark const start;
  std::tuple<std::vector<vec>, std::vector<bool>, std::string> all;
  std::get<0>(all).reserve(7);
  std::get<0>(all).resize(2);
  std::get<0>(all)[1].reserve(11);
  std::get<1>(all).reserve(300);
  std::get<2>(all).reserve(99);
  CHECK(bytes_of(all) == sizeof all + start.rise());
}

TEST_CASE("traits and members may say how many bytes there are", "[state]") {
  struct says {
    constexpr std::size_t bytes() const { return 1000; }
  };
  CHECK(bytes_of(says{}) == 1000);
  STATIC_REQUIRE(bytes_of(std::array<says, 2>{}) == 2 * 1000);
  CHECK(bytes_of(std::tuple<says, vec>{says{}, vec(2)}) == sizeof(std::tuple<says, vec>) + 1000 - sizeof(says) + 16);
  CHECK(bytes_of(std::vector<handle>(3)) == sizeof(std::vector<handle>) + 3 * (sizeof(handle) + sizeof(double)));
  CHECK(bytes_of(std::array<std::pair<handle, int>, 2>{}) == 2 * (sizeof(std::pair<handle, int>) + sizeof(double)));
}

TEST_CASE("a state whose bytes cannot be counted is one without a size", "[state]") {
  CHECK_FALSE(cairn::sized_state<std::function<void()>>);
  CHECK_FALSE(cairn::sized_state<std::tuple<vec, std::list<std::function<void()>>>>);
  CHECK_FALSE(cairn::sized_state<std::variant<int, hidden_more>>);
  CHECK(cairn::sized_state<std::variant<int, double>>);
  CHECK(cairn::sized_state<tree>);
}

TEST_CASE("plain states have their bytes at compile time", "[state]") {
  constexpr std::tuple<double, int> x{1.0, 2};
  STATIC_REQUIRE(bytes_of(x) == sizeof(x));
  constexpr int copied = [] {
    std::array<int, 3> const from{1, 2, 3};
    std::array<int, 3> into{};
    copy_state(from, into);
    return into[2];
  }();
  STATIC_REQUIRE(copied == 3);
}
