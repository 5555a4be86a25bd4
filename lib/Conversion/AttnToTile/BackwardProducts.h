// The products of a backward's loop: of tiles that pass through LDS, and what is held in registers or in LDS.
#pragma once

#include "LoopContext.h"
#include "TileVisit.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// Where an iteration goes through several tiles, one after the other: which of them is being written.
class TileInTurn : public TileVisit {
public:
  TileInTurn(ExpansionBuilder &builder, int64_t atOnce) : builder(builder), atOnce(atOnce) {}

  void take(int64_t tile) { turn = tile, suffix = tile == 0 ? "" : "_" + std::to_string(tile + 1); }
  /// A step of that tile, whose name says which it is.
  mlir::ValueRange step(const llvm::Twine &name, llvm::function_ref<llvm::SmallVector<mlir::Value>()> body) const {
    return builder.step((name + suffix).str(), body);
  }
  /// How many iterations, or tiles of each, `end` rows take in tiles of `rows`.
  mlir::Value tilesUpTo(mlir::Value end, int64_t rows) const;
  int64_t ofIteration() const { return atOnce; }
  /// Where the tile stands among all, in iteration `t`.
  mlir::Value number(ExpansionBuilder &builder, mlir::Value t) const override;
  bool isInOrder() const override { return atOnce == 1; }

private:
  ExpansionBuilder &builder;
  int64_t atOnce, turn = 0;
  std::string suffix; ///< of names
};

/// A tensor that passes through LDS, or is held, and the elements of its heads.
struct Operand {
  llvm::StringRef name;
  int64_t dim, depth;      ///< as they are, and in whole blocks
  mlir::Value view = {};  ///< of the sequence
  mlir::Value value = {}; ///< the ring, or what is held in registers
  /// The ring that is read transposed: the same, where one layout in LDS serves both reads.
  mlir::Value turned = {};
  /// Where an iteration goes through several tiles: the rings of each.
  llvm::SmallVector<mlir::Value> rings = {};

  /// One of the two tensors on the side of keys or of queries.
  static Operand of(attn::BackwardOp op, bool ofKeys, bool isFirst);
};

class BackwardProducts {
public:
  /// Each product in `parts`, steps of which take so many parts of the operands where registers are few.
  BackwardProducts(const LoopContext &loop, const TileInTurn &turn, int64_t parts)
      : loop(loop), turn(turn), parts(parts) {}
  /// Of what is held in LDS each wave has the rows that its place in `grid` says.
  void divide(tile::WaveGridOp grid) { waves = grid; }

  /// `start`, and the product of a tile, as it lies in LDS, and what is held, which may lie there, too. What `start`
  /// makes is made in the product's step.
  mlir::Value multiply(const Operand &tiles, const Operand &rows, mlir::Value t, llvm::StringRef name,
                       llvm::function_ref<mlir::Value()> start);
  /// `sum` and the product of the tile, transposed, and `factor`, which is packed scores.
  mlir::Value add(const Operand &tiles, mlir::Value t, mlir::Value factor, mlir::Value sum, llvm::StringRef name) const;

private:
  mlir::Value partOf(mlir::Value operand, mlir::Type type, int64_t first) const;
  mlir::Value standing(const Operand &rows, mlir::Type type, int64_t first);

  const LoopContext &loop;
  const TileInTurn &turn;
  int64_t parts;
  tile::WaveGridOp waves;
};

} // namespace hocket
