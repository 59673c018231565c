// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_blocks.hpp  The places at which a graph is divided for planning, and the options of its blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/plan/graph/detail/block_search.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// The places between which a graph is planned, and the options of its blocks. A place is a number of operations run,
/// which Kusumoto, Inoue, Watanabe, Akiba, Koyama (2019) call a lower set; its boundary is the set of values read after
/// it. If the boundary is one value, the place is a cut, and a block lies between two cuts.
struct graph_blocks {
  std::vector<std::size_t> places;          ///< 0 = first < ... < n, the place before the loss, and n + 1
  std::vector<std::vector<block_candidate>> open, closing;  ///< by the place at which they begin; `to` is an operation
  std::size_t cuts = 0;                     ///< places that are cuts

  /// \param most_block  most operations of a block that is searched   \param most_places  with more places, some are
  ///   left out
  /// \param meter  counts the work; null for no limit
  graph_blocks(graph_model const& model, std::size_t most_block, std::size_t most_places, work_meter* meter = nullptr) {
    std::size_t const count = model.count;
    std::vector<std::int64_t> boundary(count + 1);
    for (std::size_t p = 1; p <= count; ++p)
      for (std::size_t v = 0; v < p; ++v)
        if (model.last_reader[v] >= p) boundary[p] += model.bytes[v];
    std::size_t const apart = (count + most_places - 1) / std::max<std::size_t>(1, most_places);
    places.push_back(0);
    for (std::size_t p = 1; p < count;) {  // of `apart` places in a row the one with the smallest boundary
      std::size_t const end = (std::min)(count, p + apart);
      std::size_t best = p;
      for (std::size_t q = p; q < end; ++q)
        if (boundary[q] < boundary[best]) best = q;
      places.push_back(best);
      p = end;
    }
    if (count > 0) places.push_back(count);
    places.push_back(count + 1);
    open.resize(places.size()), closing.resize(places.size());
    for (std::size_t k = 0; k + 1 < places.size(); ++k) add(model, k, places[k + 1], meter);
    std::size_t last_cut = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] != count + 1 && !model.is_cut(places[k])) continue;
      ++cuts;
      if (k > last_cut + 1 && block_search::width_of(model, places[last_cut], places[k]) <= most_block)
        add(model, last_cut, places[k], meter);
      last_cut = k;
    }
  }

 private:
  void add(graph_model const& model, std::size_t at, std::size_t to, work_meter* meter) {
    std::size_t const from = places[at], width = block_search::width_of(model, from, to);
    count_work(meter, wide{1} << (std::min)(width + 14, std::size_t{24}));
    if (width > block_search::most_operations) {
      add_store_all(model, at, to);
      return;
    }
    block_candidates const choice = block_search{model, from, to}.candidates();
    open[at].insert(open[at].end(), choice.open.begin(), choice.open.end());
    closing[at].insert(closing[at].end(), choice.closing.begin(), choice.closing.end());
  }
  /// Adds the only option of a long block: everything is kept.
  void add_store_all(graph_model const& model, std::size_t at, std::size_t to) {
    block_candidate all{.from = places[at], .to = to};
    for (std::size_t v = all.from; v < to; ++v) {
      all.kept += model.bytes[v] + model.tape[v];
      all.time += model.time[v];
      all.forward_peak = (std::max)(all.forward_peak, all.kept + model.work[v]);
      all.backward_peak = (std::max)(all.backward_peak, all.kept + model.back_work[v]);
    }
    open[at].push_back(all);
    closing[at].push_back(all);
  }
};

}  // namespace cairn::detail
