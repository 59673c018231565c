// SPDX-License-Identifier: Apache-2.0
// Gradients by CoDiPack's interface on disk, over a stand-in.
#include <cairn/adapt/codipack.hpp>
#include "adapt/ad/on_disk.hpp"
#include "support/catch.hpp"

TEST_CASE("a gradient by a tool goes on after a stop with its bits, value and sums included", "[ad]") {
  ad_test::gradients_go_on<cairn::codipack_tape<>>();
}
