// See CheckHarness.h.
#include "CheckHarness.h"

#include "Target/AMDGPU/McContext.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

static constexpr uint32_t memoryBytes = 1 << 16;

static std::string assembleAll(const std::string &assembly) {
  auto target = *amdgpu::McTarget::create("gfx950");
  auto code = amdgpu::assembleCode(*target, assembly + "\ns_endpgm\n");
  if (!code) {
    ADD_FAILURE() << code.error().message;
    return std::string("\x00\x00\x81\xbf", 4); // s_endpgm
  }
  return std::string(reinterpret_cast<const char *>(code->data()), code->size());
}

static void setScalars(Wave &wave, uint64_t memory) {
  wave.sgpr[0] = wave.index;
  wave.sgpr[1] = static_cast<uint32_t>(wave.group->linear);
  wave.setPair(4, memory);
  wave.setPair(8, memory);
  wave.sgpr[10] = memoryBytes;
  wave.sgpr[11] = 0x27000;
}

CheckRun test::runChecked(const std::string &assembly, CheckOptions options) {
  CheckRun run;
  Memory memory;
  uint64_t base = *memory.allocate(memoryBytes, 4096, "memory");
  auto text = *Text::create(assembleAll(assembly), 0, "gfx950");
  runtime::KernelInfo kernel;
  kernel.name = "test";
  KernelImage image;
  image.descriptor.rsrc1 = 63 | 0xf0 << 12 | 1 << 21 | 1 << 23;
  image.descriptor.rsrc3 = 63;
  CodeImage code;
  if (!options.content.empty())
    EXPECT_TRUE(memory.write(base, std::as_bytes(std::span(options.content))).ok());
  for (runtime::NumberList &list : options.lists)
    list.address += base;
  check::Checker checker(*check::InstructionTable::of(*text, "gfx950"), {options.lists, memory});
  LaunchContext context;
  context.memory = &memory;
  context.code = &code;
  context.text = text.get();
  context.kernel = &kernel;
  context.image = &image;
  context.shape.block.x = options.waves * 64;
  context.shape.grid.x = options.workgroups;
  context.ldsBytes = options.ldsBytes;
  context.privateBytes = 64;
  context.instructionLimit = 10000;
  context.seed = options.seed;
  context.instrument = options.instrument ? options.instrument : &checker;
  {
    Workgroup group(context);
    for (unsigned i = 0; i < options.workgroups; ++i) {
      group.start(i);
      for (unsigned w = 0; w < group.waveCount; ++w)
        setScalars(group.waves[w], base);
      group.error.clear();
      if (!group.run() && run.error.empty())
        run.error = group.error;
    }
  }
  run.findings = checker.findings(memory);
  return run;
}
