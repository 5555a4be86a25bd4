// The online softmax of a loop over tiles of keys.
#include "Softmax.h"

#include "LoopContext.h"
#include "Sink.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

/// Weights of 2^20 leave room in f32 for sums over 2^20 keys of values up to 2^87; in fp16, whose largest number is below
/// 2^16, they must stay below.
static constexpr float kThreshold = 20.0f, kThresholdFp16 = 14.0f;
/// Of weights of 8 bits, how far the first largest is below what they may grow to: the more, the fewer of the small ones
/// are left, and the less often references move.
static constexpr float kRoomOfSmall = 4.0f;
/// The smallest scale used. Keeps (-inf) * scale at -inf when the user's scale is 0.
static constexpr float kMinScale = 0x1p-100f;
/// Products of integers begin with the bits of this number, and are then the bits of this and their sum: integers of up
/// to 2^22, which those of 256 elements of 8 bits stay within.
static constexpr float kSumOrigin = 0x1.8p23f;
/// Both halves of a tile are whole accumulator blocks; of a single one, the second is empty.
static constexpr int64_t kKeyBlock = 32;

Type HeadElements::weights() const {
  if (bitsOf(v) < 8)
    return v;
  Type wide = areIntegers() ? v : q;
  if (!isSmall(wide))
    return wide;
  bool isFnuz = infoOf(*asElementType(v)).specials == Specials::Fnuz;
  return isFnuz ? Type(Float8E4M3FNUZType::get(v.getContext())) : Type(Float8E4M3FNType::get(v.getContext()));
}

float Softmax::threshold() const {
  Type element = options.weights.getElementType();
  if (isSmall(element) && !areOfBlocks())
    return static_cast<float>(std::ilogb(infoOf(*asElementType(element)).largest()));
  return element.isF16() ? kThresholdFp16 : kThreshold;
}

float Softmax::raised() const {
  return isSmall(options.weights.getElementType()) && !areOfBlocks() ? threshold() - kRoomOfSmall : 0.0f;
}

Type Softmax::packed(ExpansionBuilder &builder, int64_t keys) const {
  return tile::FragType::get(builder.getContext(), {keys, kWaveRows}, options.weights.getElementType(),
                             options.weights.getRegisterLayout());
}

/// A negative scale moves its sign into Q, so that the maximum of the scaled scores is the scaled
/// maximum.
Value Softmax::prepareQuery(ExpansionBuilder &builder, Value userScale, function_ref<Value()> load) {
  if (options.isScaled) {
    // References are subtracted as they are: a row's largest score counts as 1 whatever its size, where a scale would
    // round the two differently.
    scale = builder.constant(1.0f);
    sign = scale;
    return load();
  }
  Value zero = builder.constant(0.0f);
  Value negative = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, userScale, zero);
  Value opposite = arith::NegFOp::create(builder, userScale);
  Value magnitude = arith::SelectOp::create(builder, negative, opposite, userScale);
  Value inLog2 =
      arith::MulFOp::create(builder, magnitude, builder.constant(std::numbers::log2e_v<float>));
  scale = arith::MaxNumFOp::create(builder, inLog2, builder.constant(kMinScale));
  if (options.integers) {
    // Integers have one more negative number than positive ones.
    sign = arith::SelectOp::create(builder, negative, builder.constant(-1.0f), builder.constant(1.0f));
    return load();
  }
  return tile::NegateOp::create(builder, load(), negative);
}

void Softmax::multiplyBy(ExpansionBuilder &builder, Value factor, Value addend) {
  Value log2e = builder.constant(kScaledUnit);
  Value inLog2 = arith::MulFOp::create(builder, factor, log2e);
  scale = arith::MaxNumFOp::create(builder, inLog2, builder.constant(kMinScale));
  if (!addend)
    return;
  // By the share of the factor that it is, so that what rounding does to the factor cancels where the sum does.
  constexpr float kTiny = 0x1p-64f;
  Value share = arith::DivFOp::create(builder, addend, factor);
  Value ofScale = arith::MulFOp::create(builder, scale, share), alone = arith::MulFOp::create(builder, addend, log2e);
  Value isTiny = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, factor, builder.constant(kTiny));
  moved = arith::SelectOp::create(builder, isTiny, alone, ofScale);
}

Value Softmax::reference(ExpansionBuilder &builder, ValueRange state) const {
  if (!moved)
    return state[0];
  Value inputs[] = {state[0], moved};
  return builder.map(state[0].getType(), inputs, [&](ValueRange numbers) -> Value {
    return arith::AddFOp::create(builder, numbers[0], numbers[1]);
  });
}

Value Softmax::perScale(ExpansionBuilder &builder) const {
  return arith::DivFOp::create(builder, builder.constant(std::numbers::log2e_v<float>), scale);
}

Value Softmax::noScores(ExpansionBuilder &builder) const {
  Type element = options.integers ? Type(builder.getI32Type()) : builder.getF32Type();
  const float none = options.integers ? static_cast<float>(std::bit_cast<int32_t>(kSumOrigin)) : 0.0f;
  return builder.fill(builder.frag(options.weights.getRows(), kWaveRows, element, FragLayout::Acc), none);
}

/// A function of a number, or of each of several.
static Value onEach(ExpansionBuilder &builder, Value numbers, function_ref<Value(Value)> function) {
  if (isa<FloatType>(numbers.getType()))
    return function(numbers);
  return builder.map(numbers.getType(), numbers, [&](ValueRange e) { return function(e[0]); });
}

/// `factor` with two bits less, so that its product with `kSumOrigin`, which has two, is exact.
static Value shortened(ExpansionBuilder &builder, Value factor) {
  Value bits = arith::BitcastOp::create(builder, builder.getI32Type(), factor);
  Value half = arith::AddIOp::create(builder, bits, builder.constant(int64_t(2)));
  Value kept = arith::AndIOp::create(builder, half, builder.constant(int64_t(~3)));
  return arith::BitcastOp::create(builder, builder.getF32Type(), kept);
}

/// Factors of keys, each with the sign of the user's scale.
Value Softmax::signedFactors(ExpansionBuilder &builder, Value factors) const {
  Value inputs[] = {factors, sign};
  return builder.map(factors.getType(), inputs, [&](ValueRange e) {
    return shortened(builder, arith::MulFOp::create(builder, e[1], e[0]));
  });
}

/// Of some of a tile's keys; without a `factor` it is 1.
Value Softmax::scoresOfPart(ExpansionBuilder &builder, Value products, Value factor) const {
  int64_t keys = cast<tile::FragType>(products.getType()).getRows();
  Type scores = builder.frag(keys, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  if (!options.integers) {
    Value inputs[] = {products, factor};
    return builder.map(scores, inputs, [&](ValueRange e) -> Value { return arith::MulFOp::create(builder, e[0], e[1]); });
  }
  Value ofSums = sign;
  if (factor && isa<FloatType>(factor.getType()))
    ofSums = shortened(builder, arith::MulFOp::create(builder, sign, factor));
  else if (factor)
    ofSums = signedFactors(builder, factor);
  Value origin = onEach(builder, ofSums, [&](Value number) -> Value {
    return arith::MulFOp::create(builder, number, builder.constant(-kSumOrigin));
  });
  Value inputs[] = {products, ofSums, origin};
  return builder.map(scores, inputs, [&](ValueRange e) -> Value {
    Value sum = arith::BitcastOp::create(builder, builder.getF32Type(), e[0]);
    return math::FmaOp::create(builder, sum, e[1], e[2]);
  });
}

Value Softmax::scoresOf(ExpansionBuilder &builder, Value products, ValueRange factors) const {
  if (factors.empty())
    return options.integers ? scoresOfPart(builder, products, Value()) : products;
  if (factors.size() == 1)
    return scoresOfPart(builder, products, factors.front());
  const int64_t keys = options.weights.getRows(), ofPart = keys / static_cast<int64_t>(factors.size());
  Type element = cast<tile::FragType>(products.getType()).getElementType();
  SmallVector<Value> parts;
  for (auto [number, factor] : llvm::enumerate(factors)) {
    Type type = builder.frag(ofPart, kWaveRows, element, FragLayout::Acc);
    Value part = tile::SliceOp::create(builder, type, products, static_cast<int64_t>(number) * ofPart);
    parts.push_back(scoresOfPart(builder, part, factor));
  }
  return tile::ConcatOp::create(builder, builder.frag(keys, kWaveRows, builder.getF32Type(), FragLayout::Acc), parts);
}

SmallVector<Value> Softmax::initialState(ExpansionBuilder &builder, Value zero) const {
  SmallVector<Value> state = {
      zero, builder.fill(builder.rows(), -std::numeric_limits<float>::infinity()), zero};
  if (options.exactSum)
    state.push_back(zero);
  return state;
}

/// `weights`, of keys from number `firstRow` of the tile on, times those keys' factors.
Value Softmax::timesFactors(ExpansionBuilder &builder, Value weights, int64_t firstRow, ValueRange factors) const {
  auto type = cast<tile::FragType>(weights.getType());
  const int64_t ofFactor = options.weights.getRows() / static_cast<int64_t>(factors.size());
  const int64_t keys = std::gcd(ofFactor, type.getRows());
  Type part = builder.frag(keys, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  SmallVector<Value> parts;
  for (int64_t key = 0; key != type.getRows(); key += keys) {
    Value inputs[] = {tile::SliceOp::create(builder, part, weights, key), factors[(firstRow + key) / ofFactor]};
    parts.push_back(builder.map(part, inputs, [&](ValueRange e) -> Value { return arith::MulFOp::create(builder, e[0], e[1]); }));
  }
  return parts.size() == 1 ? parts.front() : Value(tile::ConcatOp::create(builder, type, parts));
}

/// A tile's largest scores, and beside them what the largest factor of weights adds in the same units: references that stay
/// near that keep products of weights and factors, whatever their size, where numbers of few bits of exponent are.
Value Softmax::largestProduct(ExpansionBuilder &builder, Value max, ValueRange factors) const {
  if (factors.empty() || options.weights.getElementType().isBF16())
    return max;
  /// Products below are lost; a tile without others counts as if it had this.
  constexpr float kSmallest = 0x1p-64f;
  Value largest = builder.fill(builder.rows(), kSmallest);
  auto greater = [&](ValueRange e) -> Value { return arith::MaxNumFOp::create(builder, e[0], math::AbsFOp::create(builder, e[1])); };
  for (Value factor : factors) {
    Value ofRows = factor;
    if (auto columns = dyn_cast<tile::ColumnsType>(factor.getType())) {
      Type part = builder.frag(columns.getSize(), kWaveRows, builder.getF32Type(), FragLayout::Acc);
      Value spread = builder.map(part, factor, [&](ValueRange e) -> Value { return math::AbsFOp::create(builder, e[0]); });
      ofRows = tile::RowMaxOp::create(builder, builder.rows(), spread, /*chained=*/false);
    }
    Value both[] = {largest, ofRows};
    largest = builder.map(builder.rows(), both, greater);
  }
  Value inputs[] = {max, largest, perUnit};
  return builder.map(builder.rows(), inputs, [&](ValueRange e) -> Value {
    return math::FmaOp::create(builder, math::Log2Op::create(builder, e[1]), e[2], e[0]);
  });
}

/// What weights of a block stay below: half a step more than the type's largest number, to which that is rounded as others
/// are. The more, the fewer small ones are lost.
static float largestOfBlocks(Type element) {
  const ElementTypeInfo &type = infoOf(*asElementType(element));
  const auto largest = static_cast<float>(type.largest());
  return largest + std::ldexp(1.0f, std::ilogb(largest) - static_cast<int>(type.mantissaBits) - 1);
}

Softmax::Settled Softmax::settleStep(ExpansionBuilder &builder, Value scores, ValueRange state, const Changes &changes) const {
  const bool apart = sumsWithProduct(changes);
  ValueRange values = builder.step("settle", [&]() -> SmallVector<Value> {
    // Products that take long end one after the other. Blocks that have powers of their own need their maxima, too.
    Value max = tile::RowMaxOp::create(builder, builder.rows(), scores, /*chained=*/exponentsApart() && !areOfBlocks());
    max = largestProduct(builder, max, changes.factors);
    auto settle = tile::SettleOp::create(builder, max, state[0], state[1], scale,
                                         builder.getF32FloatAttr(threshold()), builder.getF32FloatAttr(raised()));
    SmallVector<Value> results = {settle.getNewReference(), settle.getNewBound(), settle.getFactor(),
                                  settle.getMoved()};
    ValueRange sums = state.drop_front(apart ? 3 : 2);
    if (!sums.empty()) {
      auto rescaled = tile::RescaleOp::create(builder, sums.getTypes(), sums, settle.getFactor(),
                                              settle.getMoved());
      llvm::append_range(results, rescaled.getResults());
    }
    if (areOfBlocks()) {
      const float largest = largestOfBlocks(options.weights.getElementType());
      Type word = tile::RowsType::get(builder.getContext(), kWaveRows, builder.getI32Type(), {FragLayout::Acc});
      auto exponents = tile::BlockExponentsOp::create(builder, scores.getType(), word, scores, scale, settle.getNewReference(),
                                                      builder.getF32FloatAttr(largest), /*line=*/builder.getUnitAttr());
      llvm::append_range(results, exponents.getResults());
    } else if (exponentsApart()) {
      results.push_back(tile::ExponentsOp::create(builder, scores, scale, settle.getNewReference()));
    }
    return results;
  });
  Value raw = scores, word;
  if (areOfBlocks()) {
    word = values.back();
    values = values.drop_back();
  }
  if (exponentsApart()) {
    scores = values.back();
    values = values.drop_back();
  }
  SmallVector<Value> sums;
  if (apart)
    sums.push_back(state[2]);
  llvm::append_range(sums, values.drop_front(4));
  return {scores, values[0], values[1], values[2], values[3], sums, raw, word};
}

/// Whether blocks of weights have a power of two each: of 4 bits, whose numbers reach over few.
bool Softmax::areOfBlocks() const { return bitsOf(options.weights.getElementType()) < 8; }

Value Softmax::blockScales(ExpansionBuilder &builder, const Settled &settled) const {
  if (!settled.word)
    return Value();
  constexpr int64_t scaled = 32;
  Type type = builder.frag(options.weights.getRows() / scaled, kWaveRows, Float8E8M0FNUType::get(builder.getContext()), FragLayout::RhsScale);
  return tile::BlockScalesOp::create(builder, type, settled.word);
}

/// Whether what weights are powers of is made where the reference is. Of few products, whose vector instructions are what
/// takes the time: two in an instruction, which would wait for products beneath which they stood.
bool Softmax::exponentsApart() const { return options.fewProducts || isSmall(options.weights.getElementType()); }

bool Softmax::sumsWithProduct(const Changes &changes) const {
  return isSmall(options.weights.getElementType()) && !changes.drop && changes.factors.empty();
}

/// `weigh` of weights of 4 bits. Their sum is made where V is multiplied; the exact one is of weights as they would be.
SmallVector<Value> Softmax::weighBlocks(ExpansionBuilder &builder, const Settled &settled, int64_t firstRow, int64_t rows,
                                        ValueRange sumsBefore) const {
  Type part = builder.frag(rows, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Value slice = tile::SliceOp::create(builder, part, settled.scores, firstRow);
  SmallVector<Value> results = {tile::PackOp::create(builder, packed(builder, rows), slice, /*line=*/true), sumsBefore[0]};
  if (!options.exactSum)
    return results;
  Value raw = tile::SliceOp::create(builder, part, settled.raw, firstRow);
  Value wide = tile::Exp2Op::create(builder, raw, scale, settled.reference, /*polynomials=*/IntegerAttr());
  results.push_back(tile::RowSumOp::create(builder, wide, sumsBefore[1]));
  return results;
}

/// The weights of `rows` keys of a tile, packed, and their sums.
SmallVector<Value> Softmax::weigh(ExpansionBuilder &builder, const Settled &settled, int64_t firstRow, int64_t rows,
                                  ValueRange sumsBefore, const Changes &changes) const {
  if (areOfBlocks())
    return weighBlocks(builder, settled, firstRow, rows, sumsBefore);
  Type part = builder.frag(rows, kWaveRows, builder.getF32Type(), FragLayout::Acc);
  Type packedPart = packed(builder, rows);
  Value reference = settled.reference;
  Value slice = tile::SliceOp::create(builder, part, settled.scores, firstRow);
  Value wide = exponentsApart() ? tile::Exp2Op::create(builder, slice, Value(), Value(), /*polynomials=*/IntegerAttr())
                                : tile::Exp2Op::create(builder, slice, scale, reference, /*polynomials=*/IntegerAttr());
  const bool isScaled = !changes.factors.empty();
  Value met = isScaled ? timesFactors(builder, wide, firstRow, changes.factors) : wide;
  Value narrow = tile::PackOp::create(builder, packedPart, met), summed = isScaled ? wide : narrow;
  Value sum = sumsWithProduct(changes) ? sumsBefore[0] : Value(tile::RowSumOp::create(builder, summed, sumsBefore[0]));
  SmallVector<Value> results = {narrow, sum};
  if (options.exactSum)
    results.push_back(tile::RowSumOp::create(builder, wide, sumsBefore[1]));
  if (!changes.drop)
    return results;
  // Of pairs of 16 bits packed ones.
  const bool pairs = bitsOf(options.weights.getElementType()) == 16;
  results[0] = pairs ? changes.drop(narrow, firstRow)
                     : Value(tile::PackOp::create(builder, packedPart, changes.drop(met, firstRow)));
  return results;
}

Softmax::Weights Softmax::weightSteps(ExpansionBuilder &builder, const Settled &settled, const Changes &changes) const {
  const int64_t keys = options.weights.getRows(), unit = std::max(kKeyBlock, options.weights.getDepthStep());
  const int64_t firstRows = llvm::alignTo(keys / 2, unit);
  ValueRange head = builder.step("head", [&] {
    return weigh(builder, settled, 0, firstRows, settled.sums, changes);
  });
  ValueRange tail = builder.step("tail", [&]() -> SmallVector<Value> {
    if (firstRows == keys)
      return llvm::to_vector(head);
    SmallVector<Value> both = weigh(builder, settled, firstRows, keys - firstRows, head.drop_front(), changes);
    SmallVector<Value> halves = {head[0], both[0]};
    both[0] = tile::ConcatOp::create(builder, options.weights, halves);
    return both;
  });
  return {tail[0], llvm::to_vector_of<Value>(tail.drop_front())};
}

Value Softmax::total(ExpansionBuilder &builder, ValueRange state) const {
  return tile::UnifyOp::create(builder, state[2]);
}

Value Softmax::logSumExp(ExpansionBuilder &builder, ValueRange state, Value total, Value sink) const {
  if (options.exactSum)
    total = tile::UnifyOp::create(builder, state.back());
  if (sink)
    return logSumWithSink(builder, total, reference(builder, state), sink);
  return tile::LogSumOp::create(builder, total, reference(builder, state));
}
