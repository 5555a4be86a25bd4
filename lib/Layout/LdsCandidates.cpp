// Enumerates LDS layouts. A position above the piece (16 bytes with the wide DMA) carries one
// address bit: a piece bit of the row or a row bit. Arrangements differ in which six bits form a
// chunk and in which of them select banks; swizzles XOR further address bits into bank positions.
#include "LdsCandidates.h"
#include "Layout/Wave.h"

#include "Layout/Log2.h"

#include <algorithm>
#include <bit>

using namespace hocket;

namespace {

using Arrangement = std::vector<TileBit>; ///< by position, from the piece upwards

/// Position `position` (above the piece) also gets the address bit carried at position `source`.
struct Swizzle {
  unsigned position, source;
};

/// What all candidates of a request share.
struct Space {
  explicit Space(const LdsTileRequest &request);

  LdsTileLayout layout(const Arrangement &arrangement, const std::vector<Swizzle> &swizzles,
                       unsigned padding) const;

  unsigned rows, rowBytes, panelBytes, chunkBytes, pieceLog;
  TileVectors vectors;
  std::vector<TileBit> piece;         ///< in order: what lies together in memory and in LDS
  unsigned bankPositions;             ///< positions above the piece that select a bank
  std::vector<Arrangement> inOrder;   ///< lines lie in order: consecutive lanes fetch them
  std::vector<Arrangement> scattered; ///< pieces of a line lie apart
  std::vector<unsigned> paddings;
};

} // namespace

/// All ways to choose `count` of `items`, each in the order of `items`; the first ones first.
static std::vector<std::vector<TileBit>> choices(const std::vector<TileBit> &items,
                                                    unsigned count) {
  std::vector<std::vector<TileBit>> result;
  for (uint32_t mask = 0; mask < 1u << items.size(); ++mask) {
    if (static_cast<unsigned>(std::popcount(mask)) != count)
      continue;
    std::vector<TileBit> chosen;
    for (unsigned i = 0; i < items.size(); ++i)
      if (mask >> i & 1)
        chosen.push_back(items[i]);
    result.push_back(std::move(chosen));
  }
  return result;
}

static std::vector<TileBit> without(std::vector<TileBit> items,
                                       const std::vector<TileBit> &taken) {
  std::erase_if(items, [&](const TileBit &bit) { return std::ranges::count(taken, bit); });
  return items;
}

static Arrangement join(Arrangement a, const std::vector<TileBit> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Arrangements for the LDS DMA: a chunk of 64 pieces holds the pieces of a line and some rows; any
/// of its bits may select banks; then come the other rows and pieces.
static void addChunked(Space &space, const std::vector<TileBit> &pieces,
                       const std::vector<TileBit> &rows, unsigned lineLog) {
  size_t lineSize = std::min({size_t(lineLog), pieces.size(), size_t(kWaveLaneBits)});
  unsigned rowsInChunk = std::min<unsigned>(kWaveLaneBits - lineSize, rows.size());
  // Few rows: the chunk is filled up with further pieces of the row.
  lineSize = std::min<size_t>(kWaveLaneBits - rowsInChunk, pieces.size());
  std::vector<TileBit> line(pieces.begin(), pieces.begin() + lineSize);
  for (const std::vector<TileBit> &chunkRows : choices(rows, rowsInChunk)) {
    std::vector<TileBit> inChunk = join(line, chunkRows);
    std::vector<TileBit> otherRows = without(rows, chunkRows);
    std::vector<TileBit> otherPieces = without(pieces, line);
    unsigned selecting = std::min<unsigned>(space.bankPositions, inChunk.size());
    for (const std::vector<TileBit> &banks : choices(inChunk, selecting)) {
      Arrangement chunk = join(banks, without(inChunk, banks));
      bool ordered = std::equal(line.begin(), line.end(), chunk.begin());
      std::vector<Arrangement> &list = ordered ? space.inOrder : space.scattered;
      list.push_back(join(join(chunk, otherRows), otherPieces));
      if (!otherRows.empty() && !otherPieces.empty())
        list.push_back(join(join(chunk, otherPieces), otherRows));
    }
  }
}

Space::Space(const LdsTileRequest &request)
    : rows(request.rows), rowBytes(request.rowBytes), panelBytes(panelBytesFor(request.rowBytes)) {
  bool dma = request.dmaWaves != 0;
  unsigned widest = 0, banks = 64;
  for (const LdsUse &use : request.uses)
    widest = std::max(widest, std::bit_ceil(bytesPerLane(use.instruction)));
  unsigned pieceBytes = dma ? request.dmaBytesPerLane : widest;
  if (request.vectors == TileVectors::None)
    pieceBytes = std::min(pieceBytes, panelBytes);
  pieceLog = log2(pieceBytes);
  bankPositions = log2(banks * 4) > pieceLog ? log2(banks * 4) - pieceLog : 0;
  chunkBytes = dma ? kWaveLanes * request.dmaBytesPerLane : panelBytes;

  vectors = request.vectors;
  piece = memoryBits(vectors, rows, panelBytes, pieceBytes);
  std::vector<TileBit> line = without(memoryBits(vectors, rows, panelBytes, request.lineBytes), piece);
  std::vector<TileBit> pieceBits, rowBits;
  for (unsigned bit = 0; bit < log2(panelBytes); ++bit)
    pieceBits.push_back({dims::Byte, bit});
  for (unsigned bit = 0; bit < log2(rows); ++bit)
    rowBits.push_back({dims::Row, bit});
  pieceBits = without(pieceBits, piece), rowBits = without(rowBits, piece);
  if (!dma)
    inOrder = {join(pieceBits, rowBits)};
  else if (vectors == TileVectors::None)
    addChunked(*this, pieceBits, rowBits, line.size());
  else
    addChunked(*this, line, without(join(pieceBits, rowBits), line), line.size());
  // Padding keeps the alignment of the widest access.
  for (unsigned padding = std::max(widest, pieceBytes); padding <= request.maxPadding; padding *= 2)
    paddings.push_back(padding);
}

LdsTileLayout Space::layout(const Arrangement &arrangement, const std::vector<Swizzle> &swizzles,
                            unsigned padding) const {
  // Images of the byte's and the row's bits, bit by bit.
  InputBases byte{std::string(dims::Byte), std::vector<Coordinates>(log2(panelBytes))};
  InputBases row{std::string(dims::Row), std::vector<Coordinates>(log2(rows))};
  for (unsigned position = 0; position < piece.size(); ++position)
    (piece[position].dim == dims::Row ? row : byte).bases[piece[position].bit] = {
        {std::string(dims::Offset), uint64_t(1) << position}};
  for (unsigned position = 0; position < arrangement.size(); ++position) {
    uint64_t image = uint64_t(1) << (position + pieceLog);
    for (const Swizzle &swizzle : swizzles)
      if (swizzle.source == position)
        image ^= uint64_t(1) << (swizzle.position + pieceLog);
    const TileBit &carried = arrangement[position];
    (carried.dim == dims::Row ? row : byte).bases[carried.bit] = {
        {std::string(dims::Offset), image}};
  }
  unsigned offsetBits = log2(rows) + log2(panelBytes);
  Result<LinearLayout> linear =
      LinearLayout::fromBases({byte, row}, {{std::string(dims::Offset), offsetBits}});
  return {rows,       rowBytes, panelBytes, linear ? *std::move(linear) : LinearLayout(),
          chunkBytes, padding, vectors};
}

/// Calls `visit` for every set of `count` swizzles with different positions; true if it stopped.
static bool forEachSwizzle(const Space &space, const Arrangement &arrangement, unsigned count,
                           std::vector<Swizzle> &chosen,
                           const std::function<bool(const std::vector<Swizzle> &)> &visit) {
  if (count == 0)
    return visit(chosen);
  unsigned first = chosen.empty() ? 0 : chosen.back().position + 1;
  unsigned positions = std::min<unsigned>(space.bankPositions, arrangement.size());
  for (unsigned position = first; position < positions; ++position)
    for (unsigned source = positions; source < arrangement.size(); ++source) {
      chosen.push_back({position, source});
      bool stop = forEachSwizzle(space, arrangement, count - 1, chosen, visit);
      chosen.pop_back();
      if (stop)
        return true;
    }
  return false;
}

namespace {

/// Arrangements to go through (the first `limit`), bits to swizzle in each, whether to pad.
struct Stage {
  const std::vector<Arrangement> &arrangements;
  unsigned swizzles;
  bool pad;
  size_t limit;
};

} // namespace

/// Visits all candidates of a stage; true if the visitor stopped it.
static bool runStage(const Space &space, const Stage &stage, const LdsCandidateVisitor &visit) {
  std::vector<unsigned> paddings = stage.pad ? space.paddings : std::vector<unsigned>{0};
  size_t count = std::min(stage.limit, stage.arrangements.size());
  for (unsigned padding : paddings)
    for (size_t i = 0; i < count; ++i) {
      const Arrangement &arrangement = stage.arrangements[i];
      std::vector<Swizzle> chosen;
      auto visitOne = [&](const std::vector<Swizzle> &swizzles) {
        return visit(space.layout(arrangement, swizzles, padding), stage.swizzles);
      };
      if (forEachSwizzle(space, arrangement, stage.swizzles, chosen, visitOne))
        return true;
    }
  return false;
}

void hocket::forEachLdsCandidate(const LdsTileRequest &request, const LdsCandidateVisitor &visit) {
  Space space(request);
  const auto &inOrder = space.inOrder, &scattered = space.scattered;
  // Wide nets only where each cast is cheap.
  const Stage stages[] = {
      {inOrder, 0, false, SIZE_MAX}, {inOrder, 1, false, 20},         {inOrder, 0, true, SIZE_MAX},
      {inOrder, 2, false, 20},       {inOrder, 1, true, 20},          {inOrder, 3, false, 8},
      {inOrder, 4, false, 2},        {scattered, 0, false, SIZE_MAX}, {scattered, 1, false, 60},
      {scattered, 2, false, 20},     {scattered, 0, true, 60},        {scattered, 1, true, 20}};
  for (const Stage &stage : stages)
    if (runStage(space, stage, visit))
      return;
}
