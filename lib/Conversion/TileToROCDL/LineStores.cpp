// Exchanges between lanes as code (Layout/LaneExchange.h plans them).
//
// Halves of a wave and rows of 16 lanes swap in one instruction of two registers where the chip has
// it; lanes 8 apart by a rotation within the row that writes the lanes concerned alone. Elsewhere a
// lane sends what its partner wants through the crossbar of LDS, which needs no LDS. None of it
// waits for other waves, so a wave stores as soon as it is done.
#include "LineStores.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::lowering;

static constexpr int64_t kStoreWordBytes = 4;
/// Bits of the lane's number whose exchange is cheap, the cheapest first.
static constexpr unsigned kCheapBits[] = {5, 4, 3};
/// DPP (CDNA3 ISA 13.3.9): a rotation of 16 lanes by 8, and the upper or lower 8 of each 16 alone.
static constexpr int64_t kRotateBy8 = 0x128, kUpperBanks = 0xc, kLowerBanks = 0x3;

/// `count` pieces of `columns` columns each as one: which piece it is are further registers.
static Result<LinearLayout> sideBySide(const LinearLayout &piece, int64_t columns, int64_t count) {
  std::vector<InputBases> inputs;
  for (std::string_view name : {dims::Register, dims::Lane}) {
    InputBases &bases = inputs.emplace_back(InputBases{std::string(name), {}});
    for (unsigned bit = 0; bit != piece.inputBits(name); ++bit)
      bases.bases.push_back({{std::string(dims::Row), piece.basis(name, bit, dims::Row)},
                             {std::string(dims::Col), piece.basis(name, bit, dims::Col)}});
  }
  for (int64_t step = 1; step < count; step *= 2)
    inputs.front().bases.push_back(
        {{std::string(dims::Col), static_cast<uint64_t>(step * columns)}});
  return LinearLayout::fromBases(
      inputs, {{std::string(dims::Row), piece.outputBits(dims::Row)},
               {std::string(dims::Col),
                std::max<unsigned>(llvm::Log2_64(columns * count), piece.outputBits(dims::Col))}});
}

LineStores::LineStores(const tile::AccessShape &shape, int64_t elementBytes)
    : lines(shape), elementBytes(elementBytes) {
  if (!shape.isScalar && shape.copyBits() == 0)
    plan(shape);
  perStore = std::min<int64_t>(lines.run(), kWidestAccessBytes / elementBytes);
}

void LineStores::plan(const tile::AccessShape &shape) {
  uint64_t reach =
      shape.map.reach(dims::Lane, dims::Col) | shape.map.reach(dims::Register, dims::Col);
  auto pieceColumns = static_cast<int64_t>(llvm::bit_ceil(reach + 1));
  // So many side by side as fill a line, or as there are.
  int64_t grouped = std::max<int64_t>(kLineBytes / (pieceColumns * elementBytes), 1);
  while (shape.columns / pieceColumns % grouped != 0)
    grouped /= 2;
  Result<LinearLayout> group = sideBySide(shape.map, pieceColumns, grouped);
  if (group)
    exchanges = planLines(*group, elementBytes, kCheapBits);
  if (!exchanges)
    return;
  lines.map = exchanges->layout;
  lines.registers = shape.registers * grouped;
  lines.origins.clear();
  for (const tile::RowAndColumn &origin : shape.origins) {
    if (origin.column % (pieceColumns * grouped) != 0)
      continue;
    lines.origins.push_back(origin);
    auto &of = sources.emplace_back();
    for (int64_t i = 0; i != grouped; ++i) {
      tile::RowAndColumn at{origin.row, origin.column + i * pieceColumns};
      of.push_back(llvm::find(shape.origins, at) - shape.origins.begin());
    }
  }
}

static std::pair<Value, Value> swapBy(Emitter &emit, Operation *swap) {
  Value pair = swap->getResult(0);
  return {LLVM::ExtractValueOp::create(emit, pair, ArrayRef<int64_t>{0}),
          LLVM::ExtractValueOp::create(emit, pair, ArrayRef<int64_t>{1})};
}

/// `own`, and in the lanes of `banks` what the lane 8 away has of `other`.
static Value mergeRotated(Emitter &emit, Value own, Value other, int64_t banks) {
  return ROCDL::DPPUpdateOp::create(emit, own.getType(), own, other, kRotateBy8, /*rowMask=*/0xf,
                                    banks, /*boundCtrl=*/false);
}

/// What the lane whose number differs in bit `bit` has of `value`.
static Value ofPartner(Emitter &emit, Value lane, Value value, unsigned bit) {
  Value partner = arith::XOrIOp::create(emit, lane, emit.i32(int64_t(1) << bit));
  Value address = emit.mul(partner, emit.i32(kStoreWordBytes));
  return emit.intrinsic("llvm.amdgcn.ds.bpermute", emit.getI32Type(), ValueRange{address, value});
}

/// Registers without and with the bit, after lanes that differ in `laneBit` have exchanged.
static std::pair<Value, Value> exchange(Emitter &emit, const KernelValues &kernel, Value without,
                                        Value with, unsigned laneBit) {
  constexpr unsigned ofRows = 4, ofHalves = 5;
  bool swaps = kernel.arch->features.permlaneSwap;
  Type i32 = emit.getI32Type();
  Type pair = LLVM::LLVMStructType::getLiteral(emit.getContext(), {i32, i32});
  if (swaps && laneBit == ofHalves)
    return swapBy(emit, ROCDL::Permlane32SwapOp::create(emit, pair, without, with, false, false));
  if (swaps && laneBit == ofRows)
    return swapBy(emit, ROCDL::Permlane16SwapOp::create(emit, pair, without, with, false, false));
  if (laneBit < ofRows)
    return {mergeRotated(emit, without, with, kUpperBanks),
            mergeRotated(emit, with, without, kLowerBanks)};
  Value bit = arith::AndIOp::create(emit, kernel.lane, emit.i32(int64_t(1) << laneBit));
  Value has = arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, bit, emit.i32(0));
  Value sent = arith::SelectOp::create(emit, has, without, with);
  Value received = ofPartner(emit, kernel.lane, sent, laneBit);
  return {arith::SelectOp::create(emit, has, received, without),
          arith::SelectOp::create(emit, has, with, received)};
}

SmallVector<Value> LineStores::wordsOf(Emitter &emit, Value piece) const {
  int64_t bytes = cast<VectorType>(piece.getType()).getNumElements() * elementBytes;
  auto type = VectorType::get({bytes / kStoreWordBytes}, emit.getI32Type());
  Value asWords = LLVM::BitcastOp::create(emit, type, piece);
  SmallVector<Value> words;
  for (int64_t i = 0; i != type.getNumElements(); ++i)
    words.push_back(emit.element(asWords, i));
  return words;
}

Value LineStores::gatherOne(Emitter &emit, const KernelValues &kernel, ValueRange pieces,
                            size_t index) const {
  if (!exchanges)
    return pieces[index];
  size_t perWord = std::max<int64_t>(kStoreWordBytes / elementBytes, 1);
  SmallVector<Value> words;
  for (int64_t source : sources[index])
    llvm::append_range(words, wordsOf(emit, pieces[source]));
  for (LaneExchange step : exchanges->exchanges) {
    size_t bit = (size_t(1) << step.registerBit) / perWord;
    for (size_t i = 0; i != words.size(); ++i)
      if ((i & bit) == 0)
        std::tie(words[i], words[i | bit]) =
            exchange(emit, kernel, words[i], words[i | bit], step.laneBit);
  }
  SmallVector<Value> ordered;
  for (size_t i = 0; i != words.size(); ++i)
    ordered.push_back(words[exchanges->oldRegister(i * perWord) / perWord]);
  auto type = VectorType::get({static_cast<int64_t>(ordered.size())}, emit.getI32Type());
  Value vector = vector::FromElementsOp::create(emit, type, ordered);
  Type element = cast<VectorType>(pieces.front().getType()).getElementType();
  return LLVM::BitcastOp::create(emit, VectorType::get({lines.registers}, element), vector);
}

SmallVector<Value> LineStores::gather(Emitter &emit, const KernelValues &kernel,
                                      ValueRange pieces) const {
  SmallVector<Value> gathered;
  for (size_t index = 0; index != lines.origins.size(); ++index)
    gathered.push_back(gatherOne(emit, kernel, pieces, index));
  return gathered;
}

/// Each exchange undoes itself.
SmallVector<Value> LineStores::scatter(Emitter &emit, const KernelValues &kernel,
                                       ValueRange pieces) const {
  if (!exchanges)
    return llvm::to_vector(pieces);
  size_t perWord = std::max<int64_t>(kStoreWordBytes / elementBytes, 1), count = 0;
  for (ArrayRef<int64_t> of : sources)
    count += of.size();
  SmallVector<Value> scattered(count);
  for (auto [piece, of] : llvm::zip_equal(pieces, sources)) {
    SmallVector<Value> ordered = wordsOf(emit, piece), words(ordered.size());
    for (auto [i, word] : llvm::enumerate(ordered))
      words[exchanges->oldRegister(i * perWord) / perWord] = word;
    for (LaneExchange step : llvm::reverse(exchanges->exchanges)) {
      size_t bit = (size_t(1) << step.registerBit) / perWord;
      for (size_t i = 0; i != words.size(); ++i)
        if ((i & bit) == 0)
          std::tie(words[i], words[i | bit]) =
              exchange(emit, kernel, words[i], words[i | bit], step.laneBit);
    }
    size_t perPiece = words.size() / of.size();
    Type element = cast<VectorType>(piece.getType()).getElementType();
    auto type = VectorType::get({static_cast<int64_t>(perPiece)}, emit.getI32Type());
    auto whole = VectorType::get({static_cast<int64_t>(perPiece * perWord)}, element);
    for (auto [i, source] : llvm::enumerate(of)) {
      Value vector = vector::FromElementsOp::create(emit, type, ArrayRef(words).slice(i * perPiece, perPiece));
      scattered[source] = LLVM::BitcastOp::create(emit, whole, vector);
    }
  }
  return scattered;
}

void LineStores::forEachStore(Emitter &emit, const KernelValues &kernel, ValueRange pieces,
                              function_ref<void(const Store &)> store) const {
  auto type = VectorType::get({perStore * elementBytes / kStoreWordBytes}, emit.getI32Type());
  for (auto [index, origin] : llvm::enumerate(lines.origins)) {
    Value piece = gatherOne(emit, kernel, pieces, index);
    for (int64_t first = 0; first != lines.registers; first += perStore) {
      Value part = vector::ExtractStridedSliceOp::create(emit, piece, first, perStore, 1);
      auto of = [&](std::string_view dim) {
        return static_cast<int64_t>(lines.ofRegister(first, dim));
      };
      store({LLVM::BitcastOp::create(emit, type, part), origin.row + of(dims::Row),
             origin.column + of(dims::Col)});
    }
  }
}

SmallVector<Value> LineStores::loadPieces(Emitter &emit, Type element,
                                          function_ref<Value(tile::RowAndColumn)> load) const {
  auto type = VectorType::get({lines.registers}, element);
  SmallVector<Value> pieces;
  for (const tile::RowAndColumn &origin : lines.origins) {
    Value piece = LLVM::PoisonOp::create(emit, type);
    for (int64_t first = 0; first != lines.registers; first += perStore) {
      auto of = [&](std::string_view dim) { return static_cast<int64_t>(lines.ofRegister(first, dim)); };
      Value part = load({origin.row + of(dims::Row), origin.column + of(dims::Col)});
      piece = vector::InsertStridedSliceOp::create(emit, part, piece, first, /*strides=*/1);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

LineStores::LanePlace LineStores::lanePlace(Emitter &emit, const KernelValues &kernel,
                                            Value rowStride) const {
  // The lane's number anew from here on: LLVM would hold what follows from it in registers from the kernel's first use of
  // it to the last, across the loop.
  return placeOf(emit, emit.hidden(kernel.lane, "v"), rowStride);
}

LineStores::LanePlace LineStores::placeOf(Emitter &emit, Value lane, Value rowStride) const {
  Value row = emit.linear(lines.map, dims::Lane, dims::Row, lane);
  Value column = emit.linear(lines.map, dims::Lane, dims::Col, lane);
  Value byte = emit.mul(column, emit.i32(elementBytes));
  return {emit.add(emit.mul(row, rowStride), byte), byte};
}
