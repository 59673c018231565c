// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/run/check/check_reversible.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/run/check/impl/report.ipp>

namespace cairn {

CAIRN_DECL void reversible_check::put_in_words() {
  text_ = {};
  text_.add("cairn::check_reversible: ");
  auto const bytes = [this](wide count, char const* words) {
    if (count == unknown_bytes) text_.add("an unknown number of bytes");
    else text_.add(count).add(words);
  };
  auto const where = [this] {
    if (cells.empty()) return;
    text_.add(", most of all in ");
    for (std::size_t k = 0; k < cells.size() && k < 3; ++k) {
      text_.add(k > 0 ? ", " : cells.size() > 1 || cells[0].size > 1 ? "numbers " : "number ").add(wide(cells[k].first));
      if (cells[k].size > 1) text_.add(" to ").add(wide(cells[k].first + cells[k].size - 1));
    }
    if (cells.size() > 3) text_.add(" and others");
  };
  switch (fault) {
    case reversal_fault::none:
      if (steps == 0) return void(text_.add("there is no step"));
      text_.add("each of ").add(wide(steps)).add(" steps runs backwards; the state drifts by ");
      detail::add_real(text_, rows.front().drift);
      text_.add(" of its largest number in one step and by ");
      detail::add_real(text_, drift);
      text_.add(" in all");
      where();
      text_.add("; kept are ");
      bytes(kept_bytes, " bytes a step");
      text_.add(", and a state has ");
      bytes(state_bytes, "");
      return;
    case reversal_fault::not_finite:
      return void(text_.add("a number of the state is infinite or NaN after step ").add(wide(step)));
    case reversal_fault::not_inverse:
    case reversal_fault::not_restored:
      if (step >= 0) text_.add("step ").add(wide(step)).add(" forward and back does not give the state again");
      else text_.add("steps that are right one by one do not give the state again");
      if (drift < detail::infinite_drift && fault == reversal_fault::not_inverse) {
        text_.add(": it drifts by ");
        detail::add_real(text_, drift);
        text_.add(" of its largest number");
      }
      where();
      text_.add(fault == reversal_fault::not_inverse
                    ? "; back is not the inverse there: it lacks a term or a source, or the step loses what keep does "
                      "not keep, as a limiter and a clipped number do"
                    : "; back leaves something as it is that is no floating-point number: a counter, a flag, a place");
      return;
    case reversal_fault::explodes:
      text_.add("each step alone runs backwards, but ").add(wide(rows.back().steps)).add(" steps drift by ");
      detail::add_real(text_, drift);
      text_.add(" of the largest number");
      where();
      text_.add("; rounding grows with every step back, as where a step damps: keep these ")
          .add(wide(cell_count))
          .add(" numbers, ")
          .add(cell_bytes)
          .add(" bytes a step, or have segments of at most ")
          .add(wide(longest_segment(1e-10)))
          .add(" steps for a drift of 1e-10");
      return;
  }
}

}  // namespace cairn
