// The first kernel of a backward: two numbers for each row of queries, minus delta = rowsum(dO * O), and minus LSE in
// log2 units. The gradient of LSE is subtracted from delta.
//
// Nothing but memory bounds it: lanes lie along rows, 16 bytes each.
#include "BackwardFrame.h"

#include "ExpansionBuilder.h"
#include "QuerySums.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

static constexpr int64_t kRowsAtOnce = 16, kWavesOfRows = 4, kWavesOfSums = QuerySums::kQueries / kRowsAtOnce;
/// The share of the weights that dropout keeps.
static constexpr llvm::StringLiteral kKept = "dropout_keep";
static constexpr llvm::StringLiteral kLseGradient = "dlse";

/// o * dO, in f32, each element where the two have it.
static Value products(ExpansionBuilder &builder, Value o, Value dO) {
  auto narrow = cast<tile::FragType>(o.getType());
  Type f32 = builder.getF32Type();
  Type wide = tile::FragType::get(builder.getContext(), narrow.getShape(), f32,
                                  narrow.getRegisterLayout());
  return builder.map(wide, {o, dO}, [&](ValueRange elements) -> Value {
    Value a = arith::ExtFOp::create(builder, f32, elements[0]);
    Value b = arith::ExtFOp::create(builder, f32, elements[1]);
    return arith::MulFOp::create(builder, a, b);
  });
}

/// -LSE log2(e), which exponents have only to add; of rows that saw nothing -inf.
static Value minusInLog2(ExpansionBuilder &builder, Value lse) {
  return builder.map(lse.getType(), lse, [&](ValueRange elements) -> Value {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Value given = elements[0];
    Value none = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, given,
                                       builder.constant(-infinity));
    Value scaled =
        arith::MulFOp::create(builder, given, builder.constant(-std::numbers::log2e_v<float>));
    return arith::SelectOp::create(builder, none, builder.constant(-infinity), scaled);
  });
}

/// Numbers of rows times one for all.
static Value scaled(ExpansionBuilder &builder, Value rows, Value factor) {
  return builder.map(rows.getType(), {rows, factor}, [&](ValueRange elements) -> Value {
    return arith::MulFOp::create(builder, elements[0], elements[1]);
  });
}

static Value difference(ExpansionBuilder &builder, Value left, Value right) {
  return builder.map(left.getType(), {left, right}, [&](ValueRange elements) -> Value {
    return arith::SubFOp::create(builder, elements[0], elements[1]);
  });
}

/// Sets what dQ of `rows` rows from `place` (batch, head, row) on is added to, to 0. Behind the last row, too, up to the
/// end of what sums are kept of.
static void clearSums(ExpansionBuilder &builder, const QuerySums &sums, Value view, ArrayRef<Value> place,
                      int64_t rows) {
  Type element = sums.elementType();
  SmallVector<int64_t> shape = {rows, sums.blocks() * 32};
  Type lines = tile::FragType::get(builder.getContext(), shape, element,
                                   tile::FragType::defaultLayout(FragLayout::Lines, shape, element));
  tile::StoreOp::create(builder, builder.fill(lines, 0.0f), view, place,
                        builder.getI64IntegerAttr(2));
}

tile::KernelOp hocket::buildBackwardRows(attn::BackwardOp op, const ArchInfo &arch) {
  ExpansionBuilder builder(op.getLoc(), op);
  BackwardFrame problem(op);
  problem.addTensors({"o", "do"});
  problem.addLse();
  if (op.getLseGradient())
    problem.addLse(kLseGradient);
  problem.addRowStatistics();
  problem.addRequirements();
  KernelFrame &frame = problem.kernelFrame();
  if (op.getDropout())
    frame.addScalar(builder.getF32Type(), kKept);
  problem.addSequences(/*ofKeys=*/false);
  std::optional<QuerySums> sums;
  if (op.getAccumulate())
    sums.emplace(op).addRowsTo(frame);
  int64_t waves = op.getWaves().value_or(sums ? kWavesOfSums : kWavesOfRows), dim = op.getValueHeadDim();
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, waves);

  tile::RegisterLayout layout = tile::FragType::defaultLayout(
      FragLayout::Lines, {kRowsAtOnce, dim}, op.getElementType());
  int64_t rows = std::max<int64_t>(kRowsAtOnce, kWaveLanes / layout.lanes);
  Type fragment =
      tile::FragType::get(op.getContext(), {rows, dim}, op.getElementType(), layout);
  Type ofRows = tile::RowsType::get(op.getContext(), rows, builder.getF32Type(), layout);
  Value o = frame.argument("o");
  auto block = tile::BlockIdOp::create(builder, o, waves * rows, /*last_rows_first=*/false,
                                       IntegerAttr(), problem.sequences().rowCount(frame));
  problem.enterSequence(builder, block.getBatch());
  Value row = tile::WaveRowOp::create(builder, block.getRow(), rows);
  auto load = [&](Value view) {
    return tile::LoadOp::create(builder, fragment, view, block.getBatch(), row, block.getHead());
  };
  SmallVector<Value> place = {block.getBatch(), block.getHead(), row};
  Value outputs = load(problem.view(builder, "o")), gradients = load(problem.view(builder, "do"));
  auto loadOfRows = [&](StringRef name) -> Value {
    return tile::LoadOp::create(builder, ofRows, problem.lse(builder, name), place, IntegerAttr());
  };
  Value lse = loadOfRows("lse");
  Value delta = tile::ReduceOp::create(builder, ofRows, tile::Reduction::Sum,
                                       products(builder, outputs, gradients),
                                       tile::Dimension::Columns);
  if (op.getLseGradient())
    delta = difference(builder, delta, loadOfRows(kLseGradient));
  if (op.getDropout())
    delta = scaled(builder, delta, frame.argument(kKept));
  Value minusDelta = builder.map(delta.getType(), delta, [&](ValueRange elements) -> Value {
    return arith::NegFOp::create(builder, elements[0]);
  });
  for (auto [number, values] : {std::pair(BackwardFrame::kMinusLogSum, minusInLog2(builder, lse)),
                                std::pair(BackwardFrame::kMinusDelta, minusDelta)}) {
    SmallVector<Value> there = {block.getBatch(), block.getHead(), builder.constant(number), row};
    tile::StoreOp::create(builder, values, problem.rowStatistics(builder), there, IntegerAttr());
  }
  if (sums)
    clearSums(builder, *sums,
              sums->ofSequence(builder, frame, block.getBatch(), problem.view(builder, "o"),
                               problem.sequences().firstQuery(), /*asRows=*/true),
              {block.getBatch(), block.getHead(), row}, rows);
  tile::ReturnOp::create(builder);
  return kernel;
}
