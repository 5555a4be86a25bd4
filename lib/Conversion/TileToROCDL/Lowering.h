// What the files of convert-tile-to-rocdl share: the type conversion, a kernel's common values, and
// small helpers that emit code.
//
// Types convert one to many. A view becomes its pointer, its strides (i64, elements) and its
// extents (i32); a ring the pointer to its first row, the row stride in bytes (i64), the number of
// rows from there (i32), the ring's first LDS byte (ptr<3>), the bytes of a row that exist (i32, as
// unsigned), and the bytes from page to page and how many pages there are (i32); a fragment one vector for each of its pieces, row and column values one
// vector or scalar for each piece along that dimension (Tile/IR/FragmentMap.h); a part its 32-bit
// registers, by panel and load.
//
// Operands are laid out in 16 bytes a lane on every chip (`tile::operandShape`). Instructions that are less deep take an
// operand in pieces, deeper ones several operands: which keys they sum does not matter as long as both operands agree.
#pragma once

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/LdsLayout.h"
#include "Tile/IR/MatrixVerify.h"
#include "Tile/IR/Tile.h"
#include "Conversion/ClusterMarks.h"
#include "IR/ElementTypes.h"
#include "Layout/LdsDma.h"
#include "Layout/LinearLayout.h"
#include "Layout/Mfma.h"
#include "Target/Arch/ArchInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace hocket::lowering {

/// Address spaces of AMDGPU pointers.
enum AddressSpace : unsigned { kGlobal = 1, kLds = 3, kConstant = 4, kBufferResource = 8 };

using tile::kBlock;
/// Of a lane, in the accumulator of a block.
inline constexpr int64_t kAccRegisters = kBlock * kBlock / kWaveLanes;

/// Values that a kernel computes once, at its entry.
struct KernelValues {
  mlir::Value lane; ///< i32, from 0
  mlir::Value wave; ///< i32, in a scalar register
  mlir::Value lds;  ///< ptr<3>, the first byte of the kernel's LDS
  int64_t waves = 0;
  const ArchInfo *arch = nullptr;
  /// Waves exchange what they compute through LDS: barriers order stores and loads that LLVM knows.
  bool exchanges = false;
  bool turnScalars = false; ///< `kTurnScalars`
  /// Of a persistent kernel (WorkItems.cpp): workgroups for each compute unit, and its last arguments: the grid of its
  /// items (x, y), and how many they are (i32).
  int64_t persistent = 0;
  std::array<mlir::Value, 3> items;
  /// The pipelines of its items join: a turn is as full of registers everywhere as its loop over tiles is.
  bool itemsJoin = false;
};

class Emitter;

/// What patterns look up: the kernel that an op stands in, and the alias scopes that keep LLVM from
/// draining LDS DMA in front of unrelated LDS reads.
struct LoweringState {
  llvm::DenseMap<mlir::Operation *, KernelValues> kernels; ///< by llvm.func
  mlir::ArrayAttr dmaScope, readScope;
  /// Loads of numbers that the scalar unit may do: nothing in the kernel writes what they load.
  llvm::DenseSet<mlir::Operation *> constantLoads;
  /// What a ring was made of (a view and indices, as they were), where, and the values of the first of its kind there.
  struct KnownSource {
    mlir::Block *block;
    llvm::SmallVector<mlir::Value> made, values;
  };
  llvm::SmallVector<KnownSource> sources;
  int64_t countedLoads = 0; ///< that `Emitter::distinct` has told apart

  const KernelValues &of(mlir::Operation *op) const {
    return kernels.find(op->getParentOfType<mlir::LLVM::LLVMFuncOp>())->second;
  }
  /// The place in the grid (i32, x, y, z) of this workgroup, or, of a persistent kernel, of its item in a `turn` (none
  /// or one). `op` stands in the kernel.
  std::array<mlir::Value, 3> placeOf(mlir::Operation *op, mlir::ValueRange turn, Emitter &emit) const;
};

/// A pattern that can look up the kernel it works in.
template <typename Op> struct TilePattern : mlir::OpConversionPattern<Op> {
  TilePattern(const mlir::TypeConverter &converter, mlir::MLIRContext *context,
              LoweringState &state)
      : mlir::OpConversionPattern<Op>(converter, context), state(state) {}
  LoweringState &state;
};

void populateTypeConversions(mlir::TypeConverter &converter);
void populateKernelPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populateMemoryPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populateFetchPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           LoweringState &state);
void populateStagingPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, LoweringState &state);
void populateFragmentPatterns(const mlir::TypeConverter &converter,
                              mlir::RewritePatternSet &patterns, LoweringState &state);
void populateProductPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, LoweringState &state);
void populateMaskPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          LoweringState &state);
void populateSoftmaxPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, LoweringState &state);
void populateGridPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          LoweringState &state);
void populateMatrixPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);

void populateAccessPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populatePutFragmentPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns, LoweringState &state);
void populateNumberPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populateCombinePatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns, LoweringState &state);

void populateMapPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                         LoweringState &state);
void populatePagePatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                          LoweringState &state);
void populateGatherPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populateReducePatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            LoweringState &state);
void populateReduceWavesPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns, LoweringState &state);
void populateRandomBytesPatterns(const mlir::TypeConverter &converter,
                                 mlir::RewritePatternSet &patterns, LoweringState &state);
void populateConvertLayoutPatterns(const mlir::TypeConverter &converter,
                                   mlir::RewritePatternSet &patterns, LoweringState &state);

void populateStashPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                           LoweringState &state);

/// Steps along the depth of an operand, which run fastest among its vectors.
inline int64_t depthSteps(tile::FragType frag) { return frag.getDepth() / frag.getDepthStep(); }

/// What lanes hold for elements of `type`: the same, or, for floats of 8 bits and less, bytes (SmallFloats.h).
inline mlir::Type storedType(mlir::Type type) {
  bool isSmall = tile::isSmallFloat(type) || tile::isPacked(type) || tile::isBlockScale(type);
  return isSmall ? mlir::Type(mlir::IntegerType::get(type.getContext(), 8)) : type;
}

/// `elements` of `type` in a lane; those of which a byte has several as their bytes.
inline mlir::VectorType storedVector(int64_t elements, mlir::Type type) {
  mlir::Type stored = storedType(type);
  return mlir::VectorType::get({elements * bitsOf(type) / bitsOf(stored)}, stored);
}

/// One operand of `frag` in a lane.
inline mlir::VectorType operandType(tile::FragType frag) {
  return storedVector(frag.getOperandElements(), frag.getElementType());
}

/// A failed layout computation is the op's error, in the layout library's words.
mlir::LogicalResult layoutError(mlir::Operation *op, const Error &error);

/// A view's converted values, by name.
class ViewValues {
public:
  ViewValues(tile::ViewType type, mlir::ValueRange values) : type(type), values(values) {}
  mlir::Value pointer() const { return values[0]; }
  /// Elements from one index of `dimension` to the next; not the last dimension.
  mlir::Value stride(int64_t dimension) const { return values[1 + dimension]; }
  /// The extent of a dimension: an argument of the kernel, or a constant.
  mlir::Value extent(Emitter &emit, int64_t dimension) const;
  /// Which of the values is the extent of `dimension`, one that is not constant: extents follow the
  /// pointer and the strides.
  static int64_t extentIndex(tile::ViewType type, int64_t dimension) {
    return type.getRank() +
           llvm::count_if(type.getShape().take_front(dimension), mlir::ShapedType::isDynamic);
  }
  int64_t elementBytes() const { return bytesOf(type.getElementType()); }

private:
  tile::ViewType type;
  mlir::ValueRange values;
};

/// A ring's converted values, by name.
struct RingValues {
  mlir::Value pointer, rowStride, rows, lds, rowBytes, pageStride, pageCount;
  static constexpr size_t kRows = 2, kLds = 3;
  explicit RingValues(mlir::ValueRange values)
      : pointer(values[0]), rowStride(values[1]), rows(values[2]), lds(values[3]),
        rowBytes(values[4]), pageStride(values[5]), pageCount(values[6]) {}
};

/// Emits ops at one place and location.
class Emitter : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value f32(float value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// `condition`, which is rarely true: what happens then is laid out apart, and code passes by without a jump.
  mlir::Value rare(mlir::Value condition);
  mlir::Value toI64(mlir::Value value); ///< sign-extends
  mlir::Value toI32(mlir::Value value); ///< truncates
  /// `value`, known to be the same in all lanes, in a scalar register.
  mlir::Value uniform(mlir::Value value);
  /// What `layout` maps `value` of dimension `in` to in dimension `out` (i32).
  mlir::Value linear(const LinearLayout &layout, std::string_view in, std::string_view out,
                     mlir::Value value);
  /// `pointer` + `bytes` (i32 or i64).
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes);
  /// A raw buffer descriptor of `bytes` (i64) bytes from `pointer`.
  mlir::Value bufferResource(mlir::Value pointer, mlir::Value bytes);
  /// The two values that a lane and its partner 32 lanes away hold, in the same order in both.
  std::pair<mlir::Value, mlir::Value> bothHalves(const KernelValues &kernel, mlir::Value value);
  /// The result (i32 or f32) of an LLVM intrinsic without an op of its own.
  mlir::Value intrinsic(mlir::StringRef name, mlir::Type type, mlir::ValueRange operands);
  void intrinsicWithoutResult(mlir::StringRef name, mlir::ValueRange operands);
  /// An integer of 64 bits of two of 32.
  mlir::Value joinWords(mlir::Value low, mlir::Value high);
  /// `value`, of which LLVM does not know that it is the same each time; in a register of class `kind`.
  mlir::Value hidden(mlir::Value value, mlir::StringRef kind);
  /// `offset` (i32) of counted load number `number` of a module: LLVM takes no two such loads for one, and makes no wider
  /// one of two.
  mlir::Value distinct(mlir::Value offset, int64_t number);
  mlir::Value element(mlir::Value vector, int64_t index);
  mlir::Value splat(mlir::Value scalar, mlir::VectorType type);
};

inline mlir::Value compare(Emitter &emit, mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
  return mlir::arith::CmpIOp::create(emit, predicate, a, b);
}
/// `value` (fewer bits, unsigned) as i32.
inline mlir::Value zeroExtended32(Emitter &emit, mlir::Value value) {
  return mlir::arith::ExtUIOp::create(emit, emit.getI32Type(), value);
}
/// `value` (i32, unsigned) as i64.
inline mlir::Value zeroExtended(Emitter &emit, mlir::Value value) {
  return mlir::arith::ExtUIOp::create(emit, emit.getI64Type(), value);
}

/// All elements of a fragment's converted vectors, in register order.
llvm::SmallVector<mlir::Value> elements(Emitter &emit, mlir::ValueRange vectors);

/// Bytes from a view's row of `row` (i32) to the end of the last of at most `count` rows that
/// exist, each `rowBytes` long, or 0 if none does. `rowStride` is in bytes (i64).
mlir::Value bytesOfRows(Emitter &emit, mlir::Value extent, mlir::Value row, int64_t count,
                        mlir::Value rowStride, int64_t rowBytes);
/// Where element [index..] of a view lies; `indices` (i32) run over the leading dimensions.
mlir::Value elementAddress(Emitter &emit, const ViewValues &view,
                           mlir::ArrayRef<mlir::Value> indices);

/// All waves of the workgroup meet, and what each has done in LDS is done.
void meetThroughLds(Emitter &emit);

/// The attribute of a kernel whose arguments that are used only behind its last loop are read there.
inline constexpr llvm::StringLiteral kLateArguments = "tile.late_arguments";
/// And of which those that a loop around its loops uses in each turn, beside them, are read in the turn.
inline constexpr llvm::StringLiteral kTurnArguments = "tile.turn_arguments";
/// And beside them whatever such a loop and those in it use, and what of dropout is the same in all turns: scalars that
/// would else spill.
inline constexpr llvm::StringLiteral kTurnScalars = "tile.turn_scalars";
/// Which arguments loops around others read in each of their turns: none, what is used there alone, or all.
enum class TurnArguments { None, Own, All };
/// Does that to `func`, of one block, whose arguments are the argument block.
void readArgumentsLate(mlir::LLVM::LLVMFuncOp func, TurnArguments inTurns);
/// Does that to what the turns of `loop`, which is all of `func`, use: in each turn, and behind the last loop in it.
/// With a `lane`, from a register that has a word of the argument block in each lane, if they are not too many.
void readArgumentsInTurns(mlir::LLVM::LLVMFuncOp func, mlir::scf::ForOp loop, mlir::Value lane = mlir::Value());
/// Does that to what `inside` uses, an `scf.if` whose first region uses it.
void readArgumentsIn(mlir::LLVM::LLVMFuncOp func, mlir::scf::IfOp inside);
/// Asks for `arguments` in one round, here, if they are not too many: LLVM would place some behind waits for others.
void loadAtOnce(Emitter &emit, mlir::ArrayRef<mlir::Value> arguments);

void populateWorkItemPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                              LoweringState &state);
/// Of a loop over items: what follows from the turn by arithmetic, found for many turns at once (ItemTables.cpp).
/// Returns the loop, which may be a new one.
mlir::scf::ForOp tabulateItems(mlir::LLVM::LLVMFuncOp func, const KernelValues &kernel, mlir::scf::ForOp loop);
/// In a persistent kernel whose loop over items is there: lets each turn compute what follows from arguments and lanes.
void finishWorkItems(mlir::LLVM::LLVMFuncOp func, const KernelValues &values);

/// An offset beyond any descriptor's size, and far enough from 2^32 that a tile can be added.
inline constexpr int64_t kOutOfBounds = int64_t(1) << 31;

} // namespace hocket::lowering
