// Two constants that turn predictions into measurements: a factor (the clock) and an offset (the
// launch overhead).
#pragma once

#include <vector>

namespace hocket::run {

/// One figure to fit to, in microseconds.
struct Figure {
  double execute = 0; ///< predicted, without launch overhead
  double measured = 0;
};

struct Calibration {
  double factor = 1; ///< on the predicted execution: a clock of 1/factor times the model's
  double launch = 0; ///< microseconds

  double apply(double execute) const { return factor * execute + launch; }
};

/// Least squares of the relative error. One figure fits the factor alone; the launch overhead is
/// not fitted below zero.
Calibration calibrate(const std::vector<Figure> &figures, double launch);

} // namespace hocket::run
