// dQ as it is added up in memory, and the kernel that makes dQ of it.
#include "QuerySums.h"

#include "BackwardFrame.h"
#include "Dropout.h"
#include "Forward.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Numbers of a block, lanes, and bytes that one lane adds at once.
static constexpr int64_t kBlockNumbers = 1024, kWordBytes = 4;
static constexpr int64_t kQueriesOfBlock = 32, kWavesOfConversion = 4;

QuerySums::QuerySums(attn::BackwardOp op)
    : context(op.getContext()), depth(columnsOf(op)), packed(op.getAccumulate() == attn::Accumulation::Packed),
      packedQueries(op.getPackedQueries()),
      element(packed ? op.getElementType() : Float32Type::get(op.getContext())) {
  rowsOfHead = packedQueries ? text("(roundup(total_q, " + Twine(kQueries) + ") + batch * " + Twine(kQueries) + ")")
                             : text("roundup(seq_q, " + Twine(kQueries) + ")");
  StringRef heads = packedQueries ? "heads" : "batch * heads", rows = packedQueries ? "total_q" : "seq_q";
  StringRef statistics = text("roundup(8 * " + heads + " * " + rows + ", 256)");
  address = text("workspace + " + statistics);
  bytes = text(statistics + " + " + heads + " * " + rowsOfHead + " * " +
               Twine(depth * element.getIntOrFloatBitWidth() / 8));
}

int64_t QuerySums::columnsOf(attn::BackwardOp op) {
  constexpr int64_t least = 64; // a block for each of two parts
  return std::max<int64_t>(least, llvm::PowerOf2Ceil(llvm::alignTo(op.getHeadDim(), kHeadBlock)));
}

/// Texts live as long as the context.
StringRef QuerySums::text(const Twine &expression) const { return StringAttr::get(context, expression).getValue(); }

void QuerySums::addPieces(KernelFrame &frame, StringRef pieces, int64_t numbers) const {
  int64_t any = ShapedType::kDynamic;
  StringRef ofHead = text(rowsOfHead + " * " + Twine(depth));
  frame.addTensor(tile::ViewType::get(context, {any, any, any, numbers}, element),
                  {kName,
                   {packedQueries ? StringRef("0") : text("heads * " + ofHead), ofHead, text(Twine(numbers))},
                   {"batch", "heads", pieces},
                   address});
  frame.setWorkspace(bytes);
}

void QuerySums::addTo(KernelFrame &frame) const {
  addPieces(frame, text(rowsOfHead + " / 32 * " + Twine(blocks())), kBlockNumbers);
}

void QuerySums::addRowsTo(KernelFrame &frame) const { addPieces(frame, rowsOfHead, depth); }

Value QuerySums::ofSequence(ExpansionBuilder &builder, const KernelFrame &frame, Value batch, Value rows,
                            Value firstQuery, bool asRows) const {
  Value whole = frame.argument(kName);
  if (!firstQuery)
    return whole;
  // As many 128 queries before it as whole ones of packed rows, and one for each sequence.
  Value before = arith::DivUIOp::create(builder, firstQuery, builder.constant(kQueries));
  before = arith::AddIOp::create(builder, before, batch);
  int64_t pieces = asRows ? kQueries : kQueries / kQueriesOfBlock * blocks();
  Value first = arith::MulIOp::create(builder, before, builder.constant(pieces));
  // None of the next sequence's.
  Value count = arith::AddIOp::create(builder, tile::DimOp::create(builder, rows, 1), builder.constant(kQueries - 1));
  Value own = arith::MulIOp::create(builder, arith::DivUIOp::create(builder, count, builder.constant(kQueries)),
                                    builder.constant(pieces));
  return tile::SliceRowsOp::create(builder, whole.getType(), whole, first, own, builder.getI64IntegerAttr(2));
}

Value QuerySums::ofHead(ExpansionBuilder &builder, const KernelFrame &frame, Value batch, Value head, Value rows,
                        Value firstQuery) const {
  Type view = tile::ViewType::get(context, {ShapedType::kDynamic, kBlockNumbers}, element);
  SmallVector<Value> place = {batch, head};
  return tile::SelectOp::create(builder, view, ofSequence(builder, frame, batch, rows, firstQuery), place);
}

tile::FragType QuerySums::image(int64_t count) const {
  int64_t run = kWordBytes * 8 / element.getIntOrFloatBitWidth();
  return tile::FragType::get(context, {count, kBlockNumbers}, element,
                             tile::RegisterLayout{FragLayout::Lines, run, kWaveLanes});
}

tile::FragType QuerySums::held(int64_t count) const {
  return tile::FragType::get(context, {count * kHeadBlock, kQueriesOfBlock}, element,
                             packed ? FragLayout::RhsAcc : FragLayout::Acc);
}

tile::FragType QuerySums::wideImage(int64_t count) const {
  tile::FragType narrow = image(count);
  return tile::FragType::get(context, narrow.getShape(), Float32Type::get(context), narrow.getRegisterLayout());
}

tile::FragType QuerySums::accumulators(int64_t count) const {
  return tile::FragType::get(context, {count * kHeadBlock, kQueriesOfBlock}, Float32Type::get(context), FragLayout::Acc);
}

tile::KernelOp hocket::buildQueryConversion(attn::BackwardOp op, const ArchInfo &arch) {
  ExpansionBuilder builder(op.getLoc(), op);
  BackwardFrame problem(op);
  QuerySums sums(op);
  problem.addTensors({"dq"});
  problem.addRequirements();
  KernelFrame &frame = problem.kernelFrame();
  sums.addTo(frame);
  StringRef scale = op.getDropout() ? StringRef(kScaleOfKept) : "scale";
  frame.addScalar(builder.getF32Type(), scale);
  problem.addSequences(/*ofKeys=*/false);
  int64_t waves = op.getWaves().value_or(kWavesOfConversion);
  tile::KernelOp kernel = frame.create(builder, op.getSymName(), arch.name, waves);

  auto block = tile::BlockIdOp::create(builder, frame.argument("dq"), waves * kQueriesOfBlock,
                                       /*last_rows_first=*/false, IntegerAttr(), problem.sequences().rowCount(frame));
  problem.enterSequence(builder, block.getBatch());
  Value dq = problem.view(builder, "dq");
  Value row = tile::WaveRowOp::create(builder, block.getRow(), kQueriesOfBlock);
  Value ofQueries = arith::DivUIOp::create(builder, row, builder.constant(kQueriesOfBlock));
  Value first = arith::MulIOp::create(builder, ofQueries, builder.constant(sums.blocks()));
  SmallVector<Value> place = {block.getBatch(), block.getHead(), first};
  Value view = sums.ofSequence(builder, frame, block.getBatch(), dq, problem.sequences().firstQuery());
  int64_t ofHead = llvm::divideCeil(op.getHeadDim(), kHeadBlock);
  Value image = tile::LoadOp::create(builder, sums.wideImage(ofHead), view, place, builder.getI64IntegerAttr(2));
  Value held = tile::RelabelOp::create(builder, sums.accumulators(ofHead), image);
  // Packed sums have been scaled before they were rounded.
  if (!sums.isPacked())
    held = tile::ScaleOp::create(builder, held, frame.argument(scale));
  tile::StoreOp::create(builder, held, dq, block.getBatch(), row, block.getHead());
  tile::ReturnOp::create(builder);
  return kernel;
}
