// The gradient of the sink, from the row statistics: d_sink[h] = - sum of exp(sink[h] - LSE) delta over all batches and
// rows.
//
// What is summed in which order is fixed: a wave has a head, goes through its batches and rows 1024 at a time, and adds
// lanes at the end. It reads 8 bytes for each row where the loops read hundreds.
#include "BackwardFrame.h"

#include "ExpansionBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace hocket;

static constexpr int64_t kRowsOfLane = 16, kRows = kWaveLanes * kRowsOfLane;
/// With dropout delta lacks this factor: a manifest expression.
static constexpr llvm::StringLiteral kGradient = "d_sink";

/// `sum` and the rows' share of the sink's gradient. Rows that do not exist have a delta of 0, whatever
/// their weight.
static Value addRows(ExpansionBuilder &builder, Value sum, Value minusLogSums, Value minusDeltas, Value sink) {
  return builder.map(sum.getType(), {sum, minusLogSums, minusDeltas, sink}, [&](ValueRange e) -> Value {
    Value log2e = builder.constant(std::numbers::log2e_v<float>);
    Value exponent = math::FmaOp::create(builder, e[3], log2e, e[1]);
    Value product = arith::MulFOp::create(builder, math::Exp2Op::create(builder, exponent), e[2]);
    Value isNothing = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, e[2], builder.constant(0.0f));
    Value share = arith::SelectOp::create(builder, isNothing, e[2], product);
    return arith::AddFOp::create(builder, e[0], share);
  });
}

/// `sum` with the rows of sequence `batch`.
static Value addSequence(ExpansionBuilder &builder, BackwardFrame &problem, Value batch, Value head, Value sink,
                         Value sum) {
  problem.enterSequence(builder, batch);
  Value statistics = problem.rowStatistics(builder);
  Value rows = tile::DimOp::create(builder, statistics, 3);
  return builder.accumulate(builder.constant(int64_t(0)), rows, kRows, sum, [&](Value row, Value before) {
    auto load = [&](int64_t number) -> Value {
      SmallVector<Value> place = {batch, head, builder.constant(number), row};
      return tile::LoadOp::create(builder, sum.getType(), statistics, place, IntegerAttr());
    };
    Value minusLogSums = load(BackwardFrame::kMinusLogSum), minusDeltas = load(BackwardFrame::kMinusDelta);
    return addRows(builder, before, minusLogSums, minusDeltas, sink);
  });
}

tile::KernelOp hocket::buildBackwardSink(attn::BackwardOp op, const ArchInfo &arch) {
  ExpansionBuilder builder(op.getLoc(), op);
  Type f32 = builder.getF32Type();
  BackwardFrame problem(op);
  problem.addRowStatistics();
  problem.addRequirements();
  KernelFrame &frame = problem.kernelFrame();
  Type ofHeads = tile::ViewType::get(op.getContext(), {ShapedType::kDynamic}, f32);
  for (StringRef name : {StringRef("sink"), StringRef(kGradient)})
    frame.addTensor(ofHeads, {name, {}, {"heads"}});
  if (op.getDropout())
    frame.addScalar(f32, kOneOfKept);
  problem.addSequences(/*ofKeys=*/false);
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, /*waves=*/1);

  Value head = tile::WorkgroupIdOp::create(builder, builder.getStrArrayAttr({"heads"})).getX();
  Value sink = tile::LoadOp::create(builder, f32, frame.argument("sink"), ValueRange(head), IntegerAttr());
  tile::RegisterLayout line{tile::FragLayout::Lines, kRowsOfLane, kWaveLanes};
  Type ofRows = tile::ColumnsType::get(op.getContext(), kRows, f32, line);
  Value batches = tile::DimOp::create(builder, frame.argument(BackwardFrame::kStatistics), 0);
  Value total = builder.accumulate(
      builder.constant(int64_t(0)), batches, 1, builder.fill(ofRows, 0.0f),
      [&](Value batch, Value before) { return addSequence(builder, problem, batch, head, sink, before); });
  Value sum = tile::ReduceOp::create(builder, f32, tile::Reduction::Sum, total, tile::Dimension::Columns);
  if (op.getDropout())
    sum = arith::MulFOp::create(builder, sum, frame.argument(kOneOfKept));
  tile::StoreOp::create(builder, sum, frame.argument(kGradient), ValueRange(head), IntegerAttr());
  tile::ReturnOp::create(builder);
  return kernel;
}
