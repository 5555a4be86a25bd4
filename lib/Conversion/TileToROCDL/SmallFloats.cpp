// Floats of 8 bits as code: v_cvt_pk_fp8_f32, v_cvt_pk_f32_fp8 and the like, which both chips have for their formats.
#include "SmallFloats.h"

#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kWordElements = 4, kHalfElements = 2;

/// "fp8" for a format of four bits of exponent, "bf8" for five: as instructions call them, whichever the chip has.
static std::string nameOf(Type type) {
  return infoOf(*asElementType(type)).exponentBits == 4 ? "fp8" : "bf8";
}

static Value flag(Emitter &emit, bool value) { return arith::ConstantOp::create(emit, emit.getBoolAttr(value)); }

/// The f32s of half `index` of `word`.
static Value widenHalf(Emitter &emit, Value word, bool index, Type from) {
  auto pair = VectorType::get({kHalfElements}, emit.getF32Type());
  return emit.intrinsic("llvm.amdgcn.cvt.pk.f32." + nameOf(from), pair, ValueRange{word, flag(emit, index)});
}

/// Two f32s in the lower half of a word, of which the upper one is anything; or in the upper half of `word`.
static Value narrowPair(Emitter &emit, Value first, Value second, Type to, Value word = Value()) {
  bool isUpper = word != nullptr;
  if (!isUpper)
    word = LLVM::UndefOp::create(emit, emit.getI32Type());
  return emit.intrinsic("llvm.amdgcn.cvt.pk." + nameOf(to) + ".f32", emit.getI32Type(),
                        ValueRange{first, second, word, flag(emit, isUpper)});
}

static Value joined(Emitter &emit, ArrayRef<Value> pairs) {
  SmallVector<Value> all;
  for (Value pair : pairs)
    for (int64_t i = 0; i != kHalfElements; ++i)
      all.push_back(emit.element(pair, i));
  return vector::FromElementsOp::create(emit, VectorType::get({static_cast<int64_t>(all.size())}, emit.getF32Type()), all);
}

Value hocket::lowering::widenSmall(Emitter &emit, Value value, Type from) {
  auto type = dyn_cast<VectorType>(value.getType());
  int64_t count = type ? type.getNumElements() : 1;
  auto widened = [&](Value bits) {
    Value word = bits.getType().isInteger(32) ? bits : zeroExtended32(emit, bits);
    return widenHalf(emit, word, false, from);
  };
  if (count == 1) {
    Value pair = widened(type ? emit.element(value, 0) : value), number = emit.element(pair, 0);
    return type ? emit.splat(number, VectorType::get({1}, emit.getF32Type())) : number;
  }
  if (count == kHalfElements)
    return widened(LLVM::BitcastOp::create(emit, emit.getI16Type(), value));
  SmallVector<Value> pairs;
  if (count % kWordElements == 0) {
    auto words = VectorType::get({count / kWordElements}, emit.getI32Type());
    Value asWords = LLVM::BitcastOp::create(emit, words, value);
    for (int64_t i = 0; i != words.getNumElements(); ++i)
      for (bool half : {false, true})
        pairs.push_back(widenHalf(emit, emit.element(asWords, i), half, from));
  } else {
    for (int64_t i = 0; i != count; i += kHalfElements) {
      Value pair = vector::ExtractStridedSliceOp::create(emit, value, i, kHalfElements, 1);
      pairs.push_back(widened(LLVM::BitcastOp::create(emit, emit.getI16Type(), pair)));
    }
  }
  return joined(emit, pairs);
}

bool hocket::lowering::canWidenTo(const ArchInfo &arch, Type type, Type to) {
  auto vector = dyn_cast<VectorType>(type);
  return arch.features.scaledFloats && vector && vector.getNumElements() % kWordElements == 0 && (to.isBF16() || to.isF16());
}

Value hocket::lowering::widenSmallTo(Emitter &emit, Value value, Type from, Type to) {
  auto type = cast<VectorType>(value.getType());
  auto words = VectorType::get({type.getNumElements() / kWordElements}, emit.getI32Type());
  auto pair = VectorType::get({kHalfElements}, to), wide = VectorType::get(type.getShape(), to);
  std::string name = "llvm.amdgcn.cvt.scalef32.pk." + std::string(to.isBF16() ? "bf16." : "f16.") + nameOf(from);
  Value asWords = LLVM::BitcastOp::create(emit, words, value), unit = emit.f32(1.0f);
  Value all = LLVM::PoisonOp::create(emit, wide);
  for (int64_t i = 0; i != type.getNumElements(); i += kHalfElements) {
    Value word = emit.element(asWords, i / kWordElements);
    Value two = emit.intrinsic(name, pair, ValueRange{word, unit, flag(emit, i % kWordElements != 0)});
    all = vector::InsertStridedSliceOp::create(emit, two, all, i, 1);
  }
  return all;
}

Value hocket::lowering::narrowSmall(Emitter &emit, Value value, Type to) {
  auto type = dyn_cast<VectorType>(value.getType());
  int64_t count = type ? type.getNumElements() : 1;
  Type small = storedType(to);
  auto number = [&](int64_t i) { return type ? emit.element(value, i) : value; };
  if (count == 1) {
    Value one = LLVM::TruncOp::create(emit, small, narrowPair(emit, number(0), number(0), to));
    return type ? emit.splat(one, VectorType::get({1}, small)) : one;
  }
  auto result = VectorType::get({count}, small);
  if (count % kWordElements != 0) {
    auto pairType = VectorType::get({kHalfElements}, small);
    Value all = LLVM::PoisonOp::create(emit, result);
    for (int64_t i = 0; i != count; i += kHalfElements) {
      Value half = LLVM::TruncOp::create(emit, emit.getI16Type(), narrowPair(emit, number(i), number(i + 1), to));
      all = vector::InsertStridedSliceOp::create(emit, LLVM::BitcastOp::create(emit, pairType, half), all, i, 1);
    }
    return all;
  }
  // Lower halves of all words first: a conversion does not see what the one before it wrote to the other half of its
  // register (docs/Hardware.md 3). Where LLVM puts the two side by side, the padding of hazards parts them again.
  SmallVector<Value> words;
  for (int64_t i = 0; i != count; i += kWordElements)
    words.push_back(narrowPair(emit, number(i), number(i + 1), to));
  for (auto [i, word] : llvm::enumerate(words)) {
    int64_t first = static_cast<int64_t>(i) * kWordElements + kHalfElements;
    word = narrowPair(emit, number(first), number(first + 1), to, word);
  }
  auto wordsType = VectorType::get({static_cast<int64_t>(words.size())}, emit.getI32Type());
  return LLVM::BitcastOp::create(emit, result, vector::FromElementsOp::create(emit, wordsType, words));
}

namespace {
/// The left operand of a sparse 16x16x128, of whose rows each has two of each four numbers.
struct SparseOnes {
  Value words, index;
};
} // namespace

/// Ones where rows 4 p and 4 p + 1 of the result, which lanes 16 p to 16 p + 15 hold, meet what those lanes hold of the
/// right operand, 16 numbers of each 64: in the first row the first two of each four, in the second the others. A lane
/// has 32 neighbours of its row, so what its two halves meet are the numbers of two groups of lanes.
static SparseOnes onesOfLanes(Emitter &emit, Value lane) {
  constexpr int64_t rowsOfLane = 4, rows = 16;
  constexpr int32_t ones = 0x38383838, firstTwo = 0x44444444, lastTwo = static_cast<int32_t>(0xEEEEEEEE);
  auto bits = [&](Value value, int64_t divisor, int64_t count) -> Value {
    Value shifted = arith::DivUIOp::create(emit, value, emit.i32(divisor));
    return arith::RemUIOp::create(emit, shifted, emit.i32(count));
  };
  auto is = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(emit, predicate, a, b);
  };
  Value ofRow = bits(lane, rowsOfLane, rows / rowsOfLane), part = bits(lane, rows, rowsOfLane), row = bits(lane, 1, rowsOfLane);
  Value isUsed = is(arith::CmpIPredicate::ult, row, emit.i32(2));
  SmallVector<Value> words;
  for (int64_t half : {0, 1}) {
    Value owner = bits(emit.add(emit.add(part, part), emit.i32(half)), 1, rowsOfLane);
    Value isOwn = arith::AndIOp::create(emit, isUsed, is(arith::CmpIPredicate::eq, ofRow, owner));
    words.append(2, arith::SelectOp::create(emit, isOwn, emit.i32(ones), emit.i32(0)));
  }
  Value isFirst = is(arith::CmpIPredicate::eq, row, emit.i32(0));
  return {vector::FromElementsOp::create(emit, VectorType::get({4}, emit.getI32Type()), words),
          arith::SelectOp::create(emit, isFirst, emit.i32(firstTwo), emit.i32(lastTwo))};
}

Value hocket::lowering::sumOnMatrixUnit(Emitter &emit, const KernelValues &kernel, ValueRange operands, Type element,
                                        Value init) {
  constexpr int64_t words = 4;
  Type i32 = emit.getI32Type(), f32 = emit.getF32Type();
  auto four = VectorType::get({words}, i32), eight = VectorType::get({2 * words}, i32), sums = VectorType::get({words}, f32);
  SparseOnes ones = onesOfLanes(emit, kernel.lane);
  Value zero = emit.i32(0), none = emit.f32(0.0f);
  // Of the other rows, which nobody reads, sums begin with whatever is there.
  Value any = LLVM::PoisonOp::create(emit, f32);
  Value sum = vector::FromElementsOp::create(emit, sums, ValueRange{init, none, any, any});
  std::string name = "llvm.amdgcn.smfmac.f32.16x16x128.fp8." + nameOf(element);
  for (size_t i = 0; i != operands.size(); i += 2) {
    Value both[] = {LLVM::BitcastOp::create(emit, four, operands[i]), LLVM::BitcastOp::create(emit, four, operands[i + 1])};
    Value joined = vector::ShuffleOp::create(emit, eight, both[0], both[1], llvm::to_vector(llvm::seq<int64_t>(0, 2 * words)));
    sum = emit.intrinsic(name, sums, ValueRange{ones.words, joined, sum, ones.index, zero, zero});
  }
  return arith::AddFOp::create(emit, emit.element(sum, 0), emit.element(sum, 1));
}

//===-- Kernels
//------------------------------------------------------------------------------------===//

/// Elements of a value of the dialect, or the type itself.
static Type heldElement(Type type) {
  return llvm::TypeSwitch<Type, Type>(type)
      .Case<tile::FragType, tile::RowsType, tile::ColumnsType, tile::RingType, tile::ViewType, tile::PartType>(
          [](auto held) { return held.getElementType(); })
      .Case<tile::PendingType, tile::StashType>([](auto held) { return held.getFrag().getElementType(); })
      .Default([](Type other) { return other; });
}

/// Whether an op takes numbers of one type and gives, or writes, small floats: views and rings are written.
static bool rounds(Operation *op) {
  bool gives = false, takes = false;
  for (Type type : op->getResultTypes())
    gives |= isSmallFloat(heldElement(type));
  for (Value operand : op->getOperands()) {
    bool isPlace = isa<tile::RingType, tile::ViewType>(operand.getType());
    gives |= isPlace && isSmallFloat(heldElement(operand.getType()));
    takes |= heldElement(operand.getType()).isF32();
  }
  return gives && takes;
}

bool hocket::lowering::roundsToSmallFloats(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        bool converts = isa<arith::TruncFOp, tile::StoreOp, tile::StoreBlockOp, tile::PutOp, tile::PackOp, tile::CombineOp>(op);
        bool fromHalf = isa<arith::TruncFOp>(op) && isSmallFloat(op->getResult(0).getType());
        return fromHalf || (converts && rounds(op)) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void hocket::lowering::saturateSmallFloats(Emitter &emit) {
  // hwreg(HW_REG_MODE, 23, 1).
  constexpr int64_t mode = 1, firstBit = 23, bits = 1;
  emit.intrinsicWithoutResult("llvm.amdgcn.s.setreg",
                              ValueRange{emit.i32(mode | firstBit << 6 | (bits - 1) << 11), emit.i32(1)});
}

/// Of the small floats that the chip has the one nearest to `type`, by its exponent.
static ElementType nearestOf(const ArchInfo &arch, ElementType type) {
  for (ElementType other : arch.smallFloats)
    if (infoOf(other).exponentBits == infoOf(type).exponentBits)
      return other;
  return arch.smallFloats.front();
}

LogicalResult hocket::lowering::verifySmallFloats(tile::KernelOp kernel, const ArchInfo &arch) {
  auto verify = [&](Operation *op, Type type) -> LogicalResult {
    Type element = heldElement(type);
    if (!isSmallFloat(element) || arch.hasSmallFloat(*asElementType(element)))
      return success();
    InFlightDiagnostic diagnostic = op->emitOpError() << "has numbers of " << element << ", which " << arch.name << " does not have";
    if (!arch.smallFloats.empty())
      diagnostic << "; use " << irName(nearestOf(arch, *asElementType(element))) << ", the nearest that it has";
    return diagnostic;
  };
  for (Type type : kernel.getArgumentTypes())
    if (failed(verify(kernel, type)))
      return failure();
  WalkResult walk = kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(verify(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
