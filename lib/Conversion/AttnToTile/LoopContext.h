// What all parts of a loop's expansion share.
#pragma once

#include "ExpansionBuilder.h"

#include "Attn/IR/Attn.h"

#include "Conversion/TileShape.h"
#include "IR/ElementTypes.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket {

/// Whether numbers of this type have 8 bits or fewer.
inline bool isSmall(mlir::Type element) { return bitsOf(element) <= 8; }

/// What memory has for numbers of this type: bytes where several are in one.
inline mlir::Type inMemory(mlir::Type element) {
  return bitsOf(element) < 8 ? mlir::Type(mlir::IntegerType::get(element.getContext(), 8)) : element;
}
/// In how many elements of memory `count` numbers lie.
inline int64_t countInMemory(mlir::Type element, int64_t count) {
  return count * bitsOf(element) / bitsOf(inMemory(element));
}

/// Types of what a loop multiplies: of Q, K and V in memory, of the operands that K and V become, and of the weights.
/// Where `k` and `v` are narrower than Q of 16 bits they are widened to Q's type on the way; what lies beside them lies as
/// they do.
/// Products of integers are summed in i32.
struct HeadElements {
  mlir::Type q, k, v;

  HeadElements(mlir::Type all) : q(all), k(all), v(all) {}
  explicit HeadElements(attn::ForwardOp op)
      : q(op.getTensorType("q")), k(op.getTensorType("k")), v(op.getTensorType("v")) {}
  mlir::Type operand(mlir::Type stored) const { return !isSmall(q) && bitsOf(stored) < bitsOf(q) ? q : stored; }
  bool areIntegers() const { return q.isInteger(); }
  /// Of the weights as they are multiplied with V: of 8 bits those with most mantissa.
  mlir::Type weights() const;
};

struct LoopContext {
  ExpansionBuilder &builder;
  const ArchInfo &arch;
  TileShape shape;
  HeadElements element;
  bool splitsWaves = false; ///< whether waves have the same rows, and each its part of a tile's keys
  mlir::Value keyPart = {}; ///< that part's number, a result of `tile.wave_grid`

  /// Waves that have rows of their own, and the keys of a tile that a wave works on.
  int64_t waveBlocks() const { return splitsWaves ? 1 : shape.waves; }
  int64_t waveKeys() const { return splitsWaves ? shape.kvTile / shape.waves : shape.kvTile; }
  /// The number of the wave's part of tile `number` among such parts.
  mlir::Value waveTile(mlir::Value number) const {
    if (!splitsWaves)
      return number;
    mlir::Value before = mlir::arith::MulIOp::create(builder, number, builder.constant(shape.waves));
    return mlir::arith::AddIOp::create(builder, before, keyPart);
  }

  /// An operand that is multiplied with what has `stored` in memory, and lies as that does.
  tile::FragType beside(int64_t rows, int64_t columns, mlir::Type own, mlir::Type stored, tile::FragLayout layout,
                        int64_t run = 0) const {
    int64_t shape[] = {rows, columns};
    tile::RegisterLayout registers = tile::FragType::defaultLayout(layout, shape, own, run);
    registers.operandBits = bitsOf(stored);
    return tile::FragType::get(builder.getContext(), shape, own, registers);
  }

  /// A wave's scores of a tile in f32: keys x queries, or the other way round.
  tile::FragType scores() const {
    return builder.frag(waveKeys(), kWaveRows, builder.getF32Type(), tile::FragLayout::Acc);
  }
};

} // namespace hocket
