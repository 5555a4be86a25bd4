// Dropout.
#include "Dropout.h"

using namespace mlir;
using namespace hocket;

/// Numbers of Philox's counter that a head takes: one for each lane of a wave.
static constexpr int64_t kCountersOfHead = 64;

void hocket::addDropoutArguments(KernelFrame &frame) {
  MLIRContext *context = frame.context();
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  frame.addScalar(i32, "dropout_threshold");
  frame.addScalar(Float32Type::get(context), "dropout_keep");
  frame.addScalar(i64, "dropout_seed");
  frame.addScalar(i64, "dropout_offset");
  frame.addTensor(tile::ViewType::get(context, {ShapedType::kDynamic}, i32),
                  {"dropout_state", {}, {"dropout_words"}});
}

Dropout::Dropout(const KernelFrame &frame)
    : threshold(frame.argument("dropout_threshold")), share(frame.argument("dropout_keep")),
      seed(frame.argument("dropout_seed")), offset(frame.argument("dropout_offset")),
      state(frame.argument("dropout_state")) {}

/// Two halves of `state`, from number `first` on, lower one first.
static Value wideNumber(ExpansionBuilder &builder, Value state, int64_t first) {
  Type i64 = builder.getI64Type();
  auto half = [&](int64_t index) -> Value {
    Value place = builder.constant(index);
    Value word = tile::LoadOp::create(builder, builder.getI32Type(), state, ValueRange(place), IntegerAttr());
    return arith::ExtUIOp::create(builder, i64, word);
  };
  Value low = half(first), high = half(first + 1);
  Value bits = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(32));
  return arith::OrIOp::create(builder, low, arith::ShLIOp::create(builder, high, bits));
}

void Dropout::prepare(ExpansionBuilder &builder, Value q, Value batch, Value head) {
  Type i64 = builder.getI64Type();
  auto wide = [&](Value number) -> Value { return arith::ExtUIOp::create(builder, i64, number); };
  seed = arith::AddIOp::create(builder, seed, wideNumber(builder, state, 0));
  offset = arith::AddIOp::create(builder, offset, wideNumber(builder, state, 2));
  Value heads = wide(tile::DimOp::create(builder, q, 2));
  Value before = arith::MulIOp::create(builder, wide(batch), heads);
  Value number = arith::AddIOp::create(builder, before, wide(head));
  Value counters = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(kCountersOfHead));
  offset = arith::AddIOp::create(builder, offset, arith::MulIOp::create(builder, number, counters));
}

ResultRange Dropout::map(ExpansionBuilder &builder, Value weights, Value query, Value key, bool transposed,
                         unsigned results, Element element) const {
  auto type = cast<tile::FragType>(weights.getType());
  Type bytesType = tile::FragType::get(builder.getContext(), type.getShape(), builder.getI8Type(),
                                       type.getRegisterLayout());
  Value row = transposed ? key : query, column = transposed ? query : key;
  Value bytes = tile::RandomBytesOp::create(builder, bytesType, seed, offset, row, column, IntegerAttr(),
                                            IntegerAttr(), transposed);
  Value inputs[] = {weights, bytes, threshold};
  auto map = tile::MapOp::create(builder, SmallVector<Type>(results, type), inputs, Value(), Value(), Value(),
                                 /*coordinates=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &block = map.getBody().emplaceBlock();
  for (Type element : {type.getElementType(), Type(builder.getI8Type()), Type(builder.getI32Type())})
    block.addArgument(element, builder.getLoc());
  builder.setInsertionPointToStart(&block);
  Value byte = arith::ExtUIOp::create(builder, builder.getI32Type(), block.getArgument(1));
  Value kept =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, byte, block.getArgument(2));
  tile::YieldOp::create(builder, element(kept, block.getArgument(0)));
  return map.getResults();
}

/// `weight` where it is kept, else zero.
static Value orZero(ExpansionBuilder &builder, Value kept, Value weight) {
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(weight.getType()));
  return arith::SelectOp::create(builder, kept, weight, zero);
}

Value Dropout::keep(ExpansionBuilder &builder, Value weights, Value row, Value key) const {
  return map(builder, weights, row, key, /*transposed=*/false, 1,
             [&](Value kept, Value weight) -> SmallVector<Value> { return {orZero(builder, kept, weight)}; })
      .front();
}

std::pair<Value, Value> Dropout::keepAndMark(ExpansionBuilder &builder, Value weights, Value query, Value key,
                                             bool transposed) const {
  auto both = [&](Value kept, Value weight) -> SmallVector<Value> {
    Value negative = arith::NegFOp::create(builder, weight);
    Value marked = arith::SelectOp::create(builder, kept, weight, negative);
    return {orZero(builder, kept, weight), marked};
  };
  ResultRange results = map(builder, weights, query, key, transposed, 2, both);
  return {results[0], results[1]};
}

Value Dropout::shareOf(ExpansionBuilder &builder, Value sum) const {
  Value inputs[] = {sum, share};
  auto map = tile::MapOp::create(builder, TypeRange(sum.getType()), inputs, Value(), Value(), Value(),
                                 /*coordinates=*/false);
  ExpansionBuilder::InsertionGuard guard(builder);
  Block &block = map.getBody().emplaceBlock();
  for (unsigned index = 0; index != 2; ++index)
    block.addArgument(builder.getF32Type(), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  Value product = arith::MulFOp::create(builder, block.getArgument(0), block.getArgument(1));
  tile::YieldOp::create(builder, ValueRange(product));
  return map.getResult(0);
}
