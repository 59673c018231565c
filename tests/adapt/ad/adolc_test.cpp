// SPDX-License-Identifier: Apache-2.0
// ADOL-C's tape.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/replay.hpp"
#include "adapt/ad/second_order.hpp"
#include "support/catch.hpp"
#include <cairn/adapt/adolc.hpp>

namespace {

using cairn::step_index;
using tape = cairn::adolc_tape;

}  // namespace

TEST_CASE("ADOL-C keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("ADOL-C adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("a step that reads its index has the right adjoint by ADOL-C", "[ad]") {
  ad_test::time_dependent_trap<tape>();
}
TEST_CASE("Burgers has the adjoint that is known by ADOL-C", "[ad]") { ad_test::burgers<tape>(); }
TEST_CASE("Lotka-Volterra has the adjoint that is known by ADOL-C", "[ad]") { ad_test::lotka_volterra_case<tape>(); }
TEST_CASE("ADOL-C over numbers with a slope gives products of the Hessian", "[ad]") {
  ad_test::hessian_products<tape>();
}
TEST_CASE("a model over a ring of states is differentiated by ADOL-C", "[ad]") { ad_test::rings<tape>(); }
TEST_CASE("a model whose state jumps is differentiated by ADOL-C", "[ad]") { ad_test::jumps<tape>(); }
TEST_CASE("ADOL-C replays as every tape that replays", "[ad]") { ad_test::replays<tape>(); }
TEST_CASE("one recording of ADOL-C serves all leaves of a loop", "[ad]") { ad_test::one_recording<tape>(); }
TEST_CASE("terms that do not take their index are replayed by ADOL-C", "[ad]") { ad_test::replayed_terms<tape>(); }
TEST_CASE("a comparison that comes out otherwise is recorded anew by ADOL-C", "[ad]") { ad_test::comparisons<tape>(); }
TEST_CASE("a model that reads more than it says is found out over ADOL-C", "[ad]") { ad_test::hidden_number<tape>(); }
TEST_CASE("a recording that went to files is made anew with larger buffers, and then replayed", "[ad]") {
  tape small{static_cast<short>(31'900), 64};
  cairn::taped loop{small, ad_test::by_data{}, 0.01};
  ad_test::vec<double> const x{0.7, 0.2};
  auto const leaf = [&](step_index first) {
    auto bar = loop.bar(ad_test::vec<double>{1, 0});
    loop.adjoint(x, bar, first, first + 40);
    return bar;
  };
  loop.begin();
  (void)leaf(0);
  CHECK(small.recordings() == 1);
  (void)leaf(40);  // from files no replay
  CHECK(small.recordings() == 2);
  (void)leaf(80);  // the first replay, which is held against a recording
  CHECK(small.recordings() == 3);
  (void)leaf(120);  // the second one, too
  CHECK(small.recordings() == 4);
  auto const replayed = leaf(160);
  CHECK(small.recordings() == 4);
  loop.clear();
  auto const recorded = leaf(160);
  CHECK(replayed.state == recorded.state);
  CHECK(replayed.params == recorded.params);
}
