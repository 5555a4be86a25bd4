#include "Calibration.h"

#include <cmath>

using namespace hocket::run;

/// The factor alone, with a fixed launch overhead.
static Calibration fitFactor(const std::vector<Figure> &figures, double launch) {
  double xy = 0, xx = 0;
  for (const Figure &f : figures) {
    double x = f.execute / f.measured, y = 1 - launch / f.measured;
    xy += x * y, xx += x * x;
  }
  return {xx > 0 && xy > 0 ? xy / xx : 1, launch};
}

Calibration hocket::run::calibrate(const std::vector<Figure> &figures, double launch) {
  if (figures.size() < 2)
    return fitFactor(figures, launch);
  // factor * x + launch * u = 1 with x = execute / measured and u = 1 / measured.
  double xx = 0, xu = 0, uu = 0, x1 = 0, u1 = 0;
  for (const Figure &f : figures) {
    double x = f.execute / f.measured, u = 1 / f.measured;
    xx += x * x, xu += x * u, uu += u * u, x1 += x, u1 += u;
  }
  double determinant = xx * uu - xu * xu;
  if (std::abs(determinant) < 1e-12 * xx * uu)
    return fitFactor(figures, launch);
  Calibration fitted{(x1 * uu - u1 * xu) / determinant, (xx * u1 - xu * x1) / determinant};
  if (fitted.launch < 0 || fitted.factor <= 0)
    return fitFactor(figures, 0);
  return fitted;
}
