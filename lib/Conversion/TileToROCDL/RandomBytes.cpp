// tile.random_bytes: Philox 4x32 with 7 rounds (Salmon et al., SC 2011), and the places that Composable Kernel's
// dropout gives its bytes (include/ck_tile/ops/fmha/block/block_dropout.hpp in ROCm/composable_kernel).
//
// A lane's 16 bytes are for 16 rows of one column; the lane that needs one reads it from LDS, in the order of the
// wave's own accesses, as tile.convert_layout does.
#include "Access.h"

#include "Tile/IR/FragmentMap.h"
#include "Tile/IR/RandomBytes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int kRounds = 7;
static constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
static constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

namespace {
using Words = std::array<Value, 4>;

class Philox {
public:
  /// `hasXor3`: whether there is an instruction for the exclusive or of three words.
  Philox(Emitter &emit, Value seed, bool hasXor3) : emit(emit), key{low(seed), high(seed)}, hasXor3(hasXor3) {}

  /// Has the keys of rounds added up anew for each `place` (a scalar): fourteen registers, if LLVM takes them out of a
  /// loop.
  void addUpAt(Value place) {
    for (Value &word : key)
      word = LLVM::InlineAsmOp::create(emit, TypeRange(word.getType()), ValueRange{word, place}, /*asm_string=*/"",
                                       /*constraints=*/"=s,0,s", /*has_side_effects=*/false, /*is_align_stack=*/false,
                                       LLVM::TailCallKind::None,
                                       LLVM::AsmDialectAttr::get(emit.getContext(), LLVM::AsmDialect::AD_ATT),
                                       ArrayAttr())
                 .getResult(0);
  }

  Words operator()(Words counter) const {
    std::array<Value, 2> roundKey = key;
    for (int round = 0; round != kRounds; ++round) {
      if (round != 0)
        for (int i : {0, 1})
          roundKey[i] = emit.add(roundKey[i], emit.i32(static_cast<int32_t>(kKeySteps[i])));
      Value a = product(counter[0], kMultipliers[0]), b = product(counter[2], kMultipliers[1]);
      // In the first round, and half of the second, two of the three are the same for all lanes.
      counter = {mix(high(b), counter[1], roundKey[0], round > 1), low(b),
                 mix(high(a), counter[3], roundKey[1], round > 0), low(a)};
    }
    return counter;
  }

  Value low(Value wide) const { return emit.toI32(wide); }
  Value high(Value wide) const {
    return emit.toI32(arith::ShRUIOp::create(emit, wide, emit.i64(32)));
  }

private:
  Value product(Value word, uint32_t by) const {
    Value wide = arith::ExtUIOp::create(emit, emit.getI64Type(), word);
    return emit.mul(wide, emit.i64(by));
  }
  Value mix(Value a, Value b, Value c, bool areOfLanes) const {
    if (hasXor3 && areOfLanes)
      return emit.intrinsic("llvm.amdgcn.bitop3", emit.getI32Type(), {a, b, c, emit.i32(0x96)});
    Value both = arith::XOrIOp::create(emit, a, b);
    return arith::XOrIOp::create(emit, both, c);
  }

  Emitter &emit;
  std::array<Value, 2> key;
  bool hasXor3;
};

/// One op, in one kernel.
class RandomBytes {
public:
  RandomBytes(Emitter &emit, const LoweringState &state, tile::RandomBytesOp op, Value seed, Value offset)
      : emit(emit), state(state), kernel(state.of(op)), map(op.getResult().getType()), philox(emit, seed, kernel.arch->features.bitop3),
        ofQueries(op.getTransposed() ? dims::Col : dims::Row), ofKeys(op.getTransposed() ? dims::Row : dims::Col),
        query(op.getTransposed() ? op.getColumn() : op.getRow()),
        key(op.getTransposed() ? op.getRow() : op.getColumn()) {
    Value laneNumber = arith::ExtUIOp::create(emit, emit.getI64Type(), kernel.lane);
    place = emit.add(offset, laneNumber);
    Value first = emit.offset(kernel.lds, emit.i32(*op.getLdsOffset()));
    Value part = emit.offset(first, emit.mul(kernel.wave, emit.i32(*op.getWaveBytes())));
    stored = emit.offset(part, scaled(kernel.lane, tile::randomByteOfLane(1), 5,
                                      tile::randomByteOfLane(32) - 32 * tile::randomByteOfLane(1)));
    loaded = emit.offset(part, byteOfLane());
    if (kernel.turnScalars)
      philox.addUpAt(emit.add(query, key));
  }

  /// The bytes of the 32 x 32 elements from `origin` on: what each piece there has, to `results`.
  void compute(tile::RowAndColumn origin, SmallVectorImpl<Value> &results) {
    Words counter = {philox.low(place), philox.high(place), blockOf(query, along(ofQueries, origin)),
                     blockOf(key, along(ofKeys, origin))};
    Words words = philox(counter);
    keepOrder();
    auto type = VectorType::get({4}, emit.getI32Type());
    access(LLVM::StoreOp::create(emit, vector::FromElementsOp::create(emit, type, ValueRange(words)), stored,
                                 tile::kRandomBytes));
    keepOrder();
    for (int64_t index = 0; index != map.count(); ++index) {
      tile::RowAndColumn at = map.origin(index);
      at = {at.row - origin.row, at.column - origin.column};
      if (at.row >= 0 && at.row < tile::kRandomBlock && at.column >= 0 && at.column < tile::kRandomBlock)
        results[index] = load(at);
    }
  }

private:
  /// `number` x `by`, and from bit `bit` on `extra` more.
  Value scaled(Value number, int64_t by, int64_t bit, int64_t extra) {
    Value part = arith::ShRUIOp::create(emit, number, emit.i32(bit));
    return emit.add(emit.mul(number, emit.i32(by)), emit.mul(part, emit.i32(extra)));
  }

  int64_t along(std::string_view dimension, tile::RowAndColumn at) const {
    return dimension == dims::Row ? at.row : at.column;
  }

  /// What the lane adds to where its bytes lie: `randomByteOf` of its query and key.
  Value byteOfLane() {
    Value laneQuery = emit.linear(map.piece.map, dims::Lane, ofQueries, kernel.lane);
    Value laneKey = emit.linear(map.piece.map, dims::Lane, ofKeys, kernel.lane);
    Value sum = emit.mul(laneKey, emit.i32(tile::randomByteOf(0, 1)));
    for (auto [bit, mask] : {std::pair(0, 7), std::pair(3, 1), std::pair(4, 1)}) {
      Value moved = arith::ShRUIOp::create(emit, laneQuery, emit.i32(bit));
      Value part = arith::AndIOp::create(emit, moved, emit.i32(mask));
      sum = emit.add(sum, emit.mul(part, emit.i32(tile::randomByteOf(int64_t(1) << bit, 0))));
    }
    return sum;
  }

  Value blockOf(Value first, int64_t further) {
    Value at = emit.add(first, emit.i32(further));
    return arith::ShRUIOp::create(emit, at, emit.i32(5));
  }

  Value load(tile::RowAndColumn at) {
    SmallVector<Value> bytes;
    for (int64_t i = 0; i != map.piece.registers; ++i) {
      int64_t byte = tile::randomByteOf(along(ofQueries, at) + map.piece.ofRegister(i, ofQueries),
                                        along(ofKeys, at) + map.piece.ofRegister(i, ofKeys));
      auto load = LLVM::LoadOp::create(emit, emit.getI8Type(), emit.offset(loaded, emit.i32(byte)), 1);
      access(load);
      bytes.push_back(load);
    }
    auto type = VectorType::get({map.piece.registers}, emit.getI8Type());
    return vector::FromElementsOp::create(emit, type, bytes);
  }

  template <typename Op> void access(Op op) {
    op.setAliasScopesAttr(state.readScope);
    op.setNoaliasScopesAttr(state.dmaScope);
  }
  void keepOrder() { LLVM::FenceOp::create(emit, LLVM::AtomicOrdering::acq_rel, "wavefront"); }

  Emitter &emit;
  const LoweringState &state;
  const KernelValues &kernel;
  tile::FragmentMap map;
  Philox philox;
  std::string_view ofQueries, ofKeys; ///< the dimensions of the fragment
  Value query, key;
  Value place;          ///< i64, of the lane: the first two words of the counter
  Value stored, loaded; ///< where the lane's bytes begin
};

struct RandomBytesPattern : TilePattern<tile::RandomBytesOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::RandomBytesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emitter emit(op.getLoc(), rewriter);
    tile::FragType type = op.getResult().getType();
    RandomBytes bytes(emit, state, op, adaptor.getSeed().front(), adaptor.getOffset().front());
    SmallVector<Value> results(static_cast<size_t>(tile::FragmentMap(type).count()));
    for (int64_t row = 0; row != type.getMemoryRows(); row += tile::kRandomBlock)
      for (int64_t column = 0; column != type.getMemoryColumns(); column += tile::kRandomBlock)
        bytes.compute({row, column}, results);
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{results});
    return success();
  }
};
} // namespace

void hocket::lowering::populateRandomBytesPatterns(const TypeConverter &converter,
                                                   RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<RandomBytesPattern>(converter, patterns.getContext(), state);
}
