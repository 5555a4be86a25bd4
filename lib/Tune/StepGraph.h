// The steps of a kernel's loop and what they need of each other, without IR: what a search over schedules works on.
#pragma once

#include "Tune/Demand.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tune {

struct Step {
  std::string name;
  bool multiplies = false; ///< on the matrix unit
  bool fetches = false;    ///< starts copies to LDS that others wait for
  /// Holds a branch: within a compute cluster the order of others matters only as far as they stand before it or behind.
  bool branches = false;
  /// Does nothing for most tiles: it only passes on what it is given, or masks what cuts the last one alone.
  bool idle = false;
};

/// Step `to` of tile t needs step `from` of tile t - `tiles`.
struct Dependence {
  size_t from = 0, to = 0;
  int tiles = 0;
  /// Through LDS: a barrier that is there (one more for a second wave group) lies between them; else a value in registers, and they
  /// may share a cluster, in this order.
  bool throughLds = false;
};

struct StepGraph {
  std::vector<Step> steps; ///< in the order of the loop, which is that of one tile
  std::vector<Dependence> dependences;
};

/// Where a step stands: cluster and tile offset.
struct Place {
  size_t step = 0, cluster = 0;
  int offset = 0;
};

struct ClusterForm {
  bool compute = false;
  int priority = -1;      ///< -1: none is given
  std::string interleave; ///< empty: none is given
  bool joined = false;    ///< no barrier lies between it and the one before
};

/// A schedule as data.
struct Table {
  std::vector<ClusterForm> clusters;
  std::vector<Place> places; ///< those of a cluster in their order
  int unroll = 1, waveGroups = 1, waves = 0; ///< waves 0: not said
  int workgroups = 0;                        ///< on a compute unit, 0: not said
  bool masksApart = false;                   ///< tiles that masks may cut have loops of their own
  int polynomials = 0;                       ///< one of so many pairs of weights is a polynomial, 0: none
  int kvTile = 0;                            ///< keys of a tile, 0: not said; no part of a schedule's text
};

struct Algorithm {
  StepGraph graph;
  Table start; ///< the schedule that the loop follows
  Demand demand;
};

/// Reads the only scheduled loop of a text of the stage `tile`. InvalidInput: there is none, or several.
Result<Algorithm> readAlgorithm(std::string_view tileText, std::string_view name);

} // namespace hocket::tune
