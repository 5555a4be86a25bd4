// The interpreter of regions, against what the types and bounds mean.
#include "Reference/ElementProgram.h"
#include "Registration/Registration.h"

#include "Tile/IR/Tile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hocket;
using namespace hocket::reference;

namespace {
class Interpreter : public testing::Test {
protected:
  Interpreter() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// What a region of `ops` over %x and %y, of `type`, makes of them; it yields %r of `result`.
  Number run(const std::string &type, const std::string &ops, const std::string &result, Number x,
             Number y = {}) {
    std::string text = "tile.kernel @k(%a: " + type + ", %b: " + type +
                       ") target(\"gfx950\") waves(1) {\n  %c = tile.map(%x = %a : " + type +
                       ", %y = %b : " + type + ") -> " + result + " {\n" + ops +
                       "\n    tile.yield %r : " + result + "\n  }\n}\n";
    // Kernels have no arguments of narrow types.
    mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, config);
    EXPECT_TRUE(module) << text;
    if (!module)
      return {};
    Number found;
    module->walk([&](tile::MapOp map) {
      Result<ElementProgram> program = ElementProgram::create(map.getBody());
      ASSERT_TRUE(program) << program.error().message;
      Number elements[] = {x, y};
      found = program->run(elements).front();
    });
    return found;
  }
  mlir::MLIRContext context;
};
} // namespace

TEST_F(Interpreter, roundsToNearestEven) {
  EXPECT_EQ(roundTo(ElementType::BF16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(roundTo(ElementType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(roundTo(ElementType::F16, 65519.9), 65504.0);
  EXPECT_TRUE(std::isinf(roundTo(ElementType::F16, 65520.0)));
  EXPECT_EQ(roundTo(ElementType::F16, 0x1p-24 * 1.5), 0x1p-23);
  EXPECT_EQ(roundTo(ElementType::F32, 0x1p-149 * 0.5), 0.0);
  for (double number : {1.1, -3e38, 1e-40, 123456789.0})
    EXPECT_EQ(roundTo(ElementType::F32, number), static_cast<double>(static_cast<float>(number)));
  EXPECT_EQ(ulpOf(ElementType::F32, 1.5), 0x1p-23);
  EXPECT_EQ(ulpOf(ElementType::BF16, 256), 2.0);
}

TEST_F(Interpreter, arithmeticIsExact) {
  EXPECT_EQ(run("f32", "    %r = arith.divf %x, %y : f32", "f32", {1, 0}, {3, 0}).value,
            static_cast<double>(1.0f / 3.0f));
  Number sum = run("bf16", "    %r = arith.addf %x, %y : bf16", "bf16", {256, 0}, {1, 0});
  EXPECT_EQ(sum.value, 256);
  EXPECT_EQ(sum.error, 0);
  EXPECT_EQ(run("i8", "    %r = arith.addi %x, %y : i8", "i8", {100, 0}, {100, 0}).value, -56);
  EXPECT_EQ(run("i8", "    %r = arith.extui %x : i8 to i32", "i32", {-1, 0}).value, 255);
  EXPECT_EQ(run("i32", "    %k = arith.constant 4 : i32\n    %r = arith.shrui %x, %k : i32", "i32", {-1, 0}).value,
            268435455);
}

TEST_F(Interpreter, conversionsSaturate) {
  EXPECT_EQ(run("f32", "    %r = arith.fptosi %x : f32 to i8", "i8", {300, 0}).value, 127);
  EXPECT_EQ(run("f32", "    %r = arith.fptosi %x : f32 to i32", "i32", {-1e20, 0}).value, -0x1p31);
  EXPECT_EQ(run("f32", "    %r = arith.fptosi %x : f32 to i32", "i32", {std::nan(""), 0}).value, 0);
  // As the signed number of the bits.
  EXPECT_EQ(run("f32", "    %r = arith.fptoui %x : f32 to i8", "i8", {255.7, 0}).value, -1);
}

TEST_F(Interpreter, boundsReachThroughOps) {
  Number product = run("f32", "    %r = arith.mulf %x, %y : f32", "f32", {2, 0.25}, {4, 0});
  EXPECT_GE(product.error, 1.0);
  EXPECT_LT(product.error, 1.01);
  // Undecided: as far apart as the two outcomes.
  std::string choice = "    %c0 = arith.cmpf olt, %x, %y : f32\n"
                       "    %k = arith.constant 10.0 : f32\n"
                       "    %r = arith.select %c0, %x, %k : f32";
  EXPECT_GE(run("f32", choice, "f32", {1, 0.5}, {1.25, 0}).error, 9.0);
  EXPECT_EQ(run("f32", choice, "f32", {1, 0}, {1.25, 0}).error, 0);
  EXPECT_EQ(run("f32", choice, "f32", {1, 0}, {1.25, 0}).value, 1);
  Number tangent = run("f32", "    %r = math.tanh %x : f32", "f32", {0.5, 0});
  EXPECT_NEAR(tangent.value, std::tanh(0.5), 1e-7);
  EXPECT_GT(tangent.error, 0);
  EXPECT_LT(tangent.error, 1e-6);
}
