// SPDX-License-Identifier: Apache-2.0
// Traces that tests write, and read as JSON.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>
#include <cairn/trace/trace_writer.hpp>
#include "support/json.hpp"

namespace traces {

/// A file that is gone when this object is.
class scratch_file {
 public:
  scratch_file() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("cairn_trace_" + std::to_string(++count) + "_" +
             std::to_string(std::filesystem::file_time_type::clock::now().time_since_epoch().count()) + ".pfw");
  }
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;
  ~scratch_file() {
    std::error_code none;
    std::filesystem::remove(path_, none);
  }
  [[nodiscard]] std::string name() const { return path_.string(); }
  [[nodiscard]] std::string text() const {
    std::ifstream stream{path_, std::ios::binary};
    return {std::istreambuf_iterator<char>{stream}, {}};
  }
  void write(std::string const& text) const { std::ofstream{path_, std::ios::binary} << text; }
  /// \throws std::runtime_error   if it is not JSON
  [[nodiscard]] std::vector<json> events() const { return json::read(text()).items; }

 private:
  std::filesystem::path path_;
};

inline std::int64_t fake_now = 0;
/// A clock that moves by a microsecond with each look.
inline std::int64_t fake_clock() { return fake_now += 1000; }

[[nodiscard]] inline std::string of(json const& event, char const* key) {
  return event.members.count(key) ? event.text(key) : "";
}
/// Those whose member is that text.
[[nodiscard]] inline std::vector<json> with(std::vector<json> const& all, char const* key, std::string const& text) {
  std::vector<json> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](json const& e) { return of(e, key) == text; });
  return found;
}
/// Complete events but `start` and `end`.
[[nodiscard]] inline std::vector<json> slices(std::vector<json> const& all) {
  auto found = with(all, "ph", "X");
  std::erase_if(found, [](json const& e) { return e.text("cat") == "cairn"; });
  return found;
}
/// In nanoseconds, which are exact in microseconds with three decimals.
[[nodiscard]] inline std::int64_t nanoseconds(json const& event, char const* key) {
  return std::int64_t(event.at(key).number * 1000 + 0.5);
}

/// What every trace of cairn promises: members and their types, numbers of their own, levels, slices that nest, arrows
/// that begin and end in slices, and an end that counts.   \throws std::runtime_error   naming an event that breaks it
inline void check(std::vector<json> const& all) {
  auto const need = [](bool holds, char const* what, std::size_t k) {
    if (!holds) throw std::runtime_error{std::string{what} + ", event " + std::to_string(k)};
  };
  need(!all.empty(), "a trace without events", 0);
  std::map<long long, json const*> by_id;
  std::set<long long> ids;
  for (std::size_t k = 0; k < all.size(); ++k) {
    json const& e = all[k];
    need(e.is == json::kind::object && e.at("name").is == json::kind::string, "no name", k);
    need(e.at("cat").is == json::kind::string && e.at("ph").is == json::kind::string, "no category or phase", k);
    need(e.at("pid").is == json::kind::number && e.at("tid").is == json::kind::number, "no process or thread", k);
    std::string const ph = e.text("ph");
    if (ph == "M" || ph == "X") need(ids.insert(e.integer("id")).second, "a number twice", k);
    if (ph != "M") need(e.at("ts").is == json::kind::number && e.at("ts").number >= 0, "no time", k);
    if (ph == "M") {
      need(e.at("args").at("hhash").is == json::kind::string && e.at("args").text("value").size() == 16, "no hash", k);
    } else if (ph == "X") {
      json const& args = e.at("args");
      by_id[e.integer("id")] = &e;
      need(e.at("dur").number > 0, "no duration", k);
      need(args.text("hhash").size() == 16 && args.at("p_idx").is == json::kind::number, "no host or parent", k);
      need(args.integer("level") >= 1 && args.at("grad_enabled").is == json::kind::number, "no level", k);
      need(args.at("type").is == json::kind::string && args.at("target").is == json::kind::string, "no type", k);
    } else if (ph == "C") {
      need(!e.at("args").members.empty(), "a counter without values", k);
      for (auto const& [name, value] : e.at("args").members) need(value.is == json::kind::number, "no number", k);
    } else {
      need(ph == "s" || (ph == "f" && e.text("bp") == "e"), "an unknown phase", k);
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    json const& e = all[k];
    if (e.text("ph") == "X" && e.at("args").integer("p_idx") >= 0) {
      auto const found = by_id.find(e.at("args").integer("p_idx"));
      need(found != by_id.end(), "a parent that is not there", k);
      json const& around = *found->second;
      need(around.at("args").integer("level") + 1 == e.at("args").integer("level"), "a wrong level", k);
      need(around.integer("tid") == e.integer("tid"), "a parent in another thread", k);
      need(nanoseconds(around, "ts") <= nanoseconds(e, "ts"), "it begins before its parent", k);
      need(nanoseconds(e, "ts") + nanoseconds(e, "dur") <= nanoseconds(around, "ts") + nanoseconds(around, "dur"),
           "it ends after its parent", k);
    } else if (e.text("ph") == "s" || e.text("ph") == "f") {
      bool const inside = std::any_of(all.begin(), all.end(), [&](json const& x) {
        return x.text("ph") == "X" && x.integer("tid") == e.integer("tid") &&
               nanoseconds(x, "ts") == nanoseconds(e, "ts");
      });
      need(inside, "an arrow that touches no slice", k);
    }
  }
  json const& last = all.back();
  need(last.text("name") == "end" && last.text("cat") == "cairn", "no end", all.size() - 1);
  need(last.at("args").integer("num_events") == (long long)(all.size()) - 1, "a wrong count", all.size() - 1);
}

}  // namespace traces
