// What an entry has against a problem, and the nearest problem against which it has nothing.
//
// Each rule is a check and a repair next to each other, so that what is refused and what is
// proposed cannot drift apart.
#include "hocket/Attention/Kernels.h"

#include "Grid/WaveShape.h"
#include "Layout/Wave.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cfloat>
#include <cmath>

using namespace hocket;
using namespace hocket::attention;

namespace {
/// Work-items of a launch in x, as runtime::checkLaunch counts them.
constexpr int64_t kMostWorkItems = UINT32_MAX;
/// Waves and keys of a tile where an entry leaves them to the schedule and the head.
constexpr int64_t kMostWaves = 8, kLargeTile = 128;
/// Bytes of the elements that an entry's multiples of strides are counted in.
constexpr int64_t kUsualBytes = 2;

/// Walks the rules of one entry over a problem that it repairs as it goes.
class Rules {
public:
  Rules(const KernelEntry &entry, ForwardProblem problem)
      : problem(std::move(problem)), entry(entry) {}

  void walk(std::string_view architecture) {
    checkArchitecture(architecture);
    checkTypes();
    checkHeadDims();
    checkSplits();
    if (entry.role != KernelRole::Combine)
      checkOption("mask", problem.visibility, entry.masks,
                  [](Visibility mask) { return std::string(mask.name()); });
    for (const ForwardFlag &flag : forwardFlags())
      checkOption(flag.name, problem.*flag.value, entry.choicesOf(flag),
                  [](bool value) { return std::string(value ? "on" : "off"); });
    checkModifications();
    checkWork();
    checkJoinedItems();
    checkGroupRows();
    checkLength("seq-q", problem.seqQ);
    checkLength("seq-kv", problem.seqKv);
    checkGrid();
    checkScale();
    for (const manifest::TensorSpec &tensor : problem.tensors())
      if (tensor.strided && tensor.rowElements > 1)
        checkStrides(tensor);
  }

  std::vector<BrokenRule> broken;
  bool repairable = true;
  ForwardProblem problem;

private:
  void fail(std::string field, const std::string &found, const std::string &wanted) {
    std::string text = field + " is " + found + ", this kernel takes " + wanted;
    broken.push_back({std::move(field), std::move(text)});
  }

  void checkArchitecture(std::string_view architecture) {
    if (llvm::is_contained(entry.architectures, architecture))
      return;
    repairable = false;
    fail("arch", std::string(architecture), llvm::join(entry.architectures, " or "));
  }

  template <typename T, typename Text>
  void checkOption(std::string_view field, T &value, const std::vector<T> &taken, Text text) {
    if (llvm::is_contained(taken, value))
      return;
    std::string wanted;
    for (const T &option : taken)
      wanted += (wanted.empty() ? "" : " or ") + text(option);
    fail(std::string(field), text(value), wanted);
    value = taken.front();
  }

  /// What combines slices writes O alone; O of 8 bits is written wherever it can be of more.
  void checkTypes() {
    auto name = [](const HeadTypes &types) { return optionName(types); };
    const bool isCombine = entry.role == KernelRole::Combine;
    if (isCombine)
      problem.mxScales = false;
    const HeadTypes found = (isCombine ? HeadTypes::ofCombined(problem.dtype.o) : problem.dtype).withWideOutput();
    HeadTypes types = found;
    checkOption("dtype", types, entry.dtypes, name);
    if (types != found)
      problem.dtype = types;
  }

  void checkModifications() {
    checkBlocks();
    if (!problem.isModified() || entry.modifications || entry.role == KernelRole::Combine)
      return;
    fail("modifications", "there", "none");
    problem.sink = problem.dropout = false;
    problem.blocks = {};
    problem.modifications.clear();
    problem.numbers.clear();
    problem.capturedExtents.clear();
  }

  /// Random bytes are made for rows of one head.
  void checkGroupRows() {
    if (!entry.tuning.groupRows)
      return;
    if (problem.blocks.any()) {
      repairable = false;
      fail("block lists", "there", "none, since its rows are of several heads");
    }
    if (problem.descaleBlocks.rows != 0) {
      repairable = false;
      fail("descale-rows", std::to_string(problem.descaleBlocks.rows), "0, since its rows are heads");
    }
    if (problem.mxScales) {
      repairable = false;
      fail("mx", "there", "none, since its rows are heads");
    }
    if (entry.tuning.splitWaves && problem.semantics().lists.vectorPages) {
      repairable = false;
      fail("page-layout", "vectorised", "nhd or hnd, since each of its waves reads a part of a tile");
    }
    if (!problem.dropout)
      return;
    fail("dropout", "there", "none");
    problem.dropout = false;
    problem.dropping = {};
  }

  /// Entries of lists are for workgroups of so many waves, and say themselves whose rows are heads.
  void checkWork() {
    if (!problem.work.any() || entry.role == KernelRole::Combine)
      return;
    bool fits = entry.tuning.waves == 0 || entry.tuning.waves == kWorkWaves;
    if (fits && !entry.tuning.groupRows && entry.role == KernelRole::Whole)
      return;
    fail("a list of work", "there", fits ? "none" : "none, since its workgroups have other rows than entries");
    problem.work = {};
    problem.known.lists.erase("work_list");
  }

  /// The next item's first tiles are asked for before this one ends: arguments alone must say where they lie.
  void checkJoinedItems() {
    if (!entry.tuning.joinItems || !(problem.lists.any() || problem.work.any()))
      return;
    repairable = false;
    fail("a list of sequences or of work", "there", "none, since its items join");
  }

  /// A workgroup has queries of one block, a block whole tiles of keys.
  void checkBlocks() {
    if (!problem.blocks.any() || entry.role == KernelRole::Combine)
      return;
    if (problem.lists.any()) {
      repairable = false;
      return fail("block lists", "there", "none where sequences have lengths of their own");
    }
    int64_t rows = (entry.tuning.waves ? entry.tuning.waves : kMostWaves) * kWaveRows;
    int64_t keys = entry.tuning.kvTile ? entry.tuning.kvTile : kLargeTile;
    if (problem.blocks.queries % rows == 0 && problem.blocks.keys % keys == 0)
      return;
    repairable = false;
    fail("block-size", std::to_string(problem.blocks.queries) + "," + std::to_string(problem.blocks.keys),
         "multiples of " + std::to_string(rows) + " queries and of " + std::to_string(keys) + " keys");
  }

  /// Whole kernels split nothing, the others nothing else.
  void checkSplits() {
    bool whole = entry.role == KernelRole::Whole;
    if (whole != problem.tuning.isSplit())
      return;
    fail("num-splits", std::to_string(problem.tuning.numSplits), whole ? "1" : "2 or more");
    problem.tuning.numSplits = whole ? 1 : 2;
  }

  void checkHeadDims() {
    HeadDims found{problem.headDim, problem.valueHeadDim()};
    if (entry.role == KernelRole::Combine)
      found.qk = found.v;
    if (entry.takes(found))
      return;
    HeadDims nearest = nearestDims(found);
    std::string wanted = wantedDims();
    if (nearest.qk != found.qk)
      fail("head-dim", text(found), wanted);
    else
      fail("head-dim-v", std::to_string(found.v),
           wanted + " with head-dim " + std::to_string(found.qk));
    // Strides that were meant for other rows say nothing about these.
    problem.strides.clear();
    problem.headDim = nearest.qk;
    problem.headDimV = nearest.v;
  }
  std::string wantedDims() const {
    if (entry.headDimMultiple > 0)
      return "multiples of " + std::to_string(entry.headDimMultiple) + " up to " +
             std::to_string(entry.headDimMax);
    std::string wanted;
    for (HeadDims dims : entry.headDims)
      wanted += (wanted.empty() ? "" : " or ") + text(dims);
    return wanted;
  }
  HeadDims nearestDims(HeadDims found) const {
    HeadDims nearest = entry.headDims.front();
    for (HeadDims dims : entry.headDims)
      if (distance(dims, found) < distance(nearest, found))
        nearest = dims;
    if (entry.headDimMultiple == 0)
      return nearest;
    auto round = [&](int64_t dim) {
      int64_t up = static_cast<int64_t>(
          llvm::alignTo(static_cast<uint64_t>(dim), uint64_t(entry.headDimMultiple)));
      return std::min(up, entry.headDimMax - entry.headDimMax % entry.headDimMultiple);
    };
    return {round(found.qk), round(found.v)};
  }
  static std::string text(HeadDims dims) {
    return std::to_string(dims.qk) + (dims.v == dims.qk ? "" : "/" + std::to_string(dims.v));
  }
  static int64_t distance(HeadDims a, HeadDims b) {
    return std::abs(a.qk - b.qk) + std::abs(a.v - b.v);
  }

  void checkLength(const char *field, int64_t &length) {
    if (length <= entry.maxSequence)
      return;
    fail(field, std::to_string(length), "at most " + std::to_string(entry.maxSequence));
    length = entry.maxSequence;
  }

  /// A workgroup for every block of rows of every head, all in the grid's x.
  void checkGrid() {
    // Without a number of waves, the worst case: one wave, one block for every 32 rows.
    int64_t waves = std::max<int64_t>(entry.tuning.waves, 1);
    int64_t blocks = llvm::divideCeil(problem.seqQ, waves * kWaveRows);
    int64_t most = kMostWorkItems / (waves * kWaveLanes) / blocks;
    if (problem.heads <= most)
      return;
    fail("heads", std::to_string(problem.heads),
         "at most " + std::to_string(most) + " with seq-q " + std::to_string(problem.seqQ));
    repairable &= most >= 1;
    problem.heads = std::max<int64_t>(most, 1);
    if (problem.heads % problem.kvHeads != 0)
      problem.heads -= problem.heads % std::min(problem.kvHeads, problem.heads);
    if (problem.heads % problem.kvHeads != 0)
      problem.kvHeads = problem.heads;
  }

  void checkScale() {
    if (std::abs(problem.effectiveScale()) <= double(FLT_MAX))
      return;
    fail("scale", std::to_string(problem.effectiveScale()), "what a float32 can hold");
    problem.scale.reset();
  }

  void checkStrides(manifest::TensorSpec tensor) {
    bool wrong = false;
    const int64_t multiple = std::max<int64_t>(entry.strideMultiple * kUsualBytes / bytesOf(tensor.type), 1);
    for (manifest::TensorDimension &dimension : tensor.dimensions) {
      if (dimension.stride % multiple == 0)
        continue;
      fail("the " + dimension.name + " stride of '" + tensor.name + "'",
           std::to_string(dimension.stride),
           "multiples of " + std::to_string(multiple) + " elements");
      broken.back().ofLayout = true;
      dimension.stride = static_cast<int64_t>(llvm::alignTo(
          static_cast<uint64_t>(dimension.stride), uint64_t(multiple)));
      wrong = true;
    }
    if (wrong)
      problem.strides[tensor.name] = stridesOf(tensor);
  }

  const KernelEntry &entry;
};
} // namespace

std::vector<BrokenRule> attention::brokenRules(const KernelEntry &entry,
                                               const ForwardProblem &problem,
                                               std::string_view architecture) {
  Rules rules(entry, problem);
  rules.walk(architecture);
  return std::move(rules.broken);
}

std::optional<ForwardProblem> attention::nearestSupported(const KernelEntry &entry,
                                                          ForwardProblem problem,
                                                          std::string_view architecture) {
  Rules rules(entry, std::move(problem));
  rules.walk(architecture);
  if (!rules.repairable)
    return std::nullopt;
  // One repair can undo another's ground: explicit strides of another head dimension, say. Dense
  // tensors always fit.
  ForwardProblem dense = rules.problem;
  dense.strides.clear();
  for (const ForwardProblem &repaired : {rules.problem, dense})
    if (validate(repaired).ok() && brokenRules(entry, repaired, architecture).empty())
      return repaired;
  return std::nullopt;
}
