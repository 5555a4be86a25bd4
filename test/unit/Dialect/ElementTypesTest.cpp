// The table of element types and MLIR's types: the same names and widths, both ways.
#include "IR/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hocket;

TEST(ElementTypesOfIr, AreSpelledAsTheTableSays) {
  mlir::MLIRContext context;
  for (const ElementTypeInfo &info : elementTypeTable()) {
    mlir::Type type = irTypeOf(&context, info.type);
    std::string text;
    llvm::raw_string_ostream(text) << type;
    EXPECT_EQ(text, info.ir);
    EXPECT_EQ(bitsOf(type), info.bits) << text;
    EXPECT_EQ(asElementType(type), info.type) << text;
    EXPECT_EQ(llvm::isa<mlir::FloatType>(type), info.kind != ElementKind::Int) << text;
    if (auto number = llvm::dyn_cast<mlir::FloatType>(type); number && info.kind == ElementKind::Float)
      EXPECT_EQ(number.getFPMantissaWidth(), info.mantissaBits + 1u) << text;
  }
}

TEST(ElementTypesOfIr, HasNothingForOthers) {
  mlir::MLIRContext context;
  EXPECT_EQ(asElementType(mlir::IntegerType::get(&context, 24)), std::nullopt);
  EXPECT_EQ(asElementType(mlir::Float128Type::get(&context)), std::nullopt);
  EXPECT_EQ(asElementType(mlir::IndexType::get(&context)), std::nullopt);
}
