// Inverts a tile's layout to find what each lane fetches, and divides chunk bits between waves and
// instructions.
#include "Layout/LdsDma.h"
#include "Layout/Wave.h"

#include "Layout/Log2.h"

#include <algorithm>
#include <bit>

using namespace hocket;

static constexpr std::string_view Chunk = "chunk";

LinearLayout hocket::ldsDmaChunk(unsigned bytesPerLane) {
  return LinearLayout::identity(dims::Byte, dims::Offset, log2(bytesPerLane)) *
         LinearLayout::identity(dims::Lane, dims::Offset, kWaveLaneBits);
}

Coordinates LdsDmaPlan::instructionStep(unsigned index) const {
  return source.apply({{std::string(dims::Register), index}});
}

static Status checkWritable(const LdsTileLayout &tile, unsigned waves, unsigned bytesPerLane) {
  if (Status status = validateLdsTile(tile); !status)
    return status;
  if (bytesPerLane != 4 && bytesPerLane != 16)
    return unsupported("no plan for an LDS DMA of " + std::to_string(bytesPerLane) +
                       " bytes a lane; known are 4 and 16");
  if (!std::has_single_bit(waves))
    return unsupported("no plan for an LDS DMA by " + std::to_string(waves) +
                       " waves, a power of two is needed");
  if (tile.chunkBytes != kWaveLanes * bytesPerLane)
    return unsupported("LDS tile has chunks of " + std::to_string(tile.chunkBytes) +
                       " bytes, a wave writes " + std::to_string(kWaveLanes * bytesPerLane) +
                       " with one LDS DMA instruction; make the tile at least that large");
  std::vector<TileBit> piece = memoryBits(tile.vectors, tile.rows, tile.panelBytes, bytesPerLane);
  for (unsigned i = 0; i < log2(bytesPerLane); ++i)
    if (i >= piece.size() || tile.linear.basis(piece[i].dim, piece[i].bit, dims::Offset) != uint64_t(1) << i)
      return unsupported("LDS tile splits pieces of " + std::to_string(bytesPerLane) +
                         " bytes, which the LDS DMA cannot write");
  return Status::success();
}

/// True if an instruction bit with this (row, byte) image adds to everything else without XOR.
static bool isStep(const LinearLayout &source, unsigned chunkBit) {
  for (std::string_view out : {dims::Row, dims::Byte}) {
    uint64_t others = source.reach(dims::Lane, out);
    for (unsigned bit = 0; bit < source.inputBits(Chunk); ++bit)
      if (bit != chunkBit)
        others |= source.basis(Chunk, bit, out);
    if (others & source.basis(Chunk, chunkBit, out))
      return false;
  }
  return true;
}

/// The chunk bits that become the instruction index, best first: steps along a row, then rows, both
/// from the highest.
static std::vector<unsigned> stepBits(const LinearLayout &source) {
  std::vector<unsigned> steps;
  for (unsigned bit = 0; bit < source.inputBits(Chunk); ++bit)
    if (isStep(source, bit))
      steps.push_back(bit);
  std::ranges::sort(steps, std::ranges::greater{}, [&](unsigned bit) {
    return std::pair(source.basis(Chunk, bit, dims::Row) == 0, bit);
  });
  return steps;
}

/// Input `to` of `source`'s chunk bits `chosen`, as a layout (to) -> chunk.
static Result<LinearLayout> pick(std::string_view to, const std::vector<unsigned> &chosen,
                                 unsigned chunkLog) {
  InputBases bases{std::string(to), {}};
  for (unsigned bit : chosen)
    bases.bases.push_back({{std::string(Chunk), uint64_t(1) << bit}});
  return LinearLayout::fromBases({bases}, {{std::string(Chunk), chunkLog}});
}

Result<LdsDmaPlan> hocket::planLdsDma(const LdsTileLayout &tile, unsigned waves,
                                      unsigned bytesPerLane) {
  if (Status status = checkWritable(tile, waves, bytesPerLane); !status)
    return status.error();
  Result<LinearLayout> back = tile.linear.inverse();
  if (!back)
    return back.error();
  // offset -> (row, byte), with the offset seen as byte of a piece, lane, chunk.
  LinearLayout source = back->splitInput(dims::Offset, "piece", log2(bytesPerLane), "rest")
                            .splitInput("rest", dims::Lane, kWaveLaneBits, Chunk)
                            .sublayout({dims::Lane, Chunk}, {dims::Row, dims::Byte});
  unsigned chunkLog = source.inputBits(Chunk), waveLog = std::min(log2(waves), chunkLog);
  std::vector<unsigned> steps = stepBits(source);
  if (steps.size() < chunkLog - waveLog)
    return unsupported("LDS DMA by " + std::to_string(waves) +
                       " wave(s) would need an address register for each instruction: the swizzle "
                       "reaches across chunks; use more waves or another layout");
  steps.resize(chunkLog - waveLog);
  std::ranges::sort(steps);
  std::vector<unsigned> waveBits;
  for (unsigned bit = 0; bit < chunkLog; ++bit)
    if (!std::ranges::count(steps, bit))
      waveBits.push_back(bit);

  Result<LinearLayout> ofWave = pick(dims::Wave, waveBits, chunkLog);
  Result<LinearLayout> ofStep = pick(dims::Register, steps, chunkLog);
  if (!ofWave || !ofStep)
    return ofWave ? ofStep.error() : ofWave.error();
  Result<LinearLayout> chunk = ofWave->concatInputs(*ofStep);
  if (!chunk)
    return chunk.error();
  Result<LinearLayout> index =
      LinearLayout::identity(dims::Lane, dims::Lane, kWaveLaneBits).concatInputs(*chunk);
  if (!index)
    return index.error();
  Result<LinearLayout> full = index->then(source);
  if (!full)
    return full.error();
  LdsDmaPlan plan;
  plan.bytesPerLane = bytesPerLane;
  plan.waves = 1u << waveLog;
  plan.instructions = 1u << steps.size();
  plan.source = *std::move(full);
  plan.chunk = *std::move(chunk);
  return plan;
}
