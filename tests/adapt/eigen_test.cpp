// SPDX-License-Identifier: Apache-2.0
// Eigen's types are states that copy without allocating; what only refers to one is none.
#include <stdexcept>
#define EIGEN_RUNTIME_NO_MALLOC
#define eigen_assert(claim) ((claim) ? void() : throw std::logic_error{#claim})
#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <Eigen/Geometry>
#include <Eigen/Sparse>
#include "support/catch.hpp"
#include "support/memory_bytes.hpp"

using cairn::bytes_of;
using cairn::step_index;
namespace {

using vector = Eigen::VectorXd;
using matrix = Eigen::MatrixXf;
using fixed = Eigen::Vector3d;
using bounded = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 8, 1>;
using array = Eigen::ArrayXXd;
using sparse = Eigen::SparseMatrix<double>;
using sparse_vector = Eigen::SparseVector<float>;
using sizes = std::vector<std::size_t>;

struct body {
  Eigen::Quaterniond turned = Eigen::Quaterniond::Identity();
  fixed at = fixed::Zero();
  vector joints;
  double t = 0;
};

template <class T>
sizes runs(T& x) {
  sizes all;
  cairn::visit_buffers(x, [&](auto*, std::size_t size) { all.push_back(size); });
  return all;
}
template <class T>
inline constexpr bool whole = cairn::copied_state<T> && cairn::sized_state<T> && cairn::buffered<T>;

sparse some_sparse() {
  sparse x(4, 5);
  x.insert(1, 2) = 3;
  x.insert(3, 4) = 2;
  return x;
}

/// Eigen throws where it would allocate.
struct no_malloc {
  no_malloc() { Eigen::internal::set_is_malloc_allowed(false); }
  ~no_malloc() { Eigen::internal::set_is_malloc_allowed(true); }
};

}  // namespace

TEST_CASE("matrices and what is made of them are states", "[eigen]") {
  CHECK(whole<vector>);
  CHECK(whole<matrix>);
  CHECK(whole<fixed>);
  CHECK(whole<bounded>);
  CHECK(whole<array>);
  CHECK(whole<Eigen::MatrixXcd>);
  CHECK(whole<sparse>);
  CHECK(whole<sparse_vector>);
  CHECK(whole<Eigen::Quaterniond>);
  CHECK(whole<Eigen::Isometry3d>);
  CHECK(whole<body>);
  CHECK(whole<std::tuple<vector, matrix, double>>);
  CHECK(whole<std::vector<fixed>>);
}

TEST_CASE("views and expressions are no states", "[eigen]") {
  using cairn::detail::copy_fault;
  vector x(3);
  matrix m(2, 2);
  auto const why = [](auto const& expression) {
    return cairn::detail::copy_fault_of<std::remove_cvref_t<decltype(expression)>>();
  };
  CHECK(why(x) == copy_fault::none);
  CHECK(why(2 * x) == copy_fault::expression);
  CHECK(why(x + x) == copy_fault::expression);
  CHECK(why(m * m) == copy_fault::expression);
  CHECK(why(m.transpose()) == copy_fault::expression);
  CHECK(why(x.head(2)) == copy_fault::expression);
  CHECK(why(m.row(0)) == copy_fault::expression);
  CHECK(why(x.array()) == copy_fault::expression);
  CHECK(why(Eigen::Map<vector>{x.data(), 3}) == copy_fault::expression);
  CHECK(why(Eigen::Ref<vector>{x}) == copy_fault::expression);
  CHECK(why(Eigen::Ref<vector const>{x}) == copy_fault::expression);
  CHECK(why((2 * x).eval()) == copy_fault::none);
  CHECK(cairn::detail::copy_fault_of<Eigen::Map<Eigen::Quaterniond>>() == copy_fault::expression);
  CHECK(cairn::detail::copy_fault_of<Eigen::Map<sparse>>() == copy_fault::expression);
  CHECK(cairn::detail::copy_fault_of<std::tuple<vector, Eigen::Ref<vector>>>() == copy_fault::expression);
  CHECK(cairn::detail::copy_fault_of<Eigen::Matrix<double*, 2, 1>>() == copy_fault::handle);
}

TEST_CASE("a step must return the matrix, and not an expression of it", "[eigen]") {
  auto const expression = [](vector const& x) { return 2 * x; };
  auto const evaluated = [](vector const& x) { return (2 * x).eval(); };
  auto const in_place = [](vector& x, step_index) { x *= 2; };
  auto const in_place_generic = [](auto& x, auto i) { x *= double(i); };
  auto const adjoint = [](vector const&, vector const& bar) { return 2 * bar; };
  auto const returns_assignment = [](vector& x) { return x *= 2; };
  CHECK_FALSE(cairn::step_of<decltype(expression), vector>);
  CHECK(cairn::step_of<decltype(evaluated), vector>);
  CHECK(cairn::step_of<decltype(in_place), vector>);
  CHECK(cairn::step_of<decltype(in_place_generic), vector>);
  CHECK_FALSE(cairn::step_of<decltype(returns_assignment), vector>);
  CHECK_FALSE(cairn::adjoint_of<decltype(adjoint), vector, vector>);
}

TEST_CASE("the bytes of a matrix are its object, its coefficients on the heap and what aligns them there", "[eigen]") {
  std::size_t const aligned = EIGEN_MALLOC_ALREADY_ALIGNED ? 0 : EIGEN_DEFAULT_ALIGN_BYTES;
  CHECK(bytes_of(vector(5)) == sizeof(vector) + 40 + aligned);
  CHECK(bytes_of(vector{}) == sizeof(vector));
  CHECK(bytes_of(matrix(3, 4)) == sizeof(matrix) + 48 + aligned);
  CHECK(bytes_of(Eigen::Matrix<double, -1, 1, Eigen::DontAlign>(5)) == sizeof(vector) + 40);
  CHECK(bytes_of(fixed{}) == 24);
  CHECK(bytes_of(bounded(5)) == sizeof(bounded));
  CHECK(bytes_of(Eigen::Quaterniond{}) == 32);
  CHECK(bytes_of(body{{}, {}, vector(4), 1}) == sizeof(body) + 32 + aligned);
  CHECK(bytes_of(std::vector<vector>{vector(1), vector(2)}) ==
        sizeof(std::vector<vector>) + 2 * sizeof(vector) + 24 + 2 * aligned);
  using deep = Eigen::Array<std::vector<double>, 2, 1>;
  deep nested;
  nested(0) = {1, 2, 3};
  CHECK(bytes_of(nested) == sizeof(deep) + 24);
  sparse x = some_sparse();
  x.makeCompressed();
  CHECK(bytes_of(x) == sizeof(sparse) + std::size_t{2} * (8 + 4) + std::size_t{6} * 4);
}

TEST_CASE("copying between matrices of one size allocates nothing", "[eigen]") {
  body const from{Eigen::Quaterniond::UnitRandom(), fixed::Ones(), vector::Ones(100), 2};
  body into{{}, {}, vector::Zero(100), 0};
  array const a = array::Ones(3, 4);
  array b = array::Zero(3, 4);
  {
    no_malloc const here;
    CHECK_NOTHROW(cairn::copy_state(from, into));
    CHECK_NOTHROW(cairn::copy_state(a, b));
    CHECK_THROWS_AS(vector(100), std::logic_error);  // the watch is awake
  }
  CHECK(into.joints == from.joints);
  CHECK(into.turned.coeffs() == from.turned.coeffs());
  CHECK((b == a).all());
}

TEST_CASE("coefficients are one run, and can be written back", "[eigen]") {
  vector x = vector::LinSpaced(3, 1, 3);
  matrix m(2, 3);
  body b{{}, {}, vector(4), 1};
  vector none;
  Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
  CHECK(runs(x) == sizes{24});
  CHECK(runs(std::as_const(x)) == sizes{24});
  CHECK(runs(m) == sizes{24});
  CHECK(runs(b) == sizes{32, 24, 32, 8});
  CHECK(runs(none) == sizes{0});
  CHECK(runs(pose) == sizes{128});
  cairn::visit_buffers(x, [](void* run, std::size_t) { static_cast<double*>(run)[1] = 7; });
  CHECK(x[1] == 7.0);
}

TEST_CASE("a sparse matrix is its values and indices, with or without room between columns", "[eigen]") {
  sparse loose = some_sparse();
  sparse tight = loose;
  tight.makeCompressed();
  CHECK_FALSE(loose.isCompressed());
  CHECK(runs(tight) == sizes{24, 8, 16});
  std::size_t loose_bytes = 0;
  for (std::size_t size : runs(loose)) loose_bytes += size;
  CHECK(loose_bytes == 24 + 20 + 2 * (4 + 8));
  sparse_vector v(5);
  v.insert(3) = 1;
  CHECK(runs(v) == sizes{4, 4});

  sparse copy;
  cairn::copy_state(tight, copy);
  sparse_vector copied;
  cairn::copy_state(v, copied);
  CHECK(copy.coeff(1, 2) == 3.0);
  CHECK(copied.coeff(3) == 1.0f);
}

TEST_CASE("the shape of a matrix counts for a replay check, where its coefficients are the same", "[eigen]") {
  using cairn::detail::hash_of;
  CHECK(hash_of(matrix::Zero(2, 3).eval()) != hash_of(matrix::Zero(3, 2).eval()));
  CHECK(hash_of(matrix(0, 3)) != hash_of(matrix(3, 0)));
  CHECK(hash_of(std::vector{matrix(0, 0), matrix(1, 1)}.front()) == hash_of(matrix(0, 0)));
  sparse wide(4, 3), tall(5, 3);
  CHECK(hash_of(wide) != hash_of(tall));
  CHECK(hash_of(sparse(wide)) == hash_of(wide));
}

TEST_CASE("matrices are written with their shape, and read into any", "[eigen]") {
  struct shapes {
    body b;
    matrix m;
    bounded few;
    std::vector<fixed> points;
    Eigen::Array<bool, -1, 1> flags;
    Eigen::Matrix<std::vector<int>, 1, -1> lists;
  };
  shapes const x{{Eigen::Quaterniond::UnitRandom(), fixed::Random(), vector::Random(100), 2},
                 matrix::Random(2, 3),
                 bounded::Random(5),
                 {fixed::Ones()},
                 Eigen::Array<bool, -1, 1>::Constant(3, true),
                 {}};
  CHECK(memory_bytes::shows_what_is_written(x));
  std::string const bytes = memory_bytes::written(x);
  shapes same = x, other{{}, matrix::Zero(3, 2), bounded::Zero(1), {}, {}, {}};
  other.lists.resize(2);
  for (shapes* into : {&same, &other}) {
    CHECK(memory_bytes::read(*into, bytes) == 0);
    CHECK(into->b.turned.coeffs() == x.b.turned.coeffs());
    CHECK(into->b.joints == x.b.joints);
    CHECK(into->m == x.m);
    CHECK(into->few == x.few);
    CHECK(into->points == x.points);
    CHECK((into->flags == x.flags).all());
    CHECK(into->lists.size() == 0);
  }
  CHECK(memory_bytes::written(fixed::Ones().eval()).size() == 24);
  auto const refuses = [](auto into, std::initializer_list<std::uint64_t> lengths) {
    std::string given;
    for (std::uint64_t const length : lengths) given += memory_bytes::written(length);
    CHECK_THROWS_AS(memory_bytes::read(into, given), cairn::invalid_bytes);
  };
  refuses(matrix{}, {3, 1, 0});
  refuses(matrix{}, {std::uint64_t{1} << 62, 8, 0});
  refuses(matrix{}, {~std::uint64_t{0}, 0});
  refuses(bounded{}, {9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  refuses(vector{}, {1, 2, 0, 0});
  CHECK_FALSE(cairn::written_state<Eigen::Map<vector>>);
}

TEST_CASE("sparse matrices are read into any other; spoilt bytes are a matrix or an error", "[eigen]") {
  sparse const loose = some_sparse(), copy = loose;  // a copy is compressed
  std::string const bytes = memory_bytes::written(loose);
  CHECK(memory_bytes::written(copy) == bytes);
  sparse wide(1, 40), empty, alike = 2 * loose;
  for (int column = 0; column < 40; ++column) wide.insert(0, column) = column;
  for (sparse* into : {&wide, &empty, &alike}) {
    CHECK(memory_bytes::read(*into, bytes) == 0);
    CHECK(into->isApprox(loose));
    CHECK(into->nonZeros() == loose.nonZeros());
    CHECK(into->data().allocatedSize() == into->nonZeros());
  }
  std::size_t values = 0, refused = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    CHECK_THROWS_AS(memory_bytes::read(alike, bytes.substr(0, k)), cairn::invalid_bytes);
    for (int bit = 0; bit < 8; ++bit) {
      std::string spoilt = bytes;
      spoilt[k] = static_cast<char>(spoilt[k] ^ 1 << bit);
      try {
        memory_bytes::read(alike, spoilt);
        ++values;
      } catch (cairn::invalid_bytes const&) { ++refused; }
      CHECK(alike.data().allocatedSize() <= 100);
      CHECK(Eigen::MatrixXd(alike.topRows(std::min<Eigen::Index>(alike.rows(), 10))).size() >= 0);  // reads every place
    }
  }
  CHECK(values > 64 * std::size_t(loose.nonZeros()) / 2);
  CHECK(refused > 0);
}

TEST_CASE("a loop over matrices has the gradient of the product of its steps", "[eigen]") {
  matrix const a = (matrix(2, 2) << 0.9f, 0.2f, -0.1f, 1.1f).finished();
  using state = Eigen::Vector2f;
  auto const step = [&](state& x, step_index) { x = (a * x).eval(); };
  auto const value = [&](state const& x) -> state { return a * x; };
  auto const adjoint = [&](state const&, state& bar, step_index) { bar = (a.transpose() * bar).eval(); };
  auto const seed = [](state const&) { return state{1, 2}; };
  state want{1, 2};
  for (int k = 0; k < 20; ++k) want = (a.transpose() * want).eval();
  CHECK(cairn::gradient(step, state{1, 1}, cairn::revolve{20, 3}, seed, adjoint) == want);
  CHECK(cairn::gradient(value, state{1, 1}, 20, seed, adjoint) == want);
}

TEST_CASE("a matrix is a seed, though it can be called with indices", "[eigen]") {
  auto const step = [](vector& x, step_index) { x *= 2; };
  auto const adjoint = [](vector const&, vector& bar, step_index) { bar *= 2; };
  vector const seed = vector::LinSpaced(5, 1, 5);
  CHECK(cairn::gradient(step, vector(vector::Ones(5)), 3, seed, adjoint) == 8 * seed);
  auto run = cairn::checkpointed_loop(step, vector(vector::Ones(5)), 3);
  CHECK(run.reverse(seed, adjoint) == 8 * seed);
}

TEST_CASE("a warm sweep over matrices and tuples of them allocates nothing in Eigen, in place and out of place",
          "[eigen]") {
  using state = std::tuple<matrix, array>;
  state const x0{matrix::Ones(8, 4), array::Ones(8, 4)};
  auto const turn = [](state const& x, state& x1) {
    std::get<0>(x1).noalias() = 0.5f * std::get<0>(x);
    std::get<1>(x1) = std::get<1>(x) + 0.25;
  };
  auto const in_place = [&](state& x, step_index) { turn(x, x); };
  auto const out_of_place = [&](state const& x, state& x1, step_index) { turn(x, x1); };
  double parameter = 0;
  auto const adjoint = [&](state const& x, double& bar, step_index) {
    parameter += bar * double(std::get<0>(x).sum()), bar *= 0.5;
  };
  auto const check = [&](auto const& step, auto const& plan) {
    auto work = cairn::workspace_for<state>(plan);
    double const cold = cairn::gradient(step, x0, plan, 1.0, adjoint, work);
    no_malloc const here;
    CHECK_NOTHROW(cold == cairn::gradient(step, x0, plan, 1.0, adjoint, work) ? void()
                                                                              : throw std::logic_error{"other bits"});
  };
  for (step_index const n : {1, 2, 50}) {
    check(in_place, cairn::revolve{n, 4});
    check(out_of_place, cairn::revolve{n, 4});
    check(in_place, cairn::uniform{n});
    check(out_of_place, cairn::store_all(n));
  }
}

TEST_CASE("check_adjoint varies the coefficients of vectors and matrices") {
  struct layers {
    vector hidden;
    Eigen::Matrix<double, 2, 3> fixed_part;
    Eigen::Vector2cd complex_part;
  };
  layers x{vector::LinSpaced(5, 0.1, 1), Eigen::Matrix<double, 2, 3>::Constant(0.3),
           Eigen::Vector2cd{std::complex<double>{0.1, 0.2}, std::complex<double>{0.3, -0.4}}};
  std::vector<double const*> starts;
  std::size_t count = 0;
  cairn::visit_numbers(std::as_const(x), [&](double const* run, std::size_t size) {
    if (starts.empty() || run != starts.back()) starts.push_back(run);
    count += size;
  });
  CHECK(count == 5 + 6 + 4);
  CHECK(starts.front() == x.hidden.data());

  auto step = [](layers& u) {
    u.hidden = u.hidden.array().sin().matrix() * u.fixed_part(1, 2);
    u.complex_part *= std::complex<double>{0.6, 0.8};
  };
  auto adjoint = [](layers const& u, layers& bar) {
    bar.fixed_part(1, 2) += (u.hidden.array().sin() * bar.hidden.array()).sum();
    bar.hidden = (u.hidden.array().cos() * bar.hidden.array()).matrix() * u.fixed_part(1, 2);
    bar.complex_part *= std::complex<double>{0.6, -0.8};
  };
  auto const report = cairn::check_adjoint(step, adjoint, x, 4);
  INFO(report.text());
  CHECK(report.passed());
}
