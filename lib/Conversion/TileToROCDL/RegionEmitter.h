// Code for regions that compute one element: for several elements at once.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// Emits a region's ops (Tile/IR/RegionOps.h) for `count` elements: a value that is the same for
/// all of them is a scalar, others are vectors of `count`. A scalar is computed once, and spread
/// where it meets a vector.
class RegionEmitter {
public:
  RegionEmitter(Emitter &emit, const ArchInfo &arch, int64_t count) : emit(emit), arch(arch), count(count) {}

  /// What a value of the region is: a scalar or a vector of `count`.
  void bind(mlir::Value inRegion, mlir::Value value) { values[inRegion] = value; }
  mlir::Value valueOf(mlir::Value inRegion) const { return values.lookup(inRegion); }
  /// All ops but the terminator and those whose results are bound.
  void emitOps(mlir::Block &block);
  /// `value` as a vector of `count`.
  mlir::Value spread(mlir::Value value);

private:
  mlir::Value emitOp(mlir::Operation *op);
  /// The same op on operands that are scalars or vectors.
  mlir::Value repeat(mlir::Operation *op, mlir::Type element, mlir::ValueRange operands);
  mlir::Value toInteger(mlir::Operation *op, mlir::Value x, bool isSigned);
  mlir::Value convert(mlir::Value x, mlir::Type element);
  mlir::Value convertSmall(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Type like(mlir::Value value, mlir::Type element);

  Emitter &emit;
  const ArchInfo &arch;
  int64_t count;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace hocket::lowering
