// The table of matrix instructions.
#include "MatrixInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr MatrixTypes kBf16 = MatrixTypes::of(ElementType::BF16), kF16 = MatrixTypes::of(ElementType::F16),
                             kI8 = MatrixTypes::of(ElementType::I8), kF32 = MatrixTypes::of(ElementType::F32);

/// Floats summed in f32.
static constexpr MatrixTypes floats(ElementType a, ElementType b) { return {a, b, ElementType::F32}; }

static constexpr ElementType kFp8 = ElementType::F8E4M3, kBf8 = ElementType::F8E5M2, kFp8Fnuz = ElementType::F8E4M3FNUZ,
                             kBf8Fnuz = ElementType::F8E5M2FNUZ, kFp4 = ElementType::F4E2M1;
static constexpr MfmaShape kOfEightBits = {32, 32, 16, 8}, kDeepOfEightBits = {32, 32, 64, 8}, kDeepOfFourBits = {32, 32, 64, 4};

static constexpr llvm::StringLiteral kFp8Fp8 = "rocdl.mfma.f32.32x32x16.fp8.fp8", kFp8Bf8 = "rocdl.mfma.f32.32x32x16.fp8.bf8",
                                     kBf8Fp8 = "rocdl.mfma.f32.32x32x16.bf8.fp8", kBf8Bf8 = "rocdl.mfma.f32.32x32x16.bf8.bf8",
                                     kAnyFormats = "rocdl.mfma.scale.f32.32x32x64.f8f6f4";

static constexpr MatrixInstruction kInstructions[] = {
    {kBf16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.bf16"},
    {kF16, {32, 32, 16, 16}, "rocdl.mfma.f32.32x32x16.f16"},
    {kBf16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8bf16.1k", OperandForm::Halves},
    {kF16, {32, 32, 8, 16}, "rocdl.mfma.f32.32x32x8f16"},
    {kI8, {32, 32, 32, 8}, "rocdl.mfma.i32.32x32x32.i8", OperandForm::Words},
    {kI8, {32, 32, 16, 8}, "rocdl.mfma.i32.32x32x16.i8", OperandForm::Whole},
    {kF32, {32, 32, 2, 32}, "rocdl.mfma.f32.32x32x2f32", OperandForm::Single},
    {floats(kFp8, kFp8), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp8, kBf8), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kBf8, kFp8), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kBf8, kBf8), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp8, kFp4), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kBf8, kFp4), kDeepOfEightBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp4, kFp8), kDeepOfFourBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp4, kBf8), kDeepOfFourBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp4, kFp4), kDeepOfFourBits, kAnyFormats, OperandForm::Words, Trailer::Formats},
    {floats(kFp8, kFp8), kOfEightBits, kFp8Fp8, OperandForm::Whole},
    {floats(kFp8, kBf8), kOfEightBits, kFp8Bf8, OperandForm::Whole},
    {floats(kBf8, kFp8), kOfEightBits, kBf8Fp8, OperandForm::Whole},
    {floats(kBf8, kBf8), kOfEightBits, kBf8Bf8, OperandForm::Whole},
    {floats(kFp8Fnuz, kFp8Fnuz), kOfEightBits, kFp8Fp8, OperandForm::Whole},
    {floats(kFp8Fnuz, kBf8Fnuz), kOfEightBits, kFp8Bf8, OperandForm::Whole},
    {floats(kBf8Fnuz, kFp8Fnuz), kOfEightBits, kBf8Fp8, OperandForm::Whole},
    {floats(kBf8Fnuz, kBf8Fnuz), kOfEightBits, kBf8Bf8, OperandForm::Whole},
};

/// Of an operand of the instruction that takes any (docs/Hardware.md 2.1).
static int64_t formatOf(ElementType type) {
  switch (type) {
  case ElementType::F8E4M3:
    return 0;
  case ElementType::F8E5M2:
    return 1;
  case ElementType::F6E2M3:
    return 2;
  case ElementType::F6E3M2:
    return 3;
  case ElementType::F4E2M1:
    return 4;
  default:
    llvm_unreachable("no operand of f8f6f4");
  }
}

const MatrixInstruction *hocket::lowering::findMatrixInstruction(const ArchInfo &arch, const MatrixTypes &types,
                                                                 const MfmaShape &lhs, const MfmaShape &rhs, int64_t depth,
                                                                 bool scaled) {
  const MatrixInstruction *best = nullptr;
  for (const MatrixInstruction &row : kInstructions) {
    auto divides = [&](const MfmaShape &operand) {
      bool isPiece = operand.k % row.shape.k == 0, isSeveral = row.shape.k % operand.k == 0 && depth % row.shape.k == 0;
      return isPiece || isSeveral;
    };
    // Pieces of operands of different blocks would be of different k.
    bool agree = lhs.k == rhs.k || (row.shape.k % lhs.k == 0 && row.shape.k % rhs.k == 0);
    bool fits = row.types == types && row.shape.m == lhs.m && row.shape.n == rhs.n &&
                (row.takesScales() || !scaled) && agree && divides(lhs) && divides(rhs);
    if (fits && arch.findMfma(types, row.shape.m, row.shape.n, row.shape.k) && (!best || row.shape.k > best->shape.k))
      best = &row;
  }
  return best;
}

std::string hocket::lowering::multipliedTypes(const ArchInfo &arch, bool scaled) {
  std::string names;
  for (const MatrixInstruction &row : kInstructions) {
    std::string types = std::string(irName(row.types.a)) + " by " + std::string(irName(row.types.b));
    bool isNew = !StringRef(names).contains(types);
    if (isNew && (row.takesScales() || !scaled) && arch.findMfma(row.types, row.shape.m, row.shape.n, row.shape.k))
      names += (names.empty() ? "" : ", ") + types;
  }
  return names;
}

/// The type of a vector of `bits` bits in which an instruction takes it.
static Type typeOf(OperandForm form, Type elements, int64_t bits) {
  MLIRContext *context = elements.getContext();
  switch (form) {
  case OperandForm::Elements:
    return elements;
  case OperandForm::Single:
    return cast<VectorType>(elements).getElementType();
  case OperandForm::Halves:
    return VectorType::get({bits / 16}, IntegerType::get(context, 16));
  case OperandForm::Words:
    return VectorType::get({bits / 32}, IntegerType::get(context, 32));
  case OperandForm::Whole:
    return IntegerType::get(context, static_cast<unsigned>(bits));
  }
  llvm_unreachable("unknown form of operands");
}

Value MatrixInstruction::emit(ImplicitLocOpBuilder &builder, Value lhs, Value rhs, Value acc,
                              std::optional<BlockScales> scales) const {
  for (Value *operand : {&lhs, &rhs}) {
    auto elements = cast<VectorType>(operand->getType());
    Type type = typeOf(form, elements, elements.getNumElements() * elements.getElementTypeBitWidth());
    if (type != elements)
      *operand = LLVM::BitcastOp::create(builder, type, *operand);
  }
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  Value zero = number(0);
  OperationState state(builder.getLoc(), op);
  state.addOperands({lhs, rhs, acc});
  // Which byte of which register is a scale: with two scales of 0 LLVM takes the instruction without them.
  BlockScales given = scales.value_or(BlockScales{{zero}, {zero}});
  if (trailer == Trailer::Formats)
    state.addOperands({number(formatOf(types.a)), number(formatOf(types.b)), number(given.lhs.byte), given.lhs.word,
                       number(given.rhs.byte), given.rhs.word});
  else
    state.addOperands({zero, zero, zero});
  state.addTypes(acc.getType());
  return builder.create(state)->getResult(0);
}
