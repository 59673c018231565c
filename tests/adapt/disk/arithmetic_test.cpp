// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a thread is a part of a run's name.
#include <string>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/with/flush_subnormals.hpp>
#include "support/catch.hpp"
#include "support/temporary.hpp"

using cairn::flush_subnormals;

namespace {

using numbers = std::vector<float>;
constexpr cairn::step_index n = 1'000;
auto const step = [](numbers& x) { for (float& v : x) v = 0.9f * v + 0.01f; };
auto const adjoint = [](numbers const&, numbers& bar) { for (float& v : bar) v *= 0.9f; };
numbers const x0(8, 1.0f), ones(8, 1.0f);

}  // namespace

TEST_CASE("a run on disk is known by the mode, by whatever means it was set") {
  if (!flush_subnormals::works) CAIRN_SKIP("flush_subnormals does nothing here");
  support::temporary const folder;
  cairn::disk const run{folder.run()};
  auto const result = [&](auto const&... flushed) {
    return cairn::gradient(step, x0, cairn::multistage{n, 2, 8}, ones, adjoint, run, flushed...);
  };
  auto const plain = result();
  CHECK(result() == plain);
  CHECK(run.report().finished);
  auto const flushed = result(flush_subnormals{});
  CHECK_FALSE(run.report().finished);
  CHECK(run.report().differs == "arithmetic");
  CHECK(flushed != plain);
  flush_subnormals const here;
  CHECK(result() == flushed);
  CHECK(run.report().finished);
}
