// Small helpers that write the tile ops of an expansion.
#pragma once

#include "Tile/IR/Tile.h"
#include "Grid/WaveShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket {

class ExpansionBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  mlir::Value constant(float value) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  mlir::Value fill(mlir::Type type, float value) {
    return tile::FillOp::create(*this, type, getF32FloatAttr(value));
  }
  tile::FragType frag(int64_t rows, int64_t columns, mlir::Type element, tile::FragLayout layout, int64_t run = 0) {
    int64_t shape[] = {rows, columns};
    return tile::FragType::get(getContext(), shape, element, tile::FragType::defaultLayout(layout, shape, element, run));
  }
  /// One f32 for each row of a wave.
  tile::RowsType rows() { return tile::RowsType::get(getContext(), kWaveRows, getF32Type()); }

  /// A function of the elements of `inputs`: values of type `result`.
  mlir::Value map(mlir::Type result, mlir::ValueRange inputs,
                  llvm::function_ref<mlir::Value(mlir::ValueRange)> element);
  /// Likewise, of what depends on its place, too: `element` also gets its row and column, counted from `firstRow` and
  /// `firstColumn` where these are given.
  using PlacedElement = llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::Value row, mlir::Value column)>;
  mlir::Value mapPlaced(mlir::Type result, mlir::ValueRange inputs, PlacedElement element, mlir::Value firstRow = {},
                        mlir::Value firstColumn = {});

  /// `sum`, which each turn of a loop from `begin` to `end` by `step` makes anew of its number and what the turn before
  /// left.
  mlir::Value accumulate(mlir::Value begin, mlir::Value end, int64_t step, mlir::Value sum,
                         llvm::function_ref<mlir::Value(mlir::Value number, mlir::Value sum)> body);

  /// Appends a step that runs `body`; the values that `body` returns become the step's results.
  mlir::ValueRange step(llvm::StringRef name,
                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);
};

} // namespace hocket
