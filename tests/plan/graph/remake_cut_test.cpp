// SPDX-License-Identifier: Apache-2.0
// What to keep at a moment and what to make again: cuts against all choices, and flows against all cuts.
#include <cairn/plan/graph/detail/remake_cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/graph_kinds.hpp"

using namespace cairn::detail;

namespace {

struct whole_choice {
  std::int64_t bytes = 0, time = 0;
};
/// A choice of values and tapes to keep, and what must run then; nothing where it keeps what is not there.
std::optional<whole_choice> priced(graph_model const& model, remake_moment const& at, unsigned values, unsigned tapes) {
  std::size_t const count = at.is_free.size();
  whole_choice sum;
  std::vector<char> runs(count, 0);
  for (std::size_t v = 0; v < count; ++v) {
    bool const is_kept = values >> v & 1u, tape_is_kept = tapes >> v & 1u;
    if ((is_kept && (!at.is_there[v] || at.is_free[v])) || (tape_is_kept && !at.tape_is_read[v])) return {};
    if (is_kept) sum.bytes += model.bytes[v];
    if (tape_is_kept) sum.bytes += model.tape[v];
    if ((at.is_read[v] && !is_kept) || (at.tape_is_read[v] && !tape_is_kept)) runs[v] = 1;
  }
  for (std::size_t v = count; v-- > 0;) {
    if (!runs[v]) continue;
    sum.time += model.time[v];
    for (std::size_t const input : model.inputs[v])
      if (!at.is_free[input] && !(values >> input & 1u)) runs[input] = 1;
  }
  return sum;
}

}  // namespace

TEST_CASE("the bound of a moment is below every choice that fits, and its own choice fits", "[plan][graph][oracle]") {
  int moments = 0, tight = 0;
  for (auto const kind : graphs::all_kinds)
    for (unsigned seed = 0; seed < 4; ++seed) {
      graph_model const model{graphs::with_tapes(graphs::make(kind, 8, seed, seed % 2 == 1), 2, seed), "test"};
      for (std::size_t const from : {std::size_t{8}, std::size_t{6}})
        for (std::size_t const to : {std::size_t{0}, std::size_t{3}}) {
          remake_moment at{model, from, to};
          if (seed == 3)  // not everything is there
            for (std::size_t v = 0; v < from; v += 2)
              if (!at.is_read[v]) at.is_there[v] = 0;
          std::vector<whole_choice> all;
          unsigned const sets = 1u << from;
          unsigned tapes = 0;
          for (std::size_t v = 0; v < from; ++v) tapes |= unsigned(at.tape_is_read[v]) << v;
          for (unsigned values = 0; values < sets; ++values)
            for (unsigned some = tapes;; some = (some - 1) & tapes) {
              if (auto const one = priced(model, at, values, some)) all.push_back(*one);
              if (some == 0) break;
            }
          for (std::int64_t room = 0; room <= 40; room += 3) {
            CAPTURE(graphs::name_of(kind), seed, from, to, room);
            std::int64_t best = INT64_MAX;
            for (auto const& one : all)
              if (one.bytes <= room) best = std::min(best, one.time);
            remake_cut cut{model, at};
            double const bound = cut.least_time(double(room));
            CHECK(bound <= double(best));
            ++moments, tight += bound >= 0.9 * double(best);
            // The choice after it keeps what is there, fits, and leaves no operation without an input.
            unsigned kept = 0, kept_tapes = 0;
            for (std::size_t v = 0; v < from; ++v) {
              kept |= unsigned(cut.is_kept(v)) << v;
              kept_tapes |= unsigned(at.tape_is_read[v] && !cut.is_run(v)) << v;
              CHECK((!at.is_read[v] || cut.is_kept(v) || cut.is_run(v)));
              if (cut.is_run(v))
                for (std::size_t const input : model.inputs[v])
                  CHECK((at.is_free[input] || cut.is_kept(input) || cut.is_run(input)));
            }
            auto const chosen = priced(model, at, kept, kept_tapes);
            REQUIRE(chosen);
            CHECK(chosen->bytes <= room);
            CHECK(chosen->time >= best);
          }
        }
    }
  CHECK(moments > 1000);
  CHECK(tight * 2 > moments);
}

TEST_CASE("the most that flows is the least cut", "[plan][graph]") {
  std::mt19937_64 numbers{7};
  for (int round = 0; round < 200; ++round) {
    std::size_t const nodes = 3 + numbers() % 5;
    struct edge {
      std::size_t from, to, number;
      double capacity;
    };
    max_flow net{nodes};
    std::vector<edge> edges;
    for (std::size_t k = 0; k < 2 * nodes; ++k) {
      std::size_t const from = numbers() % nodes, to = numbers() % nodes;
      double const capacity = double(numbers() % 10);
      if (from != to) edges.push_back({from, to, net.connect(from, to, capacity), capacity});
    }
    auto const least_cut = [&] {
      double least = max_flow::endless;
      for (unsigned side = 0; side < 1u << nodes; ++side) {
        if (!(side & 1u) || (side >> (nodes - 1) & 1u)) continue;
        double sum = 0;
        for (auto const& e : edges)
          if ((side >> e.from & 1u) && !(side >> e.to & 1u)) sum += e.capacity;
        least = std::min(least, sum);
      }
      return least;
    };
    CHECK(net.flow(0, nodes - 1) == Approx(least_cut()));
    double across = 0;
    for (auto const& e : edges)
      if (net.is_before_cut(e.from) && !net.is_before_cut(e.to)) across += e.capacity;
    CHECK(across == Approx(least_cut()));
    for (auto& e : edges) net.set(e.number, e.capacity = double(numbers() % 5));
    CHECK(net.flow(0, nodes - 1) == Approx(least_cut()));
  }
}
