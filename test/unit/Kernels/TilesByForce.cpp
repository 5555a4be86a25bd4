// Brute force over masks, through the interpreter of their regions.
#include "TilesByForce.h"

#include "Reference/ScoreInterpreter.h"
#include "Simulator/Instruction.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;
using test::ProductCounter;
using test::TilesByForce;
using test::TilesSeen;

static constexpr int64_t kWaveQueries = 32;

static int64_t divideCeil(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<TilesByForce> TilesByForce::create(const ForwardProblem &problem) {
  TilesByForce tiles(problem);
  std::vector<Modification> &modifications = tiles.problem.modifications;
  auto isOther = [&](const Modification &modification) {
    tiles.readsTensors |= modification.isMask && !modification.tensors.empty();
    return !modification.isMask || !modification.tensors.empty();
  };
  modifications.erase(std::remove_if(modifications.begin(), modifications.end(), isOther), modifications.end());
  auto rules = reference::interpretModifications(tiles.problem, {});
  if (!rules.ok())
    return rules.error();
  for (int64_t query = 0; query != problem.seqQ; ++query)
    for (int64_t key = 0; key != problem.seqKv; ++key)
      tiles.visible.push_back((*rules)->sees({0, 0, query, key}));
  return tiles;
}

TilesByForce::Pairs TilesByForce::pairs(int64_t row, int64_t rows, int64_t key, int64_t keys, bool counts) const {
  Pairs found;
  int64_t endQuery = std::min(row + rows, problem.seqQ), endKey = std::min(key + keys, problem.seqKv);
  for (int64_t query = row; query < endQuery; ++query)
    for (int64_t k = key; k < endKey; ++k) {
      bool seen = problem.sees(query, k) && (!counts || visible[static_cast<size_t>(query * problem.seqKv + k)]);
      found.anySeen |= seen, found.anyHidden |= !seen || (counts && readsTensors);
    }
  return found;
}

/// Adds a tile of the workgroup that begins with query `row`; with lists it is visited whatever masks say.
void TilesByForce::add(TileSizes sizes, int64_t row, int64_t tile, bool isListed, bool counts, TilesSeen &seen) const {
  Pairs all = pairs(row, sizes.rows, tile * sizes.keys, sizes.keys, counts);
  if (!all.anySeen && !isListed)
    return;
  ++seen.visited, seen.cut += all.anyHidden;
  for (int64_t wave = row; wave != row + sizes.rows; wave += kWaveQueries)
    seen.ofWaves += isListed || pairs(wave, kWaveQueries, tile * sizes.keys, sizes.keys, counts).anySeen;
}

TilesSeen TilesByForce::count(TileSizes sizes) const {
  TilesSeen seen;
  for (int64_t row = 0; row < problem.seqQ; row += sizes.rows)
    for (int64_t tile = 0; tile * sizes.keys < problem.seqKv; ++tile)
      add(sizes, row, tile, /*isListed=*/false, /*counts=*/true, seen);
  int64_t times = problem.batch * problem.heads;
  return {seen.visited * times, seen.cut * times, seen.ofWaves * times};
}

TilesSeen TilesByForce::count(TileSizes sizes, std::span<const BlockKind> kinds) const {
  TilesSeen seen;
  int64_t rows = divideCeil(problem.seqQ, problem.blocks.queries);
  int64_t columns = divideCeil(problem.seqKv, problem.blocks.keys);
  int64_t tiles = problem.blocks.keys / sizes.keys;
  for (int64_t group = 0; group != problem.batch * problem.heads; ++group)
    for (int64_t row = 0; row < problem.seqQ; row += sizes.rows)
      for (int64_t column = 0; column != columns; ++column) {
        int64_t block = (group * rows + row / problem.blocks.queries) * columns + column;
        BlockKind kind = kinds[static_cast<size_t>(block)];
        for (int64_t tile = column * tiles; kind != BlockKind::Hidden && tile != (column + 1) * tiles; ++tile)
          add(sizes, row, tile, /*isListed=*/true, kind == BlockKind::Partial, seen);
      }
  return seen;
}

std::vector<BlockKind> TilesByForce::kindsOfBlocks() const {
  std::vector<BlockKind> kinds;
  const BlockSizes &size = problem.blocks;
  for (int64_t group = 0; group != problem.batch * problem.heads; ++group)
    for (int64_t row = 0; row < problem.seqQ; row += size.queries)
      for (int64_t key = 0; key < problem.seqKv; key += size.keys) {
        Pairs all = pairs(row, size.queries, key, size.keys, /*counts=*/true);
        kinds.push_back(!all.anySeen ? BlockKind::Hidden : all.anyHidden ? BlockKind::Partial : BlockKind::Full);
      }
  return kinds;
}

class ProductCounter::Counting final : public sim::Observer {
public:
  explicit Counting(std::atomic<int64_t> &products) : products(products) {}
  void before(sim::Wave &, uint32_t, const sim::Instruction &instruction) override {
    count += instruction.encoding == sim::Encoding::MAI && !isMove(instruction);
  }
  void end(sim::Workgroup &) override {
    products += count;
    count = 0;
  }

private:
  /// v_accvgpr_read_b32 and v_accvgpr_write_b32 have the encoding of matrix instructions.
  static bool isMove(const sim::Instruction &instruction) {
    constexpr uint32_t firstMove = 0x58, lastMove = 0x59, opcodeAt = 16, opcodeBits = 0x7f;
    uint32_t opcode = instruction.words[0] >> opcodeAt & opcodeBits;
    return opcode == firstMove || opcode == lastMove;
  }

  std::atomic<int64_t> &products;
  int64_t count = 0;
};

std::unique_ptr<sim::Observer> ProductCounter::observe(const sim::LaunchContext &) {
  return std::make_unique<Counting>(products);
}
