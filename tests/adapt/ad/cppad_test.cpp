// SPDX-License-Identifier: Apache-2.0
// CppAD's tape.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/replay.hpp"
#include "adapt/ad/second_order.hpp"
#include "adapt/ad/turns.hpp"
#include "support/catch.hpp"
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/cppad.hpp>

namespace {

using tape = cairn::cppad_tape;

}  // namespace

TEST_CASE("CppAD keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("CppAD adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("tapes of CppAD are taken in turns", "[ad]") { ad_test::tapes_in_turns<tape>(); }
TEST_CASE("a recording of CppAD inside another is refused", "[ad]") { ad_test::tape_in_a_tape<tape>(); }
TEST_CASE("two loops over CppAD do not see each other's recordings", "[ad]") { ad_test::loops_in_turns<tape>(); }
TEST_CASE("threads over CppAD have the gradients of one thread", "[ad]") { ad_test::loops_in_threads<tape>(); }
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
TEST_CASE("a recording of CppAD holds for one layout of all numbers", "[ad]") { ad_test::layouts<tape>(); }
TEST_CASE("terms that do not take their index are replayed by CppAD", "[ad]") { ad_test::replayed_terms<tape>(); }
TEST_CASE("a comparison that comes out otherwise is recorded anew by CppAD", "[ad]") { ad_test::comparisons<tape>(); }
TEST_CASE("a model that reads more than it says is found out over CppAD", "[ad]") { ad_test::hidden_number<tape>(); }
TEST_CASE("a leaf for which a model chooses otherwise by plain values is recorded anew by CppAD", "[ad]") {
  ad_test::choices<tape>();
  ad_test::small_choices<tape>();
  ad_test::random_choices<tape>(1, 15);
}
TEST_CASE("CppAD records no step again for its last bits", "[ad]") { ad_test::fused_steps<tape>(); }
TEST_CASE("so it is in random models of CppAD", "[.soak][ad]") { ad_test::random_choices<tape>(2, 2'000); }
TEST_CASE("a recording of CppAD belongs to its thread, and can be freed in any", "[ad]") {
  using ad_test::numbers;
  auto const product = [](auto& x, auto& y) { y[0] = x[0] * x[1]; };
  CHECK_THROWS_AS(cairn::cppad_in_threads(1), cairn::invalid_call);
  CHECK_THROWS_AS(cairn::cppad_in_threads(49), cairn::invalid_call);
  tape before;  // from the time of one thread
  ad_test::record_at(before, {3, 5}, 1, product);
  cairn::cppad_in_threads(6);
  CHECK_THROWS_AS(cairn::cppad_in_threads(6), cairn::invalid_call);
  CHECK(ad_test::reversed(before, 2, {1}) == numbers{5, 3});

  std::optional<tape> made;
  std::thread{[&] {
    CHECK_THROWS_AS(ad_test::reversed(before, 2, {1}), cairn::invalid_call);
    made.emplace();
    ad_test::record_at(*made, {2, 7}, 1, product);
    tape moved{std::move(before)};  // freed here
    ad_test::record_at(moved, {2, 7}, 1, product);
    CHECK(ad_test::reversed(moved, 2, {1}) == numbers{7, 2});
  }}.join();
  CHECK_THROWS_AS(ad_test::reversed(*made, 2, {1}), cairn::invalid_call);
  made.reset();

  for (int pass = 0; pass < 3; ++pass) ad_test::loops_in_threads<tape>();

  // more threads than there are numbers
  std::mutex guard;
  std::condition_variable all_here;
  int here = 0, refused = 0;
  std::vector<std::thread> all;
  for (int k = 0; k < 8; ++k)
    all.emplace_back([&] {
      bool taken = true;
      try {
        tape one;
        ad_test::record_at(one, {2, 7}, 1, product);
      } catch (cairn::invalid_call const&) {
        taken = false;
      }
      std::unique_lock held{guard};
      refused += !taken;
      if (++here == 8) all_here.notify_all();
      all_here.wait(held, [&] { return here == 8; });
    });
  for (auto& each : all) each.join();
  CHECK(refused == 3);  // six numbers, one of which this thread has
}
