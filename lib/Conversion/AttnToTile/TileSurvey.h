// What a kernel would do with each tile of keys, without one: the code that an expansion emits for masks, evaluated.
#pragma once

#include "VisitedTiles.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace hocket {

class TileSurvey {
public:
  struct Shape {
    int64_t rows = 0, kvTile = 0; ///< queries of a workgroup, keys of a tile
  };
  struct Workgroup {
    int64_t batch = 0, head = 0, row = 0; ///< `row` is the first query
  };

  /// Of the masks (`attn.mask_mod`) of `module`, which gets a kernel that is not one; `isCausal`: and of `causal`. Null
  /// with a diagnostic where a mask cannot be expanded.
  static std::unique_ptr<TileSurvey> create(mlir::ModuleOp module, bool isCausal, Shape shape);

  /// The numbers that masks take of the problem, by name.
  llvm::SmallVector<llvm::StringRef> numbers() const;
  /// Whether what masks say differs from batch to batch, or from head to head.
  bool dependsOnHeads() const;
  /// The problem; nothing is known before. `numbers` are those of `numbers()`, in that order.
  void set(int64_t seqQ, int64_t seqKv, llvm::ArrayRef<double> numbers);

  /// What kept `visited` or `isCut` from an answer: empty if that was what tensors hold, else the name of an op that is
  /// not evaluated here.
  llvm::StringRef obstacle() const { return unknownOp; }
  /// The tiles that `workgroup` visits, in order. Nothing if that is not known (`obstacle`).
  std::optional<llvm::SmallVector<int64_t>> visited(const Workgroup &workgroup);
  /// Whether the wave of the last workgroup that was asked for that has the 32 queries from `row` on masks `tile`: by
  /// `causal` and, if `countsMasks`, by any `attn.mask_mod`.
  std::optional<bool> isCut(int64_t row, int64_t tile, bool countsMasks = true);

private:
  using Numbers = llvm::DenseMap<mlir::Value, int64_t>;
  TileSurvey(Shape shape, mlir::MLIRContext *context) : shape(shape), frame(context) {}
  bool build(mlir::ModuleOp module, bool isCausal);
  void emit(mlir::Location loc);
  void evaluate(mlir::Operation *from, mlir::Operation *to);
  bool evaluate(mlir::Operation &op);
  bool evaluateByFolding(mlir::Operation &op);
  std::optional<int64_t> find(mlir::Value value) const;

  Shape shape;
  KernelFrame frame;
  llvm::SmallVector<std::unique_ptr<ModificationProgram>> programs;
  size_t masks = 0; ///< how many of `programs`, the first, are `attn.mask_mod`; the end of keys follows them
  llvm::SmallVector<std::string> names;
  tile::KernelOp kernel;
  VisitedTiles tiles;
  mlir::Value cut, cutByOwn; ///< by any mask, and by those that are no `attn.mask_mod`
  mlir::Operation *ofWave = nullptr, *ofTile = nullptr; ///< where the parts of the code begin
  Numbers known; ///< integers; of f32 the bits
  std::string unknownOp;
};

} // namespace hocket
