// SPDX-License-Identifier: Apache-2.0
// Blocks of a loop: where they begin, in which order they are run and reversed, and what is known of that before.
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/detail/ceil_root.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "support/catch.hpp"

using cairn::action;
namespace block_actions = cairn::block_actions;
using cairn::block_plan;
using cairn::stage_range;
using cairn::step_index;
using kind = cairn::action_kind;

namespace {

std::vector<action> walked(block_plan const& plan) {
  std::vector<action> all;
  auto cursor = plan.walk();
  for (auto a = cursor.next(); a.kind != kind::done; a = cursor.next()) all.push_back(a);
  CHECK(cursor.next() == action{});
  return all;
}

/// The definition, by recursion: run all children but the last, then reverse the children from the last to the first.
void reverse(std::vector<step_index> const& starts, std::size_t from, std::size_t to, std::size_t fan_out, int level,
             std::vector<action>& out) {
  if (level == 0) {
    out.push_back(block_actions::record(starts[from], starts[to]));
    out.push_back(block_actions::reverse(starts[from], starts[to]));
    return;
  }
  std::size_t child = 1;
  for (int k = 1; k < level; ++k) child = std::min(child * fan_out, to - from);
  std::vector<std::size_t> begins;
  for (std::size_t at = from; at < to; at += child) begins.push_back(at);
  for (std::size_t k = 0; k + 1 < begins.size(); ++k)
    out.push_back(block_actions::advance(starts[begins[k]], starts[begins[k + 1]]));
  for (std::size_t k = begins.size(); k-- > 0;)
    reverse(starts, begins[k], std::min(begins[k] + child, to), fan_out, level - 1, out);
}
std::vector<action> expected(std::vector<step_index> const& starts, int levels) {
  std::vector<action> out;
  if (starts.size() < 2) return out;
  std::size_t const count = starts.size() - 1;
  std::size_t fan_out = 1;
  auto const reaches = [&] {
    double product = 1;
    for (int k = 0; k < std::max(levels, 1); ++k) product *= double(fan_out);
    return product >= double(count);
  };
  while (!reaches()) ++fan_out;
  reverse(starts, 0, count, fan_out, levels, out);
  return out;
}
std::vector<step_index> starts_of(step_index stages, step_index size) {
  std::vector<step_index> starts;
  for (step_index at = 0; at < stages; at += size) starts.push_back(at);
  starts.push_back(stages);
  return starts;
}

struct counted {
  std::size_t kept = 0;
  cairn::wide extra = 0;
};
counted count(std::vector<action> const& actions) {
  counted c;
  std::set<step_index> kept;
  for (auto const& a : actions) {
    if (a.kind == kind::reverse) {
      kept.erase(a.from);
      continue;
    }
    CHECK((a.from == 0 || kept.contains(a.from)));
    if (a.kind == kind::record) continue;
    kept.insert(a.to);
    c.kept = std::max(c.kept, kept.size());
    c.extra += cairn::wide(a.to - a.from);
  }
  CHECK(kept.empty());
  return c;
}
void check_meta(block_plan const& plan) {
  auto const seen = count(walked(plan));
  CHECK(plan.meta().num_blocks == plan.size());
  CHECK(std::size_t(plan.meta().peak_checkpoints) == seen.kept);
  CHECK((plan.meta().extra_runs == seen.extra));
}

template <class Make>
std::string refusal(Make make) {
  try {
    (void)make();
  } catch (cairn::invalid_plan const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("blocks run in the order of the recursion that defines them, for every length, size and number of levels",
          "[plan][block]") {
  for (step_index stages = 0; stages <= 40; ++stages)
    for (step_index size = 1; size <= stages + 2; ++size)
      for (int levels = 1; levels <= 5; ++levels) {
        CAPTURE(stages, size, levels);
        auto const plan = block_plan::equal(stages, size, levels);
        auto const starts = starts_of(stages, size);
        CHECK(plan.stages() == stages);
        CHECK(plan.size() + 1 == step_index(starts.size()));
        for (step_index j = 0; j < plan.size(); ++j)
          CHECK(plan[j] == stage_range{starts[std::size_t(j)], starts[std::size_t(j) + 1]});
        CHECK(walked(plan) == expected(starts, levels));
        check_meta(plan);
        CHECK(plan.meta().largest == std::min(stages, size));
      }
}

TEST_CASE("a list of blocks and equal blocks are one plan where they say the same", "[plan][block]") {
  std::vector<stage_range> const blocks{{0, 4}, {4, 8}, {8, 10}};
  block_plan const listed{blocks}, equal = block_plan::equal(10, 4);
  CHECK(listed.meta().sizes == equal.meta().sizes);
  CHECK(listed.meta().sizes == std::vector<cairn::block_run>{{0, 2, 4}, {8, 1, 2}});
  CHECK(walked(listed) == walked(equal));
  check_meta(listed);
  block_plan const odd{{{0, 1}, {1, 5}, {5, 6}, {6, 7}, {7, 9}}};
  CHECK(odd.size() == 5);
  CHECK(odd.stages() == 9);
  CHECK(odd[1] == stage_range{1, 5});
  CHECK(odd[3] == stage_range{6, 7});
  CHECK(walked(odd) == expected({0, 1, 5, 6, 7, 9}, 1));
  check_meta(odd);
  CHECK(odd.meta().largest == 4);
}

TEST_CASE("balanced blocks differ by one stage at most", "[plan][block]") {
  for (step_index stages = 1; stages <= 60; ++stages)
    for (step_index blocks = 1; blocks <= stages; ++blocks) {
      CAPTURE(stages, blocks);
      auto const plan = block_plan::balanced(stages, blocks);
      CHECK(plan.size() == blocks);
      CHECK(plan.stages() == stages);
      for (step_index j = 0; j < blocks; ++j) {
        auto const [first, last] = plan[j];
        CHECK((last - first == stages / blocks || last - first == (stages + blocks - 1) / blocks));
      }
      check_meta(plan);
    }
}

TEST_CASE("no stages are no blocks, and levels of none is one block", "[plan][block]") {
  for (auto const& plan : {block_plan{}, block_plan{std::vector<stage_range>{}}, block_plan::equal(0, 3),
                           block_plan::balanced(0, 0), block_plan::equal(0, 1, 0)}) {
    CHECK(plan.size() == 0);
    CHECK(plan.stages() == 0);
    CHECK(walked(plan).empty());
    CHECK(plan.meta().peak_checkpoints == 0);
  }
  CHECK(walked(block_plan::equal(7, 7, 0)) ==
        std::vector<action>{block_actions::record(0, 7), block_actions::reverse(0, 7)});
}

TEST_CASE("loops of 2^62 stages and more have blocks without a list", "[plan][block]") {
  constexpr step_index huge = step_index{1} << 62, side = step_index{1} << 31;
  auto const plan = block_plan::equal(huge, side);
  CHECK(plan.meta().num_blocks == side);
  CHECK(plan.meta().peak_checkpoints == side - 1);
  CHECK((plan.meta().extra_runs == cairn::wide(huge - side)));
  auto cursor = plan.walk();
  CHECK(cursor.next() == block_actions::advance(0, side));
  CHECK(cursor.next() == block_actions::advance(side, 2 * side));

  auto const high = block_plan::equal(huge, 2, 61);  // a binary tree: a stage is run 30.5 times more on average
  CHECK(high.fan_out() == 2);
  CHECK(high.meta().peak_checkpoints == 61);
  CHECK((high.meta().extra_runs == cairn::wide(huge) / 2 * 61));
  auto top = high.walk();
  CHECK(top.next() == block_actions::advance(0, huge / 2));
  CHECK(top.next() == block_actions::advance(huge / 2, huge / 2 + huge / 4));

  constexpr step_index most = std::numeric_limits<step_index>::max();
  for (step_index size : {step_index{1}, step_index{7}, most / 2, most - 1, most})
    for (int levels : {1, 2, 3, 17, 62}) {
      CAPTURE(size, levels);
      auto const edge = block_plan::equal(most, size, levels);
      CHECK(edge.stages() == most);
      CHECK(edge[edge.size() - 1].last == most);
      auto walk = edge.walk();
      action a;
      int forwards = 0;
      if (edge.fan_out() < 1000)
        for (a = walk.next(); a.kind == kind::advance && forwards < 100'000; a = walk.next()) ++forwards;
      if (edge.fan_out() < 1000) CHECK(a == block_actions::record(edge[edge.size() - 1].first, most));
    }
  auto const balanced = block_plan::balanced(most, 3'000'000'000);
  CHECK(balanced.size() == 3'000'000'000);
  CHECK(balanced[2'999'999'999].last == most);
}

TEST_CASE("blocks of prime numbers of stages end in what is left", "[plan][block]") {
  auto const plan = block_plan::equal(101, 11);
  CHECK(plan.meta().num_blocks == 10);
  CHECK(plan[9] == stage_range{99, 101});
  CHECK((plan.meta().extra_runs == 99));
}

TEST_CASE("roots are rounded up", "[plan][block]") {
  for (step_index x = 0; x <= 3000; ++x)
    for (int power = 1; power <= 12; ++power) {
      auto const root = cairn::detail::ceil_root(x, power);
      auto const raised = [power](step_index m) {
        cairn::wide product = 1;
        for (int k = 0; k < power; ++k) product *= cairn::wide(m);
        return product;
      };
      bool const least = root == 1 || raised(root - 1) < cairn::wide(x);
      REQUIRE(root >= 1);
      REQUIRE((raised(root) >= cairn::wide(x) && least));
    }
  CHECK(cairn::detail::ceil_root(std::numeric_limits<step_index>::max(), 1) == std::numeric_limits<step_index>::max());
  CHECK(cairn::detail::ceil_root(std::numeric_limits<step_index>::max(), 2) == 3'037'000'500);
  CHECK(cairn::detail::ceil_root(std::numeric_limits<step_index>::max(), 62) == 3);
  CHECK(cairn::detail::ceil_root(step_index{1} << 62, 62) == 2);
}

TEST_CASE("shapes that cannot be are refused", "[plan][block]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refusal([] { return block_plan::equal(-1, 1); }),
             ContainsSubstring("the number of stages is negative (stages = -1)"));
  CHECK_THAT(refusal([] { return block_plan::equal(5, 0); }),
             ContainsSubstring("a block has at least 1 stage (block_size = 0)"));
  CHECK_THAT(refusal([] { return block_plan::equal(5, 1, -1); }), ContainsSubstring("0 to 62 levels"));
  CHECK_THAT(refusal([] { return block_plan::equal(5, 1, 63); }), ContainsSubstring("0 to 62 levels"));
  CHECK_THAT(refusal([] { return block_plan::equal(5, 4, 0); }),
             ContainsSubstring("no level, but more than one block"));
  CHECK_THAT(refusal([] { return block_plan::balanced(-1, 1); }), ContainsSubstring("negative"));
  CHECK_THAT(refusal([] { return block_plan::balanced(5, 0); }),
             ContainsSubstring("there is no such number of blocks (stages = 5, blocks = 0)"));
  CHECK_THAT(refusal([] { return block_plan::balanced(5, 6); }), ContainsSubstring("no such number"));
}
