// Tiles that pass through registers: loads of parts, and stores into LDS.
//
// The layout library says which piece each lane loads and where it stores (LdsStaging.h). Rows and
// columns that do not exist are out of the descriptor's bounds, as everywhere (RowBounds.h). LLVM
// counts the loads and waits for them in front of the stores.
#include "Lowering.h"
#include "Pages.h"
#include "TileSource.h"

#include "Layout/LdsStaging.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr unsigned kStagedRegisterBytes = 4;

namespace {
/// A ring's layout and how its tiles get there.
struct StagedRing {
  LdsTileLayout layout;
  LdsStagingPlan plan;
};
} // namespace

static FailureOr<StagedRing> stagedRing(Operation *op, tile::RingOp ring,
                                        const KernelValues &kernel) {
  Result<LdsTileLayout> layout = tile::toLdsTileLayout(ring);
  if (!layout)
    return layoutError(op, layout.error());
  Result<LdsStagingPlan> plan = planLdsStaging(*layout, kernel.waves, kernel.arch->lds.access);
  if (!plan)
    return layoutError(op, plan.error());
  return StagedRing{*std::move(layout), *std::move(plan)};
}

/// `words` consecutive registers as one value: i32, or a vector of them.
static Value joinWords(Emitter &emit, ValueRange words) {
  if (words.size() == 1)
    return words.front();
  auto type = VectorType::get({static_cast<int64_t>(words.size())}, emit.getI32Type());
  return vector::FromElementsOp::create(emit, type, words);
}

namespace {
struct LoadPartPattern : TilePattern<tile::LoadPartOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadPartOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto ringOp = op.getRing().getDefiningOp<tile::RingOp>();
    const KernelValues &kernel = state.of(op);
    FailureOr<StagedRing> staged = stagedRing(op, ringOp, kernel);
    if (failed(staged))
      return failure();
    const LdsStagingPlan &plan = staged->plan;
    Emitter emit(op.getLoc(), rewriter);
    RingValues ring(adaptor.getRing());
    auto [resource, stride, bounds] =
        sourceTile(emit, op.getRing(), ring, adaptor.getTile().front(), fromOf(adaptor));
    std::optional<PagedTile> paged;
    if (op.getPages()) {
      paged.emplace(emit, kernel, ringOp, ring, tileNumberOf(adaptor), adaptor.getPages());
      resource = poolResource(emit, ringOp, ring);
    }
    auto coordinateOf = [&](std::string_view dim) -> Value {
      Value lane = emit.linear(plan.source, dims::Lane, dim, kernel.lane);
      Value wave = emit.linear(plan.source, dims::Wave, dim, kernel.wave);
      return arith::XOrIOp::create(emit, lane, wave);
    };
    Value laneByte = coordinateOf(dims::Byte), row = coordinateOf(dims::Row);
    Value laneOffset = emit.add(emit.mul(row, stride), laneByte);
    SmallVector<Value> rowOffsets;
    for (unsigned i = 0; paged && i != plan.loads; ++i) {
      Coordinates step = plan.source.apply({{std::string(dims::Register), i}});
      rowOffsets.push_back(paged->offset(emit, row, coordinate(step, dims::Row)));
    }
    uint64_t reach =
        plan.source.reach(dims::Lane, dims::Byte) | plan.source.reach(dims::Wave, dims::Byte);

    PagePlaces inPage(ringOp);
    SmallVector<Value> registers;
    for (unsigned panel = 0; panel != staged->layout.panels(); ++panel)
      for (unsigned i = 0; i != plan.loads; ++i) {
        Coordinates step = plan.source.apply({{std::string(dims::Register), i}});
        int64_t byte = coordinate(step, dims::Byte) + panel * staged->layout.panelBytes, place = inPage.ofByte(byte);
        Value rowStep = paged ? emit.i32(0) : emit.mul(stride, emit.i32(coordinate(step, dims::Row)));
        if (paged)
          laneOffset = emit.add(rowOffsets[i], inPage.ofByte(emit, laneByte));
        Value offset = bounds.within(emit, laneOffset, laneByte, reach, byte);
        load(emit, plan.loadBytes, resource, emit.add(offset, emit.i32(place)), rowStep, registers);
      }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{registers});
    return success();
  }

  static void load(Emitter &emit, unsigned bytes, Value resource, Value offset, Value rowStep,
                   SmallVector<Value> &registers) {
    int64_t words = bytes / kStagedRegisterBytes;
    Type type = emit.getI32Type();
    if (words > 1)
      type = VectorType::get({words}, type);
    Value loaded = ROCDL::RawPtrBufferLoadOp::create(
        emit, type, resource, offset, rowStep, emit.i32(0), ArrayAttr(), ArrayAttr(), ArrayAttr());
    for (int64_t word = 0; word != words; ++word)
      registers.push_back(words == 1 ? loaded : emit.element(loaded, word));
  }
};

struct PutPattern : TilePattern<tile::PutOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::PutOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<tile::PartType>(op.getPart().getType()))
      return failure();
    const KernelValues &kernel = state.of(op);
    FailureOr<StagedRing> staged =
        stagedRing(op, op.getRing().getDefiningOp<tile::RingOp>(), kernel);
    if (failed(staged))
      return failure();
    const LdsStagingPlan &plan = staged->plan;
    Emitter emit(op.getLoc(), rewriter);
    RingValues ring(adaptor.getRing());
    Value slot = emit.mul(adaptor.getSlot().front(), emit.i32(staged->layout.bytes()));
    SmallVector<Value> bases = basesOf(emit, kernel, *staged, emit.offset(ring.lds, slot));
    ValueRange registers = adaptor.getPart();
    size_t perPanel = plan.laneBytes() / kStagedRegisterBytes;
    for (unsigned panel = 0; panel != staged->layout.panels(); ++panel) {
      SmallVector<Value> values =
          storedValues(emit, plan, registers.slice(panel * perPanel, perPanel));
      for (auto [value, store] : llvm::zip_equal(values, plan.addresses.stores)) {
        Value address = emit.offset(
            bases[store.variant], emit.i32(store.immediate + panel * staged->layout.panelStride()));
        LLVM::StoreOp::create(emit, value, address, plan.storeBytes);
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// A lane's base address for each variant.
  static SmallVector<Value> basesOf(Emitter &emit, const KernelValues &kernel,
                                    const StagedRing &staged, Value slot) {
    const LdsStorePlan &addresses = staged.plan.addresses;
    Value lane = emit.linear(addresses.lanePart, dims::Lane, dims::Offset, kernel.lane);
    Value wave = emit.linear(addresses.lanePart, dims::Wave, dims::Offset, kernel.wave);
    Value place = arith::XOrIOp::create(emit, lane, wave);
    SmallVector<Value> bases;
    for (uint32_t variant : addresses.variants) {
      Value offset = arith::XOrIOp::create(emit, place, emit.i32(variant));
      if (staged.layout.padding != 0) {
        Value chunk = arith::DivUIOp::create(emit, offset, emit.i32(staged.layout.chunkBytes));
        offset = emit.add(offset, emit.mul(chunk, emit.i32(staged.layout.padding)));
      }
      bases.push_back(emit.offset(slot, offset));
    }
    return bases;
  }

  /// What is stored, store by store, from the registers of one panel.
  static SmallVector<Value> storedValues(Emitter &emit, const LdsStagingPlan &plan,
                                         ValueRange registers) {
    size_t perLoad = plan.loadBytes / kStagedRegisterBytes;
    SmallVector<Value> values;
    if (plan.gathered == 1) {
      for (unsigned load = 0; load != plan.loads; ++load)
        values.push_back(joinWords(emit, registers.slice(load * perLoad, perLoad)));
      return values;
    }
    for (unsigned group = 0; group != plan.loads / plan.gathered; ++group)
      for (unsigned column = 0; column != plan.storesOfGroup(); ++column) {
        SmallVector<Value> words;
        for (unsigned row = 0; row != plan.gathered; row += 2) {
          size_t load = group * plan.gathered + row;
          words.push_back(interleave(emit, registers[load * perLoad + column / 2],
                                     registers[(load + 1) * perLoad + column / 2], column % 2));
        }
        values.push_back(joinWords(emit, words));
      }
    return values;
  }

  /// The lower (or upper) halves of two registers, the second's on top.
  static Value interleave(Emitter &emit, Value first, Value second, bool upper) {
    return emit.intrinsic("llvm.amdgcn.perm", emit.getI32Type(),
                          ValueRange{second, first, emit.i32(upper ? 0x07060302 : 0x05040100)});
  }
};
} // namespace

void hocket::lowering::populateStagingPatterns(const TypeConverter &converter,
                                               RewritePatternSet &patterns, LoweringState &state) {
  patterns.add<LoadPartPattern, PutPattern>(converter, patterns.getContext(), state);
}
