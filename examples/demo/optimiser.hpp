// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file optimiser.hpp  Adam (Kingma & Ba 2015) with a learning rate for each kind of weight.

#include <cmath>

#include "lstm.hpp"

namespace demo {

/// Large rates: one pass gives one update, and the first few have to count. The output layer, a convex problem for
/// given hidden values, bears much larger ones than the recurrence.
template <class Scalar>
class adam {
 public:
  explicit adam(parameters<Scalar> const& weights)
      : rates_{weights.hidden(), weights.symbols()}, mean_{vector<Scalar>::Zero(weights.all().size())}, square_{mean_} {
    rates_.input().setConstant(Scalar(0.01));
    rates_.recurrent().setConstant(Scalar(0.01));
    rates_.output().setConstant(Scalar(0.25));
    rates_.output_bias().setConstant(Scalar(0.5));
  }

  void update(parameters<Scalar>& weights, parameters<Scalar> const& gradient) {
    constexpr auto keep_mean = Scalar(0.5), keep_square = Scalar(0.99), tiny = Scalar(1e-8);
    ++updates_;
    auto const g = gradient.all().array();
    mean_.array() = keep_mean * mean_.array() + (1 - keep_mean) * g;
    square_.array() = keep_square * square_.array() + (1 - keep_square) * g.square();
    // Both averages start at zero; these factors make up for it.
    auto const mean_scale = 1 / (1 - std::pow(keep_mean, Scalar(updates_)));
    auto const square_scale = 1 / (1 - std::pow(keep_square, Scalar(updates_)));
    weights.all().array() -=
        rates_.all().array() * (mean_scale * mean_.array()) / ((square_scale * square_.array()).sqrt() + tiny);
  }

 private:
  parameters<Scalar> rates_;
  vector<Scalar> mean_, square_;
  int updates_ = 0;
};

}  // namespace demo
