// SPDX-License-Identifier: Apache-2.0
// What a run on disk takes: memory on the heap, and bytes on disk.
#include <cstddef>
#include <filesystem>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/temporary.hpp"

using field = std::vector<double>;
using cairn::step_index;

namespace {

struct step {
  void operator()(field& x) const { for (double& v : x) v *= 1.0001; }
};
struct adjoint {
  void operator()(field const&, field& bar) const { for (double& v : bar) v *= 1.0001; }
};
struct stopped {};
struct stops_late {
  void operator()(field const&, field& bar, step_index i) const {
    if (i == stop) throw stopped{};
    for (double& v : bar) v *= 1.0001;
  }
  static inline step_index stop = -1;
};

}  // namespace

TEST_CASE("a run on disk takes no more memory than its report predicts, and the bytes of its files, also if it goes on") {
  support::temporary const here;
  field const x0(20'000, 0.5), seed(20'000, 1.0);
  std::size_t const state = x0.size() * sizeof(double);
  cairn::multistage const plan{100, 3, 6};
  cairn::disk const run{here.run(), {.commit_every = 2}};
  cairn::sweep_report report;
  std::size_t on_disk = 0;
  auto const watch = [&](cairn::event const& e) {
    if (e.bytes_held(cairn::tier::disk) > on_disk) on_disk = e.bytes_held(cairn::tier::disk);
  };
  stops_late const back;
  auto const once = [&] { return cairn::gradient(step{}, x0, plan, seed, back, run, report, watch); };
  field const right = cairn::gradient(step{}, x0, cairn::in_memory{plan}, seed, back);

  stops_late::stop = 40;
  {
    heap::mark const from;
    CHECK_THROWS_AS(once(), stopped);
    CHECK(from.rise() <= std::size_t(report.predicted_bytes));
    CHECK(std::size_t(report.predicted_bytes) < 8 * state);  // all slots in memory take 13
  }
  CHECK(on_disk == 6 * (128 + cairn::written_bytes(x0)));
  stops_late::stop = -1;
  heap::mark const from;
  CHECK(once() == right);
  CHECK(run.report().used == cairn::disk_use::record);
  CHECK(from.rise() <= std::size_t(report.predicted_bytes) + 2 * state);  // the seam, and the record that is read
  CHECK(run.report().record_bytes == 2 * (128 + cairn::written_bytes(seed) + 8));
  std::size_t files = 0;
  for (auto const& file : std::filesystem::directory_iterator{run.report().folder})
    if (file.path().filename() != "lock" && file.path().filename() != "name") files += std::size_t(file.file_size());
  CHECK(files == run.report().record_bytes);
}

TEST_CASE("what is noted of each of many states on disk is predicted, too") {
  support::temporary const here;
  field const x0(10, 0.5), seed(10, 1.0);
  cairn::disk const run{here.run()};
  cairn::sweep_report report;
  heap::mark const from;
  (void)cairn::gradient(step{}, x0, cairn::two_level{4'000, 5, 3}, seed, adjoint{}, run, report);
  CHECK(from.rise() <= std::size_t(report.predicted_bytes));
}

TEST_CASE("the bytes on disk are those of the files, also where a plan saves into a slot that holds a state") {
  support::temporary const here;
  constexpr cairn::tier disk = cairn::tier::disk;
  using kind = cairn::action_kind;
  auto const act = [](kind what, cairn::slot_index slot, step_index from, step_index to = 0, cairn::tier where = {}) {
    return cairn::action{what, where, cairn::content::state, slot, from, to};
  };
  cairn::action_list const plan{3, 2, {act(kind::save, 0, 0),
                                       act(kind::advance, cairn::no_slot, 0, 1), act(kind::save, 1, 1, 0, disk),
                                       act(kind::advance, cairn::no_slot, 1, 2), act(kind::save, 1, 2, 0, disk),
                                       act(kind::turn, cairn::no_slot, 2, 3), act(kind::reverse, cairn::no_slot, 2, 3),
                                       act(kind::load, 0, 0), act(kind::advance, cairn::no_slot, 0, 1),
                                       act(kind::reverse, cairn::no_slot, 1, 2),
                                       act(kind::load, 0, 0), act(kind::reverse, cairn::no_slot, 0, 1)}};
  cairn::disk const run{here.run()};
  field const x0(100, 0.5), seed(100, 1.0);
  std::size_t const file = 128 + cairn::written_bytes(x0);
  std::vector<std::size_t> seen;
  (void)cairn::gradient(step{}, x0, plan, seed, adjoint{}, run, [&](cairn::event const& e) {
    if (e.moment() == cairn::moment::after && e.what().kind == kind::save) seen.push_back(e.bytes_held(disk));
  });
  CHECK(seen == std::vector<std::size_t>{0, file, file});
}
