// How fragments are read from LDS.
#include "Tile/IR/FragmentAccess.h"

#include "Layout/FragmentReads.h"
#include "Layout/OperandReuse.h"

#include "llvm/Support/MathExtras.h"

using namespace hocket;
using namespace hocket::tile;

static constexpr unsigned kReadBytes = 16;

MfmaShape hocket::tile::operandShape(unsigned bits) {
  auto elements = static_cast<unsigned>(llvm::PowerOf2Ceil(8 * kReadBytes / bits)); // of a lane
  auto block = static_cast<unsigned>(kBlock);
  return {block, block, static_cast<unsigned>(elements * kWaveLanes / block), bits};
}

MfmaShape hocket::tile::operandShape(const RegisterLayout &layout) {
  constexpr unsigned scaleBits = 8, scalesOfBlock = 2;
  if (layout.kind == FragLayout::LhsScale || layout.kind == FragLayout::RhsScale)
    return {unsigned(kBlock), unsigned(kBlock), scalesOfBlock, scaleBits};
  return operandShape(layout.operandBits);
}

bool hocket::tile::exchangesHalves(const MfmaShape &shape) { return shape.operandElements() > shape.accumulatorRegisters(); }

Result<LinearLayout> hocket::tile::rowsInRunsOfEight(unsigned bits) {
  InputBases rows{std::string(dims::K), {}};
  for (unsigned bit = 0; bit != bits; ++bit) {
    unsigned image = bit == 2 ? 3 : bit == 3 ? 2 : bit;
    rows.bases.push_back({{"key", uint64_t(1) << image}});
  }
  return LinearLayout::fromBases({rows}, {{"key", bits}});
}

Result<LinearLayout> hocket::tile::accumulatorOrderedOperand(int64_t rows, int64_t depth, unsigned bits, int64_t run) {
  const MfmaShape shape = operandShape(bits);
  Result<LinearLayout> lhs = mfmaOperandATile(shape, rows, depth);
  if (!lhs)
    return lhs.error();
  if (exchangesHalves(shape))
    return permuteOutput(*lhs, dims::K, *rowsInRunsOfEight(lhs->outputBits(dims::K)));
  Result<LinearLayout> accumulator = mfmaAccumulatorTile(shape, depth, shape.n);
  if (!accumulator)
    return accumulator.error();
  Result<LinearLayout> rhs = mfmaOperandBTile(shape, depth, shape.n);
  if (!rhs)
    return rhs.error();
  Result<LinearLayout> order = accumulatorAsOperand(*accumulator, *rhs);
  if (!order)
    return order.error();
  Result<LinearLayout> ordered = permuteOutput(*lhs, dims::K, *order);
  if (!ordered || run == 0)
    return ordered;
  Result<LinearLayout> inRuns = rowsInRunsOfEight(ordered->outputBits(dims::Row));
  return inRuns ? permuteOutput(*ordered, dims::Row, *inRuns) : inRuns;
}

int64_t hocket::tile::panelColumns(int64_t columns, unsigned bits) {
  return panelBytesFor(columns * bits / 8) * 8 / bits;
}

int64_t hocket::tile::panelColumns(RingType ring) {
  return panelColumns(ring.getShape()[1], ring.getElementType().getIntOrFloatBitWidth());
}

WavePart hocket::tile::wavePartOf(mlir::Value part) {
  auto grid = part ? part.getDefiningOp<WaveGridOp>() : WaveGridOp();
  if (!grid)
    return {};
  unsigned rows = grid.getRows(), columns = grid.getColumns();
  return part == grid.getRow() ? WavePart{rows, columns} : WavePart{columns, 1};
}

/// (wave) -> `dim`, a coordinate of the tile: where each wave's part, of `size`, begins.
static Result<LinearLayout> firstOfParts(WavePart part, std::string_view dim, unsigned size) {
  InputBases waves{std::string(dims::Wave), {}};
  for (unsigned bit = 1; bit < part.stride; bit *= 2)
    waves.bases.push_back({});
  for (unsigned bit = 1; bit < part.count; bit *= 2)
    waves.bases.push_back({{std::string(dim), uint64_t(bit) * size}});
  unsigned bits = llvm::Log2_32(part.count) + llvm::Log2_32(size);
  return LinearLayout::fromBases({waves}, {{std::string(dim), bits}});
}

/// `access` of a part of a tile, of all waves.
static Result<LdsUse> ofParts(LdsInstruction instruction, const LinearLayout &access, WavePart part,
                              std::string_view dim, unsigned size) {
  if (part.count == 1)
    return LdsUse{instruction, access};
  Result<LinearLayout> first = firstOfParts(part, dim, size);
  if (!first)
    return first.error();
  Result<LinearLayout> all = access.concatInputs(*first);
  if (!all)
    return all.error();
  return LdsUse{instruction, *all};
}

Result<LdsUse> hocket::tile::operandReads(FragType frag, WavePart part) {
  bool isLeft = frag.isLeft();
  // Packed elements are read as the bytes that they lie in.
  const unsigned bits = std::max<unsigned>(frag.getOperandShape().elementBits, 8);
  const MfmaShape shape = operandShape(bits);
  unsigned elements = frag.getDepth() * frag.getOperandShape().elementBits / bits;
  unsigned depth = panelColumns(elements, bits), width = frag.getWidth();
  Result<LinearLayout> layout =
      isLeft ? mfmaOperandATile(shape, width, depth) : mfmaOperandBTile(shape, depth, width);
  if (!layout)
    return layout.error();
  Result<LinearLayout> access = directReads(*layout, {isLeft ? dims::Row : dims::Col, dims::K},
                                            shape.elementBits, kReadBytes);
  if (!access)
    return access.error();
  return ofParts(LdsInstruction::ReadB128, *access, part, dims::Row, width);
}

Result<LdsUse> hocket::tile::transposedOperandReads(FragType frag, const ArchInfo &arch, TileVectors vectors,
                                                    WavePart part, bool partOfRows) {
  const unsigned bits = frag.getOperandShape().elementBits;
  unsigned width = panelColumns(frag.getWidth(), bits);
  Result<LinearLayout> layout = accumulatorOrderedOperand(width, frag.getDepth(), bits, frag.getRegisterLayout().run);
  if (!layout)
    return layout.error();
  auto ofColumnsOrRows = [&](LdsInstruction instruction, const LinearLayout &access) {
    return partOfRows ? ofParts(instruction, access, part, dims::Row, frag.getDepth())
                      : ofParts(instruction, access, part, dims::Byte, width * bits / 8);
  };
  bool inVectors = vectors == TileVectors::Rows;
  constexpr unsigned wordBits = 32;
  if (bits == wordBits && !inVectors) {
    Result<LinearLayout> access = directReads(*layout, {dims::K, dims::Row}, bits, bits / 8);
    if (!access)
      return access.error();
    return ofColumnsOrRows(LdsInstruction::ReadB32, *access);
  }
  if (inVectors || !arch.hasTransposedRead(bits)) {
    // Gathering rows, in memory or on the way to LDS, moves two bytes at a time.
    if (bits != kUsualOperandBits)
      return unsupported("transposed reads of elements of " + std::to_string(bits) + " bits " +
                         (inVectors ? "from vectors of rows" : "on " + std::string(arch.name)) +
                         "; there are such of 16, or bring the tile with its depth along rows and use 'tile.read'");
    if (part.count != 1)
      return unsupported("parts of a tile, which " + std::string(arch.name) + " does not read transposed");
    Result<GatheredReads> reads =
        gatheredReads(*layout, {dims::K, dims::Row}, bits, inVectors ? kReadBytes / 2 : kReadBytes);
    if (!reads)
      return reads.error();
    return LdsUse{inVectors ? LdsInstruction::ReadB64 : LdsInstruction::ReadB128, reads->access, reads->rows};
  }
  Result<LinearLayout> access = transposedReads(*layout, {dims::K, dims::Row}, bits);
  if (!access)
    return access.error();
  return ofColumnsOrRows(LdsInstruction::ReadTransposed, *access);
}

Result<LdsUse> hocket::tile::transposedOperandReads(ReadTransposedOp read, const ArchInfo &arch) {
  FragType frag = read.getResult().getType();
  bool partOfRows = frag.getDepth() != read.getRing().getType().getShape()[0];
  return transposedOperandReads(frag, arch, vectorsOf(read.getRing()), wavePartOf(read.getPart()), partOfRows);
}

TileVectors hocket::tile::vectorsOf(mlir::Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return op ? op.getTileVectors() : TileVectors::None;
}

Result<std::optional<LdsUse>> ReadOp::getLdsUse(const ArchInfo &) {
  Result<LdsUse> use = operandReads(getResult().getType(), wavePartOf(getPart()));
  if (!use)
    return use.error();
  return std::optional(*use);
}

Result<std::optional<LdsUse>> ReadTransposedOp::getLdsUse(const ArchInfo &arch) {
  Result<LdsUse> use = transposedOperandReads(*this, arch);
  if (!use)
    return use.error();
  return std::optional(*use);
}
