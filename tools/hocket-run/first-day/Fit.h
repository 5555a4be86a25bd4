// Finds the value of a parameter with which a model says what was measured.
#pragma once

#include "hocket/Support/Result.h"

#include <functional>

namespace hocket::run::firstday {

struct Interval {
  double low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
};

enum class FitOutcome {
  Found,
  Unaffected, ///< what was measured hardly depends on the parameter
  OutOfReach, ///< no value within the range gives what was measured; the nearest end is the value
};

struct Fit {
  FitOutcome outcome = FitOutcome::Found;
  double value = 0, uncertainty = 0; ///< the value is the initial one where that is as good as any
};

/// `model` grows or falls with its parameter, in steps perhaps. The values with which it gives something within
/// `measured` lie in value +- uncertainty. Values are sought in `range`, which holds `initial`. Errors: the model's.
Result<Fit> fitParameter(const std::function<Result<double>(double)> &model, double initial, Interval range,
                         Interval measured);

} // namespace hocket::run::firstday
