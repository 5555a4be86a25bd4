// How a run's own kernels stand beside every peer of the list: line by line, and over all lines as
// a geometric mean, which does not depend on which of the two is divided by.
#pragma once

#include <cmath>
#include <optional>
#include <string>

namespace hocket::run {

/// How many times as fast one's own kernel is as a peer, by the peer's published figure and by what
/// the same run says of the peer's code object; where there is one.
struct PeerRatio {
  std::optional<double> published, inRun;
};

/// Over several lines.
class RatioMean {
public:
  void add(std::optional<double> ratio) {
    if (!ratio)
      return;
    ++lines;
    ahead += *ratio >= 1;
    logs += std::log(*ratio);
  }
  double mean() const { return lines ? std::exp(logs / lines) : 0; }

  unsigned lines = 0;
  unsigned ahead = 0; ///< lines on which one's own is as fast or faster

private:
  double logs = 0;
};

/// All lines of one of a run's own kernels beside one peer.
struct PeerMeans {
  RatioMean published, inRun;
  void add(const PeerRatio &ratio) { published.add(ratio.published), inRun.add(ratio.inRun); }
};

} // namespace hocket::run
