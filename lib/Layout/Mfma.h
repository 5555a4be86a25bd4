// Which lane and register holds which matrix element: operand and accumulator layouts of MFMA.
//
// D = A B + C with A of M x K, B of K x N, C and D of M x N (docs/Hardware.md 2.1). One wave holds
// all of them. The dense shapes of interest (M = N = 16 or 32) follow two rules:
//  - operands: lane l has row (A) or column (B) l % M, and the groups of lanes l / M split K; each
//  lane
//    holds runs of consecutive k;
//  - accumulator: lane l has column l % N; four consecutive rows are in consecutive registers, then
//  come the
//    lane groups, then further registers.
// Bigger tiles repeat the atom over more registers; `mfma*Tile` say in which order.
#pragma once

#include "Layout/LinearLayout.h"
#include "Layout/Wave.h"

namespace hocket {

/// One MFMA instruction's shape. `elementBits` is the width of an A and B element (32, 16, 8, 6 or 4).
struct MfmaShape {
  unsigned m = 32, n = 32, k = 16;
  unsigned elementBits = 16;

  /// A or B elements in one lane: 8 for 32x32x16 and 16x16x32 of 16 bits.
  unsigned operandElements() const { return static_cast<unsigned>(m * k / kWaveLanes); }
  /// Accumulator registers in one lane: 16 for 32x32, 4 for 16x16.
  unsigned accumulatorRegisters() const { return static_cast<unsigned>(m * n / kWaveLanes); }
  std::string str() const;
  bool operator==(const MfmaShape &) const = default;
};

/// An error unless M = N is 16 or 32, K is a power of two, and every lane gets whole elements.
Status validateMfmaShape(const MfmaShape &shape);

/// (register, lane) -> (row, k). A register here is one element of the lane's operand vector:
/// elements 2i and 2i+1 of 16 bits share VGPR i.
Result<LinearLayout> mfmaOperandA(const MfmaShape &shape);
/// (register, lane) -> (k, col).
Result<LinearLayout> mfmaOperandB(const MfmaShape &shape);
/// (register, lane) -> (row, col), of 32-bit registers.
Result<LinearLayout> mfmaAccumulator(const MfmaShape &shape);

/// Operand A of a tile of `rows` x `k`: registers count elements of one instruction, then steps
/// along k, then blocks of rows. Sizes are powers of two and multiples of the shape's.
Result<LinearLayout> mfmaOperandATile(const MfmaShape &shape, unsigned rows, unsigned k);
/// Operand B of a tile of `k` x `cols`: elements, then steps along k, then blocks of columns.
Result<LinearLayout> mfmaOperandBTile(const MfmaShape &shape, unsigned k, unsigned cols);
/// Accumulator of `rows` x `cols`: registers of one instruction, then blocks of rows, then blocks
/// of columns.
Result<LinearLayout> mfmaAccumulatorTile(const MfmaShape &shape, unsigned rows, unsigned cols);

} // namespace hocket
