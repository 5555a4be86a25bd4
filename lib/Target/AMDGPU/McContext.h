// LLVM's machine-code layer for one AMDGPU processor, set up once and held together.
//
// Everything that reads or writes gfx950 machine code (the report, the hazard check, the simulator,
// the assembler step of code generation) needs the same half dozen MC objects with entangled
// lifetimes. `McTarget` owns the immutable ones and may be shared between threads; what has state
// (assembling, disassembling) is made from it per use and stays on one thread. No global option is
// read or written, so what was compiled before in the process has no influence.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <string>

namespace llvm {
class MCAsmInfo;
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
class Target;
} // namespace llvm

namespace hocket::amdgpu {

/// The triple of every code object Hocket reads or writes.
inline constexpr const char *kTriple = "amdgcn-amd-amdhsa";

/// Registers LLVM's AMDGPU back end (target, MC, assembler, disassembler); cheap after the first
/// call.
void initializeLLVMTarget();

/// The immutable MC descriptions of one processor. Thread-safe once made.
class McTarget {
public:
  /// Looks up `cpu` ("gfx950"). Fails with `Unsupported` where LLVM has no such AMDGPU processor.
  static Result<std::shared_ptr<const McTarget>> create(llvm::StringRef cpu);
  ~McTarget();

  const llvm::Target &target() const { return *llvmTarget; }
  const llvm::Triple &triple() const { return targetTriple; }
  const std::string &cpu() const { return cpuName; }
  const llvm::MCTargetOptions &options() const { return mcOptions; }
  const llvm::MCRegisterInfo &registers() const { return *registerInfo; }
  const llvm::MCAsmInfo &asmInfo() const { return *assemblyInfo; }
  const llvm::MCInstrInfo &instructions() const { return *instrInfo; }
  const llvm::MCSubtargetInfo &subtarget() const { return *subtargetInfo; }

private:
  McTarget();

  const llvm::Target *llvmTarget = nullptr;
  llvm::Triple targetTriple;
  std::string cpuName;
  llvm::MCTargetOptions mcOptions;
  std::unique_ptr<llvm::MCRegisterInfo> registerInfo;
  std::unique_ptr<llvm::MCAsmInfo> assemblyInfo;
  std::unique_ptr<llvm::MCInstrInfo> instrInfo;
  std::unique_ptr<llvm::MCSubtargetInfo> subtargetInfo;
};

/// Assembles `text` into a relocatable ELF object. Errors are `InvalidInput` and carry every
/// diagnostic of LLVM's assembler as `name:line:column: message`.
Result<llvm::SmallVector<char, 0>> assemble(const McTarget &target, llvm::StringRef text,
                                            llvm::StringRef name = "<assembly>");

/// Assembles `text` and returns the bytes of its `.text` section alone.
Result<llvm::SmallVector<uint8_t, 0>> assembleCode(const McTarget &target, llvm::StringRef text,
                                                   llvm::StringRef name = "<assembly>");

} // namespace hocket::amdgpu
