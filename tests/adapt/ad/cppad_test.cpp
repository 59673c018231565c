// SPDX-License-Identifier: Apache-2.0
// CppAD's tape.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/replay.hpp"
#include "adapt/ad/second_order.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/cppad.hpp>

namespace {

using tape = cairn::cppad_tape;

}  // namespace

TEST_CASE("CppAD keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("CppAD adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("a step that reads its index has the right adjoint by CppAD", "[ad]") {
  ad_test::time_dependent_trap<tape>();
}
TEST_CASE("Burgers has the adjoint that is known by CppAD", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by CppAD", "[ad]") { ad_test::lotka_volterra_case<tape>(); }
TEST_CASE("CppAD over numbers with a slope gives products of the Hessian", "[ad]") {
  ad_test::hessian_products<tape>();
}
TEST_CASE("a model over a ring of states is differentiated by CppAD", "[ad]") { ad_test::rings<tape>(); }
TEST_CASE("a model whose state jumps is differentiated by CppAD", "[ad]") { ad_test::jumps<tape>(); }
TEST_CASE("CppAD replays as every tape that replays", "[ad]") { ad_test::replays<tape>(); }
TEST_CASE("one recording of CppAD serves all leaves of a loop", "[ad]") { ad_test::one_recording<tape>(); }
TEST_CASE("terms that do not take their index are replayed by CppAD", "[ad]") { ad_test::replayed_terms<tape>(); }
TEST_CASE("a comparison that comes out otherwise is recorded anew by CppAD", "[ad]") { ad_test::comparisons<tape>(); }
TEST_CASE("a model that reads more than it says is found out over CppAD", "[ad]") { ad_test::hidden_number<tape>(); }
