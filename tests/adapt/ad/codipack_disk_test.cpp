// SPDX-License-Identifier: Apache-2.0
// Gradients by CoDiPack's interface on disk, over a stand-in.
#include <cairn/adapt/codipack.hpp>
#include "adapt/ad/on_disk.hpp"
#include "support/catch.hpp"

TEST_CASE("a gradient by a tool goes on after a stop with its bits, value and sums included", "[ad]") {
  ad_test::gradients_go_on<cairn::codipack_tape<>>();
}

TEST_CASE("a taped object over a tool goes on after a stop with its bits, and with the value that its seed found",
          "[ad]") {
  ad_test::taped_objects_go_on<cairn::codipack_tape<>>();
}

TEST_CASE("step, each and seed of a taped object over a tool count as the functions that they are made of", "[ad]") {
  ad_test::functions_of_taped_objects_count<cairn::codipack_tape<>>();
}
