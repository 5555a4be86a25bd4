// How many workgroups of a kernel fit on a compute unit, from the architecture table.
#include "Driver.h"
#include "Properties.h"

#include "Target/Arch/Occupancy.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::hip;

static unsigned workgroupsPerCu(const runtime::KernelInfo &kernel, int blockSize, size_t dynamic) {
  KernelResources resources;
  // Metadata counts the unified registers, the accumulation registers among them.
  resources.vgprs = std::max(1u, kernel.vgprs - std::min(kernel.agprs, kernel.vgprs));
  resources.agprs = kernel.agprs;
  resources.ldsBytes = static_cast<unsigned>(std::min<size_t>(kernel.staticLds + dynamic, 1 << 30));
  resources.workgroupSize = static_cast<unsigned>(blockSize);
  auto fits = occupancy(simulatedChip(), resources);
  return fits ? fits->workgroupsPerCu : 0;
}

static unsigned mostThreads(const runtime::KernelInfo &kernel) {
  return kernel.maxWorkgroupSize ? kernel.maxWorkgroupSize : sim::maxWorkgroupSize;
}

static Outcome countBlocks(const runtime::KernelInfo &kernel, int *blocks, int blockSize,
                           size_t dynamic) {
  if (Outcome outcome = needPointers(blocks); !outcome.ok())
    return outcome;
  if (blockSize <= 0)
    return {hipErrorInvalidValue,
            "a block of " + std::to_string(blockSize) + " work-items is none"};
  const bool tooLarge = static_cast<unsigned>(blockSize) > mostThreads(kernel);
  *blocks = tooLarge ? 0 : static_cast<int>(workgroupsPerCu(kernel, blockSize, dynamic));
  return hipSuccess;
}

/// The block size with the most resident work-items, the larger of equals, and a grid that fills
/// the device once.
static Outcome chooseBlock(const runtime::KernelInfo &kernel, int *grid, int *block, size_t dynamic,
                           int limit) {
  if (Outcome outcome = needPointers(grid, block); !outcome.ok())
    return outcome;
  const ArchInfo &arch = simulatedChip();
  const unsigned wave = arch.waves.waveSize;
  unsigned most = mostThreads(kernel);
  if (limit > 0)
    most = std::min(most, static_cast<unsigned>(limit));
  unsigned best = 0, bestItems = 0, bestBlocks = 0;
  for (unsigned size = std::min(wave, most); size <= most && size != 0; size += wave) {
    const unsigned blocks = workgroupsPerCu(kernel, static_cast<int>(size), dynamic);
    if (blocks * size < bestItems || blocks == 0)
      continue;
    best = size;
    bestItems = blocks * size;
    bestBlocks = blocks;
  }
  if (best == 0)
    return {hipErrorInvalidConfiguration,
            "no block of kernel '" + kernel.name + "' fits on a compute unit"};
  *block = static_cast<int>(best);
  *grid = static_cast<int>(bestBlocks * arch.chip.computeUnits);
  return hipSuccess;
}

template <typename Action>
static int withHost(const char *name, const void *hostFunction, Action action) {
  return call(name, [&](Driver &driver) {
    Function function;
    const Outcome found = driver.findFunction(hostFunction, function);
    return found.ok() ? action(function.info()) : found;
  });
}
template <typename Action>
static int withHandle(const char *name, const void *handle, Action action) {
  return call(name, [&](Driver &driver) -> Outcome {
    std::shared_ptr<Function> function = driver.functions.find(handle);
    if (!function)
      return {hipErrorInvalidHandle, "the function was never got, or its module was unloaded"};
    return action(function->info());
  });
}

extern "C" {
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size,
                                                 size_t shared) {
  return withHost("hipOccupancyMaxActiveBlocksPerMultiprocessor", function,
                  [&](const auto &kernel) { return countBlocks(kernel, blocks, size, shared); });
}
int hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                          int size, size_t shared, unsigned) {
  return withHost("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", function,
                  [&](const auto &kernel) { return countBlocks(kernel, blocks, size, shared); });
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int size,
                                                       size_t shared) {
  return withHandle("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function,
                    [&](const auto &kernel) { return countBlocks(kernel, blocks, size, shared); });
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function,
                                                                int size, size_t shared, unsigned) {
  return withHandle("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", function,
                    [&](const auto &kernel) { return countBlocks(kernel, blocks, size, shared); });
}
int hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, size_t shared,
                                      int limit) {
  return withHost("hipOccupancyMaxPotentialBlockSize", function, [&](const auto &kernel) {
    return chooseBlock(kernel, grid, block, shared, limit);
  });
}
int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t shared,
                                            int limit) {
  return withHandle("hipModuleOccupancyMaxPotentialBlockSize", function, [&](const auto &kernel) {
    return chooseBlock(kernel, grid, block, shared, limit);
  });
}
int hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function,
                                                     size_t shared, int limit, unsigned) {
  return withHandle(
      "hipModuleOccupancyMaxPotentialBlockSizeWithFlags", function,
      [&](const auto &kernel) { return chooseBlock(kernel, grid, block, shared, limit); });
}
}
