// SPDX-License-Identifier: Apache-2.0
// Budgets of loops that run backwards and are on disk: the heap stays below them, with what the run itself takes, and a
// sweep that goes on has the bits of one that was not stopped, also if what is kept grows beyond what was planned.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments_of.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

using cairn::segments_of;
using cairn::step_index;

namespace {

using field = std::vector<double>;
constexpr step_index n = 60;
double const p = 1.5;
struct stopped {};
long left = -1;  // calls until one stops
void tick() {
  if (left >= 0 && left-- == 0) throw stopped{};
}
/// The inverse has rounding.
struct step {
  void operator()(field& x, double by, step_index i) const {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += 0.1 * std::sin(by * x[(k + 1) % x.size()] + double(i));
  }
};
struct keep {
  field operator()(field const& x, step_index i) const { return tick(), field(5 + std::size_t(i) % 40, x[0]); }
};
struct back {
  void operator()(field& x, field const&, double by, step_index i) const {
    tick();
    for (std::size_t k = x.size(); k-- > 0;) x[k] -= 0.1 * std::sin(by * x[(k + 1) % x.size()] + double(i));
  }
};
struct adjoint {
  void operator()(field const& x, field& bar, double by, double& dp, step_index) const {
    tick();
    for (std::size_t k = 0; k < x.size(); ++k) dp += bar[k] * x[k], bar[k] *= 1 + 1e-3 * by * x[k];
  }
};
struct answer {
  field bar;
  double dp = 0;
  bool operator==(answer const&) const = default;
};
cairn::reversal_report report;
answer once(field const& x0, std::int64_t bytes, cairn::disk const& run) {
  answer found;
  cairn::model m{cairn::reversible{step{}, keep{}, back{}, {.drift = 1e-10, .report = &report}}, adjoint{}};
  found.bar = cairn::gradient(m.step, x0, segments_of{n, bytes}, field(x0.size(), 1.0), m.adjoint,
                              cairn::wrt{p, found.dp}, run);
  return found;
}

}  // namespace

TEST_CASE("a budget of segments on disk counts what the run takes, and is kept by one that goes on") {
  field const x0(200, 0.5);
  std::int64_t least = 0;
  {
    support::temporary const here;
    try {
      (void)once(x0, 1, cairn::disk{here.run()});
      FAIL("one byte is enough");
    } catch (cairn::infeasible_budget const& e) {
      least = std::int64_t(e.value(1).magnitude);
    }
  }
  CHECK(least > 65'536);
  for (std::int64_t const bytes : {least + 2'000, least + 5'000, least + 12'000, least + 40'000}) {
    CAPTURE(bytes, least);
    support::temporary const fresh;
    heap::mark const from;
    answer const right = once(x0, bytes, cairn::disk{fresh.run()});
    CHECK(from.rise() + cairn::bytes_of(x0) <= std::size_t(bytes));
    if (bytes > least + 20'000) CHECK(report.steps_again == 0);
    for (long stop = 5; stop < 300; stop += 23) {
      CAPTURE(stop);
      support::temporary const here;
      left = stop;
      heap::mark const again;
      auto const runs = [&] {
        try {
          return once(x0, bytes, cairn::disk{here.run(), {.commit_every = 3}});
        } catch (stopped const&) {
          left = -1;
          return once(x0, bytes, cairn::disk{here.run(), {.commit_every = 3}});
        }
      };
      CHECK(runs() == right);
      left = -1;
      CHECK(again.rise() + cairn::bytes_of(x0) <= std::size_t(bytes));
    }
  }
}
