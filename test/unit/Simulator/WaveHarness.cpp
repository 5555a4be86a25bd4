// See WaveHarness.h.
#include "WaveHarness.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

WaveHarness::WaveHarness(HarnessOptions options) : architecture(options.architecture) {
  kernel.name = "test";
  image.descriptor.rsrc1 = 63 | 0xf0 << 12 | 1 << 21 | 1 << 23;
  image.descriptor.rsrc3 = 63;
  text = std::move(*Text::create(std::string(4, '\0'), 0, architecture));
  context.memory = &memory;
  context.code = &code;
  context.text = text.get();
  context.kernel = &kernel;
  context.image = &image;
  context.shape.block.x = options.waves * 64;
  context.ldsBytes = options.ldsBytes;
  context.privateBytes = options.privateBytes;
  context.instructionLimit = options.limit;
  context.seed = options.seed;
  group = std::make_unique<Workgroup>(context);
  group->start(0);
}

std::string WaveHarness::tryRun(const std::string &assembly) {
  Assembled assembled = assemble(assembly + "\ns_endpgm\n", architecture);
  if (assembled.bytes.empty())
    return "assembler: " + assembled.error;
  return tryRunBytes(assembled.bytes);
}

std::string WaveHarness::tryRunBytes(const std::string &bytes) {
  text = std::move(*Text::create(bytes, 0, architecture));
  context.text = text.get();
  for (unsigned i = 0; i < group->waveCount; ++i) {
    wave(i).pc = 0;
    wave(i).stop = Stop::None;
  }
  group->error.clear();
  return group->run() ? "" : group->error;
}

void WaveHarness::run(const std::string &assembly) { EXPECT_EQ(tryRun(assembly), "") << assembly; }

void WaveHarness::setV(unsigned reg, uint32_t value) {
  for (unsigned w = 0; w < group->waveCount; ++w)
    for (unsigned lane = 0; lane < 64; ++lane)
      wave(w).vgpr[reg][lane] = value;
}

void WaveHarness::setPair(unsigned reg, uint64_t value) {
  setV(reg, static_cast<uint32_t>(value));
  setV(reg + 1, static_cast<uint32_t>(value >> 32));
}

void WaveHarness::setS(unsigned reg, uint32_t value) {
  for (unsigned w = 0; w < group->waveCount; ++w)
    wave(w).sgpr[reg] = value;
}

void WaveHarness::setS64(unsigned reg, uint64_t value) {
  setS(reg, static_cast<uint32_t>(value));
  setS(reg + 1, static_cast<uint32_t>(value >> 32));
}

void WaveHarness::setExec(uint64_t mask) {
  for (unsigned w = 0; w < group->waveCount; ++w)
    wave(w).setExec(mask);
}
