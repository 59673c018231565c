// SPDX-License-Identifier: Apache-2.0
// States of thrust::device_vector in every verb, with steps that are Thrust algorithms: the bits of store-all, the
// copies and the allocations that there may be. One source for each device system of Thrust.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <thrust/copy.h>
#include <thrust/device_malloc_allocator.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>
#include <thrust/universal_vector.h>
#include <cairn/adapt/thrust.hpp>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"

using namespace cairn;

namespace {

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
/// A stream that the default stream does not wait for, and algorithms that do not wait for the host.
struct own_stream {
  cudaStream_t stream = nullptr;
  own_stream() { (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
  own_stream(own_stream const&) = delete;
  ~own_stream() { (void)cudaStreamDestroy(stream); }
};
auto policy() {
  static own_stream const own;
  return thrust::cuda::par_nosync.on(own.stream);
}
void finish() { (void)cudaDeviceSynchronize(); }
char const* why_skip() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? nullptr : "no GPU";
}
#else
auto policy() { return thrust::device; }
void finish() {}
char const* why_skip() { return nullptr; }
#endif

/// Counts what is asked of it.
struct asked {
  static inline std::size_t allocations = 0;
};
template <class T>
struct counting_allocator : thrust::device_malloc_allocator<T> {
  using base = thrust::device_malloc_allocator<T>;
  template <class U>
  struct rebind {
    using other = counting_allocator<U>;
  };
  counting_allocator() = default;
  template <class U>
  counting_allocator(counting_allocator<U> const&) {}
  typename base::pointer allocate(std::size_t count) {
    ++asked::allocations;
    return base::allocate(count);
  }
};

using field = thrust::device_vector<double>;
using counted_field = thrust::device_vector<double, counting_allocator<double>>;

constexpr std::size_t cells = 37;

struct advance_u {
  double h;
  constexpr double operator()(double u, double v) const { return u + h * (v - 0.25 * u * u); }
};
struct advance_v {
  double h;
  constexpr double operator()(double u, double v) const { return v + h * (u * v - 0.5 * u); }
};
/// The transposes of the above, p and q being the adjoints of the new u and v.
struct pull_u {
  double h;
  template <class Cell>
  constexpr double operator()(Cell const& cell) const {
    double const u = thrust::get<0>(cell), v = thrust::get<1>(cell), p = thrust::get<2>(cell), q = thrust::get<3>(cell);
    return p * (1 - 0.5 * h * u) + q * h * (v - 0.5);
  }
};
struct pull_v {
  double h;
  template <class Cell>
  constexpr double operator()(Cell const& cell) const {
    double const u = thrust::get<0>(cell), p = thrust::get<1>(cell), q = thrust::get<2>(cell);
    return p * h + q * (1 + h * u);
  }
};

double step_size(step_index i) { return 0.125 / double(2 + i % 5); }

/// Two fields and what runs beside them on the host.
template <class Field>
struct basic_waves {
  using field_type = Field;
  Field u, v;
  double time = 0;
  std::uint64_t counter = 0;
};
template <class Field>
using basic_fields = std::tuple<Field, Field>;
using waves = basic_waves<field>;
using fields = basic_fields<field>;

template <class Field>
Field& u_of(basic_waves<Field>& x) { return x.u; }
template <class Field>
Field const& u_of(basic_waves<Field> const& x) { return x.u; }
template <class Field>
Field& v_of(basic_waves<Field>& x) { return x.v; }
template <class Field>
Field const& v_of(basic_waves<Field> const& x) { return x.v; }
template <class Field>
Field& u_of(basic_fields<Field>& x) { return std::get<0>(x); }
template <class Field>
Field const& u_of(basic_fields<Field> const& x) { return std::get<0>(x); }
template <class Field>
Field& v_of(basic_fields<Field>& x) { return std::get<1>(x); }
template <class Field>
Field const& v_of(basic_fields<Field> const& x) { return std::get<1>(x); }

template <class Field>
void host_part(basic_waves<Field> const& from, basic_waves<Field>& into, step_index i) {
  into.time = from.time + step_size(i);
  into.counter = 3 * from.counter + std::uint64_t(i);
}
template <class Field>
void host_part(basic_fields<Field> const&, basic_fields<Field>&, step_index) {}

/// What a step reads of the host part: only it shows whether that was copied with the rest.
template <class Field>
double speed(basic_waves<Field> const& x) { return 1 + 0.0625 * double(x.counter % 7) + x.time; }
template <class Field>
double speed(basic_fields<Field> const&) { return 1; }

template <class State>
[[gnu::noinline]] void step_into(State const& from, State& into, step_index i) {
  double const h = step_size(i) * speed(from);
  thrust::transform(policy(), u_of(from).begin(), u_of(from).end(), v_of(from).begin(), u_of(into).begin(),
                    advance_u{h});
  thrust::transform(policy(), u_of(from).begin(), u_of(from).end(), v_of(from).begin(), v_of(into).begin(),
                    advance_v{h});
  host_part(from, into, i);
}
/// Its new u, for the in-place step, which reads both old ones twice.
template <class State>
struct scratch {
  typename std::remove_cvref_t<decltype(u_of(std::declval<State&>()))> values =
      std::remove_cvref_t<decltype(u_of(std::declval<State&>()))>(cells);
};

template <class State>
struct out_of_place_step {
  void operator()(State const& x, State& x1, step_index i) const { step_into(x, x1, i); }
};
template <class State>
struct by_value_step {
  State operator()(State const& x, step_index i) const {
    State x1 = x;
    finish();
    step_into(x, x1, i);
    return x1;
  }
};
template <class State>
struct in_place_step {
  scratch<State>* spare;
  void operator()(State& x, step_index i) const {
    double const h = step_size(i) * speed(x);
    thrust::transform(policy(), u_of(x).begin(), u_of(x).end(), v_of(x).begin(), spare->values.begin(), advance_u{h});
    thrust::transform(policy(), u_of(x).begin(), u_of(x).end(), v_of(x).begin(), v_of(x).begin(), advance_v{h});
    thrust::copy(policy(), spare->values.begin(), spare->values.end(), u_of(x).begin());
    host_part(x, x, i);
  }
};

/// The adjoint of both fields; the other members of a state have none.
template <class Field>
using basic_bar = std::tuple<Field, Field>;

template <class State>
struct one_step_adjoint {
  scratch<State>* spare;
  template <class Field>
  void operator()(State const& x, basic_bar<Field>& b, step_index i) const {
    double const h = step_size(i) * speed(x);
    auto& [p, q] = b;
    auto const all =
        thrust::make_zip_iterator(thrust::make_tuple(u_of(x).begin(), v_of(x).begin(), p.begin(), q.begin()));
    thrust::transform(policy(), all, all + cells, spare->values.begin(), pull_u{h});
    auto const some = thrust::make_zip_iterator(thrust::make_tuple(u_of(x).begin(), p.begin(), q.begin()));
    thrust::transform(policy(), some, some + cells, q.begin(), pull_v{h});
    thrust::copy(policy(), spare->values.begin(), spare->values.end(), p.begin());
  }
};
/// Stores the states within a leaf.
template <class State>
struct leaf_adjoint {
  scratch<State>* spare;
  template <class Bar>
  void operator()(State const& x, Bar& b, step_index first, step_index last) const {
    std::vector<State> all{x};
    for (step_index i = first; i + 1 < last; ++i) {
      all.push_back(all.back());
      finish();
      step_into(all[all.size() - 2], all.back(), i);
    }
    finish();
    for (step_index i = last; i-- > first;) one_step_adjoint<State>{spare}(all[std::size_t(i - first)], b, i);
    finish();
  }
};

template <class Field>
Field filled(double from, double by) {
  std::vector<double> values(cells);
  for (std::size_t k = 0; k < cells; ++k) values[k] = from + by * double(k % 11);
  return Field(values.begin(), values.end());
}
template <class State>
State start() {
  State x;
  u_of(x) = filled<std::remove_reference_t<decltype(u_of(x))>>(0.5, 0.03125);
  v_of(x) = filled<std::remove_reference_t<decltype(v_of(x))>>(-0.25, 0.0625);
  return x;
}
template <class Field>
basic_bar<Field> seed_of() { return {filled<Field>(1, 0.125), filled<Field>(0.5, -0.25)}; }

using numbers = std::vector<double>;
template <class Field>
void add_to(numbers& all, Field const& x) {
  finish();
  std::size_t const before = all.size();
  all.resize(before + x.size());
  thrust::copy(x.begin(), x.end(), all.begin() + std::ptrdiff_t(before));
}
template <class Field>
numbers on_host(std::tuple<Field, Field> const& x) {
  numbers all;
  add_to(all, std::get<0>(x));
  add_to(all, std::get<1>(x));
  return all;
}
template <class Field>
numbers on_host(basic_waves<Field> const& x) {
  numbers all;
  add_to(all, x.u);
  add_to(all, x.v);
  all.push_back(x.time);
  all.push_back(double(x.counter));
  return all;
}

/// Every state, and the gradient from them.
template <class State>
struct stored {
  std::vector<numbers> states;
  numbers gradient;
  explicit stored(step_index n) {
    std::vector<State> all{start<State>()};
    finish();
    for (step_index i = 0; i < n; ++i) {
      all.push_back(all.back());
      finish();
      step_into(all[std::size_t(i)], all.back(), i);
      finish();
    }
    auto b = seed_of<std::remove_reference_t<decltype(u_of(all[0]))>>();
    scratch<State> spare;
    finish();
    for (step_index i = n; i-- > 0;) one_step_adjoint<State>{&spare}(all[std::size_t(i)], b, i);
    finish();
    gradient = on_host(b);
    for (auto const& x : all) states.push_back(on_host(x));
  }
};

/// Calls use(name, plan) for some plans of each kind that keeps states only.
template <class Use>
void each_plan(step_index n, Use use) {
  use("uniform", uniform{n});
  use("uniform in blocks", uniform{n, {.block = 3}});
  use("store_all", store_all(n));
  for (slot_index const slots : {1, 2, 5}) use("revolve", revolve{n, slots});
  use("revolve with a free initial state", revolve{n, 2, {.free_initial = true}});
  use("leaves", leaves{n, 3, revolve{(n + 2) / 3, 2}});
  use("two_level", in_memory{two_level{n, 4, 2}});
  use("online", online{3}.stopping_at(n));
}

template <class State, class Step>
void check_gradients(Step step) {
  scratch<State> spare;
  for (step_index const n : {0, 1, 7, 23}) {
    stored<State> const all{n};
    each_plan(n, [&](char const* name, auto const& plan) {
      INFO(name << " of " << n << " steps");
      using Field = std::remove_reference_t<decltype(u_of(std::declval<State&>()))>;
      CHECK(on_host(gradient(step, start<State>(), plan, seed_of<Field>(), leaf_adjoint<State>{&spare})) ==
            all.gradient);
      if (plan.leaf() > 1) return;
      auto const x0 = start<State>();
      CHECK(on_host(gradient(
                step, x0, plan, [](State const&) { return seed_of<Field>(); }, one_step_adjoint<State>{&spare})) ==
            all.gradient);
      CHECK(on_host(x0) == all.states[0]);
    });
  }
}
template <class State, class Step>
void check_runs(Step step) {
  scratch<State> spare;
  using Field = std::remove_reference_t<decltype(u_of(std::declval<State&>()))>;
  for (step_index const n : {0, 1, 17}) {
    stored<State> const all{n};
    each_plan(n, [&](char const* name, auto const& plan) {
      INFO(name << " of " << n << " steps");
      auto run = checkpointed_loop(step, start<State>(), plan);
      CHECK(on_host(run.final_state()) == all.states.back());
      for (int again = 0; again < 2; ++again) {
        CHECK(on_host(run.reverse(seed_of<Field>(), leaf_adjoint<State>{&spare})) == all.gradient);
        for (step_index i = 0; i <= n; i += 5) CHECK(on_host(run.at(i)) == all.states[std::size_t(i)]);
      }
      if (plan.leaf() > 1) return;
      CHECK(on_host(run.reverse(seed_of<Field>(), one_step_adjoint<State>{&spare})) == all.gradient);
      bool same = true;
      for (auto [i, x] : run.backward()) same = same && on_host(x) == all.states[std::size_t(i)];
      CHECK(same);
    });
  }
}

/// A state whose copies are counted.
struct watched {
  counted_field u = counted_field(), v = counted_field();
  static inline int copies = 0;
};
counted_field& u_of(watched& x) { return x.u; }
counted_field const& u_of(watched const& x) { return x.u; }
counted_field& v_of(watched& x) { return x.v; }
counted_field const& v_of(watched const& x) { return x.v; }
void host_part(watched const&, watched&, step_index) {}
double speed(watched const&) { return 1; }
numbers on_host(watched const& x) { return on_host(std::tuple{x.u, x.v}); }

struct watched_step {
  scratch<watched>* spare;
  void operator()(watched& x, step_index i) const {
    double const h = step_size(i);
    thrust::transform(policy(), x.u.begin(), x.u.end(), x.v.begin(), spare->values.begin(), advance_u{h});
    thrust::transform(policy(), x.u.begin(), x.u.end(), x.v.begin(), x.v.begin(), advance_v{h});
    thrust::copy(policy(), spare->values.begin(), spare->values.end(), x.u.begin());
  }
};

}  // namespace

template <>
struct cairn::state_traits<watched> {
  static void copy(watched const& from, watched& into) {
    ++watched::copies;
    copy_state(from.u, into.u);
    copy_state(from.v, into.v);
  }
};

namespace {

/// How often a step in place meets a state that somebody keeps: once in the turn, whose steps leave the state before
/// them as it is, and wherever an advance begins at a state that a slot holds.
template <class Plan>
int steps_on_kept_states(Plan const& plan) {
  std::map<slot_index, step_index> held;
  int count = 0;
  cursor_of<Plan> cursor = plan.walk();
  for (action a = cursor.next(); a.kind != action_kind::done; a = cursor.next()) {
    if (a.kind == action_kind::save) held[a.slot] = a.from;
    if (a.kind == action_kind::drop) held.erase(a.slot);
    bool kept = a.kind == action_kind::turn;
    if (a.kind == action_kind::advance)
      for (auto const& [slot, i] : held) kept = kept || i == a.from;
    if (kept && a.from < a.to) ++count;
  }
  return count;
}

/// Copies and allocations of one more gradient in a workspace that has seen one.
struct traffic {
  int copies;
  std::size_t allocations;
  bool operator==(traffic const&) const = default;
};
template <class Step, class Plan>
traffic of_warm_sweep(Step step, Plan const& plan) {
  scratch<watched> spare;
  auto work = workspace_for<watched>(plan);
  auto const x0 = start<watched>();
  stored<watched> const all{plan.steps()};
  auto cold = seed_of<counted_field>(),
       warm = seed_of<counted_field>();  // given away: what a function returns would be copied once more
  watched::copies = 0;
  asked::allocations = 0;
  (void)gradient(step, x0, plan, std::move(cold), one_step_adjoint<watched>{&spare}, work);
  CHECK(asked::allocations == 2 * std::size_t(work.frame_count()));  // each of two vectors
  CHECK(watched::copies > 1);
  watched::copies = 0;
  asked::allocations = 0;
  auto const b = gradient(step, x0, plan, std::move(warm), one_step_adjoint<watched>{&spare}, work);
  traffic const found{watched::copies, asked::allocations};
  CHECK(on_host(b) == all.gradient);
  return found;
}

}  // namespace

#define NEEDS_A_DEVICE() \
  if (char const* const why = why_skip()) CAIRN_SKIP(why)

TEST_CASE("vectors of Thrust, and tuples, structs and vectors of them, are states whose bytes are known", "[thrust]") {
  CHECK(copied_state<field>);
  CHECK(copied_state<waves>);
  CHECK(copied_state<fields>);
  CHECK(copied_state<std::vector<field>>);
  CHECK(copied_state<std::array<field, 2>>);
  CHECK(copied_state<counted_field>);
  CHECK(copied_state<thrust::universal_vector<float>>);
  CHECK(device_buffered<field>);
  CHECK(device_buffered<waves>);
  CHECK(device_buffered<fields>);
  CHECK(device_buffered<counted_field>);
  CHECK(device_buffered<thrust::universal_vector<float>>);
  CHECK(device_buffered<thrust::device_vector<std::array<float, 3>>>);
  CHECK_FALSE(buffered<waves>);
  CHECK(buffered<thrust::host_vector<double>>);
  CHECK_FALSE(cairn::state<thrust::device_ptr<double>>);
}

TEST_CASE("the runs of a state are the memory of its vectors and its host part", "[thrust]") {
  NEEDS_A_DEVICE();
  auto x = start<waves>();
  std::vector<std::pair<void const*, std::size_t>> on_device, beside;
  struct look {
    decltype(on_device)&device, &host;
    void operator()(device_pointer<void const> p, std::size_t bytes) { device.emplace_back(p.get(), bytes); }
    void operator()(void const* p, std::size_t bytes) { host.emplace_back(p, bytes); }
  };
  visit_buffers(std::as_const(x), look{on_device, beside});
  visit_buffers(x, look{on_device, beside});
  CHECK(on_device.size() == 4);
  for (std::size_t k = 0; k < on_device.size(); k += 2) {
    CHECK(on_device[k] == std::pair<void const*, std::size_t>{x.u.data().get(), cells * sizeof(double)});
    CHECK(on_device[k + 1] == std::pair<void const*, std::size_t>{x.v.data().get(), cells * sizeof(double)});
  }
  CHECK(beside.size() == 4);
  CHECK(beside[0] == std::pair<void const*, std::size_t>{&x.time, sizeof(double)});
  CHECK(bytes_of(x) == sizeof(waves) + 2 * cells * sizeof(double));
  CHECK(bytes_of(x.u) == sizeof(field) + cells * sizeof(double));
}

TEST_CASE("copies are deep, in the memory that is there, and of any size", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  auto from = start<waves>();
  from.counter = 5;
  waves into;
  copy_state(from, into);
  CHECK(on_host(into) == on_host(from));
  auto const* const memory = into.u.data().get();
  from.u[3] = 7;
  CHECK(on_host(into) != on_host(from));
  copy_state(from, into);
  CHECK(on_host(into) == on_host(from));
  CHECK(into.u.data().get() == memory);
  CHECK(into.u.data().get() != from.u.data().get());
  for (std::size_t const size : {std::size_t{0}, std::size_t{5}, cells + 9}) {
    from.u = filled<field>(double(size), 1);
    from.u.resize(size);
    copy_state(from, into);
    CHECK(on_host(into) == on_host(from));
  }
}

TEST_CASE("steps into another state give the bits of store-all for every plan", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  check_gradients<waves>(out_of_place_step<waves>{});
  check_gradients<fields>(out_of_place_step<fields>{});
}
TEST_CASE("steps in place give the bits of store-all for every plan", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<waves> spare;
  scratch<fields> spare_too;
  check_gradients<waves>(in_place_step<waves>{&spare});
  check_gradients<fields>(in_place_step<fields>{&spare_too});
}
TEST_CASE("steps by value give the bits of store-all for every plan", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  check_gradients<waves>(by_value_step<waves>{});
}
TEST_CASE("a sweep that is told of no stream gives the same bits", "[thrust]") {
  NEEDS_A_DEVICE();
  scratch<waves> spare;
  check_gradients<waves>(in_place_step<waves>{&spare});
  check_gradients<fields>(out_of_place_step<fields>{});
}

TEST_CASE("runs that are kept give the bits of store-all again and again, and every state", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<waves> spare;
  check_runs<waves>(in_place_step<waves>{&spare});
  check_runs<fields>(out_of_place_step<fields>{});
  check_runs<waves>(by_value_step<waves>{});
}

TEST_CASE("loops in loops give the bits of store-all", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<waves> spare, spare_too;
  step_index const outer = 4, inner = 6;
  stored<waves> const all{outer * inner};
  nested loop{revolve{inner, 2}, in_place_step<waves>{&spare}, one_step_adjoint<waves>{&spare_too}};
  CHECK(on_host(gradient(loop.step, start<waves>(), revolve{outer, 2}, seed_of<field>(), loop.adjoint)) ==
        all.gradient);
}

TEST_CASE("a warm sweep whose steps write into another state copies nothing but the caller's x0, and allocates nothing",
          "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  CHECK(of_warm_sweep(out_of_place_step<watched>{}, revolve{40, 4}) == traffic{1, 0});
  CHECK(of_warm_sweep(out_of_place_step<watched>{}, uniform{40}) == traffic{1, 0});
  CHECK(of_warm_sweep(out_of_place_step<watched>{}, store_all(40)) == traffic{1, 0});
}

TEST_CASE("a sweep copies no initial state that it is given", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<watched> spare;
  revolve const plan{9, 9};
  auto work = workspace_for<watched>(plan);
  auto const sweep = [&] {
    return gradient(out_of_place_step<watched>{}, start<watched>(), plan, seed_of<counted_field>(),
                    one_step_adjoint<watched>{&spare}, work);
  };
  (void)sweep();
  watched::copies = 0;
  CHECK(on_host(sweep()) == stored<watched>{9}.gradient);
  CHECK(watched::copies == 0);
}

TEST_CASE("steps in place are preceded by one copy where they meet a state that is kept, and by none elsewhere",
          "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<watched> spare;
  auto const check = [&](auto const& plan) {
    CHECK(of_warm_sweep(watched_step{&spare}, plan) == traffic{1 + steps_on_kept_states(plan), 0});
  };
  check(revolve{40, 4});
  check(revolve{40, 1});
  check(uniform{40});
  check(store_all(40));
  CHECK(steps_on_kept_states(store_all(40)) == 40);
}

TEST_CASE("a step that throws leaves a workspace that can be used again", "[thrust]") {
  NEEDS_A_DEVICE();
  on_stream const here{policy()};
  scratch<waves> spare;
  revolve const plan{20, 3};
  auto work = workspace_for<waves>(plan);
  int left = 0;
  auto const step = [&](waves const& x, waves& x1, step_index i) {
    if (left-- == 0) throw std::runtime_error{"stop"};
    step_into(x, x1, i);
  };
  stored<waves> const all{20};
  for (int const after : {0, 1, 9, 25}) {
    left = after;
    CHECK_THROWS_AS(gradient(step, start<waves>(), plan, seed_of<field>(), one_step_adjoint<waves>{&spare}, work),
                    std::runtime_error);
    left = 1'000'000;
    CHECK(on_host(gradient(step, start<waves>(), plan, seed_of<field>(), one_step_adjoint<waves>{&spare}, work)) ==
          all.gradient);
  }
}

TEST_CASE("the innermost on_stream counts, and what was said before counts again after it", "[thrust]") {
  NEEDS_A_DEVICE();
  auto from = start<waves>();
  waves into = start<waves>();
  on_stream const outer{thrust::device};
  {
    on_stream const inner{policy()};
    from.counter = 1;
    copy_state(from, into);
    CHECK(on_host(into) == on_host(from));
  }
  from.u[1] = 9;
  copy_state(from, into);
  CHECK(on_host(into) == on_host(from));
}
