// SPDX-License-Identifier: Apache-2.0
// XAD's tape, by its documented interface: over a stand-in, because Debian does not have XAD.
#include <cairn/adapt/xad.hpp>
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "support/catch.hpp"

namespace {

using tape = cairn::xad_tape;

}  // namespace

TEST_CASE("XAD's interface keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("XAD's interface adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("a step that reads its index has the right adjoint by XAD's interface", "[ad]") {
  ad_test::time_dependent_trap<tape>();
}
TEST_CASE("Burgers has the adjoint that is known by XAD's interface", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by XAD's interface", "[ad]") {
  ad_test::lotka_volterra_case<tape>();
}
