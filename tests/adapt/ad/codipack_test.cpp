// SPDX-License-Identifier: Apache-2.0
// CoDiPack's tape, by its documented interface: over a stand-in, because Debian does not have CoDiPack.
#include <cairn/adapt/codipack.hpp>
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/turns.hpp"
#include "support/catch.hpp"

namespace {

using tape = cairn::codipack_tape<>;

}  // namespace

TEST_CASE("CoDiPack's interface keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("CoDiPack's interface adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("tapes of CoDiPack's interface are taken in turns", "[ad]") { ad_test::tapes_in_turns<tape>(); }
TEST_CASE("a recording of CoDiPack's interface inside another is refused", "[ad]") { ad_test::tape_in_a_tape<tape>(); }
TEST_CASE("two loops over CoDiPack's interface do not see each other's recordings", "[ad]") {
  ad_test::loops_in_turns<tape>();
}
TEST_CASE("threads over CoDiPack's interface have the gradients of one thread", "[ad]") {
  ad_test::loops_in_threads<tape>();
}
TEST_CASE("a step that reads its index has the right adjoint by CoDiPack's interface", "[ad]") {
  ad_test::time_dependent_trap<tape>();
}
TEST_CASE("Burgers has the adjoint that is known by CoDiPack's interface", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by CoDiPack's interface", "[ad]") {
  ad_test::lotka_volterra_case<tape>();
}
