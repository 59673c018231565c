// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the programs of one side of the comparison have in common: the same inputs as peer.py, and the same questions
// and answers.
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/flush_subnormals.hpp>
#include "../../tests/support/counted_heap.hpp"

namespace peer {

/// Between -0.5 and 0.5, exactly the same in float32 and float64 and in every program.
[[nodiscard]] inline float noise(std::uint32_t k) {
  std::uint32_t mixed = k * 2654435761u + 1013904223u;
  mixed = (mixed ^ (mixed >> 16)) * 2246822519u;
  mixed ^= mixed >> 13;
  return float(mixed >> 8) / 16777216.0f - 0.5f;
}

/// One way to the gradient of a case, whose numbers are floats or doubles.
template <class Number>
struct method_of {
  std::string name;
  cairn::wide predicted;  ///< `estimate(plan, sizes).peak_bytes`; 0 where nothing is predicted
  std::function<std::vector<Number>()> gradient;
};
using method = method_of<float>;

inline double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
}
/// A line of /proc/self/status in bytes; 0 where there is none.
inline std::size_t status_bytes(char const* key) {
  std::size_t kilobytes = 0;
  if (std::FILE* const file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::strncmp(line, key, std::strlen(key)) == 0)
        kilobytes = std::strtoull(line + std::strlen(key), nullptr, 10);
    std::fclose(file);
  }
  return 1024 * kilobytes;
}
/// From here on the greatest resident size is that of now.
inline void forget_greatest_size() {
  if (std::FILE* const file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

/// What a program is, for the reader of its figures.
struct facts {
  std::string version = "cairn " CAIRN_VERSION_STRING ", " CAIRN_BENCHMARK_FLAGS;
  char const* bytes_are = "counted heap";
};

/// PROGRAM METHOD FILE [CASE] measures the memory of a first gradient, writes that into FILE and answers one line of
/// JSON; then every line of standard input is a number of gradients to be timed together, and the answer is their
/// seconds of user CPU, and those by the clock.
template <class Number>
int serve(int argc, char** argv, std::vector<method_of<Number>> const& methods, facts const& about = {}) {
  method_of<Number> const* chosen = nullptr;
  for (auto const& m : methods)
    if (argc >= 3 && m.name == argv[1]) chosen = &m;
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: %s METHOD FILE; methods:", argv[0]);
    for (auto const& m : methods) std::fprintf(stderr, " %s", m.name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  std::optional<cairn::flush_subnormals> flushed;  // as all programs of a comparison do, or none
  if (char const* const asked = std::getenv("PEERS_SUBNORMALS"); asked != nullptr && std::strcmp(asked, "flushed") == 0)
    flushed.emplace();
  std::size_t const resident = status_bytes("VmRSS:"), held = counted_heap::begin();
  forget_greatest_size();
  std::vector<Number> const gradient = chosen->gradient();
  std::size_t const greatest = status_bytes("VmHWM:"), counted = counted_heap::peak - held;
  std::FILE* const file = std::fopen(argv[2], "wb");
  if (file == nullptr || std::fwrite(gradient.data(), sizeof(Number), gradient.size(), file) != gradient.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "%s: cannot write %s\n", argv[0], argv[2]);
    return 1;
  }
  std::printf("{\"rss_bytes\": %zu, \"peak_rss_bytes\": %zu, \"bytes\": %zu, \"bytes_are\": \"%s\", ",
              greatest > resident ? greatest - resident : 0, greatest, counted, about.bytes_are);
  std::printf("\"predicted_bytes\": %llu, \"version\": \"%s\", \"subnormals\": \"%s\"}\n",
              (unsigned long long)chosen->predicted, about.version.c_str(),
              cairn::flush_subnormals::is_on() ? "flushed" : "kept");
  std::fflush(stdout);
  Number sum = 0;
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    double const before = user_seconds();
    auto const began = std::chrono::steady_clock::now();
    for (int k = std::atoi(line); k > 0; --k) sum += chosen->gradient()[0];
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - began;
    std::printf("%.9f %.9f\n", user_seconds() - before, passed.count());
    std::fflush(stdout);
  }
  return std::isnan(sum) ? 1 : 0;
}
/// The same for a list in braces, of floats.
inline int serve(int argc, char** argv, std::vector<method> const& methods) {
  return serve<float>(argc, argv, methods, facts{});
}

}  // namespace peer
