// The state in which a wave starts: what the packet processor and the launcher put into registers
// (docs/Hardware.md 2.8). Everything else holds the pattern of what was never written.
#include "Workgroup.h"

#include "llvm/Support/AMDHSAKernelDescriptor.h"

#include <cstring>

using namespace hocket;
using namespace hocket::sim;
namespace hsa = llvm::amdhsa;

void Workgroup::startWave(unsigned index) {
  Wave &wave = waves[index];
  uint64_t items = uint64_t(context.shape.block.x) * context.shape.block.y * context.shape.block.z;
  uint64_t left = items - uint64_t(index) * waveSize;
  for (uint32_t &word : wave.sgpr)
    word = uninitialisedPattern;
  wave.setExec(left >= waveSize ? ~uint64_t(0) : (uint64_t(1) << left) - 1);
  wave.scc = 0;
  wave.stop = Stop::None;
  wave.instructions = 0;
  wave.idleLanes = 0;
  wave.clock = 0;
  wave.gprIndexing = 0;
  wave.cachedAllocation = nullptr;
  wave.randomState = context.seed == 0 ? 0 : nextRandom(random) | 1;
  resetPending(wave);

  const KernelDescriptor &descriptor = context.image->descriptor;
  uint32_t rsrc1 = descriptor.rsrc1;
  wave.mode.bits = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 |
                   (rsrc1 >> 26 & 1) << 23;
  uint64_t entry = context.image->entry;
  // Firmware that preloads arguments skips the prologue that loads them for older firmware.
  if (AMDHSA_BITS_GET(descriptor.kernargPreload, hsa::KERNARG_PRELOAD_SPEC_LENGTH) != 0)
    entry += 256;
  wave.pc = static_cast<uint32_t>((entry - context.text->begin()) / 4);
  setScalars(wave);
  setVectors(wave);
  size_t scratchWords = size_t(context.privateBytes) / 4 * waveSize;
  auto *scratch = reinterpret_cast<uint32_t *>(wave.scratch);
  for (size_t i = 0; i < scratchWords; ++i)
    scratch[i] = uninitialisedPattern;
}

void Workgroup::setScalars(Wave &wave) {
  const KernelDescriptor &descriptor = context.image->descriptor;
  unsigned next = 0;
  auto add = [&](uint32_t value) { wave.sgpr[next++] = value; };
  auto addPair = [&](uint64_t value) {
    add(static_cast<uint32_t>(value));
    add(static_cast<uint32_t>(value >> 32));
  };
  uint16_t properties = descriptor.properties;
  if (properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR)
    addPair(context.dispatchPacket);
  if (properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR)
    addPair(context.queue);
  if (properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR)
    addPair(context.kernarg);
  if (properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID)
    addPair(0);
  if (properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE)
    add(context.privateBytes);
  for (uint32_t word : context.preload)
    add(word);
  uint32_t rsrc2 = descriptor.rsrc2;
  if (rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_X)
    add(id[0]);
  if (rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Y)
    add(id[1]);
  if (rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Z)
    add(id[2]);
  if (rsrc2 & hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_INFO)
    add((wave.index == 0 ? 1u << 31 : 0) | wave.index << 6 | waveCount);
}

void Workgroup::setVectors(Wave &wave) {
  const KernelDescriptor &descriptor = context.image->descriptor;
  unsigned total = ((descriptor.rsrc1 & 63) + 1) * 8;
  unsigned architectural = std::min(((descriptor.rsrc3 & 63) + 1) * 4, 256u);
  unsigned accumulation = total > architectural ? std::min(total - architectural, 256u) : 0;
  auto poison = [&](unsigned first, unsigned count) {
    uint32_t *words = wave.vgpr[first];
    for (unsigned i = 0; i < count * waveSize; ++i)
      words[i] = uninitialisedPattern;
  };
  poison(0, architectural);
  poison(accumulationBase, accumulation);

  // Work-item ids, packed: x [9:0], y [19:10], z [29:20].
  const runtime::Dim3 &block = context.shape.block;
  for (unsigned lane = 0; lane < waveSize; ++lane) {
    uint32_t item = wave.index * waveSize + lane;
    uint32_t x = item % block.x, y = item / block.x % block.y, z = item / block.x / block.y;
    wave.vgpr[0][lane] = x | (y & 1023) << 10 | (z & 1023) << 20;
  }
}
