// tile.reduce_waves: numbers that waves combine through LDS.
//
// Every lane stores its numbers where the same lane of other waves finds them, so that no lane reads
// another's and no bank is asked for twice. All waves read all in the same order and get the same
// bits. A place of its own for each op saves a barrier behind the reads, but in loops.
#include "Combiner.h"

#include "Tile/IR/FragmentAccess.h"
#include "Tile/IR/RegionOps.h"
#include "Tile/IR/WaveExchange.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kNumberBytes = 4, kRegisterBytes = kWaveLanes * kNumberBytes;

void hocket::lowering::meetThroughLds(Emitter &emit) {
  LLVM::FenceOp::create(emit, LLVM::AtomicOrdering::release, "workgroup");
  ROCDL::SBarrierOp::create(emit);
  LLVM::FenceOp::create(emit, LLVM::AtomicOrdering::acquire, "workgroup");
}

/// The numbers of a lane, one by one.
static SmallVector<Value> numbersOf(Emitter &emit, ValueRange pieces) {
  SmallVector<Value> numbers;
  for (Value piece : pieces) {
    auto vector = dyn_cast<VectorType>(piece.getType());
    if (!vector)
      numbers.push_back(piece);
    else
      for (int64_t i = 0; i != vector.getNumElements(); ++i)
        numbers.push_back(emit.element(piece, i));
  }
  return numbers;
}

/// `numbers` in pieces like `pieces`.
static SmallVector<Value> piecesOf(Emitter &emit, ArrayRef<Value> numbers, ValueRange pieces) {
  SmallVector<Value> result;
  for (Value piece : pieces) {
    auto vector = dyn_cast<VectorType>(piece.getType());
    int64_t count = vector ? vector.getNumElements() : 1;
    result.push_back(vector ? vector::FromElementsOp::create(emit, vector, numbers.take_front(count))
                                  .getResult()
                            : numbers.front());
    numbers = numbers.drop_front(count);
  }
  return result;
}

namespace {
struct ReduceWavesPattern : TilePattern<tile::ReduceWavesOp> {
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tile::ReduceWavesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    const KernelValues &kernel = state.of(op);
    tile::WavePart part = op.getAlong() ? tile::wavePartOf(op.getAlong())
                                        : tile::WavePart{static_cast<unsigned>(kernel.waves), 1};
    SmallVector<Value> own = numbersOf(emit, adaptor.getSource());
    const int64_t atOnce = op.getNumbersAtOnce(), waveBytes = atOnce * kRegisterBytes;
    Value lane = emit.mul(kernel.lane, emit.i32(kNumberBytes));
    Value scratch = emit.offset(emit.offset(kernel.lds, emit.i32(*op.getLdsOffset())), lane);
    if (op->getParentOfType<LoopLikeOpInterface>())
      meetThroughLds(emit); // the reads of the turn before
    Value place = emit.offset(scratch, emit.mul(kernel.wave, emit.i32(waveBytes)));
    Value first = emit.offset(scratch, emit.mul(firstWave(emit, kernel, part), emit.i32(waveBytes)));
    Combiner combine(emit, op.getKind(), tile::elementTypeOf(op.getSource().getType()));
    SmallVector<Value> results;
    for (ArrayRef<Value> left = own; !left.empty(); left = left.drop_front(std::min<size_t>(atOnce, left.size()))) {
      if (!results.empty())
        meetThroughLds(emit); // the reads of those before
      exchange(emit, left.take_front(atOnce), place, first, part, waveBytes, combine, results);
    }
    if (isa<FloatType, IntegerType>(op.getSource().getType()))
      results.front() = emit.uniform(results.front());
    rewriter.replaceOpWithMultiple(
        op, ArrayRef<ValueRange>{piecesOf(emit, results, adaptor.getSource())});
    return success();
  }

  /// Stores `numbers`, and adds to `results` what they are of all waves.
  static void exchange(Emitter &emit, ArrayRef<Value> numbers, Value place, Value first, tile::WavePart part,
                       int64_t waveBytes, Combiner &combine, SmallVector<Value> &results) {
    for (auto [i, number] : llvm::enumerate(numbers))
      LLVM::StoreOp::create(emit, number, emit.offset(place, emit.i32(i * kRegisterBytes)), kNumberBytes);
    meetThroughLds(emit);
    for (auto [i, number] : llvm::enumerate(numbers)) {
      Value total;
      for (unsigned peer = 0; peer != part.count; ++peer) {
        int64_t offset = peer * part.stride * waveBytes + static_cast<int64_t>(i) * kRegisterBytes;
        Value other = LLVM::LoadOp::create(emit, number.getType(), emit.offset(first, emit.i32(offset)), kNumberBytes);
        total = total ? combine(total, other) : other;
      }
      results.push_back(combine.finish(total, number.getType()));
    }
  }

  /// The first of the waves that this one combines with.
  static Value firstWave(Emitter &emit, const KernelValues &kernel, tile::WavePart part) {
    Value place = arith::DivUIOp::create(emit, kernel.wave, emit.i32(part.stride));
    place = arith::RemUIOp::create(emit, place, emit.i32(part.count));
    return arith::SubIOp::create(emit, kernel.wave, emit.mul(place, emit.i32(part.stride)));
  }
};
} // namespace

void hocket::lowering::populateReduceWavesPatterns(const TypeConverter &converter,
                                                   RewritePatternSet &patterns,
                                                   LoweringState &state) {
  patterns.add<ReduceWavesPattern>(converter, patterns.getContext(), state);
}
