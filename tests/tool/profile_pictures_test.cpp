// SPDX-License-Identifier: Apache-2.0
// Profiles as pictures.
#include <cairn/profile/profile_of.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "picture/profile.hpp"
#include "support/catch.hpp"
#include "support/residual_block.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;

namespace {

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the pictures have a mark for each node and each batch, and the peak at its place", "[tool][profile]") {
  auto const stats = profile_of(residual_block());
  auto const time = run_time_svg(stats), node = node_memory_svg(stats), memory = rank_memory_svg(stats),
             parts = breakdown_svg(breakdown_of(stats));
  for (auto const& picture : {time, node, memory, parts}) {
    CHECK_THAT(picture, Catch::Matchers::StartsWith("<svg") && Catch::Matchers::EndsWith("</svg>\n"));
    CHECK(count_of(picture, "<g ") == count_of(picture, "</g>"));
  }
  auto const marks = [](std::string const& picture) {
    auto const begin = picture.find("class=\"marks\"");
    return picture.substr(begin, picture.find("</g>", begin) - begin);
  };
  CHECK(count_of(marks(time), "Z") == 9);  // all but the output take time
  CHECK(count_of(marks(node), "Z") == 7);  // two adjoints make nothing that was not there, and neither does the output
  CHECK_THAT(time, ContainsSubstring(">loss()<") && ContainsSubstring(">relu.backward(tape)<") &&
             ContainsSubstring(">loss, updates<"));
  CHECK_THAT(memory, ContainsSubstring("peak of a node, peak 143 B"));
  CHECK(count_of(marks(memory), "<path") == 2);
  CHECK(count_of(marks(parts), "Z") == 3);
  CHECK_THAT(parts, ContainsSubstring("143 B: 44 % ACT, 28 % GRAD, 28 % OTHER."));
  std::vector<batch_stats> batches;
  for (std::int64_t const size : {4, 8})
    batches.push_back({size, 0.5 * double(size), 100 * size, breakdown_of(stats), stats});
  auto const steps = batch_svg(batches);
  CHECK_THAT(steps, ContainsSubstring("2 batch sizes from 4 to 8") && ContainsSubstring("batch 4: 400 B, 2 s.") &&
                        ContainsSubstring("batch 8: 800 B, 4 s."));
  CHECK(count_of(steps, "class=\"marks\"") == 2);
  CHECK(count_of(marks(batch_breakdown_svg(batches)), "Z") == 6);
  CHECK(count_of(marks(batch_memory_svg(batches)), "<path") == 2);
  auto with_leaves = residual_block();
  with_leaves.leaves = {{"w", node_type::param, 8}, {"x", node_type::other, 4}};
  auto const after = profile_of(with_leaves);
  CHECK_THAT(run_time_svg(after), ContainsSubstring("rank, counted from 2"));
  CHECK(marks(run_time_svg(after)) == marks(time));
  CHECK(marks(rank_memory_svg(after)) != marks(memory));  // the leaves' bytes stand below
  CHECK_THAT(run_time_svg({}, "a title"), ContainsSubstring("a title"));
  CHECK_THAT(rank_memory_svg({}), ContainsSubstring("2 curves"));
  CHECK_THAT(batch_svg(std::vector<batch_stats>{}), ContainsSubstring("no figure"));
}
