// A HIP device that is not what the simulator says: libhocket_hip, with code objects changed when they are loaded.
//
// HOCKET_PLANT names what is wrong with the device:
//   layout  ds_read_b64_tr_b16 does not transpose
//   hazard  a load to LDS reads m0 before the instruction right before it has written it
// All other functions are found in libhocket_hip, on which this library depends.
#include "Target/AMDGPU/CodeObjectFile.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace hocket;
using amdgpu::Disassembler;
using amdgpu::Instruction;

/// The size of a code object whose section headers are its end, as the linker writes it.
static size_t sizeOf(const void *image) {
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

static uint8_t *writable(const Instruction &instruction) { return const_cast<uint8_t *>(instruction.bytes.data()); }

/// ds_read_b64_tr_b16 becomes ds_read_b64.
static void plantLayout(const Disassembler &disassembler, const std::vector<Instruction> &code) {
  const llvm::StringRef right = "ds_read_b64_tr_b16", wrong = "ds_read_b64";
  for (const Instruction &instruction : code) {
    const std::string text = disassembler.text(instruction);
    if (!llvm::StringRef(text).starts_with(right))
      continue;
    auto bytes = amdgpu::assembleCode(disassembler.target(), wrong.str() + text.substr(right.size()));
    if (bytes.ok() && bytes->size() == instruction.bytes.size())
      std::memcpy(writable(instruction), bytes->data(), bytes->size());
  }
}

/// A load to LDS changes places with a write of m0 right before it.
static void plantHazard(const Disassembler &disassembler, const std::vector<Instruction> &code) {
  for (size_t i = 1; i < code.size(); ++i) {
    const std::string before = disassembler.text(code[i - 1]), text = disassembler.text(code[i]);
    if (!llvm::StringRef(before).starts_with("s_mov_b32 m0") || !llvm::StringRef(text).ends_with(" lds"))
      continue;
    const std::vector<uint8_t> write(code[i - 1].bytes.begin(), code[i - 1].bytes.end()),
        load(code[i].bytes.begin(), code[i].bytes.end());
    uint8_t *at = writable(code[i - 1]);
    std::memcpy(at, load.data(), load.size());
    std::memcpy(at + load.size(), write.data(), write.size());
  }
}

static void plant(llvm::StringRef what, llvm::StringRef codeObject) {
  auto target = amdgpu::McTarget::create(amdgpu::processorOf(codeObject));
  auto kernels = amdgpu::readKernels(codeObject);
  if (!target.ok() || !kernels.ok())
    return;
  const Disassembler disassembler(*target);
  for (const amdgpu::KernelCode &kernel : *kernels) {
    auto code = disassembler.decodeAll(kernel.code, kernel.address);
    if (code.ok() && what.contains("layout"))
      plantLayout(disassembler, *code);
    if (code.ok() && what.contains("hazard"))
      plantHazard(disassembler, *code);
  }
}

extern "C" __attribute__((visibility("default"))) int hipModuleLoadData(void **module, const void *image) {
  using Load = int (*)(void **, const void *);
  const auto load = reinterpret_cast<Load>(dlsym(RTLD_NEXT, "hipModuleLoadData"));
  const char *what = std::getenv("HOCKET_PLANT");
  if (!load || !what) {
    std::fprintf(stderr, "PlantedHip: %s\n", load ? "HOCKET_PLANT is not set" : "there is no libhocket_hip behind it");
    return 1;
  }
  // A handle of what is loaded keeps nothing of the image.
  std::string changed(static_cast<const char *>(image), sizeOf(image));
  plant(what, changed);
  return load(module, changed.data());
}
