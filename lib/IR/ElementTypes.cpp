// Element types as types of MLIR.
#include "IR/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace hocket;

static Type integer(MLIRContext *context, const ElementTypeInfo &info) {
  return IntegerType::get(context, info.bits, info.isSigned ? IntegerType::Signless : IntegerType::Unsigned);
}

Type hocket::irTypeOf(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementType::F6E2M3:
    return Float6E2M3FNType::get(context);
  case ElementType::F6E3M2:
    return Float6E3M2FNType::get(context);
  case ElementType::F4E2M1:
    return Float4E2M1FNType::get(context);
  case ElementType::E8M0:
    return Float8E8M0FNUType::get(context);
  case ElementType::I8:
  case ElementType::U8:
  case ElementType::I16:
  case ElementType::U16:
  case ElementType::I32:
  case ElementType::U32:
  case ElementType::I64:
  case ElementType::U64:
  case ElementType::I1:
    return integer(context, infoOf(type));
  }
  llvm_unreachable("an element type without a row");
}

std::optional<ElementType> hocket::asElementType(Type type) {
  if (!type.isIntOrFloat())
    return std::nullopt;
  for (const ElementTypeInfo &info : elementTypeTable())
    if (irTypeOf(type.getContext(), info.type) == type)
      return info.type;
  return std::nullopt;
}

unsigned hocket::bitsOf(Type element) { return element.getIntOrFloatBitWidth(); }
int64_t hocket::bytesOf(Type element) { return bitsOf(element) / 8; }
