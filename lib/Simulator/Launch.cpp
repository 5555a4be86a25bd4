// One launch: checks, kernel arguments with the hidden ones, the dispatch packet, and the
// workgroups on all host threads.
//
// Workgroups are handed out in order, and all that started before a failing one run to their end,
// so the error that is reported is that of the lowest workgroup, whatever the number of threads.
#include "Simulator/Simulator.h"

#include "LaunchSetup.h"

#include "Target/Arch/ArchInfo.h"

#include "llvm/Support/AMDHSAKernelDescriptor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

using namespace hocket;
using namespace hocket::sim;
using runtime::LaunchShape;
namespace hsa = llvm::amdhsa;

uint32_t sim::maxLdsBytes(std::string_view architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  return arch ? (*arch)->lds.bytesPerWorkgroup : 0;
}

static std::string show(const runtime::Dim3 &d) {
  return std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z);
}

static Status checkShape(const LaunchShape &shape, const runtime::KernelInfo &kernel,
                         const std::string &architecture) {
  const runtime::Dim3 &grid = shape.grid, &block = shape.block;
  std::string who = "launch of '" + kernel.name + "': ";
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return invalidInput(who + "the grid (" + show(grid) + ") is empty");
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return invalidInput(who + "the block (" + show(block) + ") is empty");
  uint32_t limit = std::min(maxWorkgroupSize, std::max(kernel.maxWorkgroupSize, 1u));
  auto tooWide = [&](uint32_t a, uint32_t b) { return uint64_t(a) * b > UINT32_MAX; };
  if (block.x > limit || block.y > limit || block.z > limit ||
      uint64_t(block.x) * block.y * block.z > limit)
    return invalidInput(who + "the block (" + show(block) + ") has more work-items than the " +
                        std::to_string(limit) + " the kernel was compiled for");
  if (tooWide(grid.x, block.x) || tooWide(grid.y, block.y) || tooWide(grid.z, block.z))
    return invalidInput(who + "a dimension of the grid (" + show(grid) +
                        ") has 2^32 work-items or more");
  uint64_t lds = uint64_t(kernel.staticLds) + shape.dynamicLds;
  uint32_t most = maxLdsBytes(architecture);
  if (lds > most)
    return invalidInput(who + "it needs " + std::to_string(lds) + " bytes of LDS, " + architecture +
                        " has " + std::to_string(most) + " for a workgroup");
  return Status::success();
}

static Status checkDescriptor(const KernelImage &image, const runtime::KernelInfo &kernel,
                              const std::string &architecture) {
  const KernelDescriptor &descriptor = image.descriptor;
  auto lacks = [&](const char *what) {
    return unsupported("kernel '" + kernel.name + "' asks for " + what + ", which kernels of " +
                       architecture + " do not need");
  };
  if (descriptor.properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER)
    return lacks("a private segment buffer in SGPRs");
  if (descriptor.properties & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT)
    return lacks("a flat scratch address in SGPRs");
  if (kernel.privateSegment > (1u << 20))
    return unsupported("kernel '" + kernel.name + "' has " + std::to_string(kernel.privateSegment) +
                       " bytes of scratch for each work-item, at most 1 MiB is supported");
  return Status::success();
}

/// Value of a hidden argument; false: an unknown kind.
static bool hiddenValue(const std::string &kind, const LaunchContext &context, uint64_t &value) {
  const runtime::Dim3 &grid = context.shape.grid, &block = context.shape.block;
  const std::pair<const char *, uint64_t> values[] = {
      {"hidden_block_count_x", grid.x},
      {"hidden_block_count_y", grid.y},
      {"hidden_block_count_z", grid.z},
      {"hidden_group_size_x", block.x},
      {"hidden_group_size_y", block.y},
      {"hidden_group_size_z", block.z},
      {"hidden_remainder_x", 0},
      {"hidden_remainder_y", 0},
      {"hidden_remainder_z", 0},
      {"hidden_global_offset_x", 0},
      {"hidden_global_offset_y", 0},
      {"hidden_global_offset_z", 0},
      {"hidden_grid_dims", grid.z > 1 || block.z > 1   ? 3u
                           : grid.y > 1 || block.y > 1 ? 2u
                                                       : 1u},
      {"hidden_dynamic_lds_size", context.shape.dynamicLds},
      {"hidden_private_base", privateAperture >> 32},
      {"hidden_shared_base", sharedAperture >> 32},
      {"hidden_queue_ptr", context.queue},
      {"hidden_none", 0},
      {"hidden_printf_buffer", 0},
      {"hidden_hostcall_buffer", 0},
      {"hidden_default_queue", 0},
      {"hidden_completion_action", 0},
      {"hidden_multigrid_sync_arg", 0},
      {"hidden_heap_v1", 0},
  };
  for (const auto &[name, number] : values)
    if (kind == name) {
      value = number;
      return true;
    }
  return false;
}

static Status fillKernarg(const LaunchContext &context, std::span<const std::byte> given,
                          std::vector<std::byte> &block) {
  const runtime::KernelInfo &kernel = *context.kernel;
  // A block longer than the metadata's is taken as it is: kernels written in assembly may say too
  // little.
  // Whole cache lines, as HSA allocates them: compilers may load a little more than they need.
  size_t bytes = std::max<size_t>(given.size(), kernel.kernargSize);
  block.assign((bytes + 63) / 64 * 64, std::byte(0));
  if (!given.empty())
    std::memcpy(block.data(), given.data(), given.size());
  for (const runtime::KernelArgument &argument : kernel.arguments) {
    if (argument.kind.rfind("hidden_", 0) != 0)
      continue;
    uint64_t value = 0;
    if (!hiddenValue(argument.kind, context, value))
      return unsupported("kernel '" + kernel.name + "' has an argument of the unknown kind '" +
                         argument.kind + "'");
    std::memset(block.data() + argument.offset, 0, argument.size);
    std::memcpy(block.data() + argument.offset, &value, std::min<size_t>(argument.size, 8));
  }
  return Status::success();
}

/// The 64-byte AQL kernel dispatch packet.
static std::vector<std::byte> makePacket(const LaunchContext &context, uint64_t kernelObject) {
  std::vector<std::byte> packet(64, std::byte(0));
  auto put = [&](size_t offset, auto value) {
    std::memcpy(packet.data() + offset, &value, sizeof(value));
  };
  const runtime::Dim3 &grid = context.shape.grid, &block = context.shape.block;
  put(0, uint16_t(2)); // kernel dispatch
  put(2, uint16_t(3)); // dimensions
  put(4, static_cast<uint16_t>(block.x));
  put(6, static_cast<uint16_t>(block.y));
  put(8, static_cast<uint16_t>(block.z));
  put(12, grid.x * block.x);
  put(16, grid.y * block.y);
  put(20, grid.z * block.z);
  put(24, context.privateBytes);
  put(28, context.ldsBytes);
  put(32, kernelObject);
  put(40, context.kernarg);
  return packet;
}

namespace {
/// The workgroups of one launch, run by several threads.
class Dispatcher {
public:
  Dispatcher(const LaunchContext &context, uint64_t count) : context(context), count(count) {}

  void work() {
    Workgroup group(context);
    while (true) {
      uint64_t number = next.fetch_add(1);
      if (number >= count || number > failed.load())
        return;
      // Workgroups may be many and short, so that none of them looks.
      if (context.stop.stop_requested())
        return fail(number, stoppedMessage);
      group.start(number);
      bool ok = group.run();
      instructions += group.instructions();
      if (!ok)
        return fail(number, group.error);
    }
  }

  std::atomic<uint64_t> next = 0, failed = UINT64_MAX, instructions = 0;
  std::string error;

private:
  void fail(uint64_t number, std::string why) {
    std::lock_guard lock(mutex);
    if (number >= failed)
      return;
    failed = number;
    error = std::move(why);
  }

  const LaunchContext &context;
  uint64_t count;
  std::mutex mutex;
};
} // namespace

static unsigned threadCount(const LaunchOptions &options, uint64_t workgroups) {
  unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  return static_cast<unsigned>(std::min<uint64_t>(std::max(threads, 1u), workgroups));
}

static void runAll(Dispatcher &dispatcher, unsigned threads) {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back([&] { dispatcher.work(); });
  dispatcher.work();
  for (std::thread &thread : others)
    thread.join();
}

static void setPreload(LaunchContext &context, std::span<const std::byte> kernarg) {
  uint16_t spec = context.image->descriptor.kernargPreload;
  unsigned length = AMDHSA_BITS_GET(spec, hsa::KERNARG_PRELOAD_SPEC_LENGTH);
  unsigned offset = AMDHSA_BITS_GET(spec, hsa::KERNARG_PRELOAD_SPEC_OFFSET);
  // At most 16 user SGPRs exist; a descriptor that claims more gets no more.
  for (unsigned i = 0; i < std::min(length, 16u); ++i) {
    uint32_t word = 0;
    size_t at = size_t(offset + i) * 4;
    if (at + 4 <= kernarg.size())
      std::memcpy(&word, kernarg.data() + at, 4);
    context.preload.push_back(word);
  }
}

/// Who sets one limit does without the other.
static void setLimits(LaunchContext &context, const LaunchOptions &options) {
  const bool counts = options.maxWaveInstructions != 0, measures = options.maxSeconds > 0;
  context.instructionLimit = counts     ? options.maxWaveInstructions
                             : measures ? UINT64_MAX
                                        : defaultInstructionLimit;
  context.secondsLimit = measures ? options.maxSeconds : counts ? 0 : defaultSecondsLimit;
}

Result<std::unique_ptr<LaunchSetup>> LaunchSetup::create(Program &program, size_t kernelNumber,
                                                         const LaunchShape &shape,
                                                         std::span<const std::byte> kernarg,
                                                         const LaunchOptions &options) {
  const CodeImage &image = program.codeObject().image();
  if (kernelNumber >= image.kernels.size())
    return invalidInput("'" + image.name + "' has " + std::to_string(image.kernels.size()) +
                        " kernels, number " + std::to_string(kernelNumber) + " was asked for");
  std::unique_ptr<LaunchSetup> setup(new LaunchSetup(program.memory()));
  LaunchContext &context = setup->context;
  context.memory = &program.memory();
  context.code = &image;
  context.base = program.base();
  context.text = image.text.get();
  context.kernel = &image.kernels[kernelNumber];
  context.image = &image.kernelImages[kernelNumber];
  context.shape = shape;
  if (Status status = checkShape(shape, *context.kernel, image.architecture); !status)
    return status.error();
  if (Status status = checkDescriptor(*context.image, *context.kernel, image.architecture);
      !status)
    return status.error();
  context.ldsBytes = context.kernel->staticLds + shape.dynamicLds;
  bool dynamicStack =
      context.image->descriptor.properties & hsa::KERNEL_CODE_PROPERTY_USES_DYNAMIC_STACK;
  // What HIP adds by default for a stack whose size the compiler does not know.
  context.privateBytes = (context.kernel->privateSegment + (dynamicStack ? 16384 : 0) + 3) / 4 * 4;
  setLimits(context, options);
  context.seed = options.seed;
  context.instrument = options.instrument;
  context.stop = options.stop;

  LaunchMemory &memory = setup->memory;
  std::vector<std::byte> queueBlock(256, std::byte(0)), argumentBlock;
  auto queue = memory.place(queueBlock, "queue descriptor");
  if (!queue)
    return queue.error();
  context.queue = *queue;
  if (Status status = fillKernarg(context, kernarg, argumentBlock); !status)
    return status.error();
  auto argumentAddress = memory.place(argumentBlock, "kernel arguments");
  if (!argumentAddress)
    return argumentAddress.error();
  context.kernarg = *argumentAddress;
  auto packet =
      memory.place(makePacket(context, program.base() + context.image->entry), "dispatch packet");
  if (!packet)
    return packet.error();
  context.dispatchPacket = *packet;
  setPreload(context, argumentBlock);
  return std::move(setup);
}

Result<runtime::LaunchReport> sim::launch(Program &program, size_t kernelNumber,
                                          const LaunchShape &shape,
                                          std::span<const std::byte> kernarg,
                                          const LaunchOptions &options) {
  auto setup = LaunchSetup::create(program, kernelNumber, shape, kernarg, options);
  if (!setup)
    return setup.error();
  uint64_t workgroups = uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z;
  auto begin = std::chrono::steady_clock::now();
  Dispatcher dispatcher((*setup)->context, workgroups);
  runAll(dispatcher, threadCount(options, workgroups));
  if (dispatcher.failed != UINT64_MAX)
    return executionError(dispatcher.error);
  runtime::LaunchReport report;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.waveInstructions = dispatcher.instructions;
  report.workgroups = workgroups;
  return report;
}
