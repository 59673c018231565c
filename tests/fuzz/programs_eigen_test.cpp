// SPDX-License-Identifier: Apache-2.0
// Random programs over Eigen's matrices, as in programs_test.cpp.
#include <Eigen/Core>
#include <cairn/adapt/eigen.hpp>
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

/// Vectors of any length, written through their first columns.
struct of_eigen {
  static constexpr char const* name = "Eigen's matrix";
  using state = Eigen::MatrixXf;
  using bar = numbers;
  static constexpr bool by_malloc = true;
  static std::size_t size(std::size_t wanted) { return 2 * (wanted + 1); }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) { v.assign(x.data(), x.data() + x.size()); }
  static void write(state& x, numbers const& v) {
    x.resize(2, Eigen::Index(v.size() / 2));
    for (std::size_t k = 0; k < v.size(); ++k) x.data()[k] = float(v[k]);
  }
};
/// A fixed size, within an aggregate that is resized beside it.
struct of_eigen_parts {
  static constexpr char const* name = "aggregate with Eigen's arrays";
  struct state {
    Eigen::Array3d fixed;
    Eigen::VectorXd rest;
  };
  using bar = numbers;
  static constexpr bool by_malloc = true;
  static std::size_t size(std::size_t wanted) { return wanted + 3; }
  static state blank() { return {Eigen::Array3d::Zero(), {}}; }
  static void read(state const& x, numbers& v) {
    v.assign(x.fixed.data(), x.fixed.data() + 3);
    v.insert(v.end(), x.rest.data(), x.rest.data() + x.rest.size());
  }
  static void write(state& x, numbers const& v) {
    x.fixed = Eigen::Array3d::Map(v.data());
    x.rest = Eigen::VectorXd::Map(v.data() + 3, Eigen::Index(v.size()) - 3);
  }
};

void run(unsigned long first, unsigned long count) {
  run_programs(first, count,
               {
                   gradients<of_eigen, in_place, with_next>,
                   gradients<of_eigen, by_value, one_step>,
                   gradients<of_eigen, out_of_place, recorded_restarting>,
                   gradients<of_eigen_parts, in_place, of_leaf>,
                   gradients<of_eigen_parts, by_value, one_step_by_value>,
                   gradients<of_eigen_parts, out_of_place, one_step>,
                   resumes<of_eigen, in_place, one_step>,
                   loops<of_eigen, by_value>,
                   loops<of_eigen_parts, in_place>,
                   whiles<of_eigen, out_of_place>,
               });
}

}  // namespace
}  // namespace fuzz

TEST_CASE("random programs over Eigen's matrices give what storing everything gives") { fuzz::run(1, 3'000); }

TEST_CASE("random programs over Eigen's matrices, as many as are asked for", "[.soak]") {
  fuzz::run(2'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000));
}
