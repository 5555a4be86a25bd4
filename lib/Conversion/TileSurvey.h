// What a kernel would do with each tile of keys, without one: the code that an expansion emits for masks, evaluated.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <memory>
#include <optional>

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
  virtual ~TileSurvey();

  /// The numbers that masks take of the problem, by name.
  virtual llvm::SmallVector<llvm::StringRef> numbers() const = 0;
  /// Whether what masks say differs from batch to batch, or from head to head.
  virtual bool dependsOnHeads() const = 0;
  /// The problem; nothing is known before. `numbers` are those of `numbers()`, in that order.
  virtual void set(int64_t seqQ, int64_t seqKv, llvm::ArrayRef<double> numbers) = 0;

  /// What kept `visited` or `isCut` from an answer: empty if that was what tensors hold, else the name of an op that is
  /// not evaluated here.
  virtual llvm::StringRef obstacle() const = 0;
  /// The tiles that `workgroup` visits, in order. Nothing if that is not known (`obstacle`).
  virtual std::optional<llvm::SmallVector<int64_t>> visited(const Workgroup &workgroup) = 0;
  /// Whether the wave of the last workgroup that was asked for that has the 32 queries from `row` on masks `tile`: by
  /// `causal` and, if `countsMasks`, by any `attn.mask_mod`.
  virtual std::optional<bool> isCut(int64_t row, int64_t tile, bool countsMasks = true) = 0;
};

} // namespace hocket
