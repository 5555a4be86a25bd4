// Combining what lanes hold: partners 1, 2, 4, ... lanes apart exchange values and both combine them.
//
// Which instruction exchanges depends on the distance. Within 16 lanes it is a modifier of the
// combining instruction itself (DPP): quads are permuted, and 4 and 8 apart a rotation or a mirror
// image does, since by then several lanes hold the same. Further apart rows are swapped where the
// chip can, or values pass through the crossbar of LDS, which needs no LDS.
#include "CrossLane.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// DPP controls (CDNA3 ISA 13.3.9) and patterns of ds_swizzle (11.4, bit mask mode).
static constexpr int64_t kSwapNeighbours = 0xb1, kSwapPairs = 0x4e, kRotate = 0x120,
                         kMirrorHalf = 0x141, kShiftRight = 0x110, kLastOfRow = 0x142, kLastOfHalf = 0x143, kSwizzleAll = 0x1f, kSwizzleXorShift = 10;

static Value permute(Emitter &emit, Value value, int64_t control) {
  return ROCDL::DPPUpdateOp::create(emit, value.getType(), value, value, control, /*rowMask=*/0xf,
                                    /*bankMask=*/0xf, /*boundCtrl=*/true);
}

/// The value of the lane whose number differs in bit `distance`, below 32.
static Value swizzle(Emitter &emit, Value value, int64_t distance) {
  Type i32 = emit.getI32Type();
  Value bits = LLVM::BitcastOp::create(emit, i32, value);
  Value pattern = emit.i32(distance << kSwizzleXorShift | kSwizzleAll);
  Value swapped = emit.intrinsic("llvm.amdgcn.ds.swizzle", i32, ValueRange{bits, pattern});
  return LLVM::BitcastOp::create(emit, value.getType(), swapped);
}

/// In all lanes the same order: the even row of 16 lanes first.
static std::pair<Value, Value> bothRows(Emitter &emit, Value value) {
  Type i32 = emit.getI32Type();
  Type pair = LLVM::LLVMStructType::getLiteral(emit.getContext(), {i32, i32});
  Value bits = LLVM::BitcastOp::create(emit, i32, value);
  Value swapped = ROCDL::Permlane16SwapOp::create(emit, pair, bits, bits, false, false);
  auto row = [&](int64_t index) -> Value {
    Value part = LLVM::ExtractValueOp::create(emit, swapped, ArrayRef<int64_t>{index});
    return LLVM::BitcastOp::create(emit, value.getType(), part);
  };
  Value even = row(0);
  return {even, row(1)};
}

Value hocket::lowering::combineLanes(Emitter &emit, const KernelValues &kernel, Value value,
                                     uint64_t lanes, function_ref<Value(Value, Value)> combine) {
  auto has = [&](uint64_t bits) { return (lanes & bits) == bits; };
  auto with = [&](Value partner) { value = combine(value, partner); };
  if (has(1))
    with(permute(emit, value, kSwapNeighbours));
  if (has(2))
    with(permute(emit, value, kSwapPairs));
  // Once quads agree, the mirror image of 8 lanes is the other quad; once lanes 8 apart agree, so
  // is a rotation of 16 lanes by 4.
  if (has(4) && has(3))
    with(permute(emit, value, kMirrorHalf));
  if (has(8))
    with(permute(emit, value, kRotate + 8));
  if (has(4) && !has(3))
    with(has(8) ? permute(emit, value, kRotate + 4) : swizzle(emit, value, 4));
  if (has(16)) {
    if (kernel.arch->features.permlaneSwap) {
      auto [even, odd] = bothRows(emit, value);
      value = combine(even, odd);
    } else {
      with(swizzle(emit, value, 16));
    }
  }
  if (has(32)) {
    auto [low, high] = emit.bothHalves(kernel, value);
    value = combine(low, high);
  }
  return value;
}

/// Lanes 1, 2, 4 and 8 further on in each row of 16 add what is here; then a row's last lane is added to the row behind
/// it, and lane 31 to those behind it.
Value hocket::lowering::sumUpToLane(Emitter &emit, Value value) {
  Value zero = emit.i32(0);
  auto addFrom = [&](int64_t control, int64_t rows) {
    Value other = ROCDL::DPPUpdateOp::create(emit, value.getType(), zero, value, control, /*rowMask=*/rows,
                                             /*bankMask=*/0xf, /*boundCtrl=*/false);
    value = LLVM::AddOp::create(emit, value, other);
  };
  for (int64_t distance : {1, 2, 4, 8})
    addFrom(kShiftRight + distance, /*rows=*/0xf);
  addFrom(kLastOfRow, /*rows=*/0xa);
  addFrom(kLastOfHalf, /*rows=*/0xc);
  return value;
}
