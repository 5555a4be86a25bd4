// How fragments are read from LDS: one definition for the passes that choose layouts and the
// lowering that emits addresses.
#pragma once

#include "Tile/IR/Tile.h"
#include "Layout/LdsSearch.h"
#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket::tile {

/// Rows and columns of a block of an accumulator.
inline constexpr int64_t kBlock = 32;

/// The product that operands of elements of `bits` bits are laid out for: a block, and so deep that a lane has 16 bytes of
/// each operand, what it reads from LDS at once (of 6 bits as many elements as of 4). Instructions that are less deep take
/// pieces of these operands, and deeper ones several; which k they sum does not matter as long as both operands agree.
MfmaShape operandShape(unsigned bits);
/// That of the operands in `layout`; of scales, one for each 32 of the depth of a block, two a block.
MfmaShape operandShape(const RegisterLayout &layout);

/// Whether a lane has more elements of such an operand than of an accumulator: two accumulators are its depth, and halves of
/// a wave exchange what they hold of them. Each half then has a block of 32, in the order of `rowsInRunsOfEight`.
bool exchangesHalves(const MfmaShape &shape);

/// Columns of one panel of a tile of `columns` columns of elements of `bits` bits: layouts are linear over bits, so a
/// tile whose width is no power of two is several panels side by side (lib/Layout/LdsTile.h).
int64_t panelColumns(int64_t columns, unsigned bits);
int64_t panelColumns(RingType ring);

/// Columns that lie side by side in a lane of an accumulator in the order `acc(8)`, `lhs_acc(8)`.
inline constexpr int64_t kAccumulatorRun = 8;

/// (register, lane) -> (row, k) of a left operand of elements of `bits` bits whose depth runs in the order in which a packed
/// accumulator of `depth` rows holds it. `run` 8: with its rows in an order by which a lane of the product's accumulator
/// holds eight rows side by side.
Result<LinearLayout> accumulatorOrderedOperand(int64_t rows, int64_t depth, unsigned bits, int64_t run = 0);

/// That order of 2^`bits` rows, as permuteOutput wants it: bits 2 and 3 change places.
Result<LinearLayout> rowsInRunsOfEight(unsigned bits);

/// Which part of a tile's rows a wave reads: part `wave / stride % count` of `count` equal ones;
/// both are powers of two.
struct WavePart {
  unsigned count = 1, stride = 1;
};

/// What `part`, a result of `tile.wave_grid` or nothing, says.
WavePart wavePartOf(mlir::Value part);

/// The reads that make an `lhs` or `rhs` fragment of a tile whose rows are the fragment's rows or
/// columns: 16 bytes a lane, (register = instruction, lane, wave) -> (row, byte) of one panel; the
/// others are read alike.
Result<LdsUse> operandReads(FragType frag, WavePart part = {});

/// The reads that make an `lhs_acc` (`rhs_acc`) fragment of a tile whose rows are the fragment's columns (rows), of
/// one panel: of 32 bits, an element a lane each; of less, transposed reads of 8 bytes a lane, two for each operand, if the
/// target has them; else plain ones of 16 bytes, for which the ring's layout must gather rows
/// (lib/Layout/LdsStaging.h) and which read no `part` of a tile. Of tiles that come in vectors of rows, plain ones of 8
/// bytes.
Result<LdsUse> transposedOperandReads(FragType frag, const ArchInfo &arch, TileVectors vectors = TileVectors::None,
                                      WavePart part = {}, bool partOfRows = false);
/// Those of `read`.
Result<LdsUse> transposedOperandReads(ReadTransposedOp read, const ArchInfo &arch);

/// What lies together in the memory that tiles of `ring` come from.
TileVectors vectorsOf(mlir::Value ring);

/// Bytes that one lane moves in the LDS DMA that rings are filled by.
inline constexpr unsigned kDmaBytes = 16;

/// Columns of tiles and fragments come in blocks; those of a view in whole loads.
inline constexpr int64_t kColumnBlock = 32, kLoadBytes = 16;
/// Bytes of a vector of TileVectors.
inline constexpr int64_t kVectorBytes = 16;
inline bool isOfWholeLoads(int64_t columns, mlir::Type element) {
  return columns * element.getIntOrFloatBitWidth() % (8 * kLoadBytes) == 0;
}
/// True if a tile or fragment of `columns` holds a row of a view of `wanted` elements of type `element` and no block more.
/// Columns that the view does not have read as zero and are not stored.
inline bool coversColumns(int64_t columns, int64_t wanted, mlir::Type element) {
  return isOfWholeLoads(wanted, element) && columns == int64_t(llvm::alignTo(wanted, kColumnBlock));
}

} // namespace hocket::tile
