// The sink.
#include "Sink.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;

namespace {
/// The numbers of one row: its sum, its reference, and the sink, in log2 units too.
struct RowNumbers {
  Value sum, reference, sink;
};
} // namespace

/// A number for each row, made of its numbers by `body`.
static Value mapRows(ExpansionBuilder &builder, Value sum, Value reference, Value sink,
                     function_ref<Value(const RowNumbers &)> body) {
  Value inputs[] = {sum, reference, sink};
  auto map = tile::MapOp::create(builder, TypeRange(sum.getType()), inputs, Value(), Value(),
                                 Value(), /*coordinates=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &block = map.getBody().emplaceBlock();
  for (unsigned index = 0; index != 3; ++index)
    block.addArgument(builder.getF32Type(), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  Value log2e = builder.constant(std::numbers::log2e_v<float>);
  Value inLog2 = arith::MulFOp::create(builder, block.getArgument(2), log2e);
  Value result = body({block.getArgument(0), block.getArgument(1), inLog2});
  tile::YieldOp::create(builder, ValueRange(result));
  return map.getResult(0);
}

/// 2^(a - b).
static Value ratio(ExpansionBuilder &builder, Value a, Value b) {
  return math::Exp2Op::create(builder, arith::SubFOp::create(builder, a, b));
}

Value hocket::sumWithSink(ExpansionBuilder &builder, Value sum, Value reference, Value sink) {
  return mapRows(builder, sum, reference, sink, [&](const RowNumbers &row) -> Value {
    return arith::AddFOp::create(builder, row.sum, ratio(builder, row.sink, row.reference));
  });
}

/// The larger of the row's reference and the sink; of a row that has seen nothing the sink, if there is one.
static Value commonReference(ExpansionBuilder &builder, const RowNumbers &row) {
  Value none = builder.constant(-std::numeric_limits<float>::infinity());
  Value isEmpty = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, row.sum,
                                        builder.constant(0.0f));
  Value hasSink = arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, row.sink, none);
  Value isSinkAlone = arith::AndIOp::create(builder, isEmpty, hasSink);
  Value larger = arith::MaximumFOp::create(builder, row.reference, row.sink);
  return arith::SelectOp::create(builder, isSinkAlone, row.sink, larger);
}

Value hocket::logSumWithSink(ExpansionBuilder &builder, Value sum, Value reference, Value sink) {
  Value common = mapRows(builder, sum, reference, sink, [&](const RowNumbers &row) {
    return commonReference(builder, row);
  });
  Value total = mapRows(builder, sum, reference, sink, [&](const RowNumbers &row) -> Value {
    Value common = commonReference(builder, row);
    Value shrunk = arith::MulFOp::create(builder, row.sum, ratio(builder, row.reference, common));
    // Nothing times infinity is not a number.
    Value isEmpty = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, row.sum,
                                          builder.constant(0.0f));
    Value own = arith::SelectOp::create(builder, isEmpty, row.sum, shrunk);
    return arith::AddFOp::create(builder, own, ratio(builder, row.sink, common));
  });
  return tile::LogSumOp::create(builder, total, common);
}
