// Small helpers that write the tile ops of an expansion.
#include "ExpansionBuilder.h"

using namespace mlir;
using namespace hocket;

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
