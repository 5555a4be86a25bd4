// What a launch is predicted to take under each variation of the cycle model's doubtful parameters.
#pragma once

#include "Grid/TimeParameters.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace llvm::json {
class OStream;
}

namespace hocket::sim {

/// Parameters with a value of `timeVariations`.
struct VariedParameters {
  std::string assignment; ///< "packed.f32_cycles=8"
  TimeParameters parameters;
  bool ofGrid = false; ///< the grid's: workgroups take as long as without it
};

/// `nominal` under each variation, in the order of `timeVariations`.
Result<std::vector<VariedParameters>> variedParameters(const TimeParameters &nominal);

/// Microseconds by assignment ("packed.f32_cycles=8"), in the order of `timeVariations`.
class VariedTimes {
public:
  /// Adds to what is known of the assignment: launches one after the other.
  void add(const std::string &assignment, double microseconds);
  /// The same with each time changed.
  VariedTimes mapped(const std::function<double(double)> &change) const;
  bool empty() const { return times.empty(); }
  /// The shortest and the longest, `nominal` among them.
  std::pair<double, double> range(double nominal) const;

  /// A line for the extremes, with their assignments; nothing if it is empty.
  std::string toText(double nominal) const;
  /// The members "best_us", "worst_us" and "variations"; none if it is empty.
  void writeMembers(llvm::json::OStream &out, double nominal) const;

private:
  std::vector<std::pair<std::string, double>> times;
};

} // namespace hocket::sim
