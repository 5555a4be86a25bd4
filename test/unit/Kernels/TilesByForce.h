// What a launch must do with tiles, by a look at each pair of a query and a key; and what a kernel did.
#pragma once

#include "Simulator/Observer.h"
#include "hocket/Attention/BlockLists.h"
#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Pipelines/TileCount.h"
#include "hocket/Support/Result.h"

#include <atomic>
#include <vector>

namespace hocket::test {

/// Of all workgroups of a launch.
struct TilesSeen {
  int64_t visited = 0;
  int64_t cut = 0;     ///< of these, with a pair that masks hide
  int64_t ofWaves = 0; ///< pairs of a wave and a tile in which it sees something, or with lists of a wave and a tile
};

/// Looks at the masks of a problem that is neither packed nor in pages. Those that read tensors are taken to hide
/// nothing and to cut every tile that they count in, since nobody can know before.
class TilesByForce {
public:
  static Result<TilesByForce> create(const attention::ForwardProblem &problem);

  TilesSeen count(TileSizes sizes) const;
  /// By the kinds of blocks, [batch, heads, rows, columns] of `problem.blocks`.
  TilesSeen count(TileSizes sizes, std::span<const attention::BlockKind> kinds) const;
  /// The kinds that masks make of blocks.
  std::vector<attention::BlockKind> kindsOfBlocks() const;

private:
  /// Which pairs of some there are.
  struct Pairs {
    bool anySeen = false, anyHidden = false;
  };
  explicit TilesByForce(const attention::ForwardProblem &problem) : problem(problem) {}
  /// Of queries [row, row + rows) and keys [key, key + keys), as many as there are; `counts`: masks do beside `causal`.
  Pairs pairs(int64_t row, int64_t rows, int64_t key, int64_t keys, bool counts) const;
  void add(TileSizes sizes, int64_t row, int64_t tile, bool isListed, bool counts, TilesSeen &seen) const;

  attention::ForwardProblem problem;
  bool readsTensors = false;      ///< some mask
  std::vector<bool> visible;      ///< [queries, keys], by all masks but `causal`
};

/// Counts matrix instructions of all waves of all launches.
class ProductCounter final : public sim::Instrument {
public:
  std::unique_ptr<sim::Observer> observe(const sim::LaunchContext &) override;
  int64_t count() const { return products; }

private:
  class Counting;
  std::atomic<int64_t> products = 0;
};

} // namespace hocket::test
