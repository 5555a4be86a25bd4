// How two numbers become one in a reduction.
#pragma once

#include "Lowering.h"

namespace hocket::lowering {

/// Combines numbers, or vectors of them, in f32 or i32.
class Combiner {
public:
  /// Of numbers of `element`.
  Combiner(Emitter &emit, tile::Reduction kind, mlir::Type element)
      : emit(emit), kind(kind), isFloat(mlir::isa<mlir::FloatType>(element)) {}

  /// What is combined: f32 or i32.
  mlir::Type type() const { return isFloat ? mlir::Type(emit.getF32Type()) : emit.getI32Type(); }
  mlir::Value operator()(mlir::Value a, mlir::Value b) const;
  /// A number or vector of the source's elements in the type that is combined.
  mlir::Value widen(mlir::Value value) const;
  /// The registers of a piece, combined: one number.
  mlir::Value fold(mlir::Value value) const;
  /// The combined number as one of `element`.
  mlir::Value finish(mlir::Value value, mlir::Type element) const;

private:
  Emitter &emit;
  tile::Reduction kind;
  bool isFloat;
};

} // namespace hocket::lowering
