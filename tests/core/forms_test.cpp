// SPDX-License-Identifier: Apache-2.0
// Steps and adjoints are recognised by the way they are written, or not at all.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>
#include <cairn/door/forms.hpp>
#include "support/catch.hpp"

using cairn::adjoint_form;
using cairn::step_form;
using cairn::step_index;
using cairn::detail::fault;
namespace {

using vec = std::vector<double>;

template <class S, class F>
constexpr auto step(F const&) { return cairn::detail::shape_of_step<F, S>(); }
template <class S, class Bar, class F>
constexpr auto adjoint(F const&) { return cairn::detail::shape_of_adjoint<F, S, Bar>(); }

struct reading {
  step_form form;
  bool indexed;
  bool stops;
  fault wrong;
  friend bool operator==(reading const&, reading const&) = default;
  friend std::ostream& operator<<(std::ostream& out, reading const& r) {
    return out << "form " << int(r.form) << (r.indexed ? " with index" : "") << (r.stops ? " stops" : "") << " fault "
               << int(r.wrong);
  }
};
/// The reading of a step on states S.
template <class S, class F>
reading read(F const& f) {
  auto const shape = step<S>(f);
  return {shape.form, shape.wrong == fault::none && shape.indexed, shape.stops, shape.wrong};
}
constexpr reading in_place{step_form::in_place, false, false, fault::none},
    in_place_i{step_form::in_place, true, false, fault::none};
constexpr reading by_value{step_form::by_value, false, false, fault::none},
    by_value_i{step_form::by_value, true, false, fault::none};
constexpr reading out_of_place{step_form::out_of_place, false, false, fault::none},
    out_of_place_i{step_form::out_of_place, true, false, fault::none};
constexpr reading wrong(fault what) { return {step_form::none, false, false, what}; }

struct bar_reading {
  adjoint_form form;
  bool indexed;
  bool by_value;
  fault wrong;
  friend bool operator==(bar_reading const&, bar_reading const&) = default;
  friend std::ostream& operator<<(std::ostream& out, bar_reading const& r) {
    return out << "form " << int(r.form) << (r.indexed ? " with index" : "") << (r.by_value ? " by value" : "")
               << " fault " << int(r.wrong);
  }
};
template <class S, class Bar, class F>
bar_reading read_bar(F const& f) {
  auto const shape = adjoint<S, Bar>(f);
  return {shape.form, shape.wrong == fault::none && shape.indexed, shape.by_value, shape.wrong};
}
constexpr bar_reading one_step(bool indexed, bool value) {
  return {adjoint_form::one_step, indexed, value, fault::none};
}
constexpr bar_reading leaf(bool value) { return {adjoint_form::leaf, true, value, fault::none}; }
constexpr bar_reading with_next(bool value) { return {adjoint_form::with_next, true, value, fault::none}; }
constexpr bar_reading wrong_bar(fault what) { return {adjoint_form::none, false, false, what}; }

void free_step(double& x, step_index) { x *= 2; }
double free_value(double x) { return x * 2; }

struct both_ways {  // in place for variables, by value for constants
  void operator()(double& x, step_index) const { x *= 1.5; }
  double operator()(double const& x, step_index) const { return 1.5 * x; }
};
struct final_functor final {
  template <class S>
  void operator()(S& x, step_index i) const { x += double(i); }
};
template <class F>
struct deleting {  // as std::bind_front of g++ 14
  F call;
  template <class... A>
  requires true
  std::invoke_result_t<F&, A...> operator()(A&&... all) & { return call(std::forward<A>(all)...); }
  template <class... A>
  requires true
  std::invoke_result_t<F const&, A...> operator()(A&&... all) const& { return call(std::forward<A>(all)...); }
  template <class... A>
  void operator()(A&&...) & = delete;
  template <class... A>
  void operator()(A&&...) const& = delete;
};
template <class F> deleting(F) -> deleting<F>;
struct greedy {  // takes itself to be made from anything
  greedy() = default;
  template <class T>
  explicit greedy(T const&) : from_other{true} {}
  bool from_other = false;
};
struct expression_of_data {  // as one of Eigen
  using PlainObject = vec;
};
struct half_of_vec {  // another type that converts to the state
  operator vec() const { return {}; }
};
struct library_object {  // a solver whose adjoint lies in it
  double x = 1, bar = 0;
  library_object() = default;
  library_object(library_object const&) = delete;
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
struct function_like {  // no call operator of its own
  using pointer = void (*)(double&, step_index);
  operator pointer() const { return &free_step; }
};

}  // namespace

TEST_CASE("a step with plain types is recognised by them", "[forms]") {
  CHECK(read<vec>([](vec& x, step_index) { x[0] = 1; }) == in_place_i);
  CHECK(read<vec>([](vec& x) { x[0] = 1; }) == in_place);
  CHECK(read<vec>([](vec const& x, step_index) { return x; }) == by_value_i);
  CHECK(read<vec>([](vec x) { return x; }) == by_value);
  CHECK(read<vec>([](vec const& x, vec& x1, step_index) { x1 = x; }) == out_of_place_i);
  CHECK(read<vec>([](vec const& x, vec& x1) { x1 = x; }) == out_of_place);
  CHECK(read<vec>([](vec& x, int) { x[0] = 1; }) == in_place_i);
}

TEST_CASE("a step on a scalar is recognised by its types", "[forms]") {
  CHECK(read<double>([](double& x, step_index) { x = 1; }) == in_place_i);
  CHECK(read<double>([](double& x) { x = 1; }) == in_place);
  CHECK(read<double>([](double x) { return x; }) == by_value);
  CHECK(read<double>([](double x, step_index) { return x; }) == by_value_i);
  CHECK(read<double>([](double x, double& x1) { x1 = x; }) == out_of_place);
  CHECK(read<double>([](double x, double& x1, step_index) { x1 = x; }) == out_of_place_i);
  CHECK(read<step_index>([](step_index const& x, step_index& x1) { x1 = x; }) == out_of_place);
  CHECK(read<bool>([](bool x) { return !x; }) == by_value);
}

TEST_CASE("a generic step is recognised without compiling a body that it does not fit", "[forms]") {
  CHECK(read<vec>([](auto& x, auto i) { x[0] += double(i); }) == in_place_i);
  CHECK(read<vec>([](auto&& x, auto i) { x[0] += double(i); }) == in_place_i);
  CHECK(read<vec>([](auto& x, step_index i) { x[0] += double(i); }) == in_place_i);
  CHECK(read<vec>([](auto& x) { x[0] = 1; }) == in_place);
  CHECK(read<vec>([](auto x, auto i) { x[0] += double(i); return x; }) == by_value_i);
  CHECK(read<vec>([](auto const& x) { return x; }) == by_value);
  CHECK(read<vec>([](auto const& x, auto& x1) { x1 = x; }) == out_of_place);
  CHECK(read<vec>([](auto const& x, auto& x1, auto) { x1 = x; }) == out_of_place_i);
  CHECK(read<vec>([](auto const& x, auto&& x1, auto) { x1 = x; }) == out_of_place_i);
  int calls = 0;
  CHECK(read<vec>([calls](auto& x, auto i) mutable { x[0] += double(i); ++calls; }) == in_place_i);
  CHECK(read<vec>([calls](auto const& x, auto& x1) mutable { x1 = x; ++calls; }) == out_of_place);
}

TEST_CASE("a second parameter auto&& is the next state beside auto const& and refused beside others", "[forms]") {
  // called with an index, each of these would compile for a scalar, and change nothing
  CHECK(read<double>([](auto const& x, auto&& x1) { x1 = 2 * x; }) == out_of_place);
  CHECK(read<double>([](auto x, auto&& x1) { x1 = 2 * x; }) == out_of_place);
  CHECK(read<double>([](auto& x, auto&& x1) { x1 = 2 * x; }) == wrong(fault::two_readings));
  CHECK(read<double>([](auto&& x, auto&& x1) { x1 = 2 * x; }) == wrong(fault::two_readings));
  // and these would not compile
  CHECK(read<vec>([](auto const& x, auto&& x1) { x1 = x; }) == out_of_place);
  CHECK(read<vec>([](auto& x, auto&& x1) { x1 = x; }) == wrong(fault::two_readings));
  CHECK(read<vec>([](auto&& x, auto&& x1) { x1 = x; }) == wrong(fault::two_readings));
  CHECK(read<vec>([](auto& x, auto&& i) { x[0] += double(i); }) == wrong(fault::two_readings));
  int calls = 0;
  CHECK(read<vec>([&](auto const& x, auto&& x1) { x1 = x; ++calls; }) == out_of_place);
  CHECK(read<vec>([calls](auto const& x, auto&& x1) mutable { x1 = x; ++calls; }) == out_of_place);
  CHECK(read<vec>([calls](auto& x, auto&& i) mutable { x[0] += double(i); ++calls; }) == wrong(fault::two_readings));
}

TEST_CASE("all kinds of function objects are steps", "[forms]") {
  CHECK(read<double>(&free_step) == in_place_i);
  CHECK(read<double>(&free_value) == by_value);
  CHECK(cairn::detail::shape_of_step<void(double&, step_index), double>().form == step_form::in_place);
  CHECK(read<double>(std::function<void(double&, step_index)>{}) == in_place_i);
  CHECK(read<double>(std::function<double(double)>{}) == by_value);
  CHECK(read<double>(both_ways{}) == in_place_i);
  CHECK(read<double>(final_functor{}) == in_place_i);
  CHECK(read<double>(function_like{}) == in_place_i);
  CHECK(read<double>([owned = std::make_unique<int>(3)](double& x, step_index) { x += *owned; }) == in_place_i);
  CHECK(read<vec>(std::bind_front([](int k, vec& x, step_index) { x[0] += k; }, 3)) == in_place_i);
  auto const constant = [](double& x, step_index) { x += 1; };
  CHECK(cairn::step_of<decltype(constant), double>);
  auto changing = [n = 0](double& x) mutable { x += ++n; };
  CHECK(cairn::step_of<decltype(changing), double>);
  CHECK_FALSE(cairn::step_of<decltype(changing) const, double>);
}

TEST_CASE("a function object that deletes the calls it does not accept is read as one without them", "[forms]") {
  CHECK(read<vec>(deleting{[](vec& x, step_index) { x[0] += 1; }}) == in_place_i);
  CHECK(read<vec>(deleting{[](vec& x) { x[0] += 1; }}) == in_place);
  CHECK(read<vec>(deleting{[](vec x) { return x; }}) == by_value);
  CHECK(read<vec>(deleting{[](vec const& x, vec& x1) { x1 = x; }}) == out_of_place);
  CHECK(read<double>(deleting{[](double x, step_index) { return x; }}) == by_value_i);
  CHECK(read<double>(deleting{[](double const& x, double& x1) { x1 = x; }}) == out_of_place);
  CHECK(read<vec>(deleting{[](step_index) {}}) == wrong(fault::shape));
  CHECK(read_bar<double, double>(deleting{[](double const&, double& bar, step_index) { bar *= 2; }}) ==
        one_step(true, false));
}

TEST_CASE("a reference to a function is read as the function", "[forms]") {
  auto in = [](vec& x, step_index) { x[0] = 1; };
  auto generic_in = [](auto& x, auto) { x[0] = 1; };
  auto const value = [](auto const& x) { return x; };
  auto out = cairn::out_of_place([](auto&& x, auto&& x1) { x1 = x; });
  auto wrong_value = [](double x) { return float(x); };
  CHECK(read<vec>(std::ref(in)) == in_place_i);
  CHECK(read<vec>(std::ref(generic_in)) == in_place_i);
  CHECK(read<vec>(std::cref(value)) == by_value);
  CHECK(read<vec>(std::ref(out)) == out_of_place);
  CHECK(read<double>(std::ref(free_value)) == by_value);
  CHECK(read<double>(std::ref(wrong_value)) == wrong(fault::result));
  auto back = [](auto const& x, auto& bar, auto) { bar = x; };
  auto next = cairn::with_next([](auto&&, auto&& x1, auto&& bar, auto&&) { bar = x1; });
  auto both = [](double, double& bar) { bar *= 2; return 0; };
  CHECK(read_bar<vec, vec>(std::ref(back)) == one_step(true, false));
  CHECK(read_bar<vec, vec>(std::ref(next)) == with_next(false));
  CHECK(read_bar<double, double>(std::ref(both)) == wrong_bar(fault::both));
  auto pair = cairn::recorded{[](vec& x) { return x; }, [](vec const&, vec& bar) { bar[0] = 1; }};
  CHECK(read_bar<vec, vec>(std::ref(pair)) == wrong_bar(fault::shape));  // its two halves cannot be called through it
}

TEST_CASE("a step that cannot do what it says has a fault with a name", "[forms]") {
  CHECK(read<vec>([](vec const&, step_index) {}) == wrong(fault::unchanged));
  CHECK(read<vec>([](vec, step_index) {}) == wrong(fault::unchanged));
  CHECK(read<vec>([](auto x, auto) { x[0] = 1; }) == wrong(fault::unchanged));
  CHECK(read<vec>([](auto const& x, auto) { (void)x; }) == wrong(fault::unchanged));
  CHECK(read<vec>([](vec const& x, vec x1) { x1 = x; }) == wrong(fault::unchanged));
  CHECK(read<vec>([](vec const& x, vec x1, step_index) { x1 = x; }) == wrong(fault::unchanged));
  CHECK(read<vec>([](auto const& x, auto x1, auto) { x1 = x; }) == wrong(fault::unchanged));
  CHECK(read<vec>([](vec& x, step_index) { return x; }) == wrong(fault::both));
  CHECK(read<vec>([](auto& x, auto) { x[0] = 1; return x; }) == wrong(fault::both));
  CHECK(read<vec>([](vec& x, step_index) -> vec& { return x; }) == wrong(fault::both));
  CHECK(read<vec>([](vec const& x) { return x.size(); }) == wrong(fault::result));
  CHECK(read<vec>([](vec const& x, step_index) -> vec const& { return x; }) == wrong(fault::result));
  CHECK(read<vec>([](vec const&) { return half_of_vec{}; }) == wrong(fault::result));
  CHECK(read<vec>([](vec const& x, vec& x1) { x1 = x; return 0; }) == wrong(fault::both));
  CHECK(read<double>([](double& x, step_index) { x = 1; return 0; }) == wrong(fault::both));
  CHECK(read<double>([](double& x, double dt) { x += dt; }) == wrong(fault::floating));
  CHECK(read<double>([](double x, double& x1, double t) { x1 = x + t; }) == wrong(fault::floating));
  CHECK(read<vec>([](vec& x, vec&) { x[0] = 1; }) == wrong(fault::shape));
  CHECK(read<vec>([](vec& x, int, int, int) { x[0] = 1; }) == wrong(fault::shape));
  CHECK(read<vec>([](vec& x, step_index&) { x[0] = 1; }) == wrong(fault::shape));
  CHECK(read<vec>([](vec& x, step_index&&) { x[0] = 1; }) == wrong(fault::shape));
  CHECK(read<vec>([] {}) == wrong(fault::shape));
  CHECK(read<vec>(3) == wrong(fault::shape));
  struct model {
    double x;
    void advance() { x *= 2; }
  };
  CHECK(read<model>(&model::advance) == wrong(fault::shape));
}

TEST_CASE("a step converts no number", "[forms]") {
  CHECK(read<double>([](double x) { return float(x); }) == wrong(fault::result));
  CHECK(read<double>([](double x, step_index) { return x > 0 ? 1 : 2; }) == wrong(fault::result));
  CHECK(read<float>([](float x) { return 0.5 * double(x); }) == wrong(fault::result));
  CHECK(read<int>([](int x) { return 0.5 * x; }) == wrong(fault::result));
  CHECK(read<double>([](auto x) { return float(x); }) == wrong(fault::result));
  CHECK(read<double>([](auto x) { return x > 2 ? 2 : 1; }) == wrong(fault::result));
  CHECK(read<double>([](float x) { return double(x); }) == wrong(fault::narrow));
  CHECK(read<double>([](float const& x, step_index) { return double(x); }) == wrong(fault::narrow));
  CHECK(read<double>([](int x, double& x1) { x1 = x; }) == wrong(fault::narrow));
  CHECK(read<double>([](float x, double& x1, step_index) { x1 = double(x); }) == wrong(fault::narrow));
  CHECK(read<step_index>([](int x) { return step_index{x}; }) == wrong(fault::narrow));
  CHECK(read<float>([](double x) { return float(x); }) == by_value);  // nothing is lost
  CHECK(read<int>([](step_index x, int& x1) { x1 = int(x); }) == out_of_place);
}

TEST_CASE("a step that returns bool in place stops the loop and is no step otherwise", "[forms]") {
  constexpr reading stops_i{step_form::in_place, true, true, fault::none},
      stops{step_form::in_place, false, true, fault::none};
  auto const f = [](vec& x, step_index) { return x[0] < 1; };
  CHECK(read<vec>(f) == stops_i);
  CHECK_FALSE(cairn::step_of<decltype(f), vec>);
  CHECK(read<double>([](double& x) { return x < 1; }) == stops);
  CHECK(read<vec>([](auto& x, auto) { x[0] = 1; return true; }) == stops_i);
  CHECK(read<vec>([](vec const& x, step_index) { return x[0] < 1; }) == wrong(fault::result));
}

TEST_CASE("a tag settles what types leave open, and nothing else", "[forms]") {
  CHECK(read<vec>(cairn::in_place([](auto&& x, auto&& i) { x[0] = double(i); })) == in_place_i);
  CHECK(read<vec>(cairn::out_of_place([](auto&& x, auto&& x1) { x1 = x; })) == out_of_place);
  CHECK(read<double>(cairn::by_value([](auto&& x, auto&& i) { return x + double(i); })) == by_value_i);
  CHECK(read<double>(cairn::in_place([](double x) { return x; })) == wrong(fault::result));
  CHECK(read<double>(cairn::by_value([](double& x) { x = 1; })) == wrong(fault::result));
  CHECK(read<double>(cairn::in_place([](double) {})) == wrong(fault::unchanged));
  CHECK(read<double>(cairn::out_of_place([](double& x) { x = 1; })) == wrong(fault::shape));
  CHECK(read<double>(cairn::leaf([](double& x) { x = 1; })) == wrong(fault::shape));
  CHECK(read_bar<double, double>(cairn::in_place([](double, double& bar) { bar = 1; })) == wrong_bar(fault::shape));
}

TEST_CASE("a tagged function is called like the one inside it", "[forms]") {
  auto counting = cairn::in_place([n = 0](double& x, step_index) mutable { x += ++n; });
  double x = 0;
  counting(x, 0);
  counting(x, 1);
  CHECK(x == 3.0);
  auto const constant = cairn::by_value([](double y) { return 2 * y; });
  CHECK(constant(4.0) == 8.0);
  auto owning =
      cairn::leaf([owned = std::make_unique<int>(3)](double, double& bar, step_index, step_index) { bar *= *owned; });
  owning(0.0, x, 0, 1);
  CHECK(x == 9.0);
}

TEST_CASE("an adjoint with plain types is recognised by them", "[forms]") {
  CHECK(read_bar<vec, vec>([](vec const&, vec& bar, step_index) { bar[0] = 1; }) == one_step(true, false));
  CHECK(read_bar<vec, vec>([](vec const&, vec& bar) { bar[0] = 1; }) == one_step(false, false));
  CHECK(read_bar<vec, vec>([](vec const&, vec bar, step_index) { return bar; }) == one_step(true, true));
  CHECK(read_bar<vec, vec>([](vec const&, vec const& bar) { return bar; }) == one_step(false, true));
  CHECK(read_bar<vec, double>([](vec const& x, double bar) { return bar * x[0]; }) == one_step(false, true));
  CHECK(read_bar<vec, vec>([](vec const&, vec& bar, step_index, step_index) { bar[0] = 1; }) == leaf(false));
  CHECK(read_bar<vec, vec>([](vec const&, vec const& bar, step_index, step_index) { return bar; }) == leaf(true));
  CHECK(read_bar<vec, vec>([](vec const& x, vec const&, vec& bar, step_index) { bar = x; }) == with_next(false));
  CHECK(read_bar<vec, vec>([](vec const& x, vec const&, vec const&, step_index) { return x; }) == with_next(true));
  CHECK(read_bar<double, double>([](double x, double, double& bar, step_index) { bar *= x; }) == with_next(false));
  CHECK(read_bar<double, double>([](double x, double& bar, step_index, step_index) { bar *= x; }) == leaf(false));
}

TEST_CASE("a generic adjoint is recognised without compiling a body that it does not fit", "[forms]") {
  CHECK(read_bar<vec, vec>([](auto const& x, auto& bar, auto) { bar = x; }) == one_step(true, false));
  CHECK(read_bar<vec, vec>([](auto const& x, auto&& bar, auto) { bar = x; }) == one_step(true, false));
  CHECK(read_bar<vec, vec>([](auto const& x, auto bar) { bar = x; return bar; }) == one_step(false, true));
  CHECK(read_bar<vec, vec>([](auto const& x, auto& bar, auto, auto) { bar = x; }) == leaf(false));
  CHECK(read_bar<vec, vec>([](auto const& x, auto const& x1, auto& bar, auto) {
          bar = x;
          bar = x1;
        }) == with_next(false));
  CHECK(read_bar<double, double>([](auto x, auto& bar, auto, auto) { bar = x; }) == leaf(false));
  int calls = 0;
  CHECK(read_bar<vec, vec>([calls](auto const& x, auto& bar, auto, auto) mutable { bar = x; ++calls; }) == leaf(false));
  CHECK(read_bar<vec, vec>([calls](auto const& x, auto const& x1, auto& bar, auto) mutable {
          bar = x;
          bar = x1;
          ++calls;
        }) == with_next(false));
}

TEST_CASE("an adjoint with two readings is ambiguous until it is tagged", "[forms]") {
  auto const f = [](auto&& x, auto&& y, auto&& z, auto&&) { (void)x, (void)y, (void)z; };
  auto const value = [](auto const& x, auto const& x1, auto bar, auto) { bar = x; bar = x1; return bar; };
  CHECK(read_bar<vec, vec>(f) == wrong_bar(fault::two_readings));
  CHECK(adjoint<vec, vec>(f).ambiguous);
  CHECK(read_bar<vec, vec>(value) == wrong_bar(fault::two_readings));
  CHECK(read_bar<vec, vec>(cairn::with_next(value)) == with_next(true));
  CHECK(read_bar<vec, vec>(cairn::leaf(f)) == leaf(false));
  CHECK(read_bar<vec, vec>(cairn::with_next(f)) == with_next(false));
  CHECK(read_bar<double, double>([](double x, double, double bar, double) { return x * bar; }) ==
        wrong_bar(fault::two_readings));
}

TEST_CASE("an adjoint that cannot do what it says has a fault with a name", "[forms]") {
  CHECK(read_bar<vec, vec>([](vec const&, vec, step_index) {}) == wrong_bar(fault::unchanged));
  CHECK(read_bar<vec, vec>([](vec const&, vec const&, step_index) {}) == wrong_bar(fault::unchanged));
  CHECK(read_bar<vec, vec>([](auto const& x, auto bar, auto) { bar = x; }) == wrong_bar(fault::unchanged));
  CHECK(read_bar<vec, vec>([](vec const&, vec const&, step_index, step_index) {}) == wrong_bar(fault::unchanged));
  CHECK(read_bar<vec, vec>([](vec& x, vec& bar, step_index) { bar = x; }) == wrong_bar(fault::shape));
  CHECK(read_bar<vec, double>([](vec const&, vec& bar) { bar[0] = 1; }) == wrong_bar(fault::shape));
  CHECK(read_bar<vec, vec>([](vec const&, vec const& bar, step_index) { return bar[0]; }) == wrong_bar(fault::result));
  CHECK(read_bar<double, int>([](double x, int bar) { return x * bar; }) ==
        wrong_bar(fault::result));  // a seed 1, not 1.0
  CHECK(read_bar<double, double>([](double x, double, double bar) { return x * bar; }) == wrong_bar(fault::floating));
}

TEST_CASE("an adjoint that changes bar returns nothing", "[forms]") {
  CHECK(read_bar<double, double>([](double x, double& bar, step_index) {
          bar *= x;
          return 0;
        }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](double x, double& bar, step_index) {
          bar *= x;
          return 0.0;
        }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](double x, double& bar) { bar *= x; return true; }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](double x, double& bar, step_index, step_index) {
          bar *= x;
          return 0;
        }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](double x, double, double& bar, step_index) {
          bar *= x;
          return 0;
        }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](auto const& x, auto& bar, auto) { bar *= x; return 0; }) == wrong_bar(fault::both));
  CHECK(read_bar<vec, vec>([](vec const&, vec& bar) { return bar; }) == wrong_bar(fault::both));
  CHECK(read_bar<vec, vec>([](vec const&, vec& bar, step_index) { return bar[0]; }) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>(cairn::recorded{[](double& x) { return std::exchange(x, 1.0); },
                                                 [](double tape, double& bar) {
                                                   bar *= tape;
                                                   return 0;
                                                 }}) == wrong_bar(fault::both));
  CHECK(read_bar<double, double>([](double x, auto&& bar) { return x * bar; }) == one_step(false, true));
  CHECK(read_bar<library_object, cairn::library_bar>([](library_object& at, step_index) { return int(at.bar *= 2); }) ==
        wrong_bar(fault::both));
}

TEST_CASE("an adjoint converts no number", "[forms]") {
  CHECK(read_bar<double, double>([](double x, double bar) { return float(x * bar); }) == wrong_bar(fault::result));
  CHECK(read_bar<double, double>([](double x, double bar, step_index) { return x > bar ? 1 : 0; }) ==
        wrong_bar(fault::result));
  CHECK(read_bar<double, double>([](double x, float bar) { return x * double(bar); }) == wrong_bar(fault::narrow));
  CHECK(read_bar<double, double>([](int x, double& bar, step_index) { bar *= x; }) == wrong_bar(fault::narrow));
  CHECK(read_bar<double, double>([](double x, float x1, double& bar, step_index) { bar *= x + double(x1); }) ==
        wrong_bar(fault::narrow));
  CHECK(read_bar<double, double>(cairn::recorded{[](double& x) { return std::exchange(x, 1.0); },
                                                 [](float tape, double& bar) { bar *= double(tape); }}) ==
        wrong_bar(fault::narrow));
  CHECK(read_bar<float, double>([](double x, double& bar) { bar *= x; }) == one_step(false, false));
}

TEST_CASE("a recording adjoint has a tape between its halves", "[forms]") {
  auto const record = [](vec& x, step_index) { return std::exchange(x, vec{1}); };
  auto const record_plain = [](auto& x) { return x.size(); };
  auto const reverse = [](vec const& tape, vec& bar) { bar = tape; };
  CHECK(read_bar<vec, vec>(cairn::recorded{record, reverse}) ==
        bar_reading{adjoint_form::recorded, true, false, fault::none});
  CHECK(read_bar<vec, vec>(cairn::recorded{record_plain, [](std::size_t, vec bar, step_index) { return bar; }}) ==
        bar_reading{adjoint_form::recorded, false, true, fault::none});
  CHECK(adjoint<vec, vec>(cairn::recorded{record, [](vec const&, vec& bar, step_index) { bar = {}; }}).reverse_indexed);
  CHECK_FALSE(adjoint<vec, vec>(cairn::recorded{record, reverse}).reverse_indexed);
  auto const unique = cairn::recorded{[](vec&) { return std::make_unique<int>(1); },
                                      [](std::unique_ptr<int> const& tape, vec& bar) { bar[0] = *tape; }};
  CHECK(read_bar<vec, vec>(unique) == bar_reading{adjoint_form::recorded, false, false, fault::none});
  CHECK(read_bar<vec, vec>(cairn::recorded{[](vec&) {}, reverse}) == wrong_bar(fault::tape));
  CHECK(read_bar<vec, vec>(cairn::recorded{record, [](double, vec&) {}}) == wrong_bar(fault::tape));
  CHECK(read_bar<vec, vec>(cairn::recorded{[](vec const& x) { return x; }, reverse}) ==
        wrong_bar(fault::tape));  // moves nothing on
  CHECK(read_bar<vec, vec>(cairn::recorded{record, [](vec const&, vec const&) {}}) == wrong_bar(fault::unchanged));
  auto const refers = [](auto recording) {
    return read_bar<vec, vec>(cairn::recorded{recording, [](auto const&, vec& bar) { bar[0] = 1; }}) ==
           wrong_bar(fault::refers);
  };
  CHECK(refers([](vec& x) { return std::span<double const>{x}; }));
  CHECK(refers([](vec& x) { return x.data(); }));
  CHECK(refers([](vec&) { return expression_of_data{}; }));
  CHECK(read_bar<vec, vec>(cairn::recorded{record, [](vec const& tape, vec const&) { return tape[0]; }}) ==
        wrong_bar(fault::result));
}

TEST_CASE("pull_back takes a result or leaves bar to the function", "[forms]") {
  double bar = 3;
  auto value = [](double x, double b) { return x * b; };
  auto place = [](double x, double& b) { b += x; };
  cairn::detail::pull_back(value, bar, 2.0, bar);
  CHECK(bar == 6.0);
  cairn::detail::pull_back(place, bar, 2.0, bar);
  CHECK(bar == 8.0);
}

TEST_CASE("a seed is a function of the final state only if it is no container", "[forms]") {
  struct callable_container {
    using value_type = double;
    double operator()(vec const&) const { return 1; }
    double* begin();
    double* end();
  };
  auto const function = [](vec const& x) { return x; };
  CHECK(cairn::detail::seed_function<decltype(function), vec>);
  CHECK_FALSE(cairn::detail::seed_function<vec, vec>);
  CHECK_FALSE(cairn::detail::seed_function<decltype([](vec& x) { return x; }), vec>);
  CHECK_FALSE(cairn::detail::seed_function<callable_container, vec>);
}

TEST_CASE("a result is made in place, or moved into a class that takes anything", "[forms]") {
  struct fixed {
    explicit fixed(int n) : value{n} {}
    fixed(fixed const&) = delete;
    int value;
  };
  std::optional<fixed> holder;
  cairn::detail::emplace_by(holder, [] { return fixed{7}; });
  CHECK(holder->value == 7);
  std::optional<greedy> taker;
  cairn::detail::emplace_by(taker, [] { return greedy{}; });
  CHECK_FALSE(taker->from_other);
}
