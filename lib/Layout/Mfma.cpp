// The MFMA layouts of docs/Hardware.md 2.1, written as products of identities: each factor takes
// the next bits of a register or lane index and gives the next bits of a matrix index.
#include "Layout/Mfma.h"

#include "Layout/Log2.h"

#include <algorithm>
#include <bit>

using namespace hocket;

static LinearLayout mapBits(std::string_view in, std::string_view out, unsigned count) {
  return LinearLayout::identity(in, out, count);
}

std::string MfmaShape::str() const {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " of " +
         std::to_string(elementBits) + " bits";
}

Status hocket::validateMfmaShape(const MfmaShape &shape) {
  bool square = shape.m == shape.n && (shape.m == 16 || shape.m == 32);
  constexpr unsigned known[] = {4, 6, 8, 16, 32};
  bool element = std::ranges::count(known, shape.elementBits) != 0;
  if (!square || !element || !std::has_single_bit(shape.k) || shape.operandElements() == 0)
    return unsupported("no layout for mfma " + shape.str() +
                       "; known are 16x16 and 32x32 with k a power of two and 4, 6, 8, 16 or 32 bits");
  return Status::success();
}

/// (register, lane) -> (free, k): consecutive k in a lane are at most 16 bytes, the width in which
/// f8f6f4 interleaves the lane groups (32x32x64 and 16x16x128 of fp8 hold two such runs; of 6 and 4 bits, one run of 32).
static Result<LinearLayout> operand(const MfmaShape &shape, std::string_view freeDim) {
  if (Status status = validateMfmaShape(shape); !status)
    return status.error();
  unsigned elementBitsLog = log2(shape.operandElements());
  unsigned runLog = std::min(elementBitsLog, log2(std::bit_ceil(128 / shape.elementBits)));
  unsigned freeLog = log2(shape.m);
  LinearLayout layout = mapBits(dims::Register, dims::K, runLog) * mapBits(dims::Lane, freeDim, freeLog) *
                        mapBits(dims::Lane, dims::K, kWaveLaneBits - freeLog) *
                        mapBits(dims::Register, dims::K, elementBitsLog - runLog);
  return layout;
}

Result<LinearLayout> hocket::mfmaOperandA(const MfmaShape &shape) {
  Result<LinearLayout> layout = operand(shape, dims::Row);
  if (!layout)
    return layout.error();
  std::string_view order[] = {dims::Row, dims::K};
  return layout->reorderOutputs(order);
}

Result<LinearLayout> hocket::mfmaOperandB(const MfmaShape &shape) {
  return operand(shape, dims::Col);
}

Result<LinearLayout> hocket::mfmaAccumulator(const MfmaShape &shape) {
  if (Status status = validateMfmaShape(shape); !status)
    return status.error();
  unsigned colLog = log2(shape.n), registerLog = log2(shape.accumulatorRegisters());
  return mapBits(dims::Register, dims::Row, 2) * mapBits(dims::Lane, dims::Col, colLog) *
         mapBits(dims::Lane, dims::Row, kWaveLaneBits - colLog) * mapBits(dims::Register, dims::Row, registerLog - 2);
}

static Result<unsigned> blocksLog(std::string_view what, unsigned size, unsigned unit) {
  if (!std::has_single_bit(size) || size < unit)
    return invalidInput("tile has " + std::to_string(size) + " " + std::string(what) +
                        ", a power of two of at least " + std::to_string(unit) + " is needed");
  return log2(size / unit);
}

/// `atom` repeated over more registers: first along `inner`, then along `outer`.
static Result<LinearLayout> repeat(Result<LinearLayout> atom, std::string_view inner,
                                   Result<unsigned> innerLog, std::string_view outer,
                                   Result<unsigned> outerLog) {
  if (!atom)
    return atom;
  if (!innerLog)
    return innerLog.error();
  if (!outerLog)
    return outerLog.error();
  return *atom * mapBits(dims::Register, inner, *innerLog) * mapBits(dims::Register, outer, *outerLog);
}

Result<LinearLayout> hocket::mfmaOperandATile(const MfmaShape &shape, unsigned rows, unsigned k) {
  return repeat(mfmaOperandA(shape), dims::K, blocksLog("of k", k, shape.k), dims::Row,
                blocksLog("rows", rows, shape.m));
}

Result<LinearLayout> hocket::mfmaOperandBTile(const MfmaShape &shape, unsigned k, unsigned cols) {
  return repeat(mfmaOperandB(shape), dims::K, blocksLog("of k", k, shape.k), dims::Col,
                blocksLog("columns", cols, shape.n));
}

Result<LinearLayout> hocket::mfmaAccumulatorTile(const MfmaShape &shape, unsigned rows,
                                                 unsigned cols) {
  return repeat(mfmaAccumulator(shape), dims::Row, blocksLog("rows", rows, shape.m), dims::Col,
                blocksLog("columns", cols, shape.n));
}
