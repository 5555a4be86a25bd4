// See Fit.h. Both ends of the values that fit are found by bisection, which steps of the model do not disturb.
#include "Fit.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::run::firstday;

/// Halvings of the range: a ten-thousandth of it remains.
static constexpr unsigned kHalvings = 14;

/// Where `reaches` turns true between `low`, where it is not, and `high`, where it is.
static Result<double> turningPoint(double low, double high, const std::function<Result<bool>(double)> &reaches) {
  for (unsigned i = 0; i != kHalvings; ++i) {
    const double middle = (low + high) / 2;
    Result<bool> there = reaches(middle);
    if (!there.ok())
      return there.error();
    (*there ? high : low) = middle;
  }
  return (low + high) / 2;
}

Result<Fit> run::firstday::fitParameter(const std::function<Result<double>(double)> &model, double initial,
                                        Interval range, Interval measured) {
  Result<double> atLow = model(range.low), atHigh = model(range.high);
  if (!atLow.ok() || !atHigh.ok())
    return atLow.ok() ? atHigh.error() : atLow.error();
  if (std::abs(*atHigh - *atLow) <= measured.high - measured.low)
    return Fit{FitOutcome::Unaffected, initial, range.high - range.low};
  // A model that falls is one that grows with its sign changed.
  const double sign = *atHigh > *atLow ? 1 : -1;
  const Interval wanted = sign > 0 ? measured : Interval{-measured.high, -measured.low};
  if (sign * *atHigh < wanted.low)
    return Fit{FitOutcome::OutOfReach, range.high, 0};
  if (sign * *atLow > wanted.high)
    return Fit{FitOutcome::OutOfReach, range.low, 0};
  auto reaches = [&](double bound, bool orEqual) {
    return [&model, sign, bound, orEqual](double value) -> Result<bool> {
      Result<double> given = model(value);
      if (!given.ok())
        return given.error();
      return orEqual ? sign * *given >= bound : sign * *given > bound;
    };
  };
  Result<double> low = range.low, high = range.high;
  if (sign * *atLow < wanted.low)
    low = turningPoint(range.low, range.high, reaches(wanted.low, true));
  if (sign * *atHigh > wanted.high)
    high = turningPoint(range.low, range.high, reaches(wanted.high, false));
  if (!low.ok() || !high.ok())
    return low.ok() ? high.error() : low.error();
  const Interval fits{std::min(*low, *high), std::max(*low, *high)};
  return Fit{FitOutcome::Found, fits.contains(initial) ? initial : (fits.low + fits.high) / 2, (fits.high - fits.low) / 2};
}
