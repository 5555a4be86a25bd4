// For which queries a number that rises or falls with them is at least, or at most, something: chunks, `query / 1024`,
// and the lesser or greater of two numbers are no sums, so that a query is not eliminated from them as from inequalities.
#pragma once

#include "MaskTerms.h"

namespace hocket {

/// Numbers of any size are cut to this in size; what positions can add up to is smaller.
inline constexpr int64_t kBeyond = int64_t(1) << 30;

/// The queries from `bound` on, or those before it.
struct QueriesBeyond {
  mlir::Value bound;
  bool isFirst = true;
};

class MonotoneInverse {
public:
  /// Of numbers of `program`, for a workgroup that stands at `place`.
  MonotoneInverse(ExpansionBuilder &builder, ModificationProgram &program, const ScorePlace &place)
      : builder(builder), program(program), place(place) {}

  /// The queries for which `number`, of which `rangeOf` knows the range, is at least (`isLeast`) or at most `limit`, an
  /// i32 of any size; all where `kBeyond` bounds them. Nothing if that is no such half of them, or numbers may wrap.
  std::optional<QueriesBeyond> of(mlir::Value number, mlir::Value limit, bool isLeast);

private:
  std::optional<QueriesBeyond> ofSum(mlir::Operation *op, mlir::Value limit, bool isLeast);
  std::optional<QueriesBeyond> ofChoice(mlir::Operation *op, mlir::Value limit, bool isLeast);
  std::optional<QueriesBeyond> ofQuotient(mlir::Operation *op, int64_t divisor, mlir::Value limit, bool isLeast);
  std::optional<QueriesBeyond> ofProduct(mlir::Operation *op, mlir::Value limit, bool isLeast);
  /// The side of `op` that differs from query to query, if only one does.
  std::optional<unsigned> sideOfQuery(mlir::Operation *op) const;
  mlir::Value sum(mlir::Value a, mlir::Value b);

  ExpansionBuilder &builder;
  ModificationProgram &program;
  const ScorePlace &place;
};

} // namespace hocket
