// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of the measurements: the same on a device and in a dry run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <cairn/adapt/cuda/device_plan.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include "check.hpp"
#include "deadline.hpp"
#include "facts.hpp"
#include "graphs.hpp"
#include "row.hpp"
#include "settings.hpp"
#include "sweeps.hpp"
#include "tables.hpp"
#include "times.hpp"

namespace gpu {

inline constexpr char const* usage =
    "usage: %s PART [--KEY VALUE]...\n"
    "  sources the sum of what this program was made from\n"
    "  head    what every line of the results begins with\n"
    "  check   small sweeps against storing all states; --longest N: loops of at most N steps\n"
    "  facts   the device, and what nothing on it can beat\n"
    "  tables  E1 to E7, for states of 1 GiB and of 64 MiB, E7 first; --headline-seconds N: the time for E7;\n"
    "          --host-bytes B: what may be pinned, else a part of the memory that is available\n"
    "  graphs  E8\n"
    "  equal   a sweep in given memory: --steps N --bytes STATE --device-bytes B --host-bytes B --beside NAME\n"
    "  note    a line with --bench NAME, --ok true, false or null, and --text WHAT\n"
    "Keys of all: --out FILE, which is appended to; --seconds N, the time that there is; --commit HASH\n";

/// Answers `PROGRAM sources`, which needs no device: the sum of the sources that it was made from.
[[nodiscard]] inline bool tells_sources(int argc, char** argv) {
  bool const does = argc == 2 && std::strcmp(argv[1], "sources") == 0;
  if (does) std::puts(GPU_SOURCES);
  return does;
}

/// `--key value` pairs.
class keys {
 public:
  keys(int argc, char** argv) {
    for (int k = 2; k < argc; k += 2) {
      if (std::strncmp(argv[k], "--", 2) != 0 || k + 1 == argc)
        throw std::invalid_argument{std::string{"not a key with a value: "} + argv[k]};
      values_[argv[k] + 2] = argv[k + 1];
    }
  }
  [[nodiscard]] std::string text(std::string const& key, std::string otherwise = {}) const {
    auto const at = values_.find(key);
    return at == values_.end() ? otherwise : at->second;
  }
  /// \throws std::exception   where it is no number, or there is none
  [[nodiscard]] double number(std::string const& key) const { return std::stod(text(key)); }
  [[nodiscard]] double number(std::string const& key, double otherwise) const {
    return values_.count(key) != 0 ? number(key) : otherwise;
  }

 private:
  std::map<std::string, std::string> values_;
};

[[nodiscard]] inline std::string today() {
  std::time_t const now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// What a peer is compared with: the best plan in as much memory of the device and of the host as the peer took.
template <class Machine>
void measure_equal(Machine& machine, results& out, deadline const& time, keys const& given) {
  auto const bytes = std::size_t(given.number("bytes"));
  auto const steps = cairn::step_index(given.number("steps"));
  auto const device_bytes = std::size_t(given.number("device-bytes")),
             host_slots = std::size_t(given.number("host-bytes", 0)) / bytes;
  sweep_bench<Machine> bench{machine, out, time, medians_of(measure_times(machine, bytes, 100), bytes)};
  auto best =
      cairn::plan_for_device(device_bytes, bench.times().workload_of(steps, host_slots), cairn::device_forecast{});
  auto params = support::json_object{}
                    .add("bytes", bytes)
                    .add("steps", steps)
                    .add("device_bytes", device_bytes)
                    .add("beside", given.text("beside"));
  sweep_case one{{.bench = "peer cairn", .params = std::move(params)}, std::move(best.plan), best.capacity};
  one.about.found.add("planner", cairn::name_of(best.by));
  bench.measure(std::move(one));
}

/// \returns 0; 1 where something was wrong; 2 for a wrong command line
template <class Machine>
int run(Machine& machine, settings const& size, int argc, char** argv) {
  std::string const part = argc > 1 ? argv[1] : "";
  try {
    keys const given{argc, argv};
    provenance const from{Machine::name(), Machine::driver(), Machine::toolkit(), today(),
                          given.text("commit", "unknown")};
    if (part == "head") {
      std::printf("%s\n", from.json().text().c_str());
      return 0;
    }
    results out{from, given.text("out")};
    auto const clock = [&machine] { return machine.now(); };
    deadline const time{given.number("seconds", 540), clock};
    if (part == "check") {
      auto const longest = cairn::step_index(given.number("longest", 60));
      for (std::size_t const rods : {std::size_t{1}, std::size_t{37}})
        check_sweeps(machine, out, time, rods * rod, longest);
      check_graph(machine, out, 37 * rod);
    } else if (part == "facts") {
      measure_facts(machine, out, time, size);
    } else if (part == "tables") {
      deadline const until{given.number("headline-seconds", time.left()), clock};
      bool const is_told = !given.text("host-bytes").empty();
      host_memory const host{is_told ? std::size_t(given.number("host-bytes"))
                                     : std::size_t(size.host_share * double(machine.host_bytes())),
                             is_told ? "--host-bytes" : "a share of what is available"};
      std::printf("host slots in %.3g GB: %s\n", 1e-9 * double(host.for_slots), host.by.c_str());
      std::deque<table<Machine>> tables;
      for (auto const& one : size.tables) {
        tables.emplace_back(machine, out, time, tables.empty() ? until : time, host, one, size);
        tables.back().measure_first();
      }
      // The small states, whose rows are short, before what is left of the large ones.
      for (auto one = tables.rbegin(); one != tables.rend(); ++one) one->measure_rest();
    } else if (part == "graphs") {
      measure_graphs(machine, out, time, size);
    } else if (part == "equal") {
      measure_equal(machine, out, time, given);
    } else if (part == "note") {
      row r{.bench = given.text("bench"), .note = given.text("text")};
      if (std::string const ok = given.text("ok", "null"); ok != "null") r.right = ok == "true";
      out.add(r);
    } else {
      std::fprintf(stderr, usage, argv[0]);
      return 2;
    }
    return out.right() || part == "note" ? 0 : 1;
  } catch (part_ends const& wrong) {
    std::printf("%s ends: wrong is %s\n", part.c_str(), wrong.because_of.c_str());
    return part == "note" ? 0 : 1;
  } catch (std::invalid_argument const& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    std::fprintf(stderr, usage, argv[0]);
    return 2;
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "%s %s: %s\n", argv[0], part.c_str(), failure.what());
    return 1;
  }
}

}  // namespace gpu
