// The first kernel of a backward: two numbers for each row of queries, delta = rowsum(dO * O), and LSE in log2 units.
//
// Nothing but memory bounds it: lanes lie along rows, 16 bytes each.
#include "BackwardFrame.h"

#include "ExpansionBuilder.h"

#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

static constexpr int64_t kRowsAtOnce = 16, kWaves = 4;
/// The share of the weights that dropout keeps.
static constexpr llvm::StringLiteral kKept = "dropout_keep";

/// What the region of `op` yields of its inputs' elements.
static void fillMap(ExpansionBuilder &builder, tile::MapOp op,
                    function_ref<Value(Block &)> element) {
  OpBuilder::InsertionGuard guard(builder);
  Block &block = op.getBody().emplaceBlock();
  for (Value input : op.getInputs())
    block.addArgument(tile::elementTypeOf(input.getType()), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  tile::YieldOp::create(builder, ValueRange(element(block)));
}

/// o * dO, in f32, each element where the two have it.
static Value products(ExpansionBuilder &builder, Value o, Value dO) {
  auto narrow = cast<tile::FragType>(o.getType());
  Type f32 = builder.getF32Type();
  Type wide = tile::FragType::get(builder.getContext(), narrow.getShape(), f32,
                                  narrow.getRegisterLayout());
  auto map = tile::MapOp::create(builder, TypeRange(wide), ValueRange({o, dO}), Value(), Value(),
                                 Value(), /*coordinates=*/false);
  fillMap(builder, map, [&](Block &block) -> Value {
    Value a = arith::ExtFOp::create(builder, f32, block.getArgument(0));
    Value b = arith::ExtFOp::create(builder, f32, block.getArgument(1));
    return arith::MulFOp::create(builder, a, b);
  });
  return map.getResult(0);
}

/// LSE log2(e); of rows that saw nothing +inf, of which every score is infinitely far below.
static Value inLog2(ExpansionBuilder &builder, Value lse) {
  auto map = tile::MapOp::create(builder, TypeRange(lse.getType()), ValueRange(lse), Value(),
                                 Value(), Value(), /*coordinates=*/false);
  fillMap(builder, map, [&](Block &block) -> Value {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Value given = block.getArgument(0);
    Value none = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, given,
                                       builder.constant(-infinity));
    Value scaled =
        arith::MulFOp::create(builder, given, builder.constant(std::numbers::log2e_v<float>));
    return arith::SelectOp::create(builder, none, builder.constant(infinity), scaled);
  });
  return map.getResult(0);
}

/// Numbers of rows times one for all.
static Value scaled(ExpansionBuilder &builder, Value rows, Value factor) {
  auto map = tile::MapOp::create(builder, TypeRange(rows.getType()), ValueRange({rows, factor}), Value(), Value(),
                                 Value(), /*coordinates=*/false);
  fillMap(builder, map, [&](Block &block) -> Value {
    return arith::MulFOp::create(builder, block.getArgument(0), block.getArgument(1));
  });
  return map.getResult(0);
}

FailureOr<tile::KernelOp> hocket::buildBackwardRows(attn::BackwardOp op, const ArchInfo &arch) {
  ExpansionBuilder builder(op.getLoc(), op);
  BackwardFrame problem(op);
  problem.addTensors({"o", "do"});
  problem.addLse();
  problem.addRowStatistics();
  problem.addRequirements();
  KernelFrame &frame = problem.kernelFrame();
  if (op.getDropout())
    frame.addScalar(builder.getF32Type(), kKept);
  int64_t waves = op.getWaves().value_or(kWaves), dim = op.getValueHeadDim();
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, waves);

  tile::RegisterLayout layout = tile::FragType::defaultLayout(
      FragLayout::Lines, {kRowsAtOnce, dim}, op.getElementType());
  int64_t rows = std::max<int64_t>(kRowsAtOnce, 64 / layout.lanes);
  Type fragment =
      tile::FragType::get(op.getContext(), {rows, dim}, op.getElementType(), layout);
  Type ofRows = tile::RowsType::get(op.getContext(), rows, builder.getF32Type(), layout);
  Value o = frame.argument("o");
  auto block = tile::BlockIdOp::create(builder, o, waves * rows, /*last_rows_first=*/false,
                                       IntegerAttr());
  Value row = tile::WaveRowOp::create(builder, block.getRow(), rows);
  auto load = [&](Value view) {
    return tile::LoadOp::create(builder, fragment, view, block.getBatch(), row, block.getHead());
  };
  SmallVector<Value> place = {block.getBatch(), block.getHead(), row};
  Value outputs = load(o), gradients = load(frame.argument("do"));
  Value lse = tile::LoadOp::create(builder, ofRows, frame.argument("lse"), place, IntegerAttr());
  Value delta = tile::ReduceOp::create(builder, ofRows, tile::Reduction::Sum,
                                       products(builder, outputs, gradients),
                                       tile::Dimension::Columns);
  if (op.getDropout())
    delta = scaled(builder, delta, frame.argument(kKept));
  for (auto [number, values] : {std::pair(BackwardFrame::kLogSum, inLog2(builder, lse)),
                                std::pair(BackwardFrame::kDelta, delta)}) {
    SmallVector<Value> there = {block.getBatch(), block.getHead(), builder.constant(number), row};
    tile::StoreOp::create(builder, values, frame.argument(BackwardFrame::kStatistics), there,
                          IntegerAttr());
  }
  tile::ReturnOp::create(builder);
  return kernel;
}
