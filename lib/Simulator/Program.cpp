// Places a code object in device memory: segments, relocations, storage of global variables.
#include "Simulator/Simulator.h"

#include "CodeImage.h"

#include <cstring>

using namespace hocket;
using namespace hocket::sim;

Program::Program(Memory &memory, std::shared_ptr<const CodeObject> codeObject, uint64_t allocation,
                 uint64_t loadBase)
    : deviceMemory(memory), object(std::move(codeObject)), allocation(allocation),
      loadBase(loadBase) {}

Program::~Program() { (void)deviceMemory.free(allocation).ok(); }

static Status applyRelocation(Memory &memory, const Relocation &relocation, uint64_t base) {
  uint64_t value = relocation.value + (relocation.relative ? base : 0);
  uint64_t where = base + relocation.where;
  if (relocation.programCounter)
    value -= where;
  value >>= relocation.shift;
  std::byte bytes[8];
  std::memcpy(bytes, &value, sizeof(value));
  return memory.write(where, {bytes, relocation.bytes});
}

Result<std::unique_ptr<Program>> Program::load(Memory &memory,
                                               std::shared_ptr<const CodeObject> codeObject) {
  const CodeImage &image = codeObject->image();
  uint64_t begin = image.imageBegin / 4096 * 4096;
  auto allocation = memory.allocate(image.imageEnd - begin, 4096, image.name);
  if (!allocation)
    return allocation.error();
  uint64_t base = *allocation - begin;
  std::unique_ptr<Program> program(new Program(memory, std::move(codeObject), *allocation, base));
  for (const Segment &segment : image.segments) {
    auto *data = reinterpret_cast<const std::byte *>(segment.bytes.data());
    if (Status status = memory.write(base + segment.begin, {data, segment.bytes.size()}); !status)
      return status.error();
  }
  for (const Relocation &relocation : image.relocations)
    if (Status status = applyRelocation(memory, relocation, base); !status)
      return status.error();
  return program;
}
