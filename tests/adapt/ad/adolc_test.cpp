// SPDX-License-Identifier: Apache-2.0
// ADOL-C's tape.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/replay.hpp"
#include "adapt/ad/second_order.hpp"
#include "adapt/ad/turns.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>
#include <unistd.h>
#include <cairn/adapt/adolc.hpp>

namespace {

using cairn::step_index;
using tape = cairn::adolc_tape;

struct failing_late {
  template <class T>
  void operator()(ad_test::vec<T>& x, T const& a, step_index i) const {
    if (i == 200) throw std::runtime_error{"no"};
    for (auto& v : x) v = v + a * v * v;
  }
};

}  // namespace

TEST_CASE("ADOL-C keeps what every tape keeps", "[ad]") { ad_test::conforms<tape>(); }
TEST_CASE("ADOL-C adds seeds up first", "[ad]") { ad_test::adds_seeds_first<tape>(); }
TEST_CASE("tapes of ADOL-C are taken in turns", "[ad]") { ad_test::tapes_in_turns<tape>(); }
TEST_CASE("a recording of ADOL-C inside another is refused", "[ad]") { ad_test::tape_in_a_tape<tape>(); }
TEST_CASE("two loops over ADOL-C do not see each other's recordings", "[ad]") { ad_test::loops_in_turns<tape>(); }
TEST_CASE("threads over ADOL-C have the gradients of one thread", "[ad]") { ad_test::loops_in_threads<tape>(); }
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
TEST_CASE("a recording of ADOL-C holds for one layout of all numbers", "[ad]") { ad_test::layouts<tape>(); }
TEST_CASE("terms that do not take their index are replayed by ADOL-C", "[ad]") { ad_test::replayed_terms<tape>(); }
TEST_CASE("a comparison that comes out otherwise is recorded anew by ADOL-C", "[ad]") { ad_test::comparisons<tape>(); }
TEST_CASE("a model that reads more than it says is found out over ADOL-C", "[ad]") { ad_test::hidden_number<tape>(); }
TEST_CASE("a leaf for which a model chooses otherwise by plain values is recorded anew by ADOL-C", "[ad]") {
  ad_test::choices<tape>();
  ad_test::small_choices<tape>();
  ad_test::random_choices<tape>(1, 15);
}
TEST_CASE("ADOL-C records no step again for its last bits", "[ad]") { ad_test::fused_steps<tape>(); }
TEST_CASE("so it is in random models of ADOL-C", "[.soak][ad]") { ad_test::random_choices<tape>(2, 2'000); }
TEST_CASE("files of ADOL-C are gone after an exception", "[ad]") {
  namespace files = std::filesystem;
  auto const here = files::current_path();
  auto const folder = files::temp_directory_path() / ("cairn_adolc_" + std::to_string(getpid()));
  files::create_directory(folder);
  files::current_path(folder);
  auto const left = [&] { return std::distance(files::directory_iterator{folder}, files::directory_iterator{}); };
  for (bool const kept : {false, true}) {
    tape small{static_cast<short>(31'900), 64};
    cairn::taped loop{small, failing_late{}, 0.01};
    loop.begin();
    auto bar = loop.bar(ad_test::vec<double>{1, 0});
    if (kept) {
      loop.adjoint(ad_test::vec<double>{0.7, 0.2}, bar, 0, 150);  // a recording in files, which stays with the tape
      CHECK(left() > 0);
    }
    CHECK_THROWS_AS(loop.adjoint(ad_test::vec<double>{0.7, 0.2}, bar, 0, 201), std::runtime_error);
    CHECK(left() == 0);
  }
  {
    tape small{static_cast<short>(31'900), 64};
    ad_test::record_at(small, {3, 5}, 1, [](auto& x, auto& y) {
      for (int k = 0; k < 1'000; ++k) x[0] = x[0] * x[1];
      y[0] = x[0];
    });
    CHECK(left() > 0);
  }
  CHECK(left() == 0);
  files::current_path(here);
  files::remove_all(folder);
}
TEST_CASE("each tape of ADOL-C has a tag of its own, which goes back", "[ad]") {
  auto const tags_in_use = [] {
    std::vector<short> all;
    cachedTraceTags(all);
    return all;
  };
  auto const before = tags_in_use();
  auto const square = [](auto& x, auto& y) { y[0] = x[0] * x[0]; };
  {
    std::vector<tape> all;
    for (int k = 0; k < 4; ++k) {
      all.emplace_back();  // moves the others
      ad_test::record_at(all.back(), {double(k)}, 1, square);
    }
    auto now = tags_in_use();
    std::sort(now.begin(), now.end());
    CHECK(now.size() == before.size() + 4);
    CHECK(std::adjacent_find(now.begin(), now.end()) == now.end());
  }
  CHECK(tags_in_use().size() == before.size());
  for (int k = 0; k < 100; ++k) {
    tape one;
    ad_test::record_at(one, {3}, 1, square);
    CHECK(ad_test::reversed(one, 1, {1}) == ad_test::numbers{6});
  }
  CHECK(tags_in_use().size() == before.size());

  // two tapes that are given one tag, and code of the program's own under it
  tape first{static_cast<short>(7)}, second{static_cast<short>(7)};
  ad_test::record_at(first, {3}, 1, square);
  ad_test::record_at(second, {5}, 1, square);
  CHECK_THROWS_AS(ad_test::reversed(first, 1, {1}), cairn::invalid_call);
  double const other = 4;
  CHECK_FALSE(first.replay(&other));
  CHECK(ad_test::reversed(second, 1, {1}) == ad_test::numbers{10});
  {
    adouble u, v;
    double result = 0;
    trace_on(7);
    u <<= 2.0;
    v = u * u * u;
    v >>= result;
    trace_off();
  }
  CHECK_THROWS_AS(ad_test::reversed(second, 1, {1}), cairn::invalid_call);
  CHECK_FALSE(second.replay(&other));
  CHECK_THROWS_AS(tape{static_cast<short>(-1)}, cairn::invalid_call);
  CHECK_THROWS_AS((tape{static_cast<short>(1), 0}), cairn::invalid_call);
}
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
