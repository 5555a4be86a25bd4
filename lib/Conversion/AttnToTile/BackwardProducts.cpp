// The products of a backward's loop.
#include "BackwardProducts.h"

#include "Forward.h"
#include "QuerySums.h"
#include "RingSteps.h"

#include "IR/ElementTypes.h"
#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/MemoryAccess.h"

using namespace mlir;
using namespace hocket;
using tile::FragLayout;

Operand Operand::of(attn::BackwardOp op, bool ofKeys, bool isFirst) {
  StringRef names[] = {"q", "do", "k", "v"};
  bool isFused = op.getPart() == attn::BackwardPart::Fused;
  int64_t elements = isFirst ? static_cast<int64_t>(op.getHeadDim()) : op.getValueHeadDim();
  // Both parts of a product of a fused loop have something to multiply, if only zeros.
  Operand operand{names[2 * ofKeys + !isFirst], std::max(elements, isFused ? kHeadBlock : 0),
                  static_cast<int64_t>(llvm::alignTo(elements, kHeadBlock))};
  if (isFused && ofKeys && isFirst)
    operand.depth = QuerySums::columnsOf(op);
  return operand;
}

Value TileInTurn::tilesUpTo(Value end, int64_t rows) const {
  rows *= atOnce;
  Value roundedUp = arith::AddIOp::create(builder, end, builder.constant(rows - 1));
  return arith::DivUIOp::create(builder, roundedUp, builder.constant(rows));
}

Value TileInTurn::number(ExpansionBuilder &builder, Value t) const {
  if (atOnce == 1)
    return t;
  Value before = arith::MulIOp::create(builder, t, builder.constant(atOnce));
  return arith::AddIOp::create(builder, before, builder.constant(turn));
}

/// The name of a step of part `part` of a product.
static std::string ofPart(StringRef prefix, StringRef name, int64_t part) {
  return (prefix + name + (part == 0 ? "" : "_rest")).str();
}

/// From `first` on, so much of the depth of an operand as `type` has; all of it is the operand.
Value BackwardProducts::partOf(Value operand, Type type, int64_t first) const {
  if (operand.getType() == type)
    return operand;
  return tile::SliceDepthOp::create(loop.builder, type, operand, first);
}

/// From `first` on, so much of the depth as `type` has of the wave's rows of what stands in LDS.
Value BackwardProducts::standing(const Operand &rows, Type type, int64_t first) {
  ExpansionBuilder &builder = loop.builder;
  Type whole = builder.frag(rows.depth, kWaveRows, loop.element.q, FragLayout::Rhs);
  Value read = tile::ReadOp::create(builder, whole, rows.value, builder.constant(int64_t(0)), Value(), waves.getRow());
  return partOf(read, type, first);
}

Value BackwardProducts::multiply(const Operand &tiles, const Operand &rows, Value t, StringRef name,
                                 function_ref<Value()> start) {
  ExpansionBuilder &builder = loop.builder;
  // Whole steps of the matrix instruction, the first part not the smaller one.
  int64_t steps = tile::operandShape(bitsOf(loop.element.q)).k;
  int64_t all = llvm::alignTo(tiles.dim, steps), ofPartOne = llvm::alignTo(llvm::divideCeil(all, parts), steps);
  bool isAside = isa<tile::StashType>(rows.value.getType()), stands = isa<tile::RingType>(rows.value.getType());
  Value sum;
  for (int64_t part = 0; part != parts; ++part) {
    int64_t first = part * ofPartOne, depth = std::min(ofPartOne, all - first);
    Type left = builder.frag(loop.shape.kvTile, depth, loop.element.q, FragLayout::Lhs);
    Type right = builder.frag(depth, kWaveRows, loop.element.q, FragLayout::Rhs);
    ValueRange operands = turn.step(ofPart("read_", tiles.name, part), [&]() -> SmallVector<Value> {
      Type type = builder.frag(loop.shape.kvTile, tiles.depth, loop.element.q, FragLayout::Lhs);
      Value read = tile::ReadOp::create(builder, type, tiles.value, t, Value());
      SmallVector<Value> operands = {partOf(withoutPadding(builder, read, tiles.dim), left, first)};
      if (isAside)
        operands.push_back(tile::RecallOp::create(builder, right, rows.value, first));
      if (stands)
        operands.push_back(standing(rows, right, first));
      return operands;
    });
    sum = turn.step(ofPart("", name, part), [&]() -> SmallVector<Value> {
      Value held = isAside || stands ? operands.back() : partOf(rows.value, right, first);
      return {tile::MmaOp::create(builder, operands.front(), held, sum ? sum : start())};
    })[0];
  }
  return sum;
}

Value BackwardProducts::add(const Operand &tiles, Value t, Value factor, Value sum, StringRef name) const {
  ExpansionBuilder &builder = loop.builder;
  int64_t depth = loop.shape.kvTile / parts;
  Type left = builder.frag(tiles.depth, depth, loop.element.q, FragLayout::LhsAcc);
  Type right = builder.frag(depth, kWaveRows, loop.element.q, FragLayout::RhsAcc);
  for (int64_t part = 0; part != parts; ++part) {
    Value operand = turn.step(ofPart("turn_", tiles.name, part), [&]() -> SmallVector<Value> {
      Type type = builder.frag(tiles.depth, loop.shape.kvTile, loop.element.q, FragLayout::LhsAcc);
      Value read = tile::ReadTransposedOp::create(builder, type, tiles.turned, t, Value());
      return {partOf(read, left, part * depth)};
    })[0];
    sum = turn.step(ofPart("", name, part), [&]() -> SmallVector<Value> {
      return {tile::MmaOp::create(builder, operand, partOf(factor, right, part * depth), sum)};
    })[0];
  }
  return sum;
}
