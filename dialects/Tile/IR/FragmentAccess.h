// How fragments are read from LDS: one definition for the passes that choose layouts and the
// lowering that emits addresses.
#pragma once

#include "Tile/IR/Tile.h"
#include "Layout/LdsSearch.h"
#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

namespace hocket::tile {

/// The matrix instruction that fragments are laid out for.
inline constexpr MfmaShape kFragmentShape = {32, 32, 16, 16};

/// Columns of one panel of a tile of `columns` 16-bit columns: layouts are linear over bits, so a
/// tile whose width is no power of two is several panels side by side (lib/Layout/LdsTile.h).
int64_t panelColumns(int64_t columns);

/// Columns that lie side by side in a lane of an accumulator in the order `acc(8)`, `lhs_acc(8)`.
inline constexpr int64_t kAccumulatorRun = 8;

/// (register, lane) -> (row, k) of a left operand whose depth runs in the order in which a packed
/// accumulator of `depth` rows holds it. `run` 8: with its rows in an order by which a lane of the product's accumulator
/// holds eight rows side by side.
Result<LinearLayout> accumulatorOrderedOperand(int64_t rows, int64_t depth, int64_t run = 0);

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
/// one panel: transposed reads of 8 bytes a lane, two for each operand, if the target has them;
/// else plain ones of 16 bytes, for which the ring's layout must gather rows
/// (lib/Layout/LdsStaging.h) and which read no `part` of a tile. Of tiles that come in vectors of rows, plain ones of 8
/// bytes.
Result<LdsUse> transposedOperandReads(FragType frag, const ArchInfo &arch, TileVectors vectors = TileVectors::None,
                                      WavePart part = {});

/// What lies together in the memory that tiles of `ring` come from.
TileVectors vectorsOf(mlir::Value ring);

/// Bytes that one lane moves in the LDS DMA that rings are filled by.
inline constexpr unsigned kDmaBytes = 16;

/// Columns of tiles and fragments come in blocks; those of a view in whole loads of 16 bytes.
inline constexpr int64_t kColumnBlock = 32, kColumnsOfLoad = 8;
/// True if a tile or fragment of `columns` holds a row of a view of `wanted` and no block more. Columns that the view
/// does not have read as zero and are not stored.
inline bool coversColumns(int64_t columns, int64_t wanted) {
  return wanted % kColumnsOfLoad == 0 && columns == int64_t(llvm::alignTo(wanted, kColumnBlock));
}

} // namespace hocket::tile
