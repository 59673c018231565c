// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results, a line of JSON each, written as soon as they are known.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include "support/json.hpp"

namespace gpu {

#ifndef GPU_SOURCES
#define GPU_SOURCES "unknown"  // gpu.sh gives the sum of the sources that the program is made of
#endif

/// Where and when a result was taken, and by which program.
struct provenance {
  std::string device, driver, cuda, date, commit, sources = GPU_SOURCES;

  [[nodiscard]] support::json_object json() const {
    return support::json_object{}
        .add("device", device)
        .add("driver", driver)
        .add("cuda", cuda)
        .add("date", date)
        .add("commit", commit)
        .add("sources", sources);
  }
};

/// One result. What was not measured or not predicted is null.
struct row {
  std::string bench;
  support::json_object params = {};
  std::string unit = "s";
  std::vector<double> samples = {};
  std::optional<double> floor = {};          ///< what the same takes if nothing but the unavoidable is done
  std::optional<double> predicted = {};      ///< from this run's own times of steps and copies
  std::optional<double> assumed_ratio =
      {};  ///< to the floor, predicted from the rates that were assumed before anything was measured
  support::json_object found = {};           ///< what was checked and counted beside the time
  std::optional<bool> right = {};            ///< whether that is as it must be
  std::string note = {};
  double tolerance = 0.03;                   ///< by which it may exceed what was predicted
  bool either_way = false;                   ///< whether it must not fall short of it by more than that either
  bool failed = false;                       ///< not wrong: it could not be done

  [[nodiscard]] double median() const {
    auto sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    std::size_t const half = sorted.size() / 2;
    return sorted.size() % 2 != 0 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  /// Right, and no slower than predicted by more than the tolerance; nothing where neither is known.
  [[nodiscard]] std::optional<bool> ok() const {
    if (right == false) return false;
    if (samples.empty() || !predicted) return right;
    return median() <= (1 + tolerance) * *predicted && (!either_way || *predicted <= (1 + tolerance) * median());
  }
  [[nodiscard]] std::string name() const { return bench + " " + params.text(); }
};

/// Thrown after a row that is wrong: what follows would measure something that does not work.
struct part_ends {
  std::string because_of;
};

/// The file of results, and a table of them on standard output.
class results {
 public:
  /// \param path  appended to; nothing is written where it is empty   \throws std::runtime_error   where it cannot be
  results(provenance from, std::string const& path) : from_{std::move(from)} {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "a");
    if (file_ == nullptr) throw std::runtime_error("cannot write " + path);
  }
  results(results const&) = delete;
  results& operator=(results const&) = delete;
  ~results() {
    if (file_ != nullptr) std::fclose(file_);
  }

  /// Whether all was right so far; times that miss what was predicted are no fault of the program.
  [[nodiscard]] bool right() const noexcept { return right_; }

  /// \throws part_ends   for a row that is wrong
  void add(row const& r) {
    auto line = from_.json();
    line.add("bench", r.bench).add("params", r.params).add("unit", r.unit).add("n", r.samples.size());
    bool const measured = !r.samples.empty();
    line.add("median", measured ? r.median() : nothing)
        .add("min", measured ? *std::min_element(r.samples.begin(), r.samples.end()) : nothing);
    line.add("max", measured ? *std::max_element(r.samples.begin(), r.samples.end()) : nothing)
        .add("floor", r.floor.value_or(nothing));
    line.add("ratio_to_floor", measured && r.floor ? r.median() / *r.floor : nothing)
        .add("predicted", r.predicted.value_or(nothing));
    line.add("tolerance", r.predicted ? r.tolerance : nothing);
    line.add("assumed_ratio", r.assumed_ratio.value_or(nothing)).add("found", r.found);
    if (r.right) line.add("right", *r.right);
    else line.add("right", nothing);
    if (r.ok()) line.add("ok", *r.ok());
    else line.add("ok", nothing);
    line.add("note", r.note);
    if (r.right == false) right_ = false;
    if (file_ != nullptr) {
      if (std::fprintf(file_, "%s\n", line.text().c_str()) < 0 || std::fflush(file_) != 0)
        throw std::runtime_error("the file of results is full");
    }
    print(r);
    if (r.right == false && !r.failed) throw part_ends{r.name()};
  }

 private:
  static constexpr double nothing = NAN;  // JSON's null

  static void print(row const& r) {
    std::printf("%-14s %s", r.bench.c_str(), r.params.text().c_str());
    if (!r.samples.empty()) std::printf("  %.6g %s of %d", r.median(), r.unit.c_str(), int(r.samples.size()));
    if (!r.samples.empty() && r.floor) std::printf(", %.3f x floor", r.median() / *r.floor);
    if (!r.samples.empty() && r.predicted)
      std::printf(", predicted %.6g, ratio %.3f (tolerance %.3g)", *r.predicted, r.median() / *r.predicted,
                  r.tolerance);
    if (r.ok()) std::printf("  %s", *r.ok() ? "ok" : r.failed ? "failed" : r.right == false ? "WRONG" : "missed");
    std::printf("%s%s\n", r.note.empty() ? "" : "  ", r.note.c_str());
    std::fflush(stdout);
  }

  provenance from_;
  std::FILE* file_ = nullptr;
  bool right_ = true;
};

}  // namespace gpu
