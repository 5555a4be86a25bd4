// The scheduler: which wave runs next and for how long, barriers, limits.
//
// Waves share one host thread and take turns. Seed 0 gives each wave a long turn, in order; other
// seeds draw the wave and the length of its turn, from single instructions to coarse ones, since
// some faults show only when waves run close together and others only when they run far apart.
#include "Workgroup.h"

#include "Hex.h"
#include "SourceLines.h"


#include <cstdlib>
#include <cstring>

using namespace hocket;
using namespace hocket::sim;

uint64_t sim::nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}


namespace {
struct FreeMemory {
  void operator()(void *p) const { std::free(p); }
};
template <class T> using Buffer = std::unique_ptr<T, FreeMemory>;

/// 64-byte aligned and zero.
void *alignedZero(size_t bytes) {
  size_t rounded = (bytes + 63) / 64 * 64;
  void *p = std::aligned_alloc(64, std::max<size_t>(rounded, 64));
  if (p)
    std::memset(p, 0, rounded);
  return p;
}
} // namespace

/// The memory behind a workgroup's registers, LDS, scratch and queues.
struct Workgroup::Storage {
  Buffer<uint32_t[waveSize]> registers;
  Buffer<std::byte> lds;
  Buffer<std::byte> scratch;
  Buffer<PendingOp> pending;
};

static unsigned wavesOf(const runtime::LaunchShape &shape) {
  uint64_t items = uint64_t(shape.block.x) * shape.block.y * shape.block.z;
  return static_cast<unsigned>((items + waveSize - 1) / waveSize);
}

Workgroup::Workgroup(const LaunchContext &context)
    : context(context), ldsBytes(context.ldsBytes), waveCount(wavesOf(context.shape)),
      storage(new Storage) {
  size_t registerRow = sizeof(uint32_t) * waveSize;
  size_t scratchBytes = size_t(context.privateBytes) * waveSize;
  storage->registers.reset(
      static_cast<uint32_t (*)[waveSize]>(alignedZero(waveCount * vectorRegisters * registerRow)));
  storage->lds.reset(static_cast<std::byte *>(alignedZero(ldsBytes)));
  storage->scratch.reset(static_cast<std::byte *>(alignedZero(waveCount * scratchBytes)));
  storage->pending.reset(
      static_cast<PendingOp *>(alignedZero(waveCount * pendingSlots * sizeof(PendingOp))));
  if (!storage->registers || !storage->lds || !storage->scratch || !storage->pending) {
    error = "the host has no memory for a workgroup's registers, LDS and scratch";
    return;
  }
  lds = storage->lds.get();
  if (context.instrument)
    observer = context.instrument->observe(context);
  for (unsigned i = 0; i < waveCount; ++i) {
    waves[i].observer = observer.get();
    waves[i].group = this;
    waves[i].index = static_cast<uint8_t>(i);
    waves[i].vgpr = storage->registers.get() + size_t(i) * vectorRegisters;
    waves[i].scratch = storage->scratch.get() + i * scratchBytes;
    waves[i].pending.pool = storage->pending.get() + size_t(i) * pendingSlots;
  }
}

Workgroup::~Workgroup() = default;

/// Executes an instruction whose register numbers M0 may move (s_set_gpr_idx), or which may be left
/// out (s_setvskip).
static void executeIndexed(Wave &wave, const Instruction &instruction) {
  if (wave.gprIndexing & 0x80 && instruction.encoding >= Encoding::VOP1)
    return;
  bool vector = instruction.encoding >= Encoding::VOP1 && instruction.encoding <= Encoding::MAI;
  if (!vector) {
    instruction.execute(wave, instruction);
    return;
  }
  Instruction moved = instruction;
  unsigned offset = wave.m0() & 0xff, enabled = wave.gprIndexing;
  bool outside = false;
  auto move = [&](uint16_t &reg, bool on) {
    if (on)
      reg += offset;
    outside |= on && reg >= accumulationBase;
  };
  for (unsigned i = 0; i < 3; ++i)
    move(moved.source[i].reg, (enabled >> i & 1) && moved.source[i].kind == OperandKind::Vgpr);
  move(moved.destination, (enabled & 8) && !moved.scalarResult);
  if (outside)
    failWave(wave, instruction, "indexes a register beyond v255");
  else
    instruction.execute(wave, moved);
}

template <bool Observed> void Workgroup::runWave(Wave &wave, uint64_t quantum) {
  Text &text = *context.text;
  const Instruction *instructions = text.instructions();
  uint32_t end = text.dwords();
  uint64_t budget = std::min(quantum, remaining), left = budget;
  while (left != 0) {
    if (wave.pc >= end) [[unlikely]] {
      static const Instruction nowhere;
      failWave(wave, nowhere, "execution left the code: it jumped or ran beyond the end");
      break;
    }
    const Instruction &instruction = instructions[wave.pc];
    ExecuteFunction execute = executeOf(instruction);
    if (!execute) [[unlikely]] {
      text.decode(wave.pc);
      execute = executeOf(instruction);
    }
    --left;
    const uint32_t index = wave.pc;
    // Records lie further apart than hosts look ahead.
    __builtin_prefetch(&instruction + 4);
    if constexpr (Observed) {
      observer->before(wave, index, instruction);
      if (wave.stop != Stop::None)
        break;
    }
    wave.pc += instruction.size;
    if (wave.gprIndexing) [[unlikely]]
      executeIndexed(wave, instruction);
    else
      execute(wave, instruction);
    if constexpr (Observed)
      observer->after(wave, index, instruction);
    if (wave.stop != Stop::None) [[unlikely]]
      break;
  }
  uint64_t executed = budget - left;
  wave.instructions += executed;
  remaining -= executed;
  if (wave.stop == Stop::Yield)
    wave.stop = Stop::None;
}

bool Workgroup::releaseBarrier() {
  if (observer)
    observer->barrier(*this);
  bool any = false;
  for (unsigned i = 0; i < waveCount; ++i)
    if (waves[i].stop == Stop::Barrier) {
      waves[i].stop = Stop::None;
      any = true;
    }
  return any;
}

/// The first wave that can run, from wave `from` on and around; null: none.
static Wave *firstRunnable(Wave *waves, unsigned count, unsigned from) {
  for (unsigned i = 0, index = from; i < count; ++i) {
    if (waves[index].stop == Stop::None)
      return &waves[index];
    index = index + 1 == count ? 0 : index + 1;
  }
  return nullptr;
}

Wave *Workgroup::pick(uint64_t &quantum) {
  quantum = 4096;
  Wave *chosen = firstRunnable(waves, waveCount, next);
  if (!chosen)
    return nullptr;
  if (context.seed != 0) {
    unsigned count = 0;
    for (unsigned i = 0; i < waveCount; ++i)
      count += waves[i].stop == Stop::None;
    uint64_t draw = nextRandom(random);
    for (auto skip = static_cast<unsigned>((draw >> 8) % count); skip != 0; --skip)
      chosen = firstRunnable(waves, waveCount, (chosen->index + 1u) % waveCount);
    static constexpr uint64_t lengths[8] = {1, 2, 5, 16, 48, 160, 512, 4096};
    quantum = lengths[draw & 7];
  }
  next = (chosen->index + 1u) % waveCount;
  return chosen;
}

bool Workgroup::run() {
  if (!error.empty())
    return false;
  if (observer)
    observer->begin(*this);
  bool ok = runWaves();
  if (observer)
    observer->end(*this);
  return ok && error.empty();
}

bool Workgroup::runWaves() {
  while (true) {
    uint64_t quantum = 0;
    Wave *wave = pick(quantum);
    if (!wave) {
      if (releaseBarrier())
        continue;
      return true;
    }
    if (pastLimits()) {
      failLimit(*firstRunnable(waves, waveCount, 0));
      return false;
    }
    if (observer)
      runWave<true>(*wave, quantum);
    else
      runWave<false>(*wave, quantum);
    if (wave->stop == Stop::Failed)
      return false;
  }
}

template void Workgroup::runWave<false>(Wave &wave, uint64_t quantum);

bool Workgroup::step(Wave &wave) {
  if (remaining == 0 || isStopped()) {
    failLimit(wave);
    return false;
  }
  runWave<true>(wave, 1);
  return wave.stop != Stop::Failed;
}

uint64_t Workgroup::instructions() const {
  uint64_t sum = 0;
  for (unsigned i = 0; i < waveCount; ++i)
    sum += waves[i].instructions;
  return sum;
}

uint64_t Workgroup::idleLanes() const {
  uint64_t sum = 0;
  for (unsigned i = 0; i < waveCount; ++i)
    sum += waves[i].idleLanes;
  return sum;
}

void Workgroup::start(uint64_t number) {
  if (!error.empty())
    return; // without memory; `run` says so
  const runtime::Dim3 &grid = context.shape.grid;
  linear = number;
  id[0] = static_cast<uint32_t>(number % grid.x);
  id[1] = static_cast<uint32_t>(number / grid.x % grid.y);
  id[2] = static_cast<uint32_t>(number / grid.x / grid.y);
  startLimits();
  next = 0;
  random = context.seed;
  random = nextRandom(random) ^ (number * 0xd1342543de82ef95);
  auto *ldsWords = reinterpret_cast<uint32_t *>(lds);
  for (uint32_t i = 0; i < (ldsBytes + 3) / 4; ++i)
    ldsWords[i] = uninitialisedPattern;
  for (unsigned i = 0; i < waveCount; ++i)
    startWave(i);
}

std::string sim::describePlace(const Workgroup &group, uint64_t address, SourceLines &lines) {
  const FunctionSymbol *function = group.context.code->functionAt(address);
  const uint64_t entry = group.context.image->entry;
  const bool elsewhere = function && function->begin != entry;
  const std::string line = lines.at(address);
  return (elsewhere ? "'" + function->name + "' + " + hex(address - function->begin)
                    : "offset " + hex(address - entry)) +
         (line.empty() ? "" : " (" + line + ")");
}

std::string sim::describeInstruction(const Workgroup &group, const Instruction &instruction) {
  Text &text = *group.context.text;
  const Instruction *first = text.instructions();
  bool inside = &instruction >= first && &instruction < first + text.dwords();
  std::string kernel = " of kernel '" + group.context.kernel->name + "'";
  if (!inside)
    return "code" + kernel;
  auto index = static_cast<uint32_t>(&instruction - first);
  Disassembly disassembly = text.disassemble(index);
  std::string what =
      disassembly.valid ? "'" + disassembly.text + "'" : "the bytes " + hex(instruction.words[0]);
  SourceLines lines(group.context.code->debugFile);
  return what + " at " + describePlace(group, text.addressOf(index), lines) + kernel;
}

/// `state`: what follows the lane in the sentence.
static void fail(Wave &wave, const Instruction &instruction, const std::string &what,
                 const std::string &state, Fault fault) {
  Workgroup &group = *wave.group;
  wave.stop = Stop::Failed;
  if (!group.error.empty())
    return;
  if (instruction.encoding == Encoding::SMEM)
    fault.lane = -1;
  std::string lane = fault.lane < 0 ? "" : " in lane " + std::to_string(fault.lane);
  group.error = describeInstruction(group, instruction) + " " + what + lane + state +
                " (workgroup " + std::to_string(group.id[0]) + ", " + std::to_string(group.id[1]) +
                ", " + std::to_string(group.id[2]) + ", wave " + std::to_string(wave.index) + ")";
  fault.instruction = &instruction;
  fault.what = what + state;
  if (wave.observer)
    wave.observer->failed(wave, fault);
}

/// "reads 4 bytes at LDS address 0x10".
static std::string accessOf(const char *what, unsigned bytes, const char *space, uint64_t address) {
  return std::string(what) + " " + std::to_string(bytes) + " bytes at " + space + " " +
         hex(address);
}

void sim::failWave(Wave &wave, const Instruction &instruction, const char *what) {
  fail(wave, instruction, what, "", {});
}

void sim::failAddress(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
                      uint64_t address, unsigned bytes) {
  fail(wave, instruction, accessOf(what, bytes, "device address", address),
       ", which is " + wave.group->context.memory->describe(address),
       {Fault::Kind::Global, static_cast<int>(lane)});
}

void sim::failLds(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
                  uint32_t address, unsigned bytes) {
  fail(wave, instruction, accessOf(what, bytes, "LDS address", address),
       ", the workgroup has " + std::to_string(wave.group->ldsBytes) + " bytes",
       {Fault::Kind::Lds, static_cast<int>(lane)});
}

void sim::failScratch(Wave &wave, const Instruction &instruction, const char *what, unsigned lane,
                      uint64_t offset, unsigned bytes) {
  fail(wave, instruction, accessOf(what, bytes, "scratch offset", offset),
       ", each lane has " + std::to_string(wave.group->context.privateBytes) + " bytes",
       {Fault::Kind::Scratch, static_cast<int>(lane)});
}

const Allocation *sim::findAllocation(const Wave &wave, uint64_t address) {
  return wave.group->context.memory->find(address);
}
