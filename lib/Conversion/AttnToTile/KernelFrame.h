// The frame of a kernel: what it takes, what its arguments are bound to, and what it asks of a
// problem. Every expansion fills one and then writes the body.
#pragma once

#include "Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace hocket {

/// A tensor of the problem: its name there, its strides and sizes as manifest expressions, and its
/// address, where that is not the name.
struct Tensor {
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef, 3> strides, sizes;
  llvm::StringRef address = {};
};

/// Of each side: row numbers and their sums stay within 32 bits.
inline constexpr int64_t kMaxSequence = int64_t(1) << 30;

class KernelFrame {
public:
  explicit KernelFrame(mlir::MLIRContext *context) : builder(context) {}

  mlir::MLIRContext *context() const { return builder.getContext(); }
  void addTensor(mlir::Type view, Tensor tensor) { tensors.push_back({view, std::move(tensor)}); }
  /// A number; arguments stand in this order, tensors first.
  void addScalar(mlir::Type type, llvm::StringRef binding) { scalars.push_back({type, binding}); }
  /// The type of the argument that is bound to `name`; null if there is none yet.
  mlir::Type typeOf(llvm::StringRef name) const;
  /// What a problem must fulfil: a manifest expression, and what to say where it is not.
  void require(const llvm::Twine &condition, const llvm::Twine &message);
  /// Loads and stores are 16 bytes wide: the strides of `tensor` are multiples of 8 elements.
  void requireWideStrides(llvm::StringRef tensor, mlir::Type element, bool hasBatch = true);
  /// Bytes of device memory that the launch needs, a manifest expression.
  void setWorkspace(llvm::StringRef bytes) { workspace = bytes; }

  /// The kernel, with an empty body at whose start `at` goes on.
  tile::KernelOp create(mlir::ImplicitLocOpBuilder &at, llvm::StringRef name,
                        llvm::StringRef target, int64_t waves);
  /// The argument that is bound to `name`; null if there is none.
  mlir::Value argument(llvm::StringRef name) const { return arguments.lookup(name); }

private:
  void bind(tile::KernelOp kernel, unsigned index, const Tensor &tensor);

  mlir::Builder builder;
  llvm::SmallVector<std::pair<mlir::Type, Tensor>> tensors;
  llvm::SmallVector<std::pair<mlir::Type, llvm::StringRef>> scalars;
  llvm::SmallVector<mlir::Attribute> requirements;
  llvm::StringRef workspace;
  llvm::StringMap<mlir::Value> arguments;
};

} // namespace hocket
