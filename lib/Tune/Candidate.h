// A schedule as the search sees it: every step at a position in time, and how to change it.
//
// With C clusters, a step at position p stands in cluster p mod C and runs for the tile -floor(p / C) ahead: what a
// tile goes through is read off from left to right, whatever C is (ScheduleModel.h uses the same time). Dependences are
// differences of positions, or, through LDS, of the barriers between: `phaseOf` counts those in front of a position.
#pragma once

#include "llvm/Support/MathExtras.h"

#include "Tune/StepGraph.h"

#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace hocket::tune {

/// The greatest number that is at most a / b.
inline int floorDivide(int a, int b) {
  return static_cast<int>(llvm::divideFloorSigned(int64_t(a), int64_t(b)));
}

/// The generator of all choices. Its raw numbers are the same everywhere, which distributions of the standard library
/// do not promise, so choices are made from them directly.
class Choices {
public:
  explicit Choices(uint64_t seed) : engine(seed) {}
  /// From [0, count).
  int below(int count) { return static_cast<int>(engine() % static_cast<uint64_t>(count)); }
  /// True `of` times in `outOf`.
  bool chance(int of, int outOf) { return below(outOf) < of; }
  /// 0 half of the times, 1 a quarter, and so on, at most `limit`.
  int few(int limit) {
    int count = 0;
    while (count < limit && chance(1, 2))
      ++count;
    return count;
  }
  int sign() { return chance(1, 2) ? 1 : -1; }

private:
  std::mt19937_64 engine;
};

/// What a compute cluster may say of the order within it, where it lists no slots (docs/CodeGeneration.md).
inline constexpr std::string_view kStream = "stream", kAcross = "across", kSpread = "spread", kPowers = "powers",
                                  kEven = "even";

/// Waves of a workgroup, keys of a tile and workgroups on a compute unit to choose from; none of a kind: not said.
struct Shapes {
  std::vector<int64_t> waves, kvTiles, workgroupCounts;
  std::string interleave; ///< what compute clusters that are drawn say of the order within them
  int workgroups = 0; ///< that all have on a compute unit where there is no choice, 0: not said
  bool masksApart = false;
  int polynomials = 0; ///< as the start says
  int simds = 0; ///< of a compute unit; 0: not known
};

/// Kinds of small changes.
enum class Change { Move, MoveAll, Order, Retime, RetimeAll, Split, Form, FormAll, Shape };


/// What is known before a candidate is compiled: its tiles are too large for LDS, or what waits for a later cluster for
/// registers; there are enough if operands come while others go; there seem to be enough.
enum class Fit { No, Tight, Yes };

struct Neighbour;

class Candidate {
public:
  static Candidate fromTable(const Table &table, const StepGraph &graph);
  /// One drawn at random, with every dependence kept if that was possible.
  static Candidate draw(const StepGraph &graph, const Shapes &shapes, Choices &choices);

  /// Changes it in one of many ways.
  void change(const Shapes &shapes, Choices &choices);
  /// Waves and keys from `shapes` where it does not say them.
  void chooseShape(const Shapes &shapes, Choices &choices);
  /// All that one small change makes of it, in a fixed order: a step elsewhere or in another order, a step with all that
  /// follows it later or earlier, a cluster more, in two, left out or of another form, another shape. Not repaired yet.
  std::vector<Neighbour> neighbours(const StepGraph &graph, const Shapes &shapes) const;
  /// Moves steps until every dependence is kept, as little as that takes. False if no such place was found near.
  bool repair(const StepGraph &graph);
  /// Whether its tiles may lie in LDS and its values in registers, as far as `demand` knows of tiles of this size. Where
  /// waves are not said, each has the registers of a SIMD to itself.
  Fit fit(const StepGraph &graph, const Demand &demand) const;
  int keysOfTile() const { return kvTile; }

  Table table(const StepGraph &graph) const;
  /// Wave groups, waves, workgroups, keys of a tile: what hardly ever changes for the better by small steps.
  using Island = std::array<int, 4>;
  Island island() const { return {waveGroups, waves, workgroups, kvTile}; }
  /// Clusters, tiles under way at once: candidates that differ in them are hardly variations of each other.
  using Form = std::array<int, 2>;
  Form form(const StepGraph &graph) const;

private:
  int floorCluster(int at) const;
  int phases() const;
  int phaseOf(int at) const;
  bool settle(const StepGraph &graph, const Dependence &dependence);
  int slotsBetween(size_t fill, size_t read) const;
  int unrollFor(const StepGraph &graph) const;
  using Neighbours = std::vector<Neighbour>;
  Candidate &add(Neighbours &to, Change kind, int what) const;
  void addMoves(Neighbours &to) const;
  void addOrders(Neighbours &to) const;
  void addRetimed(const StepGraph &graph, Neighbours &to) const;
  void addOperands(const StepGraph &graph, Neighbours &to) const;
  void readAhead(const StepGraph &graph, int ahead);
  void addSplits(Neighbours &to) const;
  void addClusterForms(const StepGraph &graph, Neighbours &to) const;
  void addShapes(const Shapes &shapes, Neighbours &to) const;
  bool isAlone(const Shapes &shapes) const { return waves != 0 && waves <= shapes.simds; }
  void drawSteps(const StepGraph &graph, Choices &choices);
  void drawOrder(const StepGraph &graph, Choices &choices);
  void drawForms(const StepGraph &graph, const Shapes &shapes, Choices &choices);
  void useLate(const StepGraph &graph, Choices &choices);
  void readLate(const StepGraph &graph, Choices &choices);
  void fetchAhead(const StepGraph &graph, Choices &choices);
  bool multiplies(const StepGraph &graph, int cluster) const;
  void moveSteps(Choices &choices);
  void changeClusters(Choices &choices);
  void changeForm(const Shapes &shapes, Choices &choices);
  int64_t ldsBytes(const Demand &demand) const;
  int64_t registersBehind(int cluster, const Demand &demand) const;
  int64_t operandsReadIn(int cluster, const StepGraph &graph, const Demand &demand) const;
  void insertCluster(int before);
  void removeCluster(int index);
  std::vector<size_t> stepsIn(int cluster) const;
  void normalize(const StepGraph &graph);
  void sortWithinBlocks(const StepGraph &graph);
  bool isNeeded(const StepGraph &graph, size_t step, size_t by) const;
  std::vector<size_t> sortedByNeed(const StepGraph &graph, std::vector<size_t> block) const;
  void leaveOutIdle(const StepGraph &graph);
  void settleIdle(const StepGraph &graph);

  int clusters = 1, waveGroups = 1, waves = 0, workgroups = 0, kvTile = 0;
  int unroll = 0; ///< 0: as often as rings have slots, so that each copy of the loop's body knows its own
  bool masksApart = false;
  int polynomials = 0;
  std::vector<int> position;      ///< by step
  std::vector<int> rank;          ///< by step: who comes first in a cluster
  std::vector<int> priority;      ///< by cluster
  std::vector<std::string> interleave; ///< by cluster: what a compute cluster says of it
  std::vector<bool> joined;      ///< by cluster: to the one before; of two wave groups none is
  std::vector<bool> otherKind;   ///< by cluster: "compute" where nothing multiplies, "memory" where something does
};

/// What one small change makes of a candidate. `what` tells changes of a kind apart: the same change of other candidates
/// has the same number, as far as they have something that is the same.
struct Neighbour {
  Candidate candidate;
  Change kind;
  int what;
};

/// The text of a `tile.schedule` called `name`.
std::string toText(const Table &table, const StepGraph &graph, std::string_view name);

/// `graph` with only those steps that `table` places, and `table` with their new numbers: of the others (puts behind a
/// load, whose place follows from it) what they pass on is kept as dependences.
Algorithm onlyPlaced(const Algorithm &algorithm);

} // namespace hocket::tune
