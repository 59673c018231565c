// SPDX-License-Identifier: Apache-2.0
// Sacado's tape in reverse mode.
#include <cairn/adapt/sacado.hpp>
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/second_order.hpp"
#include "support/catch.hpp"

namespace {

using tape = cairn::sacado_tape;

}  // namespace

TEST_CASE("Sacado keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("Sacado adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
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
