// dK and dV as the sums of what parts of a group's heads made of them: in order, in f32, rounded once.
//
// Nothing but memory bounds it: lanes lie along rows.
#include "BackwardFrame.h"

#include "ExpansionBuilder.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

static constexpr int64_t kRowsAtOnce = 16, kWavesOfSums = 4;

/// How many a wave has: as many as have no lane left over.
static int64_t rowsOfWave(attn::BackwardOp op) {
  int64_t rows = kRowsAtOnce;
  for (int64_t dim : {static_cast<int64_t>(op.getHeadDim()), op.getValueHeadDim()}) {
    tile::RegisterLayout lines = tile::FragType::defaultLayout(FragLayout::Lines, {kRowsAtOnce, dim},
                                                               Float32Type::get(op.getContext()));
    rows = std::max<int64_t>(rows, kWaveLanes / lines.lanes);
  }
  return rows;
}

/// Rows of head `head` from `row` on, the sums of those of its parts.
static Value sumOfParts(ExpansionBuilder &builder, Type fragment, Value parts, Value whole, Value batch, Value row,
                        Value head) {
  Value ofHead = tile::DivModOp::create(builder, tile::DimOp::create(builder, parts, 2),
                                        tile::DimOp::create(builder, whole, 2))
                     .getQuotient();
  Value first = arith::MulIOp::create(builder, head, ofHead);
  auto load = [&](Value part) -> Value {
    return tile::LoadOp::create(builder, fragment, parts, batch, row, arith::AddIOp::create(builder, first, part));
  };
  return builder.accumulate(builder.constant(int64_t(1)), ofHead, 1, load(builder.constant(int64_t(0))),
                            [&](Value part, Value sum) {
                              return builder.map(fragment, {sum, load(part)}, [&](ValueRange elements) -> Value {
                                return arith::AddFOp::create(builder, elements[0], elements[1]);
                              });
                            });
}

tile::KernelOp hocket::buildPartSums(attn::BackwardOp op, const ArchInfo &arch) {
  ExpansionBuilder builder(op.getLoc(), op);
  BackwardFrame problem(op);
  problem.addTensors({"dk", "dv"});
  problem.addParts({"dk", "dv"});
  problem.addRequirements();
  problem.addSequences(/*ofKeys=*/true);
  KernelFrame &frame = problem.kernelFrame();
  int64_t waves = op.getWaves().value_or(kWavesOfSums), rows = rowsOfWave(op);
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, waves);
  auto block = tile::BlockIdOp::create(builder, frame.argument("dk"), waves * rows, /*last_rows_first=*/false,
                                       IntegerAttr(), problem.sequences().keyRowCount(frame));
  problem.enterSequence(builder, block.getBatch());
  Value row = tile::WaveRowOp::create(builder, block.getRow(), rows);
  for (StringRef name : {StringRef("dk"), StringRef("dv")}) {
    int64_t dim = name == "dv" ? op.getValueHeadDim() : op.getHeadDim();
    Type fragment = builder.frag(rows, dim, builder.getF32Type(), FragLayout::Lines);
    Value whole = problem.view(builder, name), parts = problem.view(builder, BackwardFrame::nameOfParts(name));
    Value sum = sumOfParts(builder, fragment, parts, whole, block.getBatch(), row, block.getHead());
    tile::StoreOp::create(builder, sum, whole, block.getBatch(), row, block.getHead());
  }
  tile::ReturnOp::create(builder);
  return kernel;
}
