// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planning.hpp  The demo's loop as cairn's planning sees it.

#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>

#include "../support/planning.hpp"
#include "lstm.hpp"
#include "options.hpp"

namespace demo {

/// Seconds that one step and one step's adjoint take.
struct step_costs {
  double step = 0;
  double adjoint = 0;
};

/// The sizes of the demo's loop: text, streams and model together.
struct loop_shape {
  Eigen::Index hidden, symbols, streams;
  cairn::step_index steps;
  step_costs costs;

  /// The tape is all that step and adjoint hold for their own use: a longer leaf costs more.
  [[nodiscard]] cairn::workload workload(cairn::step_index leaf) const {
    matrix<float> const part(hidden, streams);
    cairn::wide const state = cairn::bytes_of(lstm_state<float>{part, part});
    cairn::workload work;
    work.steps = steps;
    work.state_bytes = work.adjoint_bytes = state;
    work.state_inline_bytes = sizeof(lstm_state<float>);
    work.tape_bytes =
        lstm_step<float>::bytes(hidden, streams) + lstm_adjoint<float>::bytes(hidden, symbols, streams, leaf);
    work.step_seconds = costs.step;
    work.adjoint_seconds = costs.adjoint;
    work.form.step = cairn::step_form::out_of_place;
    work.form.adjoint = cairn::adjoint_form::leaf;
    return work;
  }
  /// The adjoint runs each step once more for any leaf, so only the calls of the step differ.
  [[nodiscard]] cairn::wide work(cairn::any_schedule const&, cairn::cost const& cost) const { return cost.step_calls; }
};

}  // namespace demo
