// SPDX-License-Identifier: Apache-2.0
// Sacado's tape in reverse mode.
#include <cairn/adapt/sacado.hpp>
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/second_order.hpp"
#include "adapt/ad/turns.hpp"
#include "support/catch.hpp"

namespace {

using tape = cairn::sacado_tape;

}  // namespace

TEST_CASE("Sacado keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("Sacado adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("tapes of Sacado are taken in turns", "[ad]") { ad_test::tapes_in_turns<tape>(); }
TEST_CASE("a recording of Sacado inside another is refused", "[ad]") { ad_test::tape_in_a_tape<tape>(); }
TEST_CASE("two loops over Sacado do not see each other's recordings", "[ad]") { ad_test::loops_in_turns<tape>(); }
TEST_CASE("threads over Sacado have the gradients of one thread", "[ad]") { ad_test::loops_in_threads<tape>(); }
TEST_CASE("a step that reads its index has the right adjoint by Sacado", "[ad]") {
  ad_test::time_dependent_trap<tape>();
}
TEST_CASE("Burgers has the adjoint that is known by Sacado", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by Sacado", "[ad]") { ad_test::lotka_volterra_case<tape>(); }
TEST_CASE("Sacado over numbers with a slope gives products of the Hessian", "[ad]") {
  ad_test::hessian_products<tape>();
}
TEST_CASE("a model over a ring of states is differentiated by Sacado", "[ad]") { ad_test::rings<tape>(); }
TEST_CASE("a model whose state jumps is differentiated by Sacado", "[ad]") { ad_test::jumps<tape>(); }
