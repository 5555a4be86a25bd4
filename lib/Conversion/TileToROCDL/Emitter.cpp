// Small helpers that emit code for convert-tile-to-rocdl.
#include "Lowering.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

/// Word 3 of a raw buffer descriptor: 32-bit data format, no swizzle (docs/Hardware.md 2.6).
static constexpr int64_t kRawBufferFlags = 0x00027000;

LogicalResult hocket::lowering::layoutError(Operation *op, const Error &error) {
  return op->emitOpError() << "cannot be laid out: " << error.message;
}

Value ViewValues::extent(Emitter &emit, int64_t dimension) const {
  if (!ShapedType::isDynamic(type.getShape()[dimension]))
    return emit.i32(type.getShape()[dimension]);
  return values[extentIndex(type, dimension)];
}

Value Emitter::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}
Value Emitter::i64(int64_t value) {
  return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
}
Value Emitter::f32(float value) { return arith::ConstantOp::create(*this, getF32FloatAttr(value)); }
Value Emitter::add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
Value Emitter::mul(Value a, Value b) { return arith::MulIOp::create(*this, a, b); }

Value Emitter::rare(Value condition) {
  if (condition.getDefiningOp<LLVM::ExpectOp>())
    return condition;
  Value no = arith::ConstantOp::create(*this, getBoolAttr(false));
  return LLVM::ExpectOp::create(*this, condition, no);
}

Value Emitter::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtSIOp::create(*this, getI64Type(), value);
}

Value Emitter::toI32(Value value) {
  if (value.getType().isInteger(32))
    return value;
  return arith::TruncIOp::create(*this, getI32Type(), value);
}

Value Emitter::uniform(Value value) {
  return ROCDL::ReadfirstlaneOp::create(*this, value.getType(), value);
}

Value Emitter::joinWords(Value low, Value high) {
  Value words = vector::FromElementsOp::create(*this, VectorType::get(2, getI32Type()), ValueRange{low, high});
  return LLVM::BitcastOp::create(*this, getI64Type(), words);
}

Value Emitter::hidden(Value value, StringRef kind) {
  auto dialect = LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(*this, value.getType(), value, /*asm_string=*/"", ("=" + kind + ",0").str(),
                                   /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   dialect, ArrayAttr())
      .getResult(0);
}

/// An empty statement with an operand that no other has. It has no effects, so that code moves past it.
Value Emitter::distinct(Value offset, int64_t number) {
  auto dialect = LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(*this, offset.getType(), ValueRange{offset, i32(number)}, /*asm_string=*/"", "=v,0,i",
                                   /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   dialect, ArrayAttr())
      .getResult(0);
}

Value Emitter::linear(const LinearLayout &layout, std::string_view in, std::string_view out,
                      Value value) {
  Value result;
  for (const ShiftTerm &term : layout.terms(in, out)) {
    Value part = arith::AndIOp::create(*this, value, i32(term.mask));
    if (term.shift > 0)
      part = arith::ShLIOp::create(*this, part, i32(term.shift));
    if (term.shift < 0)
      part = arith::ShRUIOp::create(*this, part, i32(-term.shift));
    result = result ? arith::XOrIOp::create(*this, result, part).getResult() : part;
  }
  return result ? result : i32(0);
}

Value Emitter::offset(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(bytes)});
}

Value Emitter::bufferResource(Value pointer, Value bytes) {
  Type type = LLVM::LLVMPointerType::get(getContext(), kBufferResource);
  Value noStride = arith::ConstantOp::create(*this, getI16IntegerAttr(0));
  return ROCDL::MakeBufferRsrcOp::create(*this, type, pointer, noStride, bytes,
                                         i32(kRawBufferFlags));
}

Value Emitter::intrinsic(StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(*this, type, getStringAttr(name), operands).getResult(0);
}

void Emitter::intrinsicWithoutResult(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(*this, getStringAttr(name), operands);
}

/// By way of the LDS's crossbar, where no vector instruction crosses the halves.
static std::pair<Value, Value> halvesThroughLds(Emitter &emit, Value lane, Value value) {
  Type i32 = emit.getI32Type();
  Value bits = LLVM::BitcastOp::create(emit, i32, value);
  Value partner = arith::XOrIOp::create(emit, lane, emit.i32(32));
  Value address = emit.mul(partner, emit.i32(4));
  Value other = LLVM::BitcastOp::create(
      emit, value.getType(),
      emit.intrinsic("llvm.amdgcn.ds.bpermute", i32, ValueRange{address, bits}));
  Value isLow = arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, lane, emit.i32(32));
  Value low = arith::SelectOp::create(emit, isLow, value, other);
  return {low, arith::SelectOp::create(emit, isLow, other, value)};
}

std::pair<Value, Value> Emitter::bothHalves(const KernelValues &kernel, Value value) {
  if (!kernel.arch->features.permlaneSwap)
    return halvesThroughLds(*this, kernel.lane, value);
  Type pair = LLVM::LLVMStructType::getLiteral(getContext(), {getI32Type(), getI32Type()});
  Value bits = LLVM::BitcastOp::create(*this, getI32Type(), value);
  Value swapped = ROCDL::Permlane32SwapOp::create(*this, pair, bits, bits, false, false);
  auto half = [&](int64_t index) -> Value {
    Value part = LLVM::ExtractValueOp::create(*this, swapped, ArrayRef<int64_t>{index});
    return LLVM::BitcastOp::create(*this, value.getType(), part);
  };
  Value low = half(0);
  return {low, half(1)};
}

Value Emitter::element(Value vector, int64_t index) {
  return vector::ExtractOp::create(*this, vector, index);
}

Value Emitter::splat(Value scalar, VectorType type) {
  return vector::BroadcastOp::create(*this, type, scalar);
}

SmallVector<Value> hocket::lowering::elements(Emitter &emit, ValueRange vectors) {
  SmallVector<Value> result;
  for (Value vector : vectors)
    for (int64_t i = 0; i != cast<VectorType>(vector.getType()).getNumElements(); ++i)
      result.push_back(emit.element(vector, i));
  return result;
}

Value hocket::lowering::bytesOfRows(Emitter &emit, Value extent, Value row, int64_t count,
                                    Value rowStride, int64_t rowBytes) {
  Value left = arith::SubIOp::create(emit, extent, row);
  Value rows = arith::MinSIOp::create(emit, left, emit.i32(count));
  Value before = emit.toI64(arith::SubIOp::create(emit, rows, emit.i32(1)));
  Value bytes = emit.add(emit.mul(before, rowStride), emit.i64(rowBytes));
  Value any = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, rows, emit.i32(0));
  return arith::SelectOp::create(emit, any, bytes, emit.i64(0));
}

Value hocket::lowering::elementAddress(Emitter &emit, const ViewValues &view,
                                       ArrayRef<Value> indices) {
  Value elements;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value part = emit.mul(emit.toI64(index), view.stride(dimension));
    elements = elements ? emit.add(elements, part) : part;
  }
  return emit.offset(view.pointer(), emit.mul(elements, emit.i64(view.elementBytes())));
}
