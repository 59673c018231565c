// SPDX-License-Identifier: Apache-2.0
#include "savings.hpp"

#include <cstdio>

#include <cairn/plan/loop/savings.hpp>

#include "numbers.hpp"

namespace tool {

std::string savings_table(std::span<cairn::step_index const> lengths, std::optional<cairn::step_index> checkpoints) {
  std::string text =
      "               steps          checkpoints   saved       ratio       kept at once   saved  step calls per step\n";
  for (auto const n : lengths) {
    auto const sum = cairn::get_memory_savings(n, checkpoints);
    char row[256];
    std::snprintf(row, sizeof row, "%20s %20s %6.1f%% %11.4g %18s %6.1f%% %20.3f\n", grouped(cairn::wide(n)).c_str(),
                  grouped(cairn::wide(sum.num_checkpoints)).c_str(), sum.savings_percent, sum.savings_ratio,
                  grouped(cairn::wide(sum.peak_states)).c_str(), sum.peak_savings_percent,
                  sum.forward_evaluations_per_step);
    text += row;
  }
  return text +
         "checkpoints: evenly spaced; kept at once: with the states inside the block that is being reversed, and the "
         "initial one.\n";
}

}  // namespace tool
