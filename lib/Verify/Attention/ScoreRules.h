// What modifications do to scores, for the reference. Who interprets them is not known here.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// What captured tensors hold, as numbers, by name: dense, with the extents that the problem gives them.
using CapturedNumbers = std::map<std::string, std::vector<double>, std::less<>>;

struct ScorePosition {
  int64_t batch = 0, head = 0, query = 0, key = 0;
};

class ScoreRules {
public:
  virtual ~ScoreRules() = default;
  /// The score that `scaled` becomes, at `position`.
  virtual double modified(double scaled, const ScorePosition &position) const = 0;
  /// What that score changes by with `scaled`; NaN if an op on the way has no derivative.
  virtual double derivative(double scaled, const ScorePosition &position) const = 0;
  /// What that score changes by with the number of the captured tensor `tensor` that is read for it, and which number of
  /// the tensor, dense with the extents that the problem gives it, that is; -1: none.
  struct Influence {
    double slope = 0;
    int64_t place = -1;
  };
  virtual Influence influence(std::string_view tensor, double scaled, const ScorePosition &position) const = 0;
  /// Whether all masks among the modifications let the query see the key. May be called from any thread.
  virtual bool sees(const ScorePosition &position) const = 0;
};

/// Makes the rules of a problem that has modifications.
using MakeScoreRules = std::function<Result<std::shared_ptr<const ScoreRules>>(
    const ForwardProblem &problem, const CapturedNumbers &captured)>;

} // namespace hocket::attention
