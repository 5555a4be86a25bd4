// Small helpers that write the tile ops of an expansion.
#include "ExpansionBuilder.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RegionOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;

/// Opens the body of `map`: an argument for each of `inputs`, and row and column if it has them.
static Block &openMap(ExpansionBuilder &builder, tile::MapOp map, ValueRange inputs) {
  Block &block = map.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(tile::elementTypeOf(input.getType()), builder.getLoc());
  for (int i = 0; map.getCoordinates() && i != 2; ++i)
    block.addArgument(builder.getI32Type(), builder.getLoc());
  builder.setInsertionPointToStart(&block);
  return block;
}

Value ExpansionBuilder::map(Type result, ValueRange inputs, function_ref<Value(ValueRange)> element) {
  auto map = tile::MapOp::create(*this, TypeRange(result), inputs, Value(), Value(), Value(),
                                 /*coordinates=*/false);
  InsertionGuard guard(*this);
  Block &block = openMap(*this, map, inputs);
  tile::YieldOp::create(*this, ValueRange(element(block.getArguments())));
  return map.getResult(0);
}

Value ExpansionBuilder::mapPlaced(Type result, ValueRange inputs, PlacedElement element, Value firstRow,
                                  Value firstColumn) {
  auto map = tile::MapOp::create(*this, TypeRange(result), inputs, firstRow, firstColumn, Value(),
                                 /*coordinates=*/true);
  InsertionGuard guard(*this);
  ValueRange arguments = openMap(*this, map, inputs).getArguments();
  auto place = arguments.take_back(2);
  tile::YieldOp::create(*this, ValueRange(element(arguments.drop_back(2), place.front(), place.back())));
  return map.getResult(0);
}

Value ExpansionBuilder::accumulate(Value begin, Value end, int64_t step, Value sum,
                                   function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, constant(step), sum);
  InsertionGuard guard(*this);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(*this, body(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

ValueRange ExpansionBuilder::step(StringRef name, function_ref<SmallVector<Value>()> body) {
  InsertPoint after = saveInsertionPoint();
  auto scratch = tile::StepOp::create(*this, TypeRange(), name);
  Block &block = scratch.getBody().emplaceBlock();
  setInsertionPointToStart(&block);
  SmallVector<Value> results = body();
  tile::YieldOp::create(*this, results);
  restoreInsertionPoint(after);
  if (results.empty()) {
    setInsertionPointAfter(scratch);
    return {};
  }
  // The result types are known only now: move the body into a step that declares them.
  setInsertionPoint(scratch);
  auto step = tile::StepOp::create(*this, ValueRange(results).getTypes(), name);
  step.getBody().takeBody(scratch.getBody());
  scratch.erase();
  setInsertionPointAfter(step);
  return step.getResults();
}
